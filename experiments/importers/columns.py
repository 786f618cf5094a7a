"""The column map: which column of a foreign log is which signal, in which unit."""

import math
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from stribeck.ident.errors import InputError, unknown_name
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.toml_tables import read_toml

UNITS = {
    "t": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0},
    "q": {"rad": 1.0, "mrad": 1e-3, "deg": math.pi / 180.0, "°": math.pi / 180.0, "rev": 2.0 * math.pi, "turn": 2.0 * math.pi,
          "m": 1.0, "mm": 1e-3},
    "dq": {"rad/s": 1.0, "mrad/s": 1e-3, "deg/s": math.pi / 180.0, "rev/s": 2.0 * math.pi, "rpm": 2.0 * math.pi / 60.0,
           "m/s": 1.0, "mm/s": 1e-3},
    "tau": {"Nm": 1.0, "N·m": 1.0, "N.m": 1.0, "mNm": 1e-3, "Nmm": 1e-3, "Ncm": 1e-2, "kNm": 1e3, "N": 1.0, "kN": 1e3},
    "temperature": {"°C": 1.0, "degC": 1.0},
}
CURRENTS = {"A": 1.0, "mA": 1e-3}       # what a torque signal may be in where a torque constant is known
SIGNALS = ("q", "dq", "tau", "temperature", "q_cmd")
_AS = {"q_cmd": "q"}                    # signals in the units of another
SLIDES = {"m", "mm", "m/s", "mm/s", "N", "kN"}      # units of joints that slide
_SPELLED = {            # units as people write them, see `known_spelling`; what is not here letter by letter is not known
    spelling: unit for unit, spellings in {
        "s": "s sec secs second seconds sekunde sekunden", "ms": "ms msec msecs millisecond milliseconds",
        "us": "us usec usecs microsecond microseconds", "ns": "ns nsec nsecs nanosecond nanoseconds", "min": "min minutes",
        "rad": "rad radian radians", "mrad": "mrad", "deg": "deg degree degrees", "°": "°", "rev": "rev", "turn": "turn",
        "m": "m", "mm": "mm", "rad/s": "rad/s rads rad/sec rads^1 radians/s", "mrad/s": "mrad/s",
        "deg/s": "deg/s degs deg/sec degrees/s °/s °/sec", "rev/s": "rev/s",
        "rpm": "rpm rev/min u/min 1/min min^1 min⁻¹ min1 r/min", "m/s": "m/s m/sec", "mm/s": "mm/s mm/sec",
        "Nm": "nm", "mNm": "mnm", "Ncm": "ncm", "Nmm": "nmm", "kNm": "knm", "kN": "kn", "A": "a amp amps ampere",
        "mA": "ma", "°C": "°c celsius", "degC": "degc"}.items() for spelling in spellings.split()}
_MEANT = {"grad": "deg"}            # German, where it is no gon
_ENTRY = re.compile(r"\s*(?P<target>[^=]+?)\s*=\s*(?P<column>\S.*?)\s*"                    # a name may hold brackets, too
                    r"(?:\[\s*(?P<unit>(?!\d+\s*\])[^\[\]]+?)\s*\])?\s*$", re.DOTALL)       # q[0] is a name
_UNIT = re.compile(r"\s*(?:\[(?!\d+\])([^\]]*)\]|\((?!\d+\))([^)]*)\))\s*$")        # behind a name; a number is none
_BRACKET = re.compile(r"\[(?!\s*\d+\s*\])([^\[\]]*)\]|\((?!\s*\d+\s*\))([^()]*)\)")    # anywhere in it
_SHELL = re.compile(r"[\"$`\\!]")       # what a shell or TOML does not leave alone in double quotes
_RANGE = re.compile(r"(\d{1,6}):(\d{1,6})$")


@dataclass(frozen=True)
class ColumnMap:
    """One entry: signal and joint (None for time), column of the log, the factor to SI, and the unit as it was given.

    `current` marks a torque that is in ampere, `factor` is then the one to A; `guess` says what a guessed entry rests on.
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
        """The option that gives this entry, in quotes that hold in a shell and in TOML."""
        behind = _UNIT.search(self.column)              # a unit that the name ends in is not said twice
        stated = behind is not None and known_spelling(behind[1] or behind[2] or "", known_units(self.signal)) == self.unit
        text = f"{self.target}={self.column}" + ("" if stated or not self.unit else f"[{self.unit}]")
        return "--column " + (shlex.quote(text) if _SHELL.search(text) else f'"{text}"')

    def find(self, names: Iterable[str]) -> str | None:
        """The column among a log's, which may state the unit behind its name: ``pos`` or ``pos [deg]``; None if missing.

        A factor holds whatever unit the log states; without unit or factor a column that states one is not meant.
        """
        names = list(names)
        exact = [name for name in names if name == self.column] or [name for name in names if name.strip() == self.column]
        free = self.unit is None or _is_number(self.unit)
        if free and (exact or self.unit is None):
            return exact[0] if len(exact) == 1 else None
        known = known_units(self.signal)
        stated = [name for name in names if bare(name) == self.column and name != self.column
                  and (free or (text := stated_unit(name)) == self.unit or known_spelling(text, known) == self.unit)]
        found = stated if len(stated) == 1 else exact       # "pos" in deg is "pos [deg]" where there are both
        return found[0] if len(found) == 1 else None


def bare(name: str) -> str:
    """A column's name without the unit in brackets behind it."""
    return _UNIT.sub("", name)


def stated_unit(name: str, joint: str | None = None) -> str:
    """The last text in brackets in a column's name; empty where there is none.

    A whole number is an index, and so no unit; nor is the joint's own name, unless it is all that stands behind the column's.
    """
    found = [(match[1] or match[2] or "").strip() for match in _BRACKET.finditer(name)]
    units = [text for text in found if joint is None or text.lower() != joint.lower()]
    return units[-1] if units else found[-1] if found and _UNIT.search(name) else ""


def without_units(name: str, joints: Iterable[str] = ()) -> str:
    """A column's name without the known units in brackets in it, which no joint is called by, nor any bracket behind it."""
    called = {joint.lower() for joint in joints}

    def kept(match: re.Match[str]) -> str:
        text = (match[1] or match[2] or "").strip()
        return " " if _is_unit(text) and text.lower() not in called else match[0]

    return bare(_BRACKET.sub(kept, name))


def known_units(signal: str) -> dict[str, float]:
    """Units that a column of the signal may be in."""
    return {**UNITS[_AS.get(signal, signal)], **(CURRENTS if signal == "tau" else {})}


def known_spelling(text: str, known: Iterable[str]) -> str | None:
    """The unit that a text means, in these or other letters: a dot, a hyphen or a blank between them does not matter."""
    if text in set(known):
        return text
    unit = _SPELLED.get(re.sub(r"[\s·⋅*.-]", "", text.lower().replace("µ", "u").replace("μ", "u")))
    return unit if unit in set(known) else None


def unknown_unit(text: str, known: Iterable[str]) -> InputError:
    """Says which are known, and which may be meant."""
    if meant := _MEANT.get(text.lower()):
        return InputError(f"unknown unit {text!r}; if it means {meant}, say so: [{meant}]")
    return unknown_name("unit", text, known)


def _is_unit(text: str) -> bool:
    return any(known_spelling(text, known_units(signal)) for signal in UNITS)


def _is_number(text: str) -> bool:
    try:
        float(text.split()[0])
    except (ValueError, IndexError):
        return False
    return True


def parse_columns(entries: Sequence[str], names: tuple[str, ...], columns: Sequence[str] = ()) -> tuple[ColumnMap, ...]:
    """Column map from texts like ``t=time[ms]``, ``q.j1=pos_1[deg]``, ``tau.j1=current_1[0.089 N·m/A]``.

    The bracket holds a unit or a factor to SI, with an optional unit behind it that is only read by people; a whole number
    alone is an index, and so part of the name: ``tau.j1=tau_J[0][Nm]``. A name may hold brackets, the last one is the unit:
    ``t=Time [s][s]``; a unit within a name (``Pos [deg] j1``) holds where none stands behind it. Without a joint
    an entry is for all of them, in the model's order: ``q=2:7[deg]`` takes six columns of a log without a header,
    ``tau=i_1:i_6[0.089 N·m/A]`` those from one to another of its `columns`. A bracket may hold a factor for each, as
    ``tau=i_1:i_3[0.1, 0.1, 0.05 N·m/A]``.

    Raises
    ------
    InputError
        On an entry of another form, an unknown signal, joint or unit, or a signal that is given twice.
    """
    maps = []
    for entry in (single for text in entries for single in _singles(text, names, columns)):
        match = _ENTRY.match(entry)
        if match is None:
            raise InputError(f"column {entry!r}: write signal.joint=column[unit], e.g. q.{names[0]}=pos[deg] or t=time[ms]")
        signal, _, joint = match["target"].partition(".")
        if signal == "t" and not joint:
            maps.append(_given(match, "t", None))
            continue
        if signal == "t":
            raise InputError(f"column {entry!r}: time is one for all joints; write t=column[unit]")
        if signal not in SIGNALS:
            raise unknown_name("signal", signal, ("t", *SIGNALS))
        if joint not in names:
            raise unknown_name("joint", joint, names)
        maps.append(_given(match, signal, joint))
    if len({entry.target for entry in maps}) < len(maps):
        raise InputError("a signal is given twice in the column map")
    return tuple(maps)


def check_distinct(columns: Sequence[ColumnMap], table_names: Iterable[str], source: str) -> None:
    """Refuse a map in which two signals are one column; joints may share a thermometer.

    Raises
    ------
    InputError
        Names the column and both signals.
    """
    names, first = list(table_names), dict[str, ColumnMap]()
    for entry in columns:
        column = entry.find(names)
        if column is None:
            continue
        other = first.setdefault(column, entry)
        if other is not entry and {other.signal, entry.signal} != {"temperature"}:
            raise InputError(f"{source}: column {column!r} is given for {other.target} and for {entry.target}; give each its own "
                             "column with --column")


def check_motions(columns: Sequence[ColumnMap], mechanism: Mechanism) -> None:
    """Refuse units of a slide for a joint that turns, and the other way round.

    Raises
    ------
    InputError
        Names joint and unit.
    """
    for entry in columns:
        if entry.unit in known_units(entry.signal) and not entry.current and entry.signal in ("q", "dq", "tau", "q_cmd"):
            slides = bool(mechanism.prismatic[mechanism.names.index(str(entry.joint))])
            if slides != (entry.unit in SLIDES):
                raise InputError(f"column {entry.column!r}: {entry.joint} {'slides' if slides else 'turns'}, {entry.unit} is a "
                                 f"unit of a joint that {'turns' if slides else 'slides'}")


def missing_targets(columns: Sequence[ColumnMap], names: tuple[str, ...]) -> list[str]:
    """What a map leaves out of time, positions and torques."""
    have = {entry.target for entry in columns}
    needed = ("t", *(f"{signal}.{name}" for signal in ("q", "tau") for name in names))
    return [target for target in needed if target not in have]


def check_complete(columns: Sequence[ColumnMap], names: tuple[str, ...]) -> None:
    """Refuse a map in which time, a position or a torque is missing.

    Raises
    ------
    InputError
        Names what is missing, and the options that give it.
    """
    if missing := missing_targets(columns, names):
        options = " ".join(f'--column "{target}=NAME[unit]"' for target in missing)
        raise InputError(f"no column is given for {', '.join(missing)}; add {options}")


def read_map(path: Path) -> tuple[str, ...]:
    """Entries of a file ``"q.j1" = "pos_1[deg]"``, one a line in TOML.

    Raises
    ------
    InputError
        If it is no TOML, or holds something else than texts.
    """
    table = read_toml(path)
    for key, value in table.items():
        if not isinstance(value, str):
            raise InputError(f"{path}: {key} = {value!r}: a column is a text in quotes, and so is a key with a dot: "
                             "\"q.j1\" = \"pos_1[deg]\"")
    return tuple(f"{key}={value}" for key, value in table.items())


def column_map(signal: str, joint: str | None, column: str, unit: str | None, entry: str, guess: str = "") -> ColumnMap:
    """One entry with the factor of its unit."""
    current = signal == "tau" and unit in CURRENTS
    factor = CURRENTS[unit] if current and unit else _factor(signal, unit, entry)
    return ColumnMap(signal, joint, column, factor, unit, current, guess)


def _given(match: re.Match[str], signal: str, joint: str | None) -> ColumnMap:
    """An entry as it was given; the unit that the column's name states holds where it gives none."""
    unit = match["unit"] or stated_unit(match["column"], joint) or None
    if unit is not None:
        unit = known_spelling(unit, known_units(signal)) or unit
    return column_map(signal, joint, match["column"], unit, match[0])


def _singles(text: str, names: tuple[str, ...], columns: Sequence[str]) -> list[str]:
    """Entries for single joints of one that takes a range of columns."""
    match = _ENTRY.match(text)
    if match is None or match["target"] not in SIGNALS or match["column"] in columns:
        return [text]
    taken = _ranged(match["column"], columns)
    if taken is None:
        return [text]
    if len(taken) != len(names):
        raise InputError(f"column {text!r}: {len(taken)} columns for {len(names)} joints ({', '.join(names)})")
    units = _units_of(match["unit"] or "", len(names), text)
    return [f"{match['target']}.{name}={column}{f'[{unit}]' if unit else ''}"
            for name, column, unit in zip(names, taken, units, strict=True)]


def _ranged(text: str, columns: Sequence[str]) -> list[str] | None:
    """Columns from one to another, by number or by the names of a log's columns; None where a text is no range."""
    if found := _RANGE.match(text):
        return [str(k) for k in range(int(found[1]), int(found[2]) + 1)]
    ends = [(text[:k].strip(), text[k + 1:].strip()) for k, letter in enumerate(text) if letter == ":"]
    bared = [bare(name) for name in columns]
    for pair in ends:
        for known in (list(columns), bared):
            if all(known.count(end) == 1 for end in pair):
                return list(columns[known.index(pair[0]):known.index(pair[1]) + 1])
    return None


def _units_of(text: str, count: int, entry: str) -> list[str]:
    """The unit or factor of each of several columns: the same, or one each, ``12.1, 8.3 N·m/A``."""
    single = [part.strip() for part in text.split(",")]
    if len(single) == 1:
        return [text] * count
    if len(single) != count:
        raise InputError(f"column {entry!r}: {len(single)} factors for {count} columns; give one for all, or one for each")
    words = single[-1].partition(" ")[2]
    return [part if " " in part or not words else f"{part} {words}" for part in single]


def _factor(signal: str, unit: str | None, entry: str) -> float:
    """Factor to SI of a unit of the signal, or of a number."""
    if unit is None:
        return 1.0
    if unit in (units := UNITS[_AS.get(signal, signal)]):
        return units[unit]
    if not _is_number(unit):
        known = known_units(signal)
        raise InputError(f"column {entry!r}: {unknown_unit(unit, known)}; a factor such as [35.15 N/V] works too")
    factor = float(unit.split()[0])
    if not math.isfinite(factor) or factor == 0.0:
        raise InputError(f"column {entry!r}: a factor of {factor:g} cannot be right")
    return factor
