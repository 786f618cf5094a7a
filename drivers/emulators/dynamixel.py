"""Dynamixel X servos on a pty or behind a TCP port, with the simulated arm behind them.

Written only from the e-Manual (Protocol 2.0, its CRC, control tables of the X series). This code
builds and unpacks packets itself and uses none of the driver's code.
"""

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from stribeck.drivers.emulators import control_table as table
from stribeck.drivers.emulators.body import Body
from stribeck.drivers.emulators.dynamixel_packets import frames
from stribeck.drivers.emulators.emulated_servo import PING, Refused, Servo
from stribeck.drivers.emulators.servo_line import Line, Received, open_line
from stribeck.drivers.wire.clock import REAL_TIME, Clock
from stribeck.ident.arm.arm_file import ArmFile

_SYNC_READ, _SYNC_WRITE, _ALL = 0x82, 0x83, 0xFE


class Emulator:
    """All servos of an arm on one line, in this process."""

    def __init__(
        self,
        arm: ArmFile,
        seed: int | None = None,
        line: Line | None = None,
        clock: Clock = REAL_TIME,
    ) -> None:
        extra = dict(arm.driver.model_extra or {})
        self.body, self._clock = Body(arm, seed, clock=clock), clock
        self._servos = [Servo(drive) for drive in self.body.drives]
        self._byte = 10.0 / float(extra.get("baud_rate", 1_000_000))  # s per byte on the wire
        self._acted = clock.now()
        self._line: Any = line or open_line(str(extra["port"]))
        self.address = str(extra["port"])

    def serve(self, going: Callable[[], bool] = lambda: True) -> None:
        """Answer packets while `going()` is true."""
        while going():
            self._react(self._line.receive(self.body.patience))

    def due(self) -> float:
        """Time of the next act on a line in memory: bytes arrive, or servos look at their
        clocks [s].
        """
        return min(self._acted + self.body.interval, self._line.due())

    def act(self) -> None:
        """Answer packets on a line in memory that have arrived, and let time pass."""
        self._acted = self._clock.now()
        self._react(self._line.receive(0.0))

    def _react(self, came: Sequence[Received]) -> None:
        """Let time pass and answer the packets in the buffers of clients."""
        self._advance()
        for buffer, send in came:
            for servo, instruction, parameters in frames(buffer):
                began = self._clock.now()
                for awake in self._awake():
                    awake.hear()
                replies = list(self._answer(servo, instruction, parameters))
                if replies:
                    wire = self._byte * (10 + len(parameters) + sum(map(len, replies)))
                    delay = 2e-6 * sum(
                        heard.values[table.DELAY] for heard in self._servos[: len(replies)]
                    )
                    passed = self._clock.now() - began
                    send(b"".join(replies), max(0.0, wire + delay - passed))

    def suffer(self, joint: int, what: str) -> None:
        """Cause a fault of a joint's servo: "silent" (it neither sends nor
        receives), "reset" or "fault".
        """
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
            # each servo waits for the answer of the servo before it
            for one in map(by_id.get, parameters[4:]):
                if one is None or one.values[table.LEVEL] == 0:
                    return
                yield one.status(0, one.read(address, length))
        elif servo == _ALL and instruction == _SYNC_WRITE and len(parameters) > 4:
            address, length = struct.unpack_from("<HH", parameters)
            rest = parameters[4:]
            for k in range(0, len(rest) - length, length + 1):
                if rest[k] in by_id:
                    with suppress(Refused):
                        by_id[rest[k]].write(address, rest[k + 1 : k + 1 + length])
        else:
            for one in by_id.values():
                if servo in (one.id, _ALL):
                    reply = one.answer(instruction, parameters)
                    if reply and (servo != _ALL or instruction == PING):
                        yield reply

    def close(self) -> None:
        """Leave the line."""
        self._line.close()
