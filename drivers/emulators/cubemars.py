"""CubeMars AK motors on a CAN bus, with the simulated arm behind them.

Written only from the AK manual's "MIT mode". This module packs and unpacks frames itself and uses
none of the driver's code.
"""

from collections.abc import Sequence
from typing import Any

from stribeck.drivers.emulators.body import Drive
from stribeck.drivers.emulators.can_bus import CanEmulator, Node, Send, published

_PUBLISHED: dict[str, tuple[float, ...]] = {
    "AK10-9": (12.5, 50.0, 65.0),
    "AK60-6": (12.5, 45.0, 15.0),
    "AK70-10": (12.5, 50.0, 25.0),
    "AK80-6": (12.5, 76.0, 12.0),
    "AK80-8": (12.5, 37.5, 32.0),
    "AK80-9": (12.5, 50.0, 18.0),
    "AK80-64": (12.5, 8.0, 144.0),
}
_BOOT = 0.3  # s after a reset in which a motor receives nothing
_HOT = 1  # error code of an overheated motor
# the emulator's own command: these bytes and an error code cause this fault of the motor
_FAULT = b"\xff\0\xff\0\xff\0\xff"


class Motor(Node):
    """One motor in rest mode or motor mode."""

    usual_fault = _HOT

    def __init__(self, drive: Drive, send: Send) -> None:
        keys: dict[str, Any] = drive.table.drive
        self.drive, self._send, self.id = drive, send, int(keys["id"])
        self._spans = (
            tuple(keys["ranges"]) if "ranges" in keys else published(_PUBLISHED, keys["motor"])
        )
        self._turn = drive.table.direction / keys.get("gear", 1.0)
        self.boot()
        self._awake = 0.0

    def boot(self) -> None:
        """Start in rest mode, without a set-point."""
        self.on, self.error, self._awake = False, 0, self.drive.clock.now() + _BOOT
        self._told: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0, 0.0)

    def fault(self, code: int) -> None:
        """Enter a fault, which switches power off."""
        self.error, self.on = code, False

    def receive(self, identifier: int, data: bytes) -> None:
        """Take a frame; every frame for this motor is answered."""
        if (
            identifier != self.id
            or len(data) != 8
            or self.silent
            or self.drive.clock.now() < self._awake
        ):
            return
        if data[:7] == _FAULT:
            self.fault(data[7])
        elif data == b"\xff" * 7 + b"\xfc":
            self.on = not self.error
        elif data == b"\xff" * 7 + b"\xfd":
            self.on, self.error = False, 0
        elif self.on:  # in rest mode set-points are answered and ignored
            self._told = self._unpacked(data)
        self.tick()
        self._reply()

    def tick(self) -> None:
        """Set the power of the joint according to the mode."""
        self.drive.loop = self._torque
        if self.on:
            self.drive.power = "torque"
        else:
            self.drive.let_go()

    def _torque(self, q: float, dq: float) -> float:
        """Return the torque of stiffness and damping at the joint, within the motor's range;
        q and dq are at the joint.
        """
        p, v, kp, kd, torque = self._told
        wanted = (
            kp * (p - (q - self.drive.table.zero_offset) / self._turn)
            + kd * (v - dq / self._turn)
            + torque
        )
        return max(-self._spans[2], min(self._spans[2], wanted)) / self._turn

    def _unpacked(self, data: bytes) -> tuple[float, ...]:
        p, v, t = self._spans
        fields = (
            data[0] << 8 | data[1],
            data[2] << 4 | data[3] >> 4,
            (data[3] & 15) << 8 | data[4],
            data[5] << 4 | data[6] >> 4,
            (data[6] & 15) << 8 | data[7],
        )
        ends = ((-p, p, 65535), (-v, v, 4095), (0.0, 500.0, 4095), (0.0, 5.0, 4095), (-t, t, 4095))
        return tuple(
            counts * (high - low) / most + low
            for counts, (low, high, most) in zip(fields, ends, strict=True)
        )

    def _reply(self) -> None:
        drive = self.drive
        values = (
            (drive.q - drive.table.zero_offset) / self._turn,
            drive.dq / self._turn,
            drive.tau * self._turn,
        )
        p, v, t = (
            int((max(-span, min(span, value)) + span) * most / (2.0 * span))
            for value, span, most in zip(values, self._spans, (65535, 4095, 4095), strict=True)
        )
        self._send(
            0,
            bytes(
                [
                    self.id,
                    p >> 8,
                    p & 0xFF,
                    v >> 4,
                    (v & 15) << 4 | t >> 8,
                    t & 0xFF,
                    75,
                    self.error,
                ]
            ),
        )


class Emulator(CanEmulator):
    """AK motors, which measure when they receive a frame."""

    loops = True

    def nodes(self, drives: Sequence[Drive], send: Send) -> Sequence[Motor]:
        """Make a motor for each drive."""
        return [Motor(drive, send) for drive in drives]
