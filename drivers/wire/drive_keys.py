"""Keys of the arm file that belong to a driver: keys of its bus, and keys of each drive."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, create_model

from stribeck.drivers.wire.driven_joint import DrivenJoint
from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.errors import InputError
from stribeck.ident.toml_tables import parse_table

# keys of `bus` that set how data are transmitted; all other keys are part of the address of the bus
_MANNERS = {
    "bitrate",
    "data_bitrate",
    "fd",
    "hop_limit",
    "receive_own_messages",
    "local_loopback",
    "ignore_rx_error_frames",
    "listen_only",
    "timeout",
    "poll_interval",
    "sleep_after_open",
    "rtscts",
    "tty_baudrate",
    "ttyBaudrate",
}
# counts of a drive per revolution, or per unit of speed
Counts = Annotated[float, Field(gt=0.0, le=1e12)]


class Keys(BaseModel):
    """Keys of the arm file that belong to a driver; unknown keys are
    refused, as in every other table.
    """

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, frozen=True)


class LinkKeys(Keys):
    """Keys of ``[driver]`` that all drivers share."""

    kind: str
    rate: float
    # s without a frame from the host after which each drive stops by itself
    watchdog: float = 0.2
    allow_no_watchdog: bool = False  # move drives that have no watchdog

    @property
    def place(self) -> str:
        """Address of the drives: the key `port`, or the address keys of the table `bus`; empty
        if the driver has neither.
        """
        bus = getattr(self, "bus", {})
        return getattr(
            self,
            "port",
            ", ".join(f"{key} = {bus[key]}" for key in sorted(bus) if key not in _MANNERS),
        )


def read_keys(
    arm: ArmFile, names: tuple[str, ...], link_keys: type[LinkKeys], joint_keys: type[Keys]
) -> tuple[Any, tuple[Any, ...]]:
    """Return the checked keys of the driver from the arm file: keys of ``[driver]``, and
    keys of each joint's drive.

    Raises
    ------
    InputError
        If a key is unknown, missing or out of range; the message has file,
        key, found and allowed value.
    """
    driver = create_model("Driver", driver=(link_keys, ...))
    joint = create_model("Drive", drive=(joint_keys, ...))
    table = create_model("Drives", joints=(dict[str, joint], ...))  # type: ignore[valid-type]
    keys: Any = parse_table(driver, {"driver": arm.driver.model_dump()}, arm.path)
    drives: Any = parse_table(
        table, {"joints": {name: {"drive": arm.joint(name).drive} for name in names}}, arm.path
    )
    return keys.driver, tuple(drives.joints[name].drive for name in names)


def refuse_shared(
    joints: Sequence[DrivenJoint],
    key: str,
    addresses: Sequence[int],
    others: Mapping[int, str] | None = None,
) -> None:
    """Refuse an address ``joints.NAME.drive.KEY`` that two members of the bus would share.

    Parameters
    ----------
    joints : sequence of DrivenJoint
        The joints.
    key : str
        Name of the key that holds the address.
    addresses : sequence of int
        Address of each joint's drive.
    others : mapping of int to str, optional
        Addresses that belong to no joint, with the words for their owners.

    Raises
    ------
    InputError
        If an address is used twice; the message names its other user.
    """
    taken = dict(others or {})
    for joint, address in zip(joints, addresses, strict=True):
        if address in taken:
            raise InputError(
                f"joints.{joint.name}.drive.{key} = {address} is already used by {taken[address]}; "
                f"each drive on a bus needs its own {key}"
            )
        taken[address] = joint.name
