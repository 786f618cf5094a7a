"""What commands share: exit codes, the console, the question before real hardware moves."""

import json
import math
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from stribeck.experiments.cli.screen.console import Console
    from stribeck.experiments.plans.plan import Plan
    from stribeck.ident.arm.arm_file import ArmFile
    from stribeck.ident.model.mechanism import Mechanism

DONE, DIFFERS, BAD_INPUT, STOPPED = 0, 1, 2, 3  # exit codes


def console(as_json: bool = False, verbose: bool = False, quiet: bool = False) -> "Console":
    """Return the console for text: standard error if standard output carries JSON."""
    from stribeck.experiments.cli.screen.console import Detail, open_console

    if verbose and quiet:
        from stribeck.ident.errors import InputError

        raise InputError("--verbose and --quiet exclude each other; choose one")
    return open_console(
        Detail.ALL if verbose else Detail.FILES if quiet else Detail.RESULT, as_json
    )


def print_json(result: Mapping[str, Any], files: Iterable[Path | str]) -> None:
    """Print the result of a command and the paths of what it wrote as one JSON object, as
    data/schemas/ describes it.
    """
    json.dump(
        _finite({**result, "files": [str(path) for path in files]}),
        sys.stdout,
        ensure_ascii=False,
        indent=1,
    )
    sys.stdout.write("\n")


def _finite(value: Any) -> Any:
    """Return plain data in which null stands for numbers that are not finite;
    JSON has no such numbers.
    """
    if isinstance(value, Mapping):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def files_in(folder: Path) -> list[Path]:
    """Return all files below a folder."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def agree(
    plans: "list[Plan]", arm: "ArmFile", mechanism: "Mechanism", yes: bool, out: "Console"
) -> None:
    """Show the limits in force and the planned motion, and ask before real hardware moves; a
    simulated arm moves unasked.

    All of it is shown with --quiet, too.

    Raises
    ------
    InputError
        If there is no terminal for the question and `--yes` is not given.
    ArmStopped
        If the answer is no.
    """
    if arm.driver.kind == "simulated":
        return
    from stribeck.drivers.check import falling, limits_page, unguarded
    from stribeck.drivers.errors import ArmStopped
    from stribeck.experiments.cli.screen.plan_text import checked_against, motion_table
    from stribeck.experiments.cli.screen.tables import fitted
    from stribeck.experiments.cli.screen.text import clock, joint_page, position_units
    from stribeck.experiments.recording.drive_plan import approach
    from stribeck.experiments.recording.follow import TRIAL
    from stribeck.ident.errors import InputError

    out.files(
        "limits in force",
        fitted(joint_page(limits_page(arm, mechanism, arm.limits(mechanism))), out.width),
        sep="\n",
    )
    for note in filter(None, (falling(arm, plans[0].names), unguarded(arm))):
        out.files(f"note      {note}")
    out.files(fitted(motion_table(plans, arm, mechanism), out.width))
    start, time = (
        ", ".join(f"{value:.3g}" for value in plans[0].start),
        sum(plan.robot_time for plan in plans),
    )
    out.files(
        f"robot time {clock(time)}. First the arm moves straight from where it stands to {start}, "
        f"at {100 * approach(arm):.0f} % of its speed; each joint moves its first {TRIAL:g} "
        f"{position_units(mechanism)} at that speed. The motion is "
        f"{checked_against(arm, mechanism)}"
    )
    if yes:
        return

    if not sys.stdin.isatty():
        raise InputError(
            "there is no terminal to ask on; real hardware moves without a question only with --yes"
        )
    out.files("Is the space around the arm free, and is a hand on the emergency stop?")
    if not typer.confirm("move", err=True):
        raise ArmStopped("cancelled by the operator; nothing moves")
