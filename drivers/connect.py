"""From an arm file to the arm that it describes: the table of drivers."""

from collections.abc import Callable
from pkgutil import resolve_name

from stribeck.drivers.arm import Arm
from stribeck.ident.arm.arm_file import ArmFile, refuse_assumed
from stribeck.ident.errors import InputError, about_file, unknown_name
from stribeck.ident.plugins import installed, load

Connect = Callable[[ArmFile, int | None], Arm]
GROUP = "stribeck.drivers"      # entry points of drivers that other packages bring: functions as those of `DRIVERS`


def _simulated(arm: ArmFile, seed: int | None) -> Arm:
    from stribeck.drivers.simulation.simulated_arm import SimulatedArm

    return SimulatedArm(arm, seed=seed)


def _wired(link: str) -> Connect:
    """Connects an arm by a link, "module:class", which is imported when it is needed."""
    def made(arm: ArmFile, seed: int | None) -> Arm:
        from stribeck.drivers.wire.wired_arm import WiredArm

        return WiredArm(arm, resolve_name(link))

    return made


DRIVERS: dict[str, Connect] = {
    "simulated": _simulated,
    "canopen": _wired("stribeck.drivers.canopen.canopen_link:CanopenLink"),
    "dynamixel": _wired("stribeck.drivers.dynamixel.dynamixel_link:DynamixelLink"),
    "damiao": _wired("stribeck.drivers.mit.damiao:DamiaoLink"),
    "odrive": _wired("stribeck.drivers.odrive.odrive_link:OdriveLink"),
    "cubemars": _wired("stribeck.drivers.mit.cubemars:CubemarsLink")}

HOLDING = frozenset({"simulated", "canopen", "dynamixel", "cubemars"})  # that hear nothing for long, and stop; others lose power


def driver_function(arm: ArmFile) -> Connect | None:
    """What connects an arm of this kind; None where it cannot be had here: `connect` says why, and plans do without."""
    kind = arm.driver.kind
    if kind in DRIVERS:
        return DRIVERS[kind]
    try:
        return load(GROUP, kind) if kind in installed(GROUP) else None
    except InputError:
        return None


def holds_in_silence(arm: ArmFile) -> bool:
    """Whether the arm's drives stop and hold their joints when they hear nothing for long; others lose power.

    The function of a plug-in says so by an attribute ``holding = True``.
    """
    return arm.driver.kind in HOLDING or bool(getattr(driver_function(arm), "holding", False))


def check_kind(arm: ArmFile) -> None:
    """Refuse an arm whose kind of driver is neither built in nor a plug-in that is installed; loads and connects nothing.

    Raises
    ------
    InputError
        Lists the drivers.
    """
    known = [*DRIVERS, *installed(GROUP)]
    if arm.driver.kind not in known:
        with about_file(arm.path):
            raise unknown_name("driver kind", arm.driver.kind, known)


def connect(arm: ArmFile, seed: int | None = None) -> Arm:
    """Arm of the kind that ``[driver]`` names, not yet connected.

    Kinds are those of `DRIVERS` and the plug-ins that are installed: entry points of the group ``stribeck.drivers``, each a
    function like those of the table.

    Parameters
    ----------
    arm : ArmFile
        The arm file.
    seed : int, optional
        Seed of simulated noise; overrides the file's.

    Raises
    ------
    InputError
        If there is no such driver; lists the drivers. If limits of hardware are assumed.
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
