"""Codec of ODrive's CAN Simple, firmware 0.6: bytes on one side, revolutions and N·m at the motor
on the other. Pure functions.

Messages are those of ODrive's manual ("CAN Protocol") and of its DBC file.
"""

import struct

VERSION, HEARTBEAT, ERROR, RX_SDO, TX_SDO, STATE = 0x00, 0x01, 0x03, 0x04, 0x05, 0x07
ENCODER, MODE, VELOCITY, TEMPERATURE, CLEAR, TORQUES = 0x09, 0x0B, 0x0D, 0x15, 0x18, 0x1C
IDLE, CLOSED_LOOP = 1, 8  # axis states
VELOCITY_CONTROL, PASSTHROUGH = 2, 1  # control mode, input mode
_READ, _WRITE = 0, 1

_ERRORS = {
    0: "initializing",
    1: "system level",
    2: "timing",
    3: "missing estimate",
    4: "bad config",
    5: "driver fault",
    6: "missing input",
    8: "bus overvoltage",
    9: "bus undervoltage",
    10: "bus overcurrent",
    11: "regenerated overcurrent",
    12: "current limit",
    13: "motor temperature",
    14: "inverter temperature",
    15: "velocity limit",
    16: "position limit",
    24: "watchdog expired",
    25: "e-stop requested",
    26: "spinout",
    27: "brake resistor disarmed",
    28: "thermistor",
    30: "calibration",
}
_STATES = {
    0: "undefined",
    1: "idle",
    2: "startup",
    3: "calibration",
    4: "calibration",
    6: "calibration",
    7: "calibration",
    8: "closed loop",
    9: "lockin spin",
    10: "calibration",
    11: "homing",
    12: "calibration",
    13: "calibration",
    14: "calibration",
}


def identifier(node: int, command: int) -> int:
    """Node in the upper six bits, command in the lower five."""
    return node << 5 | command


def error_words(error: int) -> str:
    """Names of the bits of an error word."""
    return (
        ", ".join(_ERRORS.get(bit, f"error bit {bit}") for bit in range(32) if error >> bit & 1)
        or "no error"
    )


def state_words(state: int) -> str:
    """An axis state in words."""
    return _STATES.get(state, f"state {state}")


def pack_state(state: int) -> bytes:
    """Set_Axis_State, padded to eight bytes, since some peers refuse four."""
    return struct.pack("<I4x", state)


def pack_mode(control: int, inputs: int) -> bytes:
    """Set_Controller_Mode."""
    return struct.pack("<II", control, inputs)


def pack_velocity(velocity: float, torque: float = 0.0) -> bytes:
    """Set_Input_Vel: velocity [rev/s] and feed-forward torque [N·m]."""
    return struct.pack("<ff", velocity, torque)


def pack_sdo(endpoint: int, form: str, value: float | None = None) -> bytes:
    """RxSdo: read an endpoint, or write `value` to it; `form` is a type of
    `struct` ("f", "B", "?").
    """
    data = (
        bytes(4) if value is None else struct.pack("<" + form, value if form == "f" else int(value))
    )
    return struct.pack("<BHB", _READ if value is None else _WRITE, endpoint, 0) + data.ljust(
        4, b"\0"
    )


def unpack_sdo(data: bytes, form: str) -> float | None:
    """Value in a TxSdo; None if the frame is too short. `sdo_endpoint` gives its endpoint."""
    size = struct.calcsize("<" + form)
    return float(struct.unpack_from("<" + form, data, 4)[0]) if len(data) >= 4 + size else None


def sdo_endpoint(data: bytes) -> int | None:
    """Endpoint of a TxSdo; None if the frame is too short."""
    return int.from_bytes(data[1:3], "little") if len(data) >= 4 else None


def unpack_version(data: bytes) -> tuple[str, str] | None:
    """Hardware and firmware of Get_Version; None if the length does not fit."""
    if len(data) != 8:
        return None
    return ".".join(map(str, data[1:4])), ".".join(map(str, data[4:7])) + (
        "-dev" if data[7] else ""
    )


def unpack_heartbeat(data: bytes) -> tuple[int, int] | None:
    """Error word and axis state; None if the frame is too short."""
    return struct.unpack_from("<IB", data) if len(data) >= 7 else None


def unpack_error(data: bytes) -> int | None:
    """Active errors and disarm reasons of Get_Error, combined as in the heartbeat; None
    if the length does not fit.
    """
    return (
        int.from_bytes(data[:4], "little") | int.from_bytes(data[4:], "little")
        if len(data) == 8
        else None
    )


def unpack_pair(data: bytes) -> tuple[float, float] | None:
    """Two float32: position and velocity [rev, rev/s], torque target and estimate [N·m], inverter
    and motor temperature [°C].
    """
    return struct.unpack("<ff", data) if len(data) == 8 else None
