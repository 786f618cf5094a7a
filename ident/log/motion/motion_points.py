r"""Reduction of general motion to points: filtered, differentiated positions, and parallel
filtering of all compared terms.

The position passes a zero-phase low-pass and is differentiated. Then the measured torque and all
terms of the model pass the same low-pass with a lower cut-off, and are decimated (parallel
filtering), so that the filter does not favour any term.

At rest, friction can have any value up to breakaway. The equation of motion holds for each
sample, so both of its sides may be multiplied by a mask :math:`m`, which is zero at rest, before
they are filtered by :math:`h`:

.. math:: h * (m \tau) = \sum_k \theta_k\, h * (m \phi_k)

With this mask, torque at rest does not affect the points near a rest, and no
point near a rest is lost.

References
----------
Gautier, IEEE ICRA (1997) 3279; Janot, Vandanjon and Gautier, IEEE Trans. Control
Syst. Technol. 22 (2014) 132.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.ndimage import binary_dilation, binary_opening, maximum_filter1d, minimum_filter1d
from scipy.sparse import csr_array, diags_array

from stribeck.ident.arrays import Array, Groups
from stribeck.ident.errors import FitError
from stribeck.ident.log.motion.filtered_motion import Log, Stretch
from stribeck.ident.log.motion.low_pass import SETTLING, low_pass
from stribeck.ident.log.motion.position_cutoff import BANDWIDTH, velocity_noise
from stribeck.ident.log.strokes import REST_TOLERANCE
from stribeck.ident.model.loads import LOADS

_POINTS = 2.5  # points a period of the bandwidth; more would repeat each other
# most points, and most stretches between reversals, of a joint
_MOST_POINTS, _MOST_BETWEEN_REVERSALS = 6000, 120
# least filtered direction of a point; closer to a reversal, a single sample decides the value
_DIRECTED = 0.6
_REST = 0.01  # part of the greatest speed below which a joint rests or turns back
_NOISE = 3.0  # the joint also rests below this many standard deviations of velocity noise
# part of that speed below which the joint stands still, if the noise is smaller
_STANDS = 0.1
# samples by which the filtered speed of a joint that stops suddenly falls below that limit later
_LATE = 2
# periods of the bandwidth that a rest lasts at least: a shorter one looks like a reversal
_RESTS = 0.5


@dataclass(frozen=True)
class Motion:
    """General motion of one joint.

    Attributes
    ----------
    joint : str
        Name of the joint.
    t, q, dq, ddq : ndarray, shape (M,)
        Time [s] and motion of the samples [rad or m, and per s and s²].
    tau : ndarray, shape (M,)
        Measured torque [N·m or N].
    rigid, gravity : ndarray, shape (M,)
        The model's torque including the rotor inertia of the arm file, and
        its gravity part [N·m or N].
    loads : dict of str to ndarray, shape (M,)
        The model's loads.
    between_reversals : ndarray of int, shape (M,)
        Group between two reversals, 0 ... G-1, of each sample.
    others_move : bool
        Whether another joint moves at the same time.
    prismatic : bool
        Whether the joint is prismatic.
    least : float
        Speed below which the joint counts as resting or reversing [rad/s or m/s].
    points : ndarray of int, shape (N,)
        Index of the middle sample of each point.
    seen : csr_array, shape (N, M)
        Matrix of low-pass and decimation, from samples in motion to points; rows sum to 1.
    run : ndarray of str, shape (N,)
        Run of each point.
    left_out : str
        Sentence about the part of the log that is motion, and about the rest.
    cuts : tuple of (int, slice)
        Section of the log, and rows in this section, of the samples.
    noise : ndarray, shape (N,)
        Standard deviation of the model's torque at the points due to noise of
        the positions [N·m or N].
    """

    joint: str
    t: Array
    q: Array
    dq: Array
    ddq: Array
    tau: Array
    rigid: Array
    gravity: Array
    loads: dict[str, Array]
    between_reversals: Groups
    others_move: bool
    prismatic: bool
    least: float
    points: np.ndarray
    seen: csr_array
    run: np.ndarray
    left_out: str
    cuts: tuple[tuple[int, slice], ...]
    noise: Array

    def view(self, values: Array) -> Array:
        """Filter and decimate values of the samples, shape (M, ...), to
        the points, shape (N, ...).
        """
        return np.asarray(self.seen @ values)

    @property
    def dt(self) -> float:
        """Sampling period [s]."""
        return float(self.t[1] - self.t[0])

    @property
    def speed(self) -> Array:
        """Signed velocity with a magnitude of at least `least`, shape (M,): slower
        velocities are mostly noise.

        Samples without weight in any point get the median speed, so that they cannot
        influence the shape of a law.
        """
        speed = np.maximum(np.abs(self.dq), self.least)
        unseen = np.bincount(self.seen.indices, self.seen.data != 0.0, len(speed)) == 0.0
        speed[unseen] = np.median(speed[~unseen])
        return np.asarray(np.copysign(speed, self.dq))


def reduce_motion(log: Log, joint: str) -> Motion:
    """Reduce the motion of one joint to points; only samples near motion are kept.

    There are `_POINTS` points per period of the bandwidth. No point is in a
    rest or next to a reversal.

    Raises
    ------
    FitError
        If the joint does not move, or moves too briefly or too slowly.
    """
    parts, dt, bandwidth, run = log.stretches, log.dt, log.bandwidth, log.stretches[0].run
    column = run.names.index(joint)
    unit = "m/s" if parts[0].prismatic[column] else "rad/s"
    least = _least_speed(
        joint, np.concatenate([part.dq[:, column] for part in parts]), bandwidth * dt, unit
    )
    border = round(SETTLING / bandwidth / dt)
    where = tuple(
        (k, rows)
        for k, part in enumerate(parts)
        for rows in _moving(np.abs(part.dq[:, column]) >= least, border)
    )
    if not where:
        raise FitError(
            f"{joint} moves only within {SETTLING / bandwidth:.2g} s of the log's ends, where the "
            "filter settles; record a longer motion"
        )

    cuts = [(parts[k], rows) for k, rows in where]

    def joined(values: Sequence[Array]) -> Array:
        return np.concatenate(
            [own[rows, column] for own, (_, rows) in zip(values, cuts, strict=True)]
        )

    q, dq, ddq, tau, rigid, gravity, known = (
        joined([getattr(part, key) for part, _ in cuts])
        for key in ("q", "dq", "ddq", "tau", "rigid", "gravity", "known")
    )
    begins = np.cumsum([0, *(rows.stop - rows.start for _, rows in cuts)])
    rest, blur = round(_RESTS / bandwidth / dt), round(log.blur / dt)
    standing = _NOISE * max(velocity_noise(part.run, column, log.cutoff, dt) for part in parts)
    sure = _sure(np.abs(dq), least, float(np.clip(standing, _STANDS * least, least)), rest, blur)
    # an acceleration reaches two samples to either side
    sure &= minimum_filter1d(known, 5)
    for rate in map(np.abs, _rates_beside(cuts, column)):
        slow = _REST * float(np.quantile(rate, 0.999))
        sure &= _sure(rate, slow, slow, rest, blur)
    points, seen = _points(
        np.where(sure & (np.abs(dq) >= least), np.sign(dq), 0.0), begins, bandwidth * dt, border
    )
    if not len(points):
        raise FitError(
            f"{joint} hardly moves: it is never faster than {least:.2g} for {1.0 / bandwidth:.2g} s"
        )
    rotors = np.concatenate(
        [part.ddq[rows] @ part.run.rotor_inertia()[column] for part, rows in cuts]
    )
    others = [np.delete(part.q[rows], column, axis=1) for part, rows in cuts]
    span = [
        np.max([part.max(axis=0) for part in others], axis=0)
        - np.min([part.min(axis=0) for part in others], axis=0)
    ]
    moves, prismatic = dt * float(np.sum(np.abs(dq) >= least)), bool(parts[0].prismatic[column])
    return Motion(
        joint,
        np.concatenate([part.t[rows] for part, rows in cuts]),
        q,
        dq,
        ddq,
        tau,
        rigid + rotors,
        gravity,
        {load: joined([part.loads[load] for part, _ in cuts]) for load in LOADS},
        split_at_reversals(dq, least, begins),
        bool(np.max(span, initial=0.0) > REST_TOLERANCE),
        prismatic,
        least,
        points,
        seen,
        np.array([part.run.label for part, _ in cuts])[
            np.searchsorted(begins, points, "right") - 1
        ],
        f"{joint} moves for {moves:.0f} of {sum(np.ptp(part.t) for part in parts):.0f} s; samples "
        f"slower than {least:.2g} {'m' if prismatic else 'rad'}/s are left out: the joint may rest "
        "or reverse"
        + (
            f"; positions are so coarse or noisy that motion above {bandwidth:.2g} Hz is filtered "
            "out"
            if bandwidth < BANDWIDTH
            else ""
        ),
        where,
        _model_noise(log, where, column, seen),
    )


def _model_noise(
    log: Log, where: Sequence[tuple[int, slice]], column: int, seen: csr_array
) -> Array:
    """Standard deviation of the model's torque at the points due to position noise, shape
    (N,), from additional noise.
    """
    squares = []
    for noisy in log.noisier:
        parts = [(log.stretches[k], noisy.stretches[k], rows) for k, rows in where]
        squares.append(
            (
                seen
                @ np.concatenate(
                    [
                        other.rigid[rows, column]
                        - part.rigid[rows, column]
                        + (other.ddq[rows] - part.ddq[rows]) @ part.run.rotor_inertia()[column]
                        for part, other, rows in parts
                    ]
                )
            )
            ** 2
        )
    return np.asarray(np.sqrt(np.mean(squares, axis=0)))


def _rates_beside(cuts: Sequence[tuple[Stretch, slice]], column: int) -> list[Array]:
    """Velocities of shared motors of this joint, and of joints without a drive in a
    closed chain, shape (M,) each.

    If one of them rests, its friction is unknown.
    """
    mechanism = cuts[0][0].mechanism
    if mechanism.chain is not None and mechanism.chain.classes:
        return list(
            np.concatenate(
                [
                    mechanism.chain.rubbing_rates(mechanism, part.q[rows], part.dq[rows])
                    for part, rows in cuts
                ]
            ).T
        )
    if (coupled := mechanism.transmission) is None:
        return []
    rates = np.concatenate([coupled.of_motors(part.dq[rows]) for part, rows in cuts])
    return [rates[:, motor] for motor in coupled.motors_of(column)]


def _least_speed(joint: str, dq: Array, cutoff: float, unit: str) -> float:
    """Smallest speed with a certain sign of the velocity [rad/s or m/s]."""
    fastest, smooth = float(np.quantile(np.abs(dq), 0.999)), low_pass(dq, cutoff)
    moving = np.abs(dq) > _REST * fastest  # an encoder at rest has no noise
    noise = 1.4826 * float(np.median(np.abs(dq - smooth)[moving])) if moving.any() else 0.0
    if fastest <= 4.0 * _NOISE * noise or fastest == 0.0:
        raise FitError(
            f"{joint} does not move, or is too slow: its speed is at most {fastest:.2g} {unit}, "
            f"but velocity noise or oscillations above the filter's bandwidth reach {noise:.2g} "
            f"{unit}. Record a faster motion"
        )
    return max(_REST * fastest, _NOISE * noise)


def _moving(moves: np.ndarray, border: int) -> list[slice]:
    """Rows of the samples in which the joint moves, with a border at both ends in
    which the filter settles.
    """
    near = np.concatenate(([0], maximum_filter1d(moves.astype(np.int8), 2 * border + 1), [0]))
    return [
        slice(int(a), int(b))
        for a, b in zip(
            np.flatnonzero(np.diff(near) == 1), np.flatnonzero(np.diff(near) == -1), strict=True
        )
        if b - a > 2 * border
    ]


def _sure(speed: Array, least: float, standing: float, rest: int, blur: int) -> np.ndarray:
    """Whether the joint certainly moves in each sample.

    A rest is a sequence of at least `rest` samples slower than `least`. The joint moves outside of
    rests, and more than `blur` samples away from standing still in a rest: closer samples are
    influenced by standing still, because the motion is filtered. A joint that slows down smoothly
    is slow for longer before it stands; its slow motion outside of the rest is kept.
    """
    rests = binary_opening(speed < least, np.ones(max(2, rest), dtype=bool))
    stands = rests & (speed < standing)
    return np.asarray(
        ~(rests | binary_dilation(stands, np.ones(2 * (blur + _LATE) + 1, dtype=bool)))
    )


def _points(
    sign: Array, begins: np.ndarray, cutoff: float, border: int
) -> tuple[np.ndarray, csr_array]:
    """Middle samples of the points, shape (N,), and the matrix of filtering and
    decimation, shape (N, M).

    Points are equally spaced in a section, except at its borders and where most weighted samples
    have `sign` zero. Each row of the matrix is the impulse response of the low-pass, truncated
    where it has settled; samples without a sign have weight zero.
    """
    step = max(1, round(1.0 / (_POINTS * cutoff)), len(sign) // _MOST_POINTS)
    points = np.concatenate([np.arange(a + border, b - border, step) for a, b in pairwise(begins)])
    kernel = low_pass((np.arange(-4 * border, 4 * border + 1) == 0).astype(float), cutoff)[
        3 * border : 5 * border + 1
    ]
    width = len(kernel)
    near = (points[:, None] + np.arange(-border, border + 1)).ravel()
    weights = np.tile(kernel / kernel.sum(), len(points)) * np.abs(sign[near])
    whole = weights.reshape(-1, width).sum(axis=1)
    seen = csr_array(
        (weights, near, width * np.arange(len(points) + 1)), shape=(len(points), len(sign))
    )
    directed = np.abs(seen @ sign) > _DIRECTED
    return points[directed], csr_array(diags_array(1.0 / whole[directed]) @ seen[directed])


def split_at_reversals(dq: Array, least: float, begins: np.ndarray) -> Groups:
    """Group of each sample, shape (M,); a group ends at a reversal or at a gap of the log.

    With more than `_MOST_BETWEEN_REVERSALS` groups, neighbouring groups are merged: fewer and
    longer groups are conservative.
    """
    sign = np.where(np.abs(dq) < least, 0, np.sign(dq)).astype(int)
    moving = np.maximum.accumulate(np.where(sign != 0, np.arange(len(sign)), -1))
    # the direction is kept during a rest
    last = np.where(moving >= 0, sign[moving], sign[np.argmax(sign != 0)])
    turns = np.concatenate(([False], np.diff(last) != 0))
    turns[begins[1:-1]] = True
    number = np.cumsum(turns)
    return np.asarray(number // -(-int(number[-1] + 1) // _MOST_BETWEEN_REVERSALS))
