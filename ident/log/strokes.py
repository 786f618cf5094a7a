"""Strokes: stretches at constant speed, found in what was measured.

A stroke is a stretch over which a joint moves at constant speed while the others hold or move at constant speeds of
their own. It is recognised by the time that the joint takes for equal steps of position, never by what was commanded.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from stribeck.ident.arrays import Array

STEADY = 0.04          # a cell's speed may differ from the stroke's by this fraction
REST_TOLERANCE = 0.01  # rad or m; other joints stay this near to rest, to constant speed, or to their place on the way there
_CELLS = (8, 96)      # least and most position cells of a motion
_SAMPLES = 40          # a cell is so many encoder steps, or lasts so many samples where steps are coarser
_LEAST_CELLS = 3       # cells of a steady stretch
_LEAST_ROWS = 8
_REMNANT = 0.1         # a stretch shorter than this part of its motion's longest, in time and in way, is a ramp that rings
_OLD_ROWS = 10         # a sensor slower than the log repeats a position less often than that,
_SLOW_ROWS = 50         # or up to so often if nearly all are repeated alike: not those of an encoder at many speeds
_ALIKE = 0.9
_NOISE_ROWS = 20_000    # rows from which the noise of a position is told
_MIN_GEAR = 20.0       # gear ratio from which bins are whole motor revolutions


@dataclass(frozen=True)
class Stroke:
    """One joint, one direction, constant speed.

    Attributes
    ----------
    joint : int
        Which joint.
    segment : int
        Segment of the plan in which it was found.
    rows : slice
        Its samples.
    direction : int
        +1 or -1.
    speed : float
        Mean speed [rad/s or m/s].
    low, high : float
        Positions between which the speed is constant [rad or m].
    start, rate : ndarray, shape (n,)
        Where all joints are at its first row, and their constant speeds [rad or m, and per s].
    duration : float
        Time from its first row to its last [s].
    """

    joint: int
    segment: int
    rows: slice
    direction: int
    speed: float
    low: float
    high: float
    start: Array
    rate: Array
    duration: float

    @property
    def key(self) -> tuple[int, int]:
        """What tells it from the others of a run: joint and first row."""
        return self.joint, self.rows.start

    def at(self, position: ArrayLike) -> Array:
        """Positions of all joints where the stroke's own passes `position`, shape (N, n)."""
        since = (np.asarray(position, dtype=float) - self.start[self.joint]) / self.rate[self.joint]
        return np.asarray(self.start + since[..., None] * self.rate)


def find_strokes(t: Array, q: Array, segment: np.ndarray, but: frozenset[int] = frozenset()) -> list[Stroke]:
    """Stretches at constant speed of each joint with the others held or at constant speeds too, joint by joint.

    Segments `but` which are not searched: a plan may say that they only move the arm to another place.
    """
    q = np.column_stack([moving_on(t, x) for x in q.T])
    steady = [list(_stretches(t, q[:, joint], segment, but)) for joint in range(q.shape[1])]
    found = []
    for joint, stretches in enumerate(steady):
        for part, sign in stretches:
            together = _together(t, q, part, [steady[other] for other in range(q.shape[1]) if other != joint])
            stroke = None if together is None else _stroke(t, q, segment, joint, sign, *together)
            if stroke is not None and stroke.speed > 0.0:       # of positions that mostly repeat themselves the usual speed is 0
                found.append(stroke)
    return found


def moving_on(t: Array, x: Array) -> Array:
    """Positions without those that a slow sensor repeats, which lie on the straight line between what was new."""
    new = np.concatenate(([0], np.flatnonzero(x[1:] != x[:-1]) + 1))
    length, jump = np.diff(new), np.abs(np.diff(x[new]))
    leaps = jump > 3.0 * encoder_step(x)            # not those of a coarse encoder
    usual = float(np.median(length[leaps])) if leaps.any() else 0.0
    slow = _OLD_ROWS <= usual <= _SLOW_ROWS and np.mean(np.abs(length[leaps] - usual) <= 1.0) > _ALIKE
    waits = leaps & (length > 1) & (length < (usual + 2.0 if slow else _OLD_ROWS))
    if not waits.any():
        return x
    old = np.repeat(waits, length)
    rows = np.arange(new[0], new[-1])[old]
    moved = x.copy()
    moved[rows] = np.interp(t[rows], t[new], x[new])
    return moved


def _stretches(t: Array, x: Array, segment: np.ndarray, but: frozenset[int]) -> Iterator[tuple[slice, int]]:
    """Rows over which a joint moves at constant speed, and which way."""
    resolution = encoder_step(x)
    least = max(20.0 * resolution, float(np.ptp(x)) / 400.0)
    for rows in motions(x, segment, least):
        if int(segment[rows.start]) in but:
            continue
        sign = 1 if x[rows.stop - 1] > x[rows.start] else -1
        parts = [slice(rows.start + first, rows.start + last) for first, last in _steady(t[rows], sign * x[rows], resolution)]
        size = np.array([(t[part.stop - 1] - t[part.start], abs(x[part.stop - 1] - x[part.start])) for part in parts])
        for part, own in zip(parts, size, strict=True):
            if (own > _REMNANT * size.max(axis=0)).any():
                yield part, sign


def _together(t: Array, q: Array, part: slice, others: list[list[tuple[slice, int]]]) -> tuple[slice, Array, Array] | None:
    """The longest part of a stretch in which the other joints hold or keep their speeds too; where all start, their speeds."""
    for _ in range(2):
        some = slice(part.start, part.stop, max(1, (part.stop - part.start) // 50))
        since, where = t[some] - t[part.start], q[some]
        start, rate = _line(since, where)
        if (np.abs(where - start - since[:, None] * rate).max(axis=0) <= REST_TOLERANCE / 2.0).all():
            return part, start, rate
        for stretches in others:
            shared = [slice(max(part.start, other.start), min(part.stop, other.stop)) for other, _ in stretches
                      if other.start < part.stop and part.start < other.stop]
            if shared:
                part = max(shared, key=lambda rows: rows.stop - rows.start)
        if part.stop - part.start < _LEAST_ROWS:
            break
    return None


def _stroke(t: Array, q: Array, segment: np.ndarray, joint: int, sign: int, rows: slice, start: Array, rate: Array) -> Stroke:
    x, since = q[rows, joint], t[rows] - t[rows.start]
    start[joint], rate[joint] = (float(entry[0]) for entry in _line(since, x[:, None]))
    ends = x[0], x[-1]
    return Stroke(joint, int(segment[rows.start]), rows, sign, abs(float(rate[joint])), min(ends), max(ends), start, rate,
                  float(since[-1]))


def motions(x: Array, segment: np.ndarray, least: float) -> Iterator[slice]:
    """Stretches of at least `least` within a segment over which x moves one way."""
    edges = np.concatenate(([0], np.flatnonzero(np.diff(segment)) + 1, [len(x)]))
    high, low = np.maximum.reduceat(x, edges[:-1]), np.minimum.reduceat(x, edges[:-1])
    for k in np.flatnonzero(high - low > least):
        start, stop = int(edges[k]), int(edges[k + 1])
        if abs(x[stop - 1] - x[start]) > (high[k] - low[k]) - least:
            yield slice(start, stop)
            continue
        turns = [start, *(start + turn for turn in _turning_points(x[start:stop], least)), stop - 1]
        for first, last in pairwise(turns):
            if abs(x[last] - x[first]) > least:
                yield slice(first, last + 1)


def _turning_points(x: Array, least: float) -> list[int]:
    """Rows at which x turns back by more than `least`."""
    turns, extreme, sign = [], 0, 0
    stride = max(1, len(x) // 20000)
    coarse = x[::stride].tolist()
    for k, value in enumerate(coarse):
        ahead = value - coarse[extreme]
        if sign == 0:
            if abs(ahead) > least:
                sign, extreme = (1 if ahead > 0 else -1), k
        elif sign * ahead >= 0.0:
            extreme = k
        elif -sign * ahead > least:
            turns.append(extreme * stride)
            sign, extreme = -sign, k
    return turns


def _steady(t: Array, x: Array, resolution: float) -> Iterator[tuple[int, int]]:
    """Row ranges of a rising x over which equal steps of position take equal times."""
    rising = np.maximum.accumulate(x)
    edges, unsure = _cell_edges(x, resolution)
    cells = len(edges) - 1
    if cells < _LEAST_CELLS:
        return
    passed = np.interp(edges, rising, t)
    pace = np.log(np.maximum(np.diff(passed), 1e-9))         # log of the time that each cell takes
    rows, apart = np.searchsorted(rising, edges), STEADY + unsure
    cut = np.concatenate(([0], np.flatnonzero(np.abs(np.diff(pace)) > 2.0 * apart) + 1, [cells]))
    for first, last in pairwise(cut):
        for _ in range(4):                                     # shrink to the longest part near its own median
            if last - first < _LEAST_CELLS:
                break
            near = np.abs(pace[first:last] - _median(pace[first:last])) < apart
            if near.all():
                break
            start, length = _longest(near)
            first, last = first + start, first + start + length
        first, last = first + 1, last - 1                      # edge cells hold the end of a ramp
        if last - first >= max(1, _LEAST_CELLS - 2) and rows[last] - rows[first] >= _LEAST_ROWS:
            yield int(rows[first]), int(rows[last])


def _cell_edges(rising: Array, resolution: float) -> tuple[Array, float]:
    """Edges of equal cells, large enough that encoder steps, noise and sampling hardly shift when they are passed.

    They lie half-way between steps of the encoder, so that each is passed at the instant of a step. The second result is the
    fraction by which noise, and sampling where a motion is too short for cells of that size, make their times unsure.
    """
    low, high = rising[0], rising[-1]
    noise = position_noise(rising, resolution)
    cell = 8.0 * max(resolution, 8.0 * noise)
    chord = min(_SAMPLES, len(rising) // 4)
    fastest = float(np.max(rising[chord:] - rising[:-chord])) / chord if chord else 0.0     # way a sample
    grain = min(resolution, fastest)            # an edge is passed between two samples, or two steps
    cell = max(cell, _SAMPLES * grain)
    cells = np.clip((high - low) / cell, *_CELLS)
    steps = max(1.0, np.ceil((high - low) / (cells * resolution)))
    size = float(steps * resolution)
    return np.arange(low + 0.5 * resolution, high, size), max(0.0, grain / size - 1.0 / _SAMPLES) + 2.0 * noise / size


def position_noise(rising: Array, resolution: float) -> float:
    """Standard deviation of the position's noise, if it is more than what encoder steps make; else 0."""
    if len(rising) < 4:
        return 0.0
    noise = _median(np.abs(np.diff(rising, 3))) / 0.6745 / np.sqrt(20.0)     # ramps leave no third difference
    return noise if noise > 2.0 * resolution else 0.0


def _line(t: Array, q: Array) -> tuple[Array, Array]:
    """Least-squares straight line q = start + rate t of every joint, each shape (n,)."""
    mean, middle = q.mean(axis=0), t.mean()
    about = t - middle
    rate = about @ (q - mean) / (about @ about)
    return mean - rate * middle, rate


def _median(x: Array) -> float:
    """As NumPy's, several times faster for the few cells of a stroke."""
    x = np.sort(x)
    return float(x[(len(x) - 1) // 2] + x[len(x) // 2]) / 2.0


def _longest(mask: np.ndarray) -> tuple[int, int]:
    """Start and length of the longest run of True."""
    padded = np.concatenate(([0], mask.astype(int), [0]))
    starts, stops = np.flatnonzero(np.diff(padded) == 1), np.flatnonzero(np.diff(padded) == -1)
    if len(starts) == 0:
        return 0, 0
    k = int(np.argmax(stops - starts))
    return int(starts[k]), int(stops[k] - starts[k])


def encoder_step(x: Array) -> float:
    """Smallest step that the position takes."""
    steps = np.abs(np.diff(x[:200_000]))
    least = 1e-7 * float(np.ptp(x))                # finer steps are noise, or rounding of a computed position
    steps = steps[steps > least]
    return float(steps.min()) if len(steps) else max(least, 1e-12)


def resolution_of(x: Array) -> float:
    """What can be told of a joint's positions, at rest or in motion: an encoder step, or as wide as they are noisy."""
    return max(encoder_step(x), 3.0 * position_noise(x[:_NOISE_ROWS], 0.0))


def motor_revolution(gear_ratio: float) -> float:
    """One motor revolution at the joint, over which ripple averages out; 0 where there is no gear to speak of."""
    return 2.0 * np.pi / gear_ratio if gear_ratio >= _MIN_GEAR else 0.0
