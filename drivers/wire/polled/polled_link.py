"""Drives on a CAN bus that answer every frame they receive: the thread that sends
also waits for the answers.
"""

from collections.abc import Callable

import can

from stribeck.drivers.errors import DriverError
from stribeck.drivers.wire.drive_link import DriveLink
from stribeck.drivers.wire.driven_joint import DrivenJoint
from stribeck.drivers.wire.polled.polled_axis import Frame, PolledAxis, PolledKeys
from stribeck.drivers.wire.transport import SEND, all_tried, open_can, readable

# frames that are read and dropped before a cycle; more of them mean that the bus is full of noise
_BACKLOG = 1000


class PolledLink(DriveLink):
    """The drives of one CAN bus. A driver adds its keys, axes and bus load."""

    def __init__(
        self, joints: tuple[DrivenJoint, ...], keys: PolledKeys, axes: tuple[PolledAxis, ...]
    ) -> None:
        self._keys, self.axes, self._axes = keys, axes, axes
        for axis in axes:
            axis.link = self
        self._bus: can.BusABC | None = None
        self._sent: set[tuple[int, bytes]] = set()
        self._fed = 0.0

    def open(self, transport: can.BusABC | None = None) -> None:
        """Take an open bus, or open the bus that the keys name."""
        self._bus, self._owned = (
            readable(transport or open_can(self._keys.bus, self._keys.bit_rate)),
            transport is None,
        )

    def start(self) -> None:
        """Make the axes forget what they received before a pause."""
        for axis in self._axes:
            axis.forget()

    def close(self) -> None:
        """Release the bus; a bus that the caller opened stays open."""
        bus, self._bus = self._bus, None
        if bus is not None and self._owned:
            bus.shutdown()

    def exchange(self, deadline: float) -> float:
        """Send the frames of every axis, then wait for the answers. Frames that arrived
        earlier are read and dropped.

        An error of one axis is raised after the other axes have sent their frames.
        """
        for axis in self._axes:
            axis.due = False
        with all_tried() as tried:
            with tried():
                self.clear()
            asked = self.clock.now()
            for axis in self._axes:
                with tried():
                    for frame in axis.frames():
                        self.send(frame)
            self.listen(lambda: not any(axis.due for axis in self._axes), deadline)
        return asked

    def feed(self) -> None:
        """Repeat set-point zero to drives whose watchdogs run while other drives are
        asked outside the cycles.
        """
        now = self.clock.now()
        if now - self._fed > self._keys.feed_period:
            self._fed = now
            for axis in self._axes:
                if axis.rests_armed:
                    self.send(axis.setpoint(0.0))

    def clear(self) -> None:
        """Read and drop all frames that came too late or without a request."""
        self._sent.clear()
        for _ in range(_BACKLOG):
            if not self._take(0.0):
                return
        raise DriverError(
            "the CAN bus delivers frames faster than they can be read; check the other devices on "
            "the bus"
        )

    def send(self, frame: Frame) -> None:
        """Send one frame."""
        assert self._bus is not None
        self._sent.add((frame.identifier, frame.data))
        self._bus.send(
            can.Message(
                arbitration_id=frame.identifier,
                data=None if frame.remote else frame.data,
                is_remote_frame=frame.remote,
                is_extended_id=False,
            ),
            timeout=SEND,
        )

    def listen(self, done: Callable[[], bool], deadline: float) -> bool:
        """Give received frames to the axes until `done()` or the deadline; return
        whether `done()` came in time.
        """
        while not done():
            left = deadline - self.clock.now()
            if left <= 0.0:
                return False
            self._take(left)
        return True

    def _take(self, patience: float) -> bool:
        """Read one frame and give it to the axes; drop frames of this
        program, which some buses return.
        """
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
