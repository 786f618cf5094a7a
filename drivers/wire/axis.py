"""One drive on a bus: the methods that a driver for a new kind of drive implements
(docs/drivers.md shows an example).

Transport (an open python-can bus or serial port) -> codec (pure functions between bytes and SI) ->
`Axis` -> `drive_link.DriveLink`; `wired_arm.WiredArm` makes an `Arm` of a link.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

import numpy as np

from stribeck.drivers.wire.clock import REAL_TIME, Clock
from stribeck.drivers.wire.driven_joint import DrivenJoint

BRAKE_CLOSES = 0.1  # s from power-off until the brake holds; most brakes need less
# without power; follows set-points; stopped and holds by itself; needs a reset
Power = Literal["off", "on", "held", "fault"]


@dataclass(frozen=True, slots=True)
class Reading:
    """Newest values of a joint: SI, joint side, with the model's signs and zero.

    Attributes
    ----------
    t : float
        Time at which the values were received, by the clock of the axis [s].
    q, dq, tau : float
        Position, velocity, torque.
    status : int
        The drive's own status word.
    raw, temperature : float
        The drive's own torque count or current, and its temperature [°C]; nan for a value that
        the drive does not report.
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
    """Resolution of one axis at the joint: of velocity set-point, position and torque reading;
    `viscous` as in `Resolution`.
    """

    velocity: float
    position: float
    torque: float
    viscous: float = 0.0


class Axis(ABC):
    """One drive. The axis prepares the data of each cycle (`command`), and its link sends
    them (`DriveLink.exchange`).

    Attributes
    ----------
    joint : DrivenJoint
        The joint that the drive moves.
    steps : Steps
        Resolution of the drive.
    reading : Reading or None
        Newest values; the link replaces them when a reply arrives.
    replies : int
        Number of replies received so far.
    corrupt : int
        Number of received frames that this drive cannot have sent undamaged.
    watched : bool
        Whether the drive has confirmed that it stops by itself when the host falls
        silent; `configure` sets it.
    clock : Clock
        Clock of all times of the drive; set before `configure`.
    unwatched : str
        Words for the motion of the joint after the host falls silent, if the drive has no watchdog.
    """

    joint: DrivenJoint
    steps: Steps
    reading: Reading | None = None
    replies: int = 0
    corrupt: int = 0
    watched: bool = False
    clock: Clock = REAL_TIME
    unwatched: str = "moves on at its last speed"

    @property
    @abstractmethod
    def power(self) -> Power:
        """State of the drive according to its last reply."""

    @property
    def trouble(self) -> str | None:
        """Reason why the drive is not "on", in the drive's own words; None if
        there is nothing to report.
        """
        return None

    @abstractmethod
    def identity(self) -> dict[str, str]:
        """Description of the drive for `stribeck check`: device, firmware, modes, and "holds", the
        limits that the drive enforces by itself, as read back, at the joint. Moves nothing.
        """

    def greet(self) -> None:
        """Send the drive any question. All axes are greeted before the first is configured.
        Writes nothing, moves nothing.

        Raises
        ------
        NoAnswer
        """
        return

    @abstractmethod
    def configure(self) -> None:
        """Write units, limits, stop reactions and watchdog, and read each back.
        Moves nothing, powers nothing.

        Raises
        ------
        DriverError
            If the drive is missing, refuses a setting or reads back another value.
        """

    def refuse_company(self) -> None:
        """Refuse a drive that follows another program; called before anything is written. Optional,
        for drives that can tell.

        Raises
        ------
        DriverError
        """
        return

    @abstractmethod
    def enable(self) -> None:
        """Zero the drive's set-point, then ask for power at rest. Only `Arm.enable` calls this.

        A `quick_stop` that comes before the drive has power withdraws the request.
        """

    @abstractmethod
    def command(self, mode: str, value: float) -> None:
        """Keep the set-point of the next cycle; `mode` is "velocity" or "torque",
        `value` is in SI at the joint.
        """

    @abstractmethod
    def quick_stop(self) -> None:
        """Ask for the drive's own quick stop. The drive then holds by itself
        ("held"), also if the host stops.
        """

    @abstractmethod
    def disable(self) -> None:
        """Ask for power off; called only for joints that a brake holds."""

    @abstractmethod
    def reset(self) -> None:
        """Clear a fault and leave the drive without power. Only a person requests this."""
