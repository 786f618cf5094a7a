r"""Random-effects model of one joint in a fleet: scatter between arms and between days,
beside known standard errors.

.. math:: y_{ad} = \mu + u_a + v_{ad} + e_{ad}, \quad u_a \sim N(0, \tau^2), \; v_{ad} \sim N(0, \delta^2), \;
          e_{ad} \sim N(0, s_{ad}^2)

y is the mean log friction of arm a on day d, s its known standard error. Given :math:`\tau` and
:math:`\delta` all is linear: the days of an arm have weights :math:`w = 1/(\delta^2 + s^2)` with
sum W and mean m, arms the weights :math:`P = 1/(\tau^2 + 1/W)`. So the restricted likelihood is in
closed form, also without any one arm. It is computed on a grid of both deviations, and everything
else is a mean over the grid with half-t priors, so few arms and deviations of zero need no
approximation. The estimates of the deviations are its maximum without priors (REML).

Arms and days that the model itself finds improbable (`TRIM`) do not take part in it, so
changed arms do not widen the population. Squares are divided by the variance that this cut
leaves of a normal distribution.

References
----------
Patterson and Thompson, Biometrika 58 (1971) 545 (REML); Gelman, Bayesian Analysis 1
(2006) 515 (half-t priors).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from stribeck.ident.arrays import Array, Groups

Mask = NDArray[np.bool_]

ARMS_SCALE, DAYS_SCALE, FREEDOM = 0.2, 0.1, 3.0  # of the half-t priors of both deviations
TRIM = 0.01  # probability below which an arm or a day takes no part
_CUT = -float(ndtri(TRIM / 2.0))
# of the squares of one in the cut
_LOST = TRIM + 2.0 * _CUT * float(np.exp(-(_CUT**2) / 2.0)) / np.sqrt(2.0 * np.pi)
# variance left by the cut
_KEPT = (1.0 - _LOST) / (1.0 - TRIM)
_ARM_ENDS, _DAY_ENDS = (1e-3, 1.5), (5e-4, 0.5)  # of the deviations
# points of the grid along each deviation, before and after zooming
_COARSE, _FINE = 60, 32
# logarithm of the likelihood ratio below which a point of the grid has no weight
_DEEP = 25.0
_ROUNDS = 10  # of leaving out improbable arms and days
# standard deviation of a normal distribution over its median absolute deviation
_MAD = 1.4826
_BISECTIONS = 60


@dataclass(frozen=True)
class Levels:
    """Mean log friction of a joint on every day of every arm, sorted by arm and time.

    Attributes
    ----------
    arm : ndarray of int, shape (n,)
        Number of the arm, from 0; every arm has a day.
    time : ndarray, shape (n,)
        [d]
    y, error : ndarray, shape (n,)
        Mean log friction and its standard error.
    """

    arm: Groups
    time: Array
    y: Array
    error: Array

    @property
    def arms(self) -> int:
        """Number of arms."""
        return int(self.arm[-1]) + 1

    @property
    def newest(self) -> Groups:
        """Index of the newest day of each arm, shape (A,)."""
        return np.flatnonzero(np.diff(self.arm, append=self.arms))

    def days_of(self, arm: int) -> slice:
        """Return the rows of an arm."""
        return slice(*np.searchsorted(self.arm, [arm, arm + 1]))


@dataclass(frozen=True)
class RandomEffects:
    """Random-effects model on its grid.

    Attributes
    ----------
    levels : Levels
    day : ndarray, shape (D,)
        Deviations between days on the grid; one 0 if no arm has two days: then
        `between_arms` includes the days.
    at : ndarray of int, shape (C,)
        Index in `day` of each point of the grid.
    between : ndarray, shape (C,)
        Deviation between arms of each point.
    mean, mean_variance : ndarray, shape (C, A + 1)
        Population mean and its variance without each arm; last column with all arms.
    log_weight : ndarray, shape (C, A + 1)
        Logarithm of the posterior weight without each arm; last column with all
        arms. The columns sum to one.
    centre, inverse : ndarray, shape (D, A)
        Weighted mean m of the days of each arm, and its variance 1/W; inf if all days are left out.
    between_arms, between_days : tuple of float
        REML estimate and ends of the 95 % credible interval; nan for days if no arm has two.
    arms_in, days_in : ndarray of bool, shape (A,) and (n,)
        Arms and days that take part.
    """

    levels: Levels
    day: Array
    at: Groups
    between: Array
    mean: Array
    mean_variance: Array
    log_weight: Array
    centre: Array
    inverse: Array
    between_arms: tuple[float, float, float]
    between_days: tuple[float, float, float]
    arms_in: Mask
    days_in: Mask

    @property
    def testable(self) -> Mask:
        """Whether each arm has two others at least that take part, shape (A,)."""
        return np.asarray(self.arms_in.sum() - self.arms_in >= 2)

    def outside(self, y: Array, error: Array, arm: Groups) -> Array:
        """Return the two-sided probability of single days under the population without
        their own arm, shape (k,).

        Parameters
        ----------
        y, error : ndarray, shape (k,)
            Mean log friction and standard error.
        arm : ndarray of int, shape (k,)
            Arm that is left out; `levels.arms` for one that is not of the fleet.
        """
        spread = np.sqrt(
            (self.between**2 + self.day[self.at] ** 2)[:, None]
            + error**2
            + self.mean_variance[:, arm]
        )
        return _two_sided(self.log_weight[:, arm], (y - self.mean[:, arm]) / spread)

    def interval(self, error: float, arm: int = -1, level: float = 0.95) -> tuple[float, float]:
        """Return the ends of the prediction interval of one day of a new arm, by all arms or
        without an arm of the fleet.
        """
        weight, mean = np.exp(self.log_weight[:, arm]), self.mean[:, arm]
        spread = np.sqrt(
            self.between**2 + self.day[self.at] ** 2 + error**2 + self.mean_variance[:, arm]
        )
        return _quantile(weight, mean, spread, (1.0 - level) / 2.0), _quantile(
            weight, mean, spread, (1.0 + level) / 2.0
        )

    def population(self, arm: int = -1) -> float:
        """Return the population mean of the log friction, by all arms or without an arm."""
        return float(np.exp(self.log_weight[:, arm]) @ self.mean[:, arm])

    def predicted(self) -> Array:
        """Return the best linear unbiased prediction of each arm's deviation from
        the population, shape (A,).

        It is the mean over the days that take part, shrunk by the scatter between
        arms; nan if no day does.
        """
        share = self.between[:, None] ** 2 / (self.between[:, None] ** 2 + self.inverse[self.at])
        own = np.where(
            np.isfinite(self.inverse[self.at]),
            share * (self.centre[self.at] - self.mean[:, -1:]),
            np.nan,
        )
        return np.asarray(np.exp(self.log_weight[:, -1]) @ own)

    def day_log_weight(self, arm: int) -> Array:
        """Return the logarithm of the weight of each deviation between days
        without an arm, shape (D,).
        """
        return _summed(self.log_weight[:, arm], self.at, len(self.day))


def random_effects(levels: Levels) -> RandomEffects:
    """Fit the model; arms and days that it finds improbable are left out
    until they stay the same.
    """
    arms_in, days_in = _bulk(levels)
    for _ in range(_ROUNDS):
        model = _fitted(levels, arms_in, days_in)
        days = _probable_days(model)
        arms = _probable_arms(model)
        if np.array_equal(days, days_in) and np.array_equal(arms, arms_in):
            break
        arms_in, days_in = arms, days
    return model


def segment(y: Array, variance: Array) -> tuple[Array, Array, Array]:
    """Return mean, its variance and restricted log-likelihood of days with a common
    mean; days are the last axis.
    """
    w = 1.0 / variance
    total = w.sum(axis=-1)
    mean = (w * y).sum(axis=-1) / total
    within = -0.5 * (
        np.log(variance).sum(axis=-1)
        + np.log(total)
        + (w * (y - mean[..., None]) ** 2).sum(axis=-1)
    )
    return mean, 1.0 / total, within


def averaged(log_weight: Array, z: Array) -> float:
    """Return the two-sided probability of standardised deviations over the grid,
    with unnormalised weights.
    """
    return float(_two_sided(_normalised(log_weight)[:, None], z[:, None])[0])


def _bulk(levels: Levels) -> tuple[Mask, Mask]:
    """Return the arms and days within three robust deviations of the median: the start, which many
    changed arms do not mask.
    """
    median = np.array([np.median(levels.y[levels.days_of(a)]) for a in range(levels.arms)])
    off = np.abs(median - np.median(median))
    same = np.diff(levels.arm) == 0
    step = np.abs(np.diff(levels.y)[same])
    scale = _MAD * np.median(step) / np.sqrt(2.0) if len(step) else np.inf
    days = np.abs(levels.y - median[levels.arm]) <= 3.0 * scale + 3.0 * levels.error
    return off <= 3.0 * _MAD * np.median(off) + 1e-12, days


def _fitted(levels: Levels, arms_in: Mask, days_in: Mask) -> RandomEffects:
    """Fit the model on a coarse grid, and on a fine grid where the coarse one has weight."""
    own = np.bincount(levels.arm[days_in], minlength=levels.arms)
    arms_in = arms_in & (own > 0)
    between, day = (
        np.geomspace(*_ARM_ENDS, _COARSE),
        np.geomspace(*_DAY_ENDS, _COARSE) if np.any(own > 1) else np.zeros(1),
    )
    posterior = _on_grid(levels, arms_in, days_in, between, day)[1]
    rows, columns = np.nonzero(posterior > posterior.max() - _DEEP)
    between, day = _zoomed(between, columns), _zoomed(day, rows)
    likelihood, posterior, prior, centre, inverse, within = _on_grid(
        levels, arms_in, days_in, between, day
    )
    at, column = np.nonzero(posterior > posterior.max() - _DEEP)
    variance = between[column][:, None] ** 2 + inverse[at]
    _, log_part, mean, mean_variance = _between(centre[at], variance, arms_in)
    log_weight = _normalised(
        log_part
        + prior[at, column][:, None]
        + within[at].sum(axis=1)[:, None]
        - np.pad(within[at], ((0, 0), (0, 1)))
    )
    top = np.unravel_index(np.argmax(likelihood), likelihood.shape)
    arms_ends = _ends(between, _summed(log_weight[:, -1], column, len(between)))
    days_ends = (
        _ends(day, _summed(log_weight[:, -1], at, len(day))) if len(day) > 1 else (np.nan, np.nan)
    )
    return RandomEffects(
        levels,
        day,
        at,
        between[column],
        mean,
        mean_variance,
        log_weight,
        centre,
        inverse,
        (_highest(between, likelihood[top[0]]), *arms_ends),
        (_highest(day, likelihood[:, top[1]]) if len(day) > 1 else np.nan, *days_ends),
        arms_in,
        days_in,
    )


def _on_grid(
    levels: Levels, arms_in: Mask, days_in: Mask, between: Array, day: Array
) -> tuple[Array, ...]:
    """Return log-likelihood, posterior and prior, shape (D, T); centre, variance and likelihood
    within each arm, shape (D, A).
    """
    own = np.bincount(levels.arm[days_in], minlength=levels.arms)
    w = days_in / (day[:, None] ** 2 + levels.error**2 + 1e-18)
    first = np.searchsorted(levels.arm, np.arange(levels.arms))
    total = np.add.reduceat(w, first, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = 1.0 / total
        centre = np.add.reduceat(w * levels.y, first, axis=1) * inverse
        rest = np.where(
            days_in, w * (levels.y - centre[:, levels.arm]) ** 2 / _kept(levels) - np.log(w), 0.0
        )
        within = np.where(
            own > 0, -0.5 * (np.add.reduceat(rest, first, axis=1) + np.log(total)), 0.0
        )
    prior = (
        _half_t(between, ARMS_SCALE)[None]
        + (_half_t(day, DAYS_SCALE) if len(day) > 1 else np.zeros(1))[:, None]
    )
    likelihood = (
        np.array(
            [
                _between(centre[d, arms_in], between[:, None] ** 2 + inverse[d, arms_in])[0]
                for d in range(len(day))
            ]
        )
        + within.sum(axis=1)[:, None]
    )
    return likelihood, likelihood + prior, prior, centre, inverse, within


def _kept(levels: Levels) -> Array:
    """Return the variance within an arm left by the cut of its days, shape (n,): each of n days
    is cut, and n - 1 are free.
    """
    days = np.bincount(levels.arm)[levels.arm]
    return np.where(
        days > 2, (days - 1 - days * _LOST) / np.maximum(days - 1 - days * TRIM, 1.0), _KEPT
    )


def _zoomed(grid: Array, used: Groups) -> Array:
    """Return a fine grid over the used part of a grid."""
    if len(grid) == 1:
        return grid
    return np.geomspace(
        grid[max(used.min() - 1, 0)], grid[min(used.max() + 1, len(grid) - 1)], _FINE
    )


def _highest(grid: Array, values: Array) -> float:
    """Return the place of the greatest value on a logarithmic grid, by a parabola
    through it and its neighbours.
    """
    k = int(np.argmax(values))
    if k in (0, len(grid) - 1):
        return float(grid[k]) if k else 0.0
    left, middle, right = values[k - 1 : k + 2]
    return float(
        grid[k] * (grid[k + 1] / grid[k]) ** (0.5 * (left - right) / (left - 2.0 * middle + right))
    )


def _between(
    centre: Array, variance: Array, arms_in: Mask | None = None
) -> tuple[Array, Array, Array, Array]:
    """Return restricted log-likelihood of the arms' means; and, without each arm and with all,
    that, mean, and its variance.
    """
    inside = np.ones(centre.shape[-1], dtype=bool) if arms_in is None else arms_in
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = np.where(inside, 1.0 / variance, 0.0)
        parts = np.stack(
            [
                weight,
                np.where(inside, weight * centre, 0.0),
                np.where(inside, weight * centre**2, 0.0),
                np.where(inside, np.log(variance), 0.0),
            ]
        )
        sums = parts.sum(axis=-1, keepdims=True)
        sums = np.concatenate([sums - parts, sums], axis=-1)
        left = inside.sum() - np.append(inside, False)  # arms that remain
        known = left > 0
        mean = np.where(known, sums[1] / sums[0], 0.0)
        spread = np.where(known, 1.0 / sums[0], np.inf)
        log = np.where(
            known, -0.5 * (sums[3] + (sums[2] - sums[1] * mean) / _KEPT + np.log(sums[0])), 0.0
        )
    return log[..., -1], log, mean, spread


def _probable_arms(model: RandomEffects) -> Mask:
    """Return whether the mean of each arm's days is probable in the population
    without the arm, shape (A,).
    """
    own = np.isfinite(model.inverse[0])
    if model.arms_in.sum() < 3:
        return own
    with np.errstate(invalid="ignore"):
        spread = np.sqrt(
            model.between[:, None] ** 2 + model.inverse[model.at] + model.mean_variance[:, :-1]
        )
        z = np.where(own, (model.centre[model.at] - model.mean[:, :-1]) / spread, 0.0)
    return own & (_two_sided(model.log_weight[:, :-1], z) > TRIM)


def _probable_days(model: RandomEffects) -> Mask:
    """Return whether each day is probable beside the other days of its arm
    that take part, shape (n,).
    """
    levels, probable = model.levels, np.ones(len(model.levels.y), dtype=bool)
    if len(model.day) == 1:
        return probable
    for arm in range(levels.arms):
        rows = np.arange(len(levels.y))[levels.days_of(arm)]
        outer = model.day_log_weight(arm)
        for row in rows:
            others = rows[(rows != row) & model.days_in[rows]]
            if len(others):
                variance = model.day[:, None] ** 2 + levels.error[others] ** 2
                mean, spread, within = segment(levels.y[others], variance)
                spread = np.sqrt(spread + model.day**2 + levels.error[row] ** 2)
                probable[row] = averaged(outer + within, (levels.y[row] - mean) / spread) > TRIM
    return probable


def _half_t(deviation: Array, scale: float) -> Array:
    """Return the logarithm of a half-t prior, per step of a logarithmic grid."""
    return np.log(deviation) - (FREEDOM + 1.0) / 2.0 * np.log1p(deviation**2 / (FREEDOM * scale**2))


def _normalised(log_weight: Array) -> Array:
    top = log_weight.max(axis=0)
    return np.asarray(log_weight - top - np.log(np.exp(log_weight - top).sum(axis=0)))


def _summed(log_weight: Array, index: Groups, count: int) -> Array:
    """Return the logarithm of weights summed by index, shape (count,)."""
    with np.errstate(divide="ignore"):
        return np.log(np.bincount(index, np.exp(log_weight), count))


def _two_sided(log_weight: Array, z: Array) -> Array:
    return np.asarray(np.sum(np.exp(log_weight) * 2.0 * ndtr(-np.abs(z)), axis=0))


def _ends(grid: Array, log_weight: Array) -> tuple[float, float]:
    """Return the ends of the central 95 % of a distribution over a logarithmic grid."""
    share = np.exp(log_weight)
    middle = np.cumsum(share) - share / 2.0
    low, high = np.exp(np.interp([0.025, 0.975], middle / share.sum(), np.log(grid)))
    return float(low), float(high)


def _quantile(weight: Array, mean: Array, spread: Array, share: float) -> float:
    """Return a quantile of a mixture of normal distributions."""
    low, high = float(np.min(mean - 40.0 * spread)), float(np.max(mean + 40.0 * spread))
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2.0
        low, high = (
            (middle, high)
            if float(weight @ ndtr((middle - mean) / spread)) < share
            else (low, middle)
        )
    return (low + high) / 2.0
