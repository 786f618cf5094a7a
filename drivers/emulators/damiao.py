"""Damiao motors on a CAN bus, with the simulated arm behind them.

Written only from the published frames, registers and status codes. This module packs and unpacks
frames itself and uses none of the driver's code.
"""

import struct
from collections.abc import Sequence
from typing import Any

from stribeck.drivers.emulators.body import Drive
from stribeck.drivers.emulators.can_bus import CanEmulator, Node, Send, published

# the emulator's own register: a value written here causes this fault of the motor
TEST = 0xEE

# factory values of PMAX, VMAX, TMAX, and the ratio of the internal gear
_PUBLISHED: dict[str, tuple[float, ...]] = {
    "DM4310": (12.5, 30.0, 10.0, 10.0),
    "DM4340": (12.5, 10.0, 28.0, 40.0),
    "DM8009": (12.5, 45.0, 54.0, 9.0),
    "DM10010L": (12.5, 25.0, 200.0, 10.0),
}
_INTEGER = {7, 8, 9, 10, 13, 14, 15, 16, 35, 36, TEST}
_READ_ONLY = {11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 36}
_OVERCURRENT, _LOST = 0xA, 0xD


class Motor(Node):
    """One motor: registers, status, velocity mode."""

    usual_fault = _OVERCURRENT

    def __init__(self, drive: Drive, send: Send) -> None:
        keys: dict[str, Any] = drive.table.drive
        self.drive, self._send = drive, send
        p, v, t, gear = (
            (*keys["ranges"], 10.0) if "ranges" in keys else published(_PUBLISHED, keys["motor"])
        )
        self._factory = {
            4: 10.0,
            5: -10.0,
            6: v,
            7: keys["reply"],
            8: keys["id"],
            9: 0,
            10: 1,
            13: 1,
            14: 5014,
            20: gear,
            21: p,
            22: v,
            23: t,
            TEST: 0,
        }
        # rad at the joint per rad at the shaft
        self._turn = drive.table.direction / keys.get("gear", 1.0)
        self.boot()

    def boot(self) -> None:
        """Start after power-on: factory values in the registers, no power."""
        self.registers: dict[int, float] = dict(self._factory)
        self.status, self.velocity, self._heard = 0, 0.0, self.drive.clock.now()
        self.drive.let_go()

    @property
    def id(self) -> int:
        """Identifier that the motor listens to."""
        return int(self.registers[8])

    def receive(self, identifier: int, data: bytes) -> None:
        """Take a frame; every frame for this motor is answered."""
        if self.silent or len(data) != 8:
            return
        if identifier == 0x7FF:
            if data[0] | data[1] << 8 == self.id:
                self._serve(data)
        elif identifier == self.id and data[:7] == b"\xff" * 7:
            self._heard = self.drive.clock.now()
            self._special(data[7])
            self._reply()
        elif identifier == 0x200 + self.id and self.registers[10] == 3:
            self._heard = self.drive.clock.now()
            self.velocity = struct.unpack_from("<f", data)[0]
            self._follow()
            self._reply()

    def tick(self) -> None:
        """Check the timeout of a powered motor."""
        timeout = self.registers[9] * 50e-6
        if self.status == 1 and timeout > 0.0 and self.drive.clock.now() - self._heard > timeout:
            self.fault(_LOST)

    def _serve(self, data: bytes) -> None:
        what, register = data[2], data[3]
        if what == 0xCC:
            self._reply()
        elif what == 0x33 and register in self.registers:
            self._answer(0x33, register)
        elif what == 0x55 and register in self.registers:
            if register not in _READ_ONLY:
                self.registers[register] = struct.unpack_from(
                    "<I" if register in _INTEGER else "<f", data, 4
                )[0]
            self._answer(0x55, register)
            if register == TEST:
                self.suffer(int(self.registers[TEST]))

    def _answer(self, what: int, register: int) -> None:
        value = self.registers[register]
        packed = struct.pack("<I", int(value)) if register in _INTEGER else struct.pack("<f", value)
        self._send(
            int(self.registers[7]), bytes([self.id & 0xFF, self.id >> 8, what, register]) + packed
        )

    def _special(self, what: int) -> None:
        if what == 0xFC and self.status == 0:
            self.status = 1
            # the last velocity set-point counts, even if it is old
            self._follow()
        elif what == 0xFD and self.status <= 1:
            self.status = 0
            self.drive.let_go()
        elif what == 0xFB and self.status > 1:
            self.status = 0

    def _follow(self) -> None:
        if self.status != 1:
            return
        most = self.registers[6]
        self.drive.power = "velocity"
        self.drive.target = max(-most, min(most, self.velocity)) * self._turn
        slower = abs(self.drive.target) < abs(self.drive.setpoint)
        self.drive.ramp = abs(self.registers[5 if slower else 4] * self._turn)
        self.drive.most = self.registers[23] / abs(self._turn)

    def fault(self, status: int) -> None:
        """Enter a fault, which switches power off."""
        self.status = status
        self.drive.let_go()

    def _reply(self) -> None:
        drive, zero = self.drive, self.drive.table.zero_offset
        position = self._field((drive.q - zero) / self._turn, self.registers[21], 65535)
        velocity = self._field(drive.dq / self._turn, self.registers[22], 4095)
        torque = self._field(drive.tau * self._turn, self.registers[23], 4095)
        self._send(
            int(self.registers[7]),
            bytes(
                [
                    self.id | self.status << 4,
                    position >> 8,
                    position & 0xFF,
                    velocity >> 4,
                    (velocity & 0xF) << 4 | torque >> 8,
                    torque & 0xFF,
                    31,
                    35,
                ]
            ),
        )

    @staticmethod
    def _field(value: float, span: float, most: int) -> int:
        """Return the count of a value, rounded down and limited to the range."""
        return int((max(-span, min(span, value)) + span) * most / (2.0 * span))


class Emulator(CanEmulator):
    """Damiao motors, which measure when they receive a frame."""

    def nodes(self, drives: Sequence[Drive], send: Send) -> Sequence[Motor]:
        """Make a motor for each drive."""
        return [Motor(drive, send) for drive in drives]
