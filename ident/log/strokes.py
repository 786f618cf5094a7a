"""Detection of strokes in measured positions.

A stroke is a part of a run in which a joint moves at constant speed, and every other joint rests or
also moves at constant speed. Strokes are detected from the times that the joint needs for equal
steps of position, never from commands.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from stribeck.ident.arrays import Array

# largest relative difference between the speed of a cell and the speed of the stroke
STEADY = 0.04
# rad or m; tolerance of other joints: rest, constant speed, and return to the same position
REST_TOLERANCE = 0.01
_CELLS = (8, 96)  # smallest and largest number of position cells of a motion
_SAMPLES = 40  # encoder steps of a cell, or samples of a cell if encoder steps are coarser
_LEAST_CELLS = 3  # smallest number of cells at constant speed
_LEAST_ROWS = 8
# a part shorter than this fraction of the longest part, in time and distance, is a ringing ramp
_REMNANT = 0.1
_OLD_ROWS = 10  # a sensor slower than the log repeats a position for fewer rows,
# or for up to this many rows, if nearly all positions repeat equally often
# (unlike a coarse encoder)
_SLOW_ROWS = 50
_ALIKE = 0.9
_NOISE_ROWS = 20_000  # rows for the estimate of position noise
_MIN_GEAR = 20.0  # from this gear ratio on, bins are whole motor revolutions


@dataclass(frozen=True)
class Stroke:
    """A motion of one joint in one direction at constant speed.

    Attributes
    ----------
    joint : int
        Index of the joint.
    segment : int
        Plan segment of the stroke.
    rows : slice
        Rows of its samples.
    direction : int
        +1 or -1.
    speed : float
        Mean speed [rad/s or m/s].
    low, high : float
        Positions between which the speed is constant [rad or m].
    start, rate : ndarray, shape (n,)
        Positions of all joints at the first row [rad or m], and their constant
        velocities [rad/s or m/s].
    duration : float
        Time from the first row to the last row [s].
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
        """Unique key of the stroke in its run: joint and first row."""
        return self.joint, self.rows.start

    def moved(self, rows: int) -> "Stroke":
        """Return the stroke with its rows counted from an earlier row."""
        return (
            replace(self, rows=slice(self.rows.start + rows, self.rows.stop + rows))
            if rows
            else self
        )

    def at(self, position: ArrayLike) -> Array:
        """Positions of all joints when the joint of the stroke passes `position`, shape (N, n)."""
        since = (np.asarray(position, dtype=float) - self.start[self.joint]) / self.rate[self.joint]
        return np.asarray(self.start + since[..., None] * self.rate)


class Grain(NamedTuple):
    """Scale of one joint's positions [rad or m].

    Attributes
    ----------
    step : float
        Encoder step.
    fine : float
        Smallest change between samples, after positions that a slow sensor
        repeats were interpolated.
    span : float
        Range of the positions.
    """

    step: float
    fine: float
    span: float

    @classmethod
    def of(cls, t: Array, x: Array, span: float | None = None) -> "Grain":
        """Scale of positions at some times, shapes (N,); for the first part of a run, with
        the range in the whole run.
        """
        step = encoder_step(x)
        return cls(
            step, encoder_step(moving_on(t, x, step)), float(np.ptp(x)) if span is None else span
        )


def find_strokes(
    t: Array,
    q: Array,
    segment: np.ndarray,
    but: frozenset[int] = frozenset(),
    grains: Sequence[Grain] | None = None,
) -> list[Stroke]:
    """Find the strokes of all joints, joint by joint.

    Segments in `but` are not searched; these only move the arm to another position. A part of a run
    needs the `grains` of the whole run, so that its strokes do not depend on where it ends.
    """
    grains = [Grain.of(t, x) for x in q.T] if grains is None else grains
    q = np.column_stack([moving_on(t, x, grain.step) for x, grain in zip(q.T, grains, strict=True)])
    steady = [
        list(_stretches(t, x, segment, but, grain)) for x, grain in zip(q.T, grains, strict=True)
    ]
    found = []
    for joint, stretches in enumerate(steady):
        for part, sign in stretches:
            together = _together(
                t, q, part, [steady[other] for other in range(q.shape[1]) if other != joint]
            )
            stroke = None if together is None else _stroke(t, q, segment, joint, sign, *together)
            # the median speed is 0 if most positions repeat
            if stroke is not None and stroke.speed > 0.0:
                found.append(stroke)
    return found


def moving_on(t: Array, x: Array, step: float) -> Array:
    """Replace positions that a slow sensor repeats by linear interpolation between
    new positions, shape (N,).

    Jumps of several encoder steps `step` mark the repetition.
    """
    new = np.concatenate(([0], np.flatnonzero(x[1:] != x[:-1]) + 1))
    length, jump = np.diff(new), np.abs(np.diff(x[new]))
    leaps = jump > 3.0 * step  # larger than steps of a coarse encoder
    usual = float(np.median(length[leaps])) if leaps.any() else 0.0
    slow = (
        _OLD_ROWS <= usual <= _SLOW_ROWS and np.mean(np.abs(length[leaps] - usual) <= 1.0) > _ALIKE
    )
    waits = leaps & (length > 1) & (length < (usual + 2.0 if slow else _OLD_ROWS))
    if not waits.any():
        return x
    old = np.repeat(waits, length)
    rows = np.arange(new[0], new[-1])[old]
    moved = x.copy()
    moved[rows] = np.interp(t[rows], t[new], x[new])
    return moved


def _stretches(
    t: Array, x: Array, segment: np.ndarray, but: frozenset[int], grain: Grain
) -> Iterator[tuple[slice, int]]:
    """Yield the rows of each part at constant speed, and its direction."""
    least = max(20.0 * grain.fine, grain.span / 400.0)
    for rows in motions(x, segment, least):
        too_short = rows.stop - rows.start < _LEAST_ROWS  # as noise at rest
        if too_short or int(segment[rows.start]) in but:
            continue
        sign = 1 if x[rows.stop - 1] > x[rows.start] else -1
        parts = [
            slice(rows.start + first, rows.start + last)
            for first, last in _steady(t[rows], sign * x[rows], grain.fine)
        ]
        size = np.array(
            [
                (t[part.stop - 1] - t[part.start], abs(x[part.stop - 1] - x[part.start]))
                for part in parts
            ]
        )
        for part, own in zip(parts, size, strict=True):
            if (own > _REMNANT * size.max(axis=0)).any():
                yield part, sign


def _together(
    t: Array, q: Array, part: slice, others: list[list[tuple[slice, int]]]
) -> tuple[slice, Array, Array] | None:
    """Longest part in which the other joints rest or keep their speeds, with start positions and
    velocities of all joints.
    """
    for _ in range(2):
        some = slice(part.start, part.stop, max(1, (part.stop - part.start) // 50))
        since, where = t[some] - t[part.start], q[some]
        start, rate = _line(since, where)
        if (
            np.abs(where - start - since[:, None] * rate).max(axis=0) <= REST_TOLERANCE / 2.0
        ).all():
            return part, start, rate
        for stretches in others:
            shared = [
                slice(max(part.start, other.start), min(part.stop, other.stop))
                for other, _ in stretches
                if other.start < part.stop and part.start < other.stop
            ]
            if shared:
                part = max(shared, key=lambda rows: rows.stop - rows.start)
        if part.stop - part.start < _LEAST_ROWS:
            break
    return None


def _stroke(
    t: Array,
    q: Array,
    segment: np.ndarray,
    joint: int,
    sign: int,
    rows: slice,
    start: Array,
    rate: Array,
) -> Stroke:
    x, since = q[rows, joint], t[rows] - t[rows.start]
    start[joint], rate[joint] = (float(entry[0]) for entry in _line(since, x[:, None]))
    ends = x[0], x[-1]
    return Stroke(
        joint,
        int(segment[rows.start]),
        rows,
        sign,
        abs(float(rate[joint])),
        min(ends),
        max(ends),
        start,
        rate,
        float(since[-1]),
    )


def motions(x: Array, segment: np.ndarray, least: float) -> Iterator[slice]:
    """Yield the rows of motions in one direction within a segment, over a
    distance of at least `least`.
    """
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
    """Rows of the extremes after which x moves back by more than `least`."""
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
    """Yield first and last row of the parts of a rising x at constant speed."""
    rising = np.maximum.accumulate(x)
    edges, unsure = _cell_edges(x, resolution)
    cells = len(edges) - 1
    if cells < _LEAST_CELLS:
        return
    passed = np.interp(edges, rising, t)
    pace = np.log(np.maximum(np.diff(passed), 1e-9))  # logarithm of the time in each cell
    rows, apart = np.searchsorted(rising, edges), STEADY + unsure
    cut = np.concatenate(([0], np.flatnonzero(np.abs(np.diff(pace)) > 2.0 * apart) + 1, [cells]))
    for first, last in pairwise(cut):
        # shrink to the longest part close to its own median
        for _ in range(4):
            if last - first < _LEAST_CELLS:
                break
            near = np.abs(pace[first:last] - _median(pace[first:last])) < apart
            if near.all():
                break
            start, length = _longest(near)
            first, last = first + start, first + start + length
        # the first and last cell contain the end of a ramp
        first, last = first + 1, last - 1
        if last - first >= max(1, _LEAST_CELLS - 2) and rows[last] - rows[first] >= _LEAST_ROWS:
            yield int(rows[first]), int(rows[last])


def _cell_edges(rising: Array, resolution: float) -> tuple[Array, float]:
    """Return edges of equal position cells, and the relative uncertainty of the times in the cells.

    The cells are large enough that encoder steps, noise and sampling hardly change these times.
    Edges are half-way between encoder steps, so that the position passes an edge at the instant of
    a step. The uncertainty comes from noise, and from sampling if the motion is too short for cells
    of the wanted size.
    """
    low, high = rising[0], rising[-1]
    noise = position_noise(rising, resolution)
    cell = 8.0 * max(resolution, 8.0 * noise)
    chord = min(_SAMPLES, len(rising) // 4)
    # distance per sample
    fastest = float(np.max(rising[chord:] - rising[:-chord])) / chord if chord else 0.0
    # resolution of the passage of an edge: one sample or one encoder step
    grain = min(resolution, fastest)
    cell = max(cell, _SAMPLES * grain)
    cells = np.clip((high - low) / cell, *_CELLS)
    steps = max(1.0, np.ceil((high - low) / (cells * resolution)))
    size = float(steps * resolution)
    edges = np.arange(low + 0.5 * resolution, high, size)
    return edges, max(0.0, grain / size - 1.0 / _SAMPLES) + 2.0 * noise / size


def position_noise(rising: Array, resolution: float) -> float:
    """Standard deviation of the position noise; 0 if the noise is within two encoder steps."""
    if len(rising) < 4:
        return 0.0
    # ramps have no third difference
    noise = _median(np.abs(np.diff(rising, 3))) / 0.6745 / np.sqrt(20.0)
    return noise if noise > 2.0 * resolution else 0.0


def _line(t: Array, q: Array) -> tuple[Array, Array]:
    """Start and rate of the least-squares line q = start + rate t of each joint, shapes (n,)."""
    mean, middle = q.mean(axis=0), t.mean()
    about = t - middle
    rate = about @ (q - mean) / (about @ about)
    return mean - rate * middle, rate


def _median(x: Array) -> float:
    """Median; several times faster than NumPy for the few cells of a stroke."""
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
    """Smallest change of the position between samples [rad or m]."""
    steps = np.abs(np.diff(x[:200_000]))
    least = 1e-7 * float(np.ptp(x))  # smaller changes are noise or rounding
    steps = steps[steps > least]
    return float(steps.min()) if len(steps) else max(least, 1e-12)


def resolution_of(x: Array) -> float:
    """Resolution of a joint's positions [rad or m]: an encoder step, or three
    standard deviations of the noise.
    """
    return max(encoder_step(x), 3.0 * position_noise(x[:_NOISE_ROWS], 0.0))


def motor_revolution(gear_ratio: float) -> float:
    """One motor revolution at the joint [rad], over which ripple averages
    out; 0 for low gear ratios.
    """
    return 2.0 * np.pi / gear_ratio if gear_ratio >= _MIN_GEAR else 0.0
