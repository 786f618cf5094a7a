"""The interface of all arms: simulated, on a bus, or recorded."""

from dataclasses import dataclass
from math import isfinite
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from stribeck.ident.arm.arm_file import Limits

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Command:
    """Set-points of one cycle.

    Attributes
    ----------
    velocity : ndarray, shape (n,)
        Joint velocity [rad/s or m/s].
    torque : ndarray, shape (n,), optional
        Joint torque [N·m or N] of the joints in torque mode.
    mode : tuple of str, optional
        "velocity" or "torque" for each joint; None means velocity for all joints.
    """

    velocity: Array
    torque: Array | None = None
    mode: tuple[str, ...] | None = None


def command_fault(command: Command, names: tuple[str, ...], modes: frozenset[str]) -> str | None:
    """Return the reason why an arm with these joints and modes cannot carry out
    a command; None if it can.
    """
    if command.velocity.shape != (len(names),):
        return f"the velocity command has {command.velocity.size} value(s) for {_joints(names)}"
    if not all(map(isfinite, command.velocity.tolist())):
        return (
            f"the velocity command of {names[int(np.argmin(np.isfinite(command.velocity)))]} is "
            "not a finite number"
        )
    if command.mode is None:
        return None
    if command.torque is not None and command.torque.shape != (len(names),):
        return f"the torque command has {command.torque.size} value(s) for {_joints(names)}"
    if len(command.mode) != len(names):
        return f"the command has {len(command.mode)} mode(s) for {_joints(names)}"
    for j, (name, mode) in enumerate(zip(names, command.mode, strict=True)):
        if mode not in modes:
            return (
                f"the mode of {name} is {mode!r}; this arm accepts "
                f"{', '.join(sorted(modes)) or 'no mode'}"
            )
        if mode == "torque" and (command.torque is None or not np.isfinite(command.torque[j])):
            return f"the torque command of {name} is not a finite number"
    return None


def _joints(names: tuple[str, ...]) -> str:
    return f"{len(names)} joints ({', '.join(names)})"


@dataclass(frozen=True, slots=True)
class JointSample:
    """Measurements of one cycle; nan for values that a drive does not report.

    Attributes
    ----------
    t : float
        Time of the sample on the arm's clock [s].
    q, dq, tau : ndarray, shape (n,)
        Position [rad or m], velocity, and torque at the joint side [N·m or N].
    t_joint : ndarray, shape (n,)
        Times at which each joint's values were received [s].
    temperature : ndarray, shape (n,), optional
        Drive temperature [°C].
    status : ndarray of int, shape (n,)
        The drive's own status word; 0 if it has none.
    raw : ndarray, shape (n,), optional
        The drive's own torque count or current, before any scaling.
    q_link : ndarray, shape (n,), optional
        Position of the link by a second encoder behind the gear [rad or m].
    """

    t: float
    q: Array
    dq: Array
    tau: Array
    t_joint: Array
    temperature: Array | None
    status: NDArray[np.int64]
    raw: Array | None = None
    q_link: Array | None = None


@dataclass(frozen=True)
class Resolution:
    """Smallest steps of the drive of each joint; 0 means a negligible step.

    Attributes
    ----------
    velocity_step, position_step, torque_step : ndarray, shape (n,)
        Steps of the velocity set-point, of the position reading and of the torque reading.
    viscous_error : ndarray, shape (n,), optional
        Largest error of the torque reading per unit of speed [N·m·s/rad]. A drive with
        position set-points pulls less and less until the next set-point, and its torque is
        read at one moment in between.
    """

    velocity_step: Array
    position_step: Array
    torque_step: Array
    viscous_error: Array | None = None


@runtime_checkable
class Arm(Protocol):
    """An arm that moves in steps. The arm owns the clock: `step` waits, and callers never sleep.

    An arm is a context manager: entering connects, configures and verifies by read-back;
    leaving stops and disables.
    """

    names: tuple[str, ...]
    rate: float
    limits: Limits
    modes: frozenset[str]
    resolution: Resolution

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def enable(self) -> None:
        """Power the joints at rest. Only this call ends a stop; a person
        requests it, never a loop.
        """

    def step(self, command: Command) -> JointSample:
        """Send the command, wait for the arm's next tick, and return the measurements.

        Raises
        ------
        ArmStopped
            If the arm is not enabled or was stopped.
        """

    def stop(self, reason: str) -> None:
        """Bring all joints to rest. Idempotent; every step of the stop is tried
        before an error is raised.
        """
