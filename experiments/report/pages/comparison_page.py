"""Page about calibrations of the same runs or of two arms: each against
the first, joint by joint.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from markupsafe import Markup, escape
from matplotlib.figure import Figure

from stribeck.experiments.report import words
from stribeck.experiments.report.comparison import PAGE, plot, sentence, verdict
from stribeck.experiments.report.frame.interactive import (
    Interactive,
    InteractiveFigure,
    PointTable,
    Toggle,
    band,
    line,
    title,
)
from stribeck.experiments.report.frame.page_frame import anchors, rendered, write_page
from stribeck.experiments.report.frame.palette import DARK_SERIES, themed
from stribeck.experiments.report.lights import BAD, GOOD, MIND, Light
from stribeck.experiments.report.svg import drawing_style, inline
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.calibration.changes import Comparison, CurveChange, ParameterChange
from stribeck.ident.calibration.joint_calibration import JointCalibration
from stribeck.ident.calibration.pictures import COLOURS, draw_side_by_side, side_by_side

_SIZE, _HEIGHT = (6.4, 3.6), 400  # inches, px
_LIGHTS = {"changed": BAD, "the same": GOOD, "unknown": MIND}
_SAVED = ("joint", "calibration", "speed", "friction", "low", "high")


@dataclass(frozen=True)
class ChangeRow:
    """Row of a table of changes, as text."""

    name: str
    before: str
    after: str
    difference: str
    allowed: str
    unit: str
    verdict: str


@dataclass(frozen=True)
class ComparedJoint:
    """Section of a joint: place in the page, still figure, where friction is shown,
    temperatures, and rows by calibration.
    """

    name: str
    anchor: str
    still: Markup
    at: str
    temperatures: tuple[str, ...]
    changes: dict[str, list[ChangeRow]]
    traded: tuple[str, ...]


def write_comparison(
    calibrations: Mapping[str, Calibration], found: Mapping[str, Comparison], target: Path
) -> None:
    """Write a page (.html) or a plot to a new file.

    Parameters
    ----------
    calibrations : mapping of str to Calibration
        All calibrations by name; the others are compared with the first.
    found : mapping of str to Comparison
        Comparison of each other calibration with the first.
    target : Path
        File; the suffix chooses the format.

    Raises
    ------
    InputError
        If the file exists, or its suffix is unknown.
    """
    if target.suffix.lower() == PAGE:
        write_page(target, _page(calibrations, found))
    else:
        plot(list(calibrations.values()), list(calibrations), target)


def _page(calibrations: Mapping[str, Calibration], found: Mapping[str, Comparison]) -> str:
    first, *others = calibrations
    place = anchors(calibrations[first].joints)
    known = {joint: [one.joints.get(joint) for one in calibrations.values()] for joint in place}
    with drawing_style():
        sections = [
            _section(joint, place[joint], known[joint], calibrations, found) for joint in place
        ]
    beside = {
        other: [
            _row(change.name, change, change.joint)
            for change in comparison.parameters
            if change.joint not in place
        ]
        for other, comparison in found.items()
    }
    said = {other: verdict(comparison) for other, comparison in found.items()}
    return rendered(
        "pages/comparison.html.j2",
        _interactive(known, place, list(calibrations)),
        kind="Comparison",
        heading=calibrations[first].arm,
        first=first,
        others=others,
        colours=_colours(len(calibrations)),
        sections=sections,
        facts=[
            (
                name,
                ", ".join(
                    part for part in (words.moment(one.created), one.serial, one.note) if part
                ),
            )
            for name, one in calibrations.items()
        ],
        lights=[
            Light(
                other,
                _LIGHTS[said[other]],
                f"{said[other].capitalize()}: {sentence(one, first, other)}.",
            )
            for other, one in found.items()
        ],
        overview=[
            (joint, place[joint], [found[other].curves.get(joint) for other in others])
            for joint in place
        ],
        beside={other: rows for other, rows in beside.items() if rows},
        notes=list(dict.fromkeys(note for one in found.values() for note in one.notes)),
        apart={other: one.apart for other, one in found.items() if one.apart},
        number=words.number,
        sections_of_page=[
            ("overview", "Overview"),
            *((anchor, joint) for joint, anchor in place.items()),
            ("notes", "Notes"),
        ],
    )


def _colours(count: int) -> list[tuple[str, str]]:
    return [(COLOURS[k % len(COLOURS)], DARK_SERIES[k % len(DARK_SERIES)]) for k in range(count)]


def _section(
    joint: str,
    anchor: str,
    known: Sequence[JointCalibration | None],
    calibrations: Mapping[str, Calibration],
    found: Mapping[str, Comparison],
) -> ComparedJoint:
    figure = Figure(figsize=_SIZE, layout="constrained")
    draw_side_by_side(figure.subplots(), joint, known, list(calibrations))
    changes = {}
    for other, one in found.items():
        rows = [_row(change.name, change) for change in one.parameters if change.joint == joint]
        if curve := one.curves.get(joint):
            speed = f"friction at {curve.speed:.3g} {'m/s' if curve.unit == 'N' else 'rad/s'}"
            rows.insert(
                0, _row(speed + ("" if curve.load is None else f", load {curve.load:.3g}"), curve)
            )
        if rows:
            changes[other] = rows
    return ComparedJoint(
        joint,
        anchor,
        inline(figure, f"Friction of {joint} against speed in all calibrations, with 95 % bands"),
        side_by_side(known)[0].removeprefix(", "),
        tuple("–" if one is None else words.degrees(one.temperature_range) for one in known),
        changes,
        tuple(other for other, one in found.items() if joint in one.traded),
    )


def _row(name: str, change: ParameterChange | CurveChange, joint: str = "") -> ChangeRow:
    return ChangeRow(
        f"{joint} {name}".strip(),
        words.number(change.before, 4),
        words.number(change.after, 4),
        words.number(change.difference, 2),
        words.number(change.allowed, 2),
        change.unit,
        "changed" if change.changed else "same",
    )


def _interactive(
    known: Mapping[str, Sequence[JointCalibration | None]],
    place: Mapping[str, str],
    names: Sequence[str],
) -> Interactive:
    """Curves of every joint as points of a table, and as figures in which
    calibrations can be hidden.
    """
    tables, figures = {}, {}
    colours = [themed(*pair) for pair in _colours(len(names))]
    for joint, joints in known.items():
        unit = next(one for one in joints if one is not None).parameters["coulomb"].unit
        angle, traces, parts = "m/s" if unit == "N" else "rad/s", [], []
        for k, curve in enumerate(side_by_side(joints)[1]):
            if curve is None:
                continue
            low, high = curve.friction - curve.band, curve.friction + curve.band
            told = (
                f"{escape(names[k])}<br>friction %{{y:.4g}} {unit}<br>speed %{{x:.3g}} "
                f"{angle}<extra></extra>"
            )
            traces += [
                band(curve.speed, low, high, colours[k], at=["calibration", k]),
                line(
                    curve.speed,
                    curve.friction,
                    colours[k],
                    at=["calibration", k],
                    hovertemplate=told,
                ),
            ]
            parts.append((np.full(len(low), k), curve.speed, curve.friction, low, high))
        of, speed, friction, low, high = map(np.concatenate, zip(*parts, strict=True))
        tables[place[joint]] = PointTable(
            {
                "joint": [joint] * len(of),
                "calibration": [names[k] for k in of],
                "speed": speed,
                "friction": friction,
                "low": low,
                "high": high,
            },
            {"calibration": Toggle("Calibration", tuple(names), of)},
            _SAVED,
        )
        figures[place[joint]] = InteractiveFigure(
            place[joint],
            traces,
            {
                "xaxis": {"type": "log", "title": {"text": f"speed, {angle}"}},
                "yaxis": {"rangemode": "tozero"},
                "annotations": [title(f"friction, {unit}")],
            },
            _HEIGHT,
        )
    return Interactive(tables, figures)
