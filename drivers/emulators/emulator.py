"""Emulators by the kind of driver that they serve."""

from collections.abc import Callable
from pkgutil import resolve_name
from typing import Protocol

from stribeck.drivers.emulators.body import Body
from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.errors import InputError, unknown_name


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
        """Answer what comes while `going`, which is asked a hundred to a thousand times a second."""

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
        If there is no emulator of this kind; lists those there are.
    """
    if arm.driver.kind == "simulated":
        raise InputError(f"{arm.path}: a simulated arm has no drives to emulate; name an arm whose [driver] has one of the kinds "
                         f"{', '.join(EMULATORS)}, for example lab6-canopen")
    if arm.driver.kind not in EMULATORS:
        raise unknown_name("kind of emulator", arm.driver.kind, EMULATORS)
    made: Emulator = resolve_name(f"stribeck.drivers.emulators.{arm.driver.kind}:Emulator")(arm, seed)
    return made
