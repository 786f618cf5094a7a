"""Dynamixel X servos over Protocol 2.0: settings written and read back, then one Sync Write and one Sync Read a cycle.

Their velocity set-point is coarse (24 mrad/s at the horn), so velocities are sent as ramps of the goal position, in extended
position mode with a time-based profile: each goal lies `span` ahead on the ramp and is to be reached in that time. The servo
interpolates between goals; a host that falls silent leaves a goal that is at most `span` away.

`dynamixel-sdk` carries packets, on a port object of our own.
"""

import math
import os
import re
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Literal

import serial
from dynamixel_sdk import COMM_RX_CORRUPT, COMM_SUCCESS, Protocol2PacketHandler
from pydantic import Field, PositiveFloat, PositiveInt

from stribeck.drivers.dynamixel import protocol2 as dxl
from stribeck.drivers.dynamixel.protocol2 import MODELS, NO_TORQUE, Register, Reply, Scale, State
from stribeck.drivers.errors import DriverError, NoAnswer
from stribeck.drivers.wire.axis import Axis, Power, Reading, Steps
from stribeck.drivers.wire.drive_keys import Keys, LinkKeys, refuse_shared
from stribeck.drivers.wire.drive_link import DriveLink
from stribeck.drivers.wire.driven_joint import DrivenJoint
from stribeck.ident.errors import InputError, unknown_name

_POLL = 0.002               # s after which a read of the port looks at the clock
_FULL = 0.1                 # s for the port to take what is sent
_REPLY = 0.1                # s for an answer to a single instruction; writing settings takes a servo a while
_ROLL_CALL = 0.8            # s for servos of any id to answer a ping of all, 3 ms after each other
_TRIES = 2                  # of a single instruction
_AGREE = 4                  # more times that an item is read until two answers agree
_BOOT = 3.0                 # s for a servo to come back from a reboot
_FIRMWARE = 42              # first with time-based profiles
_LEAD = 0.25                # rad of the horn that a ramp may be ahead of it: full effort of the servo's position loop
_FRESH = 0.05               # s for which a reply says where it is
_FULL_CURRENT = 1.0 + 1e-6  # of rounding
_TREMBLE = 4                # counts by which a servo that holds may tremble between two answers
_STANDING = 1               # counts of velocity up to which a servo stands


class DynamixelKeys(LinkKeys):
    """Keys of ``[driver]``."""

    port: str                                               # a device, a pty, or socket://host:port
    baud_rate: PositiveInt = 1_000_000
    profile: Literal["position", "current-based"] = "position"      # the second holds the torque limit in the servo, too
    span: Annotated[float, Field(ge=0.02, le=1.0)] = 0.2    # s that each goal lies ahead
    watchdog: Annotated[float, Field(ge=0.02, le=2.54)] = 0.2


class DriveKeys(Keys):
    """Keys of ``drive = {...}`` of a joint."""

    id: Annotated[int, Field(ge=0, le=252)]
    model: str                                              # one of dynamixel2.MODELS
    reduction: PositiveFloat = 1.0                          # turns of the horn a turn of the joint
    torque_constant: PositiveFloat | None = None            # N·m at the horn per A; default: the model's


class Port:
    """What dynamixel-sdk wants of a port, around an open pyserial object.

    Times are those of the monotonic clock, reads wait instead of spinning, bytes that never end do not hold a reader beyond its
    time, and the port is never left "busy" by an error. Packets wait until they are sent together.
    """

    is_using = property(lambda self: False, lambda self, value: None)

    def __init__(self, line: serial.SerialBase, baud_rate: int) -> None:
        self.line, self.baud_rate, self.until = line, baud_rate, 0.0
        self._waiting = b""
        line.timeout, line.write_timeout = _POLL, _FULL

    def clearPort(self) -> None:
        """Forget what came before."""
        try:
            self.line.reset_input_buffer()
        except OSError:
            raise
        except Exception as error:          # of a device that was unplugged termios says so by an error of its own
            raise serial.SerialException(str(error)) from error

    def writePort(self, packet: Sequence[int]) -> int:
        """Keep a packet until `send`."""
        self._waiting += bytes(packet)
        return len(packet)

    def send(self) -> None:
        """Let the packets leave that wait."""
        waiting, self._waiting = self._waiting, b""
        if waiting:
            self.line.write(waiting)

    def readPort(self, length: int) -> bytes:
        """At most so many bytes; none after the time is over."""
        return bytes(self.line.read(length)) if length > 0 and not self.isPacketTimeout() else b""

    def isPacketTimeout(self) -> bool:
        """Whether the time to wait is over."""
        return time.monotonic() > self.until


class Bus:
    """Instructions to servos and their replies."""

    def __init__(self, port: Port) -> None:
        self.port, self.corrupt = port, 0
        self._packets = Protocol2PacketHandler()

    def ask(self, servo: int, instruction: int, parameters: bytes = b"", size: int = 0, tries: int = _TRIES) -> Reply | None:
        """Reply of one servo to an instruction, an error or so many bytes; None if none comes.

        Replies do not say to what: others than expected are late ones to something else, and after a second try the line is
        listened to until late ones are over.
        """
        for attempt in range(tries):
            self._send(servo, instruction, parameters)
            for reply in self._replies(time.monotonic() + _REPLY):
                if reply.servo == servo and (len(reply.data) == size or dxl.error_words(reply.error)):
                    if attempt:
                        deque(self._replies(time.monotonic() + _REPLY), 0)
                    return reply
        return None

    def present(self) -> list[int]:
        """Ids of all servos on the line."""
        self._send(dxl.EVERYONE, dxl.PING, b"")
        return [reply.servo for reply in self._replies(time.monotonic() + _ROLL_CALL)]

    def sync_write(self, item: Register, values: Mapping[int, int]) -> None:
        """One item of several servos; nobody replies. Leaves with the next one that somebody answers."""
        if values:
            self._send(dxl.EVERYONE, dxl.SYNC_WRITE, dxl.read_request(item) + b"".join(
                bytes([servo]) + item.pack(value) for servo, value in values.items()))

    def sync_read(self, item: Register, servos: Sequence[int], deadline: float) -> Iterator[Reply]:
        """Replies of several servos, in the order asked, until a deadline."""
        self._send(dxl.EVERYONE, dxl.SYNC_READ, dxl.read_request(item) + bytes(servos))
        due = set(servos)
        for reply in self._replies(deadline):
            if reply.servo in due:
                due.remove(reply.servo)
                yield reply
            if not due:
                return

    def _send(self, servo: int, instruction: int, parameters: bytes) -> None:
        self._packets.txPacket(self.port, dxl.packet(servo, instruction, parameters))

    def _replies(self, until: float) -> Iterator[Reply]:
        """Send what waits, however late; whatever comes until then, damaged packets counted and left out."""
        self.port.send()
        self.port.until = until
        while not self.port.isPacketTimeout():
            found, result = self._packets.rxPacket(self.port, False)
            reply = dxl.unpack_reply(found) if result == COMM_SUCCESS else None
            if reply is not None:
                yield reply
            elif result in (COMM_SUCCESS, COMM_RX_CORRUPT):
                self.corrupt += 1


@dataclass(frozen=True)
class Setting:
    """One item to write and to read back. Items of the EEPROM, below Torque Enable, are locked while the servo is powered."""

    item: Register
    value: int
    what: str

    @property
    def locked(self) -> bool:
        """Whether it can be written without power only."""
        return self.item.address < dxl.TORQUE_ENABLE.address or self.item is dxl.INDIRECT


class DynamixelAxis(Axis):
    """One servo."""

    def __init__(self, joint: DrivenJoint, keys: DynamixelKeys, drive: DriveKeys, bus: Callable[[], Bus]) -> None:
        if (series := drive.model.partition("-")[0]) in NO_TORQUE:
            raise InputError(f"joints.{joint.name}.drive.model = {drive.model!r}: it reports {NO_TORQUE[series]}, which "
                             "tells no friction; that takes the current of its motor")
        if drive.model not in MODELS:
            raise unknown_name(f"joints.{joint.name}.drive.model", drive.model, MODELS)
        self.joint, self.keys, self.drive, self.model, self._bus = joint, keys, drive, MODELS[drive.model], bus
        table = joint.table
        self.scale = Scale.of(self.model.current_step, drive.torque_constant or self.model.torque_constant, drive.reduction,
                              table.direction, table.zero_offset)
        most = self.model.most_current * abs(self.scale.torque)
        if joint.torque > most * _FULL_CURRENT:
            raise InputError(f"joints.{joint.name}.torque = {joint.torque:g} {joint.torque_unit} is beyond what {drive.model} "
                             f"gives there, {most:.3g} {joint.torque_unit}: the limit would never be seen to be passed. Lower "
                             "torque, or correct model, reduction or torque_constant")
        position = abs(self.scale.position)
        self.steps = Steps(position / keys.span, position, abs(self.scale.torque))
        self.state: State | None = None
        self._asked: str | None = None      # "on", "follow", "held", "off"; None leaves the servo as it is
        self._alert = False
        self.ours = False                   # whether it was set up or powered since the line was opened: its watchdog is ours
        self._ramp = self._velocity = 0.0   # joint position up to which set-points have led, and the last of them
        self._commanded = 0.0

    # what the servo says

    @property
    def power(self) -> Power:
        """By the last reply; a servo that its watchdog stopped holds, and takes no goals.

        Not every hardware error takes its power (register 63): one that keeps it is to be stopped, and then is held or switched
        off like any other.
        """
        state = self.state
        if state is None:
            return "off"
        faulty = bool(state.hardware_error or self._alert)
        if not state.torque_enable:
            return "fault" if faulty else "off"
        if faulty and self._asked not in ("held", "off"):
            return "fault"
        return "held" if state.tripped or (self._asked == "held" and self._stands(state)) else "on"

    @property
    def trouble(self) -> str | None:
        """Hardware error, watchdog or lost power in words."""
        state = self.state
        if state is None:
            return "silent"
        if state.hardware_error or self._alert:
            return dxl.hardware_words(state.hardware_error) or "hardware error"
        if state.tripped and state.torque_enable:
            return "its bus watchdog found the host silent"
        if not state.torque_enable:
            return "no power: switched off, or started again after losing its supply" if self._asked == "follow" else "no power"
        return None

    def identity(self) -> dict[str, str]:
        """Model, firmware, mode, limits in force, supply."""
        modes = {number: name for name, number in dxl.MODES.items()}
        mode, current = self.read(dxl.OPERATING_MODE), self.read(dxl.CURRENT_LIMIT)
        return {"id": str(self.drive.id), "device": self.drive.model, "firmware": str(self.read(dxl.FIRMWARE)),
                "mode": modes.get(mode, str(mode)), "supply": f"{0.1 * self.read_once(dxl.VOLTAGE):.1f} V",
                "current limit": f"{current * self.model.current_step:.2f} A",
                "holds": f"{self.read(dxl.VELOCITY_LIMIT) * abs(self.scale.velocity):.3g} {self.joint.position_unit}/s, "
                         f"{current * abs(self.scale.torque):.3g} {self.joint.torque_unit}"}

    @staticmethod
    def _stands(state: State) -> bool:
        return abs(state.velocity) <= _STANDING

    def take(self, t: float, reply: Reply) -> bool:
        """A reply to a Sync Read; whether it was one."""
        state = dxl.unpack_state(reply.data)
        if state is None:
            return False
        self.state, self._alert = state, dxl.alert(reply.error)
        q, dq, tau = self.scale.joint(state)
        self.reading = Reading(t, q, dq, tau, state.word, float(state.current), float(state.temperature))
        self.replies += 1
        if self._asked == "on" and state.torque_enable and not state.tripped:
            self._asked, self._commanded = "follow", t
        return True

    # settings

    def settings(self) -> Iterator[Setting]:
        """What a servo is told before it is powered."""
        joint, scale = self.joint, self.scale
        speed = min(math.ceil(abs(joint.velocity / scale.velocity)), dxl.MOST_VELOCITY)      # some 24 rad/s, beyond any of them
        current = min(math.ceil(abs(joint.torque / scale.torque)), self.model.most_current)
        yield Setting(dxl.STATUS_RETURN, 2, "status return level")          # first: at level 1 a servo answers no other write
        yield Setting(dxl.RETURN_DELAY, 0, "return delay")
        yield Setting(dxl.DRIVE_MODE, dxl.TIME_BASED, "drive mode")
        yield Setting(dxl.OPERATING_MODE, dxl.MODES[self.keys.profile], "operating mode")
        yield Setting(dxl.VELOCITY_LIMIT, speed, "velocity limit")
        yield Setting(dxl.CURRENT_LIMIT, current, "current limit")
        yield Setting(dxl.INDIRECT, dxl.indirect_addresses(), "indirect addresses")
        if self.keys.profile == "current-based":
            yield Setting(dxl.GOAL_CURRENT, current, "torque limit")

    @property
    def _profile(self) -> tuple[Setting, ...]:
        """The profile, which a change of mode and a tripped watchdog reset; both in ms."""
        return (Setting(dxl.PROFILE_ACCELERATION, 0, "profile acceleration"),
                Setting(dxl.PROFILE_VELOCITY, round(1000.0 * self.keys.span), "profile time"))

    def greet(self) -> None:
        """Its model number."""
        self.read(dxl.MODEL_NUMBER)

    def configure(self) -> None:
        """Write what differs, then read everything back; a servo that its watchdog holds keeps holding."""
        self.reading = self.state = self._asked = None
        self.ours = False
        self._check_servo()
        powered, tripped = self._stance()
        self._refuse_leader(powered, tripped)
        settings = [setting for setting in (*self.settings(), *self._profile)
                    if not (tripped and setting.item is dxl.GOAL_CURRENT)]
        for setting in settings:
            if self.read(setting.item) != setting.value:
                if powered and setting.locked:
                    raise self._error(f"holds its joint and has another {setting.what}, which cannot be set under power; support "
                                      "the arm, then switch its supply off and on")
                self.write(setting)
        for setting in settings:
            self._verify(setting)
        if not tripped:
            self.ours = True
            self._watch()
        self.watched = True

    def refuse_company(self) -> None:
        """A powered servo whose watchdog has not stopped it follows somebody."""
        self._refuse_leader(*self._stance())

    def _stance(self) -> tuple[bool, bool]:
        """Whether it is powered, and whether its watchdog has stopped it: of one that was just left holding it is yet to."""
        powered = self.read(dxl.TORQUE_ENABLE) == 1
        if powered and self.read(dxl.WATCHDOG) > 0:
            time.sleep(self.keys.watchdog + 2.0 * dxl.WATCHDOG_STEP)        # what is asked meanwhile would keep it from tripping
        return powered, self.read(dxl.WATCHDOG) < 0

    def _refuse_leader(self, powered: bool, tripped: bool) -> None:
        if powered and not tripped:
            raise self._error("is powered and follows another program, or one that ended without stopping it; stop that first")

    def _check_servo(self) -> None:
        """What cannot be set: model, firmware, that it is free of faults."""
        number = self.read(dxl.MODEL_NUMBER)
        if number != self.model.number:
            name = next((name for name, model in MODELS.items() if model.number == number), "another")
            raise self._error(f"says it is model {number} ({name}), the arm file says {self.drive.model}, which is "
                              f"{self.model.number}; every torque would be wrong. Correct model or id")
        leader = self.read(dxl.SECONDARY_ID)
        if leader <= dxl.LAST_ID:
            raise self._error(f"also follows what servo {leader} is told; set its Secondary ID (register 12) to 255")
        firmware = self.read(dxl.FIRMWARE)
        if firmware < _FIRMWARE:
            raise self._error(f"has firmware {firmware}, which has no time-based profiles; {_FIRMWARE} or later is needed")
        if self.read(dxl.DRIVE_MODE) & dxl.REVERSE:
            raise self._error("counts the other way (Reverse Mode, bit 0 of register 10); that would be set back, and other "
                              "software would then turn the joint the other way. Clear it, and state direction in the arm file")
        fault = self.read(dxl.HARDWARE_ERROR)
        if fault:
            raise self._error(f"has a fault, {dxl.hardware_words(fault)}; see to its cause, then clear it with "
                              "stribeck check --reset")

    def _watch(self) -> None:
        self._tell(Setting(dxl.WATCHDOG, round(self.keys.watchdog / dxl.WATCHDOG_STEP), "watchdog"))

    def _tell(self, setting: Setting) -> None:
        self.write(setting)
        self._verify(setting)

    def _verify(self, setting: Setting) -> None:
        found = self.read_once(setting.item)
        if found != setting.value:          # it may be the answer to an earlier question
            found = self.read(setting.item)
        if found != setting.value:
            raise self._error(f"was told {setting.what} = {setting.value} (register {setting.item.address}) and reads back "
                              f"{found}")

    # orders

    def enable(self) -> None:
        """Make the goal the present position and read it back, then ask for power. What the watchdog locked is unlocked first.

        A servo that was reset since it was set up knows its place within a turn only, and is refused.
        """
        if self.read_once(dxl.INDIRECT) != dxl.indirect_addresses():
            raise self._error("was reset after it had been set up: where it is may be off by whole turns. Connect again with the "
                              "horn within half a turn of zero_offset")
        self.ours = True
        for setting in self._profile:
            self._tell(setting)
        here = self.read(dxl.PRESENT_POSITION, _TREMBLE)
        self._ramp, self._velocity = (here - dxl.CENTRE) * self.scale.position + self.scale.zero, 0.0
        self.write(Setting(dxl.WATCHDOG, 0, "watchdog"))
        self._watch()
        self._tell(Setting(dxl.GOAL_POSITION, here, "goal position"))
        if self.keys.profile == "current-based":
            self._tell(next(setting for setting in self.settings() if setting.item is dxl.GOAL_CURRENT))
        self._asked = "on"

    def command(self, mode: str, value: float) -> None:
        """Carry the ramp to where the last velocity has led by now, as the servo has gone, then on by this one.

        A servo that does not say where it is, is led on: back to where it was last heard would be a jump.
        """
        now = time.monotonic()
        passed, self._commanded = min(now - self._commanded, self.keys.span), now
        self._ramp += self._velocity * passed
        self._velocity = value
        if self.reading is not None and now - self.reading.t < _FRESH:
            lead = _LEAD / self.drive.reduction
            self._ramp = min(max(self._ramp, self.reading.q - lead), self.reading.q + lead)
        self.scale.goal(self._ramp + value * self.keys.span)

    def quick_stop(self) -> None:
        """Stay where the ramp has led; the servo holds there."""
        self._velocity, self._asked = 0.0, "held"

    def disable(self) -> None:
        """Power off."""
        self._velocity, self._asked = 0.0, "off"

    def rest(self) -> None:
        """Leave it: its watchdog is released where it has no power, else is to trip, also where it was only just taken over."""
        if self.state is None or not self.state.torque_enable:
            self.write(Setting(dxl.WATCHDOG, 0, "watchdog"))
        elif not self.state.tripped:
            self._watch()

    def reset(self) -> None:
        """A reboot, which alone clears a fault and takes the power; a servo without fault is left as it is."""
        fault = self.read(dxl.HARDWARE_ERROR)
        if not fault:
            return
        if self.joint.falls and self.read(dxl.TORQUE_ENABLE):
            raise self._error(f"holds its joint in spite of its fault, {dxl.hardware_words(fault)}, and would let it fall; "
                              "support the arm, then switch its supply off and on")
        self.write(Setting(dxl.TORQUE_ENABLE, 0, "power"))
        self.write(Setting(dxl.WATCHDOG, 0, "watchdog"))
        self._bus().ask(self.drive.id, dxl.REBOOT, tries=1)
        end = time.monotonic() + _BOOT
        while self._bus().ask(self.drive.id, dxl.PING, size=3) is None and time.monotonic() < end:
            pass
        fault = self.read(dxl.HARDWARE_ERROR)
        if fault:
            raise self._error("keeps its fault: " + dxl.hardware_words(fault))

    def goal(self) -> int | None:
        """Goal position of this cycle; None where the servo is to be left alone."""
        if self._asked == "follow" or (self._asked == "held" and self.power == "on"):
            return self.scale.goal(self._ramp + self._velocity * self.keys.span)
        return None

    def switch(self) -> int | None:
        """Torque Enable of this cycle, for transitions only: a servo that lost its power by itself is not brought back."""
        if self.state is None or self._asked not in ("on", "off"):
            return None
        wanted = int(self._asked == "on")
        return None if self.state.torque_enable == wanted else wanted

    # single instructions

    def read(self, item: Register, apart: int = 0) -> int:
        """Value of an item that two answers in succession agree on: one that comes twice, late, is taken for the next."""
        found = self.read_once(item)
        for _ in range(_AGREE):
            before, found = found, self.read_once(item)
            if abs(found - before) <= apart:
                return found
        raise self._error(f"gives another value of register {item.address} each time that it is asked; see to the line")

    def read_once(self, item: Register) -> int:
        """Value of an item by one answer."""
        return item.unpack(self._ask(dxl.READ, dxl.read_request(item), item.size, f"register {item.address}"))

    def write(self, setting: Setting) -> None:
        """Write one item."""
        self._ask(dxl.WRITE, dxl.write_request(setting.item, setting.value), 0, f"{setting.what} = {setting.value}")

    def _ask(self, instruction: int, parameters: bytes, size: int, what: str) -> bytes:
        reply = self._bus().ask(self.drive.id, instruction, parameters, size)
        if reply is None:
            raise self._error("does not answer; check power, wiring, baud_rate and id", NoAnswer)
        words = dxl.error_words(reply.error)
        if words:
            raise self._error(f"refuses {what}: {words}")
        return reply.data

    def _error(self, words: str, kind: type[DriverError] = DriverError) -> DriverError:
        return kind(f"the drive of {self.joint.name} (id {self.drive.id}) {words}")


class DynamixelLink(DriveLink):
    """Servos on one line."""

    keys, joint_keys = DynamixelKeys, DriveKeys

    def __init__(self, joints: tuple[DrivenJoint, ...], keys: DynamixelKeys, drives: tuple[DriveKeys, ...]) -> None:
        refuse_shared(joints, "id", [drive.id for drive in drives])
        self._keys = keys
        self.axes = self._axes = tuple(DynamixelAxis(joint, keys, drive, self._connected)
                                       for joint, drive in zip(joints, drives, strict=True))
        self._by_id = {axis.drive.id: axis for axis in self._axes}
        self._order = list(self._by_id)
        self._bus: Bus | None = None
        self._others: list[int] | None = None       # servos on the line that are not in the arm file

    @property
    def corrupt(self) -> int:
        """Damaged packets: whose they were meant to be is not known."""
        return self._bus.corrupt if self._bus else 0

    def _connected(self) -> Bus:
        if self._bus is None:
            raise DriverError("the servos' line is not open")
        return self._bus

    def open(self, transport: serial.SerialBase | None = None) -> None:
        """Take the line, with the shortest delay that its adapter offers."""
        self._owned, self._line = transport is None, transport or _open_line(self._keys.port, self._keys.baud_rate)
        self._bus = Bus(Port(self._line, self._keys.baud_rate))
        for axis in self._axes:
            axis.ours = False
        self._refuse_followers()

    def _refuse_followers(self) -> None:
        """Servos that are not in the arm file may be there, as of a gripper, but may not follow what a joint's is told."""
        bus = self._connected()
        if self._others is None:
            self._others = [servo for servo in bus.present() if servo not in self._by_id]
        for servo in self._others:
            reply = bus.ask(servo, dxl.READ, dxl.read_request(dxl.SECONDARY_ID), dxl.SECONDARY_ID.size)
            if reply is None or not reply.data:
                raise DriverError(f"servo {servo}, which is on the line beside those of the arm, does not say whether it follows "
                                  "one of them (Secondary ID, register 12); check its wiring, or take it off the line")
            leader = self._by_id.get(dxl.SECONDARY_ID.unpack(reply.data))
            if leader is not None:
                raise DriverError(f"servo {servo} follows what the drive of {leader.joint.name} (id {leader.drive.id}) is told "
                                  "(its Secondary ID, register 12); of a joint with two servos the torque of one alone would be "
                                  "read: such joints cannot be driven")

    def start(self) -> None:
        """Servos answer at any time."""

    def close(self) -> None:
        """Release the watchdogs of servos without power; those of holding ones trip, which locks their goals.

        Servos that were never set up may follow another program, or hold since an earlier one: nothing is written to them.
        """
        if self._bus is None:
            return
        for axis in (axis for axis in self._axes if axis.ours):
            with suppress(DriverError, OSError):
                axis.rest()
        self._bus = None
        if self._owned:
            self._line.close()

    def exchange(self, deadline: float) -> float:
        """Sync Write of power where it changes and of goals, Sync Read of the state, which is also the sign of life."""
        bus = self._connected()
        for item, values in ((dxl.TORQUE_ENABLE, {servo: axis.switch() for servo, axis in self._by_id.items()}),
                             (dxl.GOAL_POSITION, {servo: axis.goal() for servo, axis in self._by_id.items()})):
            bus.sync_write(item, {servo: value for servo, value in values.items() if value is not None})
        asked = time.monotonic()
        answered = [reply.servo for reply in bus.sync_read(dxl.STATE, self._order, deadline)
                    if self._by_id[reply.servo].take(time.monotonic(), reply)]
        self._order.sort(key=lambda servo: servo not in answered)       # a silent servo keeps those behind it from answering
        return asked

    def load(self) -> float:
        """A Sync Write of goals and a Sync Read with its replies each cycle, ten bits a byte."""
        n = len(self.axes)
        cycle = dxl.sync_write_bytes(n, dxl.GOAL_POSITION.size) + dxl.sync_read_bytes(n, dxl.STATE.size)
        return 10.0 * cycle * self._keys.rate / self._keys.baud_rate


def _open_line(port: str, baud_rate: int) -> serial.SerialBase:
    """A serial device, for this program alone, or a network socket."""
    alone = {} if "://" in port else {"exclusive": True}
    if port.startswith("socket://") and not re.fullmatch(r"socket://[^/?]+:\d+/?(\?.*)?", port):
        raise InputError(f"the port {port} cannot be opened: it is to be socket://host:port, with the number of the port")
    try:
        line = serial.serial_for_url(port, baudrate=baud_rate, timeout=_POLL, write_timeout=_FULL, **alone)
    except ValueError as error:
        raise InputError(f"the port {port} cannot be opened: {error}") from error
    except OSError as error:
        why = str(error).rpartition(f"could not open port {port}: ")[2]       # pyserial says it twice
        raise DriverError(f"the port {port} cannot be opened: {why}") from error
    with suppress(AttributeError, OSError, ValueError):     # only some adapters have it; without, replies come every 16 ms
        line.set_low_latency_mode(True)
    if "://" in port:
        _send_at_once(line)
    return line


def _send_at_once(line: serial.SerialBase) -> None:
    """Let a socket not keep a packet back until the one before it is acknowledged: after a lost reply that takes 40 ms."""
    with suppress(AttributeError, OSError), socket.socket(fileno=os.dup(line.fileno())) as same:
        same.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
