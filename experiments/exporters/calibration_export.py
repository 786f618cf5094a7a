"""A calibration as a file or folder for other software."""

from pathlib import Path

from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.errors import InputError
from stribeck.ident.export.formats import export
from stribeck.ident.whole_files import write_whole, write_whole_folder

# formats that can include torque offsets in the friction
WITH_OFFSET = ("c", "ros2-controller", "matlab")


def export_calibration(
    calibration: Calibration,
    to: str,
    out: Path | None = None,
    into: Path | None = None,
    offset: bool = False,
    plain: bool = False,
) -> tuple[Path, tuple[str, ...]]:
    """Write a calibration for other software.

    Parameters
    ----------
    calibration : Calibration
        Loaded from its file.
    to : str
        One of `export_formats`.
    out : Path, optional
        New file, or new or empty folder; default beside the calibration, named after the arm.
    into : Path, optional
        Robot description that is copied with the friction added; default the calibration's model.
    offset : bool
        Whether the friction includes the torque offset of each joint; only for `WITH_OFFSET`.
    plain : bool
        Whether an MJCF has constant and viscous friction only.

    Returns
    -------
    Path
        The file or folder.
    tuple of str
        What the format cannot express.

    Raises
    ------
    InputError
        On an unknown format, a model that the format cannot be written from, a file that exists, or
        a folder that is not empty.
    """
    if offset and to not in WITH_OFFSET:
        raise InputError(
            f"--offset: the format {to} cannot include the offset in the friction: it has no field "
            "for a constant torque, or states the offset separately; use --offset with --to "
            f"{', '.join(WITH_OFFSET)}"
        )
    result = export(calibration.with_offset() if offset else calibration, to, into, plain)
    target = out or calibration.folder / (
        result.name or f"{calibration.arm}.calibrated{result.suffix}"
    )
    if result.folder is not None:
        write_whole_folder(target, result.folder)
    elif target.exists():
        raise InputError(f"{target} exists; choose another --out")
    else:
        write_whole(target, result.text)
    return target, result.losses
