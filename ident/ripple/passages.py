r"""Passages: parts of a run in which a joint moves in one direction, with the
torque that ripple may explain.

The torque of a passage is the measured torque minus the rigid-body torque of the model. Ripple is
fast over the position; what is slow is left to the passage: a polynomial of the position (level of
friction, drift, errors of gravity), the model's torque and its absolute value (errors of the torque
constant, friction that grows with the load), in general motion also functions of the speed (the
friction law).

While the velocity loop yields to ripple, the inertia :math:`J` takes a part of it. A wave of order
k that is passed with speed v swings with :math:`\omega = k v`, so this part is :math:`J \omega^2`
times the wave in the position (`sway`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.log.motion.filtered_motion import Log
from stribeck.ident.log.motion.motion_points import Motion, reduce_motion
from stribeck.ident.log.reduction.rigid_along_strokes import RigidAlongStrokes
from stribeck.ident.log.run import Run
from stribeck.ident.log.strokes import Stroke
from stribeck.ident.model.dynamics import mass_matrix
from stribeck.ident.model.mechanism import Mechanism

# least samples per wave of a passage that is fitted: a frequency well below half the sample rate
SAMPLED = 8.0
ALIASED = 3.0  # samples per wave below which a wave is aliased, or nearly so
_LEAST_SAMPLES = 32
_WHOLE = 0.95  # a stroke over one motor turn loses its ends
# rms sway over the length of a wave, times 2 pi, up to which its acceleration
# is that of one harmonic
_SWAYS = 0.1
_SLOW = 0.02  # part of the greatest speed below which samples of one joint tell no ripple
_PIECES = 4  # pieces of passages of one joint in each direction
_FAST = 0.95  # quantile of the speed of general motion that counts as its speed


@dataclass(frozen=True)
class Passage:
    """Samples of a joint that moves in one direction.

    Attributes
    ----------
    q, dq : ndarray, shape (N,)
        Position and velocity [rad or m, and per s].
    torque : ndarray, shape (N,)
        Measured torque minus the model's torque [N·m or N].
    sway : ndarray, shape (N,)
        Deviation of the position from constant speed [rad or m]; zero in general motion.
    inertia : float
        Inertia of links and rotor at the joint [kg·m² or kg].
    slow : ndarray, shape (N, p)
        Columns of which only the span counts: what is not ripple.
    direction : int
        +1 or -1.
    speed : float
        Greatest speed of the passage, without outliers [rad/s or m/s].
    period : float
        Time between samples [s].
    cutoff : float
        Frequency above which accelerations of general motion are filtered out [Hz].
    """

    q: Array
    dq: Array
    torque: Array
    sway: Array
    inertia: float
    slow: Array
    direction: int
    speed: float
    period: float
    cutoff: float = np.inf

    @property
    def width(self) -> float:
        """Range of positions [rad or m]."""
        return float(np.ptp(self.q))

    @cached_property
    def most(self) -> float:
        """Greatest order with enough samples per wave, below the cut-off, and with waves that
        are long beside the sway.
        """
        swing = float(np.sqrt(np.mean(self.fast(self.sway) ** 2)))
        return min(
            2.0 * np.pi / (SAMPLED * self.speed * self.period),
            2.0 * np.pi * self.cutoff / self.speed,
            _SWAYS / max(swing, 1e-300),
        )

    @property
    def aliased(self) -> float:
        """Order from which on a wave is aliased by the sample rate."""
        return 2.0 * np.pi / (ALIASED * self.speed * self.period)

    @property
    def least(self) -> float:
        """Smallest order that the slow columns leave over."""
        return _WHOLE * np.pi * (degree(self.width) + 1.0) / self.width

    def resolves(self, order: float) -> bool:
        """Whether the passage measures waves of an order."""
        return self.least <= order <= self.most

    @cached_property
    def basis(self) -> Array:
        """Orthonormal columns with the span of `slow`, shape (N, r)."""
        scale = np.linalg.norm(self.slow, axis=0)
        u, s, _ = np.linalg.svd(self.slow[:, scale > 0.0] / scale[scale > 0.0], full_matrices=False)
        return np.asarray(u[:, s > 1e-6 * s[0]])

    def fast(self, values: Array) -> Array:
        """Return values without their part in the slow columns, shape (N, ...)."""
        return np.asarray(values - self.basis @ (self.basis.T @ values))


def degree(width: float) -> int:
    """Degree of the polynomial that follows harmonics of a joint turn up to the fourth
    over a range of positions.
    """
    return 1 + int(2.0 * width + 0.5)


def _polynomials(q: Array) -> Array:
    """Polynomials of the position, shape (N, d + 1)."""
    width = float(np.ptp(q))
    return np.polynomial.legendre.legvander(
        2.0 * (q - q.min()) / max(width, 1e-300) - 1.0, degree(width)
    )


def of_strokes(
    run: Run, mechanism: Mechanism, strokes: Sequence[Stroke], joint: int
) -> list[Passage]:
    """Return a passage for each stroke of a joint; the run has the signals q and tau."""
    own = [
        stroke
        for stroke in strokes
        if stroke.joint == joint and stroke.rows.stop - stroke.rows.start >= _LEAST_SAMPLES
    ]
    if not own:
        return []
    middle = np.array([stroke.at((stroke.low + stroke.high) / 2.0) for stroke in own])
    inertia = mass_matrix(mechanism, middle)[:, joint, joint] + run.rotor_inertia()[joint, joint]
    rigid, out = RigidAlongStrokes(mechanism, own), []
    for k, stroke in enumerate(own):
        t, q = run.t[stroke.rows], run.signals["q"][stroke.rows, joint]
        expected = rigid(np.full(len(q), k), q)
        line = np.polynomial.polynomial.polyval(
            t - t[0], np.polynomial.polynomial.polyfit(t - t[0], q, 1)
        )
        slow = np.column_stack([_polynomials(q), expected, np.abs(expected)])
        out.append(
            Passage(
                q,
                np.full(len(q), stroke.direction * stroke.speed),
                run.signals["tau"][stroke.rows, joint] - expected,
                q - line,
                float(inertia[k]),
                slow,
                stroke.direction,
                stroke.speed,
                float(np.ptp(t)) / (len(t) - 1),
            )
        )
    return out


def of_motion(log: Log, name: str) -> list[Passage]:
    """Return a passage for each part of general motion between two reversals.

    Raises
    ------
    FitError
        If the joint moves too little or too slowly.
    """
    motion = reduce_motion(log, name)
    sign = np.where(np.abs(motion.dq) >= motion.least, np.sign(motion.dq), 0.0)
    cuts = (
        np.flatnonzero(
            (np.diff(sign) != 0.0) | (np.diff(motion.t) > 1.5 * log.dt) | (np.diff(motion.t) <= 0.0)
        )
        + 1
    )
    edges = np.concatenate(([0], cuts, [len(sign)]))
    return [
        _moving(motion, slice(a, b), log)
        for a, b in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
        if sign[a] != 0.0 and b - a >= _LEAST_SAMPLES
    ]


def _moving(motion: Motion, rows: slice, log: Log) -> Passage:
    """Return one passage of general motion."""
    q, dq, ddq, rigid = (values[rows] for values in (motion.q, motion.dq, motion.ddq, motion.rigid))
    return _between_reversals(
        q, dq, motion.tau[rows] - rigid, (rigid, np.abs(rigid), ddq), log.dt, log.cutoff / 2.0
    )


def of_samples(
    t: Array, q: Array, dq: Array, torque: Array, used: np.ndarray, begins: np.ndarray
) -> list[Passage]:
    """Return passages of the motion of one joint between reversals, wide ones in pieces.

    Parameters
    ----------
    t, q, dq, torque : ndarray, shape (N,)
        Time, position, velocity, and torque without all that is known [s, rad
        or m, and per s, N·m or N].
    used : ndarray of bool, shape (N,)
        Samples that count.
    begins : ndarray of int
        First sample of each recording.
    """
    sign = np.where(used & (np.abs(dq) > _SLOW * np.abs(dq).max()), np.sign(dq), 0.0)
    cuts = np.union1d(np.flatnonzero(np.diff(sign) != 0.0) + 1, begins[begins > 0])
    edges = np.concatenate(([0], cuts, [len(sign)])).tolist()
    parts = [(a, b) for a, b in pairwise(edges) if b - a >= _LEAST_SAMPLES and sign[a] != 0.0]
    travelled = [
        sum(abs(float(q[b - 1] - q[a])) for a, b in parts if sign[a] == way) for way in (-1.0, 1.0)
    ]
    return [
        _between_reversals(
            q[a:b],
            dq[a:b],
            torque[a:b],
            (np.gradient(dq[a:b]),),
            float(t[b - 1] - t[a]) / (b - a - 1),
        )
        for long in parts
        for a, b in _pieces(q, *long, min(travelled) / _PIECES)
        if b - a >= _LEAST_SAMPLES
    ]


def _pieces(q: Array, a: int, b: int, width: float) -> Iterable[tuple[int, int]]:
    """Cut samples that move one way where they are wider than `width`: few reversals
    shall not leave few passages.
    """
    count = max(1, round(abs(float(q[b - 1] - q[a])) / width)) if width > 0.0 else 1
    marks = np.abs(q[a:b] - q[a]) / max(abs(float(q[b - 1] - q[a])), 1e-300) * count
    return pairwise([a, *(a + np.searchsorted(marks, np.arange(1, count))).tolist(), b])


def _between_reversals(
    q: Array,
    dq: Array,
    torque: Array,
    further: tuple[Array, ...],
    period: float,
    cutoff: float = np.inf,
) -> Passage:
    """Return one passage of general motion, of which some further slow columns are known."""
    pace = np.abs(dq) / np.abs(dq).max()
    slow = np.column_stack([_polynomials(q), pace, pace**2, np.log(pace), *further])
    return Passage(
        q,
        dq,
        torque,
        np.zeros(len(q)),
        0.0,
        slow,
        int(np.sign(dq[0])),
        float(np.quantile(np.abs(dq), _FAST)),
        period,
        cutoff,
    )
