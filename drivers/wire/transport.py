"""Buses: opening them, and what frames cost on the wire."""

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

SEND = 0.05             # s that an interface may take for a frame: the ladder must go on, and some wait for ever
_UNREADABLE = 100       # times in a row that an interface may stumble over what it reads

logging.getLogger("can.bus").setLevel(logging.ERROR)        # a bus that could not be opened is said to be left open


def open_can(table: dict[str, Any], bit_rate: float) -> can.BusABC:
    """A python-can bus from the arm file's ``bus = {...}``, whose keys are python-can's own.

    Raises
    ------
    InputError, DriverError
        If there is no such interface, if it cannot be opened; says which and why.
    """
    if table.get("bitrate", bit_rate) != bit_rate:
        raise InputError(f"driver.bus.bitrate = {table['bitrate']} differs from driver.bit_rate = {bit_rate:g}, from which the "
                         "load of the bus is computed; state driver.bit_rate alone")
    local = {"hop_limit": 0} if table.get("interface") == "udp_multicast" else {}      # else frames leave the machine
    with opening(f"the CAN bus ({', '.join(f'{key} = {value}' for key, value in table.items())})"):
        return can.Bus(**{"bitrate": int(bit_rate), **local, **table})


def readable(bus: can.BusABC) -> can.BusABC:
    """The bus, with an error frame in place of what its interface stumbles over.

    As one on a serial line does where a byte was lost: it raises whatever its parser met. One that does so again and again has
    failed.
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
                raise can.CanOperationError(f"the received data cannot be read: {error!r}") from error
            return can.Message(is_error_frame=True)
        self._stumbled = 0
        return message


@contextmanager
def opening(what: str) -> Iterator[None]:
    """Whatever keeps a bus from being opened, as an error of ours that says what could not be."""
    try:
        yield
    except StribeckError:
        raise
    except can.CanInterfaceNotImplementedError as error:
        raise InputError(f"{what} cannot be opened: {error}") from error
    except (can.CanError, OSError) as error:
        raise DriverError(f"{what} cannot be opened: {error}") from error
    except Exception as error:              # keys of another kind, software that is missing: interfaces raise what they will
        raise InputError(f"{what} cannot be opened: {error}") from error


@contextmanager
def alone(place: str) -> Iterator[None]:
    """Keep other programs of this computer, if it runs Linux, from the drives at a place meanwhile.

    Drives show that they follow somebody only when they have power. The claim is a socket's name, which ends with its program.

    Raises
    ------
    DriverError
        If another program has them.
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
            raise DriverError(f"another program uses the drives at {place}; end that program first") from None
        yield


@contextmanager
def bus_errors() -> Iterator[None]:
    """Whatever a bus or a port raises, as an error of ours."""
    try:
        yield
    except (can.CanError, OSError) as error:
        raise DriverError(f"the bus failed: {error}") from error


@contextmanager
def all_tried() -> Iterator[Callable[[], AbstractContextManager[None]]]:
    """Gives blocks whose failures on the bus wait until all has been tried; then the first is raised."""
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
    """Most bits that a classic frame with so many bytes takes on the wire, stuff bits and interframe space included."""
    stuffed = (54 if extended else 34) + 8 * data
    return stuffed + 13 + (stuffed - 1) // 4
