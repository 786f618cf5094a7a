"""The serial line to servos: how it is opened, and how dynamixel-sdk sees it."""

import os
import re
import socket
import time
from collections.abc import Sequence
from contextlib import suppress

import serial

from stribeck.drivers.errors import DriverError
from stribeck.ident.errors import InputError

_POLL = 0.002               # s after which a read of the port looks at the clock
_FULL = 0.1                 # s for the port to take what is sent


class Port:
    """What dynamixel-sdk wants of a port, around an open pyserial object.

    Times are those of the monotonic clock, reads wait instead of spinning, bytes that never end do not hold a reader beyond its
    time, and the port is never left "busy" by an error. Packets wait until they are sent together.
    """

    is_using = property(lambda self: False, lambda self, value: None)

    def __init__(self, line: serial.SerialBase, baud_rate: int) -> None:
        self.line, self.baud_rate, self.until = line, baud_rate, 0.0
        self._waiting = b""
        line.timeout, line.write_timeout = _POLL, _FULL

    def clearPort(self) -> None:
        """Forget what came before."""
        try:
            self.line.reset_input_buffer()
        except OSError:
            raise
        except Exception as error:          # of a device that was unplugged termios says so by an error of its own
            raise serial.SerialException(str(error)) from error

    def writePort(self, packet: Sequence[int]) -> int:
        """Keep a packet until `send`."""
        self._waiting += bytes(packet)
        return len(packet)

    def send(self) -> None:
        """Let the packets leave that wait."""
        waiting, self._waiting = self._waiting, b""
        if waiting:
            self.line.write(waiting)

    def readPort(self, length: int) -> bytes:
        """At most so many bytes; none after the time is over."""
        return bytes(self.line.read(length)) if length > 0 and not self.isPacketTimeout() else b""

    def isPacketTimeout(self) -> bool:
        """Whether the time to wait is over."""
        return time.monotonic() > self.until


def open_line(port: str, baud_rate: int) -> serial.SerialBase:
    """A serial device, for this program alone, or a network socket."""
    alone = {} if "://" in port else {"exclusive": True}
    if port.startswith("socket://") and not re.fullmatch(r"socket://[^/?]+:\d+/?(\?.*)?", port):
        raise InputError(f"the port {port} cannot be opened: write socket://host:port, with the number of the port")
    try:
        line = serial.serial_for_url(port, baudrate=baud_rate, timeout=_POLL, write_timeout=_FULL, **alone)
    except ValueError as error:
        raise InputError(f"the port {port} cannot be opened: {error}") from error
    except OSError as error:
        said = re.sub(rf"(?i)^could not open port {re.escape(port)}: ", "", str(error))
        why = os.strerror(error.errno) if error.errno else said         # pyserial's own text names the port twice more
        raise DriverError(f"the port {port} cannot be opened: {why}") from error
    with suppress(AttributeError, OSError, ValueError):     # only some adapters have it; without, replies come every 16 ms
        line.set_low_latency_mode(True)
    if "://" in port:
        _send_at_once(line)
    return line


def _send_at_once(line: serial.SerialBase) -> None:
    """Let a socket not keep a packet back until the one before it is acknowledged: after a lost reply that takes 40 ms."""
    with suppress(AttributeError, OSError), socket.socket(fileno=os.dup(line.fileno())) as same:
        same.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
