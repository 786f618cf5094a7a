"""Contest of laws for the same points, weighed with one noise model: that of the best law."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import fdtri

from stribeck.ident.arrays import Array
from stribeck.ident.fit.choice.mixture import Mixture
from stribeck.ident.fit.choice.plausibility import Judge
from stribeck.ident.fit.held_out import speed_of_trips
from stribeck.ident.fit.intervals import spread
from stribeck.ident.fit.law_fit import Best, best_of, searched
from stribeck.ident.fit.law_on_points import linear_names
from stribeck.ident.fit.noise import Noise
from stribeck.ident.fit.points import FitPoints
from stribeck.ident.fit.variable_projection import Moments
from stribeck.ident.laws.law import Law

# confidence level of the test whether round trips of one speed share an error
_CHANCE = 0.95
# difference of the criterion (rough on a coarse grid) up to which laws are fitted closely
_CLOSE = 20.0
_SPARE = 4  # degrees of freedom within speeds that the test needs


@dataclass(frozen=True)
class Contest:
    """Laws for the same points, and how plausible each is.

    Attributes
    ----------
    data : FitPoints
    judge : Judge
    mixture : Mixture
        Mixture of all laws, in their order.
    fits : dict of str to Best
        Fits of laws that were computed already, by name.
    """

    data: FitPoints
    judge: Judge
    mixture: Mixture
    fits: dict[str, Best]

    @classmethod
    def of(cls, data: FitPoints, laws: Sequence[Law]) -> "Contest":
        """Weigh all laws at all values of their nonlinear parameters."""
        wholes = {law.name: searched(data, law) for law in laws}
        rough = {
            name: _criterion(data, whole.law, whole.start.left) for name, whole in wholes.items()
        }
        fits = {
            name: best_of(wholes[name])
            for name, one in rough.items()
            if one <= min(rough.values()) + _CLOSE
        }
        judge = _judge(
            min(fits.values(), key=lambda fit: _criterion(data, fit.whole.law, fit.noise))
        )
        return cls(data, judge, Mixture(judge.weigh(list(wholes.values()))), fits)

    def with_laws(self, laws: Sequence[Law]) -> "Contest":
        """Add further laws, weighed by the same judge."""
        if not laws:
            return self
        known = self.mixture.evidences
        found = self.judge.weigh(
            (searched(self.data, law) for law in laws), max(one.total for one in known)
        )
        return replace(self, mixture=Mixture([*known, *found]))

    @property
    def laws(self) -> tuple[Law, ...]:
        """All laws, in the order of the mixture."""
        return tuple(one.law for one in self.mixture.evidences)

    def fit(self, law: Law) -> Best:
        """Return the best fit of a law, whether it competes or not."""
        if law.name not in self.fits:
            self.fits[law.name] = best_of(searched(self.data, law))
        return self.fits[law.name]


def _judge(fit: Best) -> Judge:
    """Return the judge with the noise of a law that fits well, increased if round trips of a
    speed or in a row correlate.
    """
    data, noise = fit.whole.data, fit.noise
    assert noise.level is not None
    count = np.ones(len(data.tau)) if data.count is None else data.count
    # levels of round trips, in deviations
    level = np.bincount(data.group, count * fit.residual) / data.samples / noise.level
    parameters = len(fit.values) - len(data.nuisance)
    apart, independent = _of_speeds(data, level, parameters)
    free = [
        k
        for k, (name, value) in enumerate(fit.values.items())
        if value > 0.0 and name not in data.nuisance
    ]
    inflation = max(
        apart,
        float(np.median(spread(fit.whole, noise, fit.values, free).wider)) ** 2 if free else 1.0,
    )
    noise = replace(
        noise, within=noise.within * np.sqrt(inflation), level=noise.level * np.sqrt(inflation)
    )
    freedom = max(1.0, float(independent - parameters))
    at = {name: np.array([fit.values[name]]) for name in fit.whole.law.nonlinear}
    misfit = float(Moments.of(data, fit.whole.law, at).solve(noise).misfit[0])
    return Judge(noise, misfit, freedom, freedom + parameters)


def _criterion(data: FitPoints, law: Law, noise: Noise) -> float:
    """Return Schwarz's criterion from the variance of levels, which is corrected for
    degrees of freedom already.
    """
    assert noise.level is not None
    trips, p = data.groups, len(linear_names(data, law)) + len(law.nonlinear)
    left = max(1.0, trips - p)
    return float(
        trips * np.mean(np.log(noise.level**2))
        + trips * np.log(left / trips)
        + p * np.log(trips) * trips / left
    )


def _of_speeds(data: FitPoints, level: Array, parameters: int) -> tuple[float, int]:
    """Return the variance of levels between speeds over that of all levels, at least 1, and the
    number of independent levels.
    """
    speed = speed_of_trips(data)
    speeds = int(speed.max()) + 1
    within, between = data.groups - speeds, speeds - parameters
    if within >= _SPARE and between >= 1:
        mean = (np.bincount(speed, level) / np.bincount(speed))[speed]
        apart, scatter = float(mean @ mean) / between, float(np.sum((level - mean) ** 2)) / within
        if apart > max(1.0, fdtri(between, within, _CHANCE) * scatter):
            return apart, speeds
    return 1.0, data.groups
