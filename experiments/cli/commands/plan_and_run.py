"""Commands that plan or move without fitting: plan, run."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stribeck.experiments.cli.command_options import (
    AfterOption,
    ArmArgument,
    BudgetOption,
    ExperimentOption,
    JointsOption,
    JsonOption,
    LiveOption,
    MethodOption,
    NoteOption,
    OutOption,
    QuietOption,
    RerunOption,
    SeedOption,
    SerialOption,
    TargetOption,
    VerboseOption,
    YesOption,
    out_option,
)
from stribeck.experiments.cli.commands.small_trips import (
    AmplitudesOption,
    PlacesOption,
    show_left_out,
    small_trips,
)
from stribeck.experiments.cli.common import agree, console, files_in, print_json
from stribeck.experiments.cli.option_texts import fraction, seconds, split
from stribeck.experiments.cli.screen.motion_view import check_view, motion_view

if TYPE_CHECKING:
    from stribeck.experiments.cli.screen.console import Console
    from stribeck.experiments.plans.plan import Plan
    from stribeck.ident.arm.arm_file import ArmFile
    from stribeck.ident.model.mechanism import Mechanism


def plan(
    arm: ArmArgument = "lab6",
    out: Annotated[
        Path | None,
        out_option(
            "File for the plan: .toml, or, for an arm that other software drives, .csv "
            "(set-points at the driver's rate) or .json (ROS 2 JointTrajectory)."
        ),
    ] = None,
    joints: JointsOption = None,
    seed: SeedOption = 0,
    method: MethodOption = "whole-arm",
    experiment: ExperimentOption = "round-trips",
    target: TargetOption = None,
    budget: BudgetOption = None,
    after: AfterOption = None,
    amplitudes: AmplitudesOption = None,
    places: PlacesOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show the motion, robot time, load spread and expected intervals; moves nothing."""
    from dataclasses import asdict

    from stribeck.drivers.connect import check_kind
    from stribeck.experiments.cli.commands.excite import SEEKING, runs_before, show_told, time_of
    from stribeck.experiments.cli.screen.plan_text import checked_against, forecast_table
    from stribeck.experiments.cli.screen.tables import fitted
    from stribeck.experiments.exporters.plan_export import plan_writer
    from stribeck.experiments.methods.refine import first_goal
    from stribeck.experiments.methods.registry import ROUND_TRIPS, TIMED, plan_experiment
    from stribeck.experiments.methods.small_round_trips import planned_amplitudes
    from stribeck.experiments.plans.constant_speed_options import TARGET
    from stribeck.experiments.plans.forecast import load_spread
    from stribeck.ident.arm.arm_file import load_arm
    from stribeck.ident.arm.load_mechanism import load_mechanism
    from stribeck.ident.errors import InputError
    from stribeck.ident.log.run import EXCITATION, PRESLIDING

    text = console(as_json, True, quiet)
    if out and out.exists():
        raise InputError(f"{out} exists; choose another --out")
    write = plan_writer(out) if out else None
    arm_file = load_arm(arm)
    check_kind(arm_file)
    mechanism = load_mechanism(arm_file)
    excites, timed = experiment == EXCITATION, experiment in TIMED
    wanted = fraction(target), None if timed else seconds(budget)
    if any(wanted) and experiment != ROUND_TRIPS:
        given = "--target is" if timed else "--target and --budget are"
        raise InputError(
            f"{given} for round trips; leave {'it' if timed else 'them'} out with --experiment "
            f"{experiment}"
        )
    goal = first_goal(*wanted) if any(wanted) else None
    known, small = (
        runs_before(after, arm_file, experiment),
        small_trips(amplitudes, places, experiment),
    )
    if excites:
        text.print(SEEKING)
    made = plan_experiment(
        experiment,
        method,
        arm_file,
        split(joints),
        seed,
        goal,
        time_of(experiment, budget),
        known,
        small,
    )
    show_plan(text, made, arm_file, mechanism)
    further: dict[str, Any] = show_told(text, made, arm_file, known) if excites else {}
    if made.purpose == PRESLIDING:
        show_left_out(text, made, mechanism, small)
        further = {"amplitudes": planned_amplitudes(made)}
    if goal:
        text.print(
            "further   stribeck calibrate plans each later run from the results of the runs "
            "before it"
        )
    if made.predicted and not excites:
        text.print(fitted(forecast_table(made, TARGET), text.width))
    if out and write:
        write(made, out, arm_file)
        # stribeck asks nobody before other software moves the arm
        if out.suffix.lower() in (".csv", ".json"):
            text.print(f"note      {checked_against(arm_file, mechanism)}")
        text.files(f"wrote     {out}")
    if as_json:
        print_json(
            {
                "robot_time_s": round(made.robot_time, 3),
                "segments": len(made.segments),
                "method": made.method,
                "load_spread": {
                    joint: {kind: list(ends) for kind, ends in loads.items()}
                    for joint, loads in load_spread(made, mechanism).items()
                },
                "predicted": [asdict(told) for told in made.predicted],
                **further,
                **(
                    {"lowered": [asdict(slower) for slower in made.lowered]} if made.lowered else {}
                ),
                **(
                    {}
                    if made.singular_margin is None
                    else {"singular_margin": made.singular_margin}
                ),
            },
            [out] if out else [],
        )


def run(
    arm: ArmArgument = "lab6",
    plan: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Plan file. Default: a new plan.")
    ] = None,
    out: OutOption = None,
    joints: JointsOption = None,
    seed: SeedOption = 0,
    method: MethodOption = "whole-arm",
    experiment: ExperimentOption = "round-trips",
    budget: BudgetOption = None,
    after: AfterOption = None,
    amplitudes: AmplitudesOption = None,
    places: PlacesOption = None,
    serial: SerialOption = "",
    note: NoteOption = "",
    live: LiveOption = False,
    rerun: RerunOption = None,
    yes: YesOption = False,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Move and record, without fitting."""
    from dataclasses import asdict

    from stribeck.drivers.connect import connect
    from stribeck.experiments.cli.commands.excite import SEEKING, runs_before, show_told, time_of
    from stribeck.experiments.methods.lowest_speed_search import lowest_sentence
    from stribeck.experiments.methods.registry import (
        DEFAULT,
        ROUND_TRIPS,
        TIMED,
        UNTIL,
        check_experiment,
        plan_experiment,
    )
    from stribeck.experiments.plans.check_plan import checked
    from stribeck.experiments.plans.motion_profile import with_robot_time
    from stribeck.experiments.plans.plan import read_plan
    from stribeck.experiments.recording.drive_plan import check_modes, drive_plan
    from stribeck.experiments.recording.run_folders import empty_folder, refuse_used
    from stribeck.ident.arm.arm_file import load_arm
    from stribeck.ident.arm.load_mechanism import load_mechanism
    from stribeck.ident.errors import InputError, about_file, command
    from stribeck.ident.log.lowest_speed import lowest_speeds
    from stribeck.ident.log.run import (
        EXCITATION,
        LOWEST_SPEED,
        PRESLIDING,
        VALIDATION,
        WARM_UP,
        load_run,
    )

    text = console(as_json, verbose, quiet)
    check_view(text, live, rerun)
    if plan and (joints, method, experiment) != (None, DEFAULT, ROUND_TRIPS):
        raise InputError(
            f"--plan {plan} states the motion; leave out --joints, --method and --experiment"
        )
    check_experiment(experiment)
    arm_file = load_arm(arm).numbered(serial)
    mechanism = load_mechanism(arm_file)
    excites, known = experiment == EXCITATION and not plan, runs_before(after, arm_file, experiment)
    small = small_trips(amplitudes, places, experiment)
    folder = out or after or Path(f"campaign-{arm_file.name}")
    if folder != after:
        refuse_used(folder)
    if budget and experiment not in TIMED:
        raise InputError(
            f"stribeck run takes --budget only with --experiment {' or '.join(TIMED)}; for round "
            "trips use stribeck calibrate --budget"
        )
    # a driver that cannot be set up is refused before anything is written
    device = connect(arm_file, seed)
    greet(text, arm_file, mechanism, folder)
    if excites:
        text.print(SEEKING)
    if plan:
        made = read_plan(plan)
        with about_file(plan):
            # robot time and margin are computed, whatever the file says
            made = checked(made, arm_file, mechanism)
        made = with_robot_time(made, arm_file.limits(mechanism))
    else:
        made = plan_experiment(
            experiment,
            method,
            arm_file,
            split(joints),
            seed,
            time=time_of(experiment, budget),
            after=known,
            small=small,
        )
    check_modes(made, device, arm_file)
    show_plan(text, made, arm_file, mechanism)
    further: dict[str, Any] = (
        show_told(text, made, arm_file, known) if made.purpose == EXCITATION else {}
    )
    if experiment == PRESLIDING:
        show_left_out(text, made, mechanism, small)
    agree([made], arm_file, mechanism, yes, text)
    if folder != after:
        empty_folder(folder)
    with motion_view(text, made, folder, mechanism, live, rerun) as watch:
        recorded = drive_plan(
            arm_file,
            made,
            folder,
            seed,
            note,
            watch,
            enough=UNTIL.get(made.purpose, lambda: None)(),
        )
    if made.purpose == LOWEST_SPEED:
        found = lowest_speeds(load_run(recorded))
        further = {"lowest_speeds": {name: asdict(speed) for name, speed in found.items()}}
        text.print(
            f"lowest    {lowest_sentence(found, mechanism)}; joints.NAME.slowest in the arm file "
            "keeps this value"
        )
    then = {
        VALIDATION: ("validate", folder, "CALIBRATION..."),
        WARM_UP: ("run", arm),
        LOWEST_SPEED: ("calibrate", arm),
        EXCITATION: ("fit", folder, "--inertia", "fit"),
    }.get(made.purpose, ("fit", folder))
    text.files(f"wrote     {recorded}/")
    text.print(f"next      {command(*then)}")
    if as_json:
        print_json(
            {"run": str(recorded), "robot_time_s": round(made.robot_time, 3), **further},
            files_in(recorded),
        )


def greet(text: "Console", arm: "ArmFile", mechanism: "Mechanism", folder: Path) -> None:
    from importlib.metadata import version

    from stribeck.experiments.cli.screen.text import arm_line

    text.print(f"stribeck {version('stribeck')}  {arm_line(arm, mechanism)}  ->  {folder}/")


def show_plan(text: "Console", plan: "Plan", arm: "ArmFile", mechanism: "Mechanism") -> None:
    """Print a plan that was checked when it was made or read."""
    from stribeck.experiments.cli.screen.plan_text import (
        coupled_lines,
        margin_line,
        plan_line,
        spread_table,
    )
    from stribeck.experiments.cli.screen.tables import fitted
    from stribeck.experiments.plans.check_plan import position_room
    from stribeck.experiments.plans.forecast import load_spread

    text.print(f"plan      {plan_line(plan, position_room(plan, arm, mechanism), mechanism)}")
    if plan.singular_margin is not None:
        text.print(f"margin    {margin_line(plan, arm)}")
    for line in coupled_lines(plan, mechanism):
        text.print(f"motors    {line}")
    for slower in plan.lowered:
        unit = f"{mechanism.position_unit(mechanism.names.index(slower.joint))}/s"
        text.print(f"note      {slower.sentence(unit)}")
    text.more(fitted(spread_table(load_spread(plan, mechanism), mechanism), text.width))
