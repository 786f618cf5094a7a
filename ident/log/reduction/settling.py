"""Torque by which a drive that still settles at the ends of a stroke differs from one at constant speed.

There the speed is still a little off and changes, other joints that move lag, and so inertia, Coriolis and centrifugal forces and
gravity are not those along the straight line. The drive slows down a little both there and back, which looks like friction.

Torques are averaged over windows with tapered ends. By parts the acceleration's mean over such a window is the difference of the
speeds over its two tapers, whatever the motion does in between: no acceleration is ever computed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.log.run import Run
from stribeck.ident.log.strokes import REST_TOLERANCE, Stroke, encoder_step, position_noise
from stribeck.ident.model.dynamics import inverse_dynamics, mass_matrix
from stribeck.ident.model.mechanism import Mechanism

_TAPER = 15             # samples of a taper at most,
_PART = 3               # and this part of a bin's
_SURE = 3.0             # standard errors beyond which a torque is told, however noisy positions are


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
    def over(cls, strokes: Sequence[Stroke], bins: Sequence[np.ndarray]) -> "Windows":
        """Windows over bins of strokes: tapers lie about the bins' edges, but never outside a stroke."""
        first, last = np.array([(rows[0], rows[-1]) for rows in bins]).T
        taper = np.minimum(_TAPER, (last - first) // _PART)
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
        """Mean acceleration of all joints over each bin, shape (S, n), and how much a unit of position error changes it, (S,).
        """
        low, high = self.rows[self.starts], self.rows[self.starts + self.count - 1]
        way = np.maximum(self.taper, 1)
        rise, fall = t[low + way] - t[low], t[high] - t[high - way]
        lasts = np.add.reduceat(self.weight, self.starts) * (t[high] - t[low]) / np.maximum(high - low, 1)
        change = (q[high] - q[high - way]) / fall[:, None] - (q[low + way] - q[low]) / rise[:, None]
        return change / lasts[:, None], np.sqrt(2.0 / rise**2 + 2.0 / fall**2) / lasts


def settling_torque(run: Run, mechanism: Mechanism, strokes: Sequence[Stroke], windows: Windows, error: Array) -> Array:
    """Mean torque over each bin that rotor and links need beyond that along the straight line, shape (S,) [N·m or N].

    Of the torque that accelerates only as much as exceeds the noise of the positions counts, and nothing where it is within
    that noise and less sure than the mean torque.

    Parameters
    ----------
    run : Run
        Of which the bins are.
    mechanism : Mechanism
        Rigid-body model with joints in the run's order.
    strokes : sequence of Stroke
        On which each bin lies.
    windows : Windows
        Samples of each bin.
    error : ndarray, shape (S,)
        Standard error of the measured torque's mean [N·m or N].
    """
    own = np.arange(len(strokes)), np.array([stroke.joint for stroke in strokes])
    rate = np.array([stroke.rate for stroke in strokes])
    moves = np.abs(rate) * np.array([[stroke.duration] for stroke in strokes]) > REST_TOLERANCE
    moves[own] = True                       # what the others' positions tremble is noise
    positions = run.signals["q"]
    q = windows.mean(positions[windows.rows])
    straight = np.array([stroke.at(x) for stroke, x in zip(strokes, q[own], strict=True)])
    ends = windows.rows[windows.starts], windows.rows[windows.starts + windows.count - 1]
    speed = (positions[ends[1]] - positions[ends[0]]) / (run.t[ends[1]] - run.t[ends[0]])[:, None]
    off = (inverse_dynamics(mechanism, q, np.where(moves, speed, rate)) - inverse_dynamics(mechanism, straight, rate))[own]
    acceleration, of_error = windows.accelerations(run.t, positions)
    inertia = np.where(moves, _inertia(run, mechanism, q, own), 0.0)
    torque = np.einsum("sj,sj->s", inertia, acceleration)
    noise = np.array([max(encoder_step(x) / np.sqrt(12.0), position_noise(x, 0.0)) for x in positions.T])
    variance = (inertia**2 @ noise**2) * of_error**2
    exceeds = 1.0 - np.divide(variance, torque**2, where=torque != 0.0, out=np.ones(len(torque)))
    told = (variance < error**2) | (torque**2 > _SURE**2 * variance)
    return np.asarray(off + np.where(told, np.maximum(exceeds, 0.0) * torque, 0.0))


def _inertia(run: Run, mechanism: Mechanism, q: Array, own: tuple[np.ndarray, np.ndarray]) -> Array:
    """Inertia of links and rotor that the own joint's torque accelerates, over the accelerations of all joints, shape (S, n)."""
    inertia = mass_matrix(mechanism, q)[own]
    table = [run.arm.joint(name) for name in run.names]
    inertia[own] += np.array([one.rotor_inertia * one.ratio**2 for one in table])[own[1]]
    return np.asarray(inertia)
