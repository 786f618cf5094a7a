"""Commands that move or plan to: calibrate, plan, run."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from experiments.cli.common import (
    ArmArgument,
    BasisOption,
    DirectionalOption,
    JointsOption,
    JsonOption,
    LawOption,
    LoadOption,
    MethodOption,
    OutOption,
    SeedOption,
    YesOption,
    agree,
    console,
    fraction,
    print_json,
    progress,
    seconds,
    split,
)

if TYPE_CHECKING:
    from rich.console import Console

    from experiments.plan import Plan
    from experiments.tracking import Watch
    from ident.armfile import ArmFile
    from ident.mechanism import Mechanism


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command()(calibrate)
    app.command()(plan)
    app.command()(run)


def calibrate(arm: ArmArgument = "lab6", out: OutOption = None, joints: JointsOption = None, seed: SeedOption = 0,
              law: LawOption = "auto", load: LoadOption = "auto", directional: DirectionalOption = "auto",
              torque_basis: BasisOption = "drive", method: MethodOption = "whole-arm",
              repeats: Annotated[int, typer.Option(min=1, help="How often the plan is run; the calibration then states the "
                                                               "deviation between the runs.")] = 1,
              target: Annotated[str | None, typer.Option(help="Precision to reach, run after run: half width of the 95 % band of "
                                                              "each joint's friction, as 5%.")] = None,
              budget: Annotated[str | None, typer.Option(help="Robot time to spend, run after run, as 10min or 90s.")] = None,
              yes: YesOption = False, as_json: JsonOption = False) -> None:
    """The main job: plan, move, record, fit, export, report."""
    from experiments.calibrate import calibrate as calibrate_arm
    from experiments.cli.fitting import delivered
    from experiments.cli.text import clock
    from ident.armfile import load_arm
    from ident.description import load_mechanism
    from ident.errors import InputError
    from ident.joint import Options

    text = console(as_json)
    options = Options(law, load, "none", directional, torque_basis)
    wanted = fraction(target), seconds(budget)
    if repeats > 1 and any(wanted):
        raise InputError("--repeats runs one plan several times, --target and --budget change it from run to run; choose one")
    arm_file = load_arm(arm)
    mechanism = load_mechanism(arm_file)
    folder = out or Path(f"calibration-{arm_file.name}")
    _greet(text, arm_file, mechanism, folder)

    def shown_and_agreed(made: "Plan") -> None:
        _show(text, made, arm_file, mechanism)
        if repeats > 1:
            text.print(f"repeats   {repeats} runs of this plan, {clock(repeats * made.robot_time)} of robot time")
        agree(made, arm_file.driver.kind, yes, text)

    delivery = calibrate_arm(arm_file, folder, split(joints), seed, options, method, repeats, shown_and_agreed,
                             lambda made: _recording(text, made, folder), *wanted)
    delivered(text, delivery, folder, as_json)


def plan(arm: ArmArgument = "lab6",
         out: Annotated[Path | None, typer.Option("--out", "-o", help="File for the plan (TOML).")] = None,
         joints: JointsOption = None, seed: SeedOption = 0, method: MethodOption = "whole-arm",
         as_json: JsonOption = False) -> None:
    """What will move, robot time, load spread, expected intervals; moves nothing."""
    from dataclasses import asdict

    from experiments.cli.text import forecast_table
    from experiments.design import TARGET, load_spread
    from experiments.methods import plan_method
    from experiments.plan import write_plan
    from ident.armfile import load_arm
    from ident.description import load_mechanism
    from ident.errors import InputError

    text = console(as_json)
    arm_file = load_arm(arm)
    mechanism = load_mechanism(arm_file)
    made = plan_method(method, arm_file, split(joints), seed)
    _show(text, made, arm_file, mechanism)
    text.print(forecast_table(made, TARGET))
    if out:
        if out.exists():
            raise InputError(f"{out} exists; choose another --out")
        write_plan(made, out)
        text.print(f"wrote     {out}")
    if as_json:
        print_json({"robot_time_s": round(made.robot_time, 3), "segments": len(made.segments), "method": made.method,
                    "load_spread": {joint: {kind: list(ends) for kind, ends in loads.items()}
                                    for joint, loads in load_spread(made, mechanism).items()},
                    "predicted": [asdict(told) for told in made.predicted]})


def run(arm: ArmArgument = "lab6",
        plan: Annotated[Path | None, typer.Option(help="Plan file; default: a fresh plan.")] = None,
        out: OutOption = None, joints: JointsOption = None, seed: SeedOption = 0,
        method: MethodOption = "whole-arm",
        note: Annotated[str, typer.Option(help="Kept with the run.")] = "", yes: YesOption = False,
        as_json: JsonOption = False) -> None:
    """Move and record, without fitting."""
    from drivers import connect
    from experiments.methods import plan_method
    from experiments.plan import check_plan, read_plan
    from experiments.record import record
    from experiments.recorder import empty_folder, refuse_used
    from ident.armfile import load_arm
    from ident.description import load_mechanism

    text = console(as_json)
    arm_file = load_arm(arm)
    mechanism = load_mechanism(arm_file)
    folder = out or Path(f"campaign-{arm_file.name}")
    refuse_used(folder)
    connect(arm_file, seed)              # a driver that cannot be set up is refused before anything is written
    _greet(text, arm_file, mechanism, folder)
    made = read_plan(plan) if plan else plan_method(method, arm_file, split(joints), seed)
    check_plan(made, arm_file, mechanism)
    _show(text, made, arm_file, mechanism)
    agree(made, arm_file.driver.kind, yes, text)
    empty_folder(folder)
    with _recording(text, made, folder) as watch:
        recorded = record(arm_file, made, folder, seed, note, watch)
    text.print(f"wrote     {recorded}/\nnext      stribeck fit {folder}")
    if as_json:
        print_json({"run": str(recorded), "robot_time_s": round(made.robot_time, 3)})


def _greet(text: "Console", arm: "ArmFile", mechanism: "Mechanism", folder: Path) -> None:
    from importlib.metadata import version

    from experiments.cli.text import arm_line

    text.print(f"stribeck {version('stribeck')}  {arm_line(arm, mechanism)}  ->  {folder}/")


def _show(text: "Console", plan: "Plan", arm: "ArmFile", mechanism: "Mechanism") -> None:
    from experiments.cli.text import plan_line, spread_table
    from experiments.design import load_spread
    from experiments.plan import check_plan

    text.print(f"plan      {plan_line(plan, check_plan(plan, arm, mechanism))}")
    text.print(spread_table(load_spread(plan, mechanism), mechanism))


@contextmanager
def _recording(text: "Console", plan: "Plan", folder: Path) -> Iterator["Watch"]:
    """Progress while the arm moves; whatever ends it early, say where the samples are."""
    from drivers.errors import ArmStopped

    try:
        with progress(text, plan.robot_time, "run", plan.names) as watch:
            yield watch
    except BaseException as error:
        runs = sorted((folder / "runs").glob("*"))
        kept = f"; what was recorded is kept in {runs[-1]}, stribeck fit {folder} uses it" if runs else ""
        if isinstance(error, KeyboardInterrupt):
            raise ArmStopped(f"stopped by the operator{kept}") from None
        print(f"stribeck: the run ended early{kept}", file=sys.stderr)
        raise
