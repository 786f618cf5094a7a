"""The table of emulators, by the kind of driver that they serve."""

from collections.abc import Callable
from pkgutil import resolve_name
from typing import Any, Protocol

from stribeck.drivers.emulators.body import Body
from stribeck.drivers.wire.clock import REAL_TIME, Clock
from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.errors import InputError, unknown_name


class Emulator(Protocol):
    """Emulated drives on a bus; a caller runs `serve`.

    Attributes
    ----------
    address : str
        Bus or port of the drives, in words.
    body : Body
        The physics behind the drives.
    """

    address: str
    body: Body

    def serve(self, going: Callable[[], bool] = lambda: True) -> None:
        """Answer frames while `going()` is true; it is called a hundred to
        a thousand times a second.
        """

    def due(self) -> float:
        """Time of the next act on a bus or line in memory [s]."""

    def act(self) -> None:
        """Do what is due on a bus or line in memory, see `VirtualClock`."""

    def suffer(self, joint: int, what: str) -> None:
        """Cause a fault of a joint's drive: "silent" (it neither sends nor
        receives), "reset" or "fault".
        """

    def close(self) -> None:
        """Leave the bus."""


# each is the name of its module
EMULATORS = ("canopen", "dynamixel", "damiao", "odrive", "cubemars")


def emulate(
    arm: ArmFile, seed: int | None = None, transport: Any = None, clock: Clock = REAL_TIME
) -> Emulator:
    """Return emulated drives of the kind that ``[driver]`` names, with the
    arm's simulation behind them.

    Parameters
    ----------
    arm : ArmFile
        The arm.
    seed : int, optional
        Seed of simulated noise.
    transport : optional
        An open bus or line; by default the one that the arm file names.
    clock : Clock, optional
        Clock of the drives; a virtual one needs a bus or line in memory.

    Raises
    ------
    InputError
        If there is no emulator of this kind; the message lists the kinds.
    """
    if arm.driver.kind == "simulated":
        raise InputError(
            f"{arm.path}: a simulated arm has no drives to emulate; name an arm whose [driver] has "
            f"one of the kinds {', '.join(EMULATORS)}, for example lab6-canopen"
        )
    if arm.driver.kind not in EMULATORS:
        raise unknown_name("kind of emulator", arm.driver.kind, EMULATORS)
    made: Emulator = resolve_name(f"stribeck.drivers.emulators.{arm.driver.kind}:Emulator")(
        arm, seed, transport, clock
    )
    return made
