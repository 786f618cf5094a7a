r"""Least squares of friction with memory: from the starting points of the global
search, all parameters together.

Gauss-Newton steps use the exact derivatives of the states (sensitivities). The steps need only the
products of Jacobian and residuals, so the least-squares routine sees a problem with a few rows
that has the same products.

Two minima may fit a log alike: friction that falls at low speeds, and one that rises over a wider
range with less viscous friction, for example. Minima that the log does not tell apart are all kept:
intervals span them. Of these the best one whose friction does not rise at low speeds is the
estimate.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import least_squares

from stribeck.ident.arrays import Array, Groups
from stribeck.ident.fit.cluster_covariance import Intervals, cluster_covariance
from stribeck.ident.laws.law import Law
from stribeck.ident.memory.joint_memory import dry_level
from stribeck.ident.memory.memory_data import Levels, MemoryData
from stribeck.ident.memory.memory_search import RIDGE, SOON, Start, shares_of
from stribeck.ident.memory.states.memories import (
    DISTANCE,
    MAXWELL_SLIP,
    SECOND_DISTANCE,
    SHARE,
    Drive,
    Memory,
)
from stribeck.ident.memory.torque_signal import LIMITS, as_reported
from stribeck.ident.memory.weak_prior import weak_prior

_AS_GOOD = 1.3  # largest error of starting points that are followed, relative to the best
# standard errors of the difference of two fits' squares, up to which a log does not tell them apart
_ALIKE = 1.96
_BLOCKS = 6  # least number of blocks that can tell it
# least dry level, as a part of the torque's deviation: memories divide by the level
_LEAST_LEVEL = 1e-6
# samples in a product of matrices: small ones need no threads, which only wait for each other
_AT_ONCE = 512
_AT_BOUND = 1e-6  # part of its value within which a parameter is at a bound
# relative change of the squares with which a competing fit, and the final one, end
_ROUGH, CLOSE = 1e-6, 1e-10
# slope of a law at the greatest fitted speed, relative to the mean slope, below
# which it has levelled off
_LEVEL = 0.1
_NEAR_TOP = 0.01  # part of the greatest fitted speed over which the slope of the law is taken
# factor by which the search of a nonlinear parameter may leave the range of its grid
_BEYOND = 3.0


@dataclass(frozen=True)
class MemoryFit:
    """A law and a memory with the best parameters.

    Attributes
    ----------
    law, memory : Law, Memory
        Laws of sliding and presliding.
    values : dict of str to float
        Parameters of law and memory, and of the columns beside friction.
    jacobian, residual : ndarray, shape (N, p), (N,)
        Derivatives of the prediction, and torque minus prediction, of the compared samples.
    free : tuple of str
        Parameters that are not at a bound, the columns of `jacobian`.
    data : MemoryData
        The samples.
    prior : ndarray, shape (p,)
        Factors of the squares of the free parameters, see `weak_prior`.
    at_edge : ndarray, shape (N, e)
        Derivatives by those nonlinear parameters of the law that are at an end of their search.
        Nothing is known of them but that they are beyond this end, so intervals let them vary.
    rivals : tuple of MemoryFit
        Other minima that the samples do not tell from this one.
    """

    law: Law
    memory: Memory
    values: Mapping[str, float]
    jacobian: Array
    residual: Array
    free: tuple[str, ...]
    data: MemoryData
    prior: Array
    at_edge: Array
    rivals: tuple["MemoryFit", ...] = ()

    @property
    def rmse(self) -> float:
        """Root mean square of the residuals [N·m or N]."""
        return float(np.sqrt(np.mean(self.residual**2)))

    @cached_property
    def held_out(self) -> Array:
        """Mean square error of each block by a fit without it, linear about the estimate,
        shape (G,) [N²·m² or N²].
        """
        return self._left_out(self.data.groups)

    @cached_property
    def held_out_quarters(self) -> Array:
        """As `held_out`, of each quarter of the log, shape (4,)."""
        return self._left_out(self.data.quarters)

    def _left_out(self, group: Groups) -> Array:
        count = int(group.max()) + 1
        size = np.sqrt(np.sum(self.jacobian**2, axis=0))
        size[size == 0.0] = 1.0
        rows = self.jacobian / size
        order = np.argsort(group, kind="stable")
        cut = np.searchsorted(group[order], np.arange(count + 1))
        blocks = [order[a:b] for a, b in pairwise(cut)]
        grams = np.array([rows[block].T @ rows[block] for block in blocks])
        total = grams.sum(axis=0) + RIDGE * np.eye(rows.shape[1]) + np.diag(self.prior / size**2)
        errors = [
            self.residual[block]
            + rows[block] @ np.linalg.solve(total - gram, rows[block].T @ self.residual[block])
            for block, gram in zip(blocks, grams, strict=True)
        ]
        return np.array([np.mean(error**2) for error in errors])

    @property
    def held_out_rmse(self) -> float:
        """Root mean square error over all blocks, each predicted by a fit without it [N·m or N]."""
        return float(np.sqrt(np.average(self.held_out, weights=np.bincount(self.data.groups))))

    @cached_property
    def intervals(self) -> Intervals:
        """Covariance of the free parameters from leaving out blocks."""
        p = len(self.free)
        whole = cluster_covariance(
            np.column_stack((self.jacobian, self.at_edge)), self.residual, self.data.groups
        )
        return Intervals(whole.covariance[:p, :p], whole.freedom[:p])

    def predict(self, data: MemoryData) -> Array:
        """Return the torque along other samples, shape (M,) [N·m or N].

        Beyond the fitted speeds friction follows a straight line, as steep as the law at the
        greatest of them. If the law has levelled off there, the line is as steep as the law in the
        mean over the fitted speeds, since viscous friction grows.
        """
        top = float(self.data.speed[self.data.used].max())
        within = replace(data, velocity=np.clip(data.velocity, -top, top))
        torque = predicted(within, self.law, self.memory, self.values)[0]
        beyond = data.velocity - within.velocity
        return np.asarray(torque + self._slope(top) * beyond) if beyond.any() else torque

    def _slope(self, top: float) -> float:
        """Growth of friction with speed beyond the greatest fitted one, not
        negative [N·m·s/rad or N·s/m].
        """
        used = self.data.at(np.flatnonzero(self.data.used))
        own = {name: self.values[name] for name in self.law.parameters(used.load is not None)}
        mean = (
            np.polyfit(used.speed, self.law.torque(used.speed, own, used.load), 1)[0]
            if np.ptp(used.speed) > 0.0
            else 0.0
        )
        fastest = None if used.load is None else used.load[[int(np.argmax(used.speed))] * 2]
        near, there = self.law.torque(top * np.array([1.0 - _NEAR_TOP, 1.0]), own, fastest).tolist()
        slope = (there - near) / (_NEAR_TOP * top)
        return max(0.0, slope if slope > _LEVEL * mean else float(mean))


def predicted(
    data: MemoryData, law: Law, memory: Memory, values: Mapping[str, float]
) -> tuple[Array, Array]:
    """Return torque and its derivatives by all parameters, shape (M,) and (p, M), in the
    order of `parameters_of`.
    """
    levels = Levels.of(data, law, values)
    level = np.maximum(levels.dry, _LEAST_LEVEL * float(np.std(data.torque)) + 1e-300)
    dry, by_memory, by_level = memory.answer(
        Drive(data.path, data.velocity, level, levels.dry_slopes), values
    )
    beside = np.stack(list(data.beside.values())) if data.beside else np.zeros((0, len(dry)))
    torque = dry + levels.viscous + np.array([values[name] for name in data.beside]) @ beside
    slopes = np.concatenate((by_level + levels.viscous_slopes, by_memory, beside))
    if not data.signal:
        return torque, slopes
    told, of_signal = as_reported(
        data.time,
        data.path.begins,
        {name: values[name] for name in data.signal},
        np.concatenate((torque[None], slopes)),
    )
    return told[0], np.concatenate((told[1:], of_signal))


def parameters_of(data: MemoryData, law: Law, memory: Memory) -> tuple[str, ...]:
    """Return the names of all parameters."""
    return (
        *law.parameters(data.load is not None),
        *data.along,
        *memory.parameters,
        *data.beside,
        *data.signal,
    )


def minima(data: MemoryData, law: Law, memory: Memory, begun: Sequence[Start]) -> list[MemoryFit]:
    """Return the fits of all parameters to which starting points lead, each minimum once, the
    best first.

    Parameters
    ----------
    data : MemoryData
    law, memory : Law, Memory
        Laws of sliding and presliding.
    begun : sequence of Start
        Result of `search`, or of a fit.
    """
    names, fits = parameters_of(data, law, memory), list[MemoryFit]()
    for error, start in begun:
        if error > _AS_GOOD * begun[0][0]:
            break
        level = float(np.median(Levels.of(data, law, start).dry))
        fits += [
            _polished(data, law, memory, names, {**start, **begin})
            for begin in _starts(data, law, memory, start, level)
        ]
    distinct: list[MemoryFit] = []
    for fit in sorted(fits, key=lambda fit: fit.rmse):
        if not any(_is_within(fit, other) for other in distinct):
            distinct.append(fit)
    return distinct


def concluded(data: MemoryData, fit: MemoryFit) -> MemoryFit:
    """Return the close fit to all samples; of minima that these do not tell apart, one whose
    friction falls with speed.
    """
    fits = [refitted(data, one, ftol=CLOSE) for one in (fit, *fit.rivals)]
    best, *others = sorted(alike(fits), key=lambda one: (not _falls(one), one.rmse))
    return replace(best, rivals=tuple(others)) if others else best


def alike(fits: Sequence[MemoryFit]) -> list[MemoryFit]:
    """Return the best fit, and those other minima that the samples do not tell from it."""
    best = min(fits, key=lambda fit: float(fit.residual @ fit.residual))
    found = [best]
    for fit in fits:
        if (
            fit is not best
            and _as_likely(fit, best)
            and not any(_is_within(fit, other) for other in found)
        ):
            found.append(fit)
    return found


def _as_likely(fit: MemoryFit, best: MemoryFit) -> bool:
    """Return whether the squares of two fits differ by no more than by chance, from block to
    block; False for a few blocks.

    References
    ----------
    Vuong, Econometrica 57 (1989) 307.
    """
    apart = np.bincount(fit.data.groups, fit.residual**2 - best.residual**2)
    count = len(apart)
    return count >= _BLOCKS and bool(apart.sum() <= _ALIKE * np.sqrt(count) * np.std(apart, ddof=1))


def _falls(fit: MemoryFit) -> bool:
    """Return whether dry friction at the lowest speed is at least that at the
    highest, at the median load.
    """
    used = fit.data.at(np.flatnonzero(fit.data.used))
    load = None if used.load is None else np.median(used.load, axis=0)[None]
    own = {name: fit.values[name] for name in fit.law.parameters(load is not None)}
    slow, fast = (
        dry_level(fit.law, own, np.array([speed]), load)[0]
        for speed in (0.0, float(used.speed.max()))
    )
    return bool(slow >= fast)


def _is_within(fit: MemoryFit, other: MemoryFit) -> bool:
    """Return whether a fit is the same minimum as another fit of the same
    laws: within its intervals.
    """
    if fit.free != other.free:
        return False
    apart = np.array([fit.values[name] - other.values[name] for name in other.free])
    return bool(np.all(np.abs(apart) <= other.intervals.half_width()))


def refitted(
    data: MemoryData, fit: MemoryFit, start: Mapping[str, float] | None = None, ftol: float = _ROUGH
) -> MemoryFit:
    """Return a fit of the same laws to other samples, from its values; `start`: of other
    parameters, else from zero.
    """
    names = parameters_of(data, fit.law, fit.memory)
    return _polished(
        data,
        fit.law,
        fit.memory,
        names,
        {**dict.fromkeys(names, 0.0), **fit.values, **(start or {})},
        ftol,
    )


def _starts(
    data: MemoryData, law: Law, memory: Memory, start: Mapping[str, float], level: float
) -> Sequence[Mapping[str, float]]:
    if memory.name == MAXWELL_SLIP:
        return [
            dict(
                zip(
                    memory.parameters,
                    shares_of(data, law, memory.distances, start).tolist(),
                    strict=False,
                )
            )
        ]
    return memory.starts(start.get(DISTANCE.name, 0.0), level)


def _polished(
    data: MemoryData,
    law: Law,
    memory: Memory,
    names: tuple[str, ...],
    start: Mapping[str, float],
    ftol: float = _ROUGH,
) -> MemoryFit:
    low, high = _limits(data, law, memory, names)
    x0 = np.clip([start[name] for name in names], low, high)
    inner = x0 + 1e-9 * np.maximum(1e-3, np.abs(x0)) * (x0 <= low)
    size = np.maximum(np.abs(x0), [_scale(data, law, memory, name) for name in names])
    kept: dict[bytes, tuple[Array, Array]] = {}

    def rows(x: Array) -> tuple[Array, Array]:
        """Return residuals and Jacobian with p + 1 rows and the
        products of those of all samples.
        """
        key = x.tobytes()
        if key not in kept:
            torque, slopes = predicted(data, law, memory, dict(zip(names, x.tolist(), strict=True)))
            kept.clear()
            kept[key] = _compressed(
                slopes[:, data.used], data.torque[data.used] - torque[data.used]
            )
        return kept[key]

    def solved(start: Array, prior: Array) -> Array:
        root = np.sqrt(prior)

        def residual(x: Array) -> Array:
            return np.append(rows(x)[0], root * x)

        def jacobian(x: Array) -> Array:
            return np.vstack((rows(x)[1], np.diag(root)))

        return np.asarray(
            least_squares(
                residual,
                start,
                jac=jacobian,
                bounds=(low, high),
                x_scale=size,
                ftol=ftol,
                xtol=1e-8,
                gtol=1e-10,
                max_nfev=60,
            ).x
        )

    def fitted(x: Array, prior: Array) -> MemoryFit:
        values = dict(zip(names, x.tolist(), strict=True))
        torque, slopes = predicted(data, law, memory, values)
        room = _AT_BOUND * size
        free = (x > low + room) & (x < high - room)
        edge = ~free & np.isin(names, law.nonlinear)
        return MemoryFit(
            law,
            memory,
            values,
            slopes[free][:, data.used].T,
            (data.torque - torque)[data.used],
            tuple(name for name, inside in zip(names, free, strict=True) if inside),
            data,
            prior[free],
            slopes[edge][:, data.used].T,
        )

    none = np.zeros(len(names))
    x = _in_order(solved(inner, none), names)
    fit = fitted(x, none)
    prior = none.copy()
    here = np.isin(names, fit.free)
    prior[here] = weak_prior(
        fit.jacobian,
        fit.residual,
        data.groups,
        x[here],
        np.isin(fit.free, data.waving),
        float(np.sqrt(np.mean(data.torque[data.used] ** 2))),
    )
    return fitted(_in_order(solved(x, prior), names), prior) if prior.any() else fit


def _in_order(x: Array, names: tuple[str, ...]) -> Array:
    """Return values with the shorter one of two distances first."""
    if SECOND_DISTANCE.name not in names:
        return x
    first, second, share = (names.index(key.name) for key in (DISTANCE, SECOND_DISTANCE, SHARE))
    if x[first] <= x[second]:
        return x
    turned = x.copy()
    turned[first], turned[second], turned[share] = x[second], x[first], 1.0 - x[share]
    return turned


def _compressed(slopes: Array, residual: Array) -> tuple[Array, Array]:
    """Return residuals (p + 1,) and Jacobian (p + 1, p) with the products of the whole ones; slopes
    (p, N) of the prediction.
    """
    p = len(slopes)
    size = np.sqrt(np.einsum("pn,pn->p", slopes, slopes))
    size[size == 0.0] = 1.0
    scaled = slopes / size[:, None]
    gram = np.zeros((p, p))
    for begin in range(0, scaled.shape[1], _AT_ONCE):
        part = scaled[:, begin : begin + _AT_ONCE]
        gram += part @ part.T
    root = cholesky(gram + RIDGE * np.eye(p))
    turned = solve_triangular(root, scaled @ residual, trans="T")
    rest = np.sqrt(max(0.0, float(residual @ residual - turned @ turned)))
    return np.append(turned, rest), np.vstack((-root * size, np.zeros(p)))


def _limits(
    data: MemoryData, law: Law, memory: Memory, names: tuple[str, ...]
) -> tuple[Array, Array]:
    """Return least and greatest values of the parameters."""
    moving = data.speed[data.speed > 1e-3 * data.speed.max()]
    low, high = dict.fromkeys(names, 0.0), dict.fromkeys(names, np.inf)
    for name in law.nonlinear:
        grid = law.searched[name].grid(moving, 2)
        low[name], high[name] = float(grid[0]) / _BEYOND, float(grid[-1]) * _BEYOND
    least = 1e-12 + 1e-6 * float(data.path.length.sum())
    low |= {quantity.name: least for quantity in memory.quantities if quantity.unit == "{q}"}
    low |= dict(memory.low) | dict.fromkeys(set(data.signed) - set(data.positive), -np.inf)
    high |= dict(memory.high)
    for name in data.signal:
        low[name], high[name] = LIMITS[name]
    return np.array([low[name] for name in names]), np.array([high[name] for name in names])


def _scale(data: MemoryData, law: Law, memory: Memory, name: str) -> float:
    """Return a typical size of a parameter, for steps from zero."""
    torque, speed = float(np.std(data.torque)) + 1e-12, float(np.quantile(data.speed, 0.9))
    if name in data.signed:
        return torque / (float(np.std({**data.beside, **data.along}[name])) or 1.0)
    if name in data.signal:
        return SOON
    if name.startswith("viscous") or name == "bristle_damping":
        return torque / speed
    return (
        1e-3 if name in memory.parameters and name not in ("bristle_stiffness",) else 0.1 * torque
    )
