"""Disturbed connection between computer and drives: a bus or serial line loses, delays,
doubles, swaps or damages frames.
"""

import heapq
import time
from collections.abc import Callable
from typing import Any, ClassVar

import can
import numpy as np
import serial
from can.interfaces import BACKENDS
from can.interfaces.udp_multicast import UdpMulticastBus
from serial.urlhandler import protocol_socket

from stribeck.drivers.emulators import servo_line
from stribeck.drivers.emulators.servo_line import Received, TcpLine

LOST = 0.01  # part of the frames that is lost,
DELAYED = 0.05  # delayed, together with all later frames,
DOUBLED = 0.05  # sent twice,
SWAPPED = 0.05  # overtaken by the next frame;
DAMAGED = 0.01  # fraction of the replies that is damaged
DELAY = 0.008  # s, the longest delay
# s; a held frame is sent after this time even if no other frame overtakes it
_OVERTAKEN = 0.005
_POLL = 0.001  # s; interval at which waiting frames are checked

WIRES = (
    "frames lost",
    "frames delayed",
    "frames doubled",
    "frames swapped",
    "replies damaged",
    "cable out",
)


class Way:
    """Queue of one direction of a bus: frames enter, and leave at their delivery time.

    Parameters
    ----------
    fault : str
        One of `WIRES`; any other fault leaves frames unchanged.
    begins : callable
        Returns the start time of the fault, by `time.monotonic`.
    replies : bool
        True for frames from the drives.
    damage : callable
        Returns a damaged copy of a frame.
    seed : int
        Seed of the random choice of frames.
    """

    def __init__(
        self,
        fault: str,
        begins: Callable[[], float],
        replies: bool,
        damage: Callable[[Any, np.random.Generator], Any],
        seed: int,
    ) -> None:
        self._fault, self._begins, self._replies, self._damage = fault, begins, replies, damage
        self._rng = np.random.default_rng(seed)
        self._waiting: list[tuple[float, int, Any]] = []
        self._held: tuple[float, Any] | None = None
        self._last = 0.0  # delivery time of the last frame that keeps its order
        self._number = 0

    def put(self, frame: Any) -> None:
        """Put a frame into the queue."""
        now = time.monotonic()
        fault, chance = self._fault if now >= self._begins() else "", self._rng.random()
        if fault == "cable out" or (fault == "frames lost" and chance < LOST):
            return
        if fault == "replies damaged" and self._replies and chance < DAMAGED:
            frame = self._damage(frame, self._rng)
        if fault == "frames swapped" and chance < SWAPPED and self._held is None:
            self._held = now + _OVERTAKEN, frame
            return
        self._last = max(self._last, now)
        if fault == "frames delayed" and chance < DELAYED:
            self._last += self._rng.uniform(0.0, DELAY)
        self._wait(self._last, frame)
        if fault == "frames doubled" and chance < DOUBLED:
            self._wait(self._last, frame)
        self._let_go(now)

    def _wait(self, due: float, frame: Any) -> None:
        self._number += 1
        heapq.heappush(self._waiting, (due, self._number, frame))

    def _let_go(self, now: float) -> None:
        """Release the overtaken frame."""
        if self._held is not None:
            self._wait(now, self._held[1])
            self._held = None

    def due(self) -> Any | None:
        """Return the next frame that is due now."""
        now = time.monotonic()
        if self._held is not None and self._held[0] <= now:
            self._let_go(now)
        if self._waiting and self._waiting[0][0] <= now:
            return heapq.heappop(self._waiting)[2]
        return None


def damaged(data: bytes, rng: np.random.Generator) -> bytes:
    """Return the data with another length or with changed bits."""
    if rng.random() < 0.3:
        return rng.bytes(int(rng.integers(0, len(data) + 2)))
    spoiled = bytearray(data)
    for _ in range(int(rng.integers(1, 4)) if data else 0):
        spoiled[int(rng.integers(len(spoiled)))] ^= 1 << int(rng.integers(8))
    return bytes(spoiled)


def damaged_message(message: can.Message, rng: np.random.Generator) -> can.Message:
    """Return a frame with the same identifier and damaged data."""
    return can.Message(
        arbitration_id=message.arbitration_id,
        data=damaged(bytes(message.data), rng)[:8],
        is_extended_id=message.is_extended_id,
    )


class SpoiledBus(UdpMulticastBus):
    """Drive side of a bus with disturbed frames; `spoil_frames` sets its attributes."""

    fault: ClassVar[str] = ""
    begins: ClassVar[Callable[[], float]]
    seed: ClassVar[int] = 0

    def __init__(self, *arguments: Any, **keys: Any) -> None:
        begins = type(self).begins
        self._ways = [
            Way(self.fault, begins, replies, damaged_message, self.seed + replies)
            for replies in (False, True)
        ]
        super().__init__(*arguments, **keys)

    def send(self, msg: can.Message, timeout: float | None = None) -> None:
        """A reply."""
        self._ways[True].put(msg)
        self._deliver()

    def _deliver(self) -> None:
        while (reply := self._ways[True].due()) is not None:
            super().send(reply)

    def _recv_internal(self, timeout: float | None) -> tuple[can.Message | None, bool]:
        self._deliver()
        message, _ = super()._recv_internal(min(_POLL, _POLL if timeout is None else timeout))
        if message is not None:
            self._ways[False].put(message)
        frame = self._ways[False].due()
        if frame is not None:
            frame.timestamp = time.time()
        return frame, False


class BrokenBus(UdpMulticastBus):
    """Computer side of a bus whose adapter fails; `break_bus` sets its attribute."""

    begins: ClassVar[Callable[[], float]]

    def _fail(self) -> None:
        if time.monotonic() >= type(self).begins():
            raise can.CanOperationError("No such device")

    def send(self, msg: can.Message, timeout: float | None = None) -> None:
        """Until it fails."""
        self._fail()
        super().send(msg, timeout)

    def _recv_internal(self, timeout: float | None) -> tuple[can.Message | None, bool]:
        self._fail()
        return super()._recv_internal(timeout)


_HEADER = b"\xff\xff\xfd\x00"  # header of a Dynamixel packet


def packets(data: bytes) -> list[bytes]:
    """Split the bytes of one write into packets."""
    first, *others = data.split(_HEADER)
    return [part for part in (first, *(_HEADER + other for other in others)) if part]


class SpoiledLine(TcpLine):
    """Servo side of a serial line with disturbed packets; `spoil_frames` sets its attributes."""

    fault: ClassVar[str] = ""
    begins: ClassVar[Callable[[], float]]
    seed: ClassVar[int] = 0

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._asked, self._told = (
            Way(self.fault, type(self).begins, replies, self._damage, self.seed + replies)
            for replies in (False, True)
        )
        self._buffer = bytearray()
        self._answer: Callable[[bytes, float], None] = lambda data, after: None

    @staticmethod
    def _damage(packet: bytes, rng: np.random.Generator) -> bytes:
        return damaged(packet, rng)

    def receive(self, timeout: float) -> list[Received]:
        """Deliver the packets that are due now, in both directions."""
        self._deliver()
        for buffer, self._answer in super().receive(timeout):
            for packet in packets(bytes(buffer)):
                self._asked.put(packet)
            buffer.clear()
        before = len(self._buffer)
        while (due := self._asked.due()) is not None:
            self._buffer += due
        return [(self._buffer, self._reply)] if len(self._buffer) > before else []

    def _reply(self, data: bytes, after: float) -> None:
        time.sleep(after)
        for packet in packets(data):
            self._told.put(packet)
        self._deliver()

    def _deliver(self) -> None:
        while (packet := self._told.due()) is not None:
            self._answer(packet, 0.0)


class BrokenLine(protocol_socket.Serial):
    """Computer side of a serial line whose adapter fails; `break_bus` sets its attribute."""

    begins: ClassVar[Callable[[], float]]

    def _fail(self) -> None:
        if time.monotonic() >= type(self).begins():
            raise serial.SerialException("device disconnected")

    def read(self, size: int = 1) -> bytes:
        """Until it fails."""
        self._fail()
        return bytes(super().read(size))

    def write(self, b: Any, /) -> int:
        """Until it fails."""
        self._fail()
        return int(super().write(b) or 0)


def spoil_frames(fault: str, begins: Callable[[], float], seed: int) -> None:
    """Disturb the frames of all buses and lines that this process opens as drives from now on."""
    for end in (SpoiledBus, SpoiledLine):
        end.fault, end.begins, end.seed = fault, staticmethod(begins), seed
    BACKENDS["udp_multicast"] = (__name__, "SpoiledBus")
    servo_line.TcpLine = SpoiledLine  # type: ignore[misc]


def break_bus(begins: Callable[[], float]) -> None:
    """Let all buses and lines that this process opens from now on fail at the given time."""
    BrokenBus.begins = BrokenLine.begins = staticmethod(begins)
    BACKENDS["udp_multicast"] = (__name__, "BrokenBus")
    protocol_socket.Serial = BrokenLine
