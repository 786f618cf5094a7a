"""Page about a fleet: joints x arms, what differs and by which statistic, what is normal,
and what changes over time.
"""

from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from markupsafe import Markup

from stribeck.experiments.report import words
from stribeck.experiments.report.comparison import PAGE
from stribeck.experiments.report.fleets.fleet_tables import (
    finding_place,
    population_rows,
    write_fleet,
)
from stribeck.experiments.report.frame.interactive import Interactive, PointTable, Toggle
from stribeck.experiments.report.frame.page_frame import anchors, rendered, write_page
from stribeck.experiments.report.lights import BAD, GOOD, MIND, Light
from stribeck.experiments.report.pages.fleet_figures import (
    by_arm,
    joint_figures,
    matrix,
    point_columns,
    still_by_arm,
    still_matrix,
    still_over_time,
)
from stribeck.experiments.report.svg import drawing_style
from stribeck.ident.errors import InputError
from stribeck.ident.fleet.findings import FALSE, Finding
from stribeck.ident.fleet.fleet import Fleet

_FIRST = 25  # rows of the ranking that are shown at once
_GROUPS = (
    "newest calibration, within the fleet",
    "newest calibration, differs",
    "earlier calibrations",
)
_SAVED = (
    "joint",
    "arm",
    "calibration",
    "day",
    "friction",
    "std_error",
    "unit",
    "ratio",
    "adjusted",
)


@dataclass(frozen=True)
class Ranked:
    """Row of the ranking, as text."""

    arm: str
    joint: str
    anchor: str
    test: str
    effect: str
    deviations: str
    probability: str
    adjusted: str
    day: str


@dataclass(frozen=True)
class FleetJoint:
    """Section of a joint: place in the page, row of the population, where it is
    compared, and still figures.
    """

    name: str
    anchor: str
    row: tuple[str, ...]
    where: str
    arms: Markup
    time: Markup


def write_fleet_result(fleet: Fleet, target: Path) -> None:
    """Write a page (.html), a table (.csv) or a picture to a new file.

    Raises
    ------
    InputError
        If the file exists, its suffix is unknown, or no joint can be compared.
    """
    if target.suffix.lower() != PAGE:
        write_fleet(fleet, target)
        return
    if not fleet.populations:
        raise InputError(
            "; ".join(fleet.apart)
            or f"{fleet.arm}: no calibration has a joint; no page can be made"
        )
    write_page(target, _page(fleet))


def _page(fleet: Fleet) -> str:
    rows, place = fleet.to_dataframe(), anchors(fleet.populations)
    found = [one for one in fleet.findings if one.found]
    marked = {(one.joint, one.arm) for one in found}
    moved = {(one.joint, one.arm) for one in found if one.test in ("step", "trend", "history")}
    table = by_arm(rows, list(place))
    normal = {
        joint: (
            100.0 * (one.normal[0] / one.friction - 1.0),
            100.0 * (one.normal[1] / one.friction - 1.0),
        )
        for joint, one in fleet.populations.items()
    }
    of_joint = {joint: rows[rows["joint"] == joint] for joint in place}
    arms = list(dict.fromkeys(rows["arm"]))
    tables = {"arms": PointTable({"arm": arms})}
    figures = {"matrix": matrix(table, marked)}
    with drawing_style():
        still, sections = still_matrix(table, marked), []
        for (joint, anchor), row in zip(place.items(), population_rows(fleet), strict=True):
            odd, changed = (
                {arm for name, arm in some if name == joint} for some in (marked, moved)
            )
            columns = point_columns(of_joint[joint], odd, changed)
            groups = [("normal", "differs", "earlier").index(one) for one in columns["group"]]
            tables[anchor] = PointTable(
                columns, {"group": Toggle("Show", _GROUPS, np.array(groups))}, _SAVED
            )
            one = fleet.populations[joint]
            figures |= joint_figures(anchor, arms, normal[joint], one.unit)
            ratio = (one.normal[0] / one.friction, one.normal[1] / one.friction)
            sections.append(
                FleetJoint(
                    joint,
                    anchor,
                    row,
                    _where(fleet, joint),
                    still_by_arm(of_joint[joint], joint, ratio, marked),
                    still_over_time(of_joint[joint], normal[joint], changed),
                )
            )
    first, last = rows["created"].min().date(), rows["created"].max().date()
    ranked = [_ranked(one, place) for one in found]
    return rendered(
        "pages/fleet.html.j2",
        Interactive(tables, figures, {"findings.csv": _findings(fleet)}),
        kind="Fleet",
        heading=fleet.arm,
        facts=[
            ("arms", str(len(arms))),
            ("calibrations", str(len(fleet.calibrations))),
            ("days an arm", f"{fleet.days / len(set(fleet.arms.values())):.3g} on average"),
            ("from", str(first)),
            ("to", str(last)),
        ],
        lights=_lights(fleet, found),
        sections=sections,
        still=still,
        arms=arms,
        ranked=ranked[:_FIRST],
        more=ranked[_FIRST:],
        tests=len(fleet.findings),
        joints=len({(one.arm, one.joint) for one in fleet.findings}),
        share=f"{100.0 * FALSE:g}",
        differ=len(marked),
        apart=fleet.apart,
        notes=fleet.notes,
        sections_of_page=[
            ("matrix-of-arms", "Joints × arms"),
            ("differs", "What differs"),
            ("normal", "What is normal"),
            *((anchor, joint) for joint, anchor in place.items()),
            ("notes", "Notes"),
        ],
    )


def _lights(fleet: Fleet, found: list[Finding]) -> list[Light]:
    """Say whether joints differ from the fleet, from their own history, and change over time."""
    lights = []
    for about, tests, words_of in (
        ("Between arms", ("fleet",), "from the other arms"),
        ("Newest calibration", ("history",), "from the arm's earlier ones"),
        ("Over time", ("step", "trend"), "by a step or a trend"),
    ):
        tested = [one for one in fleet.findings if one.test in tests]
        some = {(one.arm, one.joint) for one in found if one.test in tests}
        if not tested:
            lights.append(Light(about, MIND, "Not tested: no arm has enough calibrations."))
        elif some:
            lights.append(
                Light(
                    about,
                    BAD,
                    f"{len(some)} joint{'s differ' if len(some) > 1 else ' differs'} {words_of}.",
                )
            )
        else:
            lights.append(Light(about, GOOD, f"No joint differs {words_of}."))
    return lights


def _where(fleet: Fleet, joint: str) -> str:
    """Speeds, loads and temperature at which a joint is compared."""
    one = fleet.populations[joint]
    angle = "m/s" if one.unit == "N" else "rad/s"
    loads = (
        "" if one.loads[0] == one.loads[1] else f", loads of {words.span(*one.loads, 3)} {one.unit}"
    )
    warm = "" if one.temperature is None else f", at {one.temperature:.0f} °C"
    return (
        f"Compared at {words.number(one.speeds[0], 2)} … {words.number(one.speeds[1], 2)} "
        f"{angle}{loads}{warm}."
    )


def _ranked(one: Finding, place: dict[str, str]) -> Ranked:
    per_year = " a year" if one.test == "trend" else ""
    return Ranked(
        one.arm,
        one.joint,
        place[one.joint],
        finding_place(one),
        f"{100.0 * one.effect:+.1f} %{per_year}".replace("-", "−"),
        f"{abs(one.deviations):.1f}",
        words.number(one.probability, 2),
        words.number(one.adjusted, 2),
        str(one.day),
    )


def _findings(fleet: Fleet) -> str:
    """All tests as CSV."""
    return pd.DataFrame([asdict(one) | {"found": one.found} for one in fleet.findings]).to_csv(
        index=False, float_format="%.6g"
    )
