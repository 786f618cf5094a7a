r"""General motion reduced to points: position filtered and differentiated, all that is compared filtered alike.

The position passes a zero-phase low-pass and is differentiated; then the measured torque and every term that shall explain it
pass the same low-pass at a lower cut-off and are decimated (parallel filtering), so that the filter favours no term, and what
sgn does near a reversal is filtered like what the torque does there.

References
----------
Gautier, IEEE ICRA (1997) 3279; Janot, Vandanjon and Gautier, IEEE Trans. Control Syst. Technol. 22 (2014) 132.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.ndimage import maximum_filter1d
from scipy.sparse import csr_array

from stribeck.ident.arrays import Array, Groups
from stribeck.ident.errors import FitError, InputError
from stribeck.ident.log.run import Run
from stribeck.ident.log.signal_checks import check_signals, check_time
from stribeck.ident.log.strokes import HELD, encoder_step, position_noise
from stribeck.ident.model.dynamics import inverse_dynamics
from stribeck.ident.model.loads import LOADS, joint_loads
from stribeck.ident.model.mechanism import Mechanism

BANDWIDTH = 20.0        # Hz; joints of arms do not accelerate faster than this, torque ripple and noise do
_SHOWS = (0.002, 0.1)   # noise of the velocity over its greatest value, of the acceleration over its rms, that may be
_TAKES = 1.1            # times the noise that a cut-off may take from positions: more is motion
_LOOKED = 100_000       # rows of a run that tell it
_POSITION = 5.0         # cut-off of the position, as a multiple of the bandwidth: what follows filters once more
_CUTOFFS = _POSITION * BANDWIDTH * 2.0 ** (-0.5 * np.arange(12))      # Hz, those that are tried where positions are coarse
_ORDER = 4              # of the Butterworth filter, run forward and backward
_SETTLING = 4.0         # a filter settles over so many periods of its cut-off; that much is cut at both borders
_POINTS = 2.5           # points a period of the bandwidth; more would repeat each other
_MOST_POINTS, _MOST_PASSES = 6000, 120
_GAP = 5.0              # periods without a sample from which the log is cut in two
_DIRECTED = 0.6         # mean direction, seen through the filter, that a point needs: nearer to a reversal one sample decides
_SAME_RATE = 0.05       # by which the rates of runs fitted together may differ
_REST = 0.01            # part of the greatest speed below which a joint rests or turns back
_NOISE = 3.0            # and so do speeds below so many standard deviations of the velocity's noise


@dataclass(frozen=True)
class Motion:
    """General motion of one joint.

    Attributes
    ----------
    joint : str
        Its name.
    t, q, dq, ddq : ndarray, shape (M,)
        Time [s] and motion of the samples [rad or m].
    tau : ndarray, shape (M,)
        Measured torque [N·m or N].
    rigid, gravity : ndarray, shape (M,)
        The model's torque with rotor inertia, and its part at rest [N·m or N].
    rotor : float
        Inertia of the rotor at the joint; 0 where the arm file does not know it [kg·m² or kg].
    loads : dict of str to ndarray, shape (M,)
        The model's loads.
    passes : ndarray of int, shape (M,)
        Passes 0 ... G-1 between reversals.
    others_move : bool
        Whether another joint moves meanwhile.
    prismatic : bool
        Whether the joint slides.
    least : float
        Speed below which the joint counts as at rest or turning back [rad/s or m/s].
    points : ndarray of int, shape (N,)
        The sample in the middle of each point.
    seen : csr_array, shape (N, M)
        Low-pass and decimation: what the points see of the samples.
    run : ndarray of str, shape (N,)
        The run that each point comes from.
    left_out : str
        How much of the log is motion, and what becomes of the rest.
    """

    joint: str
    t: Array
    q: Array
    dq: Array
    ddq: Array
    tau: Array
    rigid: Array
    gravity: Array
    rotor: float
    loads: dict[str, Array]
    passes: Groups
    others_move: bool
    prismatic: bool
    least: float
    points: np.ndarray
    seen: csr_array
    run: np.ndarray
    left_out: str

    def view(self, values: Array) -> Array:
        """Values of the samples (M, ...), filtered and decimated to the points (N, ...)."""
        return np.asarray(self.seen @ values)

    @property
    def dt(self) -> float:
        """Time from sample to sample [s]."""
        return float(self.t[1] - self.t[0])

    @property
    def speed(self) -> Array:
        """Signed velocity, nowhere slower than `least`: below it the law would be asked at noise, shape (M,)."""
        return np.asarray(np.copysign(np.maximum(np.abs(self.dq), self.least), self.dq))


def low_pass(values: Array, cutoff: float) -> Array:
    """Butterworth low-pass forward and backward along the rows: no phase; `cutoff` is a fraction of the sampling rate."""
    if cutoff >= 0.5:
        return values
    from scipy.signal import butter, sosfiltfilt  # takes a while to load

    return np.asarray(sosfiltfilt(butter(_ORDER, cutoff, fs=1.0, output="sos"), values, axis=0))


@dataclass(frozen=True)
class Stretch:
    """A stretch of a run without gaps: filtered motion of all joints and the model's torques along it.

    Attributes
    ----------
    run : Run
        Whose it is.
    t : ndarray, shape (M,)
        Evenly spaced time [s].
    q, dq, ddq, tau : ndarray, shape (M, n)
        Filtered motion [rad or m], and the measured torque [N·m or N].
    rigid, gravity : ndarray, shape (M, n)
        The model's torque without rotor inertia, and its part at rest [N·m or N].
    loads : dict of str to ndarray, shape (M, n)
        The model's loads.
    prismatic : ndarray of bool, shape (n,)
        Which joints slide.
    """

    run: Run
    t: Array
    q: Array
    dq: Array
    ddq: Array
    tau: Array
    rigid: Array
    gravity: Array
    loads: dict[str, Array]
    prismatic: np.ndarray

    @classmethod
    def of(cls, run: Run, mechanism: Mechanism, t: Array, q: Array, dq: Array, ddq: Array, tau: Array) -> "Stretch":
        """With the torques and loads of a model."""
        loads = joint_loads(mechanism, q, dq, ddq)
        return cls(run, t, q, dq, ddq, tau, loads.tau, inverse_dynamics(mechanism, q), {load: loads.get(load) for load in LOADS},
                   mechanism.prismatic)


@dataclass(frozen=True)
class Log:
    """All stretches of one or several runs, sampled alike, `dt` [s] apart and filtered for a `bandwidth` [Hz]."""

    stretches: tuple[Stretch, ...]
    dt: float
    bandwidth: float


def filtered(runs: Sequence[Run], mechanisms: Sequence[Mechanism], bandwidth: float | None = None) -> Log:
    """Runs cut at gaps, filtered and differentiated, each with the torques of its own model.

    Positions are filtered, velocities and accelerations are central differences; a recorded velocity is taken where it was
    loaded. The bandwidth is `BANDWIDTH`, or lower where coarse or noisy positions would show in velocities and accelerations.

    Raises
    ------
    InputError
        If a position or torque is not a finite number, time does not increase, or runs differ in their rates.
    FitError
        If no stretch lasts long enough.
    """
    for run in runs:
        check_time(run.t, str(run.path))
        check_signals(run)
    cutoff = _position_cutoff(runs) if bandwidth is None else _POSITION * bandwidth
    bandwidth = bandwidth or _bandwidth(cutoff)
    parts = [(run, mechanism, found) for run, mechanism in zip(runs, mechanisms, strict=True) for rows in _without_gaps(run.t)
             if (found := _moved(run, rows, cutoff, bandwidth)) is not None]
    if not parts:
        raise FitError(f"no stretch without gaps lasts longer than {2.0 * _SETTLING / bandwidth:.2g} s, which the filter needs "
                       "to settle")
    steps = np.array([found[0][1] - found[0][0] for *_, found in parts])
    dt = float(np.median(steps))
    if np.any(np.abs(steps / dt - 1.0) > _SAME_RATE):
        raise InputError(f"samples come at {1.0 / steps.max():.4g} to {1.0 / steps.min():.4g} Hz; fit logs of one rate together")
    return Log(tuple(Stretch.of(run, mechanism, *found) for run, mechanism, found in parts), dt, bandwidth)


def reduce_motion(log: Log, joint: str) -> Motion:
    """Motion of one joint: where it moves, cut at borders and reduced to points.

    Points are `_POINTS` to a period of the bandwidth. None of them lies where the joint rests or just turns back.

    Raises
    ------
    FitError
        If the joint does not move, or moves too briefly or too slowly.
    """
    parts, dt, bandwidth, run = log.stretches, log.dt, log.bandwidth, log.stretches[0].run
    column = run.names.index(joint)
    unit = "m/s" if parts[0].prismatic[column] else "rad/s"
    least = _least_speed(joint, np.concatenate([part.dq[:, column] for part in parts]), bandwidth * dt, unit)
    border = round(_SETTLING / bandwidth / dt)
    cuts = [(part, rows) for part in parts for rows in _moving(np.abs(part.dq[:, column]) >= least, border)]
    if not cuts:
        raise FitError(f"{joint} moves only within {_SETTLING / bandwidth:.2g} s of the log's ends, where the filter settles")

    def joined(values: Sequence[Array]) -> Array:
        return np.concatenate([own[rows, column] for own, (_, rows) in zip(values, cuts, strict=True)])

    q, dq, ddq, tau, rigid, gravity = (joined([getattr(part, key) for part, _ in cuts])
                                       for key in ("q", "dq", "ddq", "tau", "rigid", "gravity"))
    begins = np.cumsum([0, *(rows.stop - rows.start for _, rows in cuts)])
    points, seen = _points(np.where(np.abs(dq) < least, 0.0, np.sign(dq)), begins, bandwidth * dt, border)
    if not len(points):
        raise FitError(f"{joint} hardly moves: it never goes faster than {least:.2g} for {1.0 / bandwidth:.2g} s")
    gear = run.arm.joint(joint)
    rotor = gear.rotor_inertia * gear.ratio**2
    others = [np.delete(part.q[rows], column, axis=1) for part, rows in cuts]
    span = [np.max([part.max(axis=0) for part in others], axis=0) - np.min([part.min(axis=0) for part in others], axis=0)]
    moves, prismatic = dt * float(np.sum(np.abs(dq) >= least)), bool(parts[0].prismatic[column])
    return Motion(joint, np.concatenate([part.t[rows] for part, rows in cuts]), q, dq, ddq, tau, rigid + rotor * ddq, gravity,
                  rotor, {load: joined([part.loads[load] for part, _ in cuts]) for load in LOADS},
                  passes(dq, least, begins), bool(np.max(span, initial=0.0) > HELD), prismatic, least, points, seen,
                  np.array([part.run.label for part, _ in cuts])[np.searchsorted(begins, points, "right") - 1],
                  f"{joint} moves for {moves:.0f} of {sum(np.ptp(part.t) for part in parts):.0f} s; slower than "
                  f"{least:.2g} {'m' if prismatic else 'rad'}/s it may rest or turn back"
                  + (f"; positions are so coarse or noisy that what is quicker than {bandwidth:.2g} Hz is filtered away"
                     if bandwidth < BANDWIDTH else ""))


def _position_cutoff(runs: Sequence[Run]) -> float:
    """Highest cut-off [Hz] at which noise of the positions does not show, but none that would take a part of the motion."""
    chosen = float(_CUTOFFS[0])
    for cutoff in map(float, _CUTOFFS):
        seen = [_noise_seen(run, cutoff) for run in runs]
        if cutoff < _CUTOFFS[0] and any(takes for _, takes in seen):
            break
        chosen = cutoff
        if not any(shows for shows, _ in seen):
            break
    return chosen


def _noise_seen(run: Run, cutoff: float) -> tuple[bool, bool]:
    """Of the joints that move: whether noise shows behind this cut-off, and whether the cut-off takes more than noise."""
    dt = float(np.median(np.diff(run.t[:_LOOKED]))) if len(run.t) > 1 else 0.0
    if dt <= 0.0 or len(run.t) < 16:
        return False, False
    cutoff, bandwidth = min(cutoff, 0.5 / dt), _bandwidth(cutoff)
    shows = takes = False
    for j in range(len(run.names)):
        x = run.signals["q"][:_LOOKED, j]
        step = encoder_step(x)
        if np.ptp(x) < HELD + 20.0 * step:
            continue
        recorded = run.signals["dq"][:_LOOKED, j] if "dq" in run.signals else np.array([np.nan])
        if np.isfinite(recorded).all():
            noise, raw = position_noise(recorded, 0.0), recorded
            dq = low_pass(recorded, cutoff * dt)
            gains = 1.0, 2.0 * np.pi * bandwidth / np.sqrt(3.0)
        else:
            noise, raw = max(step / np.sqrt(12.0), position_noise(x, 0.0)), x
            dq = np.gradient(low_pass(x, cutoff * dt), dt)
            gains = 2.0 * np.pi * cutoff / np.sqrt(3.0), (2.0 * np.pi * bandwidth) ** 2 / np.sqrt(5.0)
        passed = noise * np.array(gains) * np.sqrt(2.0 * dt * np.array([cutoff, bandwidth]))       # of white noise
        fastest = float(np.quantile(np.abs(dq), 0.999))
        ddq = np.gradient(low_pass(dq, bandwidth * dt), dt)[np.abs(dq) > 0.05 * fastest]
        shows |= passed[0] > _SHOWS[0] * fastest or passed[1] > _SHOWS[1] * float(np.sqrt(np.mean(ddq**2)))
        taken = (raw - low_pass(raw, cutoff * dt))[(inner := round(_SETTLING / cutoff / dt)):-inner]      # but at the borders
        takes |= float(np.sqrt(np.mean(taken**2))) > _TAKES * noise if len(taken) else True
    return bool(shows), bool(takes)


def _bandwidth(cutoff: float) -> float:
    """Of all that is compared, for a cut-off of the positions [Hz]."""
    return min(BANDWIDTH, 0.5 * cutoff)


def _without_gaps(t: Array) -> list[slice]:
    """Rows of a log between its gaps."""
    if len(t) < 2:
        return []
    step = np.diff(t)
    edges = [0, *(np.flatnonzero(step > _GAP * np.median(step)) + 1).tolist(), len(t)]
    return [slice(a, b) for a, b in pairwise(edges)]


def _moved(run: Run, rows: slice, cutoff: float, bandwidth: float) -> tuple[Array, Array, Array, Array, Array] | None:
    """Evenly spaced time, filtered position, velocity, acceleration, and torque of all joints; None where too short."""
    t = np.linspace(run.t[rows.start], run.t[rows.stop - 1], rows.stop - rows.start)
    if len(t) < 16 or np.ptp(t) <= 2.0 * _SETTLING / bandwidth:
        return None
    dt = float(t[1] - t[0])
    recorded = {name: np.column_stack([np.interp(t, run.t[rows], column) for column in run.signals[name][rows].T])
                for name in ("q", "dq", "tau") if name in run.signals and (name != "dq" or np.isfinite(run.signals[name]).all())}
    q = low_pass(recorded["q"], cutoff * dt)
    dq = low_pass(recorded["dq"], cutoff * dt) if "dq" in recorded else np.gradient(q, dt, axis=0)
    return t, q, dq, np.gradient(dq, dt, axis=0), recorded["tau"]


def _least_speed(joint: str, dq: Array, cutoff: float, unit: str) -> float:
    """Speed from which the sign of the velocity is sure."""
    noise = 1.4826 * float(np.median(np.abs(dq - low_pass(dq, cutoff))))
    fastest = float(np.quantile(np.abs(dq), 0.999))
    if fastest <= 4.0 * _NOISE * noise or fastest == 0.0:
        raise FitError(f"{joint} does not move, or so slowly (at most {fastest:.2g} {unit}) that the noise of its velocity "
                       f"({noise:.2g}) hides its direction")
    return max(_REST * fastest, _NOISE * noise)


def _moving(moves: np.ndarray, border: int) -> list[slice]:
    """Stretches of samples in which the joint moves, with a border in which the filter may settle at both ends."""
    near = np.concatenate(([0], maximum_filter1d(moves.astype(np.int8), 2 * border + 1), [0]))
    return [slice(int(a), int(b)) for a, b in zip(np.flatnonzero(np.diff(near) == 1), np.flatnonzero(np.diff(near) == -1),
                                                  strict=True) if b - a > 2 * border]


def _points(sign: Array, begins: np.ndarray, cutoff: float, border: int) -> tuple[np.ndarray, csr_array]:
    """Where the points are, and what each sees of the samples, shapes (N,) and (N, M).

    Every so many samples of a stretch there is one, but not at the stretch's borders, nor where the joint rests or turns back:
    friction at rest takes any value, and at a reversal it flips between two samples, which the velocity cannot tell. The
    impulse response of the low-pass, cut where it has settled, does both filtering and decimation.
    """
    step = max(1, round(1.0 / (_POINTS * cutoff)), len(sign) // _MOST_POINTS)
    points = np.concatenate([np.arange(a + border, b - border, step) for a, b in pairwise(begins)])
    kernel = low_pass((np.arange(-4 * border, 4 * border + 1) == 0).astype(float), cutoff)[3 * border:5 * border + 1]
    width = len(kernel)
    near = (points[:, None] + np.arange(-border, border + 1)).ravel()
    seen = csr_array((np.tile(kernel / kernel.sum(), len(points)), near, width * np.arange(len(points) + 1)),
                     shape=(len(points), len(sign)))
    directed = np.abs(seen @ sign) > _DIRECTED
    return points[directed], seen[directed]


def passes(dq: Array, least: float, begins: np.ndarray) -> Groups:
    """Number of the pass that each sample belongs to; a pass ends where the velocity turns or the log is cut, shape (M,).

    Where there are more than `_MOST_PASSES`, neighbours count as one: fewer and longer groups are the safe side.
    """
    sign = np.where(np.abs(dq) < least, 0, np.sign(dq)).astype(int)
    moving = np.maximum.accumulate(np.where(sign != 0, np.arange(len(sign)), -1))
    last = np.where(moving >= 0, sign[moving], sign[np.argmax(sign != 0)])      # the direction keeps through a rest
    turns = np.concatenate(([False], np.diff(last) != 0))
    turns[begins[1:-1]] = True
    number = np.cumsum(turns)
    return np.asarray(number // -(-int(number[-1] + 1) // _MOST_PASSES))
