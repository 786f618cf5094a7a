"""The HTML report: fills the template with figures, tables and sentences."""

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from stribeck.experiments.report import report_tables, sentences, words
from stribeck.experiments.report.backlash_section import backlash_figure, backlash_words
from stribeck.experiments.report.equation import equation
from stribeck.experiments.report.figures import (
    curve_figure,
    gravity_figure,
    level_colours,
    off_law_figure,
)
from stribeck.experiments.report.frame.interactive import Interactive
from stribeck.experiments.report.frame.page_frame import rendered
from stribeck.experiments.report.frame.palette import DARK_SHADES
from stribeck.experiments.report.joint_data import JointData, joint_data
from stribeck.experiments.report.lights import lights
from stribeck.experiments.report.memory_figure import memory_figure
from stribeck.experiments.report.memory_words import memory_words
from stribeck.experiments.report.pages.joint_figures import joint_figures
from stribeck.experiments.report.pages.joint_points import point_table
from stribeck.experiments.report.rollout_section import rollout_section
from stribeck.experiments.report.svg import drawing_style
from stribeck.experiments.report.temperature_words import temperature_words
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.identify import Identification
from stribeck.ident.laws.load_components import load_unit
from stribeck.ident.laws.parameter import IDENTIFIED
from stribeck.ident.log.finding import Finding
from stribeck.ident.simulators.rollout import Rollout
from stribeck.ident.views.panels import SHADES
from stribeck.ident.whole_files import write_whole

REPORT = "report.html"
_WEIGHTY = (
    "lack of fit",
    "not calibrated",
    "dead torque",
    "torn",
    "ended",
    "torque unit",
    "direction",
    "order",
    "late torque",
    # findings at the head of the list
    "saturation",
    "never moved",
    "stick-slip",
    "speed not constant",
    "left out",
)


@dataclass(frozen=True)
class Section:
    """Section of one joint; `data`, `summary` and `parts` are None if
    the joint is not calibrated.
    """

    name: str
    anchor: str
    findings: tuple[Finding, ...]
    data: JointData | None = None
    summary: report_tables.SummaryRow | None = None
    parts: dict[str, Any] | None = None


def write_report(
    result: Identification,
    folder: Path,
    run_note: dict[str, Any] | None = None,
    rolled: tuple[Rollout, str] | None = None,
) -> Path:
    """Write ``report.html``, a page that needs no other files.

    Parameters
    ----------
    result : Identification
        The fit to report.
    folder : Path
        Existing folder for the page.
    run_note : dict of str, optional
        Further facts for the head of the page: name -> text.
    rolled : tuple of Rollout and str, optional
        Simulated motion of a run that was not fitted, and the name of the run.

    Returns
    -------
    Path
        Path of the page.
    """
    page = Path(folder) / REPORT
    write_whole(page, render(result, run_note, rolled))
    return page


def render(
    result: Identification,
    run_note: dict[str, Any] | None = None,
    rolled: tuple[Rollout, str] | None = None,
) -> str:
    """Return the page as text. The same input gives the same text, byte for byte."""
    with drawing_style():
        sections = [
            _section(result, name, f"joint-{k}")
            for k, name in enumerate(result.mechanism.names, start=1)
            if name in result.asked_for
        ]
        calibrated = [section.data for section in sections if section.data is not None]
        memories = [
            (
                memory_words(data.name, data.calibration),
                report_tables.parameter_rows(memory.parameters),
                memory_figure(data.calibration, data.unit, data.angle),
            )
            for data in calibrated
            if (memory := data.calibration.memory) is not None
        ]
        gaps = [
            (
                backlash_words(data.name, data.calibration),
                report_tables.parameter_rows(backlash.parameters),
                backlash_figure(data.calibration, data.angle),
            )
            for data in calibrated
            if (backlash := data.calibration.backlash) is not None
        ]
        motion = None if rolled is None else rollout_section(*rolled)
    calibration = result.calibration
    versions = dict(calibration.fit.get("versions", {}))
    return rendered(
        "report.html.j2",
        _interactive(sections, calibration),
        kind="Friction calibration",
        heading=calibration.arm,
        sections_of_page=[
            ("glance", "Summary"),
            ("findings", "Health"),
            *((one.anchor, one.name) for one in sections),
            ("provenance", "Provenance"),
        ],
        calibration=calibration,
        created=words.moment(calibration.created),
        versions=versions,
        stribeck=versions.get("stribeck", version("stribeck")),
        facts=_facts(result, calibrated, run_note or {}),
        motors={
            line: report_tables.parameter_rows(motor.parameters)
            for line, motor in zip(
                words.motor_lines(calibration), calibration.motors.motors.values(), strict=True
            )
        },
        passive={
            words.passive_words(name, one)
            if one.parameters
            else line: report_tables.parameter_rows(one.parameters)
            for line, (name, one) in zip(
                words.passive_lines(calibration),
                calibration.model.passive.classes.items(),
                strict=True,
            )
        },
        breakaway=words.breakaway_lines(calibration),
        sections=sections,
        memories=memories,
        gaps=gaps,
        motion=motion,
        temperatures={
            temperature_words(name, joint): report_tables.parameter_rows(
                joint.temperature.all_parameters
            )
            for name, joint in calibration.joints.items()
            if joint.temperature is not None
        },
        findings=_by_kind(result.findings),
        weighty=_WEIGHTY,
        units=_common_units(calibrated),
        gravity=[report_tables.gravity_row(*item) for item in calibration.joints.items()],
        gravity_sentence=words.gravity_sentence(calibration),
        repeats=words.repeat_sentence(calibration),
        tool=report_tables.parameter_rows(calibration.model.unknown_tool.parameters),
        inertia=report_tables.parameter_rows(
            calibration.model.inertia.parameters if calibration.model.inertia else {}
        ),
        lights=lights(calibration, result.asked_for, calibrated, result.findings, _WEIGHTY),
        left=words.listed(name for name in result.mechanism.names if name not in result.asked_for),
        exports=[report_tables.export_row(data) for data in calibrated],
        limits=[report_tables.limit_row(data) for data in calibrated],
        options={
            key: "; ".join(value) if isinstance(value, list) else value
            for key, value in calibration.fit.items()
            if key not in ("versions", "lack_of_fit", "closed_loop", "closed_loop_shared")
        },
        session=_session(result),
        shades=SHADES,
        dark_shades=DARK_SHADES,
        missing=words.MISSING,
        identified=IDENTIFIED,
    )


def _section(result: Identification, name: str, anchor: str) -> Section:
    findings = tuple(finding for finding in result.findings if finding.joint == name)
    if name not in result.calibration.joints:
        return Section(name, anchor, findings)
    data = joint_data(result, name)
    joint = data.calibration
    along = {**joint.gravity, **({} if data.fit.drift is None else {"drift": data.fit.drift})}
    levels = words.level(data.load_levels, 3) if data.load_levels else []
    return Section(
        name,
        anchor,
        findings,
        data,
        report_tables.summary_row(data),
        {
            "sentence": sentences.joint_sentence(data),
            "equation": equation(data),
            "correlation": sentences.correlation_note(data),
            "correlations": report_tables.correlation_rows(joint),
            "curve": curve_figure(data),
            "gravity": gravity_figure(data),
            "off": off_law_figure(data),
            "parameters": report_tables.parameter_rows(joint.parameters),
            "along": report_tables.parameter_rows(along),
            "ripple": report_tables.wave_rows(joint.ripple),
            "candidates": report_tables.candidate_rows(data),
            "loads": report_tables.load_rows(data),
            "load": words.load_word(joint.load, data.prismatic),
            "load_unit": load_unit(joint.load, data.prismatic),
            "levels": list(zip(levels, level_colours(data), strict=True)),
            "part": None if joint.load_part is None else words.level(joint.load_part),
            "temperature": words.degrees(joint.temperature_range),
            "joined": bool(np.any(np.bincount(data.trip) > 1)),
        },
    )


def _interactive(sections: list[Section], calibration: Calibration) -> Interactive:
    """Points and figures of all joints, and the parameters as a file."""
    known = [(section.anchor, section.data) for section in sections if section.data is not None]
    return Interactive(
        {anchor: point_table(data) for anchor, data in known},
        {
            place: figure
            for anchor, data in known
            for place, figure in joint_figures(anchor, data).items()
        },
        {"parameters.csv": calibration.to_dataframe().to_csv(index=False, float_format="%.8g")},
    )


def _by_kind(findings: Iterable[Finding]) -> list[tuple[str, list[Finding]]]:
    """Group findings by kind; weighty kinds come first."""
    rank = {kind: k for k, kind in enumerate(_WEIGHTY)}
    ordered = sorted(findings, key=lambda finding: rank.get(finding.kind, len(rank)))
    kinds = dict.fromkeys(finding.kind for finding in ordered)
    return [(kind, [finding for finding in ordered if finding.kind == kind]) for kind in kinds]


def _facts(
    result: Identification, calibrated: list[JointData], run_note: dict[str, Any]
) -> list[tuple[str, str]]:
    """Facts for the head of the page: name and text."""
    calibration = result.calibration
    basis = {
        "drive": "drive torque as reported",
        "gravity-corrected": "drive torque scaled to the model's gravity",
    }
    trips = sum(data.trips for data in calibrated)
    named = [
        (name, text)
        for name, text in (("serial number", calibration.serial), ("note", calibration.note))
        if text
    ]
    return [
        *named,
        ("method", calibration.method or "not stated"),
        ("date", words.moment(calibration.created)),
        (
            "robot time",
            f"{_session(result)} in {len(calibration.runs)} run{'s' * (len(calibration.runs) != 1)}",
        ),
        ("round trips", f"{trips} ({sum(len(data.odd) for data in calibrated)} points)"),
        ("torque basis", basis.get(calibration.torque_basis, calibration.torque_basis)),
        ("model", calibration.model.file),
        *((str(key), str(value)) for key, value in run_note.items()),
    ]


def _session(result: Identification) -> str:
    """Total duration of the runs; each run lasts from its first point of
    any joint to its last point.
    """
    times = result.points.groupby("run", sort=False)["t"]
    return words.minutes(float((times.max() - times.min()).sum()))


def _common_units(calibrated: list[JointData]) -> dict[str, str]:
    """Units for the column heads of the summary; empty if units differ between joints, so that
    each number shows its unit.
    """
    kinds = {data.prismatic for data in calibrated}
    if len(kinds) != 1 or not calibrated:
        return {}
    return {cell.heading: cell.unit for cell in report_tables.summary_row(calibrated[0]).cells}
