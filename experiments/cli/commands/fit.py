"""Commands that work on recordings: fit, replay, import."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stribeck.experiments.cli.command_options import (
    BacklashOption,
    BandwidthOption,
    BasisOption,
    ConstantOption,
    DirectionalOption,
    DriftOption,
    InertiaOption,
    JsonOption,
    LawOption,
    LoadOption,
    LossOption,
    MemoryOption,
    MotionOption,
    NoteOption,
    OutOption,
    QuietOption,
    RippleOption,
    SerialOption,
    SignalOption,
    TemperatureOption,
    VerboseOption,
    choice,
    flag,
)
from stribeck.experiments.cli.common import console, files_in, print_json
from stribeck.experiments.cli.screen.progress import progress

if TYPE_CHECKING:
    from stribeck.experiments.cli.screen.console import Console
    from stribeck.experiments.fit_runs import Delivery
    from stribeck.experiments.importers.columns import ColumnMap
    from stribeck.ident.log.breakaway import Breakaway


def fit(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(metavar="RUN...", help="Run folders, or campaign folders."),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Table of speed and torque to fit instead of runs: CSV or another format that "
            "stribeck import "
            "reads.",
        ),
    ] = None,
    arm: Annotated[
        str | None,
        typer.Option(
            metavar="ARM",
            help="Arm whose joints the table describes. Default: joints without a model.",
        ),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MAP",
            help="Column of the table as quantity=column[unit], for example speed=v[rpm], "
            "torque=M[Nm] or "
            "torque.backward=M2; repeatable. Columns that are not named are guessed.",
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Column of the table to ignore; repeatable."),
    ] = None,
    out: OutOption = None,
    law: LawOption = "auto",
    load: LoadOption = "auto",
    motion: MotionOption = "none",
    directional: DirectionalOption = "auto",
    torque_basis: BasisOption = "drive",
    drift: DriftOption = "auto",
    loss: LossOption = "auto",
    inertia: InertiaOption = "auto",
    memory: MemoryOption = "auto",
    ripple: RippleOption = "none",
    temperature: TemperatureOption = "auto",
    backlash: BacklashOption = "auto",
    bandwidth: BandwidthOption = None,
    constant: ConstantOption = "fit",
    signal: SignalOption = "torque",
    serial: SerialOption = "",
    note: NoteOption = "",
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Fit recorded runs, or a table of speed and torque; moves nothing."""
    from stribeck.experiments.cli.commands.servo_fit import servos_fitted
    from stribeck.experiments.cli.commands.tried_fits import refusal
    from stribeck.experiments.cli.dialogues.table_dialogue import fit_table_file, refuse_of_table
    from stribeck.experiments.fit_runs import fit_ramps, fit_runs
    from stribeck.experiments.recording.run_folders import refuse_used
    from stribeck.ident.errors import FitError
    from stribeck.ident.fit.joint.options import Options
    from stribeck.ident.log.campaign_folder import find_runs
    from stribeck.ident.log.run import BREAKAWAY, FITTED, load_runs

    text = console(as_json, verbose, quiet)
    options = Options(
        law,
        load,
        motion,
        directional,
        torque_basis,
        drift,
        loss,
        inertia=inertia,
        memory=memory,
        ripple=ripple,
        temperature=temperature,
        backlash=backlash,
        bandwidth=bandwidth,
        constant=constant,
    )
    if table is not None:
        delivered(
            text,
            *fit_table_file(text, table, runs or [], arm, column or [], ignore or [], options, out),
            as_json,
        )
        return
    refuse_of_table(runs or [], arm, column or [], ignore or [])
    folders = [folder for path in runs or [] for folder in find_runs(path, FITTED)]
    recorded = [run.about(serial, note) for run in load_runs(folders)]
    folder = out or Path(f"calibration-{recorded[0].arm.name}")
    refuse_used(folder)
    if signal != "torque":
        servos_fitted(text, recorded, folder, signal, options, as_json)
        return
    if all(run.purpose == BREAKAWAY for run in recorded):
        _loose(text, fit_ramps(recorded, folder), folder, as_json)
        return
    try:
        delivery = fit_runs(recorded, folder, options)
    except FitError as error:
        raise refusal(error, recorded, runs or [], options) from None
    delivered(text, delivery, folder, as_json)


def _loose(text: "Console", found: "dict[str, Breakaway]", folder: Path, as_json: bool) -> None:
    """Print the breakaway friction of each joint, if the runs have torque ramps only."""
    from dataclasses import asdict

    from stribeck.experiments.report.words import breakaway_line

    for name, joint in found.items():
        text.print(f"breakaway {breakaway_line(name, joint)}")
    text.print(f"wrote     in {folder}/: breakaway.csv")
    if as_json:
        print_json(
            {"breakaway": {name: asdict(joint) for name, joint in found.items()}}, files_in(folder)
        )


def replay(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run folder.")],
    out: OutOption = None,
    realtime: Annotated[
        bool, typer.Option(metavar="", help="Replay as slowly as the run was recorded.")
    ] = False,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Replay a recording through driver interface, supervisor and fit."""
    from stribeck.drivers.replay import ALL_SIGNALS
    from stribeck.experiments.fit_runs import fit_runs
    from stribeck.experiments.recording.replay_run import replay_run
    from stribeck.experiments.recording.run_folders import empty_folder
    from stribeck.ident.arm.load_mechanism import load_mechanism
    from stribeck.ident.log.campaign_folder import find_runs
    from stribeck.ident.log.run import FIT, load_run

    text = console(as_json, verbose, quiet)
    recorded = load_run(find_runs(run, (FIT,))[-1], ALL_SIGNALS)
    folder = empty_folder(out or Path(f"replay-{recorded.arm.name}"))
    with progress(text, recorded.duration, "replay", load_mechanism(recorded.arm)) as watch:
        again = replay_run(recorded, folder, realtime, watch)
    delivered(text, fit_runs([load_run(again)], folder), folder, as_json)


def import_(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="LOG",
            help="CSV, JSON, MAT, HDF5, NPZ, torch, Parquet or MCAP file, ROS bag, LeRobot "
            "dataset.",
        ),
    ],
    arm: Annotated[str, typer.Option(metavar="ARM", help="Arm on which the log was recorded.")],
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MAP",
            help="Column as signal.joint = column[unit], for example q.j1=pos[deg]; repeatable. "
            "Columns that are "
            "not named are guessed and shown.",
        ),
    ] = None,
    column_map: Annotated[
        Path | None, typer.Option("--map", metavar="FILE", help="TOML file with the columns.")
    ] = None,
    torque_signal: Annotated[
        str | None,
        choice(
            "motor current",
            "commanded",
            "joint sensor",
            "compensated",
            help="Signal behind the torque columns. Default: the arm file's.",
        ),
    ] = None,
    torque_constant: Annotated[
        str, choice("arm file", "gravity", help="Source of the torque constant for columns in A.")
    ] = "arm file",
    topic: Annotated[
        str | None,
        typer.Option(
            metavar="TOPIC", help="Topic to read from a bag with several topics of joint states."
        ),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(metavar="HZ", help="Sampling rate of a log without a time column [Hz]."),
    ] = None,
    start: Annotated[
        float | None,
        typer.Option(
            "--from", metavar="SECONDS", help="Start of the part to import [s after the first row]."
        ),
    ] = None,
    end: Annotated[
        float | None,
        typer.Option(
            "--to", metavar="SECONDS", help="End of the part to import [s after the first row]."
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Column to ignore; repeatable.")
    ] = None,
    stamps: Annotated[
        str | None,
        choice(
            "auto",
            "header",
            "receipt",
            help="Time stamps of a bag. auto: of the header if set, else of receipt.",
        ),
    ] = None,
    motors: Annotated[
        bool,
        flag(
            "--motors",
            help="The columns hold motor angles and torques, on the joint side of the gears. "
            "[transmission] of the "
            "arm file states how motors move the joints.",
        ),
    ] = False,
    servo: Annotated[
        list[str] | None,
        typer.Option(
            metavar="JOINT=GAIN",
            help="Position gain of a joint's servo, as its register states it; repeatable. For "
            "servos that "
            "report no torque: the log needs set-points (q_cmd) instead, and on.JOINT where the "
            "servo was off at times.",
        ),
    ] = None,
    out: OutOption = None,
    serial: SerialOption = "",
    note: NoteOption = "",
    yes: Annotated[
        bool,
        flag(
            "--yes",
            help="Use guessed columns without asking. Without a terminal, guesses need this "
            "option.",
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Convert a log to a run folder (SI units)."""
    from stribeck.experiments.cli.dialogues.import_dialogue import (
        agreed_columns,
        agreed_signal,
        prospects,
        read_servo_gains,
        refuse_sensor,
        refuse_unseen,
        servo_prospects,
    )
    from stribeck.experiments.importers.columns import parse_columns, read_map
    from stribeck.experiments.importers.import_log import import_log
    from stribeck.experiments.importers.narrowing import at_rate, between, without
    from stribeck.experiments.importers.readers import open_log
    from stribeck.experiments.recording.run_folders import refuse_used
    from stribeck.ident.arm.arm_file import load_arm
    from stribeck.ident.arm.load_mechanism import load_mechanism
    from stribeck.ident.servo.servo_commands import POSITION_ERROR

    text = console(as_json)
    arm_file = load_arm(arm).numbered(serial)
    mechanism = load_mechanism(arm_file)
    folder = out or Path(f"campaign-{arm_file.name}")
    refuse_used(folder)
    table = without(open_log(file, topic=topic, stamps=stamps), ignore or ())
    given = parse_columns(
        [*(read_map(column_map) if column_map else ()), *(column or ())],
        mechanism.names,
        table.names,
    )
    if rate is not None:
        table, clock = at_rate(table, rate)
        given = (*_without_time(given, rate), clock)
    gains = read_servo_gains(servo or ())
    signal = (
        agreed_signal(torque_signal, arm_file, file, yes, text) if gains is None else POSITION_ERROR
    )
    columns = agreed_columns(table, given, arm_file, mechanism, signal, yes, text)
    refuse_unseen(file, columns, torque_signal if gains is None else signal, arm_file, yes)
    if gains is None:
        refuse_sensor(file, columns, torque_signal)
    table = between(table, next(entry for entry in columns if entry.signal == "t"), start, end)
    run = import_log(table, arm_file, columns, folder, note, signal, torque_constant, motors, gains)
    following = (
        prospects(run, folder, text) if gains is None else servo_prospects(run, folder, text)
    )
    if as_json:
        print_json({"run": str(run), "next": following}, files_in(folder))


def _without_time(given: "tuple[ColumnMap, ...]", rate: float) -> "tuple[ColumnMap, ...]":
    """Return the given entries; refuse a column of time, because --rate
    already states the times.
    """
    from stribeck.ident.errors import InputError

    if any(entry.signal == "t" for entry in given):
        raise InputError(f"--rate {rate:g} and a column of time are given; leave out one of them")
    return given


def delivered(
    text: "Console", delivery: "Delivery", folder: Path, as_json: bool, recorded: bool = False
) -> None:
    """Print the result of a fit: the table, what needs attention, where the files
    are; with -v every note, too.
    """
    from stribeck.experiments.cli.screen.attention import attention
    from stribeck.experiments.cli.screen.result_text import result_table
    from stribeck.experiments.report.backlash_section import backlash_lines
    from stribeck.experiments.report.memory_words import memory_lines
    from stribeck.experiments.report.temperature_words import temperature_lines
    from stribeck.experiments.report.words import (
        breakaway_lines,
        motor_lines,
        passive_lines,
        repeat_sentence,
    )
    from stribeck.ident.errors import command
    from stribeck.ident.export.numbers import calibration_table

    result, calibration = delivery.result, delivery.calibration
    text.print(result_table(result, text.width))
    for label, lines in (
        ("motor", motor_lines(calibration)),
        ("passive", passive_lines(calibration)),
        ("breakaway", breakaway_lines(calibration)),
        ("memory", memory_lines(calibration)),
        ("warmth", temperature_lines(calibration)),
        ("backlash", backlash_lines(calibration)),
    ):
        for line in lines:
            text.print(f"{label:<9} {line}")
    if repeats := repeat_sentence(calibration):
        text.print(f"repeats   {repeats}")
    lines, further = attention(result, calibration)
    for line in lines:
        text.print(f"attention {line}")
    if further:
        text.print(f"attention {further} more: -v prints them")
    _notes(text, delivery, lines)
    written = [str(path.relative_to(folder)) for path in delivery.files] + (
        _recorded(folder) if recorded else []
    )
    text.files(f"wrote     in {folder}/: {'  '.join(written)}")
    # a format that is not written yet
    to = "json" if any(path.suffix == ".xml" for path in delivery.files) else "mjcf"
    text.print(
        f"next      open {shlex.quote(str(folder / 'report.html'))}; "
        f"{command('export', folder / 'calibration.toml', '--to', to)}"
    )
    if as_json:
        print_json(
            {
                "robot_time_s": round(delivery.robot_time, 3),
                "calibration": calibration_table(calibration),
                "losses": delivery.losses,
            },
            files_in(folder),
        )


def _recorded(folder: Path) -> list[str]:
    """Return what a campaign holds beside its results: the plan, and the folder of its runs."""
    from stribeck.ident.log.campaign_folder import campaign_runs

    runs = len(campaign_runs(folder))
    return [
        *(path.name for path in sorted(folder.glob("plan*.toml"))),
        f"runs/ ({runs} run{'s' * (runs != 1)})",
    ]


def _notes(text: "Console", delivery: "Delivery", shown: list[str]) -> None:
    """Print what -v adds to the lines shown: other findings, notes about parameters, gravity,
    repeats, losses of the export.
    """
    from stribeck.experiments.cli.screen.result_text import notes
    from stribeck.experiments.report.words import gravity_sentence
    from stribeck.ident.log.health.points_health import friction_change

    further = [finding for finding in delivery.result.findings if finding.text not in shown]
    general = "; ".join(finding.text for finding in further if finding.joint is None)
    joints = [
        finding.text for finding in further if finding.joint is not None and finding.kind != "drift"
    ]
    changes = ", ".join(
        f"{joint} {100 * change:+z.1f} %"
        for joint, change in friction_change(delivery.result.points).items()
    )
    drifts = (
        f"friction drifted from the first to the last reference round trip: {changes}"
        if changes
        else ""
    )
    # a table has no samples to judge
    if said := [line for line in (general, *joints, drifts) if line]:
        text.more("health    " + "\n          ".join(said))
    for line in notes(delivery.calibration):
        if line not in shown:
            text.more(f"note      {line}")
    text.more(f"gravity   {gravity_sentence(delivery.calibration)}")
    for line in delivery.losses:
        text.more(f"export    {line}")
