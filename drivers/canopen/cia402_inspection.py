"""Inspection of a CiA 402 drive by SDO: its identity, and reasons to
refuse it. Nothing is written.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from stribeck.drivers.canopen import cia402
from stribeck.drivers.canopen.canopen_keys import DriveConfig
from stribeck.drivers.canopen.sdo_client import SdoClient

_UNITS = {"mN·m": 1e-3, "µN·m": 1e-6}
_REVERSED = 0xE0  # 0x607E: position, velocity, torque


@dataclass(frozen=True)
class _StatedCounts:
    """Counts at one motor revolution per second, or per second squared.

    `stated` is the value of the arm file's `key`. `said` is the value and unit of the drive; None
    if the drive names no known unit.
    """

    what: str
    per: str
    index: int
    key: str
    stated: float
    said: tuple[float, str] | None


def identity(sdo: SdoClient, config: DriveConfig) -> dict[str, str]:
    """Return device, firmware and modes of the drive, and its limits at the joint."""
    joint, scale = config.joint, config.scale
    supported = sdo.read(0x6502, 0, "<I") or 0
    return {
        "node": str(config.drive.node),
        "device": sdo.text(0x1008) or f"type 0x{sdo.read(0x1000, 0, '<I') or 0:08X}",
        "firmware": sdo.text(0x100A) or "-",
        "modes": " ".join(_modes(supported)),
        "holds": ", ".join(
            f"{value * step:.3g} {unit}"
            for value, step, unit in (
                (sdo.read(0x607F, 0, "<I"), abs(scale.velocity), f"{joint.position_unit}/s"),
                (sdo.read(0x6072, 0, "<H"), abs(scale.torque), joint.torque_unit),
            )
            if value is not None
        ),
        **{
            f"{of.what} counts": f"{of.stated:g} at one motor revolution per {of.per}, "
            + (
                f"from the arm file; the drive does not report its unit (0x{of.index:04X})"
                if of.said is None
                else "reported by the drive"
            )
            for of in _stated_counts(sdo, config)
        },
    }


def torque_mode(sdo: SdoClient, config: DriveConfig) -> int | None:
    """Return the number of the drive's torque mode; None if the drive lists no modes, or
    no torque mode is needed.

    Raises
    ------
    DriverError
        If the drive lists its modes and a needed mode is missing.
    """
    supported = sdo.read(0x6502, 0, "<I")
    if supported is None:
        return None
    needed: dict[str, int] = {config.keys.profile: config.velocity_mode}
    torque = None
    if config.has_torque_mode:
        cyclic = supported >> (cia402.MODES["cst"] - 1) & 1
        needed["cst or tq"] = torque = cia402.MODES["cst" if cyclic else "tq"]
    for name, mode in needed.items():
        if not supported >> (mode - 1) & 1:
            has = ", ".join(_modes(supported))
            raise sdo.error(
                f"has no mode {name} (0x6502 offers {has or 'no mode that stribeck uses'})"
            )
    return torque


def check_drive(sdo: SdoClient, config: DriveConfig) -> None:
    """Refuse a drive with another rated torque or unit, reversed polarity, a fault, or
    another program that moves it.

    Raises
    ------
    DriverError
        The message has the drive's value, the arm file's value, and the remedy.
    """
    _check_rated_torque(sdo, config)
    for of in _stated_counts(sdo, config):
        if of.said is not None and abs(of.said[0] - of.stated) > 0.01 * of.said[0]:
            raise sdo.error(
                f"counts {of.what} in {of.said[1]} (0x{of.index:04X}): {of.said[0]:g} counts at "
                f"one motor revolution per {of.per}; the arm file states {of.stated:g} ({of.key}). "
                f"Every {of.what} would be wrong by the ratio of these numbers. Correct the arm "
                "file, or the drive's unit"
            )
    polarity = sdo.read(0x607E, 0, "<B") or 0
    if polarity & _REVERSED:
        raise sdo.error(
            f"has a polarity that reverses signs (0x607E = 0x{polarity:02X}). Drives differ in "
            "whether they reverse set-points or readings, and whether of position, velocity or "
            "torque. Set 0x607E to 0, and state direction = -1 in the arm file if the joint turns "
            "the other way"
        )
    if state(sdo) in cia402.FAULTS:
        raise sdo.error(
            f"has a fault, {fault_words(sdo)}; remove its cause, then clear the fault with "
            "stribeck check --reset"
        )
    refuse_company(sdo)


def refuse_company(sdo: SdoClient) -> None:
    """Refuse a drive in "operation enabled": it follows another program."""
    if state(sdo) == "operation enabled":
        raise sdo.error(
            "is powered and follows another program, or a program ended without stopping the "
            "drive; end that program, or switch the drive off, first"
        )


def state(sdo: SdoClient) -> str:
    """State of the power drive system."""
    return cia402.state(sdo.read(0x6041, 0, "<H") or 0)


def fault_words(sdo: SdoClient) -> str:
    """The drive's fault in words."""
    return cia402.emergency_words(sdo.read(0x603F, 0, "<H") or 0)


def _modes(supported: int) -> list[str]:
    """Names of the modes that a drive lists in 0x6502."""
    return [name for name, mode in cia402.MODES.items() if supported >> (mode - 1) & 1]


def _check_rated_torque(sdo: SdoClient, config: DriveConfig) -> None:
    unit, stated = config.drive.rated_torque_unit, config.drive.rated_torque
    found = (sdo.read(0x6076, 0, "<I") or 0) * _UNITS[unit]
    if abs(found - stated) > 0.01 * stated:
        raise sdo.error(
            f"reports a rated torque of {found:g} N·m (0x6076, in {unit}); the arm file states "
            f"{stated:g} N·m. Every torque would be wrong by the ratio of these numbers. Correct "
            "rated_torque or rated_torque_unit"
        )


def _stated_counts(sdo: SdoClient, config: DriveConfig) -> Iterator[_StatedCounts]:
    """Yield speed and acceleration counts as the arm file states them and
    as the drive reports them.
    """
    turn = config.drive.position_counts
    yield _StatedCounts(
        "speed",
        "second",
        0x60A9,
        "velocity_counts, by default position_counts",
        config.velocity_counts,
        cia402.speed_unit(sdo.read(0x60A9, 0, "<I") or 0, turn),
    )
    yield _StatedCounts(
        "acceleration",
        "second squared",
        0x60AA,
        "acceleration_counts, by default velocity_counts",
        config.acceleration_counts,
        cia402.acceleration_unit(sdo.read(0x60AA, 0, "<I") or 0, turn),
    )
