"""Ripple of a joint's speed, in windows of position."""

from collections.abc import Sequence

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.log.strokes import resolution_of

# rms ripple over mean speed; a larger ripple means that the speed is not constant
RIPPLE = 0.10
_STEPS = 12.0  # encoder steps of a window
_WINDOWS = 8  # smallest number of windows of a motion


def resolved(x: Array) -> float:
    """Smallest distance that gives a speed, from the resolution of a
    joint's positions [rad or m].
    """
    return _STEPS * resolution_of(x)


def speed_windows(
    t: Array, x: Array, ranges: Sequence[slice], fine: float
) -> tuple[Array, np.ndarray, Array]:
    """Speeds in windows of a distance of about `fine`, for all ranges.

    Returns
    -------
    speed : ndarray, shape (M,)
        Speed along the motion, positive in the direction of the range [rad/s or m/s].
    owner : ndarray of int, shape (M,)
        Range of each window.
    length : ndarray, shape (M,)
        Distance of a window at the mean speed of its range [rad or m].
    """
    start, stop = (
        np.array([getattr(rows, end) for rows in ranges], dtype=int) for end in ("start", "stop")
    )
    way = x[stop - 1] - x[start]
    rows = (
        np.maximum(2, np.ceil(fine * (stop - start) / np.maximum(np.abs(way), 1e-300)))
        .clip(max=stop - start)
        .astype(int)
    )
    count = (stop - start - 1) // rows
    count[count < _WINDOWS] = 0
    owner = np.repeat(np.arange(len(ranges)), count)
    local = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
    at = start[owner] + rows[owner] * local
    then = at + rows[owner]
    speed = (x[then] - x[at]) / (t[then] - t[at]) * np.sign(way)[owner]
    return speed, owner, np.abs(way / np.maximum(stop - start, 1) * rows)[owner]


def uneven(
    t: Array, x: Array, ranges: Sequence[slice], fine: float
) -> list[tuple[slice, float, float]]:
    """Ranges without constant speed: rows, mean speed, and rms ripple over mean speed."""
    if not ranges:
        return []
    speed, owner, length = speed_windows(t, x, ranges, fine)
    count = np.maximum(np.bincount(owner, minlength=len(ranges)), 1)
    mean = np.bincount(owner, speed, len(ranges)) / count
    variance = np.bincount(owner, (speed - mean[owner]) ** 2, len(ranges)) / count
    # apparent ripple from encoder and noise
    seen = np.bincount(owner, (fine / _STEPS / length) ** 2, len(ranges)) / count
    ripple = np.sqrt(np.maximum(variance / np.where(mean > 0.0, mean, np.inf) ** 2 - seen, 0.0))
    return [
        (ranges[k], float(mean[k]), float(ripple[k]))
        for k in np.flatnonzero(ripple > RIPPLE).tolist()
    ]
