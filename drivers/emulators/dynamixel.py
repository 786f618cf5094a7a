"""Dynamixel X servos on a pty or behind a TCP port, with the simulated arm behind them.

Written from the e-Manual (Protocol 2.0, its CRC, control tables of the X series) alone: packets are built and taken apart here,
none of the driver's code is used.
"""

import errno
import math
import os
import select
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from stribeck.drivers.emulators.body import Body, Drive, Electronics
from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.errors import InputError

_POLL = 0.001               # s without a byte after which the servos look at their clocks
_TEST = 1000                # the emulator's own item: what is written there happens to the servo,
_OVERLOAD = 0x20            # bit of the hardware error status
_GAIN = 40.0                # 1/s of the position loop
_SMOOTH = 0.005             # s over which the current is smoothed
_UNIT = 0.229 * 2.0 * math.pi / 60.0       # rad/s of a count of velocity
_TURN = 4096                # counts
_MODELS = {                 # number, A a count, stall torque over stall current [N·m/A], speed without load [rad/s]
    "XM430-W210": (1030, 0.00269, 3.0 / 2.3, 8.0), "XM430-W350": (1020, 0.00269, 4.1 / 2.3, 4.8),
    "XM540-W150": (1130, 0.00269, 7.3 / 4.4, 5.6), "XM540-W270": (1120, 0.00269, 10.6 / 4.4, 3.1),
    "XH430-W210": (1010, 0.00269, 2.5 / 1.3, 5.2), "XH430-W350": (1000, 0.00269, 3.4 / 1.3, 3.1),
    "XH430-V210": (1050, 0.00134, 2.6 / 0.7, 5.4), "XH430-V350": (1040, 0.00134, 3.3 / 0.7, 3.2),
    "XH540-W150": (1110, 0.00269, 7.1 / 4.9, 7.3), "XH540-W270": (1100, 0.00269, 9.9 / 4.9, 4.1),
    "XW540-T140": (1180, 0.00269, 6.9 / 4.9, 7.5), "XW540-T260": (1170, 0.00269, 9.5 / 4.9, 4.2)}

_MODEL, _FIRMWARE, _ID, _DELAY, _DRIVE_MODE, _MODE, _SHUTDOWN, _TORQUE, _LEVEL, _ERROR = 0, 6, 7, 9, 10, 11, 63, 64, 68, 70
_WATCHDOG, _GOAL_PWM, _GOAL_CURRENT, _GOAL_VELOCITY, _PROFILE_TIME, _GOAL = 98, 100, 102, 104, 112, 116
_CURRENT, _VELOCITY, _POSITION, _VOLTAGE, _TEMPERATURE = 126, 128, 132, 144, 146
_GOALS = (_GOAL_PWM, _GOAL_CURRENT, _GOAL_VELOCITY, _GOAL)
_ITEMS: dict[int, tuple[Any, ...]] = {      # address: type (struct), value from the factory, whether written, least and greatest
    0: ("H", 0, False), 2: ("I", 0, False), 6: ("B", 45, False), 7: ("B", 1, True, 0, 252), 8: ("B", 3, True, 0, 7),
    9: ("B", 250, True, 0, 254), 10: ("B", 0, True, 0, 13), 11: ("B", 3, True, 0, 16), 12: ("B", 255, True), 13: ("B", 2, True),
    20: ("i", 0, True), 24: ("I", 10, True), 31: ("B", 80, True), 32: ("H", 160, True), 34: ("H", 95, True),
    36: ("H", 885, True, 0, 885), 38: ("H", 1193, True, 0, 2047), 44: ("I", 350, True, 0, 1023), 48: ("I", 4095, True),
    52: ("I", 0, True), 63: ("B", 52, True),
    64: ("B", 0, True, 0, 1), 65: ("B", 0, True), 68: ("B", 2, True, 0, 2), 69: ("B", 0, False), 70: ("B", 0, False),
    76: ("H", 1920, True), 78: ("H", 100, True), 80: ("H", 0, True), 82: ("H", 0, True), 84: ("H", 800, True), 88: ("H", 0, True),
    90: ("H", 0, True), 98: ("b", 0, True, 0, 127), 100: ("h", 885, True), 102: ("h", 1193, True), 104: ("i", 0, True),
    108: ("I", 0, True, 0, 32767), 112: ("I", 0, True, 0, 32767), 116: ("i", 0, True, -1048575, 1048575), 120: ("H", 0, False),
    122: ("B", 0, False), 123: ("B", 0, False), 124: ("h", 0, False), 126: ("h", 0, False), 128: ("i", 0, False),
    132: ("i", 0, False), 136: ("i", 0, False), 140: ("i", 0, False), 144: ("H", 120, False), 146: ("B", 30, False),
    **{168 + 2 * k: ("H", 224 + k, True) for k in range(28)}, _TEST: ("H", 0, True)}
_EEPROM = 64                # below: kept without supply, locked under power
_INDIRECT, _DATA, _MANY = 168, 224, 28
_FAIL, _UNKNOWN, _RANGE, _LENGTH, _LIMIT, _ACCESS, _ALERT = 1, 2, 4, 5, 6, 7, 0x80
_PING, _READ, _WRITE, _REBOOT, _SYNC_READ, _SYNC_WRITE, _ALL = 0x01, 0x02, 0x03, 0x08, 0x82, 0x83, 0xFE


def crc16(data: bytes) -> int:
    """CRC-16 with polynomial 0x8005, most significant bit first, from zero."""
    crc = 0
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x8005 if crc & 0x8000 else crc << 1) & 0xFFFF
    return crc


def frame(servo: int, instruction: int, rest: bytes) -> bytes:
    """A packet: header, id, length, stuffed instruction and parameters, CRC."""
    body = (bytes([instruction]) + rest).replace(b"\xff\xff\xfd", b"\xff\xff\xfd\xfd")
    packet = b"\xff\xff\xfd\x00" + struct.pack("<BH", servo, len(body) + 2) + body
    return packet + struct.pack("<H", crc16(packet))


def frames(buffer: bytearray) -> Iterator[tuple[int, int, bytes]]:
    """Take whole packets out of a buffer: id, instruction, parameters. What is damaged is skipped."""
    while True:
        start = buffer.find(b"\xff\xff\xfd\x00")
        del buffer[:start if start >= 0 else max(0, len(buffer) - 3)]
        if len(buffer) < 7:
            return
        end = 7 + struct.unpack_from("<H", buffer, 5)[0]
        if not 10 <= end <= 1024:
            del buffer[0]
            continue
        if len(buffer) < end:
            return
        packet = bytes(buffer[:end])
        if crc16(packet[:-2]) != struct.unpack("<H", packet[-2:])[0]:
            del buffer[0]
            continue
        del buffer[:end]
        body = packet[7:-2].replace(b"\xff\xff\xfd\xfd", b"\xff\xff\xfd")
        yield packet[4], body[0], body[1:]


class _Refused(Exception):
    def __init__(self, error: int) -> None:
        super().__init__(error)
        self.error = error


class Servo(Electronics):
    """One servo: control table, profile, position loop, watchdog."""

    usual_fault = _OVERLOAD

    def __init__(self, drive: Drive) -> None:
        keys: dict[str, Any] = drive.table.drive
        self.drive = drive
        number, ampere, constant, self._fastest = _MODELS[keys["model"]]
        reduction = keys.get("reduction", 1.0)
        turn = drive.table.direction / reduction
        self._count, self._speed = turn * 2.0 * math.pi / _TURN, turn * _UNIT           # rad and rad/s at the joint
        self._torque = drive.table.direction * ampere * keys.get("torque_constant", constant) * reduction
        self.values: dict[int, int] = {address: item[1] for address, item in _ITEMS.items()}
        self.values.update({_MODEL: number, _ID: keys["id"]})
        self.boot()

    @property
    def id(self) -> int:
        """Its id."""
        return self.values[_ID]

    @property
    def _horn(self) -> float:
        """Where the horn is, in counts: a servo that starts knows its place within a turn only."""
        return (self.drive.q - self.drive.table.zero_offset) / self._count + _TURN / 2 - self._turns * _TURN

    def boot(self) -> None:
        """Supply comes, or a reboot: what is not in the EEPROM is forgotten."""
        self.values.update({address: item[1] for address, item in _ITEMS.items() if address >= _EEPROM})
        self._turns, self._effort = 0, 0.0
        self._turns = math.floor(self._horn / _TURN)
        self._place, self._rate, self._until = self._horn, 0.0, 0.0         # of the profile, counts and counts/s
        self._heard = self._now = time.monotonic()
        self._power(False)

    def _power(self, on: bool) -> None:
        self.values[_TORQUE] = int(on)
        if not on:
            self.drive.let_go()
        self._place, self._rate, self._until = float(round(self._horn)), 0.0, 0.0
        if on:
            self.drive.power, self.drive.target = "velocity", 0.0
            self._head()

    def fault(self, bits: int) -> None:
        """What is to shut it down leaves it without power until a reboot."""
        self.values[_ERROR] |= bits
        if bits & self.values[_SHUTDOWN]:
            self._power(False)

    # motion

    def _head(self) -> None:
        """Begin the way to the goal, whatever stands there, also if it is old."""
        if self.values[_MODE] not in (3, 4, 5) or not self.values[_TORQUE] or self.values[_WATCHDOG] < 0:
            return
        way, setting = self.values[_GOAL] - self._place, self.values[_PROFILE_TIME]
        if not setting:
            self._place, self._rate, self._until = float(self.values[_GOAL]), 0.0, self._now
        elif self.values[_DRIVE_MODE] & 4:
            self._rate, self._until = way / (setting / 1000.0), self._now + setting / 1000.0
        else:
            rate = setting * _UNIT * _TURN / (2.0 * math.pi)
            self._rate, self._until = math.copysign(rate, way), self._now + abs(way) / rate

    def tick(self) -> None:
        """What happens by the clock: watchdog, profile, position loop."""
        now = time.monotonic()
        passed, self._now = now - self._now, now
        self._effort += min(1.0, passed / _SMOOTH) * (self.drive.tau - self._effort)
        if not self.values[_TORQUE]:
            return
        if 0 < self.values[_WATCHDOG] < (now - self._heard) / 0.02:
            self.values[_WATCHDOG] = -1
            self.values[_GOAL_VELOCITY] = 0
            self._place, self._rate = float(round(self._horn)), 0.0
        if self.values[_MODE] == 1:
            self.drive.target = self.values[_GOAL_VELOCITY] * self._speed
            return
        if self._rate:
            self._place += self._rate * passed
            if now >= self._until:
                self._place, self._rate = float(self.values[_GOAL]), 0.0
        away = self._place - self._horn
        away -= min(max(away, -0.5), 0.5)                                   # closer than the encoder sees
        fastest = self._fastest * _TURN / (2.0 * math.pi)
        rate = min(max(self._rate + _GAIN * away, -fastest), fastest)
        self.drive.target = rate * self._count

    def _measure(self) -> None:
        values, drive = self.values, self.drive
        values[_POSITION] = math.floor(self._horn + 0.5)
        values[_VELOCITY] = round(drive.dq / self._speed)
        values[_CURRENT] = max(-32768, min(32767, round(self._effort / self._torque)))

    # instructions

    def answer(self, instruction: int, parameters: bytes) -> bytes | None:
        """Status packet of an instruction to this servo alone."""
        data, error = b"", 0
        try:
            if instruction == _PING:
                data = struct.pack("<HB", self.values[_MODEL], self.values[_FIRMWARE])
            elif instruction == _READ:
                if len(parameters) != 4:
                    raise _Refused(_LENGTH)
                data = self.read(*struct.unpack("<HH", parameters))
            elif instruction == _WRITE:
                if len(parameters) < 3:
                    raise _Refused(_LENGTH)
                self.write(struct.unpack_from("<H", parameters)[0], parameters[2:])
            elif instruction == _REBOOT:
                self.boot()
            else:
                raise _Refused(_UNKNOWN)
        except _Refused as refused:
            error = refused.error
        level = self.values[_LEVEL]
        quiet = (level == 0 and instruction != _PING) or (level == 1 and instruction not in (_PING, _READ))
        return None if quiet or self.silent else self.status(error, data)

    def status(self, error: int, data: bytes) -> bytes:
        """A status packet, with the alert where there is a hardware error."""
        return frame(self.id, 0x55, bytes([error | _ALERT * bool(self.values[_ERROR])]) + data)

    def read(self, address: int, length: int) -> bytes:
        """Bytes of the control table; indirect data stand for what their addresses say."""
        self._measure()
        return b"".join(self._byte(place) for place in range(address, address + length))

    def _byte(self, place: int) -> bytes:
        if _DATA <= place < _DATA + _MANY:
            there = self.values[_INDIRECT + 2 * (place - _DATA)]
            return self._byte(there) if not _DATA <= there < _DATA + _MANY else b"\0"
        for start in range(place, max(-1, place - 4), -1):
            if start in _ITEMS:
                whole = struct.pack("<" + _ITEMS[start][0], self.values[start])
                return whole[place - start:place - start + 1] or b"\0"
        return b"\0"

    def write(self, address: int, data: bytes) -> None:
        """Whole items one after the other."""
        while data:
            if address not in _ITEMS:
                raise _Refused(_ACCESS)
            form, _, writable, *ends = _ITEMS[address]
            size = struct.calcsize(form)
            if len(data) < size:
                raise _Refused(_LENGTH)
            locked = self.values[_TORQUE] and (address < _EEPROM or _INDIRECT <= address < _DATA)
            if not writable or locked:
                raise _Refused(_ACCESS)
            value = struct.unpack("<" + form, data[:size])[0]
            if (ends and not ends[0] <= value <= ends[1]) or (address in _GOALS and self.values[_WATCHDOG] < 0):
                raise _Refused(_RANGE)
            self._set(address, value)
            address, data = address + size, data[size:]

    def _set(self, address: int, value: int) -> None:
        if address == _TEST:
            self.suffer(value)
            return
        before, self.values[address] = self.values[address], value
        current = min(self.values[38], self.values[_GOAL_CURRENT]) if self.values[_MODE] == 5 else self.values[38]
        self.drive.most = abs(current * self._torque)
        if address == _TORQUE and value != before:
            if value and self.values[_ERROR] & self.values[_SHUTDOWN]:
                self.values[_TORQUE] = 0
                raise _Refused(_FAIL)
            self._power(bool(value))
        elif address == _MODE:
            self.values.update({108: 0, _PROFILE_TIME: 0, _GOAL_CURRENT: self.values[38]})
        elif address == _GOAL:
            self._head()

    def hear(self) -> None:
        """Any instruction packet on the line keeps the watchdog quiet."""
        self._heard = time.monotonic()


class Emulator:
    """All servos of an arm on one line, in this process."""

    def __init__(self, arm: ArmFile, seed: int | None = None) -> None:
        extra = dict(arm.driver.model_extra or {})
        self.body = Body(arm, seed)
        self._servos = [Servo(drive) for drive in self.body.drives]
        self._byte = 10.0 / float(extra.get("baud_rate", 1_000_000))        # s on the wire
        self._line = TcpLine(extra["port"]) if "://" in extra["port"] else _Pty(Path(extra["port"]))
        self.address = str(extra["port"])

    def serve(self, going: Callable[[], bool] = lambda: True) -> None:
        """Answer what comes while `going`."""
        while going():
            came = self._line.receive(_POLL)
            self._advance()
            for buffer, send in came:
                for servo, instruction, parameters in frames(buffer):
                    began = time.monotonic()
                    for awake in self._awake():
                        awake.hear()
                    replies = list(self._answer(servo, instruction, parameters))
                    if replies:
                        wire = self._byte * (10 + len(parameters) + sum(map(len, replies)))
                        delay = 2e-6 * sum(heard.values[_DELAY] for heard in self._servos[:len(replies)])
                        time.sleep(max(0.0, wire + delay - (time.monotonic() - began)))
                        send(b"".join(replies))

    def suffer(self, joint: int, what: str) -> None:
        """Let the servo of a joint fall "silent" and deaf, be "reset", or have a "fault"."""
        self._servos[joint].befall(what)

    def _awake(self) -> list[Servo]:
        return [servo for servo in self._servos if not servo.silent]

    def _advance(self) -> None:
        self.body.advance()
        for servo in self._servos:
            servo.tick()

    def _answer(self, servo: int, instruction: int, parameters: bytes) -> Iterator[bytes]:
        by_id = {one.id: one for one in self._awake()}
        if servo == _ALL and instruction == _SYNC_READ and len(parameters) > 4:
            address, length = struct.unpack_from("<HH", parameters)
            for one in map(by_id.get, parameters[4:]):          # each waits for the one before it
                if one is None or one.values[_LEVEL] == 0:
                    return
                yield one.status(0, one.read(address, length))
        elif servo == _ALL and instruction == _SYNC_WRITE and len(parameters) > 4:
            address, length = struct.unpack_from("<HH", parameters)
            rest = parameters[4:]
            for k in range(0, len(rest) - length, length + 1):
                if rest[k] in by_id:
                    with suppress(_Refused):
                        by_id[rest[k]].write(address, rest[k + 1:k + 1 + length])
        else:
            for one in by_id.values():
                if servo in (one.id, _ALL):
                    reply = one.answer(instruction, parameters)
                    if reply and (servo != _ALL or instruction == _PING):
                        yield reply

    def close(self) -> None:
        """Leave the line."""
        self._line.close()


class TcpLine:
    """A line behind a TCP port; all who connect are on it."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme != "socket" or parts.port is None:
            raise InputError(f"driver.port = {url!r}: an emulator listens on socket://host:port or on a pty of its own")
        try:
            self._listener = socket.create_server((parts.hostname or "127.0.0.1", parts.port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise InputError(f"driver.port = {url!r}: another program, as an emulator, listens there; end that one, or give "
                                 "another port") from error
            raise
        self._clients: dict[socket.socket, bytearray] = {}

    def receive(self, timeout: float) -> list[tuple[bytearray, Callable[[bytes], None]]]:
        """Buffers to which bytes have come, each with a way to answer."""
        came = []
        for one in select.select([self._listener, *self._clients], [], [], timeout)[0]:
            if one is self._listener:
                client, _ = one.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._clients[client] = bytearray()
                continue
            try:
                data = one.recv(4096)
            except OSError:
                data = b""
            if not data:
                self._clients.pop(one)
                one.close()
                continue
            self._clients[one] += data
            came.append((self._clients[one], _sender(one)))
        return came

    def close(self) -> None:
        """Everybody is disconnected."""
        for one in (*self._clients, self._listener):
            one.close()


def _sender(client: socket.socket) -> Callable[[bytes], None]:
    def send(data: bytes) -> None:
        with suppress(OSError):
            client.sendall(data)

    return send


class _Pty:
    """A line at a pty, found by a link at the path that the arm file names."""

    def __init__(self, path: Path) -> None:
        import tty

        if path.exists():
            raise InputError(f"driver.port = \"{path}\" is there already; an emulator makes a pty of its own and links it from a "
                             "path that is free")
        self._path, self._buffer = path, bytearray()
        self._master, self._slave = os.openpty()                # the slave stays open, that clients may come and go
        tty.setraw(self._slave)
        path.unlink(missing_ok=True)                            # a link to a pty that is gone
        path.symlink_to(os.ttyname(self._slave))

    def receive(self, timeout: float) -> list[tuple[bytearray, Callable[[bytes], None]]]:
        """As of `TcpLine`."""
        if not select.select([self._master], [], [], timeout)[0]:
            return []
        self._buffer += os.read(self._master, 4096)
        return [(self._buffer, self._send)]

    def _send(self, data: bytes) -> None:
        os.write(self._master, data)

    def close(self) -> None:
        """The link goes with the pty."""
        self._path.unlink(missing_ok=True)
        os.close(self._master)
        os.close(self._slave)
