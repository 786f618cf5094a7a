"""Global search for friction with memory: a grid over distance and shape of the relaxing state,
with variable projection.

The relaxing state is linear in everything but its distance and the shape of the law, so
this grid is the global search for all memories. The elements of Maxwell slip are chosen
from the same starting points.
"""

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
from scipy.linalg import cholesky
from scipy.optimize import nnls

from stribeck.ident.arrays import Array
from stribeck.ident.errors import FitError
from stribeck.ident.laws.law import Law
from stribeck.ident.memory.memory_data import Levels, MemoryData, columns_of
from stribeck.ident.memory.states.memories import DISTANCE, Memory, maxwell_slip, relaxed, slips

SOON = 1e-3  # s; delay and lag of the torque signal at the start
RIDGE = 1e-10  # on the scaled normal equations
_ROWS = 6000  # samples in the search
_BEGUN = 3  # starting points that it returns at most,
_UNLIKE = 3.0  # and least ratio of a nonlinear parameter of two of them
# values of a nonlinear parameter of a law with one, and with several of them
_SHAPES = 10, 6
_LEAST_SHARE = 0.01  # of an element of Maxwell slip

Start = tuple[float, dict[str, float]]


def search(data: MemoryData, law: Law, distances: Array) -> list[Start]:
    """Return starting points over a grid of distances of the relaxing state and shapes
    of the law, the best first.

    Each has its rms error and the values of the law, of the columns beside it and of the distance;
    there is one for each of the best shapes. Distance 0 stands for no memory.
    """
    used = np.flatnonzero(data.used)
    if not len(used):
        raise FitError(
            "no sample is left that shows friction: the joint rests or the log is too short"
        )
    rows = used[:: max(1, len(used) // _ROWS)]
    few = data.at(rows)
    states = {
        float(h): (relaxed(data.path, h)[0] if h > 0.0 else data.path.direction)[rows]
        for h in distances
    }
    tried = _SHAPES[min(len(law.nonlinear), 2) - 1]
    starts: list[Start] = []
    moving = few.speed[few.speed > 1e-3 * few.speed.max()]
    for shape in product(*(law.searched[name].grid(moving, tried) for name in law.nonlinear)):
        at = dict(zip(law.nonlinear, map(float, shape), strict=True))
        names, columns = columns_of(few, law, at)
        dry = np.array([not name.startswith("viscous") for name in names])
        best: Start = (np.inf, {})
        for h, state in states.items():
            friction = columns * np.where(dry[:, None], state, np.sign(few.velocity))
            waves = [column * state for column in few.along.values()]
            beside = np.stack([*few.beside.values(), *waves]) if few.signed else friction[:0]
            left, linear = _signed(friction, beside, few.torque)
            if left < best[0]:
                values = dict(zip((*names, *few.signed), linear.tolist(), strict=True))
                best = left, {**dict.fromkeys(data.signal, SOON), **values, **at, DISTANCE.name: h}
        starts.append((best[0] / float(np.sqrt(len(rows))), best[1]))
    return _unlike(sorted(starts, key=lambda one: one[0]), law)


def _unlike(starts: Sequence[Start], law: Law) -> list[Start]:
    """Return the best starts whose nonlinear parameters differ much from each other."""
    chosen: list[Start] = []
    for error, values in starts:
        near = (
            all(abs(np.log(values[name] / other[name])) < np.log(_UNLIKE) for name in law.nonlinear)
            for _, other in chosen
        )
        if len(chosen) < _BEGUN and (not chosen or not any(near)):
            chosen.append((error, values))
    return chosen


def _signed(friction: Array, beside: Array, torque: Array) -> tuple[float, Array]:
    """Return misfit and values of linear least squares; friction has no negative values."""
    rows = np.concatenate((friction, beside, torque[None]))
    gram = rows @ rows.T
    size = np.sqrt(np.diag(gram))
    size[size == 0.0] = 1.0
    root = cholesky(gram / np.outer(size, size) + RIDGE * np.eye(len(gram)))
    both = np.column_stack((root[:, :-1], -root[:, len(friction) : -1]))
    found, left = nnls(both, root[:, -1])
    p = len(friction)
    values = np.concatenate((found[:p], found[p : p + len(beside)] - found[p + len(beside) :]))
    return float(left * size[-1]), values * size[-1] / size[:-1]


def elements(
    data: MemoryData, law: Law, start: Mapping[str, float], distances: Sequence[float]
) -> Memory:
    """Return Maxwell slip with those of the distances whose elements have a share; the element with
    the largest share is last.

    Parameters
    ----------
    data : MemoryData
    law, start : Law, mapping of str to float
        Law of sliding, and values from which the search for its parameters begins.
    distances : sequence of float
        Slip distances on offer [rad or m].
    """
    shares = shares_of(data, law, distances, start)
    # or there is no friction
    used = [k for k in np.argsort(shares, kind="stable") if shares[k] > _LEAST_SHARE] or [0]
    rest = sorted(used[:-1]) if len(used) > 1 else [k for k in range(2) if k not in used]
    return maxwell_slip([distances[k] for k in (*rest, used[-1])])


def shares_of(
    data: MemoryData, law: Law, distances: Sequence[float], start: Mapping[str, float]
) -> Array:
    """Return the shares of Maxwell elements with these slip distances by nonnegative
    least squares, shape (D,).
    """
    levels = Levels.of(data, law, start)
    rows = np.flatnonzero(data.used)[:: max(1, int(data.used.sum()) // _ROWS)]
    states = slips(data.path, np.array(distances))[:, rows] * levels.dry[rows]
    beside = np.stack([levels.viscous[rows], *(column[rows] for column in data.beside.values())])
    _, found = _signed(states, beside, data.torque[rows])
    return np.asarray(found[: len(states)] / max(float(found[: len(states)].sum()), 1e-12))
