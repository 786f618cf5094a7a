"""The serial line to servos: opening it, and a port object for dynamixel-sdk."""

import os
import re
import socket
from collections.abc import Sequence
from contextlib import suppress

import serial

from stribeck.drivers.errors import DriverError
from stribeck.drivers.wire.clock import REAL_TIME, Clock
from stribeck.ident.errors import InputError

_POLL = 0.002  # s after which a waiting read looks at the clock
_FULL = 0.1  # s that a write may take


class Port:
    """The port object that dynamixel-sdk needs, around an open pyserial object.

    In contrast to the library's own port, times are on the clock of the drives, reads wait instead of
    spinning, a read ends at its deadline even if bytes keep coming, and an error never leaves the
    port "busy". Packets are kept until `send` sends them together.
    """

    is_using = property(lambda self: False, lambda self, value: None)

    def __init__(self, line: serial.SerialBase, baud_rate: int, clock: Clock = REAL_TIME) -> None:
        self.line, self.baud_rate, self.clock, self.until = line, baud_rate, clock, 0.0
        self._waiting = b""
        line.timeout, line.write_timeout = _POLL, _FULL

    def clearPort(self) -> None:
        """Drop all received bytes."""
        try:
            self.line.reset_input_buffer()
        except OSError:
            raise
        except Exception as error:
            # termios raises an error of its own class if the device was unplugged
            raise serial.SerialException(str(error)) from error

    def writePort(self, packet: Sequence[int]) -> int:
        """Keep a packet until `send`."""
        self._waiting += bytes(packet)
        return len(packet)

    def send(self) -> None:
        """Send the kept packets."""
        waiting, self._waiting = self._waiting, b""
        if waiting:
            self.line.write(waiting)

    def readPort(self, length: int) -> bytes:
        """Read at most `length` bytes; none after the deadline."""
        return bytes(self.line.read(length)) if length > 0 and not self.isPacketTimeout() else b""

    def isPacketTimeout(self) -> bool:
        """Whether the deadline has passed."""
        return self.clock.now() > self.until


def open_line(port: str, baud_rate: int) -> serial.SerialBase:
    """Open a serial device, which no other program may use, or a network socket."""
    alone = {} if "://" in port else {"exclusive": True}
    if port.startswith("socket://") and not re.fullmatch(r"socket://[^/?]+:\d+/?(\?.*)?", port):
        raise InputError(
            f"the port {port} cannot be opened: write socket://host:port, with the number of the "
            "port"
        )
    try:
        line = serial.serial_for_url(
            port, baudrate=baud_rate, timeout=_POLL, write_timeout=_FULL, **alone
        )
    except ValueError as error:
        raise InputError(f"the port {port} cannot be opened: {error}") from error
    except OSError as error:
        said = re.sub(rf"(?i)^could not open port {re.escape(port)}: ", "", str(error))
        # pyserial's own text repeats the port twice
        why = os.strerror(error.errno) if error.errno else said
        raise DriverError(f"the port {port} cannot be opened: {why}") from error
    # only some adapters have it; without it replies come every 16 ms
    with suppress(AttributeError, OSError, ValueError):
        line.set_low_latency_mode(True)
    if "://" in port:
        _send_at_once(line)
    return line


def _send_at_once(line: serial.SerialBase) -> None:
    """Make a socket send each packet immediately, not only after the last one is
    acknowledged, which may take 40 ms.
    """
    with suppress(AttributeError, OSError), socket.socket(fileno=os.dup(line.fileno())) as same:
        same.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
