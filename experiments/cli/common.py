"""What commands share: options, consoles, agreement."""

import json
import os
import re
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from stribeck.experiments.plans.plan import Plan
    from stribeck.ident.arm.arm_file import ArmFile
    from stribeck.ident.model.mechanism import Mechanism

DONE, DIFFERS, BAD_INPUT, STOPPED = 0, 1, 2, 3       # exit codes
_PIPED_WIDTH = 130      # columns where nobody says how wide the paper is
_INDENT, _LABELLED = 10, re.compile(r"[a-z ]{9} \S")        # note      of what
_WHOLE = "next", "wrote", "guess"


def out_option(help: str) -> Any:
    """Option for a place to write at; an empty text, as of a variable that is not set, would be the present folder."""
    def place(text: str) -> Path:
        if not text.strip():
            raise typer.BadParameter("a place is needed; . is the present folder")
        return Path(text)

    return typer.Option("--out", "-o", parser=place, metavar="PATH", help=help)


ArmArgument = Annotated[str, typer.Argument(metavar="[ARM]", help="Arm file, URDF, MJCF, or the name of a built-in arm.")]
OutOption = Annotated[Path | None, out_option("New folder for the results; default: after the arm's name.")]
SeedOption = Annotated[int, typer.Option(min=0, help="Seed of the order of speeds and of simulated noise.")]
JointsOption = Annotated[str | None, typer.Option(help="Joints to move, separated by commas; default all.")]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON object on standard output, all else on standard error.")]
YesOption = Annotated[bool, typer.Option("--yes", help="Move real hardware without asking.")]
TargetOption = Annotated[str | None, typer.Option(help="Precision to reach, run after run: half width of the 95 % band of each "
                                                       "joint's friction, as 5%.")]
BudgetOption = Annotated[str | None, typer.Option(help="Robot time to spend in all, run after run, as 10min or 90s.")]
LiveOption = Annotated[bool, typer.Option("--live", help="Show each joint as it moves: position, speed, torque, the growing "
                                          "friction curve.")]
RerunOption = Annotated[str | None, typer.Option("--rerun", metavar="FILE", help="Keep what --live shows for the Rerun "
                                               "viewer (.rrd), or view to open it; needs stribeck[rerun].")]
LawOption = Annotated[str, typer.Option(help="Friction law by name (docs/theory.md), or auto: those of the toolkit compete.")]
LoadOption = Annotated[str, typer.Option(help="Load that friction grows with: none, torque, bending, normal, components (radial, "
                                          "axial and bending, each with a coefficient), or auto.")]

MethodOption = Annotated[str, typer.Option(help="whole-arm: all joints at once; single: one joint at a time.")]
ExperimentOption = Annotated[str, typer.Option(help="round-trips, which are fitted, by --method; validation: a motion to "
                                                    "judge a calibration by; warm-up: until friction settles; "
                                                    "excitation: periodic motion of all joints that tells most of links and "
                                                    "friction; lowest-speed: slower and slower, until a joint sticks; "
                                                    "breakaway: torque that grows until a joint moves.")]
AfterOption = Annotated[Path | None, typer.Option("--after", help="Campaign folder whose runs the excitation is to be fitted "
                                                  "with: what they tell already is not sought once more.")]
DirectionalOption = Annotated[str, typer.Option(help="How directions may differ: none, viscous (forward and backward), driving "
                                                     "(driving the load and being driven back by it), or auto.")]
InertiaOption = Annotated[str, typer.Option(help="Of the links: fit, trust the model's, or auto: fit with --motion model where "
                                                 "the torques contradict it.")]
DriftOption = Annotated[str, typer.Option(help="Drift of friction over a single run: fitted along and so taken out where there "
                                           "are 12 round trips (auto), or only reported (none).")]
LossOption = Annotated[str, typer.Option(help="Round trips that went wrong count less (huber), or as all others (squares); auto: "
                                              "less where some lie far off all others.")]
BasisOption = Annotated[str, typer.Option(help="Torque as the drive reports it, or divided by its scale against gravity where "
                                               "that is identified (drive, gravity-corrected).")]


def console(to_stderr: bool = False) -> "Console":
    """Where text for people goes: standard error if standard output carries JSON."""
    import rich.console

    class Console(rich.console.Console):
        def print(self, *objects: Any, **options: Any) -> None:
            """Sentences break between words in a terminal, which itself would break them anywhere."""
            parts = (hanging(part, self.width) if self.is_terminal and isinstance(part, str) else part for part in objects)
            super().print(*parts, **options)

        def on_broken_pipe(self) -> None:
            """Nobody reads on, as behind `head`; what is done is done all the same."""
            self.quiet = True
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    found = Console(stderr=to_stderr, highlight=False, soft_wrap=True, markup=False)
    if found.is_terminal:
        return found
    return Console(stderr=to_stderr, highlight=False, soft_wrap=True, markup=False, width=_PIPED_WIDTH)


def hanging(text: str, width: int) -> str:
    """Lines no longer than the paper, those of a sentence behind its word indented; commands and paths stay as they are."""
    return "\n".join(line if len(line) <= width or line.startswith(_WHOLE) else textwrap.fill(
        line, max(width, 2 * _INDENT), subsequent_indent=" " * (_INDENT * bool(_LABELLED.match(line))), break_long_words=False,
        break_on_hyphens=False) for line in text.split("\n"))


def print_json(table: dict[str, Any]) -> None:
    """One JSON object on standard output."""
    json.dump(table, sys.stdout, ensure_ascii=False, indent=1)
    sys.stdout.write("\n")


def split(text: str | None) -> tuple[str, ...] | None:
    """Names separated by commas."""
    if text is None:
        return None
    from stribeck.ident.errors import InputError

    names = tuple(part.strip() for part in text.split(",") if part.strip())
    if not names:
        raise InputError(f"--joints {text!r} names no joint")
    if twice := [name for k, name in enumerate(names) if name in names[:k]]:
        raise InputError(f"--joints {text!r} names {twice[0]} twice")
    return names


def fraction(text: str | None) -> float | None:
    """A part of one, from "5%" or "0.05"."""
    allowed = "5% or 0.05, more than 0 and less than 100%"
    return None if text is None else _quantity(text, {"%": 0.01, "": 1.0}, "--target", allowed, 1.0)


def seconds(text: str | None) -> float | None:
    """Time, from "10min", "90s" or "1h"."""
    return None if text is None else time_of(text, "--budget")


def time_of(text: str, option: str) -> float:
    """Time [s], from "10min", "90s" or "1h"."""
    return _quantity(text, {"min": 60.0, "s": 1.0, "h": 3600.0}, option, "10min, 90s or 1h")


def _quantity(text: str, units: dict[str, float], option: str, allowed: str, limit: float = float("inf")) -> float:
    found = re.fullmatch(r"\s*([0-9.]+)\s*([a-z%]*)\s*", text)
    try:
        value = float(found[1]) * units[found[2]] if found else 0.0
    except (ValueError, KeyError):
        value = 0.0
    if not 0.0 < value < limit:
        from stribeck.ident.errors import InputError

        raise InputError(f"{option} {text!r} is no such value; give {allowed}")
    return value


def agree(plans: "list[Plan]", arm: "ArmFile", mechanism: "Mechanism", yes: bool, out: "Console") -> None:
    """Show the limits in force and what will move, and ask before real hardware moves; a simulated arm needs no asking.

    Raises
    ------
    InputError
        There is no terminal to ask on and `--yes` was not given.
    ArmStopped
        The answer is no.
    """
    if arm.driver.kind == "simulated":
        return
    from stribeck.drivers.check import falling, limits_page, unguarded
    from stribeck.drivers.errors import ArmStopped
    from stribeck.experiments.cli.screen.tables import fitted
    from stribeck.experiments.cli.screen.text import checked_against, clock, joint_page, motion_table, position_units
    from stribeck.experiments.recording.drive_plan import approach
    from stribeck.experiments.recording.follow import TRIAL
    from stribeck.ident.errors import InputError

    out.print("limits in force", fitted(joint_page(limits_page(arm, mechanism, arm.limits(mechanism))), out.width), sep="\n")
    for note in filter(None, (falling(arm, plans[0].names), unguarded(arm))):
        out.print(f"note      {note}")
    out.print(fitted(motion_table(plans, arm, mechanism), out.width))
    start, time = ", ".join(f"{value:.3g}" for value in plans[0].start), sum(plan.robot_time for plan in plans)
    out.print(f"in {clock(time)} of robot time, after the straight way from where the arm stands to {start}, at "
              f"{100 * approach(arm):.0f} % of its speed, at which each joint goes its first {TRIAL:g} "
              f"{position_units(mechanism)}; {checked_against(arm, mechanism)}")
    if yes:
        return

    if not sys.stdin.isatty():
        raise InputError("real hardware moves without a terminal only with --yes")
    out.print("Is the space around it free, and a hand on the emergency stop?")
    if not typer.confirm("move", err=True):
        raise ArmStopped("called off; nothing moves from here on")
