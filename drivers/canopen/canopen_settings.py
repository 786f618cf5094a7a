"""Objects that are written to a CiA 402 drive before it gets power: limits, stop reactions,
watchdog, mode, PDO mapping.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from stribeck.drivers.canopen import cia402
from stribeck.drivers.canopen.canopen_keys import DriveConfig
from stribeck.drivers.errors import DriverError
from stribeck.ident.errors import InputError

# 0x605A: slow down on the quick-stop ramp, then stay powered, or leave the joint to its brake
_HOLD, _LET_BRAKE = 6, 2
_QUICK_STOP = 3  # 0x6007: reaction to a lost connection
_TORQUE_RISE = 0.01  # s to full torque in profile torque mode
_OFF = 0x80000000  # bit that switches a PDO off
_EVERY_SYNC, _AT_ONCE = 1, 255  # transmission types of PDOs: at each SYNC, or immediately
_NO_RTR = 0x40000000  # some devices set this bit by themselves


@dataclass(frozen=True)
class Setting:
    """One object to write and to read back.

    `what` is its purpose, for messages. `needed` says whether a drive without the object is
    refused. `least` is the smallest meaningful value of an unsigned object.
    """

    index: int
    sub: int
    form: str
    value: int
    what: str = ""
    needed: bool = True
    least: int = 0

    def confirmed_by(self, found: int | None) -> bool:
        """Whether the value that was read back is the value that was written."""
        same = found == self.value
        if (
            0x1400 <= self.index < 0x1A00
            and self.sub == 1
            and not 0x1600 <= self.index < 0x1800
            and found is not None
        ):
            same = found & ~_NO_RTR == self.value & ~_NO_RTR
        return same


# objects that move a drive: its target velocity, and offsets to velocity and torque, which
# another program may have left
AT_REST = (
    Setting(0x60FF, 0, "<i", 0, "target velocity"),
    Setting(0x60B1, 0, "<i", 0, "velocity offset", False),
    Setting(0x60B2, 0, "<h", 0, "torque offset", False),
)
WATCHDOG_OFF = Setting(0x1016, 1, "<I", 0, "watchdog", False)
# objects by which a drive stops when the computer falls silent
WATCHDOG = frozenset({(0x1016, 1), (0x6007, 0)})


def settings(config: DriveConfig) -> Iterator[Setting]:
    """Yield the settings to write before a drive gets power, in order. The
    limits are those of the joint.
    """
    keys, joint, scale = config.keys, config.joint, config.scale
    speed, torque = abs(joint.velocity / scale.velocity), abs(joint.torque / scale.torque)
    ramp = round(
        abs(joint.acceleration / scale.velocity)
        * config.acceleration_counts
        / config.velocity_counts
    )
    low, high = sorted(scale.counts(end, "position", 32) for end in joint.position)
    watchdog = round(1000.0 * keys.watchdog)
    yield from AT_REST
    yield Setting(0x6007, 0, "<h", _QUICK_STOP, "reaction to a lost connection", False)
    yield Setting(0x1016, 1, "<I", keys.host << 16 | watchdog, "watchdog", False)
    yield (
        Setting(0x605A, 0, "<h", _HOLD, "quick stop that holds")
        if joint.falls
        else Setting(0x605A, 0, "<h", _LET_BRAKE, "quick stop that ends in the brake")
    )
    yield Setting(0x6085, 0, "<I", ramp, "quick-stop deceleration", least=1)
    yield Setting(0x6083, 0, "<I", ramp, "acceleration", keys.profile == "pv", least=1)
    yield Setting(0x6084, 0, "<I", ramp, "deceleration", keys.profile == "pv", least=1)
    yield Setting(0x6072, 0, "<H", round(torque), "torque limit", least=1)
    # slope of torque at a quick stop; in profile torque mode steeper than our own ramps
    if config.has_torque_mode:
        yield Setting(0x6087, 0, "<I", round(torque / _TORQUE_RISE), "torque slope", False)
    yield Setting(0x607D, 1, "<i", low, "lower position limit", False)
    yield Setting(0x607D, 2, "<i", high, "upper position limit", False)
    yield Setting(0x607F, 0, "<I", round(speed), "velocity limit", False, least=1)
    yield Setting(0x6060, 0, "<b", config.velocity_mode, "mode")
    if keys.profile == "csv":  # time between set-points, which some drives need
        tenths = round(1e4 / keys.rate)
        whole = tenths % 10 == 0
        yield Setting(
            0x60C2,
            1,
            "<B",
            min(tenths // 10 if whole else tenths, 255),
            "interpolation period",
            False,
        )
        yield Setting(0x60C2, 2, "<b", -3 if whole else -4, "interpolation period", False)
    yield from _all_pdos(config.drive.node, config.has_torque_mode)


def _all_pdos(node: int, torque: bool) -> Iterator[Setting]:
    """Yield the PDO settings: set-points, state and velocity at each SYNC, controlwords
    immediately; other PDOs are off.
    """
    state = cia402.mapping((0x6041, 16), (0x6064, 32), (0x6077, 16))
    velocity, mode = cia402.mapping((0x606C, 32)), cia402.mapping((0x6061, 8))
    target, torque_target = cia402.mapping((0x60FF, 32)), cia402.mapping((0x6071, 16), (0x6060, 8))
    yield from _pdo(0x1400, cia402.RPDO[0] + node, target + torque_target * torque)
    yield from _pdo(0x1401, cia402.RPDO[1] + node, cia402.mapping((0x6040, 16)), kind=_AT_ONCE)
    yield from _pdo(0x1800, cia402.TPDO[0] + node, state)
    yield from _pdo(0x1801, cia402.TPDO[1] + node, velocity + mode * torque)
    for k in (2, 3):
        yield from _pdo(0x1400 + k, cia402.RPDO[k] + node, [], False)
        yield from _pdo(0x1800 + k, cia402.TPDO[k] + node, [], False)


def _pdo(
    index: int, identifier: int, entries: list[int], needed: bool = True, kind: int = _EVERY_SYNC
) -> Iterator[Setting]:
    """Yield the settings of one PDO: switch it off, map it, switch it on;
    without entries it stays off.
    """
    what = f"PDO 0x{index:04X}"
    yield Setting(index, 1, "<I", _OFF | identifier, what, needed and bool(entries))
    if entries:
        yield Setting(index, 2, "<B", kind, what)
        yield Setting(index + 0x200, 0, "<B", 0, what)
        for k, entry in enumerate(entries, 1):
            yield Setting(index + 0x200, k, "<I", entry, what)
        yield Setting(index + 0x200, 0, "<B", len(entries), what)
        yield Setting(index, 1, "<I", identifier, what)


def refuse_unheld_settings(config: DriveConfig) -> None:
    """Refuse settings that the drive's objects cannot hold, and limits that are zero counts.

    Raises
    ------
    InputError
        If a setting does not fit; the message has the setting, its counts
        and the range of its object.
    """
    name = config.joint.name
    try:
        told = list(settings(config))
    except DriverError as error:
        raise InputError(f"joints.{name}: {error}") from error
    for setting in told:
        bits, signed = 8 * struct.calcsize(setting.form), setting.form[-1].islower()
        most = 2 ** (bits - signed) - 1
        least = -most - 1 if signed else setting.least
        if not least <= setting.value <= most:
            raise InputError(
                f"joints.{name}: the {setting.what} is {setting.value} counts, but object "
                f"0x{setting.index:04X} of the drive holds {least} to {most} only; correct the "
                "joint's limits, gear_ratio, position_counts, velocity_counts or rated_torque"
            )
