"""The common part of emulators on a CAN bus: the bus, the body, and the loop that serves both."""

import errno
import socket
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, ClassVar

import can

from stribeck.drivers.emulators.body import Body, Drive, Electronics
from stribeck.drivers.wire.clock import REAL_TIME, Clock
from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.errors import InputError, unknown_name

Send = Callable[[int, bytes], None]


class Node(Electronics):
    """One drive on the bus."""

    @abstractmethod
    def receive(self, identifier: int, data: bytes) -> None:
        """Take a data frame from the bus."""

    def requested(self, identifier: int) -> None:
        """Take a remote frame; most drives ignore remote frames."""

    @abstractmethod
    def tick(self) -> None:
        """Do the work that depends on time, such as heartbeats and watchdogs."""


def published(ranges: Mapping[str, tuple[float, ...]], motor: str) -> tuple[float, ...]:
    """Return the data of a motor that its maker publishes.

    Raises
    ------
    InputError
        If the emulator does not know the motor.
    """
    if motor not in ranges:
        raise unknown_name("emulated motor", motor, ranges)
    return ranges[motor]


@contextmanager
def only_one(place: str, arm: ArmFile, address: str) -> Iterator[None]:
    """Keep other emulators out of a multicast group, which several can join: each
    frame would be answered twice.

    The claim is the name of a socket, which Linux frees when the process ends. On other
    systems nothing is claimed.
    """
    if sys.platform != "linux":
        yield
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as name:
        try:
            name.bind(f"\0stribeck-emulator-{place}")
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise InputError(
                    f"{arm.path}: another emulator listens on {address}; end that emulator, or "
                    "give driver.bus another port"
                ) from error
        yield


def _refuse_real(arm: ArmFile, table: Mapping[str, object]) -> None:
    """Refuse a bus on which real drives may listen: emulated drives
    would answer at the same time.
    """
    interface, channel = table.get("interface"), str(table.get("channel", ""))
    if interface not in ("udp_multicast", "virtual") and not (
        interface == "socketcan" and channel.startswith("vcan")
    ):
        raise InputError(
            f"{arm.path}: driver.bus is {interface} {channel}, where real drives may listen; "
            "emulated drives would "
            "answer at the same time. Use a bus inside this computer: copy the arm file and set "
            'bus = {interface = "udp_multicast", channel = "239.74.163.2", port = 43113}'
        )


class CanEmulator(ABC):
    """All drives of an arm on one bus, in this process."""

    loops: ClassVar[bool] = False  # whether the drives have loops of their own, see `Body`

    def __init__(
        self,
        arm: ArmFile,
        seed: int | None = None,
        bus: can.BusABC | None = None,
        clock: Clock = REAL_TIME,
    ) -> None:
        self.body, self._clock = Body(arm, seed, self.loops, clock), clock
        extra = dict(arm.driver.model_extra or {})
        table, self._place = extra["bus"], ExitStack()
        self.address = ", ".join(f"{key} {value}" for key, value in table.items())
        if bus is None:
            _refuse_real(arm, table)
        if bus is None and table.get("interface") == "udp_multicast":
            table = {"hop_limit": 0, **table}
            self._place.enter_context(
                only_one(f"{table.get('channel')}:{table.get('port')}", arm, self.address)
            )
        self._acted = clock.now()
        self._bus: Any = bus or can.Bus(**{"bitrate": int(extra.get("bit_rate", 1e6)), **table})
        self._nodes = self.nodes(self.body.drives, self._send)

    @abstractmethod
    def nodes(self, drives: Sequence[Drive], send: Send) -> Sequence[Node]:
        """Make a node for each drive, in the order of the joints."""

    def latches(self, identifier: int) -> bool:
        """Whether the drives measure when a frame with this identifier comes."""
        return True

    def _send(self, identifier: int, data: bytes) -> None:
        self._bus.send(can.Message(arbitration_id=identifier, data=data, is_extended_id=False))

    def serve(self, going: Callable[[], bool] = lambda: True) -> None:
        """Answer frames while `going()` is true."""
        while going():
            self._react(self._bus.recv(self.body.patience))

    def due(self) -> float:
        """Time of the next act on a bus in memory: a frame arrives, or drives look at their
        clocks [s].
        """
        return min(self._acted + self.body.interval, self._bus.due())

    def act(self) -> None:
        """Answer a frame on a bus in memory that has arrived, and let time pass."""
        self._acted = self._clock.now()
        self._react(self._bus.recv(0.0))

    def _react(self, message: can.Message | None) -> None:
        """Let time pass and answer a frame, if one came."""
        self.body.advance()
        if message is not None and not message.is_extended_id and not message.is_error_frame:
            if self.latches(message.arbitration_id):
                self.body.look(self._clock.since_1970() - message.timestamp)
            for node in self._nodes:
                if message.is_remote_frame:
                    node.requested(message.arbitration_id)
                else:
                    node.receive(message.arbitration_id, bytes(message.data))
        for node in self._nodes:
            node.tick()

    def suffer(self, joint: int, what: str) -> None:
        """Cause a fault of a joint's drive: "silent" (it neither sends nor
        receives), "reset" or "fault".
        """
        self._nodes[joint].befall(what)

    def close(self) -> None:
        """Leave the bus."""
        self._bus.shutdown()
        self._place.close()
