"""Coming to the drives of a bus and leaving them: take the bus, greet all drives, set them up, let go of the bus."""

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
    """Take the bus, for this program alone, and greet all drives.

    Parameters
    ----------
    link : DriveLink
        The drives.
    place : str
        Where they are; no other program of this computer comes to the same place meanwhile. Empty keeps nobody away.
    transport : optional
        An open bus or port; None opens the one that the keys of the link name.
    path : Path
        The arm file, for messages.
    undo : ExitStack
        Lets go of the bus in the end, also of one that could not be opened.

    Raises
    ------
    NoAnswer
        If drives do not answer; names all of them.
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
        If a drive refuses, or has no watchdog where one is needed.
    """
    for axis in axes:
        axis.configure()
        if watchdog_needed and not axis.watched:
            raise DriverError(f"the drive of {axis.joint.name} has no watchdog: if this computer hangs, the joint "
                              f"{axis.unwatched}. To move it nevertheless, state driver.allow_no_watchdog = true")


def _let_go(link: DriveLink) -> None:
    """Let go of the bus. Drives have stopped by now, or nothing more can be said to them: an error of an interface that failed
    before would only hide why the arm was stopped.
    """
    with uninterrupted(), suppress(Exception):
        link.close()


def _greet(axes: Sequence[Axis]) -> None:
    """Nothing is written to any drive before all have answered; all that do not are named."""
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
    who = (f"none of {len(absent)} drives answers" if len(absent) == len(axes) else
           f"the drives of {', '.join(absent)} do not answer")
    raise NoAnswer(f"{who}: {first}")
