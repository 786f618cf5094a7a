"""Page about a validation: verdicts, errors, and measured and predicted torque
of every joint over time.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure

from stribeck.experiments.report import words
from stribeck.experiments.report.frame.interactive import (
    Interactive,
    InteractiveFigure,
    PointTable,
    Toggle,
    level,
    line,
    title,
)
from stribeck.experiments.report.frame.page_frame import anchors, rendered, write_page
from stribeck.experiments.report.frame.palette import DARK_SERIES, themed
from stribeck.experiments.report.frame.thinned import MOST, extremes, thinning
from stribeck.experiments.report.lights import BAD, GOOD, MIND, Light
from stribeck.experiments.report.rollout_section import rollout_section
from stribeck.experiments.report.svg import drawing_style, inline
from stribeck.ident.arrays import Array
from stribeck.ident.calibration.pictures import COLOURS
from stribeck.ident.calibration.validation import JointValidation, Validation
from stribeck.ident.fleet.fleet import Membership
from stribeck.ident.log.run import Run
from stribeck.ident.simulators.rollout import Rollout
from stribeck.ident.views.torques_over_time import broken, draw_torques

_SIZE, _HEIGHT = (9.0, 2.6), 460  # inches, px
_MEASURED, _RIGID = "measured", "predicted without friction"


@dataclass(frozen=True)
class Validated:
    """A validation for its page.

    Attributes
    ----------
    run : Run
    tolerance : float
    found : mapping of str to Validation
        By calibration.
    rollouts : mapping of str to Rollout
        Simulated motion by calibration; empty without.
    members : mapping of str to dict of str to Membership
        Verdicts of a fleet by calibration and joint; empty without.
    notes : tuple of str
    """

    run: Run
    tolerance: float
    found: Mapping[str, Validation]
    rollouts: Mapping[str, Rollout]
    members: Mapping[str, Mapping[str, Membership]]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class ErrorCell:
    """Error of a calibration, as text, with its verdict."""

    text: str
    verdict: str


@dataclass(frozen=True)
class ValidatedJoint:
    """Section of a joint: place in the page, numbers as text, still figure, and
    how its samples are drawn.
    """

    name: str
    anchor: str
    unit: str
    without_friction: str
    cells: tuple[ErrorCell | None, ...]
    noise: str
    friction: str
    outside: str
    still: Markup
    drawn: str


def write_validation(validated: Validated, target: Path) -> None:
    """Write the page to a new file.

    Raises
    ------
    InputError
        If the file exists.
    """
    write_page(target, _page(validated))


def _page(own: Validated) -> str:
    names = list(own.found)
    joints = list(dict.fromkeys(joint for one in own.found.values() for joint in one.joints))
    place, tables, figures = anchors(joints), {}, {}
    share = max(2, MOST // max(1, len(joints) * (2 + 2 * len(names))))
    with drawing_style():
        sections = []
        for joint, anchor in place.items():
            judged = {
                name: one.joints[joint] for name, one in own.found.items() if joint in one.joints
            }
            sections.append(_section(joint, anchor, judged, names, share))
            tables[anchor], figures[anchor] = _torques(anchor, judged, names, share)
        motions = [
            (name, rollout_section(one, str(own.run.path.name)))
            for name, one in own.rollouts.items()
        ]
    return rendered(
        "pages/validation.html.j2",
        Interactive(tables, figures),
        kind="Validation",
        heading=own.run.arm.name,
        facts=[
            ("run", str(own.run.path)),
            ("length", f"{own.run.duration:.0f} s"),
            ("tolerance", f"{100.0 * own.tolerance:g} % of RMS friction"),
            *((f"calibration {k}", name) for k, name in enumerate(names, start=1)),
        ],
        lights=list(_lights(own)),
        names=names,
        sections=sections,
        motions=motions,
        notes=own.notes,
        colours=[_colour(k) for k in range(len(names))],
        left_out={name: one.left_out for name, one in own.found.items() if one.left_out},
        members=[
            (name, joint, one, "in family" if one.inside else "out of family")
            for name, some in own.members.items()
            for joint, one in some.items()
        ],
        number=words.number,
        sections_of_page=[
            ("overview", "Overview"),
            *((anchor, joint) for joint, anchor in place.items()),
            *([("motion", "Motion")] if motions else []),
            *([("family", "Fleet")] if own.members else []),
            ("notes", "Notes"),
        ],
    )


def _lights(own: Validated) -> Iterable[Light]:
    """One light for each calibration, and for the fleet's verdict on it."""
    for name, one in own.found.items():
        if one.joints:
            yield Light(
                name,
                BAD if one.failed else GOOD,
                f"Fails for {words.listed(one.failed)}." if one.failed else "Passes.",
            )
        else:
            yield Light(name, MIND, "No torque was judged.")
    for name, some in own.members.items():
        outside = [joint for joint, one in some.items() if not one.inside]
        yield Light(
            f"{name}, fleet",
            BAD if outside else GOOD if some else MIND,
            f"Out of family: {words.listed(outside)}."
            if outside
            else "All joints in family."
            if some
            else "No joint can be judged.",
        )


def _colour(k: int) -> tuple[str, str]:
    """Colour of a calibration's prediction on paper and on a dark page: vermilion first."""
    return COLOURS[(k + 1) % len(COLOURS)], DARK_SERIES[(k + 1) % len(DARK_SERIES)]


def _section(
    joint: str, anchor: str, judged: Mapping[str, JointValidation], names: list[str], share: int
) -> ValidatedJoint:
    first = next(iter(judged.values()))
    figure = Figure(figsize=_SIZE, layout="constrained", dpi=110)
    ax = figure.subplots()
    draw_torques(ax, f"torque, {first.unit}", first.t, first.measured, first.predicted, first.rigid)
    for drawn in ax.lines:
        drawn.set_rasterized(True)
    ax.set_xlabel("time, s")
    figure.legend(
        *ax.get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False
    )
    cells = tuple(
        ErrorCell(
            f"{words.number(one.error)} ({100.0 * one.error / one.friction:.1f} %)",
            "passes" if one.passed else "fails",
        )
        if (one := judged.get(name))
        else None
        for name in names
    )
    return ValidatedJoint(
        joint,
        anchor,
        first.unit,
        words.number(first.without_friction),
        cells,
        words.number(first.noise),
        words.number(first.friction),
        f"{100.0 * first.outside:.0f} %",
        inline(figure, f"Measured and predicted torque of {joint} over time"),
        thinning(len(first.t), share),
    )


def _torques(
    anchor: str, judged: Mapping[str, JointValidation], names: list[str], share: int
) -> tuple[PointTable, InteractiveFigure]:
    """Return the series of a joint: torques above, residuals below; each can be hidden."""
    first = next(iter(judged.values()))
    series = (_MEASURED, _RIGID, *names)
    told = f"%{{y:.4g}} {first.unit}<br>%{{x:.2f}} s<extra></extra>"

    def trace(
        t: Array, values: Array, colour: str, k: int, text: str, **more: Any
    ) -> dict[str, Any]:
        return line(
            *extremes(*broken(t, values), share),
            colour,
            at=["series", k],
            hovertemplate=f"{text}<br>{told}",
            **more,
        )

    data = [
        trace(first.t, first.measured, "--measured", 0, _MEASURED, line={"width": 3}),
        trace(first.t, first.rigid, "--faint", 1, _RIGID, line={"width": 1}),
    ]
    for k, name in reversed(list(enumerate(names))):  # the first on top
        if one := judged.get(name):
            colour = themed(*_colour(k))
            data += [
                trace(one.t, one.predicted, colour, 2 + k, name, line={"width": 1.2}),
                trace(
                    one.t,
                    one.measured - one.predicted,
                    colour,
                    2 + k,
                    f"{name}: residual",
                    line={"width": 1.2},
                    yaxis="y2",
                ),
            ]
    every = np.arange(len(series))
    return PointTable(
        {"series": every}, {"series": Toggle("Show", series, every)}
    ), InteractiveFigure(
        anchor,
        data,
        {
            "xaxis": {"title": {"text": "time, s"}, "anchor": "y2"},
            "yaxis": {"domain": [0.4, 1.0]},
            "yaxis2": {"domain": [0.0, 0.28]},
            "shapes": [level(0.0), {**level(0.0, "2"), "xref": "x domain"}],
            "annotations": [
                title(f"torque, {first.unit}"),
                {**title(f"measured minus predicted, {first.unit}", "2"), "xref": "x domain"},
            ],
        },
        _HEIGHT,
    )
