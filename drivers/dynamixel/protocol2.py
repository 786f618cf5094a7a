"""Codec of Dynamixel X servos over Protocol 2.0: bytes and counts on one side, SI at the joint on
the other. Pure functions.

Registers, units and packet sizes are those of the e-Manual (Protocol 2.0;
control tables of the X series).
"""

import math
import struct
from dataclasses import dataclass
from typing import NamedTuple

from stribeck.drivers.errors import DriverError

# counts per turn of the horn; count of the centred horn
TURN, CENTRE = 4096, 2048
_TURN_STEP = 2.0 * math.pi / TURN
_VELOCITY_STEP = 0.229 * 2.0 * math.pi / 60.0  # rad/s
WATCHDOG_STEP = 0.02  # s
# value of register 98 after the watchdog has stopped the servo
_TRIPPED = -1
# bit of a status packet's error byte: the servo has a hardware error
_ALERT = 0x80

PING, READ, WRITE, REBOOT, STATUS, SYNC_READ, SYNC_WRITE = 0x01, 0x02, 0x03, 0x08, 0x55, 0x82, 0x83
EVERYONE = 0xFE

_ERRORS = {
    1: "the instruction failed",
    2: "unknown instruction",
    3: "damaged instruction",
    4: "value out of range",
    5: "wrong length",
    6: "value beyond a limit",
    7: "no access (read-only, or locked while powered)",
}
_HARDWARE = {
    0: "input voltage",
    2: "overheating",
    3: "motor encoder",
    4: "electrical shock or too little power",
    5: "overload",
}


class Register(NamedTuple):
    """An item of the control table: address, size in bytes, and whether its value is signed."""

    address: int
    size: int
    signed: bool = False

    def pack(self, value: int) -> bytes:
        """Bytes of a value."""
        return value.to_bytes(self.size, "little", signed=self.signed)

    def unpack(self, data: bytes) -> int:
        """Value of bytes; it may be negative if the item is signed."""
        return int.from_bytes(data[: self.size], "little", signed=self.signed)


MODEL_NUMBER, FIRMWARE = Register(0, 2), Register(6, 1)
SECONDARY_ID = Register(12, 1)
RETURN_DELAY, DRIVE_MODE, OPERATING_MODE = Register(9, 1), Register(10, 1), Register(11, 1)
CURRENT_LIMIT, VELOCITY_LIMIT = Register(38, 2), Register(44, 4)
TORQUE_ENABLE, STATUS_RETURN, HARDWARE_ERROR = Register(64, 1), Register(68, 1), Register(70, 1)
WATCHDOG, GOAL_CURRENT = Register(98, 1, True), Register(102, 2, True)
PROFILE_ACCELERATION, PROFILE_VELOCITY, GOAL_POSITION = (
    Register(108, 4),
    Register(112, 4),
    Register(116, 4, True),
)
PRESENT_CURRENT, PRESENT_VELOCITY, PRESENT_POSITION = (
    Register(126, 2, True),
    Register(128, 4, True),
    Register(132, 4, True),
)
VOLTAGE, TEMPERATURE = Register(144, 2), Register(146, 1)
_INDIRECT_ADDRESS, _INDIRECT_DATA = 168, 224

# bits of the drive mode: reversed counts; register 112 is a duration in ms
REVERSE, TIME_BASED = 0x01, 0x04
LAST_ID = 252
# operating mode: extended position, current-based position
MODES = {"position": 4, "current-based": 5}

# Items of one Sync Read: the ten bytes of current, velocity and position, with power, errors and
# watchdog between them. In this order the bytes FF FF FD cannot occur twice: dynamixel-sdk loses
# bytes of packets with two stuffing bytes.
_STATE = (
    PRESENT_CURRENT,
    TORQUE_ENABLE,
    PRESENT_VELOCITY,
    HARDWARE_ERROR,
    PRESENT_POSITION,
    WATCHDOG,
    TEMPERATURE,
)
_STATE_FORM = struct.Struct("<hBiBibB")
INDIRECT = Register(_INDIRECT_ADDRESS, 2 * _STATE_FORM.size)
STATE = Register(_INDIRECT_DATA, _STATE_FORM.size)


def indirect_addresses() -> int:
    """Return the value of register `INDIRECT` with which `STATE` holds the items
    that `unpack_state` expects.
    """
    places = [item.address + k for item in _STATE for k in range(item.size)]
    return int.from_bytes(struct.pack(f"<{len(places)}H", *places), "little")


def packet(servo: int, instruction: int, parameters: bytes = b"") -> list[int]:
    """Return an instruction packet for dynamixel-sdk's `txPacket`, which adds stuffing and CRC."""
    return [
        0xFF,
        0xFF,
        0xFD,
        0x00,
        servo,
        *(len(parameters) + 3).to_bytes(2, "little"),
        instruction,
        *parameters,
        0,
        0,
    ]


def read_request(item: Register) -> bytes:
    """Return the parameters of Read, which are also the first parameters of
    Sync Read and Sync Write.
    """
    return struct.pack("<HH", item.address, item.size)


def write_request(item: Register, value: int) -> bytes:
    """Return the parameters of Write."""
    return struct.pack("<H", item.address) + item.pack(value)


class Reply(NamedTuple):
    """A status packet."""

    servo: int
    error: int
    data: bytes


def unpack_reply(packet: list[int]) -> Reply | None:
    """Return the reply in a packet of dynamixel-sdk's `rxPacket`, which checks the
    CRC and removes stuffing.

    None if the packet is no status packet. The library does not shorten a packet after removing
    stuffing, and does not compare lengths, so the length is checked here.
    """
    if len(packet) < 11 or packet[7] != STATUS:
        return None
    end = 7 + (packet[5] | packet[6] << 8) - 2
    return (
        Reply(packet[4], packet[8], bytes(packet[9:end])) if 9 <= end <= len(packet) - 2 else None
    )


class State(NamedTuple):
    """A servo's own values."""

    current: int
    torque_enable: int
    velocity: int
    hardware_error: int
    position: int
    watchdog: int
    temperature: int

    @property
    def tripped(self) -> bool:
        """Whether the watchdog has stopped the servo."""
        return self.watchdog == _TRIPPED

    @property
    def word(self) -> int:
        """Power, trip and hardware error in one number, for the record:
        bit 0, bit 1, bits 8 to 15.
        """
        return self.torque_enable & 1 | self.tripped << 1 | self.hardware_error << 8


def unpack_state(data: bytes) -> State | None:
    """Values of a Sync Read of `STATE`; None if the length does not fit."""
    return State(*_STATE_FORM.unpack(data)) if len(data) == STATE.size else None


def error_words(error: int) -> str:
    """The error byte of a status packet in words, without the alert; empty if there is no error."""
    number = error & ~_ALERT
    return _ERRORS.get(number, f"error {number}") if number else ""


def alert(error: int) -> bool:
    """Whether the error byte of a status packet reports a hardware error."""
    return bool(error & _ALERT)


def hardware_words(error: int) -> str:
    """Register 70 in words; empty if there is no error."""
    words = [name for bit, name in _HARDWARE.items() if error >> bit & 1]
    return ", ".join(words) if words or not error else f"hardware error 0x{error:02X}"


def sync_write_bytes(servos: int, size: int) -> int:
    """Bytes on the wire of a Sync Write with `size` bytes for each of `servos` servos."""
    return 14 + servos * (1 + size)


def sync_read_bytes(servos: int, size: int) -> int:
    """Bytes on the wire of a Sync Read of `size` bytes from each of `servos`
    servos, including the replies.
    """
    return 14 + servos + servos * (11 + size)


@dataclass(frozen=True)
class Model:
    """Data of a servo's model from the e-Manual.

    Attributes
    ----------
    number : int
        Model number, in register 0.
    current_step : float
        Current of one count of Present Current [A].
    torque_constant : float
        Torque at the horn per current [N·m/A]: stall torque over stall current at the usual supply,
        including losses at stall.
    most_current : int
        Largest value of Current Limit.
    """

    number: int
    current_step: float
    torque_constant: float
    most_current: int


MODELS = {
    "XM430-W210": Model(1030, 2.69e-3, 3.0 / 2.3, 1193),
    "XM430-W350": Model(1020, 2.69e-3, 4.1 / 2.3, 1193),
    "XM540-W150": Model(1130, 2.69e-3, 7.3 / 4.4, 2047),
    "XM540-W270": Model(1120, 2.69e-3, 10.6 / 4.4, 2047),
    "XH430-W210": Model(1010, 2.69e-3, 2.5 / 1.3, 648),
    "XH430-W350": Model(1000, 2.69e-3, 3.4 / 1.3, 648),
    "XH430-V210": Model(1050, 1.34e-3, 2.6 / 0.7, 689),
    "XH430-V350": Model(1040, 1.34e-3, 3.3 / 0.7, 689),
    "XH540-W150": Model(1110, 2.69e-3, 7.1 / 4.9, 2047),
    "XH540-W270": Model(1100, 2.69e-3, 9.9 / 4.9, 2047),
    "XW540-T140": Model(1180, 2.69e-3, 6.9 / 4.9, 2047),
    "XW540-T260": Model(1170, 2.69e-3, 9.5 / 4.9, 2047),
}
# series that report no torque, and the quantity that they report instead
NO_TORQUE = {
    "XL430": "a load estimated from its controller's output",
    "XC430": "a load estimated from its controller's output",
    "2XL430": "a load estimated from its controller's output",
    "2XC430": "a load estimated from its controller's output",
    "XL330": "its supply current",
    "XC330": "its supply current",
}
MOST_VELOCITY = 1023  # largest value of Velocity Limit


@dataclass(frozen=True)
class Scale:
    """Scale between a servo's counts and the joint.

    Attributes
    ----------
    position, velocity, torque : float
        Value of one count at the joint [rad, rad/s, N·m], signed by the drive's direction.
    zero : float
        Joint position at the centred horn.
    """

    position: float
    velocity: float
    torque: float
    zero: float = 0.0

    @classmethod
    def of(
        cls,
        current_step: float,
        torque_constant: float,
        reduction: float,
        direction: int,
        zero: float,
    ) -> "Scale":
        """Make the scale from A per count, N·m at the horn per A, and turns of the
        horn per turn of the joint.
        """
        turn = direction / reduction
        return cls(
            turn * _TURN_STEP,
            turn * _VELOCITY_STEP,
            direction * current_step * torque_constant * reduction,
            zero,
        )

    def joint(self, state: State) -> tuple[float, float, float]:
        """Position [rad], velocity [rad/s] and torque [N·m] at the joint."""
        return (
            (state.position - CENTRE) * self.position + self.zero,
            state.velocity * self.velocity,
            state.current * self.torque,
        )

    def goal(self, position: float) -> int:
        """Return the goal position nearest to a joint position.

        Raises
        ------
        DriverError
            If the position is beyond the 256 turns that the servo counts.
        """
        exact = (position - self.zero) / self.position + CENTRE
        if not abs(exact) <= 256 * TURN - 1:
            raise DriverError(
                f"a position of {position:.4g} is {exact / TURN:.4g} turns of the horn, more than "
                "the 256 that the servo counts; check reduction and zero_offset"
            )
        return round(exact)
