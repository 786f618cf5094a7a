"""Marked pushes: a table of the times at which something pushed a joint."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from stribeck.ident.errors import InputError, no_file, no_text, unknown_name

_NEEDED, _OPTIONAL = ("start", "end", "joint"), "torque"


@dataclass(frozen=True)
class Push:
    """A push on one joint.

    Attributes
    ----------
    start, end : float
        On the clock of the run [s].
    joint : str
        Joint whose external torque must show it.
    torque : float, optional
        External torque, if it is known [N·m or N].
    """

    start: float
    end: float
    joint: str
    torque: float | None = None


def read_pushes(path: Path, joints: Sequence[str], last: float) -> list[Push]:
    """Read a CSV with the columns start, end, joint and, if known, torque; lines that
    begin with # are comments.

    Parameters
    ----------
    path : Path
        The file.
    joints : sequence of str
        Joints of the run.
    last : float
        Time of the last sample of the run [s].

    Raises
    ------
    InputError
        If the file cannot be read, a column is missing or unknown, or a push lies
        outside the run; names the line.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise no_file(path) from error
    except UnicodeDecodeError as error:
        raise no_text(path) from error
    kept = [
        (number, line)
        for number, line in enumerate(lines, 1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if not kept:
        raise InputError(
            f"{path}: no rows; a table of pushes has the columns {', '.join(_NEEDED)} and, if "
            f"known, {_OPTIONAL}"
        )
    heads, *rows = ([cell.strip() for cell in row] for row in csv.reader(line for _, line in kept))
    for name in _NEEDED:
        if name not in heads:
            raise InputError(
                f"{path}: no column {name}, only {', '.join(heads)}; a table of pushes has the "
                f"columns {', '.join(_NEEDED)} and, if known, {_OPTIONAL}"
            )
    for name in heads:
        if name not in (*_NEEDED, _OPTIONAL):
            raise InputError(f"{path}: {unknown_name('column', name, (*_NEEDED, _OPTIONAL))}")
    found = [
        _push(f"{path}, line {number}", dict(zip(heads, row, strict=False)), joints, last)
        for (number, _), row in zip(kept[1:], rows, strict=True)
    ]
    if not found:
        raise InputError(f"{path}: no pushes below the names of the columns; give at least one row")
    return found


def _push(where: str, row: dict[str, str], joints: Sequence[str], last: float) -> Push:
    """Return the push of one row, after checks."""
    start, end = (_number(where, name, row.get(name, "")) for name in ("start", "end"))
    if row.get("joint") not in joints:
        raise InputError(f"{where}: {unknown_name('joint', row.get('joint', ''), joints)}")
    if not 0.0 <= start < end <= last:
        raise InputError(
            f"{where}: start = {start:g} s, end = {end:g} s; a push ends after it starts, within "
            f"the run of 0 to {last:g} s"
        )
    return Push(
        start,
        end,
        row["joint"],
        _number(where, _OPTIONAL, row[_OPTIONAL]) if row.get(_OPTIONAL) else None,
    )


def _number(where: str, name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not isfinite(value):
        raise InputError(
            f"{where}: {name} = {text!r} is not a finite number; a finite number is needed"
        )
    return value
