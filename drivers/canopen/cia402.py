"""Codec of CiA 402 over CANopen: bytes and counts on one side, SI at the joint on
the other. Pure functions.

Objects and states are those of CiA 402-2 (IEC 61800-7-201). PDO, SYNC and heartbeat
identifiers are those of CiA 301.
"""

import math
import struct
from dataclasses import dataclass

from stribeck.drivers.errors import DriverError

SYNC, HEARTBEAT, EMERGENCY, SDO = 0x080, 0x700, 0x080, 0x600
TPDO, RPDO = (0x180, 0x280, 0x380, 0x480), (0x200, 0x300, 0x400, 0x500)
OPERATIONAL = 0x05

# mask and value of the statusword for each state: bits 0-3, 5 and 6; the first
# four states ignore bit 5
_STATES = (
    (0x4F, 0x00, "not ready"),
    (0x4F, 0x40, "switch on disabled"),
    (0x4F, 0x0F, "fault reaction"),
    (0x4F, 0x08, "fault"),
    (0x6F, 0x21, "ready to switch on"),
    (0x6F, 0x23, "switched on"),
    (0x6F, 0x27, "operation enabled"),
    (0x6F, 0x07, "quick stop"),
)
FAULTS = ("fault", "fault reaction")  # states that only a fault reset can end
SHUTDOWN, SWITCH_ON, ENABLE_OPERATION, QUICK_STOP, DISABLE_VOLTAGE, FAULT_RESET = (
    0x06,
    0x07,
    0x0F,
    0x02,
    0x00,
    0x80,
)
_TOWARDS_POWER = {
    "switch on disabled": SHUTDOWN,
    "ready to switch on": SWITCH_ON,
    "switched on": ENABLE_OPERATION,
    "quick stop": ENABLE_OPERATION,
}

# values of 0x6060; bit (mode - 1) of 0x6502: the drive has the mode
MODES = {"pv": 3, "tq": 4, "csv": 9, "cst": 10}

# words for error codes of emergency frames and of 0x603F, by their high byte (CiA 301, CiA 402)
_EMERGENCIES = {
    0x81: "communication lost",
    0x80: "monitoring",
    0x22: "current inside the device",
    0x23: "overcurrent",
    0x31: "mains voltage",
    0x32: "voltage inside the device",
    0x42: "temperature of the device",
    0x43: "temperature of the drive",
    0x73: "sensor",
    0x86: "following error",
    0x84: "speed",
    0x83: "torque",
}


# a revolution in the units of 0x60A9 and 0x60AA (CiA 402; codes of CiA 303-2), and a
# second in the units of time
_INCREMENTS = 0xB5
_ANGLES = {
    0xB4: (1.0, "revolutions"),
    0x41: (360.0, "degrees"),
    0x10: (2.0 * math.pi, "radians"),
    _INCREMENTS: (0.0, "increments"),
}
_SPEEDS = {0xC0: (60.0, "revolutions per min")}
_TIMES = {0x03: (1.0, "s"), 0x47: (60.0, "min")}
_TIMES_SQUARED = {0x57: (1.0, "s²")}


def state(statusword: int) -> str:
    """State of the power drive system; "unknown" if the bits fit no state."""
    return next((name for mask, bits, name in _STATES if statusword & mask == bits), "unknown")


def towards_power(state: str) -> int | None:
    """Controlword of the next transition towards "operation enabled"; None if no transition
    leads there, as from a fault.
    """
    return _TOWARDS_POWER.get(state)


def emergency_words(code: int) -> str:
    """An error code (0x603F, emergency frames) in words."""
    words = _EMERGENCIES.get(code >> 8)
    return f"error 0x{code:04X}" + (f" ({words})" if words else "")


@dataclass(frozen=True)
class Scale:
    """Scale between the drive's counts and the joint.

    Attributes
    ----------
    position, velocity, torque : float
        Value of one count at the joint [rad, rad/s, N·m], signed by the drive's direction.
    zero : float
        Joint position at the drive's zero.
    """

    position: float
    velocity: float
    torque: float
    zero: float = 0.0

    @classmethod
    def of(
        cls,
        position_counts: float,
        velocity_counts: float,
        rated_torque: float,
        gear_ratio: float,
        direction: int,
        zero: float,
    ) -> "Scale":
        """Make the scale from counts per motor revolution, counts at one motor revolution per
        second, and N·m at the motor.
        """
        turn = direction * 2.0 * math.pi / gear_ratio
        return cls(
            turn / position_counts,
            turn / velocity_counts,
            direction * rated_torque * gear_ratio / 1000.0,
            zero,
        )

    def joint(self, position: int, torque: int) -> tuple[float, float]:
        """Position [rad] and torque [N·m] at the joint."""
        return position * self.position + self.zero, torque * self.torque

    def counts(self, value: float, quantity: str, bits: int) -> int:
        """Return the counts nearest to a value; quantity is "position", "velocity" or "torque".

        Raises
        ------
        DriverError
            If the drive's field of `bits` bits cannot hold the counts.
        """
        exact = (value - (self.zero if quantity == "position" else 0.0)) / getattr(self, quantity)
        if not abs(exact) < 2 ** (bits - 1) - 1:
            raise DriverError(
                f"a {quantity} of {value:.4g} is {exact:.4g} counts, which do not fit the drive's "
                f"field of {bits} bits; check gear_ratio and the counts in the arm file"
            )
        return round(exact)


def speed_unit(word: int, increments: float) -> tuple[float, str] | None:
    """Return the counts of speed at one revolution per second, and their unit in
    words, from the word in 0x60A9.

    `increments` is the number of position increments per revolution. None if the word is no known
    unit of speed; drives that do not use this object hold zero.
    """
    return _unit(word, _ANGLES, _TIMES, increments)


def acceleration_unit(word: int, increments: float) -> tuple[float, str] | None:
    """Return the counts of acceleration at one revolution per second squared, and their unit, from
    0x60AA; see `speed_unit`.
    """
    return _unit(word, _ANGLES, _TIMES_SQUARED, increments) or _unit(
        word, _SPEEDS, {0x03: _TIMES[0x03]}, increments
    )


def _unit(
    word: int,
    above: dict[int, tuple[float, str]],
    below: dict[int, tuple[float, str]],
    increments: float,
) -> tuple[float, str] | None:
    """Return the counts of one revolution per second (squared) in a unit of angle over a unit of
    time, and the unit in words.
    """
    over, under = word >> 16 & 0xFF, word >> 8 & 0xFF
    if over not in above or under not in below:
        return None
    (turn, unit), (seconds, per) = above[over], below[under]
    power = (word >> 24 ^ 0x80) - 0x80  # signed
    words = f"10^{power} {unit} per {per}" if power else f"{unit} per {per}"
    return (turn or increments) * seconds / 10.0**power, words


def pack_setpoint(velocity: int, torque: int | None = None, mode: int = 0) -> bytes:
    """First RPDO: target velocity 0x60FF and, for drives with torque mode, target
    torque 0x6071 and mode 0x6060.
    """
    return (
        struct.pack("<i", velocity)
        if torque is None
        else struct.pack("<ihb", velocity, torque, mode)
    )


def pack_control_by_sdo(word: int) -> bytes:
    """SDO request that writes a controlword to 0x6040."""
    return struct.pack("<BHBHH", 0x2B, 0x6040, 0, word, 0)


def pack_control(controlword: int) -> bytes:
    """Second RPDO, sent for transitions only: controlword 0x6040."""
    return struct.pack("<H", controlword)


def unpack_state(data: bytes) -> tuple[int, int, int] | None:
    """First TPDO: statusword 0x6041, position 0x6064, torque 0x6077; None
    if the length does not fit.
    """
    return struct.unpack("<Hih", data) if len(data) == 8 else None


def unpack_velocity(data: bytes) -> tuple[int, int | None] | None:
    """Second TPDO: velocity 0x606C, and mode 0x6061 or None if it is not mapped; None
    if the length does not fit.
    """
    if len(data) not in (4, 5):
        return None
    return struct.unpack_from("<i", data)[0], struct.unpack_from("<b", data, 4)[0] if len(
        data
    ) == 5 else None


def mapping(*objects: tuple[int, int]) -> list[int]:
    """Entries of a PDO mapping from (index, bits)."""
    return [index << 16 | bits for index, bits in objects]
