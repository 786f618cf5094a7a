"""Buses: opening them, and what frames cost on the wire."""

import errno
import hashlib
import logging
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import can

from drivers.errors import DriverError
from ident.errors import InputError, StribeckError

SEND = 0.05             # s that an interface may take for a frame: the ladder must go on, and some wait for ever

logging.getLogger("can.bus").setLevel(logging.ERROR)        # a bus that could not be opened is said to be left open


def open_can(table: dict[str, Any], bit_rate: float) -> can.BusABC:
    """A python-can bus from the arm file's ``bus = {...}``, whose keys are python-can's own.

    Raises
    ------
    InputError, DriverError
        If there is no such interface, if it cannot be opened; says which and why.
    """
    local = {"hop_limit": 0} if table.get("interface") == "udp_multicast" else {}      # else frames leave the machine
    with opening(f"the CAN bus ({', '.join(f'{key} = {value}' for key, value in table.items())})"):
        return can.Bus(**{"bitrate": int(bit_rate), **local, **table})


@contextmanager
def opening(what: str) -> Iterator[None]:
    """Whatever keeps a bus from being opened, as an error of ours that says what could not be."""
    try:
        yield
    except StribeckError:
        raise
    except (can.CanInterfaceNotImplementedError, ValueError, TypeError, ImportError, NotImplementedError) as error:
        raise InputError(f"{what} cannot be opened: {error}") from error
    except (can.CanError, OSError) as error:
        raise DriverError(f"{what} cannot be opened: {error}") from error


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
            raise DriverError(f"another program has the drives at {place}; end that first") from None
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
        except (can.CanError, OSError, DriverError) as error:
            failures.append(error)

    yield tried
    if failures:
        raise failures[0]


def can_bits(data: int, extended: bool = False) -> int:
    """Most bits that a classic frame with so many bytes takes on the wire, stuff bits and interframe space included."""
    stuffed = (54 if extended else 34) + 8 * data
    return stuffed + 13 + (stuffed - 1) // 4
