"""Options and arguments that commands declare, with their help."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    pass

_SHORT = 14  # characters of values that the help shows in place of a name


def out_option(help: str) -> Any:
    """Return the option for an output path; an empty text, as of an unset variable,
    would mean the current folder.
    """

    def place(text: str) -> Path:
        if not text.strip():
            raise typer.BadParameter("the path is empty; use . for the current folder")
        return Path(text)

    return typer.Option("--out", "-o", parser=place, metavar="PATH", help=help)


def flag(*names: str, help: str) -> Any:
    """Return an option without a value."""
    return typer.Option(*names, metavar="", help=help)


def choice(*values: str, help: str) -> Any:
    """Return an option with a few allowed values, which the help shows and the shell completes.

    A wrong value is refused by the function that uses it.
    """
    shown = "|".join(values)
    return typer.Option(
        metavar=shown if len(shown) <= _SHORT else "NAME",
        autocompletion=lambda: list(values),
        help=help,
    )


GAINS = typer.Option(
    "--gains",
    metavar="J=KP,KD",
    help="With --rollout: torque per position error and per velocity of a joint's drive, or of all "
    "(default=KP,KD); a third number is that per velocity of the reference. Repeatable. Default: "
    "identified.",
)
ArmArgument = Annotated[
    str, typer.Argument(metavar="ARM", help="Arm file, URDF, MJCF, or the name of a built-in arm.")
]
OutOption = Annotated[
    Path | None, out_option("New folder for the results. Default: named after the arm.")
]
SerialOption = Annotated[
    str,
    typer.Option(
        metavar="TEXT", help="Serial number of the arm, if its arm file does not state it."
    ),
]
NoteOption = Annotated[
    str, typer.Option(metavar="TEXT", help="Text that is stored with runs and calibration.")
]
SeedOption = Annotated[
    int,
    typer.Option(metavar="N", min=0, help="Seed for the order of speeds and for simulated noise."),
]
JointsOption = Annotated[
    str | None,
    typer.Option(metavar="NAMES", help="Joints to move, separated by commas. Default: all."),
]
JsonOption = Annotated[
    bool,
    flag(
        "--json",
        help="Print one JSON object on standard output and everything else on standard error.",
    ),
]
VerboseOption = Annotated[
    bool, flag("--verbose", "-v", help="Print tables and notes beside the result, too.")
]
QuietOption = Annotated[bool, flag("--quiet", "-q", help="Print only where the files are.")]
YesOption = Annotated[bool, flag("--yes", help="Move real hardware without asking.")]
TargetOption = Annotated[
    str | None,
    typer.Option(
        metavar="PERCENT",
        help="Precision to reach, run after run: half width of the "
        "95 % band of each joint's friction, for example 5%.",
    ),
]
BudgetOption = Annotated[
    str | None,
    typer.Option(
        metavar="TIME", help="Robot time to spend over all runs, for example 10min or 90s."
    ),
]
LiveOption = Annotated[
    bool,
    flag(
        "--live",
        help="Show each joint as it moves: position, speed, torque, and its friction "
        "curve as it grows.",
    ),
]
RerunOption = Annotated[
    str | None,
    typer.Option(
        "--rerun",
        metavar="FILE",
        help="Save the live view for the Rerun viewer "
        "(.rrd), or open the viewer with --rerun view. Needs stribeck[rerun].",
    ),
]
MotionOption = Annotated[
    str,
    choice(
        "none",
        "model",
        "joint",
        help="Fit any motion instead of round trips. model: the rigid-body torque is the model's; "
        "joint: "
        "inertia and gravity of each joint are fitted, too.",
    ),
]
SignalOption = Annotated[
    str,
    choice(
        "torque",
        "commands",
        help="commands: without a torque signal, from the motion that the set-points of servos "
        "cause (logs "
        "imported with --servo).",
    ),
]
LawOption = Annotated[
    str,
    typer.Option(
        metavar="LAW",
        help="Friction law by name (docs/theory.md). With auto, all built-in laws compete.",
    ),
]
LoadOption = Annotated[
    str,
    choice(
        "auto",
        "none",
        "torque",
        "bending",
        "normal",
        "components",
        help="Load that friction grows with: auto, none, torque, "
        "bending, normal, or components (radial, axial and bending load, each with its own "
        "coefficient).",
    ),
]
MethodOption = Annotated[
    str,
    choice(
        "whole-arm",
        "single",
        help="whole-arm: all joints move together; single: one joint at a time.",
    ),
]
ExperimentOption = Annotated[
    str,
    choice(
        "round-trips",
        "validation",
        "warm-up",
        "excitation",
        "presliding",
        "lowest-speed",
        "breakaway",
        help="round-trips: strokes "
        "at constant speed, to be fitted; validation: a motion to judge a calibration by; "
        "warm-up: motion that heats, rests "
        "and heats, which shows friction over temperature; "
        "excitation: periodic motion that identifies links and friction; presliding: small round "
        "trips that show friction after "
        "reversals; lowest-speed: slower and slower until a joint sticks; breakaway: torque that "
        "grows until a joint moves.",
    ),
]
AfterOption = Annotated[
    Path | None,
    typer.Option(
        "--after",
        metavar="DIR",
        help="Campaign folder whose runs will be fitted together with the excitation, which then "
        "seeks "
        "parameters that these runs do not identify.",
    ),
]
DirectionalOption = Annotated[
    str,
    choice(
        "auto",
        "none",
        "viscous",
        "driving",
        help="Difference of friction between directions: auto, none, viscous (forward and "
        "backward) or driving (driving the load and being driven by it).",
    ),
]
MemoryOption = Annotated[
    str,
    choice(
        "auto",
        "any",
        "none",
        "relaxing",
        "dahl",
        "lugre",
        "two-states",
        "maxwell-slip",
        help="Memory of friction after reversals. "
        "auto: all kinds compete in presliding runs; any: in presliding runs, or else in all "
        "runs; none; or one kind.",
    ),
]
TemperatureOption = Annotated[
    str,
    choice(
        "auto",
        "any",
        "self-heating",
        "none",
        help="Friction over the temperature of the drives. auto: sought where temperature "
        "rises and falls, and without sensors where the arm rests between motion; any: wherever "
        "it varies; self-heating: over a "
        "state that friction heats, whatever sensors say; none.",
    ),
]
BacklashOption = Annotated[
    str,
    choice(
        "auto",
        "any",
        "none",
        help="Play between motor and link. auto: sought where the position of the link is logged "
        "(q_link); "
        "any: there, or else from the torque of the motor; none.",
    ),
]
InertiaOption = Annotated[
    str,
    choice(
        "auto",
        "fit",
        "trust",
        help="Inertia of the links. fit: identify it; trust: take the model's; auto: identify it "
        "in general "
        "motion where the torques contradict the model.",
    ),
]
DriftOption = Annotated[
    str,
    choice(
        "auto",
        "none",
        help="Drift of friction within a run. auto: estimated and removed where a joint has at "
        "least 12 round trips; "
        "none: only reported.",
    ),
]
RippleOption = Annotated[
    str,
    choice(
        "none",
        "auto",
        help="Torque that ripples with position, as harmonics of motor turn and gear. auto: "
        "found, and taken out of "
        "the samples where it is claimed; none: left in them.",
    ),
]
ConstantOption = Annotated[
    str,
    choice(
        "fit",
        "none",
        help="Constant part of friction levels that grow with a load. fit: beside the load's; "
        "none: friction is "
        "proportional to its load.",
    ),
]
BandwidthOption = Annotated[
    float | None,
    typer.Option(
        metavar="HZ",
        help="Bandwidth of the filter for general motion. Default: 20, or less if positions are "
        "coarse. A log with "
        "little noise and short strokes shows more with a higher bandwidth.",
    ),
]
LossOption = Annotated[
    str,
    choice(
        "auto",
        "huber",
        "squares",
        help="Weight of outlying round trips. huber: reduced; squares: full; auto: reduced where "
        "some "
        "round trips lie far from all others.",
    ),
]
BasisOption = Annotated[
    str,
    choice(
        "drive",
        "gravity-corrected",
        help="drive: torque as the drive reports it. With gravity-corrected the torque is divided "
        "by "
        "its scale against the model's gravity, where this scale is identified.",
    ),
]
