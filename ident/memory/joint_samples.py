"""Samples of one joint for friction with memory: smooth motion, path without noise, and the
samples that are compared.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import binary_opening

from stribeck.ident.arrays import Array
from stribeck.ident.errors import FitError
from stribeck.ident.log.motion.low_pass import SETTLING, low_pass
from stribeck.ident.log.motion.position_cutoff import (
    Recorded,
    bandwidth_of,
    has_velocity,
    position_cutoff,
    signal_noise,
    velocity_noise,
)
from stribeck.ident.log.strokes import encoder_step
from stribeck.ident.memory.joint_log import JointLog, recordings
from stribeck.ident.memory.measured_velocity import filtered_velocity
from stribeck.ident.memory.memory_data import GRAVITY, INERTIA, MemoryData
from stribeck.ident.memory.states.path import FIRST, Path

_NOISE = 3.0  # standard deviations of position noise in the half width of the play
# ratio of noise from which the position is differentiated instead of using the recorded velocity
_NOISIER = 2.0
_QUIET = 0.1  # noise of the acceleration over the acceleration
_RISING = 0.775  # of the noise of derivatives, for white noise below the cut-off
_TRIED = 8  # cut-offs tried for the acceleration
_BEGINNING = 0.03  # s; beginning of a recording, whose acceleration tells the last reversal
# s, and samples; a joint that does not leave the play for longer rests
_REST, _FEWEST = 0.05, 5
_GRAVITY = 0.2  # rad; range of positions from which gravity of the joint is fitted
_LEAST = 200  # least number of samples
_PARABOLA = 2  # degree of the polynomials beyond the ends
# part of the roughness of the motion with which even time stamps count as true
_SMOOTHER = 0.5


@dataclass(frozen=True)
class Smoothing:
    """How positions become a path, so that other logs of the same joint can be treated alike.

    Attributes
    ----------
    cutoff : float
        Cut-off of positions, or of recorded velocities [Hz].
    width : float
        Half width of the play against position noise [rad or m].
    acceleration : float
        Cut-off of velocities whose derivative is the acceleration [Hz].
    gravity : bool
        Whether gravity of the joint is fitted, with sine and cosine of the position.
    recorded : bool
        Whether recorded velocities are used: they do not lag, and are not noisier than the
        derivative of the position.
    """

    cutoff: float
    width: float
    acceleration: float
    gravity: bool
    recorded: bool = True

    @property
    def resolution(self) -> float:
        """Displacement that the path cannot resolve [rad or m]."""
        return 2.0 * self.width


def smoothing_of(log: JointLog, gravity: bool | None = None) -> Smoothing:
    """Return the smoothing that the noise of a log needs; it is the same for all its recordings.

    Raises
    ------
    InputError
        If time is not that of a few recordings.
    FitError
        If there are too few samples.
    """
    if len(log.t) < _LEAST:
        raise FitError(
            f"{len(log.t)} samples are too few for friction with memory; at least {_LEAST} are "
            "needed"
        )
    parts = [
        JointLog(log.t[rows], {name: values[rows] for name, values in log.signals.items()})
        for rows in recordings(log.t)
    ]
    recorded = has_velocity(log) and not any(
        filtered_velocity(part.t, part.signals["q"][:, 0], part.signals["dq"][:, 0])
        for part in parts
    )
    bare = [JointLog(part.t, {"q": part.signals["q"]}) for part in parts]
    cutoff = position_cutoff(parts if recorded else bare)
    if recorded and _noisier(parts, bare, max(cutoff, alone := position_cutoff(bare))):
        recorded, cutoff = False, alone
    parts = parts if recorded else bare
    long = [part for part in parts if len(part.t) > 1]
    return Smoothing(
        cutoff,
        max(play_width(part, 0, cutoff) for part in long),
        min(_quiet(part, cutoff) for part in long),
        bool(np.ptp(log.signals["q"]) > _GRAVITY) if gravity is None else gravity,
        recorded,
    )


def _noisier(parts: Sequence[JointLog], bare: Sequence[JointLog], cutoff: float) -> bool:
    """Whether the recorded velocity is noisier, or coarser, than the derivative of the
    position below the same cut-off.
    """

    def noise(part: JointLog, step: float) -> float:
        return max(
            velocity_noise(part, 0, cutoff, float(np.median(np.diff(part.t)))), step / np.sqrt(12.0)
        )

    return any(
        noise(told, encoder_step(told.signals["dq"][:, 0])) > _NOISIER * noise(own, 0.0)
        for told, own in zip(parts, bare, strict=True)
        if len(told.t) > 1
    )


def _quiet(part: JointLog, cutoff: float) -> float:
    """Return the highest cut-off with which noise is a small part of the acceleration [Hz]."""
    dt, bandwidth = float(np.median(np.diff(part.t))), bandwidth_of(cutoff)
    told = (
        part.signals["dq"]
        if has_velocity(part)
        else np.gradient(low_pass(part.signals["q"], cutoff * dt), dt, axis=0)
    )
    size = float(np.std(np.gradient(low_pass(told[:, 0], bandwidth * dt), dt)))
    for own in map(float, np.geomspace(cutoff, bandwidth, _TRIED)):
        if velocity_noise(part, 0, own, dt) * 2.0 * np.pi * own * _RISING < _QUIET * size:
            return own
    return bandwidth


def play_width(log: Recorded, joint: int, cutoff: float) -> float:
    """Return the half width of the play: half an encoder step and the noise that
    passes the cut-off [rad or m].
    """
    q, dt = log.signals["q"][:, joint], float(np.median(np.diff(log.t)))
    noise = (
        0.0
        if has_velocity(log)
        else signal_noise(log, joint) * np.sqrt(min(1.0, 2.0 * dt * cutoff))
    )
    step = encoder_step(q)
    return float(0.5 * step * (step > 1e-6 * np.ptp(q)) + _NOISE * noise)


def joint_samples(
    log: JointLog,
    torque: Array,
    load: Array | None,
    beside: Mapping[str, Array],
    smoothing: Smoothing,
    rigid: bool,
) -> MemoryData:
    """Return the samples of one joint.

    Parameters
    ----------
    log : JointLog
    torque, load : ndarray, shape (N,)
        Torque [N·m or N], and load if friction may grow with it.
    beside : dict of str to ndarray, shape (N,)
        Columns fitted together with friction.
    smoothing : Smoothing
    rigid : bool
        Whether inertia and gravity of the joint are fitted, too.

    Raises
    ------
    InputError
        If time is not that of a few recordings.
    FitError
        If a recording is too short for the filter.
    """
    rows = recordings(log.t)
    parts = [
        _part(
            log,
            one,
            {"torque": torque, **({} if load is None else {"load": load}), **beside},
            smoothing,
        )
        for one in rows
    ]
    q, velocity, gain = (
        np.concatenate([part[key] for part in parts]) for key in ("q", "velocity", "gain")
    )
    columns = {
        "offset": np.ones(len(q)),
        **({INERTIA: gain} if rigid else {}),
        **(
            dict(zip(GRAVITY, (np.sin(q), np.cos(q)), strict=True))
            if rigid and smoothing.gravity
            else {}
        ),
        **{name: np.concatenate([part[name] for part in parts]) for name in beside},
    }
    periods = [float(np.median(np.diff(log.t[one]))) for one in rows]
    path = Path.of(
        q,
        smoothing.width,
        np.array([one.start for one in rows]),
        velocity,
        max(FIRST, round(_BEGINNING / float(np.median(np.diff(log.t))))),
        [resting(dt) for dt in periods],
    )
    return MemoryData(
        path,
        velocity,
        np.concatenate([part["torque"] for part in parts]),
        None if load is None else np.concatenate([part["load"] for part in parts]),
        columns,
        np.concatenate([_moving(path, log.t, one) for one in rows]),
        time=np.concatenate([part["time"] for part in parts]),
        position=q,
        waving=GRAVITY if rigid and smoothing.gravity else (),
        positive=(INERTIA,) if rigid else (),
    )


def _moving(path: Path, t: Array, rows: slice) -> np.ndarray:
    """Mask of the samples of a recording in which the joint does not rest."""
    return compared(path, float(np.median(np.diff(t[rows]))))[rows]


def _part(
    log: JointLog, rows: slice, values: Mapping[str, Array], smoothing: Smoothing
) -> dict[str, Array]:
    """Return motion and other values of one recording at even times."""
    stamps = _stamps(log.t[rows], log.signals["q"][rows, 0])
    t = np.linspace(stamps[0], stamps[-1], len(stamps))
    if len(t) < 2 or smoothing.cutoff * (t[-1] - t[0]) < 2.0 * SETTLING:
        raise FitError(
            f"a recording lasts {t[-1] - t[0]:.2g} s, from row {rows.start}; the filter of the "
            f"positions needs {2 * SETTLING / smoothing.cutoff:.2g} s"
        )
    dt = float(t[1] - t[0])

    def even(column: Array) -> Array:
        return np.interp(t, stamps, column[rows])

    more = min(round(1.0 / bandwidth_of(smoothing.cutoff) / dt), len(t) // 2)
    q = low_pass(_extended(even(log.signals["q"][:, 0]), more), smoothing.cutoff * dt)
    velocity = np.gradient(q, dt)
    if smoothing.recorded and has_velocity(log):
        velocity = low_pass(_extended(even(log.signals["dq"][:, 0]), more), smoothing.cutoff * dt)
    gain = np.gradient(low_pass(velocity, smoothing.acceleration * dt), dt)
    inner = slice(more, more + len(t))
    return {
        "time": t,
        "q": q[inner],
        "velocity": velocity[inner],
        "gain": gain[inner],
        **{name: even(one) for name, one in values.items()},
    }


def _extended(values: Array, more: int) -> Array:
    """Return values with `more` further ones at both ends, on parabolas through as many:
    filters err where a signal ends.
    """
    if more <= _PARABOLA:
        return np.pad(values, more, mode="edge")
    at = np.linspace(0.0, 1.0, more)
    head, tail = np.polyfit(at, np.column_stack((values[:more], values[-more:])), _PARABOLA).T
    step = at[1]
    return np.concatenate(
        (
            np.polyval(head, -step * np.arange(more, 0, -1)),
            values,
            np.polyval(tail, 1.0 + step * np.arange(1, more + 1)),
        )
    )


def _stamps(t: Array, q: Array) -> Array:
    """Return the time stamps, or even ones if they make the motion smoother: the
    clock of a computer jitters.
    """
    if len(t) < 4:
        return t
    even = np.linspace(t[0], t[-1], len(t))

    def roughness(stamps: Array) -> float:
        return float(np.mean(np.diff(np.interp(even, stamps, q), 3) ** 2))

    return even if roughness(even) < _SMOOTHER * roughness(t) else t


def compared(path: Path, dt: float) -> np.ndarray:
    """Mask of the samples in which the joint does not rest, shape (M,): a resting joint holds
    any torque up to breakaway.
    """
    return np.asarray(~binary_opening(path.step == 0.0, np.ones(resting(dt), dtype=bool)))


def resting(dt: float) -> int:
    """Return after how many samples without displacement a joint rests."""
    return max(_FEWEST, round(_REST / dt))
