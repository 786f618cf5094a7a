"""What import shows and asks: the meaning of each column, the kind of
torque, and the fit to run next.
"""

import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from stribeck.experiments.cli.option_texts import by_joint

if TYPE_CHECKING:
    from stribeck.experiments.cli.screen.console import Console
    from stribeck.experiments.importers.columns import ColumnMap
    from stribeck.experiments.importers.table import Table
    from stribeck.ident.arm.arm_file import ArmFile
    from stribeck.ident.model.mechanism import Mechanism


_SHOWN = 12  # columns that are not used
_OTHER_TORQUES = (  # columns whose names look like torques, and what they hold
    (
        re.compile(r"(?<![A-Za-z])tau_J(?!_d)(?![A-Za-z])"),  # of libfranka and franka_ros
        "in libfranka, {} is the torque sensor behind the gear, which does not measure the gear's "
        "friction, and tau_J_d is a command without gravity and friction, which the robot adds",
    ),
    (
        re.compile(r"actual_current_as_torque"),  # of UR's RTDE
        "in the RTDE of Universal Robots, {} is a torque from which the robot has subtracted "
        "gravity, and perhaps friction; record actual_current instead",
    ),
)
_FIGURES = {"load", "pwm", "duty"}  # what servos report instead of a torque


def agreed_signal(stated: str | None, arm: "ArmFile", log: Path, yes: bool, text: "Console") -> str:
    """Return the kind of torque in the log: as stated, as answered on a terminal, or as in the arm
    file; refuse useless kinds.
    """
    from stribeck.experiments.importers.import_log import TORQUE_SIGNALS, checked_signal

    signal = stated or arm.torque_signal
    if stated is None and not yes and _at_terminal():
        text.print(f"Which torque does {log.name} hold? {', '.join(TORQUE_SIGNALS)}")
        signal = typer.prompt("torque signal", default=signal, err=True)
    checked_signal(signal, str(log))
    why = (
        "stated"
        if stated is not None or signal != arm.torque_signal
        else "from the arm file; --torque-signal overrides it"
        if arm.names_torque_signal
        else "default, as the arm file has no torque_signal; --torque-signal overrides it"
    )
    text.print(f"torque    {signal} ({why})")
    return signal


def agreed_columns(
    table: "Table",
    given: Sequence["ColumnMap"],
    arm: "ArmFile",
    mechanism: "Mechanism",
    signal: str,
    yes: bool,
    text: "Console",
) -> tuple["ColumnMap", ...]:
    """Return the whole column map. Guesses are shown before they are used,
    and confirmed on a terminal.

    Raises
    ------
    InputError
        If a required column is missing.
    ArmStopped
        If the answer is no.
    """
    from stribeck.drivers.errors import ArmStopped
    from stribeck.experiments.importers.columns import check_complete, missing_targets
    from stribeck.experiments.importers.guess import (
        commanded_torques,
        equally_good,
        guess_columns,
        likely,
    )
    from stribeck.ident.errors import InputError, command
    from stribeck.ident.servo.servo_commands import POSITION_ERROR

    servos = signal == POSITION_ERROR
    columns = guess_columns(table, given, arm, mechanism, signal == "commanded")
    if servos:  # its torque is computed
        columns = tuple(entry for entry in columns if entry.signal != "tau" or not entry.guess)
    guessed = [entry for entry in columns if entry.guess]
    for entry in guessed:
        text.print(f"guess     {entry.option}  ({entry.guess})")
    used = {entry.find(table.names) for entry in columns}
    if guessed and (
        unused := [name for name in table.names if name not in used and name != table.pieces]
    ):
        text.print(
            "not used  "
            f"{', '.join(unused[:_SHOWN])}{f' and {len(unused) - _SHOWN} more' if len(unused) > _SHOWN else ''}"
        )
    if missing := missing_targets(columns, mechanism.names, servos):
        signals = {entry.signal for entry in columns}
        tie = f"; {said}" if (said := equally_good(table, mechanism.names)) else ""
        asked = commanded_torques(table, mechanism.names)
        why = (
            ""
            if "tau" in signals or "q" not in signals or tie or servos
            else (
                f"; {asked[0]} and similar columns are commanded torques: import them with "
                "--torque-signal commanded"
                if asked
                else "; friction needs a torque or a current, positions alone do not show it, "
                "unless a servo moves the joint by "
                "set-points (--servo JOINT=GAIN)"
            )
        )
        try:
            check_complete(columns, mechanism.names, servos)
        except InputError as error:
            there = {entry.joint for entry in columns} - {None}
            moving = [name for name in mechanism.names if name in there]
            only = (
                f"; a log of {', '.join(moving)} alone needs the arm file that "
                f"{command('init', arm.model, '--joints', ','.join(moving), '-o', 'ARM.toml')} "
                "writes"
                if moving and len(moving) < mechanism.n and "tau" in signals
                else ""
            )
            only += (
                "; for a log without a time column, state its sampling rate with --rate HZ"
                if "t" in missing
                else ""
            )
            only += no_torque(table, mechanism.names) if "tau" not in signals and not servos else ""
            raise InputError(
                "; ".join((f"{error}{why}{only}{tie}", likely(missing[0], table), *table.notes))
            ) from None
    if (
        guessed
        and not yes
        and _at_terminal()
        and not typer.confirm("Import with these columns?", default=True, err=True)
    ):
        raise ArmStopped("cancelled by the operator; nothing is written")
    return columns


def no_torque(table: "Table", joints: Sequence[str]) -> str:
    """Return a hint about columns named load or duty, which are no torques;
    empty without such columns.
    """
    figures = [name for name in table.names if set(re.findall(r"[a-z]+", name.lower())) & _FIGURES]
    if not figures:
        return ""
    return (
        f"; {', '.join(figures[:3])}: a servo's pulse width, not a torque. If it is calibrated, "
        "state its factor, for "
        f'example --column "tau.{joints[0]}={figures[0]}[0.01 Nm]"'
    )


def refuse_unseen(
    log: Path, columns: Sequence["ColumnMap"], signal: str | None, arm: "ArmFile", yes: bool
) -> None:
    """Refuse guesses that nobody has confirmed: there is no terminal, and --yes is not given.

    Raises
    ------
    InputError
        Holds the guesses as options.
    """
    from stribeck.ident.errors import InputError

    guesses = [entry.option for entry in columns if entry.guess]
    if signal is None and not arm.names_torque_signal:
        guesses.append(f"--torque-signal {shlex.quote(arm.torque_signal)}")
    if guesses and not yes and not _at_terminal():
        raise InputError(
            f"{log}: nothing is imported: columns are guessed, and without a terminal nobody can "
            "confirm the guesses. If all are right, add --yes; otherwise give these options with "
            f"the right columns: {' '.join(guesses)}"
        )


def refuse_sensor(log: Path, columns: Sequence["ColumnMap"], signal: str | None) -> None:
    """Refuse guessed torque columns that are known not to show the friction of gears, unless
    --torque-signal states their kind.

    Raises
    ------
    InputError
        Says why they do not show it, and names the option that takes them.
    """
    from stribeck.ident.errors import InputError

    guessed = [entry.column for entry in columns if entry.signal == "tau" and entry.guess]
    found = next(
        (
            (column, why)
            for name, why in _OTHER_TORQUES
            for column in guessed
            if name.search(column)
        ),
        None,
    )
    if found is None or signal is not None:
        return
    column, why = found
    raise InputError(
        f"{log}: {why.format(column)}; import a torque from the motor's side. If it is such a "
        "torque, state its "
        'kind: --torque-signal "motor current"'
    )


def _at_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def read_servo_gains(texts: Sequence[str]) -> dict[str, float] | None:
    """Return the gains of options ``JOINT=GAIN``; None without options."""
    needed = "JOINT=GAIN with a number, for example j1=400"
    found = by_joint(texts, "--servo", needed)
    if found and (several := [name for name, values in found.items() if len(values) > 1]):
        raise typer.BadParameter(
            f"{several[0]} has {len(found[several[0]])} numbers: needed is {needed}",
            param_hint="--servo",
        )
    return {name: value for name, (value,) in found.items()} if found else None


def servo_prospects(run: Path, folder: Path, text: "Console") -> str:
    """Print what was imported from servos without torque, and the fit to run
    next; return that command.
    """
    import numpy as np

    from stribeck.ident.errors import command
    from stribeck.ident.log.run import load_run

    recorded = load_run(run)
    rate = 1.0 / float(np.median(np.diff(recorded.t)))
    text.print(
        f"log       {rate:.4g} Hz, {recorded.duration:.4g} s, {len(recorded.t)} rows; set-points "
        "of servos, no torque"
    )
    for line in recorded.record["import"]["notes"]:
        text.print(f"note      {line}")
    text.files(f"wrote     {run}/")
    following = command("fit", folder, "--signal", "commands")
    text.print(f"next      {following}")
    return following


def prospects(run: Path, folder: Path, text: "Console") -> str | None:
    """Print what was imported, what the log lacks, and the fit to run next; return that command."""
    import numpy as np

    from stribeck.experiments.importers.outlook import outlook
    from stribeck.ident.arm.load_mechanism import load_mechanism
    from stribeck.ident.errors import command
    from stribeck.ident.log.run import load_run

    recorded = load_run(run, ("q", "dq", "tau", "temperature"))
    origin, mechanism = recorded.record["import"], load_mechanism(recorded.arm)
    for name, constant in origin.get("torque_constants", {}).items():
        error = f" ± {1.96 * constant['std_error']:.2g}" if "std_error" in constant else ""
        unit = mechanism.unit(mechanism.names.index(name))
        text.print(
            f"constant  {name}: {constant['value']:.4g}{error} {unit}/A at the joint "
            f"({constant['source']})"
        )
    seen = outlook(recorded, mechanism)
    rate = 1.0 / float(np.median(np.diff(recorded.t)))
    text.print(f"log       {rate:.4g} Hz, {recorded.duration:.4g} s, {len(recorded.t)} rows")
    # the last sentence says why no fit is possible
    said = seen.sentences if seen.options is not None else seen.sentences[:-1]
    for line in (*origin["notes"], *said):
        text.print(f"note      {line}")
    text.files(f"wrote     {run}/")
    if seen.options is None:
        text.print(f"next      this log cannot be fitted: {seen.sentences[-1]}")
        return None
    basis = (
        " --torque-basis gravity-corrected"
        if not seen.options
        and any("std_error" in constant for constant in origin.get("torque_constants", {}).values())
        else ""
    )
    following = command("fit", folder, *f"{seen.options}{basis}".split())
    text.print(f"next      {following}")
    return following
