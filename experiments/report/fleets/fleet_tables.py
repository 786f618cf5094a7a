"""A fleet in words and as plain data."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stribeck.experiments.report.comparison import PAGE, PLOTS
from stribeck.experiments.report.words import number
from stribeck.ident.errors import InputError
from stribeck.ident.fleet.findings import FALSE, Finding
from stribeck.ident.fleet.fleet import Fleet, JointPopulation, Membership
from stribeck.ident.fleet.joint_levels import moment
from stribeck.ident.whole_files import whole, write_whole

_RANKED = 5  # joints in the ranking of the terminal
_WORDS = {
    "fleet": "from the fleet",
    "history": "from its own history",
    "step": "by a step",
    "trend": "a year",
}


def population_rows(fleet: Fleet) -> Iterator[tuple[str, ...]]:
    """Yield a row of text for each joint: friction, scatter between arms, between days and
    within, and the normal range.
    """
    for joint, one in fleet.populations.items():
        yield (
            joint,
            f"{number(one.friction)} {one.unit}",
            _percent(one.between_arms),
            _percent(one.between_days),
            f"{100.0 * one.within:.1f} %",
            f"{number(one.normal[0])} … {number(one.normal[1])}",
        )


def heading(fleet: Fleet) -> str:
    """One line: arms, calibrations, dates, and where friction is compared."""
    arms, dates = (
        len(set(fleet.arms.values())),
        sorted(moment(one).date() for one in fleet.calibrations.values()),
    )
    return (
        f"{fleet.arm}: {arms} arm{'s' * (arms != 1)}, {len(fleet.calibrations)} calibrations, "
        f"{fleet.days / arms:.3g} days an arm on average, {dates[0]} to {dates[-1]}"
    )


def verdicts(fleet: Fleet) -> Iterator[str]:
    """Yield labelled lines: how many joints differ, the ranking, what
    changes over time, and notes.
    """
    found = [one for one in fleet.findings if one.found]
    tested = {(one.arm, one.joint) for one in fleet.findings}
    firsts = _firsts(found)
    newest = {one.calibration for one in fleet.findings if one.test == "history"}
    yield (
        f"differs   {len(firsts)} of {len(tested)} joints of arms; of those that are found at most "
        f"{100.0 * FALSE:g} % are chance, on average, if arms scatter normally"
    )
    for rank, one in enumerate(firsts[:_RANKED], start=1):
        yield f"{rank:<9} {finding_words(one)}"
    if len(firsts) > _RANKED:
        yield f"more      {len(firsts) - _RANKED} joints in --json and --out"
    for test, label in (("step", "steps"), ("trend", "trends")):
        moving = [
            one
            for one in found
            if one.test == test and (test == "trend" or one.calibration not in newest)
        ]
        if moving:
            more = f", and {len(moving) - 3} more" if len(moving) > 3 else ""
            yield f"{label:<9} " + "; ".join(_moving_words(one) for one in moving[:3]) + more
    for note in (*fleet.apart, *fleet.notes):
        yield f"note      {note}"


def finding_words(one: Finding) -> str:
    """One finding: arm, joint, difference, and how improbable it is."""
    return (
        f"{one.arm} {one.joint}: {100.0 * one.effect:+.0f} % {_WORDS[one.test]}, "
        f"{abs(one.deviations):.1f} deviations, {one.day}"
    )


def finding_place(one: Finding) -> str:
    """Return against what a finding differs."""
    return "trend" if one.test == "trend" else _WORDS[one.test]


def _moving_words(one: Finding) -> str:
    return f"{one.arm} {one.joint} {100.0 * one.effect:+.0f} %" + (
        f" from {one.day} on" if one.test == "step" else " a year"
    )


def _firsts(found: list[Finding]) -> list[Finding]:
    """Return the most improbable finding of each joint of each arm."""
    firsts: dict[tuple[str, str], Finding] = {}
    for one in found:
        firsts.setdefault((one.arm, one.joint), one)
    return list(firsts.values())


def _percent(deviation: tuple[float, float, float]) -> str:
    middle, low, high = (100.0 * one for one in deviation)
    return "–" if middle != middle else f"{middle:.1f} % ({low:.1f} … {high:.1f})"


def fleet_table(fleet: Fleet) -> dict[str, Any]:
    """Convert a fleet to plain data for JSON."""
    frame = fleet.to_dataframe().astype({"created": str})
    return {
        "changed": fleet.differs,
        "arm": fleet.arm,
        "arms": len(set(fleet.arms.values())),
        "days": fleet.days,
        "joints": {joint: _population(one) for joint, one in fleet.populations.items()},
        "findings": [
            {
                "arm": one.arm,
                "joint": one.joint,
                "calibration": one.calibration,
                "test": one.test,
                "effect": one.effect,
                "deviations": one.deviations,
                "probability": one.probability,
                "adjusted": one.adjusted,
                "found": one.found,
                "day": str(one.day),
            }
            for one in fleet.findings
        ],
        "calibrations": frame.to_dict("records"),
        "not_compared": list(fleet.apart),
        "notes": list(fleet.notes),
    }


def _population(one: JointPopulation) -> dict[str, Any]:
    names = (
        "friction",
        "between_arms",
        "between_days",
        "within",
        "normal",
        "unit",
        "speeds",
        "loads",
        "temperature",
    )
    return {name: getattr(one, name) for name in names}


def membership_lines(path: str, found: dict[str, Membership]) -> Iterator[str]:
    """Yield a labelled line for each joint and the verdict of the fleet on a calibration."""
    for joint, one in found.items():
        yield (
            f"fleet     {path}: {joint} {number(one.friction)} {one.unit}, normal "
            f"{number(one.normal[0])} … "
            f"{number(one.normal[1])}: {'in family' if one.inside else 'out of family'}"
        )
    outside = [joint for joint, one in found.items() if not one.inside]
    said = (
        "no joint can be judged"
        if not found
        else f"out of family: {', '.join(outside)}"
        if outside
        else "all joints in family"
    )
    yield f"family    {path}: {said}"


def membership_table(found: dict[str, Membership]) -> dict[str, Any]:
    """Convert the verdict of a fleet on a calibration to plain data for JSON."""
    return {
        joint: {
            "friction": one.friction,
            "normal": list(one.normal),
            "probability": one.probability,
            "unit": one.unit,
            "inside": one.inside,
        }
        for joint, one in found.items()
    }


def write_fleet(fleet: Fleet, target: Path) -> None:
    """Write a table (.csv) with a row for each joint of each calibration, or a picture.

    Raises
    ------
    InputError
        If the file exists, or its suffix is another.
    """
    if target.suffix.lower() not in (".csv", *PLOTS):
        raise InputError(
            f"{target}: unknown format {target.suffix!r}; the file name must end in "
            f"{', '.join((PAGE, '.csv', *PLOTS))}"
        )
    if target.exists():
        raise InputError(f"{target} exists; choose another --out")
    if target.suffix.lower() == ".csv":
        write_whole(target, fleet.to_dataframe().to_csv(index=False, float_format="%.6g"))
        return
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    with whole(target) as part:
        FigureCanvasAgg(fleet.plot()).print_figure(str(part))
