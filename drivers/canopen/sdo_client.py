"""Reads and writes objects of one drive by SDO; meanwhile heartbeats keep the
watchdogs of all drives quiet.
"""

import logging
import struct
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import canopen

from stribeck.drivers.canopen.canopen_settings import Setting
from stribeck.drivers.errors import DriverError, NoAnswer
from stribeck.drivers.wire.clock import Clock

# this module repeats failed transfers or raises their errors
logging.getLogger("canopen").setLevel(logging.CRITICAL)

_REPLY = 0.3  # s for an answer
_ASKED = 3  # number of attempts, since a frame may be lost
# the library's exceptions for damaged answers
_GARBLED = (struct.error, IndexError, ValueError, AssertionError, RuntimeError)
_ABSENT = (0x06020000, 0x06090011)  # no such object or sub-index


class _NoObject(Exception):
    """The drive does not have an object."""


class _Channel(canopen.sdo.SdoClient):
    """An SDO channel that calls `feed` every `every` seconds while it waits for an answer."""

    RESPONSE_TIMEOUT = 0.0  # the library finds an answer that has come

    def __init__(
        self, *addresses: Any, feed: Callable[[], None], every: float, clock: Clock
    ) -> None:
        super().__init__(*addresses)
        self._feed, self._every, self._clock = feed, every, clock
        self._answered = threading.Event()

    def on_response(self, can_id: int, data: bytearray, timestamp: float) -> None:
        """Keep an answer, and end the wait for it; runs in the reader's thread."""
        super().on_response(can_id, data, timestamp)
        self._answered.set()

    def settle(self) -> None:
        """Wait until late or doubled answers have passed."""
        self._feed()
        self._clock.sleep(self._every)

    def read_response(self) -> bytes:
        """Wait for an answer as the library does, in short slices of time."""
        end = self._clock.now() + _REPLY
        while True:
            self._feed()
            self._clock.wait(self._answered, min(self._clock.now() + self._every, end))
            self._answered.clear()
            try:
                return bytes(super().read_response())
            except canopen.SdoCommunicationError:
                if self._clock.now() >= end:
                    raise


class FedNode(canopen.RemoteNode):
    """The library's node of a drive; while an answer is awaited, `feed` is called every
    `every` seconds or sooner.
    """

    def __init__(self, node: int, feed: Callable[[], None], every: float, clock: Clock) -> None:
        self._client = partial(_Channel, feed=feed, every=min(_REPLY, every), clock=clock)
        super().__init__(node, canopen.ObjectDictionary())

    def add_sdo(self, rx_cobid: int, tx_cobid: int) -> _Channel:
        """Make the SDO channel of the node; the library calls this
        before the node has a network.
        """
        client = self._client(rx_cobid, tx_cobid, self.object_dictionary)
        self.sdo_channels.append(client)
        return client


class SdoClient:
    """Reads and writes objects of the drive of one joint."""

    def __init__(self, node: canopen.RemoteNode, joint: str) -> None:
        self._node, self._joint = node, joint

    def write(self, setting: Setting) -> bool:
        """Write one object; False if the drive does not have this object and
        the object is not needed.
        """
        try:
            self._ask(
                setting.index,
                setting.sub,
                setting.what,
                self._node.sdo.download,
                struct.pack(setting.form, setting.value),
            )
        except _NoObject:
            if setting.needed:
                raise self.error(
                    f"has no object 0x{setting.index:04X}:{setting.sub} ({setting.what})"
                ) from None
            return False
        return True

    def verify(self, setting: Setting) -> None:
        """Read one object back, and raise an error if the drive holds
        another value than the setting.
        """
        found = self.read(setting.index, setting.sub, setting.form)
        if not setting.confirmed_by(found):
            raise self.error(
                f"did not accept {setting.what} = {setting.value} "
                f"(0x{setting.index:04X}:{setting.sub}): it reads back {found}"
            )

    def read(self, index: int, sub: int, form: str) -> int | None:
        """Return the value of an object; None if the drive does not have this object."""
        try:
            data = self._ask(index, sub, "", self._node.sdo.upload)
        except _NoObject:
            return None
        size = struct.calcsize(form)
        if len(data) < size:
            raise self.error(
                f"answers with {len(data)} bytes for object 0x{index:04X}:{sub}; {size} bytes are "
                "needed"
            )
        value: int = struct.unpack_from(form, data)[0]
        return value

    def text(self, index: int) -> str:
        """Return the text in an object; empty if the drive does not have this object."""
        try:
            return (
                bytes(self._ask(index, 0, "", self._node.sdo.upload)).decode("latin-1").strip("\0 ")
            )
        except _NoObject:
            return ""

    def _ask(
        self, index: int, sub: int, what: str, transfer: Callable[..., Any], *data: bytes
    ) -> Any:
        """Run a transfer, repeat it after a missing, foreign or damaged answer, and
        convert the library's errors.
        """
        for left in reversed(range(_ASKED)):
            try:
                return transfer(index, sub, *data)
            except canopen.SdoAbortedError as error:
                if error.code in _ABSENT:
                    raise _NoObject from None
                raise self.error(
                    f"refuses object 0x{index:04X}:{sub}{f' ({what})' if what else ''}: {error}"
                ) from error
            except (canopen.SdoCommunicationError, *_GARBLED) as error:
                if not left:
                    raise self.error(
                        "does not answer; check power, wiring, bit_rate and node", NoAnswer
                    ) from error
                self._node.sdo.settle()  # an answer too many would shift all that follow
        raise AssertionError

    def error(self, words: str, kind: type[DriverError] = DriverError) -> DriverError:
        """Return an error that names the drive."""
        return kind(f"the drive of {self._joint} (node {self._node.id}) {words}")
