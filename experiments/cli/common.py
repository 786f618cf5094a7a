"""What commands share: options, consoles, the progress bar."""

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from drivers import JointSample
    from experiments.plan import Plan, Segment
    from experiments.tracking import Watch

_PIPED_WIDTH = 130      # columns where nobody says how wide the paper is

ArmArgument = Annotated[str, typer.Argument(metavar="[ARM]", help="Arm file, URDF, MJCF, or the name of a built-in arm.")]
OutOption = Annotated[Path | None, typer.Option("--out", "-o", help="New folder for the results; default: after the arm's name.")]
SeedOption = Annotated[int, typer.Option(min=0, help="Seed of the order of speeds and of simulated noise.")]
JointsOption = Annotated[str | None, typer.Option(help="Joints to move, separated by commas; default all.")]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON object on standard output, all else on standard error.")]
YesOption = Annotated[bool, typer.Option("--yes", help="Move real hardware without asking.")]
LawOption = Annotated[str, typer.Option(help="Friction law (docs/theory.md), or auto: coulomb-viscous and stribeck compete.")]
LoadOption = Annotated[str, typer.Option(help="Load that friction grows with: none, torque, bending, normal, or auto.")]

MethodOption = Annotated[str, typer.Option(help="whole-arm: all joints at once; single: one joint at a time.")]
DirectionalOption = Annotated[str, typer.Option(help="How directions may differ: none, viscous (forward and backward), driving "
                                                     "(driving the load and being driven back by it), or auto.")]
BasisOption = Annotated[str, typer.Option(help="Torque as the drive reports it, or divided by its scale against gravity where "
                                               "that is identified (drive, gravity-corrected).")]


def console(to_stderr: bool = False) -> "Console":
    """Where text for people goes: standard error if standard output carries JSON."""
    from rich.console import Console

    found = Console(stderr=to_stderr, highlight=False, soft_wrap=True, markup=False)
    if found.is_terminal:
        return found
    return Console(stderr=to_stderr, highlight=False, soft_wrap=True, markup=False, width=_PIPED_WIDTH)


def print_json(table: dict[str, Any]) -> None:
    """One JSON object on standard output."""
    json.dump(table, sys.stdout, ensure_ascii=False, indent=1)
    sys.stdout.write("\n")


def split(text: str | None) -> tuple[str, ...] | None:
    """Names separated by commas."""
    if text is None:
        return None
    names = tuple(part.strip() for part in text.split(",") if part.strip())
    if not names:
        from ident.errors import InputError

        raise InputError(f"--joints {text!r} names no joint")
    return names


def fraction(text: str | None) -> float | None:
    """A part of one, from "5%" or "0.05"."""
    return _quantity(text, {"%": 0.01, "": 1.0}, "--target", "5% or 0.05, more than 0 and less than 100%", 1.0)


def seconds(text: str | None) -> float | None:
    """Time, from "10min", "90s" or "1h"."""
    return _quantity(text, {"min": 60.0, "s": 1.0, "h": 3600.0}, "--budget", "10min, 90s or 1h")


def _quantity(text: str | None, units: dict[str, float], option: str, allowed: str, limit: float = float("inf")) -> float | None:
    if text is None:
        return None
    found = re.fullmatch(r"\s*([0-9.]+)\s*([a-z%]*)\s*", text)
    try:
        value = float(found[1]) * units[found[2]] if found else 0.0
    except (ValueError, KeyError):
        value = 0.0
    if not 0.0 < value < limit:
        from ident.errors import InputError

        raise InputError(f"{option} {text!r} is no such value; give {allowed}")
    return value


@contextmanager
def progress(out: "Console", total: float, word: str, names: tuple[str, ...]) -> Iterator["Watch"]:
    """A progress bar over robot time; gives the function that the tracker calls."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    with Progress(TextColumn(f"{word:<9}"), BarColumn(bar_width=30), TaskProgressColumn(), TextColumn("{task.description}"),
                  TimeRemainingColumn(compact=True), TextColumn("left"), console=out, refresh_per_second=5,
                  transient=not out.is_terminal) as bar:
        task = bar.add_task("", total=max(total, 1e-9))

        def watch(segment: "Segment", sample: "JointSample", done: float) -> None:
            bar.update(task, completed=min(done, total), description=_motion(segment, sample, names))

        yield watch
        bar.update(task, completed=total, description="")


def _motion(segment: "Segment", sample: "JointSample", names: tuple[str, ...]) -> str:
    """What moves now, in a line of constant width."""
    if segment.joint is None:
        return f"{'to posture ' + str(segment.posture):<44}"
    way, tau = "back" if segment.mirror_of is not None else "forward", sample.tau[names.index(segment.joint)]
    who = f"all, {segment.joint}" if segment.kind == "sweep" else segment.joint
    return f"{who:<8} {segment.speed:7.3f} rad/s {way:<8} tau {tau:7.1f} N·m"


def agree(plan: "Plan", kind: str, yes: bool, out: "Console") -> None:
    """Ask before real hardware moves; a simulated arm needs no asking.

    Raises
    ------
    InputError
        If there is nobody to ask and ``--yes`` was not given.
    ArmStopped
        If the answer is no.
    """
    if kind == "simulated" or yes:
        return
    from drivers.errors import ArmStopped
    from ident.errors import InputError

    if not sys.stdin.isatty():
        raise InputError("real hardware moves without a terminal only with --yes")
    out.print(f"{plan.arm} will move for {plan.robot_time / 60.0:.0f} min. Is the space around it free, and a hand on the "
              "emergency stop?")
    if not typer.confirm("move"):
        raise ArmStopped("called off; nothing moved")
