"""Page about external torque in a run: false alarms, thresholds, marked pushes, and torque
between thresholds over time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup
from matplotlib.figure import Figure

from stribeck.experiments.report.frame.interactive import (
    Interactive,
    InteractiveFigure,
    PointTable,
    band,
    level,
    line,
    title,
)
from stribeck.experiments.report.frame.page_frame import anchors, rendered, write_page
from stribeck.experiments.report.frame.thinned import MOST, extremes, thinning
from stribeck.experiments.report.lights import BAD, GOOD, Light
from stribeck.experiments.report.svg import drawing_style, inline
from stribeck.ident.external.judged_run import ExternalValidation, JointExternal
from stribeck.ident.log.run import Run
from stribeck.ident.views.external_over_time import draw_external

JOINTS = (
    "joint",
    "moving",
    "threshold, moving",
    "threshold, at rest",
    "false alarms",
    "per hour (95 %)",
)
PUSHES = ("joint", "push", "joint is", "true", "observed", "threshold", "found after")
_SIZE, _HEIGHT = (9.0, 2.4), 320  # inches, px


@dataclass(frozen=True)
class ExternalJoint:
    """Section of a joint: place in the page, still figure, and how its samples are drawn."""

    name: str
    anchor: str
    still: Markup
    drawn: str


def joint_rows(one: ExternalValidation) -> list[tuple[str, ...]]:
    """Return a row of text for each joint: free time, thresholds and false alarms."""
    return [
        (
            name,
            f"{joint.moving:.0f} s",
            _median(joint.threshold, joint.unit),
            _median(joint.undetectable, joint.unit),
            f"{joint.false_alarms}",
            f"{joint.rate[0]:.3g} to {joint.rate[1]:.3g}{' (fails)' if name in one.failed else ''}",
        )
        for name, joint in one.joints.items()
    ]


def push_rows(one: ExternalValidation) -> list[tuple[str, ...]]:
    """Return a row of text for each marked push."""
    return [
        (
            name,
            f"{judged.push.start:.2f} s",
            "at rest" if judged.resting else "moving",
            "-" if judged.push.torque is None else f"{judged.push.torque:.3g} {joint.unit}",
            f"{judged.torque:.3g} {joint.unit}",
            f"{judged.threshold:.3g}",
            "missed" if judged.delay is None else f"{1e3 * judged.delay:.0f} ms",
        )
        for name, joint in one.joints.items()
        for judged in joint.pushes
    ]


def external_verdict(one: ExternalValidation) -> str:
    """Return the verdict on one calibration in words."""
    alarms = sum(joint.false_alarms for joint in one.joints.values())
    free = max(joint.moving + joint.resting for joint in one.joints.values())
    pushes = [push for joint in one.joints.values() for push in joint.pushes]
    said = f"{alarms or 'no'} false alarm{'s' * (alarms != 1)} in {free:.0f} s of free motion"
    if pushes:
        said += f"; {sum(push.delay is not None for push in pushes)} of {len(pushes)} pushes found"
    return f"fails for {', '.join(one.failed)}: {said}" if one.failed else f"passes: {said}"


def write_external(
    run: Run, found: Mapping[str, ExternalValidation], notes: list[str], target: Path
) -> None:
    """Write the page to a new file; figures are of the first calibration.

    Raises
    ------
    InputError
        If the file exists.
    """
    name, first = next(iter(found.items()))
    place, share = anchors(first.joints), max(2, MOST // (3 * len(first.joints)))
    with drawing_style():
        sections = [
            _section(joint, place[joint], own, share) for joint, own in first.joints.items()
        ]
    write_page(
        target,
        rendered(
            "pages/external.html.j2",
            Interactive(
                {"none": PointTable({})},
                {place[joint]: _figure(own, share) for joint, own in first.joints.items()},
            ),
            kind="External torque",
            heading=run.arm.name,
            shown=name if len(found) > 1 else "",
            sections=sections,
            notes=notes,
            facts=[
                ("run", str(run.path)),
                ("length", f"{run.duration:.0f} s"),
                ("observer", f"gain {first.gain:g} 1/s ({1e3 / first.gain:.3g} ms)"),
                ("allowed by noise", f"{first.allowed:g} false alarms per hour and joint"),
            ],
            lights=[
                Light(path, BAD if one.failed else GOOD, f"It {external_verdict(one)}.")
                for path, one in found.items()
            ],
            joints=JOINTS,
            pushes=PUSHES,
            tables=[(path, joint_rows(one), push_rows(one)) for path, one in found.items()],
            sections_of_page=[
                ("overview", "Overview"),
                *((anchor, joint) for joint, anchor in place.items()),
                ("notes", "Notes"),
            ],
        ),
    )


def _section(joint: str, anchor: str, own: JointExternal, share: int) -> ExternalJoint:
    figure = Figure(figsize=_SIZE, layout="constrained", dpi=110)
    ax = figure.subplots()
    draw_external(
        ax,
        f"external torque, {own.unit}",
        own.t,
        own.torque,
        own.bound,
        [(judged.push.start, judged.push.end) for judged in own.pushes],
    )
    for part in (*ax.lines, *ax.collections):
        part.set_rasterized(True)
    ax.set_xlabel("time, s")
    return ExternalJoint(
        joint,
        anchor,
        inline(figure, f"External torque of {joint} over time, between its thresholds"),
        thinning(len(own.t), share),
    )


def _figure(own: JointExternal, share: int) -> InteractiveFigure:
    """External torque between its thresholds, and the times of pushes."""
    t, torque = extremes(own.t, own.torque, share)
    edge, bound = extremes(own.t, own.bound, share)
    told = f"%{{y:.3g}} {own.unit}<br>%{{x:.2f}} s<extra></extra>"
    pushes = [
        {
            "type": "rect",
            "xref": "x",
            "yref": "y domain",
            "x0": one.push.start,
            "x1": one.push.end,
            "y0": 0,
            "y1": 1,
            "fillcolor": "--accent",
            "opacity": 0.25,
            "line": {"width": 0},
            "layer": "below",
        }
        for one in own.pushes
    ]
    return InteractiveFigure(
        "none",
        [
            band(edge, -bound, bound, "--measured", opacity=0.6),
            line(t, torque, "--ink", line={"width": 1}, hovertemplate=told),
        ],
        {
            "xaxis": {"title": {"text": "time, s"}},
            "yaxis": {},
            "shapes": [level(0.0), *pushes],
            "annotations": [title(f"external torque, {own.unit}")],
        },
        _HEIGHT,
    )


def _median(values: tuple[float, float, float] | None, unit: str) -> str:
    return "-" if values is None else f"{values[1]:.3g} {unit}"
