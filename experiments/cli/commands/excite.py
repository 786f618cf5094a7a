"""Options and console output of `plan` and `run` that belong to the excitation experiment."""

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table

from stribeck.experiments.cli.option_texts import seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from stribeck.experiments.excitation.expected import Told
    from stribeck.experiments.plans.plan import Plan
    from stribeck.ident.arm.arm_file import ArmFile
    from stribeck.ident.log.run import Run

SEEKING = "design    searching for the most informative motion; this takes about a minute"
_LEAST, _MOST = 8.0, 1800.0  # s of robot time
_SHOWN = 6  # base parameters


def time_of(experiment: str, budget: str | None) -> float | None:
    """Return the time of an experiment [s] for a budget of robot time; None without a
    budget, or if it takes none.
    """
    from stribeck.ident.log.run import EXCITATION, WARM_UP

    return (
        motion_time(budget)
        if experiment == EXCITATION
        else seconds(budget)
        if experiment == WARM_UP
        else None
    )


def motion_time(budget: str | None) -> float | None:
    """Return the time of the motion [s] for a budget of robot time such as 60s or 2min.

    The budget includes the rests before and after the motion.
    """
    from stribeck.experiments.plans.motion_profile import DWELL
    from stribeck.ident.errors import InputError

    whole = seconds(budget)
    if whole is None:
        return None
    if not _LEAST <= whole <= _MOST:
        raise InputError(
            f"--budget {budget}: excitation needs between {_LEAST:g} s and {_MOST / 60.0:g} min "
            "of robot time"
        )
    return whole - 2.0 * DWELL


def runs_before(after: Path | None, arm: "ArmFile", experiment: str) -> "list[Run]":
    """Load the runs of the earlier campaign that the excitation complements."""
    from stribeck.ident.errors import InputError
    from stribeck.ident.log.campaign_folder import find_runs
    from stribeck.ident.log.run import BREAKAWAY, EXCITATION, FITTED, arm_sha256, load_run

    if after is None:
        return []
    if experiment != EXCITATION:
        raise InputError(
            f"--after works only with --experiment excitation; leave it out with {experiment}"
        )
    runs = [
        run for path in find_runs(after, FITTED) if (run := load_run(path)).purpose != BREAKAWAY
    ]
    for run in runs:
        if arm_sha256(run.arm, "tool") != arm_sha256(arm, "tool"):
            raise InputError(
                f"{run.path} was recorded with another arm file or model than {arm.path}, and more "
                "than the tool differs; this run cannot be fitted together with the excitation"
            )
    return runs


def show_told(
    text: "Console", plan: "Plan", arm: "ArmFile", known: "Sequence[Run]"
) -> dict[str, Any]:
    """Print the expected information of an excitation plan, and return it as data for `--json`."""
    from stribeck.experiments.cli.screen.tables import fitted
    from stribeck.experiments.methods.excitation_motion import foretold

    told, room = foretold(plan, arm, known)
    inside = ", ".join(
        f"{kind} {100.0 * part:.1f} % ({joint})" for kind, (joint, part) in room.items()
    )
    text.print(
        f"room      free share of each limit after its margin, for the tightest joint: {inside}"
    )
    beyond = (
        f" in addition to the {told.earlier:.0f} nat of {len(known)} earlier runs" if known else ""
    )
    condition = (
        f"{told.condition:.3g}"
        if math.isfinite(told.condition)
        else "infinite, some parameters have no effect"
    )
    text.print(
        f"gain      {told.gain:.0f} nat of information about base parameters and friction{beyond}, "
        f"{told.gain / plan.robot_time:.2f} nat/s; condition number of the base regressor "
        f"{condition}; {told.count} of {len(told.base)} base parameters become identifiable"
    )
    text.print(fitted(friction_table(told), text.width))
    best = sorted(told.base.items(), key=lambda one: one[1][1])
    words = "; ".join(
        f"{name.partition(' ')[0]}{' and others' * (' ' in name)} ± {width:.2g}"
        for name, (width, _) in best[:_SHOWN]
    )
    text.print(f"base      most accurate base parameters (95 % interval): {words}")
    return {
        "gain_nat": round(told.gain, 3),
        "earlier_nat": round(told.earlier, 3),
        "condition": round(told.condition, 4),
        "room": {
            kind: {"joint": joint, "free": round(part, 6)} for kind, (joint, part) in room.items()
        },
        "base": {
            name: {"half_width": width, "of_prior": part}
            for name, (width, part) in told.base.items()
        },
        "friction": [asdict(one) for one in told.friction],
    }


def friction_table(told: "Told") -> Table:
    """Return a table of the expected 95 % half widths of every joint's friction, in per cent."""
    table = Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        title_justify="left",
        title_style="",
        title="expected 95 % intervals (± %), if friction grows with the transmitted torque",
    )
    for heading in (
        "joint",
        "friction",
        "Coulomb",
        "static",
        "w_s",
        "viscous",
        "Coulomb/load",
        "passes between reversals",
    ):
        table.add_column(heading, justify="left" if heading == "joint" else "right")
    for one in told.friction:
        table.add_row(
            one.joint,
            *(f"{100.0 * value:.1f}" for value in (one.friction, *one.parameters.values())),
            str(one.round_trips),
        )
    return table
