"""Torque by which a drive that still settles at the ends of a stroke differs from one at constant speed.

There the speed is still a little off and changes, other joints that move lag, and so inertia, Coriolis and centrifugal forces and
gravity are not those along the straight line. The drive slows down a little both there and back, which looks like friction.

Torques are averaged over windows with tapered ends. Integrated by parts, the mean acceleration over such a window is the
difference between the mean speeds over its two tapers, whatever the motion does in between: no position is differentiated twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.log.run import Run
from stribeck.ident.log.strokes import REST_TOLERANCE, Stroke, encoder_step, moving_on
from stribeck.ident.model.dynamics import inverse_dynamics, mass_matrix
from stribeck.ident.model.mechanism import Mechanism

_TAPER = 0.06           # s, of a taper at most,
_PART = 3               # and this part of a bin's
_CHEAP = 0.5            # of the error of a mean torque: what positions tell better than that is taken,
_SURE = 4.0             # else what lies so many standard errors off zero
_NORMAL_MEDIAN = 0.6745     # of the absolute value, in standard deviations
_ENDS = 2               # tapers at either end of a stroke from which no noise is told


@dataclass(frozen=True)
class Windows:
    """Samples of bins, each weighed by a trapezoid over time, one bin after the other.

    Attributes
    ----------
    rows, weight : ndarray, shape (N,)
        Samples of all bins, and how much each counts.
    starts : ndarray of int, shape (S,)
        Where in `rows` each bin begins.
    taper : ndarray of int, shape (S,)
        Samples over which the weight of each bin rises, and falls.
    """

    rows: np.ndarray
    weight: Array
    starts: np.ndarray
    taper: np.ndarray

    @classmethod
    def over(cls, strokes: Sequence[Stroke], bins: Sequence[np.ndarray], period: float) -> "Windows":
        """Windows over bins of strokes, of samples every `period` s: tapers lie about the bins' edges, but within a stroke."""
        first, last = np.array([(rows[0], rows[-1]) for rows in bins]).T
        taper = np.minimum(round(_TAPER / period), (last - first) // _PART)
        low = np.maximum([stroke.rows.start for stroke in strokes], first - taper // 2)
        high = np.minimum([stroke.rows.stop - 1 for stroke in strokes], last + taper // 2)
        count = high - low + 1
        starts = np.cumsum(count) - count
        of = np.repeat(np.arange(len(count)), count)
        since = np.arange(len(of)) - starts[of]
        edge = np.minimum(since, count[of] - 1 - since)
        weight = np.where(taper[of] > 0, np.minimum(edge, taper[of]) / np.maximum(taper[of], 1), 1.0)
        return cls(low[of] + since, weight, starts, taper)

    @property
    def of(self) -> np.ndarray:
        """The bin of each sample, shape (N,)."""
        return np.repeat(np.arange(len(self.starts)), self.count)

    @property
    def count(self) -> np.ndarray:
        """Samples of each bin, shape (S,)."""
        return np.diff(self.starts, append=len(self.rows))

    def mean(self, values: Array) -> Array:
        """Weighted mean over each bin of values at `rows`, shape (N, ...) to (S, ...)."""
        shape = (-1, *[1] * (values.ndim - 1))
        total = np.add.reduceat(self.weight.reshape(shape) * values, self.starts)
        return np.asarray(total / np.add.reduceat(self.weight, self.starts).reshape(shape))

    def accelerations(self, t: Array, q: Array) -> tuple[Array, Array]:
        """Mean acceleration of all joints over each bin, (S, n), and how much a unit of position error changes it, (S,)."""
        low, high = self.rows[self.starts], self.rows[self.starts + self.count - 1]
        way = np.maximum(self.taper, 1)
        rise, fall = t[low + way] - t[low], t[high] - t[high - way]
        lasts = np.add.reduceat(self.weight, self.starts) * (t[high] - t[low]) / np.maximum(high - low, 1)
        change = (q[high] - q[high - way]) / fall[:, None] - (q[low + way] - q[low]) / rise[:, None]
        return change / lasts[:, None], np.sqrt(2.0 / rise**2 + 2.0 / fall**2) / lasts


def settling_torque(run: Run, mechanism: Mechanism, strokes: Sequence[Stroke], windows: Windows, error: Array) -> Array:
    """Mean torque over each bin that rotor and links need beyond that along the straight line, shape (S,) [N·m or N].

    Of the torque that accelerates only as much as exceeds the noise of the positions counts, and nothing where it is within
    that noise and not told much better than the mean torque.

    Parameters
    ----------
    run : Run
        Of which the bins are.
    mechanism : Mechanism
        Rigid-body model with joints in the run's order.
    strokes : sequence of Stroke
        On which each bin lies; bins of a stroke follow each other.
    windows : Windows
        Samples of each bin.
    error : ndarray, shape (S,)
        Standard error of the measured torque's mean [N·m or N].
    """
    own = np.arange(len(strokes)), np.array([stroke.joint for stroke in strokes])
    rate = np.array([stroke.rate for stroke in strokes])
    moves = np.abs(rate) * np.array([[stroke.duration] for stroke in strokes]) > REST_TOLERANCE
    moves[own] = True                       # what a joint at rest seems to move is noise of its sensor
    positions = run.signals["q"]
    if np.diff(run.t).min() <= 0.0 or any(moving_on(run.t, x) is not x for x in positions.T):
        return np.zeros(len(strokes))       # a clock or sensor that is slower than the log tells no acceleration
    q = windows.mean(positions[windows.rows])
    straight = np.array([stroke.at(x) for stroke, x in zip(strokes, q[own], strict=True)])
    ends = windows.rows[windows.starts], windows.rows[windows.starts + windows.count - 1]
    speed = (positions[ends[1]] - positions[ends[0]]) / (run.t[ends[1]] - run.t[ends[0]])[:, None]
    off = (inverse_dynamics(mechanism, q, np.where(moves, speed, rate)) - inverse_dynamics(mechanism, straight, rate))[own]
    acceleration, of_error = windows.accelerations(run.t, positions)
    inertia = np.where(moves, _inertia(run, mechanism, q, own), 0.0)
    torque = np.einsum("sj,sj->s", inertia, acceleration)
    noise = _unsure_positions(run.t, positions, strokes, windows.taper)
    variance = np.einsum("sj,sj->s", inertia**2, noise**2) * of_error**2
    exceeds = 1.0 - np.divide(variance, torque**2, where=torque != 0.0, out=np.ones(len(torque)))
    told = (variance < (_CHEAP * error) ** 2) | (torque**2 > _SURE**2 * variance)
    return np.asarray(off + np.where(told, np.maximum(exceeds, 0.0) * torque, 0.0))


def _unsure_positions(t: Array, q: Array, strokes: Sequence[Stroke], taper: np.ndarray) -> Array:
    """Standard deviation of positions, and of times in them, along the stroke of each bin, shape (S, n).

    Samples are compared with the straight line between their neighbours, which shows noise and jitter, and with that between
    samples a taper away, which shows the noise of filtered positions. Samples that were filled in lie on the line and do not
    count. The ends of a stroke, where speeds change, are left out. The result is at least half an encoder step, because all
    corners of a window may be rounded the same way.
    """
    half, known = np.array([encoder_step(x) / 2.0 for x in q.T]), {}
    for stroke, lag in zip(strokes, np.maximum(taper, 1).tolist(), strict=True):
        if stroke.key not in known:
            count = stroke.rows.stop - stroke.rows.start
            aside = min(_ENDS * lag, count // 4)
            middle = slice(stroke.rows.start + aside, stroke.rows.stop - aside)
            square, far = _off_line(t, q, middle, 1) ** 2, np.abs(_off_line(t, q, middle, lag))
            mean = square.mean(axis=0)
            near = np.sqrt(np.divide((square**2).mean(axis=0), mean, where=mean > 0.0, out=np.zeros(len(mean))))
            usual = np.median(far, axis=0) / _NORMAL_MEDIAN if len(far) else np.zeros(len(mean))
            known[stroke.key] = np.maximum.reduce([half, near, usual])
    return np.array([known[stroke.key] for stroke in strokes])


def _off_line(t: Array, q: Array, rows: slice, lag: int) -> Array:
    """How far samples lie off the line between those `lag` before and after, as wide as errors of single ones, (N - 2 lag, n)."""
    t, q = t[rows], q[rows]
    before, here, after = (slice(k * lag, max(0, len(t) - (2 - k) * lag)) for k in range(3))
    part = ((t[here] - t[before]) / (t[after] - t[before]))[:, None]
    return np.asarray((q[here] - q[before] - part * (q[after] - q[before])) / np.sqrt(1.5))


def _inertia(run: Run, mechanism: Mechanism, q: Array, own: tuple[np.ndarray, np.ndarray]) -> Array:
    """Inertia of links and rotor that the own joint's torque accelerates, over the accelerations of all joints, shape (S, n)."""
    return np.asarray(mass_matrix(mechanism, q)[own] + run.rotor_inertia()[own[1]])
