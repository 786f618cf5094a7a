"""How steady the speed of a joint is, window by window."""

from collections.abc import Sequence

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.log.strokes import resolution_of

RIPPLE = 0.10           # rms of a speed over its mean from which it is not constant
_STEPS = 12.0           # encoder steps that a window of speed holds
_WINDOWS = 8            # least windows of a motion whose speed is judged


def resolved(x: Array) -> float:
    """Way over which a joint's speed can be told, from its positions [rad or m]."""
    return _STEPS * resolution_of(x)


def speed_windows(t: Array, x: Array, ranges: Sequence[slice], fine: float) -> tuple[Array, np.ndarray, Array]:
    """Speeds over windows that hold a way of about `fine`, of all ranges at once.

    Returns
    -------
    speed : ndarray, shape (M,)
        Signed along the motion, so that forward is positive [rad/s or m/s].
    owner : ndarray of int, shape (M,)
        Which range a window belongs to.
    length : ndarray, shape (M,)
        Way of the windows at the range's mean speed [rad or m].
    """
    start, stop = (np.array([getattr(rows, end) for rows in ranges], dtype=int) for end in ("start", "stop"))
    way = x[stop - 1] - x[start]
    rows = np.maximum(2, np.ceil(fine * (stop - start) / np.maximum(np.abs(way), 1e-300))).clip(max=stop - start).astype(int)
    count = (stop - start - 1) // rows
    count[count < _WINDOWS] = 0
    owner = np.repeat(np.arange(len(ranges)), count)
    local = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
    at = start[owner] + rows[owner] * local
    then = at + rows[owner]
    speed = (x[then] - x[at]) / (t[then] - t[at]) * np.sign(way)[owner]
    return speed, owner, np.abs(way / np.maximum(stop - start, 1) * rows)[owner]


def uneven(t: Array, x: Array, ranges: Sequence[slice], fine: float) -> list[tuple[slice, float, float]]:
    """Ranges over which the speed is not constant: rows, mean speed, rms ripple as a fraction of it."""
    if not ranges:
        return []
    speed, owner, length = speed_windows(t, x, ranges, fine)
    count = np.maximum(np.bincount(owner, minlength=len(ranges)), 1)
    mean = np.bincount(owner, speed, len(ranges)) / count
    variance = np.bincount(owner, (speed - mean[owner]) ** 2, len(ranges)) / count
    seen = np.bincount(owner, (fine / _STEPS / length) ** 2, len(ranges)) / count   # what encoder and noise make of any speed
    ripple = np.sqrt(np.maximum(variance / np.where(mean > 0.0, mean, np.inf) ** 2 - seen, 0.0))
    return [(ranges[k], float(mean[k]), float(ripple[k])) for k in np.flatnonzero(ripple > RIPPLE).tolist()]
