"""Conversion of a foreign log to a run folder: values are converted to SI
units and otherwise unchanged.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stribeck.drivers.arm import JointSample
from stribeck.drivers.coupling import limits_of_motors
from stribeck.experiments.errors import RecordingFailed
from stribeck.experiments.importers.columns import (
    ColumnMap,
    check_complete,
    check_distinct,
    check_motions,
    factor_hint,
)
from stribeck.experiments.importers.guess import with_factor
from stribeck.experiments.importers.sense import begins, check_leaps, unwrap, with_sense
from stribeck.experiments.importers.table import Array, Table
from stribeck.experiments.importers.torque_constant import SOURCES, torque_constants
from stribeck.experiments.recording.disk import KEPT
from stribeck.experiments.recording.run_folders import new_run_folder
from stribeck.experiments.recording.run_writer import RunWriter
from stribeck.ident.arm.arm_file import ArmFile, check_against_model
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import InputError, unknown_name
from stribeck.ident.log.run import Run
from stribeck.ident.log.signal_checks import check_numbers, check_time, check_velocity
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.model.transmission import Transmission
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
_LARGEST_GAP = 10.0  # periods; a longer gap splits the log into segments,
_LONGEST_GAP = 86400.0  # s; a longer step means that the clock was set
_RATES = 1.0, 1e5  # Hz; a rate outside this range means that the unit of time is wrong
_PAUSE = 1.0  # s inserted between recordings whose time stamps restart
# a value above this multiple of a limit means a wrong unit, not a fast or strong arm
_IMPLAUSIBLE = 2.0


@dataclass(frozen=True)
class _Log:
    """Signals of a log in SI units, with the signs and zeros of the model; nan marks values
    that the log does not report.
    """

    source: str
    t: Array
    segment: NDArray[np.int64]
    q: Array
    dq: Array
    tau: Array
    temperature: Array | None
    notes: tuple[str, ...]
    q_cmd: Array | None = None  # nan while a servo is off
    q_link: Array | None = None
    dq_cmd: Array | None = None


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
    log = _read(table, columns, arm, mechanism, coupled)
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
    _check_units(log, arm, mechanism, with_torque=servo_gains is None)
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


def _read(
    table: Table,
    columns: Sequence[ColumnMap],
    arm: ArmFile,
    mechanism: Mechanism,
    coupled: Transmission | None,
) -> _Log:
    """Read the mapped columns of joints or motors, and run all checks
    that do not depend on units.
    """
    check_distinct(columns, table.names, table.source)
    found: dict[ColumnMap, str] = {}
    for entry in columns:
        names = (*table.names, *table.flags) if entry.signal == "on" else table.names
        if (column := entry.find(names)) is None:
            raise InputError(
                f"{table.source}: "
                f"{unknown_name('column', entry.column, names)}{factor_hint(entry.column, names)}"
            )
        found[entry] = column
    wanted = [*found.values(), *([table.pieces] if table.pieces else [])]
    raw = table.read(wanted)
    lengths = {len(raw[name]) for name in wanted}
    if len(lengths) > 1:
        raise InputError(
            f"{table.source}: columns of different lengths ({', '.join(map(str, sorted(lengths)))} "
            "rows); all must have the same length"
        )
    (rows,) = lengths

    def signal(name: str, joints: tuple[str | None, ...] = mechanism.names) -> Array | None:
        mine = [(entry, column) for entry, column in found.items() if entry.signal == name]
        if not mine:
            return None
        values = np.full((rows, len(joints)), np.nan)
        for entry, column in mine:
            # check_numbers refuses values that overflow here
            with np.errstate(over="ignore", invalid="ignore"):
                np.multiply(raw[column], entry.factor, out=values[:, joints.index(entry.joint)])
        return values

    clock = signal("t", (None,))
    assert clock is not None
    t = clock[:, 0]
    q, dq, tau, temperature, told, link, on, rate = (
        signal(name)
        for name in ("q", "dq", "tau", "temperature", "q_cmd", "q_link", "on", "dq_cmd")
    )
    assert q is not None
    unset = [] if tau is not None else _unset(told, on, mechanism.names)
    if tau is None:  # of a servo, see `_of_servos`
        tau = np.zeros_like(q)
    pieces = begins(t, raw[table.pieces] if table.pieces else None, _LARGEST_GAP)
    wraps = unwrap(q, pieces, mechanism)
    for values in (told, link):
        if values is not None:
            unwrap(values, pieces, mechanism)
    if told is not None and on is not None:
        told[on < 0.5] = np.nan
    limits, amperes = (
        limits_of_motors(arm.limits(mechanism), coupled),
        {entry.joint for entry in columns if entry.current},
    )
    most = np.where(
        [name in amperes for name in mechanism.names], np.nan, _IMPLAUSIBLE * limits.torque
    )
    keep, notes = with_sense(t, q, tau, limits.velocity, most, table.source)
    if not keep.all():
        t, q, tau = t[keep], q[keep], tau[keep]
        dq, temperature, told, link, rate = (
            None if values is None else values[keep]
            for values in (dq, temperature, told, link, rate)
        )
    tables = [arm.joint(name) for name in mechanism.names]
    sign, zero = (
        np.array([table.direction for table in tables]),
        np.array([table.zero_offset for table in tables]),
    )
    q *= sign
    q += zero
    tau *= sign
    dq, told = (
        np.broadcast_to(np.nan, q.shape) if dq is None else sign * dq,
        None if told is None else sign * told + zero,
    )
    if len(t) > 1 and not np.isfinite(t).any():
        column = next(column for entry, column in found.items() if entry.target == "t")
        raise InputError(
            f"{table.source}: column {column!r} holds no readable times; allowed are numbers and "
            "dates such as 2026-11-22T10:59:59.5 (ISO 8601)"
        )
    if not np.isfinite(t).all():
        raise InputError(
            f"{table.source}: time is not a finite number in row "
            f"{int(np.argmin(np.isfinite(t)))}; delete this row, or cut the log here"
        )
    segment = np.zeros(len(t), dtype=np.int64)
    if table.pieces:
        segment = np.cumsum(
            np.diff(raw[table.pieces][keep], prepend=raw[table.pieces][keep][:1]) != 0.0
        )
        t = _one_after_another(t, segment)
    check_time(
        t,
        table.source,
        "; delete rows with a repeated time stamp, and cut the log where the clock goes back",
    )
    _check_rate(t, segment, table.source)
    segment, gaps = _parted(t, segment, table.source)
    for name, values in (("q", q), ("tau", tau)):
        check_numbers(
            values,
            name,
            mechanism.names,
            t,
            table.source,
            "; delete these rows, or cut the log here",
        )
    check_leaps(q, t, segment, mechanism, table.source)
    return _Log(
        table.source,
        t,
        segment,
        q,
        dq,
        tau,
        temperature,
        (*table.notes, *wraps, *notes, *gaps, *unset),
        told,
        None if link is None else sign * link + zero,
        None if rate is None else sign * rate,
    )


def _unset(told: Array | None, on: Array | None, names: tuple[str, ...]) -> list[str]:
    """Return notes of servos whose set-points lack where they are not said to be off."""
    if told is None:
        return []  # `check_complete` refuses it
    lacking = ~np.isfinite(told) & (True if on is None else ~(on < 0.5))
    return [
        f"the set-point of {name} is missing in {count} rows in which on.{name} does not say that "
        "the servo is off; the fit takes it as off there"
        for name, count in zip(names, lacking.sum(axis=0).tolist(), strict=True)
        if count
    ]


def _one_after_another(t: Array, segment: NDArray[np.int64]) -> Array:
    """Time that continues from recording to recording, with a pause of `_PAUSE`
    between them, shape (N,) [s].
    """
    t = t.copy()
    for start in (np.flatnonzero(np.diff(segment)) + 1).tolist():
        t[start:] += t[start - 1] + _PAUSE - t[start]
    return t


def _check_rate(t: Array, segment: NDArray[np.int64], source: str) -> None:
    """Refuse a sampling rate outside `_RATES`: the unit of time must be wrong."""
    steps = np.diff(t)[np.diff(segment) == 0]
    rate = 1.0 / float(np.median(steps)) if len(steps) else np.nan
    if not np.isnan(rate) and not _RATES[0] <= rate <= _RATES[1]:
        raise InputError(
            f"{source}: {len(t)} rows in {np.ptp(t):.4g} s, a sampling rate of {rate:.3g} Hz; "
            f"allowed are {_RATES[0]:g} to {_RATES[1]:g} Hz: check the unit of time"
        )


def _parted(
    t: Array, segment: NDArray[np.int64], source: str
) -> tuple[NDArray[np.int64], list[str]]:
    """Split segments at gaps of more than `_LARGEST_GAP` periods; return the segments
    and a note about the gaps.
    """
    steps = np.where(np.diff(segment) == 0, np.diff(t), 0.0)
    gaps, row = steps > _LARGEST_GAP * float(np.median(steps)), int(np.argmax(steps))
    if steps[row] > _LONGEST_GAP:
        raise InputError(
            f"{source}: a gap of {steps[row]:.3g} s after row {row} (t = {t[row]:.3f} s): the "
            "clock was set here; cut the log at this row and import the parts one by one"
        )
    if not gaps.any():
        return segment, []
    note = (
        f"{gaps.sum()} gap(s), the longest of {steps[row]:.3f} s after row {row} (t = {t[row]:.3f} "
        "s): the log is split into segments of one run at the gaps"
    )
    return segment + np.concatenate(([0], np.cumsum(gaps))), [note]


def _of_servos(log: _Log, gains: Mapping[str, float], names: tuple[str, ...]) -> _Log:
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


def _check_units(log: _Log, arm: ArmFile, mechanism: Mechanism, with_torque: bool = True) -> None:
    """Refuse positions and torques of more than `_IMPLAUSIBLE` times the arm's limits:
    their unit must be wrong.
    """
    limits = arm.limits(mechanism)
    span = np.ptp(limits.position, axis=1)
    for word, found, allowed in (
        ("position", np.ptp(log.q, axis=0), span),
        ("torque", np.abs(log.tau).max(axis=0), limits.torque),
    ):
        if word == "torque" and not with_torque:
            continue
        beyond = found > _IMPLAUSIBLE * allowed  # an unknown limit is nan or infinite
        if beyond.any():
            joint = int(np.argmax(beyond))
            unit = mechanism.unit(joint) if word == "torque" else mechanism.position_unit(joint)
            verb = "spans" if word == "position" else "reaches"
            raise InputError(
                f"{log.source}: the {word} of {mechanism.names[joint]} {verb} {found[joint]:.4g} "
                f"{unit}, "
                f"the arm file allows {allowed[joint]:.4g} {unit}; check the unit of this column"
            )
    # continuous joints have no limits
    middle = np.where(np.isfinite(limits.position), limits.position, 0.0).mean(axis=1)
    away = np.abs(log.q - middle).max(axis=0) - 0.5 * span
    if (far := away > _IMPLAUSIBLE * span).any():
        j = int(np.argmax(far))
        unit, where = (
            mechanism.position_unit(j),
            log.q[int(np.argmax(np.abs(log.q[:, j] - middle[j]))), j],
        )
        raise InputError(
            f"{log.source}: the position of {mechanism.names[j]} is {where:.4g} {unit}, far "
            f"outside its limits, {limits.position[j, 0]:.4g} ... {limits.position[j, 1]:.4g} "
            f"{unit}; check the unit of this column and zero_offset in the arm file"
        )


def _as_run(log: _Log, arm: ArmFile, mechanism: Mechanism) -> Run:
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
    log: _Log,
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
