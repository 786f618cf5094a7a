"""One emulated Dynamixel X servo with its joint: control table, profile,
position loop and watchdog.
"""

import math
import struct
from typing import Any

from stribeck.drivers.emulators import control_table as table
from stribeck.drivers.emulators.body import Drive, Electronics
from stribeck.drivers.emulators.dynamixel_packets import frame

_OVERLOAD = 0x20  # bit of the hardware error status
_GAIN = 40.0  # 1/s, gain of the position loop
_SMOOTH = 0.005  # s, time constant of the filter of the current
_UNIT = 0.229 * 2.0 * math.pi / 60.0  # rad/s per count of velocity
_TURN = 4096  # counts per turn
_FAIL, _UNKNOWN, _RANGE, _LENGTH, _LIMIT, _ACCESS, _ALERT = 1, 2, 4, 5, 6, 7, 0x80
PING, READ, WRITE, REBOOT = 0x01, 0x02, 0x03, 0x08
# address of each byte in the table: address and form of its item
_ITEM_AT = {
    start + k: (start, "<" + item[0])
    for start, item in table.ITEMS.items()
    for k in range(struct.calcsize("<" + item[0]))
}


class Refused(Exception):
    """A servo refuses an instruction; `error` is the error number in its answer."""

    def __init__(self, error: int) -> None:
        super().__init__(error)
        self.error = error


class Servo(Electronics):
    """One servo: control table, profile, position loop, watchdog."""

    usual_fault = _OVERLOAD

    def __init__(self, drive: Drive) -> None:
        keys: dict[str, Any] = drive.table.drive
        self.drive = drive
        number, ampere, constant, self._fastest = table.MODELS[keys["model"]]
        reduction = keys.get("reduction", 1.0)
        turn = drive.table.direction / reduction
        # rad and rad/s at the joint
        self._count, self._speed = turn * 2.0 * math.pi / _TURN, turn * _UNIT
        self._torque = (
            drive.table.direction * ampere * keys.get("torque_constant", constant) * reduction
        )
        self.values: dict[int, int] = {address: item[1] for address, item in table.ITEMS.items()}
        self.values.update({table.MODEL: number, table.ID: keys["id"]})
        self.boot()

    @property
    def id(self) -> int:
        """Id of the servo."""
        return self.values[table.ID]

    @property
    def _horn(self) -> float:
        """Position of the horn in counts; after a start the servo knows its
        position within one turn only.
        """
        return (
            (self.drive.q - self.drive.table.zero_offset) / self._count
            + _TURN / 2
            - self._turns * _TURN
        )

    def boot(self) -> None:
        """Start after power-on or a reboot: items outside the EEPROM get their factory values."""
        self.values.update(
            {address: item[1] for address, item in table.ITEMS.items() if address >= table.EEPROM}
        )
        self._turns, self._effort = 0, 0.0
        self._turns = math.floor(self._horn / _TURN)
        # state of the profile: counts, counts/s, end time
        self._place, self._rate, self._until = self._horn, 0.0, 0.0
        self._heard = self._now = self.drive.clock.now()
        self._power(False)

    def _power(self, on: bool) -> None:
        self.values[table.TORQUE] = int(on)
        if not on:
            self.drive.let_go()
        self._place, self._rate, self._until = float(round(self._horn)), 0.0, 0.0
        if on:
            self.drive.power, self.drive.target = "velocity", 0.0
            self._head()

    def fault(self, bits: int) -> None:
        """Set hardware errors; an error in the shutdown mask switches power off until a reboot."""
        self.values[table.ERROR] |= bits
        if bits & self.values[table.SHUTDOWN]:
            self._power(False)

    # motion

    def _head(self) -> None:
        """Begin the profile to the goal in the control table, even if this goal is old."""
        if (
            self.values[table.MODE] not in (3, 4, 5)
            or not self.values[table.TORQUE]
            or self.values[table.WATCHDOG] < 0
        ):
            return
        way, setting = self.values[table.GOAL] - self._place, self.values[table.PROFILE_TIME]
        if not setting:
            self._place, self._rate, self._until = float(self.values[table.GOAL]), 0.0, self._now
        elif self.values[table.DRIVE_MODE] & 4:
            self._rate, self._until = way / (setting / 1000.0), self._now + setting / 1000.0
        else:
            rate = setting * _UNIT * _TURN / (2.0 * math.pi)
            self._rate, self._until = math.copysign(rate, way), self._now + abs(way) / rate

    def tick(self) -> None:
        """Do the work that depends on time: watchdog, profile, position loop."""
        now = self.drive.clock.now()
        passed, self._now = now - self._now, now
        self._effort += min(1.0, passed / _SMOOTH) * (self.drive.tau - self._effort)
        if not self.values[table.TORQUE]:
            return
        if 0 < self.values[table.WATCHDOG] < (now - self._heard) / 0.02:
            self.values[table.WATCHDOG] = -1
            self.values[table.GOAL_VELOCITY] = 0
            self._place, self._rate = float(round(self._horn)), 0.0
        if self.values[table.MODE] == 1:
            self.drive.target = self.values[table.GOAL_VELOCITY] * self._speed
            return
        if self._rate:
            self._place += self._rate * passed
            if now >= self._until:
                self._place, self._rate = float(self.values[table.GOAL]), 0.0
        away = self._place - self._horn
        # below the resolution of the encoder
        away -= min(max(away, -0.5), 0.5)
        fastest = self._fastest * _TURN / (2.0 * math.pi)
        rate = min(max(self._rate + _GAIN * away, -fastest), fastest)
        self.drive.target = rate * self._count

    def _measure(self) -> None:
        values, drive = self.values, self.drive
        values[table.POSITION] = math.floor(self._horn + 0.5)
        values[table.VELOCITY] = round(drive.dq / self._speed)
        values[table.CURRENT] = max(-32768, min(32767, round(self._effort / self._torque)))

    # instructions

    def answer(self, instruction: int, parameters: bytes) -> bytes | None:
        """Return the status packet for an instruction to this servo alone; None if
        the servo does not answer.
        """
        data, error = b"", 0
        try:
            if instruction == PING:
                data = struct.pack("<HB", self.values[table.MODEL], self.values[table.FIRMWARE])
            elif instruction == READ:
                if len(parameters) != 4:
                    raise Refused(_LENGTH)
                data = self.read(*struct.unpack("<HH", parameters))
            elif instruction == WRITE:
                if len(parameters) < 3:
                    raise Refused(_LENGTH)
                self.write(struct.unpack_from("<H", parameters)[0], parameters[2:])
            elif instruction == REBOOT:
                self.boot()
            else:
                raise Refused(_UNKNOWN)
        except Refused as refused:
            error = refused.error
        level = self.values[table.LEVEL]
        quiet = (level == 0 and instruction != PING) or (
            level == 1 and instruction not in (PING, READ)
        )
        return None if quiet or self.silent else self.status(error, data)

    def status(self, error: int, data: bytes) -> bytes:
        """Return a status packet, with the alert bit if there is a hardware error."""
        return frame(self.id, 0x55, bytes([error | _ALERT * bool(self.values[table.ERROR])]) + data)

    def read(self, address: int, length: int) -> bytes:
        """Return bytes of the control table; indirect data are replaced by the
        items at their addresses.
        """
        self._measure()
        return b"".join(self._byte(place) for place in range(address, address + length))

    def _byte(self, place: int) -> bytes:
        if table.DATA <= place < table.DATA + table.MANY:
            there = self.values[table.INDIRECT + 2 * (place - table.DATA)]
            return self._byte(there) if not table.DATA <= there < table.DATA + table.MANY else b"\0"
        if place not in _ITEM_AT:
            return b"\0"
        start, form = _ITEM_AT[place]
        return struct.pack(form, self.values[start])[place - start : place - start + 1]

    def write(self, address: int, data: bytes) -> None:
        """Write complete items one after the other."""
        while data:
            if address not in table.ITEMS:
                raise Refused(_ACCESS)
            form, _, writable, *ends = table.ITEMS[address]
            size = struct.calcsize(form)
            if len(data) < size:
                raise Refused(_LENGTH)
            locked = self.values[table.TORQUE] and (
                address < table.EEPROM or table.INDIRECT <= address < table.DATA
            )
            if not writable or locked:
                raise Refused(_ACCESS)
            value = struct.unpack("<" + form, data[:size])[0]
            if (ends and not ends[0] <= value <= ends[1]) or (
                address in table.GOALS and self.values[table.WATCHDOG] < 0
            ):
                raise Refused(_RANGE)
            self._set(address, value)
            address, data = address + size, data[size:]

    def _set(self, address: int, value: int) -> None:
        if address == table.TEST:
            self.suffer(value)
            return
        before, self.values[address] = self.values[address], value
        current = (
            min(self.values[38], self.values[table.GOAL_CURRENT])
            if self.values[table.MODE] == 5
            else self.values[38]
        )
        self.drive.most = abs(current * self._torque)
        if address == table.TORQUE and value != before:
            if value and self.values[table.ERROR] & self.values[table.SHUTDOWN]:
                self.values[table.TORQUE] = 0
                raise Refused(_FAIL)
            self._power(bool(value))
        elif address == table.MODE:
            self.values.update({108: 0, table.PROFILE_TIME: 0, table.GOAL_CURRENT: self.values[38]})
        elif address == table.GOAL:
            self._head()

    def hear(self) -> None:
        """Restart the watchdog; any instruction packet on the line does so."""
        self._heard = self.drive.clock.now()
