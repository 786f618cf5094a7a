"""Drives on a CAN bus that answer every frame they are sent: the thread that asks also waits for the answers."""

import time
from collections.abc import Callable

import can

from stribeck.drivers.errors import DriverError
from stribeck.drivers.wire.drive_link import DriveLink
from stribeck.drivers.wire.driven_joint import DrivenJoint
from stribeck.drivers.wire.polled.polled_axis import Frame, PolledAxis, PolledKeys
from stribeck.drivers.wire.transport import SEND, all_tried, open_can, readable

_BACKLOG = 1000         # frames that are read before a cycle begins; a bus that brings more is full of noise


class PolledLink(DriveLink):
    """The drives of one CAN bus; a driver adds keys, axes and the load."""

    def __init__(self, joints: tuple[DrivenJoint, ...], keys: PolledKeys, axes: tuple[PolledAxis, ...]) -> None:
        self._keys, self.axes, self._axes = keys, axes, axes
        for axis in axes:
            axis.link = self
        self._bus: can.BusABC | None = None
        self._sent: set[tuple[int, bytes]] = set()
        self._fed = 0.0

    def open(self, transport: can.BusABC | None = None) -> None:
        """Take the bus."""
        self._bus, self._owned = readable(transport or open_can(self._keys.bus, self._keys.bit_rate)), transport is None

    def start(self) -> None:
        """Nothing that came before counts any more."""
        for axis in self._axes:
            axis.forget()

    def close(self) -> None:
        """Let go of the bus; one that was handed in stays open."""
        bus, self._bus = self._bus, None
        if bus is not None and self._owned:
            bus.shutdown()

    def exchange(self, deadline: float) -> float:
        """Every axis' frames out, then wait for the answers. What came before is no answer and only read away.

        What goes wrong with one axis is raised after the others have had theirs.
        """
        for axis in self._axes:
            axis.due = False
        with all_tried() as tried:
            with tried():
                self.clear()
            asked = time.monotonic()
            for axis in self._axes:
                with tried():
                    for frame in axis.frames():
                        self.send(frame)
            self.listen(lambda: not any(axis.due for axis in self._axes), deadline)
        return asked

    def feed(self) -> None:
        """Drives that are to have power are told to rest once more, now and then: their watchdogs run while others are asked."""
        now = time.monotonic()
        if now - self._fed > self._keys.feed_period:
            self._fed = now
            for axis in self._axes:
                if axis.rests_armed:
                    self.send(axis.setpoint(0.0))

    def clear(self) -> None:
        """Read away what came unasked, or too late."""
        self._sent.clear()
        for _ in range(_BACKLOG):
            if not self._take(0.0):
                return
        raise DriverError("the CAN bus delivers frames faster than they can be read; check the other devices on the bus")

    def send(self, frame: Frame) -> None:
        """One frame out."""
        assert self._bus is not None
        self._sent.add((frame.identifier, frame.data))
        self._bus.send(can.Message(arbitration_id=frame.identifier, data=None if frame.remote else frame.data,
                                   is_remote_frame=frame.remote, is_extended_id=False), timeout=SEND)

    def listen(self, done: Callable[[], bool], deadline: float) -> bool:
        """Hand out what comes until it is done; says whether it was done in time."""
        while not done():
            left = deadline - time.monotonic()
            if left <= 0.0:
                return False
            self._take(left)
        return True

    def _take(self, patience: float) -> bool:
        """Read one frame; some buses hand out one's own, which nobody answered."""
        assert self._bus is not None
        message = self._bus.recv(patience)
        if message is None:
            return False
        self.error_frames += message.is_error_frame
        frame = Frame(message.arbitration_id, bytes(message.data))
        odd = message.is_error_frame or message.is_remote_frame or message.is_extended_id
        if not odd and (frame.identifier, frame.data) not in self._sent:
            for axis in self._axes:
                axis.take(frame)
        return True
