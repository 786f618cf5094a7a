"""CiA 402 drives over CANopen: settings by SDO and read back, then one RPDO in and two TPDOs out of each drive at every SYNC.

The `canopen` library carries SDO and network management. Its 402 profile and its periodic senders are not used: they would
re-enable a drive after a fault, and keep a hung program's motion alive.
"""

import logging
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

import can
import canopen
from pydantic import Field, PositiveFloat

from stribeck.drivers.canopen import cia402
from stribeck.drivers.canopen.cia402 import Scale
from stribeck.drivers.errors import DriverError, NoAnswer
from stribeck.drivers.wire.axis import Axis, Power, Reading, Steps
from stribeck.drivers.wire.drive_keys import Counts, Keys, LinkKeys, refuse_shared
from stribeck.drivers.wire.drive_link import DriveLink
from stribeck.drivers.wire.driven_joint import DrivenJoint
from stribeck.drivers.wire.transport import SEND, all_tried, can_bits, open_can, readable
from stribeck.ident.errors import InputError

logging.getLogger("canopen").setLevel(logging.CRITICAL)          # what it calls errors we ask again, or raise
Node = Annotated[int, Field(ge=1, le=127)]
_UNITS = {"mN·m": 1e-3, "µN·m": 1e-6}
_REPLY = 0.3                # s for an answer by SDO,
_ASKED = 3                  # times that it is asked for, since a frame may be lost
_BOOT = 2.0                 # s for a node to reach the state that it was told, or a mode to be shown
_SWITCH = 0.1               # s for another mode to be shown in motion
_LOST, _CALLED = 0.1, 10    # s and cycles without a reply after which a drive may have left its cycles
_GONE = 1.0                 # s without a reply after which a node is not asked any more
_BEATS = 4                  # signs of life in the watchdog's time
_HOLD, _LET_BRAKE = 6, 2     # 0x605A: slow down on the quick-stop ramp; stay powered, or leave the joint to its brake
_QUICK_STOP = 3             # 0x6007: reaction to a lost connection
_MOST_TORQUE = 0x7FFF       # thousandths of the rated torque in a signed 0x6077
_TORQUE_RISE = 0.01         # s to full torque in profile torque mode
_OFF = 0x80000000           # a PDO that is not used
_EVERY_SYNC, _AT_ONCE = 1, 255          # transmission types of PDOs
_NO_RTR = 0x40000000        # some devices set this bit by themselves
_GARBLED = (struct.error, IndexError, ValueError, AssertionError, RuntimeError)    # what the library makes of damaged answers
_REVERSED = 0xE0            # 0x607E: position, velocity, torque
_ABSENT = (0x06020000, 0x06090011)      # no such object or sub-index


class CanopenKeys(LinkKeys):
    """Keys of ``[driver]``."""

    bus: dict[str, Any]                                     # python-can's: interface, channel, ...
    bit_rate: PositiveFloat = 1e6
    host: Node = 127                                        # node id of the computer, whose heartbeat the drives watch
    modes: frozenset[Literal["velocity", "torque"]] = frozenset({"velocity"})
    profile: Literal["csv", "pv"] = "csv"                   # cyclic synchronous or profile velocity
    watchdog: Annotated[float, Field(ge=0.02, le=2.0)] = 0.2


class DriveKeys(Keys):
    """Keys of ``drive = {...}`` of a joint."""

    node: Node
    rated_torque: PositiveFloat                             # N·m at the motor, of which 0x6077 counts thousandths
    rated_torque_unit: Literal["mN·m", "µN·m"] = "mN·m"     # of 0x6076
    position_counts: Counts                                 # of 0x6064 a motor revolution
    velocity_counts: Counts | None = None                   # of 0x60FF and 0x606C at one motor revolution a second
    acceleration_counts: Counts | None = None               # of 0x6083 to 0x6085 at one motor revolution a second squared


@dataclass(frozen=True)
class Setting:
    """One object to write and to read back.

    `needed` says whether a drive without it is refused, and `what` what it is for; `least` is the smallest value of one without
    sign that means anything.
    """

    index: int
    sub: int
    form: str
    value: int
    what: str = ""
    needed: bool = True
    least: int = 0


@dataclass(frozen=True)
class _Counts:
    """Counts at one motor revolution a second, or a second squared: stated by a key of the arm file, and said by the drive with
    their unit, None where it names none that we know.
    """

    what: str
    per: str
    index: int
    key: str
    stated: float
    said: tuple[float, str] | None


# what moves a drive: its target, and what another program may have left to be added to it and to its torque
_AT_REST = (Setting(0x60FF, 0, "<i", 0, "target velocity"), Setting(0x60B1, 0, "<i", 0, "velocity offset", False),
            Setting(0x60B2, 0, "<h", 0, "torque offset", False))


class CanopenAxis(Axis):
    """One CiA 402 drive."""

    def __init__(self, joint: DrivenJoint, keys: CanopenKeys, drive: DriveKeys) -> None:
        self.joint, self.keys, self.drive = joint, keys, drive
        self._velocity_counts = drive.velocity_counts or drive.position_counts
        self._acceleration_counts = drive.acceleration_counts or self._velocity_counts
        table = joint.table
        self.scale = Scale.of(drive.position_counts, self._velocity_counts, drive.rated_torque, joint.gear, table.direction,
                              table.zero_offset)
        self.steps = Steps(abs(self.scale.velocity), abs(self.scale.position), abs(self.scale.torque))
        if joint.torque > _MOST_TORQUE * self.steps.torque:
            raise InputError(f"joints.{joint.name}.torque = {joint.torque:g} {joint.torque_unit} is "
                             f"{joint.torque / self.steps.torque:.3g} thousandths of the rated torque, more than its field "
                             f"holds ({_MOST_TORQUE}); correct torque, rated_torque or gear_ratio")
        self.node: canopen.RemoteNode
        self._torque = "torque" in keys.modes
        self._profile = cia402.MODES[keys.profile]
        self._torque_profile = cia402.MODES["cst"]
        self._goal: str | None = None       # "on", "held", "off"; None leaves the drive as it is
        self._velocity = self._torque_target = 0
        self._mode, self._since = self._profile, 0.0        # which it was told, and since when
        self._shown: int | None = None      # which it says that it is in
        self._dq: float | None = None       # from the second TPDO, which comes before or after the first
        self._state: tuple[float, int, int, int] | None = None
        self._unanswered, self._called = 0, 0.0     # cycles since its last reading, and when it was told something by SDO
        self._emergency: str | None = None
        self._booted = False
        self._operational = False           # whether it was heard to be, by its PDOs or its heartbeat
        self.ours = False                   # whether it was set up since the bus was opened, and may be told to end that
        self._check_fields()

    def join(self, network: canopen.Network, feed: Callable[[], None]) -> None:
        """Be reachable by a network; `feed` keeps watchdogs quiet while answers are waited for."""
        self.ours = self._operational = False
        self.node = network.add_node(_Node(self.drive.node, feed, min(_REPLY, self.keys.watchdog / _BEATS)))
        network.subscribe(cia402.EMERGENCY + self.drive.node, self.on_emergency)
        network.subscribe(cia402.HEARTBEAT + self.drive.node, self.on_heartbeat)

    # what the drive says

    @property
    def power(self) -> Power:
        """By the statusword."""
        if self._booted:
            return "fault"
        if self.reading is None:
            return "off"
        state = cia402.state(self.reading.status)
        if state in ("fault", "fault reaction"):
            return "fault"
        return {"operation enabled": "on", "quick stop": "held"}.get(state, "off")       # type: ignore[return-value]

    @property
    def trouble(self) -> str | None:
        """State and last emergency."""
        if self._booted:
            return f"node {self.drive.node} was reset"
        state = "silent" if self.reading is None else cia402.state(self.reading.status)
        return f"{state}, {self._emergency}" if self._emergency else state

    def identity(self) -> dict[str, str]:
        """Device, firmware and what the drive offers."""
        supported = self.read(0x6502, 0, "<I") or 0
        return {"node": str(self.drive.node), "device": self._text(0x1008) or f"type 0x{self.read(0x1000, 0, '<I') or 0:08X}",
                "firmware": self._text(0x100A) or "-",
                "modes": " ".join(name for name, mode in cia402.MODES.items() if supported >> (mode - 1) & 1),
                "holds": ", ".join(f"{value * step:.3g} {unit}" for value, step, unit in (
                    (self.read(0x607F, 0, "<I"), self.steps.velocity, f"{self.joint.position_unit}/s"),
                    (self.read(0x6072, 0, "<H"), self.steps.torque, self.joint.torque_unit)) if value is not None),
                **{f"{of.what} counts": f"{of.stated:g} at one motor revolution a {of.per}, as the "
                   + (f"arm file says; the drive does not (0x{of.index:04X})" if of.said is None else "drive says")
                   for of in self._counts()}}

    # settings

    def settings(self) -> Iterator[Setting]:
        """What a drive is told before it is powered, in order. Limits are those of the joint."""
        keys, joint, scale = self.keys, self.joint, self.scale
        speed, torque = abs(joint.velocity / scale.velocity), abs(joint.torque / scale.torque)
        ramp = round(abs(joint.acceleration / scale.velocity) * self._acceleration_counts / self._velocity_counts)
        low, high = sorted(scale.counts(end, "position", 32) for end in joint.position)
        watchdog = round(1000.0 * keys.watchdog)
        yield from _AT_REST
        yield Setting(0x6007, 0, "<h", _QUICK_STOP, "reaction to a lost connection", False)
        yield Setting(0x1016, 1, "<I", keys.host << 16 | watchdog, "watchdog", False)
        yield (Setting(0x605A, 0, "<h", _HOLD, "quick stop that holds") if joint.falls else
               Setting(0x605A, 0, "<h", _LET_BRAKE, "quick stop that ends in the brake"))
        yield Setting(0x6085, 0, "<I", ramp, "quick-stop deceleration", least=1)
        yield Setting(0x6083, 0, "<I", ramp, "acceleration", keys.profile == "pv", least=1)
        yield Setting(0x6084, 0, "<I", ramp, "deceleration", keys.profile == "pv", least=1)
        yield Setting(0x6072, 0, "<H", round(torque), "torque limit", least=1)
        if self._torque:            # by which a quick stop lets torque go; in profile torque not to be seen behind our own ramp
            yield Setting(0x6087, 0, "<I", round(torque / _TORQUE_RISE), "torque slope", False)
        yield Setting(0x607D, 1, "<i", low, "lower position limit", False)
        yield Setting(0x607D, 2, "<i", high, "upper position limit", False)
        yield Setting(0x607F, 0, "<I", round(speed), "velocity limit", False, least=1)
        yield Setting(0x6060, 0, "<b", self._profile, "mode")
        if self.keys.profile == "csv":              # how far apart set-points come; some drives must know
            tenths = round(1e4 / keys.rate)
            whole = tenths % 10 == 0
            yield Setting(0x60C2, 1, "<B", min(tenths // 10 if whole else tenths, 255), "interpolation period", False)
            yield Setting(0x60C2, 2, "<b", -3 if whole else -4, "interpolation period", False)
        state = cia402.mapping((0x6041, 16), (0x6064, 32), (0x6077, 16))
        velocity, mode = cia402.mapping((0x606C, 32)), cia402.mapping((0x6061, 8))
        target, torque_target = cia402.mapping((0x60FF, 32)), cia402.mapping((0x6071, 16), (0x6060, 8))
        yield from self._pdo(0x1400, cia402.RPDO[0], target + torque_target * self._torque)
        yield from self._pdo(0x1401, cia402.RPDO[1], cia402.mapping((0x6040, 16)), kind=_AT_ONCE)
        yield from self._pdo(0x1800, cia402.TPDO[0], state)
        yield from self._pdo(0x1801, cia402.TPDO[1], velocity + mode * self._torque)
        for k in (2, 3):
            yield from self._pdo(0x1400 + k, cia402.RPDO[k], [], False)
            yield from self._pdo(0x1800 + k, cia402.TPDO[k], [], False)

    def _check_fields(self) -> None:
        """Refuse settings that the drive's objects cannot hold, and limits of no count."""
        try:
            settings = list(self.settings())
        except DriverError as error:
            raise InputError(f"joints.{self.joint.name}: {error}") from error
        for setting in settings:
            bits, signed = 8 * struct.calcsize(setting.form), setting.form[-1].islower()
            most = 2 ** (bits - signed) - 1
            least = -most - 1 if signed else setting.least
            if not least <= setting.value <= most:
                raise InputError(f"joints.{self.joint.name}: its {setting.what} is {setting.value} in the drive's counts "
                                 f"(0x{setting.index:04X}), which holds {least} to {most}; correct the joint's limits, "
                                 "gear_ratio, position_counts, velocity_counts or rated_torque")

    def _pdo(self, index: int, identifier: int, entries: list[int], needed: bool = True,
             kind: int = _EVERY_SYNC) -> Iterator[Setting]:
        """A PDO: switched off, mapped, switched on; without entries it stays off."""
        identifier, what = identifier + self.drive.node, f"PDO 0x{index:04X}"
        yield Setting(index, 1, "<I", _OFF | identifier, what, needed and bool(entries))
        if entries:
            yield Setting(index, 2, "<B", kind, what)
            yield Setting(index + 0x200, 0, "<B", 0, what)
            for k, entry in enumerate(entries, 1):
                yield Setting(index + 0x200, k, "<I", entry, what)
            yield Setting(index + 0x200, 0, "<B", len(entries), what)
            yield Setting(index, 1, "<I", identifier, what)

    def greet(self) -> None:
        """Its type. A node that its own error behaviour stopped answers no SDO until it is told to; nor does it send PDOs, as
        one does that follows another program and is slow to answer.
        """
        try:
            self.read(0x1000, 0, "<I")
        except NoAnswer:
            if self._operational:
                raise
            self.node.nmt.state = "PRE-OPERATIONAL"
            self.read(0x1000, 0, "<I")

    def configure(self) -> None:
        """Write every setting, then read every one back."""
        self.ours, self._goal = False, None
        self._check_drive()
        self.ours = True
        self.node.nmt.state = "PRE-OPERATIONAL"
        last: dict[tuple[int, int], Setting] = {}
        for setting in self.settings():
            if self.write(setting):
                last[setting.index, setting.sub] = setting
        for setting in last.values():
            self._verify(setting)
        self.watched = {(0x1016, 1), (0x6007, 0)} <= set(last)
        end = time.monotonic() + _BOOT
        while (shown := self.read(0x6061, 0, "<b")) != self._profile:
            if time.monotonic() > end:
                raise self._error(f"shows mode {shown} (0x6061) instead of {self._profile}")
            time.sleep(0.01)

    def _check_drive(self) -> None:
        """What cannot be set: the modes it has, its rated torque, that it is free of faults."""
        supported = self.read(0x6502, 0, "<I")
        if supported is not None:
            needed: dict[str, int] = {self.keys.profile: self._profile}
            if self._torque:
                cyclic = supported >> (cia402.MODES["cst"] - 1) & 1
                self._torque_profile = cia402.MODES["cst" if cyclic else "tq"]
                needed["cst or tq"] = self._torque_profile
            for name, mode in needed.items():
                if not supported >> (mode - 1) & 1:
                    has = ", ".join(name for name, mode in cia402.MODES.items() if supported >> (mode - 1) & 1)
                    raise self._error(f"has no mode {name} (0x6502 offers {has or 'none of ours'})")
        unit = self.drive.rated_torque_unit
        stated, found = self.drive.rated_torque, (self.read(0x6076, 0, "<I") or 0) * _UNITS[unit]
        if abs(found - stated) > 0.01 * stated:
            raise self._error(f"says its rated torque is {found:g} N·m (0x6076, in {unit}), the arm file says {stated:g} N·m; "
                              "every torque would be wrong by that factor. Correct rated_torque or rated_torque_unit")
        for of in self._counts():
            if of.said is not None and abs(of.said[0] - of.stated) > 0.01 * of.said[0]:
                raise self._error(f"counts {of.what}s in {of.said[1]} (0x{of.index:04X}), {of.said[0]:g} at one motor revolution "
                                  f"a {of.per}, the arm file says {of.stated:g} ({of.key}); every {of.what} would be wrong by "
                                  "that factor. Correct the arm file, or the drive's unit")
        polarity = self.read(0x607E, 0, "<B") or 0
        if polarity & _REVERSED:
            raise self._error(f"reverses what it is told, or what it says (0x607E = 0x{polarity:02X}); drives differ in which "
                              "of both, and of position, speed and torque. Set that to 0, and direction = -1 in the arm file "
                              "where the joint turns the other way")
        status = self.read(0x6041, 0, "<H") or 0
        if cia402.state(status) in ("fault", "fault reaction"):
            code = self.read(0x603F, 0, "<H") or 0
            raise self._error(f"has a fault, {cia402.emergency_words(code)}; see to its cause, then clear it with "
                              "stribeck check --reset")
        self.refuse_company()
        self.reading, self._booted = None, False

    def _counts(self) -> Iterator["_Counts"]:
        """Of what the drive may count in units of its own: as the arm file states it and as the drive does."""
        turn = self.drive.position_counts
        yield _Counts("speed", "second", 0x60A9, "velocity_counts, by default position_counts", self._velocity_counts,
                      cia402.speed_unit(self.read(0x60A9, 0, "<I") or 0, turn))
        yield _Counts("acceleration", "second squared", 0x60AA, "acceleration_counts, by default velocity_counts",
                      self._acceleration_counts, cia402.acceleration_unit(self.read(0x60AA, 0, "<I") or 0, turn))

    def refuse_company(self) -> None:
        """A drive in "operation enabled" follows somebody."""
        if cia402.state(self.read(0x6041, 0, "<H") or 0) == "operation enabled":
            raise self._error("is powered and follows another program, or one that ended without stopping it; stop that first")

    def _verify(self, setting: Setting) -> None:
        found = self.read(setting.index, setting.sub, setting.form)
        same = found == setting.value
        if 0x1400 <= setting.index < 0x1A00 and setting.sub == 1 and not 0x1600 <= setting.index < 0x1800 and found is not None:
            same = found & ~_NO_RTR == setting.value & ~_NO_RTR
        if not same:
            raise self._error(f"was told {setting.what} = {setting.value} (0x{setting.index:04X}:{setting.sub}) and reads back "
                              f"{found}")

    # orders

    def enable(self) -> None:
        """Zero the target velocity, by SDO and in the frame, and what is added to it, then ask for power."""
        self._velocity = self._torque_target = 0
        self._mode, self._since, self._shown = self._profile, time.monotonic(), None
        self._emergency = None
        for zero in _AT_REST:
            if self.write(zero):
                self._verify(zero)
        self._goal = "on"

    def command(self, mode: str, value: float) -> None:
        """Set-point of the next RPDO."""
        told = self._torque_profile if mode == "torque" else self._profile
        if told != self._mode:
            self._mode, self._since = told, time.monotonic()
        if mode == "torque":
            self._torque_target = self.scale.counts(value, "torque", 16)
            self._velocity = 0              # none that is left over moves a drive that changes its mode a cycle later
        else:
            self._velocity = self.scale.counts(value, "velocity", 32)

    def quick_stop(self) -> None:
        """Controlword quick stop."""
        self._velocity, self._goal = 0, "held"

    def disable(self) -> None:
        """Controlword disable voltage."""
        self._velocity, self._goal = 0, "off"

    def reset(self) -> None:
        """Rising edge of bit 7 with target velocity zero and nothing else set; one without fault is left as it is."""
        if cia402.state(self.read(0x6041, 0, "<H") or 0) not in ("fault", "fault reaction"):
            return
        for zero in _AT_REST:
            self.write(zero)
        for word in (cia402.DISABLE_VOLTAGE, cia402.FAULT_RESET, cia402.DISABLE_VOLTAGE):
            self.write(Setting(0x6040, 0, "<H", word, "controlword"))
            time.sleep(0.02)
        state = cia402.state(self.read(0x6041, 0, "<H") or 0)
        if state in ("fault", "fault reaction"):
            raise self._error("keeps its fault: " + cia402.emergency_words(self.read(0x603F, 0, "<H") or 0))
        self._emergency = None

    def frames(self) -> Iterator[tuple[int, bytes]]:
        """RPDOs of this cycle, none while nothing was asked of the drive; a controlword only for a transition."""
        state = "" if self.reading is None else cia402.state(self.reading.status)
        if self._goal is None:
            return
        self._check_mode()
        if self._goal == "on":
            word = cia402.towards_power(state)
        elif self._goal == "follow":            # a drive that left this state by itself is not brought back
            word = None if state == "operation enabled" else cia402.QUICK_STOP
        elif self._goal == "held":
            word = None if state == "quick stop" else cia402.QUICK_STOP
        else:
            word = None if state == "switch on disabled" else cia402.DISABLE_VOLTAGE
        yield (cia402.RPDO[0] + self.drive.node,
               cia402.pack_setpoint(self._velocity, self._torque_target if self._torque else None, self._mode))
        if word is not None:
            yield cia402.RPDO[1] + self.drive.node, cia402.pack_control(word)
        yield from self._call()

    def _call(self) -> Iterator[tuple[int, bytes]]:
        """A drive that was told to leave its cycles hears no set-points, but our heartbeat all the same, and would go on at its
        last speed: one that has not replied for long is told to stop by SDO. Nobody waits for its answer.
        """
        now = time.monotonic()
        if self.reading is None or self._unanswered < _CALLED or min(now - self.reading.t, now - self._called) < _LOST:
            return
        self._called = now
        word = cia402.DISABLE_VOLTAGE if self._goal == "off" else cia402.QUICK_STOP
        yield cia402.SDO + self.drive.node, cia402.pack_control_by_sdo(word)

    def _check_mode(self) -> None:
        """Torque is let go of once velocities count again; a drive that stays in another mode than it was told is stopped."""
        other = self._shown not in (None, self._mode)
        if self._mode == self._profile and not other:
            self._torque_target = 0
        late = time.monotonic() - self._since
        if other and late > _SWITCH and self._goal == "follow":
            self._goal, self._torque_target = "held", 0
            raise self._error(f"shows mode {self._shown} (0x6061) {1e3 * late:.0f} ms after it was told mode {self._mode}")

    # what comes, in the reader's thread

    def on_state(self, _: int, data: bytearray, __: float) -> None:
        """First TPDO."""
        self._operational = True
        values = cia402.unpack_state(bytes(data))
        if values is None:
            self.corrupt += 1
            return
        self._state = (time.monotonic(), *values)
        self._join()

    def on_velocity(self, _: int, data: bytearray, __: float) -> None:
        """Second TPDO."""
        self._operational = True
        values = cia402.unpack_velocity(bytes(data))
        if values is None:
            self.corrupt += 1
            return
        velocity, self._shown = values
        self._dq = velocity * self.scale.velocity
        self._join()

    def expect(self) -> None:
        """A SYNC goes out: a TPDO that has lost its other half waits no longer, else it would be joined with the next SYNC's."""
        self._state = self._dq = None
        self._unanswered += 1

    def _join(self) -> None:
        """A reading is both TPDOs of one SYNC."""
        state, dq = self._state, self._dq           # a SYNC may drop either meanwhile
        if state is None or dq is None:
            return
        t, status, position, torque = state
        q, tau = self.scale.joint(position, torque)
        self.reading = Reading(t, q, dq, tau, status, float(torque))
        self.replies += 1
        self._state = self._dq = None
        self._unanswered = 0
        if self._goal == "on" and self.power == "on":
            self._goal = "follow"

    def on_emergency(self, _: int, data: bytearray, __: float) -> None:
        """Emergency frame: error code first; zero says that it is over."""
        if len(data) >= 2:
            code = int.from_bytes(data[:2], "little")
            self._emergency = cia402.emergency_words(code) if code else None

    def on_heartbeat(self, _: int, data: bytearray, __: float) -> None:
        """A node that boots was reset and knows its settings no more."""
        if data and data[0] == 0:
            self._booted = True
        if data:
            self._operational = data[0] & 0x7F == cia402.OPERATIONAL

    # SDO

    def write(self, setting: Setting) -> bool:
        """Write one object; False if the drive does not have it and need not."""
        try:
            self._ask(setting.index, setting.sub, setting.what, self.node.sdo.download, struct.pack(setting.form, setting.value))
        except _NoObject:
            if setting.needed:
                raise self._error(f"has no object 0x{setting.index:04X}:{setting.sub} ({setting.what})") from None
            return False
        return True

    def read(self, index: int, sub: int, form: str) -> int | None:
        """Value of an object; None if the drive does not have it."""
        try:
            data = self._ask(index, sub, "", self.node.sdo.upload)
        except _NoObject:
            return None
        size = struct.calcsize(form)
        if len(data) < size:
            raise self._error(f"answers {len(data)} bytes for 0x{index:04X}:{sub}, {size} are needed")
        value: int = struct.unpack_from(form, data)[0]
        return value

    def _text(self, index: int) -> str:
        try:
            return bytes(self._ask(index, 0, "", self.node.sdo.upload)).decode("latin-1").strip("\0 ")
        except _NoObject:
            return ""

    def _ask(self, index: int, sub: int, what: str, transfer: Callable[..., Any], *data: bytes) -> Any:
        """A transfer, repeated where no answer came, another's or a damaged one; the library's errors in our words."""
        for left in reversed(range(_ASKED)):
            try:
                return transfer(index, sub, *data)
            except canopen.SdoAbortedError as error:
                if error.code in _ABSENT:
                    raise _NoObject from None
                raise self._error(f"refuses 0x{index:04X}:{sub}{f' ({what})' if what else ''}: {error}") from error
            except (canopen.SdoCommunicationError, *_GARBLED) as error:
                if not left:
                    raise self._error("does not answer; check power, wiring, bit_rate and node", NoAnswer) from error
        raise AssertionError

    def _error(self, words: str, kind: type[DriverError] = DriverError) -> DriverError:
        return kind(f"the drive of {self.joint.name} (node {self.drive.node}) {words}")


class _NoObject(Exception):
    """The drive does not have an object."""


class _Sdo(canopen.sdo.SdoClient):
    """Waits for answers, and calls `feed` every so often meanwhile."""

    def __init__(self, *addresses: Any, feed: Callable[[], None], every: float) -> None:
        super().__init__(*addresses)
        self._feed, self._every = feed, every

    def read_response(self) -> bytes:
        """Like the library's own, in slices of its time."""
        end = time.monotonic() + _REPLY
        while True:
            self._feed()
            self.RESPONSE_TIMEOUT = min(self._every, max(0.0, end - time.monotonic()))
            try:
                return bytes(super().read_response())
            except canopen.SdoCommunicationError:
                if time.monotonic() >= end:
                    raise


class _Node(canopen.RemoteNode):
    """A drive as the library sees it, asked in our way."""

    def __init__(self, node: int, feed: Callable[[], None], every: float) -> None:
        self._client = partial(_Sdo, feed=feed, every=every)
        super().__init__(node, canopen.ObjectDictionary())

    def add_sdo(self, rx_cobid: int, tx_cobid: int) -> _Sdo:
        """The channel of the node, which is made before there is a network."""
        client = self._client(rx_cobid, tx_cobid, self.object_dictionary)
        self.sdo_channels.append(client)
        return client


class _Reader(canopen.network.MessageListener):
    """Counts error frames; ends the reader's thread without a traceback where the bus fails."""

    def __init__(self, network: canopen.Network, link: "CanopenLink") -> None:
        super().__init__(network)
        self._link = link

    def on_message_received(self, msg: can.Message) -> None:
        """The library leaves error frames alone."""
        self._link.error_frames += msg.is_error_frame
        super().on_message_received(msg)

    def on_error(self, exc: Exception) -> None:
        """`_Network.check` says why."""
        raise SystemExit


class _Network(canopen.Network):
    """Says in our words that its reader has died, whatever killed it, and waits for no frame longer than `SEND`."""

    NOTIFIER_CYCLE = 0.05

    def __init__(self, bus: can.BusABC, link: "CanopenLink") -> None:
        super().__init__(bus)
        self.listeners = [_Reader(self, link)]

    def send_message(self, can_id: int, data: bytes, remote: bool = False) -> None:
        """Like the library's own, with a time-out."""
        if self.bus is None:
            raise DriverError("the CAN bus is closed")
        with self.send_lock:
            self.bus.send(can.Message(arbitration_id=can_id, data=data, is_remote_frame=remote, is_extended_id=False),
                          timeout=SEND)

    def check(self) -> None:
        """Apart from sending: who cannot be heard any more may still hear that it is to stop."""
        failure = None if self.notifier is None else self.notifier.exception
        if failure is not None:
            raise DriverError(f"the CAN bus cannot be read any more: {failure}") from failure


class CanopenLink(DriveLink):
    """CiA 402 drives on one CAN bus."""

    keys, joint_keys = CanopenKeys, DriveKeys

    def __init__(self, joints: tuple[DrivenJoint, ...], keys: CanopenKeys, drives: tuple[DriveKeys, ...]) -> None:
        refuse_shared(joints, "node", [drive.node for drive in drives], {keys.host: "this computer (driver.host)"})
        self._keys, self.modes = keys, frozenset(keys.modes) | {"velocity"}
        self.axes = self._axes = tuple(CanopenAxis(joint, keys, drive) for joint, drive in zip(joints, drives, strict=True))
        self._network: _Network | None = None
        self._arrived = threading.Event()
        self._due: set[CanopenAxis] = set()
        self._beat = 0.0

    def open(self, transport: can.BusABC | None = None) -> None:
        """Take the bus and begin to read it."""
        self._bus, self._owned = readable(transport or open_can(self._keys.bus, self._keys.bit_rate)), transport is None
        self._network, self._beat = _Network(self._bus, self), 0.0
        for axis in self._axes:
            axis.join(self._network, self._feed)
            self._network.subscribe(cia402.TPDO[0] + axis.drive.node, partial(self._take, axis, axis.on_state))
            self._network.subscribe(cia402.TPDO[1] + axis.drive.node, partial(self._take, axis, axis.on_velocity))
        self._network.connect()

    def start(self) -> None:
        """Nodes to operational: PDOs run."""
        with all_tried() as tried:
            for axis in self._axes:
                with tried():
                    axis.node.nmt.state = "OPERATIONAL"

    def close(self) -> None:
        """Release the watchdogs of drives that stand still, then the bus; one that was handed in stays open.

        Drives that were never set up may follow another program: nothing is sent to them. Those that hold their joints stay
        "operational", since some take leaving it for a lost connection.
        """
        if self._network is None:
            return
        for axis in (axis for axis in self._axes if axis.ours):
            with suppress(DriverError, can.CanError, OSError):
                if axis.power != "on" and axis.reading is not None and time.monotonic() - axis.reading.t < _GONE:
                    axis.write(Setting(0x1016, 1, "<I", 0, "watchdog", False))
                if axis.power != "held":
                    axis.node.nmt.state = "PRE-OPERATIONAL"
        notifier, self._network = self._network.notifier, None
        try:
            if notifier is not None:
                notifier.stop(1.0)
        finally:
            if self._owned:
                self._bus.shutdown()

    def exchange(self, deadline: float) -> float:
        """RPDOs, heartbeat, SYNC, at which drives measure; then wait for the TPDOs. What goes wrong meanwhile is raised last."""
        assert self._network is not None
        now, send = time.monotonic(), self._network.send_message
        with all_tried() as tried:
            for axis in self._axes:
                with tried():
                    for identifier, data in axis.frames():
                        send(identifier, data)
            self._beat = self._beat or now - self._keys.watchdog
            with tried():
                self._feed()
            for axis in self._axes:
                axis.expect()
            self._arrived.clear()
            self._due = set(self._axes)
            asked = time.monotonic()
            with tried():
                send(cia402.SYNC, b"")
                self._arrived.wait(max(0.0, deadline - time.monotonic()))
        return asked

    def _feed(self) -> None:
        """Our heartbeat where it is due, which drives watch from the first cycle on; raises where none can be heard any more."""
        if self._network is None:
            return
        now = time.monotonic()
        if self._beat and now - self._beat > self._keys.watchdog / _BEATS:
            self._beat = now
            self._network.send_message(cia402.HEARTBEAT + self._keys.host, bytes([cia402.OPERATIONAL]))
        self._network.check()

    def _take(self, axis: CanopenAxis, listener: canopen.network.Callback, *frame: Any) -> None:
        """In the reader's thread: the last drive that was waited for ends the waiting."""
        before = axis.replies
        listener(*frame)
        if axis.replies != before:
            self._due.discard(axis)
            if not self._due:
                self._arrived.set()

    def load(self) -> float:
        """One RPDO and two TPDOs of each drive and a SYNC each cycle, heartbeats beside them, all with the most stuff bits."""
        torque = "torque" in self._keys.modes
        cycle = can_bits(0) + len(self.axes) * (can_bits(7 if torque else 4) + can_bits(8) + can_bits(5 if torque else 4))
        return (cycle * self._keys.rate + can_bits(1) * _BEATS / self._keys.watchdog) / self._keys.bit_rate
