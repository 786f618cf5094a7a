"""Instructions to servos on one line and their replies; `dynamixel-sdk` handles packets, on the
port object of `serial_port`.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence

from dynamixel_sdk import COMM_RX_CORRUPT, COMM_SUCCESS, Protocol2PacketHandler

from stribeck.drivers.dynamixel import protocol2 as dxl
from stribeck.drivers.dynamixel.protocol2 import Register, Reply
from stribeck.drivers.dynamixel.serial_port import Port

# s for an answer to a single instruction; a servo needs time to write a setting
_REPLY = 0.1
_ROLL_CALL = 0.8  # s for servos of all ids to answer a broadcast ping, one every 3 ms
_TRIES = 2  # number of attempts of a single instruction


class ServoBus:
    """Instructions to servos and their replies."""

    def __init__(self, port: Port) -> None:
        self.port, self.corrupt = port, 0
        self._packets = Protocol2PacketHandler()

    def ask(
        self,
        servo: int,
        instruction: int,
        parameters: bytes = b"",
        size: int = 0,
        tries: int = _TRIES,
    ) -> Reply | None:
        """Return the reply of one servo to an instruction: an error, or `size`
        bytes; None if no reply comes.

        A reply does not name its instruction. A reply of unexpected size is a late reply to
        an earlier instruction and is dropped. After a second attempt, the line is read until
        late replies have passed.
        """
        for attempt in range(tries):
            self._send(servo, instruction, parameters)
            for reply in self._replies(self.port.clock.now() + _REPLY):
                if reply.servo == servo and (
                    len(reply.data) == size or dxl.error_words(reply.error)
                ):
                    if attempt:
                        deque(self._replies(self.port.clock.now() + _REPLY), 0)
                    return reply
        return None

    def present(self) -> list[int]:
        """Return the ids of all servos on the line."""
        self._send(dxl.EVERYONE, dxl.PING, b"")
        return [reply.servo for reply in self._replies(self.port.clock.now() + _ROLL_CALL)]

    def sync_write(self, item: Register, values: Mapping[int, int]) -> None:
        """Write one item of several servos. No servo replies, so the packet is sent together
        with the next instruction.
        """
        if values:
            self._send(
                dxl.EVERYONE,
                dxl.SYNC_WRITE,
                dxl.read_request(item)
                + b"".join(bytes([servo]) + item.pack(value) for servo, value in values.items()),
            )

    def sync_read(self, item: Register, servos: Sequence[int], deadline: float) -> Iterator[Reply]:
        """Yield the replies of several servos, in the order of `servos`, until a deadline."""
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
        """Send the kept packets, then yield the replies until a time; damaged
        packets are counted and dropped.
        """
        self.port.send()
        self.port.until = until
        while not self.port.isPacketTimeout():
            found, result = self._packets.rxPacket(self.port, False)
            reply = dxl.unpack_reply(found) if result == COMM_SUCCESS else None
            if reply is not None:
                yield reply
            elif result in (COMM_SUCCESS, COMM_RX_CORRUPT):
                self.corrupt += 1
