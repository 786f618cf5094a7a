"""Samples of one joint for friction with memory: smooth motion, path without noise, and the samples that are compared."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from scipy.ndimage import binary_opening

from stribeck.ident.arrays import Array
from stribeck.ident.errors import FitError, InputError
from stribeck.ident.log.motion.low_pass import SETTLING, low_pass
from stribeck.ident.log.motion.position_cutoff import Recorded, has_velocity, position_cutoff, signal_noise
from stribeck.ident.log.signal_checks import check_time
from stribeck.ident.log.strokes import encoder_step
from stribeck.ident.memory.memory_data import MemoryData
from stribeck.ident.memory.path import Path

_NOISE = 3.0            # standard deviations of position noise in the half width of the play
_REST = 0.05            # s; a joint that does not leave the play for longer rests
_GRAVITY = 0.2          # rad; range of positions from which gravity of the joint is fitted
_LEAST = 200            # least number of samples


@dataclass(frozen=True)
class JointLog:
    """Recorded signals of one joint, for the functions that take runs.

    Attributes
    ----------
    t : ndarray, shape (N,)
        Time [s].
    signals : dict of str to ndarray, shape (N, 1)
        Position "q", and velocity "dq" if it was recorded [rad or m, and per s].
    """

    t: Array
    signals: Mapping[str, Array]
    names: tuple[str, ...] = field(default=("joint",))


@dataclass(frozen=True)
class Smoothing:
    """How positions become a path, so that other logs of the same joint can be treated alike.

    Attributes
    ----------
    cutoff : float
        Cut-off of positions, or of recorded velocities [Hz].
    width : float
        Half width of the play against position noise [rad or m].
    gravity : bool
        Whether gravity of the joint is fitted, with sine and cosine of the position.
    """

    cutoff: float
    width: float
    gravity: bool

    @property
    def resolution(self) -> float:
        """Displacement that the path cannot resolve [rad or m]."""
        return 2.0 * self.width


def smoothing_of(log: Recorded, gravity: bool | None = None) -> Smoothing:
    """Return the smoothing that the noise of a log needs."""
    q = log.signals["q"][:, 0]
    return Smoothing(cutoff := position_cutoff([log]), play_width(log, 0, cutoff),
                     bool(np.ptp(q) > _GRAVITY) if gravity is None else gravity)


def play_width(log: Recorded, joint: int, cutoff: float) -> float:
    """Return the half width of the play: half an encoder step and the noise that passes the cut-off [rad or m]."""
    q, dt = log.signals["q"][:, joint], float(np.median(np.diff(log.t)))
    noise = 0.0 if has_velocity(log) else signal_noise(log, joint) * np.sqrt(min(1.0, 2.0 * dt * cutoff))
    step = encoder_step(q)
    return float(0.5 * step * (step > 1e-6 * np.ptp(q)) + _NOISE * noise)


def joint_samples(log: JointLog, torque: Array, load: Array | None, beside: Mapping[str, Array], smoothing: Smoothing,
                  rigid: bool, difference: bool = False) -> MemoryData:
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
    difference : bool
        Whether viscous friction differs between the directions.

    Raises
    ------
    InputError
        If times do not increase or arrays differ in length.
    FitError
        If there are too few samples.
    """
    check_time(log.t, "time")
    if len(log.t) < _LEAST:
        raise FitError(f"{len(log.t)} samples are too few for friction with memory; at least {_LEAST} are needed")
    t = np.linspace(log.t[0], log.t[-1], len(log.t))
    dt = float(t[1] - t[0])
    if smoothing.cutoff * (t[-1] - t[0]) < 2.0 * SETTLING:
        raise FitError(f"the log lasts {t[-1] - t[0]:.2g} s; the filter of the positions needs "
                       f"{2 * SETTLING / smoothing.cutoff:.2g} s")

    def even(values: Array) -> Array:
        return np.interp(t, log.t, values)

    q = low_pass(even(log.signals["q"][:, 0]), smoothing.cutoff * dt)
    velocity = (low_pass(even(log.signals["dq"][:, 0]), smoothing.cutoff * dt) if has_velocity(log) else np.gradient(q, dt))
    columns = {"offset": np.ones(len(t)), **({"inertia": np.gradient(velocity, dt)} if rigid else {}),
               **({"gravity_sin": np.sin(q), "gravity_cos": np.cos(q)} if rigid and smoothing.gravity else {}),
               **{name: even(column) for name, column in beside.items()}}
    path = Path.of(q, smoothing.width)
    data = MemoryData(path, velocity, even(torque), None if load is None else even(load), columns, compared(path, dt))
    return data.with_difference() if difference else data


def compared(path: Path, dt: float) -> np.ndarray:
    """Mask of the samples in which the joint does not rest, shape (M,): a resting joint holds any torque up to breakaway."""
    return np.asarray(~binary_opening(path.step == 0.0, np.ones(max(5, round(_REST / dt)), dtype=bool)))


def check_shapes(**arrays: Array | None) -> None:
    """Refuse arrays that are not finite numbers, or differ in length from the first.

    Raises
    ------
    InputError
        Names the array.
    """
    (first, reference), *_ = arrays.items()
    for name, values in arrays.items():
        if values is None:
            continue
        assert reference is not None
        if values.ndim != 1 or len(values) != len(reference):
            raise InputError(f"{name} has shape {values.shape}, {first} has {reference.shape}; all need (N,), the samples of one "
                             "joint")
        if not np.isfinite(values).all():
            row = int(np.argmin(np.isfinite(values)))
            raise InputError(f"{name} is not a finite number in row {row}; leave out this row, or split the log there")
