"""Guesses for missing column map entries: signal, joint and unit from names; units also
from time steps and limits.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import get_close_matches

import numpy as np

from stribeck.experiments.importers.column_words import (
    COMMANDED,
    CURRENT_WORDS,
    FOREIGN_UNITS,
    NEUTRAL,
    NOT_MEASURED,
    SIGNAL_WORDS,
    TIME_WORDS,
)
from stribeck.experiments.importers.columns import (
    CURRENTS,
    UNITS,
    ColumnMap,
    bare,
    check_distinct,
    column_map,
    known_spelling,
    known_units,
    stated_unit,
    unknown_unit,
    without_units,
)
from stribeck.experiments.importers.table import Table
from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError
from stribeck.ident.model.mechanism import Mechanism

# unit that large numbers reveal -> usual unit
_OTHER = {"deg": "rad", "mm": "m", "deg/s": "rad/s", "mm/s": "m/s"}
_USUAL, _BEYOND = "the usual unit", "exceeds the arm's limits"  # reasons for a guessed unit
# part of the smallest and largest positions that is ignored when a unit is guessed
_FEW = 0.005
_GOOD_PART = 0.2  # part of a joint's range; a position that spans more confirms its unit
_LEAST_RATE = 5.0  # Hz; a lower rate means another unit of time


def guess_columns(
    table: Table,
    given: Sequence[ColumnMap],
    arm: ArmFile,
    mechanism: Mechanism,
    commanded: bool = False,
) -> tuple[ColumnMap, ...]:
    """Return the given entries and guessed entries for the other signals; signals that cannot be
    guessed stay without entry.

    Velocity and temperature are guessed like position and torque, but are optional. A unit in the
    map is never changed. If neither map nor name states a unit, the unit is guessed from the
    numbers. With `commanded`, torques are taken from columns that are named as commands, otherwise
    from the other columns.
    """
    check_distinct(given, table.names, table.source)
    have, taken = {entry.target for entry in given}, {entry.find(table.names) for entry in given}
    clock = (
        None if "t" in have else _time([name for name in table.names if name not in taken], table)
    )
    joints = []
    for signal in SIGNAL_WORDS:
        columns, how = _of_joints(signal, table, mechanism.names, commanded)
        joints += [
            (signal, joint, column, how)
            for joint, column in zip(mechanism.names, columns, strict=True)
            if column is not None and column not in taken and f"{signal}.{joint}" not in have
        ]
    wanted = [name for name in (*taken, clock, *(entry[2] for entry in joints)) if name is not None]
    table.read(wanted)  # one pass over the file for all columns
    found = [] if clock is None else [_clock(clock, table)]
    entries = [_entry(*entry, table, arm, mechanism) for entry in joints]
    return (*given, *found, *_in_one_unit(entries, table, arm, mechanism))


def _in_one_unit(
    entries: Sequence[ColumnMap], table: Table, arm: ArmFile, mechanism: Mechanism
) -> Iterator[ColumnMap]:
    """Apply the unit that one joint's numbers reveal to all joints of a signal: a joint that
    hardly moves reveals no unit.

    Raises
    ------
    InputError
        If, in the usual unit, one joint exceeds its limits and another joint spans a
        plausible part of its range.
    """
    other = {
        (entry.signal, _OTHER[entry.unit]): entry
        for entry in entries
        if entry.unit in _OTHER and _BEYOND in entry.guess
    }
    for entry in entries:
        decides = other.get((entry.signal, entry.unit or ""))
        usual = entry.guess.endswith(_USUAL)
        if decides and usual and entry.signal == "q":
            j = mechanism.names.index(str(entry.joint))
            found = _span(table.read([entry.column])[entry.column])
            range_ = float(np.ptp(arm.limits(mechanism).position[j]))
            if found > _GOOD_PART * range_:
                raise InputError(
                    f"{table.source}: positions of {decides.joint} look like {decides.unit}, "
                    f"positions of {entry.joint} (span {found:.3g}) look like {entry.unit}; state "
                    f"the unit with {entry.option}"
                )
        why = (
            f"{entry.guess.removesuffix(f'; {_USUAL}')}; same unit as {decides.joint}"
            if decides
            else ""
        )
        yield (
            column_map(entry.signal, entry.joint, entry.column, decides.unit, "", why)
            if decides and usual
            else entry
        )


def likely(target: str, table: Table) -> str:
    """Part of a message about a signal without a guess: the columns of the log,
    the most similar name first.
    """
    near = get_close_matches(target, table.names, n=1, cutoff=0.6)
    listed = [*near, *(name for name in table.names if name not in near)]
    return f"the columns are {', '.join(listed[:12])}{', ...' if len(listed) > 12 else ''}"


def equally_good(table: Table, joints: tuple[str, ...]) -> str:
    """Message about several sets of columns that fit the joints equally well, as with two
    arms; empty if there are none.
    """
    found = next(
        (
            how
            for signal in ("q", "tau")
            for columns, how in (_of_joints(signal, table, joints),)
            if how and columns[0] is None
        ),
        "",
    )
    if not found:
        return ""
    first, second = (_numbered(name) for name in found.split(" and ")[:2])
    other = " ".join(
        f"--ignore {shlex.quote(name)}"
        for name in table.names
        if _numbered(name) == second != first
    )
    return (
        f"{found} fit {joints[0]} equally well, and so do other columns: give the columns of one "
        f"arm with --column{f', or ignore the second arm with {other}' if other else ''}"
    )


def commanded_torques(table: Table, joints: tuple[str, ...]) -> list[str]:
    """Columns whose names mark them as commanded torques."""
    words = {name: set(_tokens(name, joints)) for name in table.names}
    return [
        name
        for name, own in words.items()
        if own & SIGNAL_WORDS["tau"] and own & COMMANDED and not own & (NOT_MEASURED - COMMANDED)
    ]


def _numbered(name: str) -> tuple[str, ...]:
    """Words of a column name with ``#`` for each number; equal for the columns of one signal."""
    return tuple("#" if token.isdigit() else token for token in _tokens(name))


def _time(free: Sequence[str], table: Table) -> str | None:
    """Return the time column: by name, otherwise the only column in a unit of
    time; None if there is none.
    """
    named = [name for name in free if name in TIME_WORDS] or [
        name for name in free if set(_tokens(name)) & set(TIME_WORDS)
    ]
    timed = [name for name in free if _unit(name, table) in UNITS["t"]]
    return named[0] if named else timed[0] if len(timed) == 1 else None


def _clock(column: str, table: Table) -> ColumnMap:
    """Entry of the time column, in its stated unit or in the first unit that gives a
    rate above `_LEAST_RATE`.
    """
    unit = table.units.get(column) or _stated(column, "t")
    why = "name"
    if unit is None:
        t = table.read([column])[column]
        steps = np.abs(np.diff(t[np.isfinite(t)]))
        # coarse time stamps repeat
        step = float(np.median(steps[steps > 0.0])) if steps.any() else np.nan
        unit = next(
            (unit for unit, factor in UNITS["t"].items() if step * factor < 1.0 / _LEAST_RATE), "s"
        )
        why = f"name; steps of {step:.4g}" if np.isfinite(step) else "name; the usual unit"
    return column_map("t", None, column, unit, column, why)


def _of_joints(
    signal: str, table: Table, joints: tuple[str, ...], commanded: bool = False
) -> tuple[list[str | None], str]:
    """Return the column of each joint, and the evidence for this choice.

    If two readings of the names are equally good, all columns are None and the evidence lists the
    first column of each reading.
    """

    def strange(shape: tuple[str, ...]) -> int:
        return len(
            set(shape)
            - NEUTRAL
            - SIGNAL_WORDS[signal]
            - (COMMANDED if commanded else set())
            - {"#"}
        )

    words = {name: set(_tokens(name, joints)) for name in table.names}
    spoken = set().union(*SIGNAL_WORDS.values())
    measured = [
        name
        for name in table.names
        if not words[name] & NOT_MEASURED
        and (
            words[name] & SIGNAL_WORDS[signal]
            or (not words[name] & spoken and _only(_unit(name, table)) == signal)
        )
    ]
    if commanded and signal == "tau":
        measured = commanded_torques(table, joints) or measured
    if signal == "q":  # qd and "joint velocity state" are not positions
        others = set().union(*(words for key, words in SIGNAL_WORDS.items() if key != "q"))
        measured = [name for name in measured if not words[name] & others]
    ways: dict[tuple[str, ...], list[str | None]] = {}
    partly: dict[tuple[str, ...], str] = {}
    by_name: dict[tuple[str, ...], dict[str, str]] = {}
    by_number: dict[tuple[str, ...], dict[int, str]] = {}
    for name in measured:
        tokens = _tokens(name, joints)
        if (joint := _named(tokens, joints)) is not None:
            by_name.setdefault(_shape(tokens, _tokens(joint)), {}).setdefault(joint, name)
        if numbers := [token for token in tokens if token.isdigit()]:
            by_number.setdefault(
                tuple("#" if token.isdigit() else token for token in tokens), {}
            ).setdefault(int(numbers[-1]), name)
        elif len(joints) == 1:
            ways[tuple(tokens)] = [name]
    for shape, found in by_number.items():
        first = min(found)
        if first in (0, 1) and all(first + k in found for k in range(len(joints))):
            ways[shape] = [found[first + k] for k in range(len(joints))]
            if len(found) > len(joints):
                partly[shape] = (
                    f"name; first {len(joints)} of {len(found)} numbered columns, in order"
                )
    nothing: list[str | None] = [None] * len(joints)
    if by_name:  # a joint name is stronger evidence than a number
        shape, named = max(by_name.items(), key=lambda item: (len(item[1]), -len(item[0])))
        if len(named) == len(joints) or not ways:
            alike = [
                found[joints[0]]
                for other, found in by_name.items()
                if len(joints) == len(found) == len(named)
                and len(other) == len(shape)
                and strange(other) == strange(shape) > 0
            ]
            return (
                ([named.get(joint) for joint in joints], "name")
                if len(alike) < 2
                else (nothing, " and ".join(alike))
            )
    if not ways:
        return nothing, ""
    cost = {
        shape: (
            bool(CURRENT_WORDS & set(shape)) or _unit(str(way[0]), table) in CURRENTS,
            strange(shape),
        )
        for shape, way in ways.items()
    }
    best = sorted(ways, key=lambda shape: cost[shape])
    if len(best) > 1 and cost[best[0]] == cost[best[1]]:
        return nothing, " and ".join(
            str(ways[shape][0]) for shape in best if cost[shape] == cost[best[0]]
        )
    return ways[best[0]], partly.get(
        best[0], "name; joints by order" if len(joints) > 1 else "name"
    )


def _unit(column: str, table: Table) -> str | None:
    """Unit that the file format or a bracket in the name states; None if there is none."""
    return table.units.get(column) or stated_unit(column) or None


def _only(unit: str | None) -> str | None:
    """The signal whose unit this is, if there is exactly one; otherwise None."""
    signals = [signal for signal in UNITS if unit in known_units(signal)]
    return signals[0] if len(signals) == 1 else None


def _entry(
    signal: str, joint: str, column: str, how: str, table: Table, arm: ArmFile, mechanism: Mechanism
) -> ColumnMap:
    unit, why = table.units.get(column) or _stated(column, signal, joint), ""
    if unit is None and signal == "tau" and CURRENT_WORDS & set(_tokens(column)):
        unit, why = "A", " (a current)"
    if unit is None:
        unit, why = _by_size(
            signal, mechanism.names.index(joint), table.read([column])[column], arm, mechanism
        )
    return column_map(signal, joint, column, unit, column, how + why)


def _by_size(
    signal: str, joint: int, values: Array, arm: ArmFile, mechanism: Mechanism
) -> tuple[str | None, str]:
    """Return the unit that fits the arm's limits: SI, or deg or mm if the values exceed twice
    the limits in SI; and why.
    """
    slides = bool(mechanism.prismatic[joint])
    limits = arm.limits(mechanism)
    values = values[np.isfinite(values)]
    if signal == "tau":
        return ("N" if slides else "Nm"), f"; {_USUAL}"
    if signal == "temperature":
        return "°C", f"; {_USUAL}"
    if not len(values):
        return None, ""
    found = _span(values) if signal == "q" else float(np.quantile(np.abs(values), 0.99))
    allowed = (
        float(np.ptp(limits.position[joint])) if signal == "q" else float(limits.velocity[joint])
    )
    usual, other = {
        ("q", False): ("rad", "deg"),
        ("q", True): ("m", "mm"),
        ("dq", False): ("rad/s", "deg/s"),
        ("dq", True): ("m/s", "mm/s"),
    }[signal, slides]
    if np.isfinite(allowed) and found > 2.0 * allowed:
        return other, f"; {found:.4g} {usual} {_BEYOND}"
    return usual, f"; {_USUAL}"


def _span(values: Array) -> float:
    """Range of positions without the smallest and largest `_FEW` of them."""
    known = values[np.isfinite(values)]
    low, high = np.quantile(known, (_FEW, 1.0 - _FEW)) if len(known) else (0.0, 0.0)
    return float(high - low)


def with_factor(entry: ColumnMap, factor: float) -> ColumnMap:
    """Entry of a column in ampere, with the torque constant multiplied into the factor."""
    return replace(entry, factor=entry.factor * factor, current=False)


def _stated(column: str, signal: str, joint: str = "") -> str | None:
    """Unit in a column name, in brackets or at the end: ``pos [deg]``, ``time (ms)``,
    ``pos_deg``; a joint name is no unit.
    """
    known = known_units(signal)
    bracket, last = stated_unit(column, joint), re.split(r"[_./\s]", bare(column))[-1]
    if bracket.lower() in NEUTRAL:  # Position (ist) Achse 1
        bracket = ""
    if bracket or last.lower() in FOREIGN_UNITS or last.endswith(("%", "‰")):
        text = bracket or last
        if (unit := known_spelling(text, known)) is None:
            factor = f"1.5 {next(iter(known))}/{text}"
            entry = ColumnMap(
                signal, None if signal == "t" else joint or "JOINT", bare(column), 1.5, factor
            )
            raise InputError(
                f"column {column!r}: {unknown_unit(text, known)}; state the unit or a factor to "
                f"SI, for example {entry.option}"
            )
        return unit
    if not re.search(r"[_./\s]", column) or (joint and column.lower().endswith(joint.lower())):
        return None
    return known_spelling(last, known)


def _tokens(name: str, joints: tuple[str, ...] = ()) -> list[str]:
    """Words and numbers of a column name, without units in brackets."""
    plain = re.sub(r"([a-z])([A-Z])", r"\1 \2", without_units(name, joints)).lower()
    return re.findall(r"[a-z]+|\d+", plain)


def _named(tokens: list[str], joints: tuple[str, ...]) -> str | None:
    """The joint whose name is in the column name; the longest if there are several."""
    held = [joint for joint in joints if (own := _tokens(joint)) and _at(tokens, own) is not None]
    return max(held, key=len, default=None)


def _shape(tokens: list[str], own: list[str]) -> tuple[str, ...]:
    """Words of a column name with ``#`` for the joint name."""
    at = _at(tokens, own) or 0
    return (*tokens[:at], "#", *tokens[at + len(own) :])


def _at(tokens: list[str], own: list[str]) -> int | None:
    return next(
        (k for k in range(len(tokens) - len(own) + 1) if tokens[k : k + len(own)] == own), None
    )
