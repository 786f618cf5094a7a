"""What a driver for another drive has to provide: axes on a link (docs/drivers.md shows one).

Transport (an open python-can bus or serial port) -> codec (pure functions between bytes and SI) -> `Axis` -> `DriveLink`;
`wired_arm.WiredArm` makes an `Arm` of a link.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, create_model

from stribeck.drivers.arm import Array
from stribeck.ident.arm.arm_file import ArmFile, JointTable, Limits
from stribeck.ident.errors import InputError
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.toml_tables import parse_table

# keys of `bus` that say how it is spoken on, not where it is
_MANNERS = {"bitrate", "data_bitrate", "fd", "hop_limit", "receive_own_messages", "local_loopback", "ignore_rx_error_frames",
            "listen_only", "timeout", "poll_interval", "sleep_after_open", "rtscts", "tty_baudrate", "ttyBaudrate"}

BRAKE_CLOSES = 0.1          # s that a brake takes at most, as a rule, until it holds a joint whose power is gone
Power = Literal["off", "on", "held", "fault"]     # without power; follows set-points; stopped, holds by itself; needs a reset
Counts = Annotated[float, Field(gt=0.0, le=1e12)]           # of a drive, in a revolution or the like


class Keys(BaseModel):
    """Keys of the arm file that belong to a driver; unknown ones are refused like those of other tables."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, frozen=True)


class LinkKeys(Keys):
    """Keys of ``[driver]`` that every driver has."""

    kind: str
    rate: float
    watchdog: float = 0.2               # s without a frame from the host after which each drive stops by itself
    allow_no_watchdog: bool = False     # move drives that have none

    @property
    def place(self) -> str:
        """Where the drives are: the key `port`, or the table `bus`, of drivers that have them."""
        bus = getattr(self, "bus", {})
        return getattr(self, "port", ", ".join(f"{key} = {bus[key]}" for key in sorted(bus) if key not in _MANNERS))


@dataclass(frozen=True)
class DrivenJoint:
    """What the arm file says about one joint, for its axis. SI, joint side.

    Attributes
    ----------
    name : str
        The joint's name.
    position : tuple of float
        Lower and upper limit.
    velocity, acceleration, torque : float
        Largest magnitudes.
    table : JointTable
        Its table in the arm file: direction, zero_offset, gear_ratio, stop.
    position_unit, torque_unit : str
        "rad" and "N·m", or "m" and "N".
    """

    name: str
    position: tuple[float, float]
    velocity: float
    acceleration: float
    torque: float
    table: JointTable
    position_unit: str = "rad"
    torque_unit: str = "N·m"

    @property
    def small(self) -> float:
        """What thresholds in rad count in its own unit: a tenth of that in m."""
        return 1.0 if self.position_unit == "rad" else 0.1

    @property
    def falls(self) -> bool:
        """Whether nothing but the drive's power holds it."""
        return self.table.stop == "hold"

    @property
    def gear(self) -> float:
        """Motor revolutions a joint revolution, for drives that count at the motor.

        Raises
        ------
        InputError
            If the arm file does not state it.
        """
        if self.table.gear_ratio is None:
            raise InputError(f"joints.{self.name}.gear_ratio is missing: this drive counts motor revolutions; say 1.0 where "
                             "there is no gear, 2 pi over the way of a revolution [m] of a slide")
        return self.table.gear_ratio


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
    unwatched: str = "goes on at its last speed"

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


class DriveLink(ABC):
    """The drives of an arm on one bus.

    Attributes
    ----------
    keys, joint_keys : type of Keys
        Tables that check the driver's keys of ``[driver]`` and of ``drive = {...}`` of each joint.
    axes : tuple of Axis
        In the order of the joints. Made by the constructor, which talks to nobody.
    modes : frozenset of str
        Subset of {"velocity", "torque"}.
    mechanism : Mechanism
        The arm's model, for drives that are told its gravity; set before `open`.
    error_frames : int
        How many the bus has shown so far: wiring, termination or bit rate are not right, or somebody was cut off.
    """

    keys: ClassVar[type[LinkKeys]] = LinkKeys
    joint_keys: ClassVar[type[Keys]] = Keys
    axes: tuple[Axis, ...]
    modes: frozenset[str] = frozenset({"velocity"})
    mechanism: Mechanism
    error_frames: int = 0

    @property
    def corrupt(self) -> int:
        """Damaged replies so far: those that the bus itself does not sort out."""
        return sum(axis.corrupt for axis in self.axes)

    @abstractmethod
    def __init__(self, joints: tuple[DrivenJoint, ...], keys: Any, drives: tuple[Any, ...]) -> None:
        """`drives` are the joints' own checked keys."""

    @abstractmethod
    def open(self, transport: Any = None) -> None:
        """Take over an open transport, or open the one that the keys name."""

    def start(self) -> None:
        """Make configured drives ready for `exchange`; called before each enabling, moves nothing."""
        return

    @abstractmethod
    def close(self) -> None:
        """Let go of the bus; drives stay as they are."""

    @abstractmethod
    def exchange(self, deadline: float) -> float:
        """One cycle: send every set-point that an axis has and the sign of life, ask for replies, wait for them.

        Ends when all axes have replied, or at `deadline`; never raises for a late reply, whose age is seen by `Reading.t`.
        Nothing else may send set-points or signs of life: a hung program falls silent.

        Returns
        -------
        float
            When the axes were asked, and measured, by `time.monotonic` [s].
        """

    @abstractmethod
    def load(self) -> float:
        """Part of the bus that the cycles take at the stated rate; at most `wired_arm.MOST_LOAD` is accepted."""


def read_keys(arm: ArmFile, names: tuple[str, ...], link: type[DriveLink]) -> tuple[Any, tuple[Any, ...]]:
    """The driver's keys of the arm file, checked: those of ``[driver]`` and those of each joint.

    Raises
    ------
    InputError
        Says file, key, what was found and what is allowed.
    """
    driver = create_model("Driver", driver=(link.keys, ...))
    joint = create_model("Drive", drive=(link.joint_keys, ...))
    table = create_model("Drives", joints=(dict[str, joint], ...))      # type: ignore[valid-type]
    keys: Any = parse_table(driver, {"driver": arm.driver.model_dump()}, arm.path)
    drives: Any = parse_table(table, {"joints": {name: {"drive": arm.joint(name).drive} for name in names}}, arm.path)
    return keys.driver, tuple(drives.joints[name].drive for name in names)


def refuse_shared(joints: Sequence[DrivenJoint], key: str, addresses: Sequence[int],
                  others: Mapping[int, str] | None = None) -> None:
    """Refuse an address ``joints.NAME.drive.KEY`` on the bus that somebody else has; `others` are those of no joint.

    Raises
    ------
    InputError
        Says whose it is.
    """
    taken = dict(others or {})
    for joint, address in zip(joints, addresses, strict=True):
        if address in taken:
            raise InputError(f"joints.{joint.name}.drive.{key} = {address} is also that of {taken[address]}; each drive on a bus "
                             "needs its own")
        taken[address] = joint.name


def read_joints(arm: ArmFile, mechanism: Mechanism, limits: Limits) -> tuple[DrivenJoint, ...]:
    """What the arm file says about each joint."""
    def row(values: Array, j: int) -> float:
        return float(values[j])

    return tuple(DrivenJoint(name, (float(limits.position[j, 0]), float(limits.position[j, 1])), row(limits.velocity, j),
                             row(limits.acceleration, j), row(limits.torque, j), arm.joint(name), mechanism.position_unit(j),
                             mechanism.unit(j))
                 for j, name in enumerate(mechanism.names))
