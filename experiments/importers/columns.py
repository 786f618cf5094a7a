"""The column map: which column of a foreign log is which signal, in which unit."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from ident.errors import InputError, unknown_name

UNITS = {
    "t": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9},
    "q": {"rad": 1.0, "deg": math.pi / 180.0, "rev": 2.0 * math.pi, "m": 1.0, "mm": 1e-3},
    "dq": {"rad/s": 1.0, "deg/s": math.pi / 180.0, "rev/s": 2.0 * math.pi, "rpm": 2.0 * math.pi / 60.0, "m/s": 1.0,
           "mm/s": 1e-3},
    "tau": {"Nm": 1.0, "N·m": 1.0, "N.m": 1.0, "mNm": 1e-3, "N": 1.0, "kN": 1e3},
    "temperature": {"°C": 1.0, "degC": 1.0},
}
SIGNALS = ("q", "dq", "tau", "temperature")
_ENTRY = re.compile(r"\s*(?P<target>[^=]+?)\s*=\s*(?P<column>[^\[\]]+?)\s*(?:\[\s*(?P<unit>[^\]]+?)\s*\])?\s*$")


@dataclass(frozen=True)
class ColumnMap:
    """One entry: signal and joint (None for time), column of the log, the factor to SI, and the unit as it was given."""

    signal: str
    joint: str | None
    column: str
    factor: float
    unit: str | None = None

    def find(self, names: Iterable[str]) -> str | None:
        """The column among a log's, which may state the unit behind its name: ``pos`` or ``pos [deg]``; None if missing."""
        spellings = {self.column, *(f"{self.column}{gap}{left}{self.unit}{right}" for gap in ("", " ")
                                    for left, right in ("[]", "()"))}
        return next((name for name in names if name in spellings), None)


def parse_columns(entries: list[str], names: tuple[str, ...]) -> tuple[ColumnMap, ...]:
    """Column map from texts like ``t=time[ms]``, ``q.j1=pos_1[deg]``, ``tau.j1=current_1[0.089 N·m/A]``.

    The bracket holds a unit or a factor to SI, with an optional unit behind it that is only read by people.

    Raises
    ------
    InputError
        On an entry of another form, an unknown signal, joint or unit, or a missing time, position or torque.
    """
    maps = []
    for entry in entries:
        match = _ENTRY.match(entry)
        if match is None:
            raise InputError(f"column {entry!r}: write signal.joint=column[unit], e.g. q.{names[0]}=pos[deg] or t=time[ms]")
        signal, _, joint = match["target"].partition(".")
        if signal == "t" and not joint:
            maps.append(ColumnMap("t", None, match["column"], _factor("t", match["unit"], entry), match["unit"]))
            continue
        if signal not in SIGNALS:
            raise unknown_name("signal", signal, ("t", *SIGNALS))
        if joint not in names:
            raise unknown_name("joint", joint, names)
        maps.append(ColumnMap(signal, joint, match["column"], _factor(signal, match["unit"], entry), match["unit"]))
    have = {(entry.signal, entry.joint) for entry in maps}
    for needed in [("t", None), *((signal, name) for name in names for signal in ("q", "tau"))]:
        if needed not in have:
            target = ".".join(part for part in needed if part)
            raise InputError(f"no column is given for {target}; add --column {target}=NAME[unit]")
    if len(have) < len(maps):
        raise InputError("a signal is given twice in the column map")
    return tuple(maps)


def _factor(signal: str, unit: str | None, entry: str) -> float:
    """Factor to SI of a unit of the signal, or of a number."""
    if unit is None:
        return 1.0
    if unit in UNITS[signal]:
        return UNITS[signal][unit]
    try:
        factor = float(unit.split()[0])
    except ValueError:
        raise InputError(f"column {entry!r}: {unknown_name('unit', unit, UNITS[signal])}; a factor such as [35.15 N/V] "
                         "works too") from None
    if not math.isfinite(factor) or factor == 0.0:
        raise InputError(f"column {entry!r}: a factor of {factor:g} cannot be right")
    return factor
