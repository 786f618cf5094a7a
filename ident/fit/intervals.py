r"""Intervals of a fitted law: how far each parameter can go before the misfit, least over all others, tells.

Where a law is linear, the root of the misfit's rise is a parameter's distance from the optimum in standard errors. Where it is
not, or a parameter is near its bound, the profile of the misfit is followed instead: intervals may be lopsided, and one
that the data leave open ends at the edge of what was searched.

The noise model gives the standard errors, with as many degrees of freedom as there are round trips to spare. Leaving out one
round trip at a time gives them without a noise model, but only roughly where round trips are few. The variance is the mean of
both, in which the noise model counts as `TRUST` degrees of freedom (a moderated variance), and never less than the noise model's.
Where a parameter rests on one round trip, leaving that out says nothing: its ratio counts as `_MOST` at most.
Passes of general motion share more than points of a round trip do, and their ratio is left as it is.

Both take round trips as independent. Where their levels are correlated in the order of time (r from one to the next, and by more
than chance), the noise model's variance is that of a first-order autoregression, with r^|i - j| between round trips i and j.

Passes of general motion are few and long. Their levels tell Coulomb friction and offset, all else shows within them, where
residuals follow each other: the same autoregression over the points of each pass, and degrees of freedom by levels alone.

References
----------
Kendall, Biometrika 41 (1954) 403, for the bias of r;
Venzon and Moolgavkar, Applied Statistics 37 (1988) 87; Smyth, Stat. Appl. Genetics Mol. Biol. 3 (2004) 3.
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
from stribeck.ident.fit.variable_projection import Moments, Optimum, level_rows, residual_sums, rows_in_passes


@dataclass(frozen=True)
class Spread:
    """Covariance of an estimate, and how far its intervals reach.

    Attributes
    ----------
    covariance : ndarray, shape (p, p)
        Nonlinear parameters in the logarithm.
    reach : ndarray, shape (p,)
        Rise of the root of the misfit at the ends of 95 % intervals.
    factor : float
        Half width of an interval in standard errors, where the law is linear.
    serial : float
        Correlation of the levels of successive round trips; 0 where chance alone makes as much.
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


TRUST = 10.0            # degrees of freedom that the noise model counts for
_OF_LEVELS = 2          # parameters that the levels of passes tell, Coulomb friction and offset: the others show within a pass
_MOST = 10.0            # variance by leaving out over the noise model's, from which one round trip alone tells a parameter


def spread(whole: Moments, noise: Noise, values: Mapping[str, float], free: Sequence[int]) -> Spread:
    """Covariance of the parameters at positions `free` of `values`, from the noise model and from round trips left out."""
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
    if whole.data.seen is None:          # passes of general motion go to and fro: their levels have no one sign
        levels = level_rows(whole.data, whole.law, noise, values)
        serial = correlation([rows[:, -1] for rows in levels], p)
        if serial > 0.0:
            variance = np.maximum(variance, autoregressive(model, [rows[:, list(free)] for rows in levels], serial))
    else:
        passes = rows_in_passes(whole.data, whole.law, noise, values)
        if (next_ := following([rows[:, -1] for rows in passes])) > 0.0:
            variance = np.maximum(variance, autoregressive(model, [rows[:, list(free)] for rows in passes], next_))
    wider = np.sqrt(variance)
    told = p if whole.data.seen is None else min(p, _OF_LEVELS)
    factor = float(stdtrit(max(1, len(sums) - told), 0.975))
    return Spread(model * np.outer(wider, wider), factor * wider, factor, serial, wider)


CHANCE = 1.645          # standard deviations by which chance makes levels correlate once in twenty times
_STRONGEST = 0.9        # correlation that so few round trips can tell,
_CLOSEST = 0.98         # and that points of a pass can have
_ENOUGH = 12            # round trips from which it can be told


def correlation(levels: Sequence[Array], parameters: int) -> float:
    """Correlation of successive levels of each run beyond chance, without the bias of so many fitted parameters; else 0."""
    every = np.concatenate(levels)
    groups, mean = len(every), every.mean()
    products = sum(float((run[1:] - mean) @ (run[:-1] - mean)) for run in levels)
    found = products / max(float(np.sum((every - mean) ** 2)), 1e-300)
    if groups < _ENOUGH or found <= CHANCE / np.sqrt(groups):
        return 0.0
    return float(min(_STRONGEST, found + (1.0 + 3.0 * found) * parameters / (2.0 * groups)))


def following(passes: Sequence[Array]) -> float:
    """Correlation of a residual with the next one of its pass, without the bias that the mean of a pass brings; at least 0."""
    products = sum(float(own[1:] @ own[:-1]) for own in passes)
    squares, freedom = sum(float(own @ own) for own in passes), sum(len(own) - 1 for own in passes)
    return float(np.clip(products / max(squares, 1e-300) + len(passes) / max(freedom, 1), 0.0, _CLOSEST))


def autoregressive(model: Array, levels: Sequence[Array], serial: float) -> Array:
    """Variance of each parameter over the noise model's, if levels i and j of a run, or points of a pass, correlate by
    r^|i - j|."""
    from scipy.signal import lfilter  # takes a while to load

    added = np.zeros(len(model))
    for run in levels:
        weight = run @ model
        before = lfilter([0.0, serial], [1.0, -serial], weight, axis=0)     # sum of r^(i - j) over all j before i
        added += np.sum(weight * before, axis=0)
    return np.asarray(1.0 + 2.0 * added / np.maximum(np.diag(model), 1e-300))


def interval_ends(whole: Moments, noise: Noise, values: Mapping[str, float], free: Sequence[int], found: Spread) -> Array:
    """Lower and upper ends of the parameters at positions `free` of `values`, shape (p, 2); `whole` are sums over the search."""
    data, law, names = whole.data, whole.law, tuple(values)
    best = Moments.of(data, law, {name: np.array([values[name]]) for name in law.nonlinear})
    linear = best.sums.shape[-1] - 1
    optimum = best.solve(noise)
    axes, beside = _misfit_around(whole, noise, values, free, found, optimum.misfit[0]) if law.nonlinear else ({}, optimum)
    # beside the optimum: at every value of the nonlinear parameters, best linear ones and by how much the misfit is greater
    rise = np.maximum(0.0, beside.misfit - optimum.misfit[0])
    beta, variance = (np.concatenate((getattr(optimum, name), getattr(beside, name))) for name in ("beta", "variance"))
    ends = np.empty((len(free), 2))
    for row, i, reach in zip(ends, free, found.reach, strict=True):
        if i < linear:
            room = reach**2 - np.append(0.0, rise)      # what a linear parameter may still add to the misfit there
            half = np.sqrt(variance[room >= 0.0, i] * room[room >= 0.0])
            row[:] = (beta[room >= 0.0, i] - half).min(), (beta[room >= 0.0, i] + half).max()
        else:
            k = law.nonlinear.index(names[i])           # least misfit over the other nonlinear parameter, where there is one
            others = tuple(other for other in range(len(axes)) if other != k)
            least = rise.reshape([len(axis) for axis in axes.values()]).min(axis=others)
            row[:] = _where_rise_passes_one(axes[names[i]], np.sqrt(least) / reach, values[names[i]])
    return ends


_LINE, _FACE = 33, 13   # points of the profile over one nonlinear parameter, and along either of two
_ROOM = 1.5             # by which the profile is followed beyond the interval of the linearized law, at first
_ROUNDS = 3             # and how often that is widened
_WIDEST = 30.0          # in the logarithm


def _misfit_around(whole: Moments, noise: Noise, values: Mapping[str, float], free: Sequence[int], found: Spread,
              least: float) -> tuple[dict[str, Array], Optimum]:
    """Least squares at nonlinear parameters all around the optimum, as far as any interval reaches.

    Returns
    -------
    axes : dict of str to ndarray
        Their values; all combinations are tried.
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
        axes = {name: np.union1d(np.geomspace(end[0], end[1], size), values[name]) for name, end in ends.items()}
        grid = combined(axes)
        optimum = Moments.of(data, law, grid).solve(noise)
        inside = optimum.misfit - least <= widest
        wider = {}
        for name, (low, high) in ends.items():
            further = [inside[grid[name] == end].any() for end in axes[name][[0, -1]]]
            wider[name] = np.clip([low * (low / high) ** further[0], high * (high / low) ** further[1]], *limits[name])
        if all((wider[name] == ends[name]).all() for name in ends):
            break
        ends = wider
    return axes, optimum


def _where_rise_passes_one(x: Array, rise: Array, value: float) -> tuple[float, float]:
    """Where the rise passes 1 on either side of a value of x, straight in the logarithm; the ends of x if nowhere."""
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
