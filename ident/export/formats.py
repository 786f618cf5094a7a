"""Table of the export formats by name, including the formats of plug-in packages."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.errors import InputError, unknown_name
from stribeck.ident.export.bearing_friction import to_adams, to_motionsolve
from stribeck.ident.export.c.c_header import to_c
from stribeck.ident.export.descriptions.robot_descriptions import to_mjcf, to_urdf
from stribeck.ident.export.descriptions.sdf import to_sdf
from stribeck.ident.export.descriptions.usd import to_isaac_lab, to_usd
from stribeck.ident.export.descriptions.xml_markup import with_comment
from stribeck.ident.export.matlab_function import to_matlab
from stribeck.ident.export.numbers import to_csv, to_json, to_ros2, to_trossen, to_vendor
from stribeck.ident.export.result import Export
from stribeck.ident.export.ros2.ros2_controller import to_ros2_controller
from stribeck.ident.plugins import installed, load

DESCRIPTIONS: dict[str, Callable[[Calibration, Path | None], Export]] = {
    "urdf": to_urdf,
    "mjcf": to_mjcf,
    "sdf": to_sdf,
    "usd": to_usd,
}
NUMBERS: dict[str, Callable[[Calibration], Export]] = {
    "json": to_json,
    "csv": to_csv,
    "ros2": to_ros2,
    "c": to_c,
    "isaac-lab": to_isaac_lab,
    "vendor": to_vendor,
    "ros2-controller": to_ros2_controller,
    "matlab": to_matlab,
    "motionsolve": to_motionsolve,
    "adams": to_adams,
    "trossen": to_trossen,
}
# entry points of formats from plug-in packages: functions like those of `NUMBERS`
GROUP = "stribeck.exporters"


def export_formats() -> tuple[str, ...]:
    """Return the names of all formats; those of plug-in packages (entry points
    ``stribeck.exporters``) come last.
    """
    return (*DESCRIPTIONS, *NUMBERS, *installed(GROUP))


def export(
    calibration: Calibration, target: str, into: Path | None = None, plain: bool = False
) -> Export:
    """Convert a calibration to another format.

    Parameters
    ----------
    calibration : Calibration
        Loaded from its file.
    target : str
        One of `export_formats`.
    into : Path, optional
        Robot description into which friction is written; default is the calibration's model.
    plain : bool
        For MJCF: whether joints get constant and viscous friction only, which
        all versions of MuJoCo read.

    Raises
    ------
    InputError
        If the format is unknown, or the calibration's model cannot be converted to it.
    """
    if plain and target != "mjcf":
        raise InputError(
            f"--plain: the format {target} has no other form; leave --plain out, or export to mjcf"
        )
    if target in DESCRIPTIONS:
        made = (
            to_mjcf(calibration, into, plain) if plain else DESCRIPTIONS[target](calibration, into)
        )
        xml = made.suffix in (".urdf", ".xml", ".sdf")
        return (
            replace(made, text=with_comment(made.text, "Joint friction of ", calibration.origin))
            if xml
            else made
        )
    if target not in NUMBERS and target not in installed(GROUP):
        raise unknown_name("export format", target, export_formats())
    if into is not None:
        raise InputError(
            f"--into {into}: --into writes friction into {', '.join(DESCRIPTIONS)} files only; the "
            f"format {target} is a file of numbers, leave --into out"
        )
    exporter: Callable[[Calibration], Export] = (
        NUMBERS[target] if target in NUMBERS else load(GROUP, target)
    )
    return exporter(calibration)
