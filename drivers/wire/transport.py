"""Buses: opening them, claiming them for one program, their errors, and the
length of frames on the wire.
"""

import errno
import hashlib
import logging
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, cast

import can

from stribeck.drivers.errors import DriverError
from stribeck.ident.errors import InputError, StribeckError

# s that an interface may take to send a frame: without it some wait for ever,
# and the ladder must go on
SEND = 0.05
# number of successive errors of an interface's parser after which the interface has failed
_UNREADABLE = 100

# python-can warns that a bus is open which could not be opened
logging.getLogger("can.bus").setLevel(logging.ERROR)


def open_can(table: dict[str, Any], bit_rate: float) -> can.BusABC:
    """Open a python-can bus from the arm file's ``bus = {...}``, whose keys are python-can's own.

    Raises
    ------
    InputError, DriverError
        If the interface does not exist or cannot be opened; the message
        names the bus and the cause.
    """
    if table.get("bitrate", bit_rate) != bit_rate:
        raise InputError(
            f"driver.bus.bitrate = {table['bitrate']} differs from driver.bit_rate = {bit_rate:g}, "
            "from which the load of the bus is computed; state driver.bit_rate alone"
        )
    # keeps frames inside this computer
    local = {"hop_limit": 0} if table.get("interface") == "udp_multicast" else {}
    with opening(f"the CAN bus ({', '.join(f'{key} = {value}' for key, value in table.items())})"):
        return can.Bus(**{"bitrate": int(bit_rate), **local, **table})


def readable(bus: can.BusABC) -> can.BusABC:
    """Wrap a bus so that an error of the interface's parser becomes an error frame.

    An interface on a serial line raises such an error, of any class, when a byte was lost. Many
    errors in a row mean that the interface has failed.
    """
    return cast(can.BusABC, _Readable(bus))


class _Readable:
    def __init__(self, bus: can.BusABC) -> None:
        self._bus, self._stumbled = bus, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bus, name)

    def recv(self, timeout: float | None = None) -> can.Message | None:
        try:
            message = self._bus.recv(timeout)
        except (can.CanError, OSError):
            raise
        except Exception as error:
            self._stumbled += 1
            if self._stumbled > _UNREADABLE:
                raise can.CanOperationError(
                    f"the received data cannot be read: {error!r}"
                ) from error
            return can.Message(is_error_frame=True)
        self._stumbled = 0
        return message


@contextmanager
def opening(what: str) -> Iterator[None]:
    """Convert any exception raised while a bus is opened into an error of this
    package that names the bus.
    """
    try:
        yield
    except StribeckError:
        raise
    except can.CanInterfaceNotImplementedError as error:
        raise InputError(f"{what} cannot be opened: {error}{_remedy(error)}") from error
    except (can.CanError, OSError) as error:
        raise DriverError(f"{what} cannot be opened: {error}") from error
    except Exception as error:
        # wrong keys or missing software: interfaces raise exceptions of any class
        raise InputError(f"{what} cannot be opened: {error}{_remedy(error)}") from error


def _remedy(error: Exception) -> str:
    """Return the command that installs what the bus of emulated drives lacks."""
    return "; run pip install 'stribeck[emulators]'" if "msgpack" in str(error) else ""


@contextmanager
def alone(place: str) -> Iterator[None]:
    """Keep other programs of this computer away from the drives at a place
    inside the block (Linux only).

    A drive shows only while it has power that it follows a program, so the place itself is claimed:
    by the name of a socket, which Linux frees when the program ends.

    Raises
    ------
    DriverError
        If another program uses the drives.
    """
    if sys.platform != "linux" or not place:
        yield
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as claim:
        try:
            claim.bind(f"\0stribeck {hashlib.sha256(place.encode()).hexdigest()}")
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            raise DriverError(
                f"another program uses the drives at {place}; end that program first"
            ) from None
        yield


@contextmanager
def bus_errors() -> Iterator[None]:
    """Convert exceptions of a bus or a port into `DriverError`."""
    try:
        yield
    except (can.CanError, OSError) as error:
        raise DriverError(f"the bus failed: {error}") from error


@contextmanager
def all_tried() -> Iterator[Callable[[], AbstractContextManager[None]]]:
    """Give a context manager for steps that must all be tried; the first exception of a
    step is raised at the end.
    """
    failures: list[Exception] = []

    @contextmanager
    def tried() -> Iterator[None]:
        try:
            yield
        except Exception as error:
            failures.append(error)

    yield tried
    if failures:
        raise failures[0]


def can_bits(data: int, extended: bool = False) -> int:
    """Largest number of bits of a classic frame with `data` bytes on the wire, including stuff
    bits and interframe space.
    """
    stuffed = (54 if extended else 34) + 8 * data
    return stuffed + 13 + (stuffed - 1) // 4
