"""Conversion of a foreign log to a run folder: values are converted to SI
units and otherwise unchanged.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np

from stribeck.drivers.arm import JointSample
from stribeck.experiments.errors import RecordingFailed
from stribeck.experiments.importers.columns import ColumnMap, check_complete, check_motions
from stribeck.experiments.importers.guess import with_factor
from stribeck.experiments.importers.log_signals import LogSignals, check_units, read_signals
from stribeck.experiments.importers.table import Array, Table
from stribeck.experiments.importers.torque_constant import SOURCES, torque_constants
from stribeck.experiments.recording.disk import KEPT
from stribeck.experiments.recording.run_folders import new_run_folder
from stribeck.experiments.recording.run_writer import RunWriter
from stribeck.ident.arm.arm_file import ArmFile, check_against_model
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import InputError, unknown_name
from stribeck.ident.log.run import Run
from stribeck.ident.log.signal_checks import check_velocity
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.servo.servo_commands import POSITION_ERROR
from stribeck.ident.whole_files import file_sha256

# kind of torque signal -> why this kind cannot show gear friction; empty if it can
TORQUE_SIGNALS = {
    "motor current": "",
    "commanded": "",
    "joint sensor": "a torque sensor behind the gear does not measure gear friction; import the "
    "motor current or the "
    "commanded torque",
    "compensated": "the drive has already subtracted the friction that it compensates; import the "
    "motor current or the "
    "commanded torque including the compensation",
}


def import_log(
    table: Table,
    arm: ArmFile,
    columns: Sequence[ColumnMap],
    campaign: Path,
    note: str = "",
    torque_signal: str | None = None,
    torque_constant: str = "arm file",
    at_motors: bool = False,
    servo_gains: Mapping[str, float] | None = None,
) -> Path:
    """Write a foreign log as a run folder.

    The import converts values to SI units and applies ``direction`` and ``zero_offset`` of the arm
    file. It changes nothing else. It checks the whole log before it writes the first file: it
    refuses values that are not numbers, time stamps that do not increase, and clocks that were set
    during the log.

    Parameters
    ----------
    table : Table
        The log, see `open_log`.
    arm : ArmFile
        The arm that made the log.
    columns : sequence of ColumnMap
        Signal, joint and unit of each column that is used.
    campaign : Path
        Folder; the run is written to its ``runs/``.
    note : str
        The operator's note.
    torque_signal : str, optional
        Kind of the torque signal, a name in `TORQUE_SIGNALS`; default:
        ``torque_signal`` of the arm file.
    torque_constant : str
        Source of the torque constant for columns in ampere: "arm file", or "gravity" (fit of the
        current to the model's gravity).
    at_motors : bool
        Whether the columns hold motor positions and torques, on the joint side of the gears.
        ``[transmission]`` of the arm file then converts them to joint positions and torques.
    servo_gains : mapping of str to float, optional
        Position gain of the servo of each joint, as the servo states it. The torque signal is
        then the gain times the position error, in a unit that the fit identifies, and 0 where the
        servo is off (signal "on").

    Returns
    -------
    Path
        The run folder.

    Raises
    ------
    InputError
        If a check fails; the message names file, column and row.
    """
    signal = (
        POSITION_ERROR
        if servo_gains is not None
        else checked_signal(torque_signal or arm.torque_signal, table.source)
    )
    if torque_constant not in SOURCES:
        raise unknown_name("torque constant", torque_constant, SOURCES)
    mechanism = load_mechanism(arm)
    check_against_model(arm, mechanism)
    check_complete(columns, mechanism.names, servo_gains is not None)
    check_motions(columns, mechanism)
    if at_motors and servo_gains is not None:
        raise InputError(
            f"{table.source}: --motors and --servo exclude each other; the set-points must be "
            "those of the joints"
        )
    coupled = mechanism.transmission if at_motors else None
    if at_motors and coupled is None:
        raise InputError(
            f"{arm.path}: --motors needs a table [transmission] in the arm file. Without this "
            "table, each motor moves one joint; leave out --motors"
        )
    log = read_signals(table, columns, arm, mechanism, coupled)
    if servo_gains is not None:
        log = _of_servos(log, servo_gains, mechanism.names)
    if mechanism.transmission is not None and not at_motors:
        log = replace(
            log,
            notes=(
                *log.notes,
                "the columns are read as joint signals; if they are motor signals, import again "
                "with --motors ([transmission] then converts them)",
            ),
        )
    check_velocity(log.q, log.dq, log.t, mechanism.names, log.source)
    ampere = tuple(str(entry.joint) for entry in columns if entry.current)
    sign = np.array([arm.joint(name).direction for name in mechanism.names])
    raw = np.where(np.isin(mechanism.names, ampere), sign * log.tau, np.nan) if ampere else None
    if coupled is not None and ampere and torque_constant != SOURCES[0]:
        lacking = next(
            (name for name in ampere if arm.joint(name).torque_constant is None), ampere[0]
        )
        raise InputError(
            f"{log.source}: torque constants of motors that move several joints cannot be fitted "
            f"to gravity; state joints.{lacking}.torque_constant in the arm file (N·m/A at the "
            "motor, with gear_ratio)"
        )
    constants, unknown = torque_constants(
        torque_constant, _as_run(log, arm, mechanism), mechanism, ampere
    )
    if ampere:
        factor = np.where(np.isin(mechanism.names, list(unknown)), np.nan, 1.0)
        factor *= [
            constants[name]["value"] if name in constants else 1.0 for name in mechanism.names
        ]
        log = replace(
            log,
            tau=log.tau * factor,
            notes=(*log.notes, *(_left_out(name, why) for name, why in unknown.items())),
        )
    columns = [
        with_factor(entry, constants[str(entry.joint)]["value"])
        if entry.current and str(entry.joint) in constants
        else entry
        for entry in columns
    ]
    if coupled is not None:
        log = replace(
            log,
            q=coupled.of_joints(log.q),
            dq=coupled.of_joints(log.dq),
            tau=coupled.torque_of_joints(log.tau),
            q_cmd=None if log.q_cmd is None else coupled.of_joints(log.q_cmd),
            dq_cmd=None if log.dq_cmd is None else coupled.of_joints(log.dq_cmd),
        )
    check_units(log, arm, mechanism, with_torque=servo_gains is None)
    origin = {
        "log": Path(table.source).name,
        "sha256": _digest(Path(table.source)),
        "torque_signal": signal,
        "columns": {entry.target: _described(entry, table.names) for entry in columns},
        "notes": list(log.notes),
        **({"torque_constants": constants} if constants else {}),
        **({"at_motors": True} if at_motors else {}),
        **({"servo_gains": dict(servo_gains)} if servo_gains is not None else {}),
    }
    return _write(log, arm, mechanism, campaign, note, origin, raw)


def _left_out(name: str, why: str) -> str:
    return (
        f"{name}: the torque is in A and the torque constant cannot be fitted to gravity ({why}); "
        f"this torque is left out and {name} is not calibrated. State "
        f"joints.{name}.torque_constant in the arm file (N·m/A at the motor, with gear_ratio), or "
        "a factor in the column, and import again"
    )


def checked_signal(signal: str, source: str) -> str:
    """Return the name of a torque signal after checking that this signal can show gear friction.

    Raises
    ------
    InputError
        If the name is unknown, or the signal does not contain gear friction.
    """
    if signal not in TORQUE_SIGNALS:
        raise unknown_name("torque signal", signal, TORQUE_SIGNALS)
    if reason := TORQUE_SIGNALS[signal]:
        raise InputError(f'{source}: torque signal "{signal}": {reason}')
    return signal


def _of_servos(log: LogSignals, gains: Mapping[str, float], names: tuple[str, ...]) -> LogSignals:
    """Return the log with the torque signal of servos: gain times position
    error, 0 while a servo is off.
    """
    for name, gain in gains.items():
        if name not in names:
            raise unknown_name("joint in --servo", name, names)
        if not (np.isfinite(gain) and gain > 0.0):
            raise InputError(
                f"--servo {name}={gain:g}: the gain of a servo must be a positive number, as its "
                "register states it"
            )
    if missing := [name for name in names if name not in gains]:
        raise InputError(
            f"--servo: {', '.join(missing)} have no gain; state the position gain of every servo"
        )
    assert log.q_cmd is not None  # `check_complete`
    signal = np.array([gains[name] for name in names]) * (log.q_cmd - log.q)
    return replace(log, tau=np.where(np.isfinite(signal), signal, 0.0))


def _as_run(log: LogSignals, arm: ArmFile, mechanism: Mechanism) -> Run:
    """The log as a `Run` that is not yet on disk."""
    return Run(
        Path(log.source),
        {},
        arm,
        (),
        mechanism.names,
        log.t,
        log.segment,
        {"q": log.q, "tau": log.tau},
    )


def _described(entry: ColumnMap, names: Sequence[str]) -> dict[str, Any]:
    said = {"column": entry.find(names) or entry.column, "unit": entry.unit, "factor": entry.factor}
    return said | ({"guess": entry.guess} if entry.guess else {})


def _digest(path: Path) -> str | None:
    """SHA-256 digest of a log file; None for a folder."""
    return file_sha256(path) if path.is_file() else None


def _write(
    log: LogSignals,
    arm: ArmFile,
    mechanism: Mechanism,
    campaign: Path,
    note: str,
    origin: Mapping[str, Any],
    raw: Array | None,
) -> Path:
    name = Path(log.source).name
    folder = new_run_folder(campaign, f"import-{Path(name).stem}")
    status, unknown = np.zeros(mechanism.n, dtype=np.int64), np.full(mechanism.n, np.nan)
    rate = min(1.0 / float(np.median(np.diff(log.t))), len(log.t))
    try:
        with RunWriter(
            folder, arm, mechanism, f"imported log {name}", rate, note=note, origin=origin
        ) as writer:
            for row, t in enumerate(log.t.tolist()):
                sample = JointSample(
                    t,
                    log.q[row],
                    log.dq[row],
                    log.tau[row],
                    np.full(mechanism.n, t),
                    None if log.temperature is None else log.temperature[row],
                    status,
                    None if raw is None else raw[row],
                    None if log.q_link is None else log.q_link[row],
                )
                told, rate_told = (
                    unknown if values is None else values[row] for values in (log.q_cmd, log.dq_cmd)
                )
                writer.sample(sample, told, rate_told, int(log.segment[row]))
    except BaseException as error:  # an incomplete run folder must not remain
        rmtree(folder, ignore_errors=True)
        if isinstance(error, RecordingFailed):
            raise RecordingFailed(f"{str(error).removesuffix(KEPT)}nothing was imported") from error
        raise
    return folder
