"""One drive on a bus: what a driver for another kind of drive has to provide (docs/drivers.md shows one).

Transport (an open python-can bus or serial port) -> codec (pure functions between bytes and SI) -> `Axis` ->
`drive_link.DriveLink`; `wired_arm.WiredArm` makes an `Arm` of a link.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

import numpy as np

from stribeck.drivers.wire.driven_joint import DrivenJoint

BRAKE_CLOSES = 0.1          # s that a brake takes at most, as a rule, until it holds a joint whose power is gone
Power = Literal["off", "on", "held", "fault"]     # without power; follows set-points; stopped, holds by itself; needs a reset


@dataclass(frozen=True, slots=True)
class Reading:
    """The newest values of a joint, SI, joint side, signs and zero of the model.

    Attributes
    ----------
    t : float
        When they were received, by `time.monotonic` [s].
    q, dq, tau : float
        Position, velocity, torque.
    status : int
        The drive's own status word.
    raw, temperature : float
        The drive's own torque count or current; its temperature [°C]; nan where it reports none.
    """

    t: float
    q: float
    dq: float
    tau: float
    status: int = 0
    raw: float = np.nan
    temperature: float = np.nan


@dataclass(frozen=True)
class Steps:
    """Resolution of one axis, joint side: of its velocity set-point, its position and its torque reading, see `Resolution`."""

    velocity: float
    position: float
    torque: float
    viscous: float = 0.0


class Axis(ABC):
    """One drive. What has to be sent each cycle the axis prepares (`command`) and its link sends (`DriveLink.exchange`).

    Attributes
    ----------
    joint : DrivenJoint
        What it drives.
    steps : Steps
        Its resolution.
    reading : Reading or None
        Newest values; the link replaces it when a reply arrives.
    replies : int
        Replies received so far.
    corrupt : int
        Frames of it so far that were none of those it may send.
    watched : bool
        Whether the drive has confirmed that it stops by itself when the host falls silent; `configure` sets it.
    unwatched : str
        What becomes of its joint then where it does not.
    """

    joint: DrivenJoint
    steps: Steps
    reading: Reading | None = None
    replies: int = 0
    corrupt: int = 0
    watched: bool = False
    unwatched: str = "moves on at its last speed"

    @property
    @abstractmethod
    def power(self) -> Power:
        """What the drive does now, by its last reply."""

    @property
    def trouble(self) -> str | None:
        """Why a drive is not "on", in the drive's own words; None where there is nothing to say."""
        return None

    @abstractmethod
    def identity(self) -> dict[str, str]:
        """What is at the other end, for `stribeck check`: device, firmware, modes, and what it "holds" by itself: the limits that
        were read back, at the joint. Moves nothing.
        """

    def greet(self) -> None:
        """Ask it anything; called of all axes before one is configured. Writes nothing, moves nothing.

        Raises
        ------
        NoAnswer
        """
        return

    @abstractmethod
    def configure(self) -> None:
        """Write units, limits, stop reactions and watchdog, read each back. Moves nothing, powers nothing.

        Raises
        ------
        DriverError
            If the drive is missing, refuses a setting or reads back another.
        """

    def refuse_company(self) -> None:
        """Refuse a drive that follows another program; asked before anything is written. A driver that can tell, does.

        Raises
        ------
        DriverError
        """
        return

    @abstractmethod
    def enable(self) -> None:
        """Ask for power at rest, with the drive's set-point zeroed first. Never called but by `Arm.enable`.

        A `quick_stop` may come before power does, and takes that back.
        """

    @abstractmethod
    def command(self, mode: str, value: float) -> None:
        """Set-point of the next cycle: "velocity" or "torque", SI, joint side."""

    @abstractmethod
    def quick_stop(self) -> None:
        """Ask for the drive's own quick stop; it then holds by itself ("held"), whatever becomes of the host."""

    @abstractmethod
    def disable(self) -> None:
        """Ask for power off; only where a brake holds."""

    @abstractmethod
    def reset(self) -> None:
        """Clear a fault and leave the drive without power. Asked for by people only."""
