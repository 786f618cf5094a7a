"""Keys of the arm file that belong to a driver: those of its bus and those of each drive."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, create_model

from stribeck.drivers.wire.driven_joint import DrivenJoint
from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.errors import InputError
from stribeck.ident.toml_tables import parse_table

# keys of `bus` that say how it is spoken on, not where it is
_MANNERS = {"bitrate", "data_bitrate", "fd", "hop_limit", "receive_own_messages", "local_loopback", "ignore_rx_error_frames",
            "listen_only", "timeout", "poll_interval", "sleep_after_open", "rtscts", "tty_baudrate", "ttyBaudrate"}
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


def read_keys(arm: ArmFile, names: tuple[str, ...], link_keys: type[LinkKeys],
              joint_keys: type[Keys]) -> tuple[Any, tuple[Any, ...]]:
    """The driver's keys of the arm file, checked: those of ``[driver]`` and those of each joint.

    Raises
    ------
    InputError
        Says file, key, what was found and what is allowed.
    """
    driver = create_model("Driver", driver=(link_keys, ...))
    joint = create_model("Drive", drive=(joint_keys, ...))
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
            raise InputError(f"joints.{joint.name}.drive.{key} = {address} is already used by {taken[address]}; each drive on a "
                             f"bus needs its own {key}")
        taken[address] = joint.name
