"""Connecting to the drives of a bus and leaving them: take the bus, greet all drives,
configure them, release the bus.
"""

from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from stribeck.drivers.errors import DriverError, NoAnswer
from stribeck.drivers.interrupts import uninterrupted
from stribeck.drivers.wire.axis import Axis
from stribeck.drivers.wire.drive_link import DriveLink
from stribeck.drivers.wire.transport import alone
from stribeck.ident.errors import about_file


def take_bus(link: DriveLink, place: str, transport: Any, path: Path, undo: ExitStack) -> None:
    """Take the bus for this program alone, and greet all drives.

    Parameters
    ----------
    link : DriveLink
        The drives.
    place : str
        Address of the bus or port; other programs of this computer cannot take the same place
        meanwhile. An empty text excludes no other program.
    transport : optional
        An open bus or port; None opens the bus or port that the link's keys name.
    path : Path
        The arm file, for messages.
    undo : ExitStack
        Releases the bus when it closes, even if the bus could not be opened.

    Raises
    ------
    NoAnswer
        If drives do not answer; the message names all of them.
    """
    undo.enter_context(alone(place))
    undo.callback(_let_go, link)
    with about_file(path):
        link.open(transport)
    _greet(link.axes)


def set_up(axes: Sequence[Axis], watchdog_needed: bool) -> None:
    """Configure all drives.

    Raises
    ------
    DriverError
        If a drive refuses a setting, or has no watchdog although `watchdog_needed` is true.
    """
    for axis in axes:
        axis.configure()
        if watchdog_needed and not axis.watched:
            raise DriverError(
                f"the drive of {axis.joint.name} has no watchdog: if this computer hangs, the "
                "joint "
                f"{axis.unwatched}. To move it nevertheless, state driver.allow_no_watchdog = true"
            )


def _let_go(link: DriveLink) -> None:
    """Release the bus and ignore errors. The drives have stopped or cannot be reached, and an error
    of an interface that failed earlier would only hide the reason why the arm was stopped.
    """
    with uninterrupted(), suppress(Exception):
        link.close()


def _greet(axes: Sequence[Axis]) -> None:
    """Greet all drives before anything is written to any of them, and
    name all that do not answer.
    """
    absent: dict[str, NoAnswer] = {}
    for axis in axes:
        try:
            axis.greet()
        except NoAnswer as error:
            absent[axis.joint.name] = error
    if not absent:
        return
    first = next(iter(absent.values()))
    if len(absent) == 1:
        raise first
    who = (
        f"none of {len(absent)} drives answers"
        if len(absent) == len(axes)
        else f"the drives of {', '.join(absent)} do not answer"
    )
    raise NoAnswer(f"{who}: {first}")
