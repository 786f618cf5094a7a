"""Emulators by the kind of driver that they serve."""

from collections.abc import Callable
from pkgutil import resolve_name
from typing import Protocol

import can

from drivers.connect import connect
from drivers.emulators.body import Body
from drivers.errors import DriverError
from ident.armfile import ArmFile
from ident.errors import StribeckError, unknown_name


class Emulator(Protocol):
    """Drives on a bus that somebody has to serve.

    Attributes
    ----------
    address : str
        Where they listen, for a person.
    body : Body
        The physics behind them.
    """

    address: str
    body: Body

    def serve(self, going: Callable[[], bool] = lambda: True) -> None:
        """Answer what comes while `going`, which is asked about a thousand times a second."""

    def suffer(self, joint: int, what: str) -> None:
        """Let the drive of a joint fall "silent" and deaf, be "reset", or have a "fault"."""

    def close(self) -> None:
        """Leave the bus."""


EMULATORS = ("canopen", "dynamixel", "damiao", "odrive", "cubemars")       # each the module of that name


def emulate(arm: ArmFile, seed: int | None = None) -> Emulator:
    """Drives of the kind that ``[driver]`` names, with the arm's simulation behind them.

    Raises
    ------
    InputError
        If there is no emulator of this kind, or the arm file is not one that its driver takes.
    DriverError
        If the bus cannot be opened.
    """
    if arm.driver.kind not in EMULATORS:
        raise unknown_name("kind of emulator", arm.driver.kind, EMULATORS)
    connect(arm)                        # reads and checks the driver's keys, and talks to nobody
    try:
        made: Emulator = resolve_name(f"drivers.emulators.{arm.driver.kind}:Emulator")(arm, seed)
    except (can.CanError, OSError, ValueError, TypeError, ImportError, NotImplementedError) as error:
        if isinstance(error, StribeckError):
            raise
        raise DriverError(f"{arm.path}: the emulated drives cannot open their bus: {error}") from error
    return made
