"""ODrive axes on a CAN bus, with the simulated arm behind them.

Written only from the published messages of CAN Simple (firmware 0.6), axis states and error bits.
This module packs and unpacks frames itself and uses none of the driver's code.
"""

import math
import struct
from collections.abc import Sequence
from typing import Any

import can

from stribeck.drivers.emulators.body import Drive
from stribeck.drivers.emulators.can_bus import CanEmulator, Node, Send
from stribeck.drivers.wire.clock import REAL_TIME, Clock
from stribeck.ident.arm.arm_file import ArmFile

# the emulator's own endpoint: a value written here (uint32) causes this fault of the axis
TEST = 0xFFFF

_IDLE, _CLOSED_LOOP = 1, 8
_OVERCURRENT, _TOO_FAST, _EXPIRED, _ESTOP = 1 << 10, 1 << 15, 1 << 24, 1 << 25
_PASSING = 1 << 10 | 1 << 15  # errors that end when power goes off
# speed over vel_limit at which an axis disarms itself; set-points are limited to vel_limit
_TOLERANCE = 1.2
_BEAT = 0.1  # s between heartbeats
_MOST = "axis0.controller.config.vel_limit"
_START = {
    "axis0.config.enable_watchdog": ("?", False),
    "axis0.config.watchdog_timeout": ("f", 0.0),
    "axis0.config.torque_soft_max": ("f", math.inf),
    "axis0.config.torque_soft_min": ("f", -math.inf),
    _MOST: ("f", 2.0),
    "axis0.controller.config.control_mode": ("B", 3),
    "axis0.controller.config.input_mode": ("B", 1),
    "axis0.controller.input_vel": ("f", 0.0),
    "axis0.controller.config.absolute_setpoints": ("?", True),
}


class Axis(Node):
    """One axis: state machine, endpoints, watchdog."""

    usual_fault = _OVERCURRENT

    def __init__(self, drive: Drive, send: Send, driver: dict[str, Any]) -> None:
        keys: dict[str, Any] = drive.table.drive
        self.drive, self._send, self.node = drive, send, int(keys["node"])
        self._counts = keys["encoder_counts"]
        # rad at the joint per revolution
        self._turn = drive.table.direction * 2.0 * math.pi / drive.table.ratio
        self._torque = drive.table.direction * drive.table.ratio
        self._names = {number: name for name, number in driver["endpoints"].items()}
        self._firmware = bytes(map(int, driver["firmware"].split(".")))
        self.boot()

    def boot(self) -> None:
        """Start after power-on: default values of the endpoints, no power."""
        self.values: dict[str, Any] = {name: value for name, (_, value) in _START.items()}
        # disarm reasons, active errors, state
        self.error, self.active, self.state = 0, 0, _IDLE
        self._fed = self._beat = self.drive.clock.now()
        self._limit()
        self.drive.let_go()

    def requested(self, identifier: int) -> None:
        """Take a remote frame, which asks for a value."""
        node, command = identifier >> 5, identifier & 0x1F
        if node != self.node or self.silent:
            return
        drive = self.drive
        if command == 0x00:
            self._answer(command, bytes([2, 4, 4, 58]) + self._firmware + b"\0")
        elif command == 0x03:
            self._answer(command, struct.pack("<II", self.active, self.error))
        elif command == 0x09:
            counts = round((drive.q - drive.table.zero_offset) / self._turn * self._counts)
            self._answer(command, struct.pack("<ff", counts / self._counts, drive.dq / self._turn))
        elif command == 0x15:
            self._answer(command, struct.pack("<ff", 31.0, 35.0))
        elif command == 0x1C:
            torque = drive.tau / self._torque
            self._answer(command, struct.pack("<ff", torque, torque))

    def receive(self, identifier: int, data: bytes) -> None:
        """Take a data frame, which is an order to the axis."""
        node, command = identifier >> 5, identifier & 0x1F
        if node != self.node or self.silent:
            return
        if command == 0x02:
            self.fault(_ESTOP)
        elif command == 0x04 and len(data) == 8:
            self._sdo(data)
        elif command == 0x07 and len(data) >= 4:
            self._request(struct.unpack_from("<I", data)[0])
        elif command == 0x0B and len(data) == 8:
            control, inputs = struct.unpack("<II", data)
            self.values["axis0.controller.config.control_mode"] = control
            self.values["axis0.controller.config.input_mode"] = inputs
        elif command == 0x0D and len(data) == 8:
            self._fed = self.drive.clock.now()
            self.values["axis0.controller.input_vel"] = struct.unpack_from("<f", data)[0]
            self._follow()
        elif command == 0x18:
            self.error = self.active = 0

    def tick(self) -> None:
        """Send the heartbeat, and check speed and watchdog, which also runs without power."""
        now = self.drive.clock.now()
        if now - self._beat >= _BEAT and not self.silent:
            self._beat = now
            self._heartbeat()
        if (
            self.values["axis0.config.enable_watchdog"]
            and now - self._fed > self.values["axis0.config.watchdog_timeout"]
        ):
            self.fault(_EXPIRED)
        if (
            self.state == _CLOSED_LOOP
            and abs(self.drive.dq / self._turn) > _TOLERANCE * self.values[_MOST]
        ):
            self.fault(_TOO_FAST)

    def _answer(self, command: int, data: bytes) -> None:
        self._send(self.node << 5 | command, data)

    def _heartbeat(self) -> None:
        self._answer(0x01, struct.pack("<IBBBB", self.error, self.state, 0, 1, 0))

    def _sdo(self, data: bytes) -> None:
        code, endpoint, _ = struct.unpack_from("<BHB", data)
        if code == 1 and endpoint == TEST:
            self.suffer(struct.unpack_from("<I", data, 4)[0])
        elif endpoint in self._names:
            name = self._names[endpoint]
            form = "<" + _START[name][0]
            if code == 1:
                self.values[name] = struct.unpack_from(form, data, 4)[0]
                self._limit()
            else:
                value = struct.pack(form, self.values[name])
                self._answer(0x05, struct.pack("<BHB", 0, endpoint, 0) + value.ljust(4, b"\0"))

    def _limit(self) -> None:
        """Apply the smaller of the two torque limits."""
        self.drive.most = abs(self._torque) * min(
            self.values["axis0.config.torque_soft_max"],
            -self.values["axis0.config.torque_soft_min"],
        )

    def _request(self, state: int) -> None:
        if state == _IDLE:
            self.state = _IDLE
            self.drive.let_go()
        elif state == _CLOSED_LOOP and not self.error:
            self.state = _CLOSED_LOOP
            # the last velocity set-point counts, even if it is old
            self._follow()

    def _follow(self) -> None:
        if self.state != _CLOSED_LOOP:
            return
        most, told = self.values[_MOST], self.values["axis0.controller.input_vel"]
        self.drive.power, self.drive.target = "velocity", max(-most, min(most, told)) * self._turn

    def fault(self, error: int) -> None:
        """Disarm the axis. Errors of current and speed end then; other errors stay
        active until they are cleared.
        """
        self.error |= error
        self.active |= error & ~_PASSING
        self.state = _IDLE
        self.drive.let_go()


class Emulator(CanEmulator):
    """ODrive axes, which measure when they are asked for estimates."""

    def __init__(
        self,
        arm: ArmFile,
        seed: int | None = None,
        bus: can.BusABC | None = None,
        clock: Clock = REAL_TIME,
    ) -> None:
        self._driver = dict(arm.driver.model_extra or {})
        super().__init__(arm, seed, bus, clock)

    def nodes(self, drives: Sequence[Drive], send: Send) -> Sequence[Axis]:
        """Make an axis for each drive."""
        return [Axis(drive, send, self._driver) for drive in drives]
