"""The column map: signal, joint and unit of each column of a foreign log."""

import math
import re
import shlex
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from stribeck.ident.errors import InputError, unknown_name
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.toml_tables import read_toml

UNITS = {
    "t": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0},
    "q": {
        "rad": 1.0,
        "mrad": 1e-3,
        "deg": math.pi / 180.0,
        "°": math.pi / 180.0,
        "rev": 2.0 * math.pi,
        "turn": 2.0 * math.pi,
        "m": 1.0,
        "mm": 1e-3,
    },
    "dq": {
        "rad/s": 1.0,
        "mrad/s": 1e-3,
        "deg/s": math.pi / 180.0,
        "rev/s": 2.0 * math.pi,
        "rpm": 2.0 * math.pi / 60.0,
        "m/s": 1.0,
        "mm/s": 1e-3,
    },
    "tau": {
        "Nm": 1.0,
        "N·m": 1.0,
        "N.m": 1.0,
        "mNm": 1e-3,
        "Nmm": 1e-3,
        "Ncm": 1e-2,
        "kNm": 1e3,
        "N": 1.0,
        "kN": 1e3,
    },
    "temperature": {"°C": 1.0, "degC": 1.0},
    "on": {},
}
CURRENTS = {"A": 1.0, "mA": 1e-3}  # units of a torque signal whose torque constant is known
SIGNALS = ("q", "dq", "tau", "temperature", "q_cmd", "dq_cmd", "q_link", "on")
_AS = {"q_cmd": "q", "dq_cmd": "dq", "q_link": "q"}  # signal -> the signal whose units it shares
SLIDES = {"m", "mm", "m/s", "mm/s", "N", "kN"}  # units of prismatic joints
# spellings of each unit, see `known_spelling`; all other spellings are unknown
_SPELLED = {
    spelling: unit
    for unit, spellings in {
        "s": "s sec secs second seconds sekunde sekunden",
        "ms": "ms msec msecs millisecond milliseconds",
        "us": "us usec usecs microsecond microseconds",
        "ns": "ns nsec nsecs nanosecond nanoseconds",
        "min": "min minutes",
        "rad": "rad radian radians",
        "mrad": "mrad",
        "deg": "deg degree degrees",
        "°": "°",
        "rev": "rev",
        "turn": "turn",
        "m": "m",
        "mm": "mm",
        "rad/s": "rad/s rads rad/sec rads^1 radians/s",
        "mrad/s": "mrad/s",
        "deg/s": "deg/s degs deg/sec degrees/s °/s °/sec",
        "rev/s": "rev/s",
        "rpm": "rpm rev/min u/min 1/min min^1 min⁻¹ min1 r/min",
        "m/s": "m/s m/sec",
        "mm/s": "mm/s mm/sec",
        "Nm": "nm",
        "mNm": "mnm",
        "Ncm": "ncm",
        "Nmm": "nmm",
        "kNm": "knm",
        "kN": "kn",
        "A": "a amp amps ampere",
        "mA": "ma",
        "°C": "°c celsius",
        "degC": "degc",
    }.items()
    for spelling in spellings.split()
}
_MEANT = {"grad": "deg"}  # German "grad" means degree, but may also mean gon
# a name may contain brackets
_ENTRY = re.compile(
    r"\s*(?P<target>[^=]+?)\s*=\s*(?P<column>\S.*?)\s*"
    # q[0] is a column name
    r"(?:\[\s*(?P<unit>(?!\d+\s*\])[^\[\]]+?)\s*\])?\s*$",
    re.DOTALL,
)
# unit after a name; a whole number is an index
_UNIT = re.compile(r"\s*(?:\[(?!\d+\])([^\]]*)\]|\((?!\d+\))([^)]*)\))\s*$")
# anywhere in the name
_BRACKET = re.compile(r"\[(?!\s*\d+\s*\])([^\[\]]*)\]|\((?!\s*\d+\s*\))([^()]*)\)")
# characters that a shell or TOML interprets inside double quotes
_SHELL = re.compile(r"[\"$`\\!]")
_INDEXED = re.compile(r"(.*?)\s*\[(\d+)\]$")
_RANGE = re.compile(r"(\d{1,6}):(\d{1,6})$")


@dataclass(frozen=True)
class ColumnMap:
    """One entry of the column map: signal, joint (None for time), column of the log, factor to
    SI, and the unit as given.

    `current` marks a torque column in ampere; `factor` then converts to A. `guess` states the
    evidence for a guessed entry.
    """

    signal: str
    joint: str | None
    column: str
    factor: float
    unit: str | None = None
    current: bool = False
    guess: str = ""

    @property
    def target(self) -> str:
        """``t``, or ``signal.joint``."""
        return self.signal if self.joint is None else f"{self.signal}.{self.joint}"

    @property
    def option(self) -> str:
        """Command line option for this entry, quoted for a shell and for TOML."""
        # a name that ends in its unit gets no second unit
        behind = _UNIT.search(self.column)
        stated = (
            behind is not None
            and known_spelling(behind[1] or behind[2] or "", known_units(self.signal)) == self.unit
        )
        text = f"{self.target}={self.column}" + (
            "" if stated or not self.unit else f"[{self.unit}]"
        )
        return "--column " + (shlex.quote(text) if _SHELL.search(text) else f'"{text}"')

    def find(self, names: Iterable[str]) -> str | None:
        """Return the matching column of a log, ``pos`` or, with the unit in the name, ``pos
        [deg]``; None if there is none.

        An entry with a factor matches a name with any unit. An entry without unit and factor
        matches only the exact name.
        """
        names = list(names)
        exact = [name for name in names if name == self.column] or [
            name for name in names if name.strip() == self.column
        ]
        free = self.unit is None or _is_number(self.unit)
        if free and (exact or self.unit is None):
            return exact[0] if len(exact) == 1 else None
        known = known_units(self.signal)
        stated = [
            name
            for name in names
            if bare(name) == self.column
            and name != self.column
            and (
                free
                or (text := stated_unit(name)) == self.unit
                or known_spelling(text, known) == self.unit
            )
        ]
        # if the log has both, "pos" in deg means "pos [deg]"
        found = stated if len(stated) == 1 else exact
        return found[0] if len(found) == 1 else None


def bare(name: str) -> str:
    """Column name without the bracket at its end."""
    return _UNIT.sub("", name)


def stated_unit(name: str, joint: str | None = None) -> str:
    """Return the last text in brackets in a column name; empty if there is none.

    A whole number in brackets is an index, not a unit. The joint's own name in brackets
    counts as a unit only if the column name has no other brackets and ends in them.
    """
    found = [(match[1] or match[2] or "").strip() for match in _BRACKET.finditer(name)]
    units = [text for text in found if joint is None or text.lower() != joint.lower()]
    return units[-1] if units else found[-1] if found and _UNIT.search(name) else ""


def without_units(name: str, joints: Iterable[str] = ()) -> str:
    """Column name without the bracket at its end and without known units in brackets, except
    units that are joint names.
    """
    called = {joint.lower() for joint in joints}

    def kept(match: re.Match[str]) -> str:
        text = (match[1] or match[2] or "").strip()
        return " " if _is_unit(text) and text.lower() not in called else match[0]

    return bare(_BRACKET.sub(kept, name))


def known_units(signal: str) -> dict[str, float]:
    """Allowed units of a signal, with their factors to SI."""
    return {**UNITS[_AS.get(signal, signal)], **(CURRENTS if signal == "tau" else {})}


def known_spelling(text: str, known: Iterable[str]) -> str | None:
    """Return the known unit for a spelling, ignoring case, dots, hyphens and blanks;
    None for an unknown spelling.
    """
    if text in set(known):
        return text
    unit = _SPELLED.get(re.sub(r"[\s·⋅*.-]", "", text.lower().replace("µ", "u").replace("μ", "u")))
    return unit if unit in set(known) else None


def unknown_unit(text: str, known: Iterable[str]) -> InputError:
    """Error that lists the known units, or proposes the unit that a German word may mean."""
    if meant := _MEANT.get(text.lower()):
        return InputError(f"unknown unit {text!r}; if the unit is {meant}, write [{meant}]")
    return unknown_name("unit", text, known)


def _is_unit(text: str) -> bool:
    return any(known_spelling(text, known_units(signal)) for signal in UNITS)


def _is_number(text: str) -> bool:
    try:
        float(text.split()[0])
    except (ValueError, IndexError):
        return False
    return True


def parse_columns(
    entries: Sequence[str], names: tuple[str, ...], columns: Sequence[str] = ()
) -> tuple[ColumnMap, ...]:
    """Return the column map of entries like ``t=time[ms]``, ``q.j1=pos_1[deg]``,
    ``tau.j1=current_1[0.089 N·m/A]``.

    The last bracket holds a unit, or a factor to SI; a unit behind the factor is a comment for the
    reader. A whole number in brackets is an index and part of the name: ``tau.j1=tau_J[0][Nm]``.
    Other brackets are part of the name, too: ``t=Time [s][s]``. If an entry ends without a unit,
    the unit within the name applies (``Pos [deg] j1``). An entry without a joint stands for all
    joints in the model's order: ``q=2:7[deg]`` for six columns of a log without a header,
    ``tau=i_1:i_6[0.089 N·m/A]`` for a range of `columns`. The bracket of such an entry may hold one
    factor for each column, as in ``tau=i_1:i_3[0.1, 0.1, 0.05 N·m/A]``.

    Raises
    ------
    InputError
        If an entry has another form, names an unknown signal, joint or unit, or
        repeats a signal of a joint.
    """
    maps = []
    for entry in (single for text in entries for single in _singles(text, names, columns)):
        match = _ENTRY.match(entry)
        if match is None:
            raise InputError(
                f"column {entry!r}: write signal.joint=column[unit], e.g. q.{names[0]}=pos[deg] "
                "or t=time[ms]"
            )
        signal, _, joint = match["target"].partition(".")
        if signal == "t" and not joint:
            maps.append(_given(match, "t", None))
            continue
        if signal == "t":
            raise InputError(f"column {entry!r}: time has no joint; write t=column[unit]")
        if signal not in SIGNALS:
            raise unknown_name("signal", signal, ("t", *SIGNALS))
        if joint not in names:
            raise unknown_name("joint", joint, names)
        maps.append(_given(match, signal, joint))
    targets = [entry.target for entry in maps]
    if twice := [target for k, target in enumerate(targets) if target in targets[:k]]:
        raise InputError(
            f"column {twice[0]!r}: the column map gives two columns for this signal; delete one "
            "of them"
        )
    return tuple(maps)


def check_distinct(columns: Sequence[ColumnMap], table_names: Iterable[str], source: str) -> None:
    """Refuse a map that uses one column for two signals; joints may share a temperature column.

    Raises
    ------
    InputError
        If two signals share a column; the message names the column and both signals.
    """
    names, first = list(table_names), dict[str, ColumnMap]()
    for entry in columns:
        column = entry.find(names)
        if column is None:
            continue
        other = first.setdefault(column, entry)
        if other is not entry and {other.signal, entry.signal} != {"temperature"}:
            raise InputError(
                f"{source}: column {column!r} is given for {other.target} and for {entry.target}; "
                "give each signal its own column with --column"
            )


def check_motions(columns: Sequence[ColumnMap], mechanism: Mechanism) -> None:
    """Refuse units of prismatic joints for revolute joints, and the reverse.

    Raises
    ------
    InputError
        If a unit does not fit the joint; the message names joint and unit.
    """
    for entry in columns:
        if (
            entry.unit in known_units(entry.signal)
            and not entry.current
            and entry.signal not in ("t", "temperature", "on")
        ):
            slides = bool(mechanism.prismatic[mechanism.names.index(str(entry.joint))])
            if slides != (entry.unit in SLIDES):
                raise InputError(
                    f"column {entry.column!r}: {entry.joint} is "
                    f"{'prismatic' if slides else 'revolute'}, but "
                    f"{entry.unit} is a unit of {'revolute' if slides else 'prismatic'} joints"
                )


def factor_hint(column: str, names: Collection[str]) -> str:
    """Return what to write if a whole number in brackets, which is an index, was
    meant as a factor; else "".
    """
    meant = _INDEXED.match(column)
    return (
        ""
        if meant is None or meant[1] not in names
        else f"; if {meant[2]} is a factor, write {meant[1]}[{meant[2]}.0]"
    )


def missing_targets(
    columns: Sequence[ColumnMap], names: tuple[str, ...], servos: bool = False
) -> list[str]:
    """Signals that a map lacks: time, and position and torque of each joint; of servos,
    set-points instead of torques.
    """
    have = {entry.target for entry in columns}
    needed = (
        "t",
        *(f"{signal}.{name}" for signal in ("q", "q_cmd" if servos else "tau") for name in names),
    )
    return [target for target in needed if target not in have]


def check_complete(
    columns: Sequence[ColumnMap], names: tuple[str, ...], servos: bool = False
) -> None:
    """Refuse a map without time, or without position or torque (of servos: set-point) of a joint.

    Raises
    ------
    InputError
        If a signal is missing; the message names the missing signals and
        the options that give them.
    """
    if missing := missing_targets(columns, names, servos):
        options = " ".join(f'--column "{target}=NAME[unit]"' for target in missing)
        raise InputError(f"no column is given for {', '.join(missing)}; add {options}")


def read_map(path: Path) -> tuple[str, ...]:
    """Return the column map entries of a TOML file with lines such as ``"q.j1" = "pos_1[deg]"``.

    Raises
    ------
    InputError
        If the file is not TOML, or a value is not a string.
    """
    table = read_toml(path)
    for key, value in table.items():
        if not isinstance(value, str):
            raise InputError(
                f"{path}: {key} = {value!r}: write the column, and a key with a dot, in quotes: "
                '"q.j1" = "pos_1[deg]"'
            )
    return tuple(f"{key}={value}" for key, value in table.items())


def column_map(
    signal: str, joint: str | None, column: str, unit: str | None, entry: str, guess: str = ""
) -> ColumnMap:
    """Return one entry of the column map, with the factor of its unit."""
    current = signal == "tau" and unit in CURRENTS
    factor = CURRENTS[unit] if current and unit else _factor(signal, unit, entry)
    return ColumnMap(signal, joint, column, factor, unit, current, guess)


def _given(match: re.Match[str], signal: str, joint: str | None) -> ColumnMap:
    """Entry of the user; if it has no unit, the unit in the column name applies."""
    unit = match["unit"] or stated_unit(match["column"], joint) or None
    if unit is not None:
        unit = known_spelling(unit, known_units(signal)) or unit
    return column_map(signal, joint, match["column"], unit, match[0])


def _singles(text: str, names: tuple[str, ...], columns: Sequence[str]) -> list[str]:
    """Split an entry with a range of columns into one entry for each joint."""
    match = _ENTRY.match(text)
    if match is None or match["target"] not in SIGNALS or match["column"] in columns:
        return [text]
    taken = _ranged(match["column"], columns)
    if taken is None:
        return [text]
    if len(taken) != len(names):
        raise InputError(
            f"column {text!r}: {len(taken)} columns for {len(names)} joints ({', '.join(names)})"
        )
    units = _units_of(match["unit"] or "", len(names), text)
    return [
        f"{match['target']}.{name}={column}{f'[{unit}]' if unit else ''}"
        for name, column, unit in zip(names, taken, units, strict=True)
    ]


def _ranged(text: str, columns: Sequence[str]) -> list[str] | None:
    """Columns of a range ``first:last``, given by numbers or by column names; None
    if the text is not a range.
    """
    if found := _RANGE.match(text):
        return [str(k) for k in range(int(found[1]), int(found[2]) + 1)]
    ends = [
        (text[:k].strip(), text[k + 1 :].strip()) for k, letter in enumerate(text) if letter == ":"
    ]
    bared = [bare(name) for name in columns]
    for pair in ends:
        for known in (list(columns), bared):
            if all(known.count(end) == 1 for end in pair):
                return list(columns[known.index(pair[0]) : known.index(pair[1]) + 1])
    return None


def _units_of(text: str, count: int, entry: str) -> list[str]:
    """Unit or factor of several columns: one for all, or a list with one for each,
    such as ``12.1, 8.3 N·m/A``.
    """
    single = [part.strip() for part in text.split(",")]
    if len(single) == 1:
        return [text] * count
    if len(single) != count:
        raise InputError(
            f"column {entry!r}: {len(single)} factors for {count} columns; give one factor for "
            "all, or one for each"
        )
    words = single[-1].partition(" ")[2]
    return [part if " " in part or not words else f"{part} {words}" for part in single]


def _factor(signal: str, unit: str | None, entry: str) -> float:
    """Return the factor to SI for a unit of the signal, or for a number."""
    if unit is None:
        return 1.0
    if unit in (units := UNITS[_AS.get(signal, signal)]):
        return units[unit]
    if not _is_number(unit):
        known = known_units(signal)
        raise InputError(
            f"column {entry!r}: {unknown_unit(unit, known)}; or give a factor such as [35.15 N/V]"
        )
    factor = float(unit.split()[0])
    if not math.isfinite(factor) or factor == 0.0:
        raise InputError(f"column {entry!r}: the factor is {factor:g}; it must be finite and not 0")
    return factor
