"""Tables of motion and torque (CSV) with columns ``t``, ``q.NAME``, ``dq.NAME``,
``ddq.NAME`` and ``tau.NAME``.
"""

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError, no_file, no_text, unknown_name
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.whole_files import write_whole

SIGNALS = ("q", "dq", "ddq", "tau")
_DEGREE = 5  # degree of the spline through positions
_ROWS = 6  # smallest number of rows for the spline


@dataclass(frozen=True)
class MotionTable:
    """A motion table as read from its file.

    Attributes
    ----------
    path : Path
        File of the table.
    t : ndarray, shape (N,)
        Increasing times [s].
    columns : dict of (str, str) to ndarray, shape (N,)
        Columns by signal and joint.
    """

    path: Path
    t: Array
    columns: dict[tuple[str, str], Array]

    def joints(self, signal: str, mechanism: Mechanism) -> tuple[int, ...]:
        """Indices of joints with a column of this signal, in the mechanism's order."""
        return tuple(j for j, name in enumerate(mechanism.names) if (signal, name) in self.columns)

    def get(self, signal: str, mechanism: Mechanism, joints: tuple[int, ...]) -> Array:
        """Columns of a signal for some joints, shape (N, k).

        Raises
        ------
        InputError
            If columns are missing; the message names them.
        """
        missing = [
            f"{signal}.{mechanism.names[j]}"
            for j in joints
            if (signal, mechanism.names[j]) not in self.columns
        ]
        if missing:
            raise InputError(
                f"{self.path}: no column {', '.join(missing)}; {mechanism.name} needs {signal} of "
                f"the joints {', '.join(mechanism.names[j] for j in joints)}"
            )
        columns = [self.columns[signal, mechanism.names[j]] for j in joints]
        return np.stack(columns, axis=1) if columns else np.zeros((len(self.t), 0))

    def motion(self, mechanism: Mechanism, joints: tuple[int, ...]) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations of joints, shape (N, k) each.

        Missing velocities and accelerations are derivatives of a spline of degree five through
        the positions. If velocities are given, missing accelerations are derivatives of a
        spline through the velocities.

        Raises
        ------
        InputError
            If positions are missing, or there are too few rows for a derivative.
        """
        from scipy.interpolate import make_interp_spline

        q = self.get("q", mechanism, joints)
        dq, ddq = np.empty_like(q), np.empty_like(q)
        for k, j in enumerate(joints):
            speed, gain = (
                self.columns.get((signal, mechanism.names[j])) for signal in ("dq", "ddq")
            )
            if (speed is None or gain is None) and len(self.t) < _ROWS:
                raise InputError(
                    f"{self.path}: {len(self.t)} rows, but derivatives of q.{mechanism.names[j]} "
                    f"need {_ROWS}; give "
                    f"columns dq.{mechanism.names[j]} and ddq.{mechanism.names[j]}"
                )
            if speed is None:
                spline = make_interp_spline(self.t, q[:, k], _DEGREE)
                speed, curve = spline(self.t, 1), spline(self.t, 2)
            elif gain is None:
                curve = make_interp_spline(self.t, speed, _DEGREE)(self.t, 1)
            dq[:, k], ddq[:, k] = speed, curve if gain is None else gain
        return q, dq, ddq


def read_motion(path: Path, mechanism: Mechanism) -> MotionTable:
    """Read a motion table.

    Raises
    ------
    InputError
        If the file does not exist or is not a CSV table, a column is unknown or repeated, a value
        is not a number, or times do not increase.
    """
    if not path.is_file():
        raise no_file(path)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = [
                (number, row)
                for number, row in enumerate(csv.reader(file), 1)
                if row and not row[0].startswith("#")
            ]
    except UnicodeDecodeError:
        raise no_text(path) from None
    except csv.Error as error:
        raise InputError(f"{path}: not a CSV table: {error}") from None
    if len(lines) < 2:
        raise InputError(
            f"{path}: a line of column names and at least one row of numbers are needed"
        )
    names = [name.strip() for name in lines[0][1]]
    for k, name in enumerate(names):
        _check_column(path, name, names[:k], mechanism)
    if "t" not in names:
        raise InputError(f"{path}: no column t (s); found {', '.join(names)}")
    values = np.array([_numbers(path, number, row, names) for number, row in lines[1:]])
    t = values[:, names.index("t")]
    late = np.flatnonzero(np.diff(t) <= 0.0)
    if len(late):
        row = int(late[0]) + 1
        raise InputError(
            f"{path}, line {lines[row + 1][0]}: t = {t[row]:g} s after {t[row - 1]:g} s; times "
            "must increase"
        )
    return MotionTable(
        path, t, {_signal(name): values[:, k] for k, name in enumerate(names) if name != "t"}
    )


def write_motion(path: Path, t: Array, columns: dict[str, Array]) -> None:
    """Write a motion table; unknown values (nan) become empty cells.

    Raises
    ------
    InputError
        If the file exists.
    """
    if path.exists():
        raise InputError(f"{path} exists; choose another --out")
    rows = np.column_stack((t, *columns.values()))
    lines = [
        ("t", *columns),
        *(["" if np.isnan(value) else repr(float(value)) for value in row] for row in rows),
    ]
    write_whole(path, "".join(",".join(line) + "\n" for line in lines))


def _signal(name: str) -> tuple[str, str]:
    signal, _, joint = name.partition(".")
    return signal, joint


def _check_column(path: Path, name: str, before: list[str], m: Mechanism) -> None:
    signal, joint = _signal(name)
    if name in before:
        raise InputError(f"{path}: column {name} occurs twice")
    if name == "t":
        return
    if signal not in SIGNALS or not joint:
        raise InputError(
            f"{path}: unknown column {name!r}; valid are t, "
            f"{', '.join(f'{signal}.NAME' for signal in SIGNALS)}"
        )
    if joint not in m.names:
        error = unknown_name("joint", joint, m.names)
        raise InputError(f"{path}: column {name}: {error}")


def _numbers(path: Path, line: int, row: list[str], names: list[str]) -> list[float]:
    if len(row) != len(names):
        raise InputError(f"{path}, line {line}: {len(row)} values for {len(names)} columns")
    out = []
    for text, name in zip(row, names, strict=True):
        try:
            out.append(float(text))
        except ValueError:
            out.append(np.nan)
        if not np.isfinite(out[-1]):
            raise InputError(
                f"{path}, line {line}: {name} = {text.strip() or 'empty'}; a finite number is "
                "needed"
            )
    return out
