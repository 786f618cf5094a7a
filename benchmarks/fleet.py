"""Simulated fleets: changed joints that are found, false discoveries, coverage of intervals.

`benchmarks.fleet_truth` makes the calibrations, without the package's estimators.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.fleet_truth import Truth, scatter, simulated
from benchmarks.page import Table
from stribeck import Fleet

HISTORY, ALONE = Truth(changed=0.03, size=0.15), Truth(days=1, changed=0.03, size=0.3)
FLEETS = {
    "reference: +15 % on the newest of five days": HISTORY,
    "reference: one day only, +30 %": ALONE,
    "reference, unchanged": Truth(),
    "one day only, unchanged": Truth(days=1),
    "1 % of joints changed, one day only, +30 %": replace(ALONE, changed=0.01),
    "15 % of joints changed, one day only, +30 %": replace(ALONE, changed=0.15),
    "two changed days of five": replace(HISTORY, after=2),
    "drift of 20 % a year over twelve months": Truth(arms=50, days=12, changed=0.03, drift=0.2),
    "10 arms, unchanged": Truth(arms=10),
    "10 arms, +15 % on the newest day": replace(HISTORY, arms=10),
    "10 arms, one day only, +30 %": replace(ALONE, arms=10),
    "5 arms, one day only, unchanged": Truth(arms=5, days=1),
    "one arm, six days, unchanged": Truth(arms=1, days=6),
    "one arm, six days, +15 % on the newest": Truth(arms=1, days=6, changed=0.1, size=0.15),
    "noise of 10 %, uneven by a factor of e": replace(HISTORY, noise=0.1, uneven=1.0),
    "two laws for the same friction": replace(HISTORY, laws=("coulomb-viscous", "stribeck")),
    "heavy tails between arms (t, 4 degrees of freedom)": replace(HISTORY, tails=4.0),
    "heavy tails, one day only, +30 %": replace(ALONE, tails=4.0),
}
GOALS = {"found": 0.95, "false": 0.10}
_NEW = 200  # new arms for the coverage of the prediction interval
_SMALL = 20  # arms below which there are more fleets
_MORE = 5


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument(
        "--seeds",
        type=int,
        default=20,
        help=f"number of fleets of a kind; {_MORE} times as many small ones",
    )
    parser.add_argument("--jobs", type=int, default=1, help="number of parallel processes")


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Judge all fleets."""
    cases = [
        (name, seed)
        for name, truth in FLEETS.items()
        for seed in range(1, options.seeds * (_MORE if truth.arms < _SMALL else 1) + 1)
    ]
    with ProcessPoolExecutor(options.jobs) as pool:
        rows = pd.DataFrame(list(pool.map(judged, *zip(*cases, strict=True))))
    figures = {name: summary(rows[rows["fleet"] == name]) for name in FLEETS}
    return {"fleets": figures}


def table(figures: dict[str, Any]) -> Table:
    """Return a row for each kind of fleet."""
    shares = ("found", "false_discovery_rate", "arms_covered", "new_covered")
    return Table(
        "Six joints, 200 arms, five days, 5 % between arms, 1.5 % between days, 2 % noise, 3 % of "
        f"the joints changed, unless a row says otherwise. Goals: {100.0 * GOALS['found']:g} % "
        f"found in both first rows, at most {100.0 * GOALS['false']:g} % false discoveries.",
        [
            "fleet",
            "found %",
            "false discovery rate %",
            "between arms covered %",
            "new arms in the prediction interval %",
        ],
        [
            [name, *(_percent(fleet[key]) for key in shares)]
            for name, fleet in figures["fleets"].items()
        ],
    )


def judged(name: str, seed: int) -> dict[str, Any]:
    """Compare one simulated fleet with its truth."""
    truth, rng = FLEETS[name], np.random.default_rng(seed)
    made = simulated(truth, rng)
    fleet = Fleet.of(made.calibrations)
    found = {(one.joint, one.arm) for one in fleet.findings if one.found}
    days, arms, new = [], [], []
    for joint, one in fleet.populations.items():
        whole = (
            truth.between_arms
            if truth.days > 1
            else np.hypot(truth.between_arms, truth.between_days)
        )
        if truth.arms > 1:
            arms.append(one.between_arms[1] <= whole <= one.between_arms[2])
        if truth.days > 1:
            days.append(one.between_days[1] <= truth.between_days <= one.between_days[2])
        level = made.friction(int(joint[1:]) - 1, one.speeds, one.loads) + scatter(
            truth, (_NEW,), rng
        )
        friction = np.exp(level + truth.between_days * rng.normal(size=_NEW))
        new.append(float(np.mean((one.normal[0] <= friction) & (friction <= one.normal[1]))))
    return {
        "fleet": name,
        "changed": len(made.changed),
        "hit": len(found & made.changed),
        "found": len(found),
        "false": len(found - made.changed),
        "arms": np.sum(arms),
        "arms_of": len(arms),
        "days": np.sum(days),
        "days_of": len(days),
        "new": float(np.mean(new)),
    }


def summary(rows: pd.DataFrame) -> dict[str, float]:
    """Return shares over the fleets of one kind."""
    total = rows.drop(columns="fleet").sum()
    share = (rows["false"] / rows["found"].clip(lower=1)).mean()
    return {
        "fleets": len(rows),
        "changed": int(total["changed"]),
        "found": _ratio(total["hit"], total["changed"]),
        "false_discovery_rate": float(share),
        "fleets_with_false": float((rows["false"] > 0).mean()),
        "arms_covered": _ratio(total["arms"], total["arms_of"]),
        "days_covered": _ratio(total["days"], total["days_of"]),
        "new_covered": float(rows["new"].mean()),
    }


def _ratio(part: float, whole: float) -> float:
    return float(part / whole) if whole else float("nan")


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100.0 * share:.1f}"
