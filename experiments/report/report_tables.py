"""Rows of the report's tables, formatted as plain text for the template."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from markupsafe import Markup

from stribeck.experiments.report import words
from stribeck.experiments.report.figures import curve_speeds
from stribeck.experiments.report.joint_data import JointData
from stribeck.experiments.report.svg import spark, strip
from stribeck.experiments.report.words import glance
from stribeck.ident.calibration.joint_calibration import JointCalibration
from stribeck.ident.export.approximation import approximate, losses
from stribeck.ident.laws.law_table import unit
from stribeck.ident.laws.load_components import load_unit
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.ripple.wave import KNOWN, Wave

# strength of the colour of a correlation of 1, so that text on it can be read [%]
_STRONGEST = 70.0
_LOADS = ("torque", "bending", "normal")


@dataclass(frozen=True)
class Cell:
    """A number in the summary table: heading, text, unit, and the verdict
    unless it is "identified".
    """

    heading: str
    text: str
    unit: str = ""
    doubt: str = ""


@dataclass(frozen=True)
class SummaryRow:
    """Row of the summary table: one joint."""

    name: str
    law: str
    load: str
    cells: tuple[Cell, ...]
    spark: Markup
    verdict: str
    hint: str


@dataclass(frozen=True)
class ParameterRow:
    """Row of a parameter table: value, interval and verdict."""

    key: str
    word: str
    symbol: tuple[str, str]
    value: str
    interval: str
    relative: str
    unit: str
    verdict: str
    note: str
    repeats: str


@dataclass(frozen=True)
class CorrelationCell:
    """Correlation of two estimates: text, side of zero, strength of the colour [%], and whether
    both are the same estimate.
    """

    text: str
    side: str
    share: int
    own: bool


@dataclass(frozen=True)
class CorrelationRow:
    """Row of the correlation table: one estimate with all."""

    word: str
    symbol: tuple[str, str]
    cells: tuple[CorrelationCell, ...]


@dataclass(frozen=True)
class CandidateRow:
    """Row of the candidate table: a law with a load; `bar` shows the held-out error as a
    length in percent of the cell.
    """

    law: str
    load: str
    error: str
    bar: float
    parameters: int
    remark: str
    dismissed: bool
    chosen: bool


@dataclass(frozen=True)
class WaveRow:
    """Row of the ripple table: one harmonic of position."""

    order: str
    kind: str
    origin: str
    amplitude: str
    unit: str
    phase: str
    verdict: str


@dataclass(frozen=True)
class LoadRow:
    """Row of the load table: range of one load over the points."""

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
    """Row of the gravity table: measured torque against the model's
    gravity torque for one joint.
    """

    name: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class ExportRow:
    """Row of the export table: constant and viscous friction of a joint, and the
    error of this approximation.
    """

    name: str
    friction: str
    damping: str
    rms: str
    worst: str
    unit: str
    damping_unit: str
    lost: str


@dataclass(frozen=True)
class LimitRow:
    """Row of the table of validity limits: ranges that the data of a joint cover."""

    name: str
    speed: str
    load: str
    temperature: str


def summary_row(data: JointData) -> SummaryRow:
    """Make the summary row of a joint."""
    joint = data.calibration
    cells = []
    for quantity in glance((joint,)):
        parameter = joint.parameters.get(quantity.name)
        doubt = "" if parameter is None or parameter.value is None else _doubt(parameter)
        heading = quantity.word if quantity.knee else quantity.heading
        cells.append(
            Cell(heading, words.plus_minus(parameter), quantity.unit_of(data.prismatic), doubt)
        )
    unseen = sorted(
        {
            p.verdict
            for key, p in joint.parameters.items()
            if p.value is None and "_coefficient" in key
        }
    )
    part = (
        words.MISSING
        if joint.load_part is None
        else words.span(joint.load_part[0], joint.load_part[2])
    )
    cells.append(
        Cell("load part", part, data.unit, "" if joint.load_part or not unseen else unseen[0])
    )
    cells.append(Cell("held-out error", words.number(joint.held_out_rmse, 2), data.unit))
    w = curve_speeds(data)
    middle = data.at_load(data.load_levels[1], len(w)) if data.load is not None else None
    weak = [
        words.parameter_word(key)
        for key, p in joint.parameters.items()
        if p.value is not None and p.verdict == joint.verdict() != "identified"
    ]
    return SummaryRow(
        data.name,
        joint.law,
        words.load_word(joint.load, data.prismatic),
        tuple(cells),
        spark(data.speed, data.odd, w, joint.torque(w, middle)),
        joint.verdict(),
        words.listed(weak),
    )


def parameter_row(key: str, parameter: Parameter) -> ParameterRow:
    """Make the row of a parameter."""
    known = parameter.value is not None
    value = (
        words.MISSING
        if parameter.value is None
        else words.fixed(parameter.value, words.decimals_of(parameter))
    )
    return ParameterRow(
        key,
        words.parameter_word(key),
        words.parameter_symbol(key),
        value,
        words.interval(parameter),
        words.relative(parameter),
        parameter.unit if known and parameter.unit != "1" else "",
        parameter.verdict,
        parameter.note,
        "" if parameter.repeat_deviation is None else words.number(parameter.repeat_deviation, 2),
    )


def parameter_rows(parameters: Mapping[str, Parameter]) -> list[ParameterRow]:
    """Make rows of several parameters; a note equal to the note of the row above is left out."""
    rows, said = [], ""
    for key, parameter in parameters.items():
        row = parameter_row(key, parameter)
        rows.append(row if row.note != said else ParameterRow(**{**vars(row), "note": ""}))
        said = row.note
    return rows


def correlation_rows(joint: JointCalibration) -> list[CorrelationRow]:
    """Make rows of the correlation of the estimates; none without two estimates."""
    if len(joint.names) < 2:
        return []
    return [
        CorrelationRow(
            words.parameter_word(name),
            words.parameter_symbol(name),
            tuple(
                CorrelationCell(
                    words.fixed(value, 2),
                    "above" if value > 0.0 else "below",
                    round(_STRONGEST * abs(value)),
                    j == k,
                )
                for k, value in enumerate(joint.correlation[j].tolist())
            ),
        )
        for j, name in enumerate(joint.names)
    ]


def candidate_rows(data: JointData) -> list[CandidateRow]:
    """Make rows of the candidates: first the chosen one, then plausible laws with the same
    load, then the rest by error.
    """
    joint, place = data.calibration, data.fit.fit.place
    tried = [c for c in data.fit.fit.candidates if c.weighed]
    worst = max((c.held_out_rmse for c in tried), default=1.0)
    best = next(
        (
            c.held_out_rmse
            for c in tried
            if (c.law, c.load, c.place) == (joint.law, joint.load, place)
        ),
        0.0,
    )
    rows = []
    for c in sorted(
        tried,
        key=lambda c: (
            bool(c.dismissed),
            -c.share if (c.load, c.place) == (joint.load, place) else 1.0,
            c.held_out_rmse,
        ),
    ):
        beside = (c.load, c.place) == (joint.load, place)
        chosen = beside and c.law == joint.law
        remark = c.dismissed or (
            f"{100.0 * c.share:.0f} % plausible"
            if beside and c.share < 1.0
            else "not significantly better"
            if c.held_out_rmse <= best
            else ""
        )
        load = words.load_word(c.load, data.prismatic) + (
            f", waves {c.place}" if c.place != "none" else ""
        )
        rows.append(
            CandidateRow(
                c.law,
                load,
                words.number(c.held_out_rmse),
                100.0 * c.held_out_rmse / worst,
                c.parameters,
                remark,
                bool(c.dismissed),
                chosen,
            )
        )
    return sorted(rows, key=lambda row: not row.chosen)


def wave_rows(waves: Sequence[Wave]) -> list[WaveRow]:
    """Make rows of the claimed harmonics of position."""
    return [
        WaveRow(
            words.number(wave.order, 5),
            wave.kind,
            "arm file" if wave.origin == KNOWN else "found",
            words.plus_minus(wave.parameter),
            wave.unit,
            f"{wave.phase:z.2f} ± {(wave.phase_high - wave.phase_low) / 2.0:.2f}",
            wave.verdict,
        )
        for wave in waves
    ]


def load_rows(data: JointData) -> list[LoadRow]:
    """Make rows of the loads: range over the points, and whether friction depends on the load."""
    offered, rows = {candidate.load for candidate in data.fit.fit.candidates}, []
    for load in (*_LOADS, *(part for part in data.calibration.components if part not in _LOADS)):
        values = data.points[load].to_numpy(dtype=float)
        symbol, word = load_unit(load, data.prismatic), words.load_word(load, data.prismatic)
        if not np.isfinite(values).all():
            rows.append(
                LoadRow(
                    word,
                    "",
                    "",
                    "",
                    "",
                    Markup(""),
                    "unknown: the arm file states no bearing",
                    False,
                )
            )
            continue
        chosen = load in (data.calibration.load, *data.calibration.components)
        role = (
            "friction grows with this load"
            if chosen
            else "varied, but does not improve the prediction"
            if load in offered
            else "varied too little to show an effect, or is too small to matter"
        )
        top = max(float(values.max()), 1e-12)
        low, median, high = words.level(
            (float(values.min()), float(np.median(values)), float(values.max())), 3
        )
        rows.append(LoadRow(word, symbol, low, median, high, strip(values, top), role, chosen))
    return rows


def gravity_row(name: str, joint: JointCalibration) -> GravityRow:
    """Make the gravity row of a joint; the delay is in ms."""
    cells = []
    for key in ("scale", "offset", "delay"):
        parameter = joint.gravity[key] if key != "delay" else _milliseconds(joint.gravity[key])
        cells.append(
            Cell(
                words.parameter_word(key),
                words.plus_minus(parameter),
                parameter_row(key, parameter).unit,
                _doubt(parameter),
            )
        )
    return GravityRow(name, tuple(cells))


def export_row(data: JointData) -> ExportRow:
    """Make the export row of a joint: its best approximation by constant and viscous friction."""
    joint, near = data.calibration, approximate(data.calibration)
    lost = ", ".join(losses(joint))
    rms, worst = (
        words.number(value, 2) if lost else words.MISSING for value in (near.rms, near.worst)
    )
    return ExportRow(
        data.name,
        words.number(near.friction),
        words.number(near.damping),
        rms,
        worst,
        data.unit,
        unit("viscous", data.prismatic),
        lost or "nothing",
    )


def limit_row(data: JointData) -> LimitRow:
    """Make the row of the ranges that the data of a joint cover."""
    joint = data.calibration
    low, high = joint.velocity_range
    load = words.MISSING
    if joint.load_range is not None:
        ranges = (
            joint.load_range
            if isinstance(joint.load_range, Mapping)
            else {joint.load: joint.load_range}
        )
        load = ", ".join(
            f"{words.span(*ends, 3)} {load_unit(kind, data.prismatic)} "
            f"{words.load_word(kind, data.prismatic)}"
            for kind, ends in ranges.items()
        )
    return LimitRow(
        data.name,
        f"{words.number(low, 2)} … {words.number(high, 2)} {data.angle}/s",
        load,
        words.degrees(joint.temperature_range),
    )


def _doubt(parameter: Parameter) -> str:
    """Verdict of a parameter; empty if the parameter is identified."""
    return "" if parameter.verdict == "identified" else parameter.verdict


def _milliseconds(delay: Parameter) -> Parameter:
    value, low, high = (
        None if part is None else 1e3 * part for part in (delay.value, delay.low, delay.high)
    )
    return replace(delay, value=value, low=low, high=high, unit="ms")
