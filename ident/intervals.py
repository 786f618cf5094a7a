r"""Intervals of a fitted law: how far each parameter can go before the misfit, least over all others, tells.

The misfit of a parameter rises from its least by the square of its distance in standard errors, exactly so where the law is
linear. Where it is not, or a parameter is near its bound, the profile of the misfit is followed instead: intervals may be
lopsided, and one that the data leave open ends at the edge of what was searched.

The noise model gives the standard errors, with as many degrees of freedom as there are round trips to spare. Leaving out one
round trip at a time gives them without the noise model, but roughly where round trips are few. Both are averaged, the
first counting as `TRUST` degrees of freedom (a moderated variance).

References
----------
Venzon and Moolgavkar, Applied Statistics 37 (1988) 87; Smyth, Stat. Appl. Genetics Mol. Biol. 3 (2004) 3.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from ident.mechanism import Array
from ident.projection import Moments, combined, residual_sums
from ident.regression import Noise, left_out

TRUST = 10.0            # degrees of freedom that the noise model counts for
_LINE, _FACE = 33, 13   # points of the profile of one nonlinear parameter, and along either of two
_ROOM = 1.5             # by which the profile is searched beyond the interval of the linearized law
_ROUNDS, _WIDEST = 3, 30.0
MODE = "eb"


@dataclass(frozen=True)
class Spread:
    """Covariance of an estimate, and its reach: the rise of the root of the misfit at the ends of 95 % intervals.

    Attributes
    ----------
    covariance : ndarray, shape (p, p)
        Nonlinear parameters in the logarithm.
    reach : ndarray, shape (p,)
    factor : float
        Half width of an interval in standard errors.
    """

    covariance: Array
    reach: Array
    factor: float

    @property
    def std_error(self) -> Array:
        """Standard errors, shape (p,)."""
        return np.asarray(np.sqrt(np.maximum(0.0, np.diag(self.covariance))))


def spread(moments: Moments, noise: Noise, values: Mapping[str, float], free: Sequence[int]) -> Spread:
    """Covariance of the parameters `free` (positions in `values`), from the noise model and from round trips left out."""
    sums = residual_sums(moments.data, moments.law, noise, values)
    keep = [*free, sums.shape[-1] - 1]
    sums, p = sums[:, keep][:, :, keep], len(free)
    scale = np.sqrt(np.maximum(np.diag(sums.sum(axis=0))[:p], 1e-300))
    inverse = np.linalg.pinv(sums.sum(axis=0)[:p, :p] / np.outer(scale, scale), rcond=1e-13, hermitian=True)
    model = inverse / np.outer(scale, scale)
    without = left_out(sums)
    variance = np.maximum(np.diag(model), 1e-300)
    ratio = np.diag(without.covariance) / variance
    wider = np.sqrt((TRUST + without.freedom * ratio) / (TRUST + without.freedom))
    if MODE == "floor": wider = np.maximum(1.0, wider)
    factor = float(student.ppf(0.975, max(1, len(sums) - p)))
    return Spread(model * np.outer(wider, wider), factor * wider, factor)


def profile(moments: Moments, noise: Noise, values: Mapping[str, float], free: Sequence[int], found: Spread) -> Array:
    """Lower and upper ends of the parameters `free`, shape (p, 2); `moments` are those of the whole search."""
    data, law = moments.data, moments.law
    names, p = tuple(values), moments.sums.shape[-1] - 1
    best = Moments.of(data, law, {name: np.array([values[name]]) for name in law.nonlinear}).solve(noise)
    optimum, axes = best, {}
    if law.nonlinear:
        coarse = moments.solve(noise)
        steps = {name: np.unique(moments.grid[name]) for name in law.nonlinear}
        inside = coarse.misfit - best.misfit[0] <= found.reach.max() ** 2
        ends = {}
        for name in law.nonlinear:
            half = _ROOM * found.std_error[free.index(names.index(name))] * found.factor
            own = np.append(moments.grid[name][inside], values[name] * np.exp(np.clip([-half, half], -_WIDEST, _WIDEST)))
            ends[name] = np.clip([own.min(), own.max()], steps[name][0], steps[name][-1])
        for _ in range(_ROUNDS):
            axes = {name: np.union1d(np.geomspace(*ends[name], _LINE if len(ends) == 1 else _FACE), values[name]) for name in ends}
            grid = combined(axes)
            optimum = Moments.of(data, law, grid).solve(noise)
            inside = optimum.misfit - best.misfit[0] <= found.reach.max() ** 2
            open_ = False
            for name, (low, high) in ends.items():
                wide = np.log(high / low)
                lower = low > steps[name][0] and inside[grid[name] == axes[name][0]].any()
                upper = high < steps[name][-1] and inside[grid[name] == axes[name][-1]].any()
                ends[name] = np.clip([low * np.exp(-wide * lower), high * np.exp(wide * upper)], steps[name][0], steps[name][-1])
                open_ = open_ or lower or upper
            if not open_:
                break
    beta, misfit = np.vstack((best.beta, optimum.beta)), np.append(best.misfit, optimum.misfit)
    variance = np.maximum(0.0, np.diagonal(np.concatenate((best.inverse, optimum.inverse)), axis1=1, axis2=2))
    rise = np.maximum(0.0, misfit - best.misfit[0])
    out = np.empty((len(free), 2))
    for j, (i, reach) in enumerate(zip(free, found.reach, strict=True)):
        if i < p:
            inside = rise <= reach**2
            half = np.sqrt(variance[inside, i] * (reach**2 - rise[inside]))
            out[j] = (beta[inside, i] - half).min(), (beta[inside, i] + half).max()
            continue
        axis = axes[names[i]]
        least = np.array([rise[1:][grid[names[i]] == value].min() for value in axis])
        k = int(np.searchsorted(axis, values[names[i]]))
        least[k] = 0.0
        y = np.sqrt(least) / reach
        out[j] = _crossing(axis[k::-1], y[k::-1]), _crossing(axis[k:], y[k:])
    return out


def _crossing(x: Array, y: Array) -> float:
    """Where y first exceeds 1, straight in the logarithm of x; the last x if nowhere."""
    beyond = np.flatnonzero(y > 1.0)
    if not len(beyond):
        return float(x[-1])
    k = beyond[0]
    part = (1.0 - y[k - 1]) / (y[k] - y[k - 1])
    return float(x[k - 1] * (x[k] / x[k - 1]) ** part)
