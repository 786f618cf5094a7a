"""Instructions to servos on one line and their replies; `dynamixel-sdk` carries packets, on a port object of our own."""

import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence

from dynamixel_sdk import COMM_RX_CORRUPT, COMM_SUCCESS, Protocol2PacketHandler

from stribeck.drivers.dynamixel import protocol2 as dxl
from stribeck.drivers.dynamixel.protocol2 import Register, Reply
from stribeck.drivers.dynamixel.serial_port import Port

_REPLY = 0.1                # s for an answer to a single instruction; writing settings takes a servo a while
_ROLL_CALL = 0.8            # s for servos of any id to answer a ping of all, 3 ms after each other
_TRIES = 2                  # of a single instruction


class ServoBus:
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
