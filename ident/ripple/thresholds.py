"""Thresholds of claims: standard errors that an amplitude must exceed."""

import numpy as np
from scipy.special import stdtrit

# least standard errors of a claim: of an order that is known, or searched
KNOWN_ORDER, SEARCHED_ORDER = 5.5, 7.0
# probability that a joint without ripple gets a claim: six joints stay below 2 %
CHANCE = 2e-3


def threshold(freedom: float, tests: float, least: float) -> float:
    r"""Return the standard errors of an amplitude that noise exceeds with a probability of
    `CHANCE` in one of many tests.

    The amplitude of two coefficients over the standard error of one has, with
    :math:`\nu` degrees of freedom,

    .. math:: P(x > z) = (1 + z^2 / \nu)^{-\nu / 2}

    Parameters
    ----------
    freedom : float
        Degrees of freedom of the standard error.
    tests : float
        Number of independent tests: resolved orders times two kinds.
    least : float
        Least threshold.
    """
    exponent = 2.0 * np.log(max(tests, 1.0) / CHANCE) / freedom
    return float(max(least, np.sqrt(freedom * np.expm1(min(exponent, 50.0)))))


def half_width(freedom: float) -> float:
    """Return the half width of a 95 % interval in standard errors."""
    return float(stdtrit(max(freedom, 1.0), 0.975))
