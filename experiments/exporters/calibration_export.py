"""A calibration as a file for other software."""

from pathlib import Path

from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.errors import InputError
from stribeck.ident.export.formats import export
from stribeck.ident.whole_files import write_whole


def export_calibration(calibration: Calibration, to: str, out: Path | None = None, into: Path | None = None,
                       offset: bool = False, plain: bool = False) -> tuple[Path, tuple[str, ...]]:
    """Write a calibration for other software.

    Parameters
    ----------
    calibration : Calibration
        Loaded from its file.
    to : str
        One of `export_formats`.
    out : Path, optional
        New file; default beside the calibration, named after the arm.
    into : Path, optional
        Robot description that is copied with the friction added; default the calibration's model.
    offset : bool
        Whether the friction includes the torque offset of each joint; only in C.
    plain : bool
        Whether an MJCF has constant and viscous friction only.

    Returns
    -------
    Path
        The file.
    tuple of str
        What the format cannot express.

    Raises
    ------
    InputError
        On an unknown format, a model that the format cannot be written from, or a file that exists.
    """
    if offset and to != "c":
        raise InputError(f"--offset: the format {to} cannot include the offset in the friction: it has no field for a constant "
                         "torque, or states the offset separately; use --offset with --to c")
    result = export(calibration.with_offset() if offset else calibration, to, into, plain)
    target = out or calibration.folder / f"{calibration.arm}.calibrated{result.suffix}"
    if target.exists():
        raise InputError(f"{target} exists; choose another --out")
    write_whole(target, result.text)
    return target, result.losses
