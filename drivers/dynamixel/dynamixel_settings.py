"""Items that are written to a Dynamixel servo before it gets power: mode, limits, profile,
watchdog, indirect addresses.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from stribeck.drivers.dynamixel import protocol2 as dxl
from stribeck.drivers.dynamixel.dynamixel_keys import DynamixelKeys, ServoConfig
from stribeck.drivers.dynamixel.protocol2 import Register


@dataclass(frozen=True)
class Setting:
    """One item to write and to read back. Items of the EEPROM, below Torque Enable, are locked
    while the servo is powered.
    """

    item: Register
    value: int
    what: str

    @property
    def locked(self) -> bool:
        """Whether the item can be written only while the servo has no power."""
        return self.item.address < dxl.TORQUE_ENABLE.address or self.item is dxl.INDIRECT


WATCHDOG_OFF = Setting(dxl.WATCHDOG, 0, "watchdog")


def settings(config: ServoConfig) -> Iterator[Setting]:
    """Yield the settings to write before a servo gets power, in order. The
    limits are those of the joint.
    """
    joint, scale = config.joint, config.scale
    # some 24 rad/s, faster than any servo
    speed = min(math.ceil(abs(joint.velocity / scale.velocity)), dxl.MOST_VELOCITY)
    # first: at level 1 a servo answers no other write
    yield Setting(dxl.STATUS_RETURN, 2, "status return level")
    yield Setting(dxl.RETURN_DELAY, 0, "return delay")
    yield Setting(dxl.DRIVE_MODE, dxl.TIME_BASED, "drive mode")
    yield Setting(dxl.OPERATING_MODE, dxl.MODES[config.keys.profile], "operating mode")
    yield Setting(dxl.VELOCITY_LIMIT, speed, "velocity limit")
    yield Setting(dxl.CURRENT_LIMIT, _most_current(config), "current limit")
    yield Setting(dxl.INDIRECT, dxl.indirect_addresses(), "indirect addresses")
    yield from torque_limit(config)


def torque_limit(config: ServoConfig) -> Iterator[Setting]:
    """Yield Goal Current, which sets the torque limit in "current-based" mode; a change
    of mode resets this item.
    """
    if config.keys.profile == "current-based":
        yield Setting(dxl.GOAL_CURRENT, _most_current(config), "torque limit")


def _most_current(config: ServoConfig) -> int:
    """Return the current counts of the joint's torque limit, at most the model's limit."""
    return min(math.ceil(abs(config.joint.torque / config.scale.torque)), config.model.most_current)


def profile(keys: DynamixelKeys) -> tuple[Setting, Setting]:
    """Return the settings of the profile, in ms; a change of mode and a
    tripped watchdog reset them.
    """
    return (
        Setting(dxl.PROFILE_ACCELERATION, 0, "profile acceleration"),
        Setting(dxl.PROFILE_VELOCITY, round(1000.0 * keys.span), "profile time"),
    )


def watchdog(keys: DynamixelKeys) -> Setting:
    """Return the setting of the watchdog: the time without a packet after which
    the servo stops by itself.
    """
    return Setting(dxl.WATCHDOG, round(keys.watchdog / dxl.WATCHDOG_STEP), "watchdog")
