"""The command calibrate: plan, move, record, fit and export."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stribeck.experiments.cli.command_options import (
    ArmArgument,
    BasisOption,
    BudgetOption,
    DirectionalOption,
    DriftOption,
    InertiaOption,
    JointsOption,
    JsonOption,
    LawOption,
    LiveOption,
    LoadOption,
    MethodOption,
    NoteOption,
    OutOption,
    QuietOption,
    RerunOption,
    RippleOption,
    SeedOption,
    SerialOption,
    TargetOption,
    VerboseOption,
    YesOption,
    flag,
)
from stribeck.experiments.cli.commands.plan_and_run import greet, show_plan
from stribeck.experiments.cli.common import agree, console
from stribeck.experiments.cli.option_texts import fraction, seconds, split
from stribeck.experiments.cli.screen.motion_view import check_view, motion_view

if TYPE_CHECKING:
    from stribeck.experiments.cli.screen.console import Console
    from stribeck.experiments.plans.plan import Plan
    from stribeck.ident.arm.arm_file import ArmFile


def calibrate(
    context: typer.Context,
    arm: ArmArgument = "lab6",
    out: OutOption = None,
    joints: JointsOption = None,
    seed: SeedOption = 0,
    law: LawOption = "auto",
    load: LoadOption = "auto",
    directional: DirectionalOption = "auto",
    torque_basis: BasisOption = "drive",
    drift: DriftOption = "auto",
    inertia: InertiaOption = "auto",
    ripple: RippleOption = "none",
    method: MethodOption = "whole-arm",
    repeats: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=1,
            help="Number of times the plan is run. The calibration then states the deviation "
            "between runs.",
        ),
    ] = 1,
    resume: Annotated[
        bool,
        flag(
            "--resume",
            help="Continue the campaign in --out with its original options. Finished round trips "
            "are not driven "
            "again.",
        ),
    ] = False,
    warm_up: Annotated[
        float,
        typer.Option(
            min=0.0,
            metavar="MINUTES",
            help="Longest motion before each run, until friction settles. Less than 3 minutes "
            "cannot "
            "show whether it has settled.",
        ),
    ] = 0.0,
    lowest_speed: Annotated[
        bool | None,
        typer.Option(
            metavar="",
            help="First find the lowest speed that each velocity loop holds. Default: only on "
            "hardware.",
        ),
    ] = None,
    breakaway: Annotated[
        bool,
        flag(
            "--breakaway",
            help="Measure the breakaway torque of each joint last. Needs drives with a torque "
            "mode.",
        ),
    ] = False,
    target: TargetOption = None,
    budget: BudgetOption = None,
    serial: SerialOption = "",
    note: NoteOption = "",
    live: LiveOption = False,
    rerun: RerunOption = None,
    yes: YesOption = False,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Plan, move, record, fit, export and report: the main job."""
    from dataclasses import fields

    from stribeck.experiments.calibrate import Operator
    from stribeck.experiments.calibrate import calibrate as calibrate_arm
    from stribeck.experiments.campaign_options import CampaignOptions, begun_with
    from stribeck.experiments.cli.commands.fit import delivered
    from stribeck.experiments.cli.screen.text import clock
    from stribeck.ident.arm.arm_file import load_arm
    from stribeck.ident.arm.load_mechanism import load_mechanism
    from stribeck.ident.errors import InputError, unknown_name
    from stribeck.ident.fit.joint.options import Options
    from stribeck.ident.log.run import ARM, BREAKAWAY, FIT, LOWEST_SPEED, WARM_UP

    text = console(as_json, verbose, quiet)
    check_view(text, live, rerun)
    named, aim, longest = split(joints), fraction(target), seconds(budget)
    arm_file = load_arm(arm)
    for name in named or ():
        if name not in (names := load_mechanism(arm_file).names):
            raise unknown_name("joint", name, names)
    folder = out or Path(f"calibration-{arm_file.name}")
    if folder.exists() or not resume:
        arm_file = _assumed(text, arm_file, folder, resume)
    mechanism = load_mechanism(arm_file)
    search = arm_file.driver.kind != "simulated" if lowest_speed is None else lowest_speed
    asked: dict[str, Any] = {
        "joints": named,
        "seed": seed,
        "method": method,
        "repeats": repeats,
        "search": search,
        "breakaway": breakaway,
        "warm_up": 60.0 * warm_up,
        "target": aim,
        "budget": longest,
        "law": law,
        "load": load,
        "directional": directional,
        "torque_basis": torque_basis,
        "drift": drift,
        "inertia": inertia,
        "ripple": ripple,
        "serial": serial,
        "note": note,
    }
    if resume:
        stated, begun = _stated(context), begun_with(folder)
        if not begun and not stated & asked.keys():
            raise InputError(
                f"{folder} does not hold the options of its campaign; state them again, or start a "
                "new campaign with another --out"
            )
        asked |= {
            name: value for name, value in begun.items() if name in asked and name not in stated
        }
    of_fit = Options(
        **{field.name: asked.pop(field.name) for field in fields(Options) if field.name in asked}
    )
    options = CampaignOptions(fit=of_fit, **asked)
    if options.repeats > 1 and options.refining:
        raise InputError(
            "--repeats runs the same plan several times; --target and --budget change the plan "
            "from run to run. Choose one of them"
        )
    greet(text, arm_file, mechanism, folder)

    def shown_and_agreed(made: "list[Plan]") -> None:
        if not made:
            text.print("plan      all round trips are recorded already; nothing moves")
            return
        runs = [one for one in made if one.purpose == FIT]
        if runs:
            show_plan(text, runs[0], arm_file, mechanism)
        if len(runs) > 1:
            text.print(
                f"repeats   {len(runs)} runs, {clock(sum(one.robot_time for one in runs))} of "
                "robot time"
            )
        purposes = {one.purpose for one in made}
        if LOWEST_SPEED in purposes:
            text.print(
                "lowest    first: search for the lowest speed that each joint holds; slower "
                "strokes are left out"
            )
        if BREAKAWAY in purposes:
            text.print(
                "breakaway last: the torque of each joint grows until the joint moves, in several "
                "postures"
            )
        if WARM_UP in purposes:
            text.print(
                f"warm-up   before each run: motion around home until friction settles, at most "
                f"{options.warm_up / 60.0:g} min"
            )
        agree(made, arm_file, mechanism, yes, text)

    operator = Operator(
        shown_and_agreed,
        lambda made: motion_view(
            text, made, folder, mechanism, live, rerun, " and --resume goes on"
        ),
        lambda heading, sentence: text.print(f"{heading:<9} {sentence}"),
    )
    delivered(
        text,
        calibrate_arm(arm_file, folder, options, operator, resume),
        folder,
        as_json,
        recorded=True,
    )
    if arm_file.assumed:
        text.print(
            "assumed   this is the friction of a simulated arm with assumed parameters, not of "
            f"your arm; the assumptions are in {folder / ARM / arm_file.path.name}"
        )


def _assumed(text: "Console", given: "ArmFile", folder: Path, resume: bool) -> "ArmFile":
    """Return a simulated arm for a bare model or for an arm file without limits; print the
    assumptions before it moves.
    """
    from stribeck.experiments.arm_files.assumed_arm import assumed_arm, completed_arm
    from stribeck.experiments.recording.run_folders import refuse_used

    if not resume:
        refuse_used(folder, "choose another --out, or continue its campaign with --resume")
    bare = given.path.suffix.lower() != ".toml"
    arm = assumed_arm(given.model, folder) if bare else completed_arm(given, folder)
    if arm is not given:
        text.print(
            f"assumed   {'no arm file is given: ' * bare}{given.path.name} is simulated; no "
            "hardware moves"
        )
        for sentence in arm.assumed:
            text.print(f"assumed   {sentence}")
    return arm


def _stated(context: typer.Context) -> set[str]:
    """Return the options that the command line states, by their names in `CampaignOptions`."""
    sources = {
        "search" if name == "lowest_speed" else name: context.get_parameter_source(name)
        for name in context.params
    }
    return {name for name, source in sources.items() if source and source.name != "DEFAULT"}
