"""A CAN bus and a serial line in memory, for emulated drives in the same process and in virtual
time. They have no threads: a frame waits in the queues of its readers until it has arrived.
"""

import copy
import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import Self
from weakref import WeakSet

import can

from stribeck.drivers.wire.clock import VirtualClock
from stribeck.drivers.wire.transport import can_bits

_QUEUE = 1000  # frames that an interface keeps for a reader that does not read


class MemoryBus:
    """A CAN bus that carries one frame after the other at its bit rate; `join` gives each
    program and each group of drives its own interface.
    """

    def __init__(self, clock: VirtualClock, bit_rate: float) -> None:
        self.clock, self._bit_rate = clock, bit_rate
        self._free = 0.0  # time at which the bus has carried all frames
        self._interfaces: WeakSet[MemoryInterface] = WeakSet()

    def join(self) -> "MemoryInterface":
        """Return a new interface."""
        interface = MemoryInterface(self)
        self._interfaces.add(interface)
        return interface

    def carry(self, sender: "MemoryInterface", message: can.Message) -> None:
        """Bring a frame to all interfaces but the sender's."""
        bits = can_bits(len(message.data), message.is_extended_id)
        self._free = max(self._free, self.clock.now()) + bits / self._bit_rate
        carried = copy.copy(message)
        carried.timestamp = self.clock.since_1970() + self._free - self.clock.now()
        for interface in self._interfaces:
            if interface is not sender:
                interface.queue(self._free, carried)

    def leave(self, interface: "MemoryInterface") -> None:
        """Bring no more frames to an interface."""
        self._interfaces.discard(interface)


class MemoryInterface:
    """The part of python-can's `BusABC` that drivers and emulators use."""

    channel_info = "a bus in memory"

    def __init__(self, bus: MemoryBus) -> None:
        self._bus, self._clock = bus, bus.clock
        self._frames: deque[tuple[float, can.Message]] = deque()
        self._listeners: Sequence[can.Listener] = ()

    def queue(self, arrives: float, message: can.Message) -> None:
        """Keep a frame until it is read; a full queue loses it."""
        if len(self._frames) < _QUEUE:
            self._frames.append((arrives, message))

    def send(self, msg: can.Message, timeout: float | None = None) -> None:
        """Send a frame."""
        self._bus.carry(self, msg)

    def recv(self, timeout: float | None = None) -> can.Message | None:
        """Return the next frame; None if none arrives in time."""
        end = math.inf if timeout is None else self._clock.now() + timeout
        while self.due() > self._clock.now():
            if self._clock.now() >= end:
                return None
            self._clock.happens(min(end, self.due()))
        return self._frames.popleft()[1]

    def tell(self, listeners: Sequence[can.Listener]) -> None:
        """Give every frame to these listeners as soon as it arrives, from now on; an empty sequence
        ends this.
        """
        self._frames.clear()
        if self in self._clock.members:
            self._clock.members.remove(self)
        self._listeners = listeners
        if listeners:
            self._clock.members.append(self)

    def due(self) -> float:
        """Time at which the next frame arrives; infinite if none is on its way [s]."""
        return self._frames[0][0] if self._frames else math.inf

    def act(self) -> None:
        """Give the frame that has arrived to the listeners."""
        _, message = self._frames.popleft()
        for listener in self._listeners:
            listener(message)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()

    def shutdown(self) -> None:
        """Leave the bus."""
        self.tell(())
        self._bus.leave(self)


class MemoryLine:
    """A serial line to servos; `join` gives each program its own port, which gets the answers
    to its own packets.
    """

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self._ports: list[MemoryPort] = []

    def join(self) -> "MemoryPort":
        """Return a new port."""
        self._ports.append(MemoryPort(self.clock))
        return self._ports[-1]

    def due(self) -> float:
        """Time at which servos have bytes to read: now, or never."""
        written = any(port.written for port in self._ports)
        return self.clock.now() if written else math.inf

    def receive(self, timeout: float) -> list[tuple[bytearray, Callable[[bytes, float], None]]]:
        """Return the bytes of each port that were written, with a function that answers."""
        return [(port.asked(), port.answer) for port in self._ports if port.written]

    def close(self) -> None:
        """Do nothing; the line ends with its last reference."""


class MemoryPort:
    """The part of pyserial's `Serial` that a driver uses."""

    def __init__(self, clock: VirtualClock) -> None:
        self.timeout: float | None = None
        self.write_timeout: float | None = None
        self.written = False  # whether servos have not read all bytes
        self._clock = clock
        self._to_servos = bytearray()
        self._on_the_way: deque[tuple[float, bytes]] = deque()
        self._received = bytearray()

    def write(self, data: bytes) -> int:
        """Send bytes to the servos."""
        self._to_servos += data
        self.written = True
        return len(data)

    def read(self, size: int = 1) -> bytes:
        """Return `size` bytes, or fewer after the timeout."""
        end = math.inf if self.timeout is None else self._clock.now() + self.timeout
        self._arrive()
        while len(self._received) < size and self._clock.now() < end:
            due = self._on_the_way[0][0] if self._on_the_way else math.inf
            self._clock.happens(min(end, due))
            self._arrive()
        data = bytes(self._received[:size])
        del self._received[:size]
        return data

    def reset_input_buffer(self) -> None:
        """Drop the bytes that have arrived."""
        self._arrive()
        self._received.clear()

    def asked(self) -> bytearray:
        """Return the bytes that servos have not understood yet."""
        self.written = False
        return self._to_servos

    def answer(self, data: bytes, after: float) -> None:
        """Bring bytes of the servos to the program after a time [s]."""
        self._on_the_way.append((self._clock.now() + after, data))

    def close(self) -> None:
        """Do nothing; a port ends with its last reference."""

    def _arrive(self) -> None:
        while self._on_the_way and self._on_the_way[0][0] <= self._clock.now():
            self._received += self._on_the_way.popleft()[1]
