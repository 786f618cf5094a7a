"""Correction for drives that still settle at the ends of a stroke, where the
speed is not yet constant.

At the ends of a stroke, the speed deviates slightly and changes, and other moving joints lag.
Inertia, Coriolis and centrifugal torques and gravity therefore differ from their values along the
straight line. The drive decelerates slightly in both directions, which looks like friction.

Torques are averaged over windows with tapered ends. After integration by parts, the mean
acceleration in a window is the difference between the mean speeds in its two tapers, for any motion
in between, so positions are never differentiated twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.log.run import Run
from stribeck.ident.log.strokes import REST_TOLERANCE, Stroke, encoder_step, moving_on
from stribeck.ident.model.dynamics import inverse_dynamics, mass_matrix
from stribeck.ident.model.mechanism import Mechanism

_TAPER = 0.06  # s; longest taper,
_PART = 3  # and a taper is at most one third of a bin
_CHEAP = 0.5  # part of the error of a mean torque; a more certain correction is used,
_SURE = 4.0  # otherwise only a correction of at least this many standard errors
_NORMAL_MEDIAN = 0.6745  # median of the absolute value, in standard deviations
_ENDS = 2  # tapers at each end of a stroke that are ignored in noise estimates


@dataclass(frozen=True)
class Windows:
    """Samples of bins with trapezoidal weights over time, one bin after the other.

    Attributes
    ----------
    rows, weight : ndarray, shape (N,)
        Rows of the samples of all bins, and their weights.
    starts : ndarray of int, shape (S,)
        Index in `rows` of the first sample of each bin.
    taper : ndarray of int, shape (S,)
        Number of samples over which the weight rises and falls, for each bin.
    """

    rows: np.ndarray
    weight: Array
    starts: np.ndarray
    taper: np.ndarray

    @classmethod
    def over(
        cls, strokes: Sequence[Stroke], bins: Sequence[np.ndarray], period: float
    ) -> "Windows":
        """Create windows for bins, with sampling period `period` [s]; tapers are centred at bin
        edges, but within the stroke.
        """
        first, last = np.array([(rows[0], rows[-1]) for rows in bins]).T
        taper = np.minimum(round(_TAPER / period), (last - first) // _PART)
        low = np.maximum([stroke.rows.start for stroke in strokes], first - taper // 2)
        high = np.minimum([stroke.rows.stop - 1 for stroke in strokes], last + taper // 2)
        count = high - low + 1
        starts = np.cumsum(count) - count
        of = np.repeat(np.arange(len(count)), count)
        since = np.arange(len(of)) - starts[of]
        edge = np.minimum(since, count[of] - 1 - since)
        weight = np.where(
            taper[of] > 0, np.minimum(edge, taper[of]) / np.maximum(taper[of], 1), 1.0
        )
        return cls(low[of] + since, weight, starts, taper)

    @property
    def of(self) -> np.ndarray:
        """The bin of each sample, shape (N,)."""
        return np.repeat(np.arange(len(self.starts)), self.count)

    @property
    def count(self) -> np.ndarray:
        """Number of samples of each bin, shape (S,)."""
        return np.diff(self.starts, append=len(self.rows))

    def mean(self, values: Array) -> Array:
        """Weighted mean in each bin of values at `rows`, from shape (N, ...) to (S, ...)."""
        shape = (-1, *[1] * (values.ndim - 1))
        total = np.add.reduceat(self.weight.reshape(shape) * values, self.starts)
        return np.asarray(total / np.add.reduceat(self.weight, self.starts).reshape(shape))

    def accelerations(self, t: Array, q: Array) -> tuple[Array, Array]:
        """Mean acceleration of all joints in each bin, shape (S, n), and its sensitivity to
        position errors, shape (S,).
        """
        low, high = self.rows[self.starts], self.rows[self.starts + self.count - 1]
        way = np.maximum(self.taper, 1)
        rise, fall = t[low + way] - t[low], t[high] - t[high - way]
        weight = np.add.reduceat(self.weight, self.starts)
        lasts = weight * (t[high] - t[low]) / np.maximum(high - low, 1)
        change = (q[high] - q[high - way]) / fall[:, None] - (q[low + way] - q[low]) / rise[:, None]
        return change / lasts[:, None], np.sqrt(2.0 / rise**2 + 2.0 / fall**2) / lasts


def settling_torque(
    run: Run, mechanism: Mechanism, strokes: Sequence[Stroke], windows: Windows, error: Array
) -> Array:
    """Mean torque in each bin for rotor and links, beyond the torque along the straight
    line, shape (S,) [N·m or N].

    The acceleration torque is reduced by the part that position noise explains. A torque within
    this noise is set to 0, unless it is much more certain than the mean torque.

    Parameters
    ----------
    run : Run
        The run of the bins.
    mechanism : Mechanism
        Rigid-body model with joints in the run's order.
    strokes : sequence of Stroke
        Stroke of each bin; bins of one stroke are consecutive.
    windows : Windows
        Samples of each bin.
    error : ndarray, shape (S,)
        Standard error of the measured torque's mean [N·m or N].
    """
    own = np.arange(len(strokes)), np.array([stroke.joint for stroke in strokes])
    rate = np.array([stroke.rate for stroke in strokes])
    moves = np.abs(rate) * np.array([[stroke.duration] for stroke in strokes]) > REST_TOLERANCE
    moves[own] = True  # the motion of a resting joint is sensor noise
    positions = run.signals["q"]
    if np.diff(run.t).min() <= 0.0 or any(
        moving_on(run.t, x, encoder_step(x)) is not x for x in positions.T
    ):
        # a clock or sensor slower than the log does not show accelerations
        return np.zeros(len(strokes))
    q = windows.mean(positions[windows.rows])
    straight = np.array([stroke.at(x) for stroke, x in zip(strokes, q[own], strict=True)])
    ends = windows.rows[windows.starts], windows.rows[windows.starts + windows.count - 1]
    speed = (positions[ends[1]] - positions[ends[0]]) / (run.t[ends[1]] - run.t[ends[0]])[:, None]
    off = (
        inverse_dynamics(mechanism, q, np.where(moves, speed, rate))
        - inverse_dynamics(mechanism, straight, rate)
    )[own]
    acceleration, of_error = windows.accelerations(run.t, positions)
    inertia = np.where(moves, _inertia(run, mechanism, q, own), 0.0)
    torque = np.einsum("sj,sj->s", inertia, acceleration)
    noise = _unsure_positions(run.t, positions, strokes, windows.taper)
    variance = np.einsum("sj,sj->s", inertia**2, noise**2) * of_error**2
    exceeds = 1.0 - np.divide(variance, torque**2, where=torque != 0.0, out=np.ones(len(torque)))
    told = (variance < (_CHEAP * error) ** 2) | (torque**2 > _SURE**2 * variance)
    return np.asarray(off + np.where(told, np.maximum(exceeds, 0.0) * torque, 0.0))


def _unsure_positions(t: Array, q: Array, strokes: Sequence[Stroke], taper: np.ndarray) -> Array:
    """Standard deviation of positions along the stroke of each bin, including the effect of
    time jitter, shape (S, n).

    Samples are compared with the line between their neighbours, which reveals noise and jitter, and
    with the line between samples one taper away, which reveals the noise of filtered positions.
    Interpolated samples lie on these lines by construction and are left out. The ends of a stroke,
    where speeds change, are ignored. The result is at least half an encoder step, because all
    corners of a window may be rounded in the same direction.
    """
    half, known = np.array([encoder_step(x) / 2.0 for x in q.T]), {}
    for stroke, lag in zip(strokes, np.maximum(taper, 1).tolist(), strict=True):
        if stroke.key not in known:
            count = stroke.rows.stop - stroke.rows.start
            aside = min(_ENDS * lag, count // 4)
            middle = slice(stroke.rows.start + aside, stroke.rows.stop - aside)
            square, far = _off_line(t, q, middle, 1) ** 2, np.abs(_off_line(t, q, middle, lag))
            mean = square.mean(axis=0)
            near = np.sqrt(
                np.divide((square**2).mean(axis=0), mean, where=mean > 0.0, out=np.zeros(len(mean)))
            )
            usual = np.median(far, axis=0) / _NORMAL_MEDIAN if len(far) else np.zeros(len(mean))
            known[stroke.key] = np.maximum.reduce([half, near, usual])
    return np.array([known[stroke.key] for stroke in strokes])


def _off_line(t: Array, q: Array, rows: slice, lag: int) -> Array:
    """Deviations from the line between the samples `lag` before and after, scaled to
    single-sample errors, (N - 2 lag, n).
    """
    t, q = t[rows], q[rows]
    before, here, after = (slice(k * lag, max(0, len(t) - (2 - k) * lag)) for k in range(3))
    part = ((t[here] - t[before]) / (t[after] - t[before]))[:, None]
    return np.asarray((q[here] - q[before] - part * (q[after] - q[before])) / np.sqrt(1.5))


def _inertia(run: Run, mechanism: Mechanism, q: Array, own: tuple[np.ndarray, np.ndarray]) -> Array:
    """Inertia of links and rotors that couples the joint's torque to the accelerations of
    all joints, shape (S, n).
    """
    return np.asarray(mass_matrix(mechanism, q)[own] + run.rotor_inertia()[own[1]])
