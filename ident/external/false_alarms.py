r"""Statistics of false alarms: how often filtered noise crosses a threshold, and what a count of
alarms says of their rate.

Noise behind the observer is correlated from sample to sample. An alarm begins where the magnitude
crosses the threshold u upwards. With the correlation :math:`\rho` of neighbouring samples, noise of
unit variance crosses, per sample, with the probability

.. math:: 2 \int_u^\infty \varphi(x) \left[\Phi\!\left(\frac{u - \rho x}{\sqrt{1 - \rho^2}}\right)
          - \Phi\!\left(\frac{-u - \rho x}{\sqrt{1 - \rho^2}}\right)\right] dx ,

the discrete form of Rice's formula.

References
----------
Rice, Bell Syst. Tech. J. 24 (1945) 46; Garwood, Biometrika 28 (1936) 437 (interval of a rate).
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from stribeck.ident.arrays import Array

HOUR = 3600.0
_NODES = 200  # of the integral
_BEYOND = 12.0  # standard deviations beyond which noise does not reach


@dataclass(frozen=True)
class FilteredNoise:
    """Noise behind the observer's filter of first order.

    Attributes
    ----------
    deviation : float
        Standard deviation.
    correlation : float
        Correlation of neighbouring samples.
    """

    deviation: float
    correlation: float

    @classmethod
    def of(cls, keep: float, *parts: tuple[float, float, float]) -> "FilteredNoise":
        """Return the sum of independent noises behind :math:`y_k = a y_{k-1}
        + c_0 e_k + c_1 e_{k-1}`.

        Parameters
        ----------
        keep : float
            a, in [0, 1).
        *parts : tuple of float
            Standard deviation of the white noise e, c_0 and c_1 of each part.
        """
        variance = shared = 0.0
        for deviation, now, before in parts:
            own = (now**2 + before**2 + 2.0 * keep * now * before) / (1.0 - keep**2)
            variance += deviation**2 * own
            shared += deviation**2 * (keep * own + now * before)
        return cls(float(np.sqrt(variance)), shared / variance if variance > 0.0 else 0.0)

    def crossings(self, level: float) -> float:
        """Return the expected upward crossings of the magnitude per sample at a
        level in standard deviations.
        """
        from scipy.special import ndtr

        x, weight = _nodes()
        half = 0.5 * max(_BEYOND - level, 1e-9)
        at = level + half * (1.0 + x)
        apart = np.sqrt(max(1.0 - self.correlation**2, 1e-15))
        within = ndtr((level - self.correlation * at) / apart) - ndtr(
            (-level - self.correlation * at) / apart
        )
        return float(2.0 * half * weight @ (np.exp(-0.5 * at**2) / np.sqrt(2.0 * np.pi) * within))

    def level(self, per_hour: float, period: float) -> float:
        """Return the level, in standard deviations, that noise crosses as often as allowed;
        samples come every `period` [s].
        """
        from scipy.optimize import brentq

        allowed = per_hour * period / HOUR
        return float(
            brentq(lambda level: np.log(self.crossings(level) / allowed), 0.5, _BEYOND - 0.5)
            if self.crossings(0.5) > allowed
            else 0.5
        )


@cache
def _nodes() -> tuple[Array, Array]:
    """Return nodes and weights of the integral on [-1, 1]."""
    return np.polynomial.legendre.leggauss(_NODES)


def rate_interval(count: int, hours: float) -> tuple[float, float]:
    """Return the exact 95 % interval of a rate per hour from a count of independent alarms."""
    from scipy.stats import chi2

    low = 0.5 * float(chi2.ppf(0.025, 2 * count)) if count else 0.0
    return low / hours, 0.5 * float(chi2.ppf(0.975, 2 * count + 2)) / hours
