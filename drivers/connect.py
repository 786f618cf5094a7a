"""Makes the arm that an arm file describes; holds the table of drivers."""

from collections.abc import Callable
from pkgutil import resolve_name

from stribeck.drivers.arm import Arm
from stribeck.ident.arm.arm_file import ArmFile, refuse_assumed
from stribeck.ident.errors import InputError, about_file, unknown_name
from stribeck.ident.plugins import installed, load

Connect = Callable[[ArmFile, int | None], Arm]
# group of entry points for drivers of other packages; each is a function like those of `DRIVERS`
GROUP = "stribeck.drivers"


def _simulated(arm: ArmFile, seed: int | None) -> Arm:
    from stribeck.drivers.simulation.simulated_arm import SimulatedArm

    return SimulatedArm(arm, seed=seed)


# drives on a bus: module and class of the link, imported at the first use
LINKS = {
    "canopen": "stribeck.drivers.canopen.canopen_link:CanopenLink",
    "dynamixel": "stribeck.drivers.dynamixel.dynamixel_link:DynamixelLink",
    "damiao": "stribeck.drivers.mit.damiao:DamiaoLink",
    "odrive": "stribeck.drivers.odrive.odrive_link:OdriveLink",
    "cubemars": "stribeck.drivers.mit.cubemars:CubemarsLink",
}


def _wired(arm: ArmFile, seed: int | None) -> Arm:
    from stribeck.drivers.wire.wired_arm import WiredArm

    return WiredArm(arm, resolve_name(LINKS[arm.driver.kind]))


DRIVERS: dict[str, Connect] = {"simulated": _simulated, **dict.fromkeys(LINKS, _wired)}

# kinds whose drives stop and hold their joints when they hear nothing for long; drives
# of other kinds lose power
HOLDING = frozenset({"simulated", "canopen", "dynamixel", "cubemars"})


def driver_function(arm: ArmFile) -> Connect | None:
    """Return the function that makes an arm of this kind, or None if the driver cannot be loaded.

    Plans work without the driver; `connect` raises the reason.
    """
    kind = arm.driver.kind
    if kind in DRIVERS:
        return DRIVERS[kind]
    try:
        return load(GROUP, kind) if kind in installed(GROUP) else None
    except InputError:
        return None


def holds_in_silence(arm: ArmFile) -> bool:
    """Whether the arm's drives stop and hold their joints when they hear nothing for
    long; other drives lose power.

    A plug-in declares this by the attribute ``holding = True`` of its function.
    """
    return arm.driver.kind in HOLDING or bool(getattr(driver_function(arm), "holding", False))


def check_kind(arm: ArmFile) -> None:
    """Refuse an arm whose driver is neither built in nor an installed plug-in;
    loads and connects nothing.

    Raises
    ------
    InputError
        If the kind is unknown; the message lists the drivers.
    """
    known = [*DRIVERS, *installed(GROUP)]
    if arm.driver.kind not in known:
        with about_file(f"{arm.path}: driver.kind"):
            raise unknown_name("driver kind", arm.driver.kind, known)


def connect(arm: ArmFile, seed: int | None = None) -> Arm:
    """Make the arm of the kind that ``[driver]`` names; the arm is not connected yet.

    The kinds are those of `DRIVERS` and the installed plug-ins: entry points of the group
    ``stribeck.drivers``, each a function like those of the table.

    Parameters
    ----------
    arm : ArmFile
        The arm file.
    seed : int, optional
        Seed of simulated noise; overrides the seed of the arm file.

    Raises
    ------
    InputError
        If the driver is unknown; the message lists the drivers. Also if limits of real
        hardware are assumed, not stated.
    """
    kind = arm.driver.kind
    if kind != "simulated":
        refuse_assumed(arm)
    if kind in DRIVERS:
        return DRIVERS[kind](arm, seed)
    check_kind(arm)
    with about_file(arm.path):
        plugin: Connect = load(GROUP, kind)
    return plugin(arm, seed)
