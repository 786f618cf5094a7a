"""Codec of MIT frames of Damiao and CubeMars AK motors: bytes on one side, SI at the motor's
output shaft on the other.

Pure functions. Fields of 12 and 16 bits span ranges that differ from motor to motor; a wrong range
gives wrong values without any error. Layouts are those of the CubeMars AK manual V1.0.8, section
5.3, and of Damiao's DM-J43 manual; registers are those of the latter.
"""

import struct
from dataclasses import dataclass

import numpy as np

from stribeck.drivers.errors import DriverError

ENABLE, DISABLE, CLEAR = (b"\xff" * 7 + bytes([last]) for last in (0xFC, 0xFD, 0xFB))
_MOST_KP, _MOST_KD = 500.0, 5.0  # N·m/rad, N·m·s/rad

# Damiao
# identifiers of velocity frames (plus the motor's id) and of questions
VELOCITY, SERVICE = 0x200, 0x7FF
READ, WRITE, STATE = 0x33, 0x55, 0xCC  # kinds of questions
ACCELERATION, DECELERATION, MAX_SPEED, REPLY_ID, MOTOR_ID, TIMEOUT, MODE, FIRMWARE, GEAR = (
    4,
    5,
    6,
    7,
    8,
    9,
    10,
    14,
    20,
)
RANGES = (21, 22, 23)  # PMAX, VMAX, TMAX
TICK = 50e-6  # s, unit of TIMEOUT
VELOCITY_MODE = 3
ENABLED = 1
# registers that hold uint32; the others hold float32
_WHOLE = frozenset({7, 8, 9, 10, 13, 14, 15, 16, 35, 36})
_STATUS = {
    0: "disabled",
    1: "enabled",
    5: "sensor",
    6: "parameters",
    8: "overvoltage",
    9: "undervoltage",
    10: "overcurrent",
    11: "temperature of the drive",
    12: "temperature of the motor",
    13: "communication lost",
    14: "overload",
}
_AK_ERRORS = {
    0: "no fault",
    1: "temperature of the motor",
    2: "overcurrent",
    3: "overvoltage",
    4: "undervoltage",
    5: "encoder",
    6: "temperature of the drive",
    7: "rotor locked",
}


@dataclass(frozen=True)
class Ranges:
    """Values of full fields at the motor's output shaft [rad, rad/s, N·m]."""

    position: float
    velocity: float
    torque: float


# published by the makers; for motors with registers, the ranges in the registers count
DAMIAO = {
    "DM3507": Ranges(12.566, 50.0, 5.0),
    "DM4310": Ranges(12.5, 30.0, 10.0),
    "DM4310P": Ranges(12.5, 50.0, 10.0),
    "DM4340": Ranges(12.5, 10.0, 28.0),
    "DM4340P": Ranges(12.5, 10.0, 28.0),
    "DM6006": Ranges(12.5, 45.0, 20.0),
    "DM8006": Ranges(12.5, 45.0, 40.0),
    "DM8009": Ranges(12.5, 45.0, 54.0),
    "DM10010": Ranges(12.5, 20.0, 200.0),
    "DM10010L": Ranges(12.5, 25.0, 200.0),
}
CUBEMARS = {
    "AK10-9": Ranges(12.5, 50.0, 65.0),
    "AK60-6": Ranges(12.5, 45.0, 15.0),
    "AK70-10": Ranges(12.5, 50.0, 25.0),
    "AK80-6": Ranges(12.5, 76.0, 12.0),
    "AK80-9": Ranges(12.5, 50.0, 18.0),
    "AK80-64": Ranges(12.5, 8.0, 144.0),
    "AK80-8": Ranges(12.5, 37.5, 32.0),
}


@dataclass(frozen=True)
class State:
    """A reply: motor, status, raw counts, and temperature [°C], nan if the
    frame has no temperature.
    """

    motor: int
    status: int
    position: int
    velocity: int
    torque: int
    temperature: float

    def si(self, ranges: Ranges) -> tuple[float, float, float]:
        """Position, velocity, torque at the motor's output shaft."""
        return (
            _value(self.position, ranges.position, 16),
            _value(self.velocity, ranges.velocity, 12),
            _value(self.torque, ranges.torque, 12),
        )


def step(span: float, bits: int) -> float:
    """Value of one count in a field that spans -span ... span."""
    return 2.0 * span / (2**bits - 1)


def _value(counts: int, span: float, bits: int) -> float:
    return counts * step(span, bits) - span


def _counts(value: float, low: float, high: float, bits: int, what: str) -> int:
    if not low <= value <= high:
        raise DriverError(
            f"a {what} of {value:.4g} does not fit its field of the frame, {low:g} ... {high:g}; "
            "check motor or ranges, and gear, in the arm file"
        )
    # truncated, as in the makers' code
    return int((value - low) * (2**bits - 1) / (high - low))


def pack_command(
    ranges: Ranges, position: float, velocity: float, kp: float, kd: float, torque: float
) -> bytes:
    """MIT frame: motor torque = kp (position - q) + kd (velocity - dq) + torque, at
    the motor's output shaft.

    Raises
    ------
    DriverError
        If a field cannot hold its value.
    """
    fields = (
        _counts(position, -ranges.position, ranges.position, 16, "position"),
        _counts(velocity, -ranges.velocity, ranges.velocity, 12, "velocity"),
        _counts(kp, 0.0, _MOST_KP, 12, "kp"),
        _counts(kd, 0.0, _MOST_KD, 12, "kd"),
        _counts(torque, -ranges.torque, ranges.torque, 12, "torque"),
    )
    word = 0
    for counts, bits in zip(fields, (16, 12, 12, 12, 12), strict=True):
        word = word << bits | counts
    return word.to_bytes(8, "big")


def pack_velocity(velocity: float) -> bytes:
    """Damiao's velocity frame: float32 rad/s at the output shaft."""
    return struct.pack("<f4x", velocity)


def unpack_damiao(data: bytes) -> State | None:
    """State of a Damiao motor, with the rotor's temperature; None if the length does not fit."""
    if len(data) != 8:
        return None
    return State(data[0] & 0x0F, data[0] >> 4, *_fields(data), temperature=float(data[7]))


def unpack_cubemars(data: bytes) -> State | None:
    """State of an AK motor from 6 bytes (old firmware) or 8; its status is the error code. None
    if the length does not fit.
    """
    if len(data) not in (6, 8):
        return None
    late = len(data) == 8
    return State(
        data[0],
        data[7] if late else 0,
        *_fields(data),
        temperature=data[6] - 40.0 if late else np.nan,
    )


def _fields(data: bytes) -> tuple[int, int, int]:
    """Position, velocity and torque in bytes 1 to 5."""
    return data[1] << 8 | data[2], data[3] << 4 | data[4] >> 4, (data[4] & 0x0F) << 8 | data[5]


def damiao_words(status: int) -> str:
    """Damiao's status nibble in words."""
    return _STATUS.get(status, f"status {status}")


def cubemars_words(error: int) -> str:
    """The error code of an AK motor in words."""
    return _AK_ERRORS.get(error, f"error {error}")


def pack_question(motor: int, what: int, register: int = 0, value: float | None = None) -> bytes:
    """Damiao's question that reads or writes a register, or asks for the state."""
    data = bytes(4) if value is None else struct.pack("<I" if register in _WHOLE else "<f", value)
    return struct.pack("<HBB", motor, what, register) + data


def unpack_register(motor: int, data: bytes) -> tuple[int, float] | None:
    """Register and value of an answer; None if the frame is not an answer.

    Answers have the identifier of states. They look like a state with status 0 and a
    position within 256 counts of the lower end of its range, so a joint must not use
    these positions (`LOWEST`).
    """
    if len(data) != 8 or data[:2] != struct.pack("<H", motor) or data[2] not in (READ, WRITE):
        return None
    value: float = struct.unpack_from("<I" if data[3] in _WHOLE else "<f", data, 4)[0]
    return data[3], value


LOWEST = 256  # counts of position below which a state cannot be told from an answer
