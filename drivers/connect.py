"""From an arm file to the arm that it describes."""

from collections.abc import Callable

from drivers.arm import Arm
from ident.armfile import ArmFile
from ident.errors import unknown_name


def _simulated(arm: ArmFile, seed: int | None) -> Arm:
    from drivers.simulated import SimulatedArm

    return SimulatedArm(arm, seed=seed)


DRIVERS: dict[str, Callable[[ArmFile, int | None], Arm]] = {"simulated": _simulated}


def connect(arm: ArmFile, seed: int | None = None) -> Arm:
    """Arm of the kind that ``[driver]`` names, not yet connected.

    Parameters
    ----------
    arm : ArmFile
        The arm file.
    seed : int, optional
        Seed of simulated noise; overrides the file's.

    Raises
    ------
    InputError
        If there is no such driver; lists the drivers.
    """
    if arm.driver.kind not in DRIVERS:
        raise unknown_name("driver kind", arm.driver.kind, DRIVERS)
    return DRIVERS[arm.driver.kind](arm, seed)
