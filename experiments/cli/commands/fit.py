"""Commands that work on recordings: fit, replay, import."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stribeck.experiments.cli.common import (
    BasisOption,
    DirectionalOption,
    DriftOption,
    InertiaOption,
    JsonOption,
    LawOption,
    LoadOption,
    LossOption,
    OutOption,
    console,
    print_json,
)
from stribeck.experiments.cli.screen.progress import progress

if TYPE_CHECKING:
    from rich.console import Console

    from stribeck.experiments.fit_runs import Delivery
    from stribeck.experiments.importers.columns import ColumnMap
    from stribeck.ident.log.breakaway import Breakaway


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command()(fit)
    app.command()(replay)
    app.command(name="import")(import_)


def fit(runs: Annotated[list[Path] | None, typer.Argument(metavar="RUN...", help="Run folders, or campaign folders.")] = None,
        table: Annotated[Path | None, typer.Option(help="Instead of runs, a table of speed and torque: CSV and what else import "
                                                        "reads.")] = None,
        arm: Annotated[str | None, typer.Option(help="The arm of a table's joints; default: joints without a model.")] = None,
        column: Annotated[list[str] | None, typer.Option(help="Of a table: quantity=column[unit], as speed=v[rpm], torque=M[Nm], "
                                                              "torque.backward=M2; what is left out is guessed.")] = None,
        ignore: Annotated[list[str] | None, typer.Option(help="A column of a table that is not what it looks like.")] = None,
        out: OutOption = None, law: LawOption = "auto", load: LoadOption = "auto",
        motion: Annotated[str, typer.Option(help="Fit any motion instead of round trips: with the rigid-body torque of the "
                                            "model, or with the joint's own inertia and gravity (model, joint).")] = "none",
        directional: DirectionalOption = "auto", torque_basis: BasisOption = "drive", drift: DriftOption = "auto",
        loss: LossOption = "auto",
        inertia: InertiaOption = "auto", as_json: JsonOption = False) -> None:
    """Runs to calibration, offline."""
    from stribeck.experiments.cli.commands.table_dialogue import fit_table_file, refuse_of_table
    from stribeck.experiments.cli.commands.tried_fits import refusal
    from stribeck.experiments.fit_runs import fit_ramps, fit_runs
    from stribeck.experiments.recording.run_folders import refuse_used
    from stribeck.ident.errors import FitError
    from stribeck.ident.fit.joint.options import Options
    from stribeck.ident.log.campaign_folder import find_runs
    from stribeck.ident.log.run import BREAKAWAY, FITTED, load_run

    text = console(as_json)
    options = Options(law, load, motion, directional, torque_basis, drift, loss, inertia=inertia)
    if table is not None:
        delivered(text, *fit_table_file(text, table, runs or [], arm, column or [], ignore or [], options, out), as_json)
        return
    refuse_of_table(runs or [], arm, column or [], ignore or [])
    folders = [folder for path in runs or [] for folder in find_runs(path, FITTED)]
    folder = out or Path(f"calibration-{load_run(folders[0], signals=()).arm.name}")
    refuse_used(folder)
    recorded = [load_run(path) for path in folders]
    if all(run.purpose == BREAKAWAY for run in recorded):
        _loose(text, fit_ramps(recorded, folder), folder, as_json)
        return
    try:
        delivery = fit_runs(recorded, folder, options)
    except FitError as error:
        raise refusal(error, recorded, runs or [], options) from None
    delivered(text, delivery, folder, as_json)


def _loose(text: "Console", found: "dict[str, Breakaway]", folder: Path, as_json: bool) -> None:
    """What holds each joint at rest, where nothing else was recorded."""
    from dataclasses import asdict

    from stribeck.experiments.report.words import breakaway_line

    for name, joint in found.items():
        text.print(f"breakaway {breakaway_line(name, joint)}")
    text.print(f"wrote     in {folder}/: breakaway.csv")
    if as_json:
        print_json({"breakaway": {name: asdict(joint) for name, joint in found.items()}})


def replay(run: Annotated[Path, typer.Argument(metavar="RUN", help="Run folder.")], out: OutOption = None,
           realtime: Annotated[bool, typer.Option(help="As slowly as it was recorded.")] = False,
           as_json: JsonOption = False) -> None:
    """Send a recording through driver interface, supervisor and fit once more."""
    from stribeck.drivers.replay import ALL_SIGNALS
    from stribeck.experiments.fit_runs import fit_runs
    from stribeck.experiments.recording.replay_run import replay_run
    from stribeck.experiments.recording.run_folders import empty_folder
    from stribeck.ident.arm.load_mechanism import load_mechanism
    from stribeck.ident.log.campaign_folder import find_runs
    from stribeck.ident.log.run import FIT, load_run

    text = console(as_json)
    recorded = load_run(find_runs(run, (FIT,))[-1], ALL_SIGNALS)
    folder = empty_folder(out or Path(f"replay-{recorded.arm.name}"))
    with progress(text, recorded.duration, "replay", load_mechanism(recorded.arm)) as watch:
        again = replay_run(recorded, folder, realtime, watch)
    delivered(text, fit_runs([load_run(again)], folder), folder, as_json)


def import_(file: Annotated[Path, typer.Argument(metavar="LOG", help="CSV, JSON, MAT, HDF5, NPZ, torch, Parquet "
                                                 "or MCAP file, ROS bag, LeRobot dataset.")],
            arm: Annotated[str, typer.Option(help="The arm it was recorded on.")],
            column: Annotated[list[str] | None, typer.Option(help="signal.joint=column[unit], e.g. q.j1=pos[deg]; once a signal. "
                                                             "What is left out is guessed, and shown.")] = None,
            column_map: Annotated[Path | None, typer.Option("--map", help="TOML file with such columns.")] = None,
            torque_signal: Annotated[str | None, typer.Option(help="motor current, commanded, joint sensor or compensated; "
                                                              "default: the arm file's.")] = None,
            torque_constant: Annotated[str, typer.Option(help="For columns in A: from arm file or gravity.")] = "arm file",
            topic: Annotated[str | None, typer.Option(help="Of a bag with several joint states.")] = None,
            rate: Annotated[float | None, typer.Option(help="Rows a second [Hz], of a log without a column of time.")] = None,
            start: Annotated[float | None, typer.Option("--from", help="Where the part begins that counts [s from the log's "
                                                                       "first row].")] = None,
            end: Annotated[float | None, typer.Option("--to", help="Where it ends [s from the log's first row].")] = None,
            ignore: Annotated[list[str] | None, typer.Option(help="A column that is not what it looks like; repeatable.")] = None,
            stamps: Annotated[str | None, typer.Option(help="Time in a bag: header, receipt, or auto: header if set.")] = None,
            motors: Annotated[bool, typer.Option("--motors", help="Columns are of the motors, on the joints' side of their "
                                                                  "gears; [transmission] of the arm file says how they move "
                                                                  "the joints.")] = False,
            out: OutOption = None, note: Annotated[str, typer.Option(help="Kept with the run.")] = "",
            yes: Annotated[bool, typer.Option("--yes", help="Use guesses without asking; refused without a terminal "
                                                              "otherwise.")] = False,
            as_json: JsonOption = False) -> None:
    """A foreign log to a run folder, values unchanged but for units."""
    from stribeck.experiments.cli.commands.import_dialogue import (
        agreed_columns,
        agreed_signal,
        prospects,
        refuse_sensor,
        refuse_unseen,
    )
    from stribeck.experiments.importers.columns import parse_columns, read_map
    from stribeck.experiments.importers.import_log import import_log
    from stribeck.experiments.importers.narrowing import at_rate, between, without
    from stribeck.experiments.importers.readers import open_log
    from stribeck.experiments.recording.run_folders import refuse_used
    from stribeck.ident.arm.arm_file import load_arm
    from stribeck.ident.arm.load_mechanism import load_mechanism

    text = console(as_json)
    arm_file = load_arm(arm)
    mechanism = load_mechanism(arm_file)
    folder = out or Path(f"campaign-{arm_file.name}")
    refuse_used(folder)
    table = without(open_log(file, topic=topic, stamps=stamps), ignore or ())
    given = parse_columns([*(read_map(column_map) if column_map else ()), *(column or ())], mechanism.names, table.names)
    if rate is not None:
        table, clock = at_rate(table, rate)
        given = (*_without_time(given, rate), clock)
    signal = agreed_signal(torque_signal, arm_file, file, yes, text)
    columns = agreed_columns(table, given, arm_file, mechanism, signal, yes, text)
    refuse_unseen(file, columns, torque_signal, arm_file, yes)
    refuse_sensor(file, columns, torque_signal, table)
    table = between(table, next(entry for entry in columns if entry.signal == "t"), start, end)
    run = import_log(table, arm_file, columns, folder, note, signal, torque_constant, motors)
    following = prospects(run, folder, text)
    if as_json:
        print_json({"run": str(run), "next": following})


def _without_time(given: "tuple[ColumnMap, ...]", rate: float) -> "tuple[ColumnMap, ...]":
    """Given entries, none of which may be time beside a rate."""
    from stribeck.ident.errors import InputError

    if any(entry.signal == "t" for entry in given):
        raise InputError(f"--rate {rate:g} and a column of time are given; leave one of them away")
    return given


def delivered(text: "Console", delivery: "Delivery", folder: Path, as_json: bool) -> None:
    """What a fit found and wrote."""
    from stribeck.experiments.cli.screen.text import notes, result_table
    from stribeck.experiments.report.words import breakaway_lines, gravity_sentence, motor_lines, passive_lines, repeat_sentence
    from stribeck.ident.errors import command
    from stribeck.ident.export.numbers import calibration_table
    from stribeck.ident.log.health.points_health import friction_change

    result = delivery.result
    general = [finding.text for finding in result.findings if finding.joint is None]
    joints = [finding.text for finding in sorted(result.findings, key=lambda finding: finding.kind != "lack of fit")
              if finding.joint is not None and finding.kind != "drift"]
    drifts = [f"{joint} {100 * change:+z.1f} %" for joint, change in friction_change(result.points).items()]
    lines = ["; ".join(general), *joints, *(["drift from first to last reference: " + ", ".join(drifts)] if drifts else [])]
    if said := [line for line in lines if line]:        # a table has no log whose samples could be looked at
        text.print("health    " + "\n          ".join(said))
    text.print(result_table(result, text.width))
    for line in motor_lines(delivery.calibration):
        text.print(f"motor     {line}")
    for line in passive_lines(delivery.calibration):
        text.print(f"passive   {line}")
    for line in breakaway_lines(delivery.calibration):
        text.print(f"breakaway {line}")
    for line in notes(delivery.calibration):
        text.print(f"note      {line}")
    text.print(f"gravity   {gravity_sentence(delivery.calibration)}")
    if repeats := repeat_sentence(delivery.calibration):
        text.print(f"repeats   {repeats}")
    for line in delivery.losses:
        text.print(f"export    {line}")
    written = [str(path.relative_to(folder)) for path in delivery.files]
    text.print(f"wrote     in {folder}/: {'  '.join(written)}")
    to = "json" if any(path.suffix == ".xml" for path in delivery.files) else "mjcf"         # what is not there yet
    text.print(f"next      open {shlex.quote(str(folder / 'report.html'))}; "
               f"{command('export', folder / 'calibration.toml', '--to', to)}")
    if as_json:
        print_json({"robot_time_s": round(delivery.robot_time, 3), "calibration": calibration_table(delivery.calibration)})
