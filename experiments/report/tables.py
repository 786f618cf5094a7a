"""Rows of the report's tables: plain text, ready for the template."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from markupsafe import Markup

from experiments.report import words
from experiments.report.figures import curve_speeds
from experiments.report.joint import JointData
from experiments.report.svg import spark, strip
from ident.calibration import JointCalibration
from ident.fit import Parameter
from ident.identify import Identification

_GLANCE = (("coulomb", "Coulomb"), ("static", "static"), ("stribeck_velocity", "Stribeck velocity"), ("viscous", "viscous"))
_LOADS = ("torque", "bending", "normal")
_LONGEST_BAR = 90.0    # percent of its cell
_CORRELATED = 0.8       # correlation from which two estimates trade against each other


@dataclass(frozen=True)
class Cell:
    """A number in the summary: heading, text, unit, and the verdict where it is not the best."""

    heading: str
    text: str
    unit: str = ""
    doubt: str = ""


@dataclass(frozen=True)
class SummaryRow:
    """A joint at a glance."""

    name: str
    law: str
    load: str
    cells: tuple[Cell, ...]
    spark: Markup
    verdict: str
    hint: str


@dataclass(frozen=True)
class ParameterRow:
    """A parameter with its interval and verdict."""

    key: str
    word: str
    symbol: tuple[str, str]
    value: str
    interval: str
    relative: str
    unit: str
    verdict: str
    note: str


@dataclass(frozen=True)
class CandidateRow:
    """A law and load that competed; `bar` is the length that stands for its held-out error, in percent of the cell."""

    law: str
    load: str
    error: str
    bar: float
    parameters: int
    dismissed: str
    chosen: bool


@dataclass(frozen=True)
class LoadRow:
    """How much a load varied over the points."""

    word: str
    unit: str
    low: str
    median: str
    high: str
    strip: Markup
    role: str
    chosen: bool


@dataclass(frozen=True)
class GravityRow:
    """Torque against the model's gravity for one joint."""

    name: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class LimitRow:
    """What the data of a joint covered."""

    name: str
    speed: str
    load: str
    temperature: str


def summary_row(data: JointData) -> SummaryRow:
    """A joint at a glance."""
    joint = data.calibration
    cells = []
    for key, heading in _GLANCE:
        parameter = joint.parameters.get(key)
        doubt = "" if parameter is None or parameter.value is None or parameter.verdict == "identified" else parameter.verdict
        unit = f"{data.unit}·s/{data.angle}" if key == "viscous" else f"{data.angle}/s" if key == "stribeck_velocity" else data.unit
        cells.append(Cell(heading, words.plus_minus(parameter), unit, doubt))
    unseen = sorted({p.verdict for p in joint.parameters.values() if p.value is None})
    part = words.MISSING if joint.load_part is None else words.span(joint.load_part[0], joint.load_part[2])
    cells.append(Cell("load part", part, data.unit, "" if joint.load_part or not unseen else unseen[0]))
    cells.append(Cell("held-out error", words.number(joint.held_out_rmse, 2), data.unit))
    w = curve_speeds(data)
    middle = np.full(len(w), data.load_levels[1]) if data.load is not None else None
    weak = [words.PARAMETER_WORDS.get(key, key) for key, p in joint.parameters.items()
            if p.value is not None and p.verdict == joint.verdict() != "identified"]
    return SummaryRow(data.name, joint.law, words.load_word(joint.load, data.prismatic), tuple(cells),
                      spark(data.speed, data.odd, w, joint.torque(w, middle)), joint.verdict(), words.listed(weak))


def parameter_row(key: str, parameter: Parameter) -> ParameterRow:
    """A parameter with its interval and verdict."""
    value = words.MISSING if parameter.value is None else words.fixed(parameter.value, words.decimals_of(parameter))
    return ParameterRow(key, words.PARAMETER_WORDS.get(key, key), words.PARAMETER_SYMBOLS.get(key, ("", "")), value,
                        words.interval(parameter), words.relative(parameter), "" if parameter.unit == "1" or parameter.value is None else parameter.unit,
                        parameter.verdict, parameter.note)


def parameter_rows(parameters: Mapping[str, Parameter]) -> list[ParameterRow]:
    """Rows of several parameters; a note that a neighbour has already given is not repeated."""
    rows, said = [], ""
    for key, parameter in parameters.items():
        row = parameter_row(key, parameter)
        rows.append(row if row.note != said else ParameterRow(**{**vars(row), "note": ""}))
        said = row.note
    return rows


def candidate_rows(data: JointData) -> list[CandidateRow]:
    """All laws and loads that competed, best first among those that were not dismissed."""
    candidates = sorted(data.fit.candidates, key=lambda candidate: (bool(candidate.dismissed), candidate.held_out_rmse))
    worst = max((candidate.held_out_rmse for candidate in candidates), default=1.0)
    return [CandidateRow(c.law, words.load_word(c.load, data.prismatic), words.number(c.held_out_rmse),
                         _LONGEST_BAR * c.held_out_rmse / worst, c.parameters, c.dismissed,
                         (c.law, c.load) == (data.calibration.law, data.calibration.load)) for c in candidates]


def load_rows(data: JointData) -> list[LoadRow]:
    """Spread of the loads over the points, and what became of each."""
    offered, rows = {candidate.load for candidate in data.fit.candidates}, []
    for load in _LOADS:
        values = data.points[load].to_numpy(dtype=float)
        unit, word = words.load_unit(load, data.prismatic), words.load_word(load, data.prismatic)
        if not np.isfinite(values).all():
            rows.append(LoadRow(word, "", "", "", "", Markup(""), "not known: the arm file gives no bearing", False))
            continue
        chosen = load == data.calibration.load
        role = ("friction follows it" if chosen else "varied, but does not predict better" if load in offered
                else "varied too little to show an effect, or too small to matter")
        top = max(float(values.max()), 1e-12)
        low, median, high = (words.number(float(value), 3) for value in (values.min(), np.median(values), values.max()))
        rows.append(LoadRow(word, unit, low, median, high, strip(values, top), role, chosen))
    return rows


def gravity_row(name: str, joint: JointCalibration) -> GravityRow:
    """Torque against gravity for one joint; the delay in ms."""
    delay = joint.gravity["delay"]
    ms = {key: None if getattr(delay, key) is None else 1e3 * getattr(delay, key) for key in ("value", "low", "high")}
    parameters = {**joint.gravity, "delay": replace(delay, **ms, unit="ms")}
    shown = ((words.PARAMETER_WORDS[key], parameters[key]) for key in ("scale", "offset", "delay"))
    return GravityRow(name, tuple(Cell(heading, words.plus_minus(p), "" if p.unit == "1" or p.value is None else p.unit,
                                       "" if p.verdict == "identified" else p.verdict) for heading, p in shown))


def limit_row(data: JointData) -> LimitRow:
    """What the data of a joint covered."""
    joint = data.calibration
    low, high = joint.velocity_range
    load = (f"{words.span(*joint.load_range, 3)} {words.load_unit(joint.load, data.prismatic)} "
            f"{words.load_word(joint.load, data.prismatic)}") if joint.load_range else words.MISSING
    return LimitRow(data.name, f"{words.number(low, 2)} … {words.number(high, 2)} {data.angle}/s", load, words.degrees(joint.temperature_range))


def joint_sentence(data: JointData) -> str:
    """What was found, in two sentences."""
    joint = data.calibration
    grows = "" if joint.load == "none" else f" that grows with the {words.load_word(joint.load, data.prismatic)}"
    share = 100.0 * joint.held_out_rmse / max(float(np.median(data.odd)), 1e-12)
    low, high = joint.velocity_range
    return (f"{joint.law.capitalize()} friction{grows}. Round trips left out of the fit are predicted within "
            f"{words.number(joint.held_out_rmse, 2)} {data.unit} ({share:.1f} % of the median friction). {len(data.odd)} points "
            f"from {data.trips} round trips between {words.number(low, 2)} and {words.number(high, 2)} {data.angle}/s.")


def correlation_note(data: JointData) -> str:
    """The pair of estimates that trade most against each other, if any do."""
    names, matrix = data.calibration.names, np.abs(np.triu(data.calibration.correlation, 1))
    if len(names) < 2 or matrix.max() < _CORRELATED:
        return ""
    row, column = np.unravel_index(int(np.argmax(matrix)), matrix.shape)
    value = words.fixed(float(data.calibration.correlation[row, column]), 2)
    first, second = (words.PARAMETER_WORDS.get(names[k], names[k]) for k in (row, column))
    return f"The estimates of {first} and {second} are correlated ({value}): the data tell their combination better than each alone."


def gravity_sentence(result: Identification) -> str:
    """How torque and model agree on gravity, over all joints."""
    agree, differ, blind = [], [], []
    for name, joint in result.calibration.joints.items():
        scale = joint.gravity["scale"]
        half = words.half_width(scale)
        if scale.value is None or scale.low is None or scale.high is None or half is None or 2.0 * half > words.TELLS:
            blind.append(name)
        elif abs(scale.value - 1.0) <= words.AGREES or scale.low <= 1.0 <= scale.high:
            agree.append((name, abs(scale.value - 1.0)))
        else:
            differ.append(f"{words.plus_minus(scale)} for {name}")
    said = []
    if agree:
        said.append(f"Measured torque and model agree on gravity within {100.0 * max(off for _, off in agree):.1f} % for "
                    f"{words.listed(name for name, _ in agree)}.")
    if differ:
        said.append(f"Torque over model is {words.listed(differ)}. The cause may be torque constant, gear efficiency, model masses "
                    "or an unknown tool; if it is the torque constant, friction carries the same factor.")
    if blind:
        said.append(f"Gravity varies too little to tell for {words.listed(blind)}.")
    return " ".join(said)
