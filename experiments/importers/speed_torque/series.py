"""Meaning of the columns of a speed-torque table, given by the user or guessed from their names."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from stribeck.experiments.importers.columns import (
    ColumnMap,
    bare,
    column_map,
    known_spelling,
    known_units,
    stated_unit,
)
from stribeck.experiments.importers.speed_torque.cells import Cells
from stribeck.ident.errors import InputError, unknown_name

# signal with the same units
QUANTITIES = {"speed": "dq", "torque": "tau", "load": "tau", "temperature": "temperature"}
LABELS = ("joint", "direction", "repeat")
FORWARD = {
    "forward",
    "fwd",
    "positive",
    "plus",
    "ccw",
    "up",
    "vor",
    "vorwärts",
    "rechts",
    "right",
    "hin",
    "+",
    "1",
    "+1",
    "pos",
}
BACKWARD = {
    "backward",
    "backwards",
    "bwd",
    "reverse",
    "rev",
    "negative",
    "minus",
    "cw",
    "down",
    "zurück",
    "rückwärts",
    "links",
    "left",
    "-",
    "-1",
    "neg",
}
_WORDS = {
    "speed": {
        "speed",
        "speeds",
        "velocity",
        "velocities",
        "vel",
        "v",
        "w",
        "n",
        "omega",
        "ω",
        "dq",
        "qd",
        "qdot",
        "rpm",
        "rads",
        "drehzahl",
        "geschwindigkeit",
        "winkelgeschwindigkeit",
    },
    "torque": {
        "torque",
        "torques",
        "tau",
        "τ",
        "friction",
        "moment",
        "force",
        "effort",
        "m",
        "tf",
        "ff",
        "drehmoment",
        "reibmoment",
        "reibung",
        "kraft",
        "current",
        "i",
        "iq",
        "strom",
    },
    "load": {"load", "loads", "last", "payload", "belastung"},
    "temperature": {"temp", "temperature", "temperatur"},
    "joint": {"joint", "axis", "achse", "gelenk", "motor"},
    "direction": {"direction", "dir", "sign", "sense", "richtung", "drehrichtung"},
    "repeat": {
        "repeat",
        "repetition",
        "rep",
        "run",
        "trial",
        "cycle",
        "pass",
        "sweep",
        "trip",
        "group",
        "wiederholung",
        "messung",
    },
}
_CURRENT = {"current", "i", "iq", "strom"}
_NO_POINT = {
    "std",
    "sd",
    "sigma",
    "error",
    "err",
    "deviation",
    "uncertainty",
    "ci",
    "fit",
    "fitted",
    "model",
    "predicted",
    # words of columns that are not measured points
    "simulated",
    "residual",
    "min",
    "max",
}
_NEUTRAL = {
    "f",
    "mean",
    "avg",
    "average",
    "measured",
    "actual",
    "steady",
    "state",
    "of",
    "in",
    "the",
    "at",
    "and",
    "name",
    "no",
}
_USUAL = {"speed": "rad/s", "torque": "Nm", "load": "Nm", "temperature": "°C"}
_ENTRY = "speed=v[rpm], torque=M[Nm], torque.backward=M_neg[Nm], torque.j1=M1[Nm], joint=axis"


@dataclass(frozen=True)
class Series:
    """One torque column and its speed column; the rows belong to one joint or
    several, one direction or both.

    Attributes
    ----------
    speed, torque : ColumnMap
        Columns with their factors to SI.
    joint : str
        Joint of all rows; empty if a joint column names it, or if the table has only one joint.
    direction : int
        1 forward, -1 backward, 0 if the sign of the speed or a direction
        column states the direction.
    """

    speed: ColumnMap
    torque: ColumnMap
    joint: str = ""
    direction: int = 0


@dataclass(frozen=True)
class Layout:
    """Meaning of the columns of a table.

    Attributes
    ----------
    series : tuple of Series
        Speed and torque columns.
    load, temperature : ColumnMap, optional
        Load and temperature columns, for all series.
    labels : dict of str to str
        Columns of joint, direction and repeat, if the table has them.
    said : tuple of str
        Options that state the guessed columns, each with the evidence for the guess.
    """

    series: tuple[Series, ...]
    load: ColumnMap | None = None
    temperature: ColumnMap | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    said: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Found:
    """One column with its quantity, joint and direction."""

    quantity: str
    joint: str
    direction: int
    entry: ColumnMap


def layout_of(cells: Cells, given: Sequence[str] = ()) -> Layout:
    """Return the meaning of all columns: as given, the others guessed from names and units.

    Parameters
    ----------
    cells : Cells
        The table.
    given : sequence of str
        Entries ``speed=column[unit]``; a joint or direction may follow the quantity
        (``torque.backward``, ``torque.j2``, ``torque.j2.backward``).

    Raises
    ------
    InputError
        If there is no speed or no torque, if a unit is unknown, or if two columns fit equally well.
    """
    names = list(cells.columns)
    stated = [_given(text, names, cells.source) for text in given]
    taken = {found.entry.column for found in stated}
    fixed = {found.quantity for found in stated}
    guessed = [
        found
        for name in names
        if name not in taken
        and (found := _guess(name, cells)) is not None
        and found.quantity not in fixed
    ]
    if (
        not {found.quantity for found in (*stated, *guessed)} & {"speed", "torque"}
        and len(names) == 2
    ):
        guessed = [
            _Found(
                quantity,
                "",
                0,
                column_map(QUANTITIES[quantity], None, name, _USUAL[quantity], name, "by order"),
            )
            for quantity, name in zip(("speed", "torque"), names, strict=True)
        ]
    guessed = _labelled(guessed, [*stated, *guessed])
    return _arranged([*stated, *guessed], cells, tuple(_option(found) for found in guessed))


def _given(text: str, names: list[str], source: str) -> _Found:
    """Column of one command line entry."""
    target, equals, rest = text.partition("=")
    quantity, *parts = (part.strip() for part in target.split("."))
    if not equals or not rest.strip():
        raise InputError(f"column {text!r}: write quantity=column[unit], for example {_ENTRY}")
    if quantity not in (*QUANTITIES, *LABELS):
        raise unknown_name("quantity", quantity, (*QUANTITIES, *LABELS))
    column, unit = rest.strip(), None
    if column not in names and (match := re.fullmatch(r"(.*?)\s*\[([^\[\]]+)\]", column)):
        column, unit = match[1], match[2].strip()
        if column not in names:  # the header may contain a unit, too
            column = next((name for name in names if bare(name) == column), column)
    if column not in names:
        raise InputError(f"{source}: {unknown_name('column', column, names)}")
    direction = next((sign for part in parts for sign in (_direction(part),) if sign), 0)
    joint = next((part for part in parts if not _direction(part)), "")
    if quantity in LABELS:
        return _Found(quantity, "", 0, ColumnMap(quantity, None, column, 1.0))
    signal = QUANTITIES[quantity]
    unit = unit or stated_unit(column) or _USUAL[quantity]
    unit = known_spelling(unit, known_units(signal)) or unit
    return _Found(quantity, joint, direction, column_map(signal, None, column, unit, text))


def _direction(word: str) -> int:
    return 1 if word.lower() in FORWARD else -1 if word.lower() in BACKWARD else 0


def _guess(name: str, cells: Cells) -> _Found | None:
    """Guess the quantity, joint and direction of a column from its name and unit;
    None if the name is unknown.
    """
    tokens, unit = _tokens(name), stated_unit(name)
    words = set(tokens)
    if words & _NO_POINT:
        return None
    units = [
        quantity
        for quantity in ("speed", "torque", "temperature")
        if known_spelling(unit, known_units(QUANTITIES[quantity]))
    ]
    named = [quantity for quantity, known in _WORDS.items() if words & known]
    if unit and len(units) == 1 and units[0] not in named and not set(named) & {"load", *LABELS}:
        named = units
    quantity = next(
        (
            quantity
            for quantity in ("load", "temperature", "direction", "repeat", "joint")
            if quantity in named
        ),
        "",
    )
    # "torque of joint 1", "friction, forward run"
    if "torque" in named and quantity not in ("load", "temperature"):
        quantity = "torque"
    elif "speed" in named and quantity not in ("load", "temperature"):
        quantity = "speed"
    if not quantity:
        return None
    if quantity in LABELS:
        return _Found(quantity, "", 0, ColumnMap(quantity, None, name, 1.0, guess="name"))
    signal = QUANTITIES[quantity]
    found = known_spelling(unit, known_units(signal)) if unit else None
    if unit and found is None and quantity in ("speed", "torque"):
        raise InputError(
            f"{cells.source}: column {name!r}: {unknown_name('unit', unit, known_units(signal))}; "
            "state a factor "
            f'to {_USUAL[quantity]}, e.g. --column "{quantity}={bare(name)}[0.5 '
            f'{_USUAL[quantity]} per {unit}]"'
        )
    last = re.split(r"[_./\s]", bare(name))[-1]
    found = found or (
        known_spelling(last, known_units(signal))
        if last != bare(name) or quantity == "speed"
        else None
    )
    if found is None and quantity == "torque" and words & _CURRENT:
        found = "A"
    own = {*_WORDS[quantity], *_WORDS["joint"], *_NEUTRAL, *_unit_words(found)}
    rest = [token for token in tokens if token not in own]
    direction = next(
        (sign for token in rest if not token.isdigit() for sign in (_direction(token),) if sign), 0
    )
    joint = re.sub(
        r"([a-z])_(\d)",
        r"\1\2",
        "_".join(token for token in rest if token.isdigit() or not _direction(token)),
    )
    why = "name" if found else f"name; no unit stated, assumed {_USUAL[quantity]}"
    return _Found(
        quantity,
        f"j{joint}" if joint.isdigit() else joint,
        direction,
        column_map(signal, None, name, found or _USUAL[quantity], name, why),
    )


def _tokens(name: str) -> list[str]:
    """Words, numbers and signs of a column name, without the bracket at its end."""
    plain = re.sub(r"([a-z])([A-Z])", r"\1 \2", bare(name)).lower()
    return re.findall(r"[^\W\d_]+|\d+|[+]|(?<![\w])-|-$", plain)


def _unit_words(unit: str | None) -> set[str]:
    return set(_tokens(unit)) if unit else set()


def _labelled(guessed: list[_Found], every: list[_Found]) -> list[_Found]:
    """Remove joint names that do not distinguish columns of the same quantity and direction."""

    def kinds(found: _Found) -> int:
        return len(
            {
                other.joint
                for other in every
                if (other.quantity, other.direction) == (found.quantity, found.direction)
            }
        )

    several = {found.quantity for found in every if kinds(found) > 1}
    return [
        found if found.quantity in several or "torque" in several else replace(found, joint="")
        for found in guessed
    ]


def _option(found: _Found) -> str:
    target = ".".join(
        [
            found.quantity,
            *([found.joint] if found.joint else []),
            *([{1: "forward", -1: "backward"}[found.direction]] if found.direction else []),
        ]
    )
    ends = bool(re.search(r"[\])]\s*$", found.entry.column)) and bool(
        stated_unit(found.entry.column)
    )
    # the heading may end in the unit
    unit = f"[{found.entry.unit}]" if found.entry.unit and not ends else ""
    return f'--column "{target}={found.entry.column}{unit}"  ({found.entry.guess})'


def _arranged(found: Sequence[_Found], cells: Cells, said: tuple[str, ...]) -> Layout:
    """Combine the columns to a layout: each torque column gets the speed column of its joint and
    direction, or the shared one.
    """
    torques, speeds = (
        [one for one in found if one.quantity == quantity] for quantity in ("torque", "speed")
    )
    listed = ", ".join(cells.columns)
    for word, some in (("speed", speeds), ("torque", torques)):
        if not some:
            raise InputError(
                f"{cells.source}: no {word} column found; state the column with --column "
                f'"{word}=NAME[{_USUAL[word]}]"; the columns are {listed}'
            )
    if amps := [one for one in torques if one.entry.current]:
        raise InputError(
            f"{cells.source}: column {amps[0].entry.column!r} is in {amps[0].entry.unit}; state "
            "the torque constant "
            "at the joint as a factor, for example --column "
            f'"torque={bare(amps[0].entry.column)}[0.089 N·m/A]"'
        )
    keys = [(one.joint, one.direction) for one in torques]
    if len(set(keys)) < len(keys):
        twins = [one.entry.column for one in torques if keys.count((one.joint, one.direction)) > 1]
        raise InputError(
            f"{cells.source}: {' and '.join(twins)} may each be the torque; choose one with "
            "--column "
            f'"torque={twins[0]}", or give both with --column "torque.forward={twins[0]}" --column '
            f'"torque.backward={twins[1]}"'
        )
    series = tuple(
        Series(_matching(one, speeds, cells).entry, one.entry, one.joint, one.direction)
        for one in torques
    )
    other = {
        quantity: [one for one in found if one.quantity == quantity]
        for quantity in ("load", "temperature", *LABELS)
    }
    first = {quantity: some[0].entry for quantity, some in other.items() if some}
    if "joint" in first and any(one.joint for one in series):
        del first["joint"]
    return Layout(
        series,
        first.get("load"),
        first.get("temperature"),
        {key: first[key].column for key in LABELS if key in first},
        said,
    )


def _matching(torque: _Found, speeds: Iterable[_Found], cells: Cells) -> _Found:
    """Return the speed column of a torque column."""
    some = list(speeds)
    best = (
        [one for one in some if (one.joint, one.direction) == (torque.joint, torque.direction)]
        or [
            one
            for one in some
            if one.joint in ("", torque.joint) and one.direction in (0, torque.direction)
        ]
        or [one for one in some if one.direction == 0 and len(some) == 1]
    )
    if len(best) != 1:
        raise InputError(
            f"{cells.source}: {', '.join(one.entry.column for one in best or some)} may be the "
            "speed of "
            f"{torque.entry.column}; choose one with --column "
            f'"speed={(best or some)[0].entry.column}"'
        )
    return best[0]
