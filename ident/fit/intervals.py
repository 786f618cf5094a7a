r"""Confidence intervals of a fitted law, from the profile of the misfit.

The profile of a parameter is the misfit, minimised over all other parameters. For a linear law, the
square root of its rise is the parameter's distance from the optimum in standard errors. For a
nonlinear law, or near a bound, the profile is followed numerically: intervals may be asymmetric,
and an interval that the data do not limit ends at the edge of the search range.

Standard errors come from two sources. The noise model has as many degrees of freedom as round trips
minus parameters. Leaving out one round trip at a time needs no noise model, but is rough with few
round trips. The variance is the mean of both, in which the noise model counts as `TRUST` degrees of
freedom (a moderated variance), and at least the noise model's variance. If a parameter rests on one
round trip, leaving out this round trip is not informative: the ratio of the variances is limited to
`_MOST`. Passes of general motion share more errors than points of a round trip do, and their ratio
is not limited.

Both sources take round trips as independent. If the levels of successive round trips correlate
beyond chance (autocorrelation r), the noise model's variance is that of a first-order
autoregression, with r^|i - j| between round trips i and j.

Passes of general motion are few and long. Their levels determine Coulomb friction and offset. All
other parameters are determined within passes, where successive residuals correlate: the same
autoregression applies to the points of each pass, and only levels count as degrees of freedom.

References
----------
Kendall, Biometrika 41 (1954) 403, for the bias of r; Venzon and Moolgavkar, Applied Statistics 37
(1988) 87; Smyth, Stat. Appl. Genetics Mol. Biol. 3 (2004) 3.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from stribeck.ident.arrays import Array
from stribeck.ident.fit.cluster_covariance import left_out
from stribeck.ident.fit.group_sums import symmetric_inverse
from stribeck.ident.fit.noise import Noise
from stribeck.ident.fit.search_range import combined
from stribeck.ident.fit.variable_projection import (
    Moments,
    Optimum,
    level_rows,
    residual_sums,
    rows_in_passes,
)


@dataclass(frozen=True)
class Spread:
    """Covariance of an estimate, and the extent of its intervals.

    Attributes
    ----------
    covariance : ndarray, shape (p, p)
        Covariance; of nonlinear parameters, that of their logarithm.
    reach : ndarray, shape (p,)
        Square root of the misfit's rise at the ends of 95 % intervals.
    factor : float
        Half width of an interval in standard errors, for a linear law.
    serial : float
        Autocorrelation of the levels of successive round trips; 0 if chance may explain it.
    wider : ndarray, shape (p,)
        Standard errors over those of the noise model.
    """

    covariance: Array
    reach: Array
    factor: float
    serial: float
    wider: Array

    @property
    def std_error(self) -> Array:
        """Standard errors, shape (p,)."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))


TRUST = 10.0  # degrees of freedom with which the noise model counts
# parameters that the levels of passes determine: Coulomb friction and offset
_OF_LEVELS = 2
# largest ratio of the variance from left-out round trips to that of the noise model
_MOST = 10.0


def spread(
    whole: Moments, noise: Noise, values: Mapping[str, float], free: Sequence[int]
) -> Spread:
    """Return the covariance of the parameters at positions `free` of `values`, from noise model
    and left-out round trips.
    """
    sums, p = residual_sums(whole.data, whole.law, noise, values), len(free)
    keep = [*free, sums.shape[-1] - 1]
    sums = sums[:, keep][:, :, keep]
    gram = sums.sum(axis=0)[:p, :p]
    scale = np.sqrt(np.maximum(np.diag(gram), 1e-300))
    model = symmetric_inverse(gram / np.outer(scale, scale), 1e-13) / np.outer(scale, scale)
    without = left_out(sums)
    ratio = np.diag(without.covariance) / np.maximum(np.diag(model), 1e-300)
    if whole.data.seen is None:
        ratio = np.minimum(_MOST, ratio)
    variance = np.maximum(1.0, (TRUST + without.freedom * ratio) / (TRUST + without.freedom))
    serial = 0.0
    # passes of general motion alternate in direction: their levels have no common sign
    if whole.data.seen is None:
        levels = level_rows(whole.data, whole.law, noise, values)
        serial = correlation([rows[:, -1] for rows in levels], p)
        if serial > 0.0:
            variance = np.maximum(
                variance, autoregressive(model, [rows[:, list(free)] for rows in levels], serial)
            )
    else:
        passes = rows_in_passes(whole.data, whole.law, noise, values)
        if (next_ := following([rows[:, -1] for rows in passes])) > 0.0:
            variance = np.maximum(
                variance, autoregressive(model, [rows[:, list(free)] for rows in passes], next_)
            )
    wider = np.sqrt(variance)
    told = p if whole.data.seen is None else min(p, _OF_LEVELS)
    factor = float(stdtrit(max(1, len(sums) - told), 0.975))
    return Spread(model * np.outer(wider, wider), factor * wider, factor, serial, wider)


# standard deviations of a correlation; chance alone exceeds this value in 5 % of the cases
CHANCE = 1.645
_STRONGEST = 0.9  # largest correlation of round trips
_CLOSEST = 0.98  # largest correlation of points in a pass
_ENOUGH = 12  # least number of round trips for estimating a correlation


def correlation(levels: Sequence[Array], parameters: int) -> float:
    """Return the autocorrelation of levels within runs, corrected for the bias of fitted
    parameters; 0 within chance.
    """
    every = np.concatenate(levels)
    groups, mean = len(every), every.mean()
    products = sum(float((run[1:] - mean) @ (run[:-1] - mean)) for run in levels)
    found = products / max(float(np.sum((every - mean) ** 2)), 1e-300)
    if groups < _ENOUGH or found <= CHANCE / np.sqrt(groups):
        return 0.0
    return float(min(_STRONGEST, found + (1.0 + 3.0 * found) * parameters / (2.0 * groups)))


def following(passes: Sequence[Array]) -> float:
    """Return the autocorrelation of residuals within passes, corrected for the bias of the
    mean of a pass; at least 0.
    """
    products = sum(float(own[1:] @ own[:-1]) for own in passes)
    squares, freedom = sum(float(own @ own) for own in passes), sum(len(own) - 1 for own in passes)
    return float(
        np.clip(products / max(squares, 1e-300) + len(passes) / max(freedom, 1), 0.0, _CLOSEST)
    )


def autoregressive(model: Array, levels: Sequence[Array], serial: float) -> Array:
    """Return the variance of each parameter over the noise model's, if levels of a run, or points
    of a pass, correlate by r^|i - j|."""
    from scipy.signal import lfilter  # slow to import

    added = np.zeros(len(model))
    for run in levels:
        weight = run @ model
        # sum of r^(i - j) over all j before i
        before = lfilter([0.0, serial], [1.0, -serial], weight, axis=0)
        added += np.sum(weight * before, axis=0)
    return np.asarray(1.0 + 2.0 * added / np.maximum(np.diag(model), 1e-300))


def interval_ends(
    whole: Moments, noise: Noise, values: Mapping[str, float], free: Sequence[int], found: Spread
) -> Array:
    """Return lower and upper ends for the parameters at positions `free` of `values`, (p, 2);
    `whole`: sums over the search.
    """
    data, law, names = whole.data, whole.law, tuple(values)
    best = Moments.of(data, law, {name: np.array([values[name]]) for name in law.nonlinear})
    linear = best.sums.shape[-1] - 1
    optimum = best.solve(noise)
    axes, beside = (
        _misfit_around(whole, noise, values, free, found, optimum.misfit[0])
        if law.nonlinear
        else ({}, optimum)
    )
    # around the optimum: best linear parameters and rise of the misfit at every value of
    # the nonlinear parameters
    rise = np.maximum(0.0, beside.misfit - optimum.misfit[0])
    beta, variance = (
        np.concatenate((getattr(optimum, name), getattr(beside, name)))
        for name in ("beta", "variance")
    )
    ends = np.empty((len(free), 2))
    for row, i, reach in zip(ends, free, found.reach, strict=True):
        if i < linear:
            # rise left for a linear parameter at each value of the others
            room = reach**2 - np.append(0.0, rise)
            half = np.sqrt(variance[room >= 0.0, i] * room[room >= 0.0])
            row[:] = (beta[room >= 0.0, i] - half).min(), (beta[room >= 0.0, i] + half).max()
        else:
            # profile: least misfit over other nonlinear parameters
            k = law.nonlinear.index(names[i])
            others = tuple(other for other in range(len(axes)) if other != k)
            least = rise.reshape([len(axis) for axis in axes.values()]).min(axis=others)
            row[:] = _where_rise_passes_one(
                axes[names[i]], np.sqrt(least) / reach, values[names[i]]
            )
    return ends


# points of the profile over one nonlinear parameter, and on each axis of several
_LINE, _FACE = 33, 13
_ROOM = 1.5  # first range of the profile over the interval of the linearized law,
_ROUNDS = 3  # and most times that the range is widened
_WIDEST = 30.0  # largest half range, in the logarithm


def _misfit_around(
    whole: Moments,
    noise: Noise,
    values: Mapping[str, float],
    free: Sequence[int],
    found: Spread,
    least: float,
) -> tuple[dict[str, Array], Optimum]:
    """Solve least squares on a grid of nonlinear parameters around the optimum
    that contains all intervals.

    Returns
    -------
    axes : dict of str to ndarray
        Values of the nonlinear parameters; the grid has all combinations.
    optimum : Optimum
    """
    data, law, names, widest = whole.data, whole.law, tuple(values), found.reach.max() ** 2
    inside = whole.solve(noise).misfit - least <= widest
    limits = {name: (whole.grid[name].min(), whole.grid[name].max()) for name in law.nonlinear}
    ends = {}
    for name in law.nonlinear:
        half = min(_WIDEST, _ROOM * found.factor * found.std_error[free.index(names.index(name))])
        near = np.append(whole.grid[name][inside], values[name] * np.exp([-half, half]))
        ends[name] = np.clip([near.min(), near.max()], *limits[name])
    for _ in range(_ROUNDS):
        size = _LINE if len(ends) == 1 else _FACE
        axes = {
            name: np.union1d(np.geomspace(end[0], end[1], size), values[name])
            for name, end in ends.items()
        }
        grid = combined(axes)
        optimum = Moments.of(data, law, grid).solve(noise)
        inside = optimum.misfit - least <= widest
        wider = {}
        for name, (low, high) in ends.items():
            further = [inside[grid[name] == end].any() for end in axes[name][[0, -1]]]
            wider[name] = np.clip(
                [low * (low / high) ** further[0], high * (high / low) ** further[1]], *limits[name]
            )
        if all((wider[name] == ends[name]).all() for name in ends):
            break
        ends = wider
    return axes, optimum


def _where_rise_passes_one(x: Array, rise: Array, value: float) -> tuple[float, float]:
    """Return where the rise passes 1 on either side of a value of x, by log-linear interpolation;
    the ends of x if nowhere.
    """
    k = int(np.searchsorted(x, value))
    rise = np.where(np.arange(len(x)) == k, 0.0, rise)
    ends = []
    for side in (slice(k, None, -1), slice(k, None)):
        at, beyond = x[side], np.flatnonzero(rise[side] > 1.0)
        if len(beyond):
            j = beyond[0]
            part = (1.0 - rise[side][j - 1]) / (rise[side][j] - rise[side][j - 1])
            ends.append(float(at[j - 1] * (at[j] / at[j - 1]) ** part))
        else:
            ends.append(float(at[-1]))
    return ends[0], ends[1]
