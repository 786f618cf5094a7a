"""Keys of CANopen drives in the arm file, and the values for one drive that follow from them."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field, PositiveFloat

from stribeck.drivers.canopen import cia402
from stribeck.drivers.canopen.cia402 import Scale
from stribeck.drivers.wire.drive_keys import Counts, Keys, LinkKeys
from stribeck.drivers.wire.driven_joint import DrivenJoint

_BEATS = 4  # heartbeats of the computer within the watchdog's time
Node = Annotated[int, Field(ge=1, le=127)]


class CanopenKeys(LinkKeys):
    """Keys of ``[driver]``."""

    bus: dict[str, Any]  # python-can's: interface, channel, ...
    bit_rate: PositiveFloat = 1e6
    # node id of the computer, whose heartbeat the drives watch
    host: Node = 127
    modes: frozenset[Literal["velocity", "torque"]] = frozenset({"velocity"})
    profile: Literal["csv", "pv"] = "csv"  # cyclic synchronous or profile velocity
    watchdog: Annotated[float, Field(ge=0.02, le=2.0)] = 0.2

    @property
    def beat(self) -> float:
        """Time between two heartbeats of the computer [s]."""
        return self.watchdog / _BEATS


class DriveKeys(Keys):
    """Keys of ``drive = {...}`` of a joint."""

    node: Node
    # N·m at the motor; 0x6077 counts thousandths of it
    rated_torque: PositiveFloat
    rated_torque_unit: Literal["mN·m", "µN·m"] = "mN·m"  # unit of 0x6076
    position_counts: Counts  # counts of 0x6064 per motor revolution
    # counts of 0x60FF and 0x606C at one motor revolution per second
    velocity_counts: Counts | None = None
    # counts of 0x6083 to 0x6085 at one motor revolution per s²
    acceleration_counts: Counts | None = None


@dataclass(frozen=True)
class DriveConfig:
    """Data of one drive from the arm file.

    Attributes
    ----------
    joint : DrivenJoint
        The joint that the drive moves.
    keys : CanopenKeys
        Keys of the bus.
    drive : DriveKeys
        Keys of the drive.
    """

    joint: DrivenJoint
    keys: CanopenKeys
    drive: DriveKeys

    @property
    def velocity_counts(self) -> float:
        """Counts of speed at one motor revolution per second."""
        return self.drive.velocity_counts or self.drive.position_counts

    @property
    def acceleration_counts(self) -> float:
        """Counts of acceleration at one motor revolution per second squared."""
        return self.drive.acceleration_counts or self.velocity_counts

    @property
    def velocity_mode(self) -> int:
        """Number (0x6060) of the mode with velocity set-points."""
        return cia402.MODES[self.keys.profile]

    @property
    def has_torque_mode(self) -> bool:
        """Whether the drive also takes torque set-points."""
        return "torque" in self.keys.modes

    @property
    def scale(self) -> Scale:
        """Scale between the drive's counts and the joint; raises `InputError` if
        the arm file states no gear.
        """
        table = self.joint.table
        return Scale.of(
            self.drive.position_counts,
            self.velocity_counts,
            self.drive.rated_torque,
            self.joint.gear,
            table.direction,
            table.zero_offset,
        )
