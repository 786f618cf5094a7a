"""CiA 402 drives on a CAN bus, with the simulated arm behind them.

Written only from CiA 301 (SDO, PDO, SYNC, NMT, heartbeat, emergency) and CiA 402 (states, modes,
stop reactions). This module packs and unpacks frames itself and uses none of the driver's code.
"""

import math
import struct
from collections.abc import Sequence
from typing import Any

from stribeck.drivers.emulators.body import Drive
from stribeck.drivers.emulators.can_bus import CanEmulator, Node, Send
from stribeck.drivers.emulators.canopen_objects import ObjectDictionary, SdoServer

# the emulator's own object: a value written here causes this fault of the drive
_TEST = 0x2FFF

_OVERCURRENT, _NOBODY = 0x2310, 0x8130  # error codes; the second is a missing heartbeat
# first digits of errors that let a drive brake: temperature, communication
_BRAKES_BY_ITSELF = (0x4, 0x8)
_PRE_OPERATIONAL, _OPERATIONAL, _STOPPED = 0x7F, 0x05, 0x04
_STATUS = {
    "switch on disabled": 0x40,
    "ready to switch on": 0x21,
    "switched on": 0x23,
    "operation enabled": 0x27,
    "quick stop active": 0x07,
    "fault": 0x08,
}


class CanopenNode(Node):
    """One drive: object dictionary, SDO server, PDOs, heartbeat consumer
    and the 402 state machine.
    """

    usual_fault = _OVERCURRENT

    def __init__(self, drive: Drive, send: Send) -> None:
        keys: dict[str, Any] = drive.table.drive
        self.id, self.drive, self._send = int(keys["node"]), drive, send
        turn = drive.table.direction * 2.0 * math.pi / drive.table.ratio
        # rad at the joint per count
        self._position = turn / keys["position_counts"]
        self._velocity = turn / keys.get("velocity_counts", keys["position_counts"])
        self._acceleration = (
            abs(turn / keys["acceleration_counts"])
            if "acceleration_counts" in keys
            else abs(self._velocity)
        )
        self._torque = drive.table.direction * keys["rated_torque"] * drive.table.ratio / 1000.0
        self._units = self._notation(keys)
        self._rated = round(
            keys["rated_torque"]
            / (1e-6 if keys.get("rated_torque_unit", "").startswith("µ") else 1e-3)
        )
        self.boot()

    @staticmethod
    def _notation(keys: dict[str, Any]) -> tuple[int, int]:
        """Return the drive's units of speed and acceleration, 0x60A9 and 0x60AA.

        They are increments per second (squared), or a power of ten of revolutions per minute (and
        second); otherwise 0, which names no unit.
        """
        speeds = keys.get("velocity_counts", keys["position_counts"])
        found = []
        for counts, by_increments, by_minutes in (
            (speeds, 0x00B50300, 0xB44700),
            (keys.get("acceleration_counts", speeds), 0x00B55700, 0xC00300),
        ):
            power = round(math.log10(60.0 / counts))
            decimal = (
                (power & 0xFF) << 24 | by_minutes if math.isclose(counts, 60.0 / 10.0**power) else 0
            )
            found.append(by_increments if counts == keys["position_counts"] else decimal)
        return found[0], found[1]

    def boot(self) -> None:
        """Start after power-on or reset: default values and default PDOs, no power."""
        self.objects = ObjectDictionary(self.id)
        self.values = self.objects.values
        self._sdo = SdoServer(self.objects, self._measure, lambda key, data: self._set(key, data))
        self.values[0x6076, 0], (self.values[0x60A9, 0], self.values[0x60AA, 0]) = (
            self._rated,
            self._units,
        )
        self.nmt, self.state, self._controlword = _PRE_OPERATIONAL, "switch on disabled", 0
        self._waiting: dict[int, bytes] = {}
        self._beat = 0.0
        self._watchdog: float | None = None
        # time and torque at which the ramp of torque to zero began
        self._letting_go = 0.0, 0.0
        self.drive.let_go()
        self._transmit(0x700 + self.id, b"\0")

    # frames

    def _transmit(self, identifier: int, data: bytes) -> None:
        if not self.silent:
            self._send(identifier, data)

    def receive(self, identifier: int, data: bytes) -> None:
        """Take a frame from the bus."""
        if self.silent:
            return
        if identifier == 0 and len(data) == 2 and data[1] in (0, self.id):
            self._nmt(data[0])
        elif identifier == 0x080:
            self._sync()
        elif identifier == 0x600 + self.id and len(data) == 8 and self.nmt != _STOPPED:
            if data[0] != 0x80:  # an abort of the client gets no answer
                self._transmit(0x580 + self.id, self._sdo.answer(data))
        elif identifier & 0x780 == 0x700:
            self._hear(identifier & 0x7F)
        elif self.nmt == _OPERATIONAL:
            for k in range(4):
                if self.values[0x1400 + k, 1] == identifier:
                    if self.values[0x1400 + k, 2] <= 240:
                        self._waiting[k] = data
                    else:
                        self._unpack(k, data)

    def tick(self) -> None:
        """Do the work that depends on time: heartbeat, watchdog, end of a stop."""
        now, period = self.drive.clock.now(), self.values[0x1017, 0] / 1000.0
        if period and now - self._beat >= period:
            self._beat = now
            self._transmit(0x700 + self.id, bytes([self.nmt]))
        if self._watchdog is not None and now > self._watchdog:
            self._watchdog = None
            self._lost_connection()
        if self.drive.power == "torque" and self.state != "operation enabled":
            self._let_torque_go(now)
        if self.state == "quick stop active" and self.values[0x605A, 0] in (1, 2) and self._over():
            self._enter("switch on disabled")
        if self.state == "fault" and self.drive.power != "off" and self._over():
            self.drive.let_go(braked=self._at_rest())

    def _nmt(self, command: int) -> None:
        if command in (0x81, 0x82):
            self.boot()
            return
        states = {0x01: _OPERATIONAL, 0x02: _STOPPED, 0x80: _PRE_OPERATIONAL}
        before, self.nmt = self.nmt, states.get(command, self.nmt)
        # a pre-operational drive keeps its last set-point
        if before == _OPERATIONAL and self.nmt == _STOPPED:
            self._react()

    def _hear(self, producer: int) -> None:
        """Take a heartbeat, which starts or restarts the watchdog of the heartbeat consumer."""
        entry = self.values[0x1016, 1]
        if entry >> 16 & 0x7F == producer and entry & 0xFFFF:
            self._watchdog = self.drive.clock.now() + (entry & 0xFFFF) / 1000.0

    def _lost_connection(self) -> None:
        self._emergency(_NOBODY)
        self._react()
        self.nmt = _PRE_OPERATIONAL

    def _react(self) -> None:
        """React to a lost connection by the abort connection option code (0x6007)."""
        option = self.values[0x6007, 0]
        if option == 1:
            self.fault(_NOBODY)
        elif option == 2:
            self._enter("switch on disabled")
        elif option == 3 and self.state == "operation enabled":
            self._enter("quick stop active")

    def _emergency(self, code: int) -> None:
        self.values[0x603F, 0] = code
        self._transmit(0x080 + self.id, struct.pack("<HB5x", code, 1))

    # PDO

    def _sync(self) -> None:
        if self.nmt != _OPERATIONAL:
            return
        for k, data in self._waiting.items():
            self._unpack(k, data)
        self._waiting.clear()
        self._measure()
        for k in range(4):
            identifier, kind = self.values[0x1800 + k, 1], self.values[0x1800 + k, 2]
            if not identifier >> 31 and kind <= 240 and self.values[0x1A00 + k, 0]:
                self._transmit(
                    identifier & 0x7FF,
                    b"".join(
                        self.objects.raw(entry >> 16, entry >> 8 & 0xFF)
                        for entry in self.objects.entries(0x1A00 + k)
                    ),
                )

    def _unpack(self, k: int, data: bytes) -> None:
        place = 0
        for entry in self.objects.entries(0x1600 + k):
            key, size = (entry >> 16, entry >> 8 & 0xFF), (entry & 0xFF) // 8
            if place + size > len(data):
                return
            self._set(key, data[place : place + size])
            place += size

    def _measure(self) -> None:
        """Update the measured values in the drive's counts."""
        drive, table = self.drive, self.drive.table
        self.values[0x6064, 0] = _wrapped(round((drive.q - table.zero_offset) / self._position), 32)
        self.values[0x606C, 0] = _wrapped(round(drive.dq / self._velocity), 32)
        self.values[0x6077, 0] = max(-32768, min(32767, round(drive.tau / self._torque)))
        self.values[0x6041, 0] = _STATUS[self.state] | 0x0200 | 0x10 * (self.state != "fault")
        self.values[0x6061, 0] = self.values[0x6060, 0]

    # objects

    def _set(self, key: tuple[int, int], data: bytes) -> None:
        self.values[key] = struct.unpack("<" + self.objects.types[key], data)[0]
        if key == (0x6040, 0):
            self._control(self.values[key])
        elif (
            key in ((0x60FF, 0), (0x60B1, 0), (0x6071, 0), (0x60B2, 0), (0x6060, 0))
            and self.state == "operation enabled"
        ):
            self._follow()
        elif key == (0x6072, 0):
            self.drive.most = self.values[key] * abs(self._torque)
        elif key == (0x1016, 1):
            self._watchdog = None
        elif key == (_TEST, 0):
            self.suffer(self.values[key])

    # CiA 402

    def _control(self, word: int) -> None:
        rising, self._controlword = word & ~self._controlword, word
        if self.state == "fault":
            if rising & 0x80:
                self.values[0x603F, 0] = 0
                self._enter("switch on disabled")
            return
        if not word & 2:
            self._enter("switch on disabled")
        elif not word & 4:  # quick stop
            if self.state == "operation enabled":
                self._enter("quick stop active")
            elif self.state in ("ready to switch on", "switched on"):
                self._enter("switch on disabled")
        elif word & 0x0F == 0x0F:
            if self.state in ("switched on", "ready to switch on", "quick stop active"):
                self._enter("operation enabled")
        elif word & 0x07 == 0x07:
            if self.state in ("ready to switch on", "operation enabled"):
                self._enter("switched on")
        elif self.state in ("switch on disabled", "switched on", "operation enabled"):
            self._enter("ready to switch on")

    def _enter(self, state: str) -> None:
        if state == self.state:
            return
        self.state = state
        if state == "operation enabled":
            self._follow()
        elif state == "quick stop active":
            self._brake()
        else:  # a moving joint coasts until its brake has closed
            self.drive.let_go(braked=self._at_rest())

    def _follow(self) -> None:
        """Follow the target of the mode, plus its offset in the cyclic modes,
        even if these values are old.
        """
        drive, mode = self.drive, self.values[0x6060, 0]
        if mode in (4, 10):
            drive.power, drive.target = (
                "torque",
                (self.values[0x6071, 0] + self.values[0x60B2, 0] * (mode == 10)) * self._torque,
            )
        else:
            cyclic, told, fastest = mode == 9, self.values[0x60FF, 0], self.values[0x607F, 0]
            told = told + self.values[0x60B1, 0] if cyclic else min(max(told, -fastest), fastest)
            drive.power, drive.target = "velocity", told * self._velocity
            slower = abs(drive.target) < abs(drive.setpoint)
            drive.ramp = (
                math.inf
                if cyclic
                else self.values[0x6084 if slower else 0x6083, 0] * self._acceleration
            )

    def _brake(self) -> None:
        """Begin a quick stop. In torque modes the torque goes to zero by its
        slope, as in most drives.
        """
        if self.drive.power == "torque":
            self._letting_go = self.drive.clock.now(), self.drive.target
        else:
            self.drive.power, self.drive.target = "velocity", 0.0
            self.drive.ramp = self.values[0x6085, 0] * self._acceleration

    def _let_torque_go(self, now: float) -> None:
        since, torque = self._letting_go
        gone = (now - since) * self.values[0x6087, 0] * abs(self._torque)
        self.drive.target = math.copysign(max(0.0, abs(torque) - gone), torque)

    def _at_rest(self) -> bool:
        return abs(self.drive.dq) < 1e-3

    def _over(self) -> bool:
        """Whether the quick stop is complete."""
        return self.drive.target == 0.0 if self.drive.power == "torque" else self._at_rest()

    def fault(self, code: int) -> None:
        """Enter a fault: brake on the quick-stop ramp if the drive still
        can, then switch power off.
        """
        self.state = "fault"
        if code >> 12 not in _BRAKES_BY_ITSELF or self.values[0x605E, 0] == 0:
            self.drive.let_go()
        elif self.drive.power != "off":
            self._brake()
        self._emergency(code)


def _wrapped(value: int, bits: int) -> int:
    """Return the value wrapped to a signed counter of `bits` bits."""
    half = 1 << bits - 1
    return (value + half) % (1 << bits) - half


class Emulator(CanEmulator):
    """CiA 402 drives, which measure at SYNC."""

    def nodes(self, drives: Sequence[Drive], send: Send) -> Sequence[CanopenNode]:
        """Make a node for each drive."""
        return [CanopenNode(drive, send) for drive in drives]

    def latches(self, identifier: int) -> bool:
        """Drives measure at SYNC."""
        return identifier == 0x080
