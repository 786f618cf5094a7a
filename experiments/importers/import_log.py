"""Writing a foreign log as a run folder, unchanged but for units."""

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
from stribeck.experiments.importers.columns import ColumnMap, check_complete, check_distinct, check_motions
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
from stribeck.ident.whole_files import file_sha256

TORQUE_SIGNALS = {              # what a torque signal may be, and why some cannot show the friction of a gear
    "motor current": "",
    "commanded": "",
    "joint sensor": "a sensor behind the gear does not see the gear's friction; import the motor current or the commanded torque",
    "compensated": "friction that the drive compensates is no longer in it; import the motor current or the commanded torque "
                   "with the compensation in it",
}
_LARGEST_GAP = 10.0     # periods; a longer hole parts a log into pieces,
_LONGEST_GAP = 86400.0  # s; a clock that was set, not a hole
_RATES = 1.0, 1e5       # Hz; of a log that is slower or faster the unit of time is another
_PAUSE = 1.0            # s between pieces whose time starts anew
_IMPLAUSIBLE = 2.0      # times a limit: a wrong unit, not a fast or strong arm


@dataclass(frozen=True)
class _Log:
    """What a log says of an arm, in SI and in the model's signs; nan is not reported."""

    source: str
    t: Array
    segment: NDArray[np.int64]
    q: Array
    dq: Array
    tau: Array
    temperature: Array | None
    notes: tuple[str, ...]
    q_cmd: Array | None = None


def import_log(table: Table, arm: ArmFile, columns: Sequence[ColumnMap], campaign: Path, note: str = "",
               torque_signal: str | None = None, torque_constant: str = "arm file", at_motors: bool = False) -> Path:
    """Write a foreign log as a run folder.

    Values are multiplied to SI, brought to the model's sign and zero by the arm file's ``direction`` and
    ``zero_offset``, and otherwise left as they are. A log with values that are no numbers, with time
    that does not increase, or with a hole is refused before anything is written.

    Parameters
    ----------
    table : Table
        The log, see `open_log`.
    arm : ArmFile
        The arm it was recorded on.
    columns : sequence of ColumnMap
        Which column is what.
    campaign : Path
        Folder whose ``runs/`` takes the run.
    note : str
        The operator's note.
    torque_signal : str, optional
        What the torque is, a name in `TORQUE_SIGNALS`; default is what the arm file says.
    torque_constant : str
        Where the torque constant of columns in ampere comes from: "arm file", or "gravity", to which the current is fitted.
    at_motors : bool
        Whether the columns are of motors, on the joints' side of their gears, that move the joints as ``[transmission]`` says.

    Returns
    -------
    Path
        The run folder.

    Raises
    ------
    InputError
        One sentence: file, column, row.
    """
    signal = checked_signal(torque_signal or arm.torque_signal, table.source)
    if torque_constant not in SOURCES:
        raise unknown_name("torque constant", torque_constant, SOURCES)
    mechanism = load_mechanism(arm)
    check_against_model(arm, mechanism)
    check_complete(columns, mechanism.names)
    check_motions(columns, mechanism)
    coupled = mechanism.transmission if at_motors else None
    if at_motors and coupled is None:
        raise InputError(f"{arm.path}: --motors needs [transmission] in the arm file; without one each motor moves the joint "
                         "that it is called after, and its columns are the joint's")
    log = _read(table, columns, arm, mechanism, coupled)
    if mechanism.transmission is not None and not at_motors:
        log = replace(log, notes=(*log.notes, "columns are taken for those of the joints; --motors takes them for the motors' of "
                                              "[transmission]"))
    check_velocity(log.q, log.dq, log.t, mechanism.names, log.source)
    ampere = tuple(str(entry.joint) for entry in columns if entry.current)
    sign = np.array([arm.joint(name).direction for name in mechanism.names])
    raw = np.where(np.isin(mechanism.names, ampere), sign * log.tau, np.nan) if ampere else None
    if coupled is not None and ampere and torque_constant != SOURCES[0]:
        lacking = next((name for name in ampere if arm.joint(name).torque_constant is None), ampere[0])
        raise InputError(f"{log.source}: gravity does not tell the torque constants of motors that move several joints; state "
                         f"joints.{lacking}.torque_constant in the arm file (N·m/A at the motor, with gear_ratio)")
    constants, unknown = torque_constants(torque_constant, _as_run(log, arm, mechanism), mechanism, ampere)
    if ampere:
        factor = np.where(np.isin(mechanism.names, list(unknown)), np.nan, 1.0)
        factor *= [constants[name]["value"] if name in constants else 1.0 for name in mechanism.names]
        log = replace(log, tau=log.tau * factor, notes=(*log.notes, *(_left_out(name, why) for name, why in unknown.items())))
    columns = [with_factor(entry, constants[str(entry.joint)]["value"]) if entry.current and str(entry.joint) in constants
               else entry for entry in columns]
    if coupled is not None:
        log = replace(log, q=coupled.of_joints(log.q), dq=coupled.of_joints(log.dq), tau=coupled.torque_of_joints(log.tau),
                      q_cmd=None if log.q_cmd is None else coupled.of_joints(log.q_cmd))
    _check_units(log, arm, mechanism)
    origin = {"log": Path(table.source).name, "sha256": _digest(Path(table.source)), "torque_signal": signal,
              "columns": {entry.target: _described(entry, table.names) for entry in columns}, "notes": list(log.notes),
              **({"torque_constants": constants} if constants else {}), **({"at_motors": True} if at_motors else {})}
    return _write(log, arm, mechanism, campaign, note, origin, raw)


def _left_out(name: str, why: str) -> str:
    return (f"{name}: its torque is in A and gravity cannot tell its torque constant ({why}); its torque is left out and {name} "
            f"is not calibrated. State joints.{name}.torque_constant in the arm file (N·m/A at the motor, with gear_ratio), or a "
            "factor in its column, and import again")


def checked_signal(signal: str, source: str) -> str:
    """A torque signal that can show the friction of a gear.

    Raises
    ------
    InputError
        If it is unknown, or cannot.
    """
    if signal not in TORQUE_SIGNALS:
        raise unknown_name("torque signal", signal, TORQUE_SIGNALS)
    if reason := TORQUE_SIGNALS[signal]:
        raise InputError(f"{source}: torque signal \"{signal}\": {reason}")
    return signal


def _read(table: Table, columns: Sequence[ColumnMap], arm: ArmFile, mechanism: Mechanism, coupled: Transmission | None) -> _Log:
    """Signals of the mapped columns, of joints or of coupled motors, checked but for what depends on units."""
    check_distinct(columns, table.names, table.source)
    found: dict[ColumnMap, str] = {}
    for entry in columns:
        if (column := entry.find(table.names)) is None:
            raise InputError(f"{table.source}: {unknown_name('column', entry.column, table.names)}")
        found[entry] = column
    wanted = [*found.values(), *([table.pieces] if table.pieces else [])]
    raw = table.read(wanted)
    lengths = {len(raw[name]) for name in wanted}
    if len(lengths) > 1:
        raise InputError(f"{table.source}: columns of different lengths ({', '.join(map(str, sorted(lengths)))} rows)")
    (rows,) = lengths

    def signal(name: str, joints: tuple[str | None, ...] = mechanism.names) -> Array | None:
        mine = [(entry, column) for entry, column in found.items() if entry.signal == name]
        if not mine:
            return None
        values = np.full((rows, len(joints)), np.nan)
        for entry, column in mine:
            with np.errstate(over="ignore", invalid="ignore"):      # what overflows is refused below as no finite number
                np.multiply(raw[column], entry.factor, out=values[:, joints.index(entry.joint)])
        return values

    clock = signal("t", (None,))
    assert clock is not None
    t = clock[:, 0]
    q, dq, tau, temperature, told = (signal(name) for name in ("q", "dq", "tau", "temperature", "q_cmd"))
    assert q is not None
    assert tau is not None
    pieces = begins(t, raw[table.pieces] if table.pieces else None, _LARGEST_GAP)
    wraps = unwrap(q, pieces, mechanism)
    if told is not None:
        unwrap(told, pieces, mechanism)
    limits, amperes = limits_of_motors(arm.limits(mechanism), coupled), {entry.joint for entry in columns if entry.current}
    most = np.where([name in amperes for name in mechanism.names], np.nan, _IMPLAUSIBLE * limits.torque)
    keep, notes = with_sense(t, q, tau, limits.velocity, most, table.source)
    if not keep.all():
        t, q, tau = t[keep], q[keep], tau[keep]
        dq, temperature, told = (None if values is None else values[keep] for values in (dq, temperature, told))
    tables = [arm.joint(name) for name in mechanism.names]
    sign, zero = np.array([table.direction for table in tables]), np.array([table.zero_offset for table in tables])
    q *= sign
    q += zero
    tau *= sign
    dq, told = np.broadcast_to(np.nan, q.shape) if dq is None else sign * dq, None if told is None else sign * told + zero
    if len(t) > 1 and not np.isfinite(t).any():
        column = next(column for entry, column in found.items() if entry.target == "t")
        raise InputError(f"{table.source}: column {column!r} holds no times that can be read; numbers can, and dates as "
                         "2026-11-22T10:59:59.5 (ISO 8601)")
    if not np.isfinite(t).all():
        raise InputError(f"{table.source}: time is not a finite number in row "
                         f"{int(np.argmin(np.isfinite(t)))}; leave that row out, or cut the log there")
    segment = np.zeros(len(t), dtype=np.int64)
    if table.pieces:
        segment = np.cumsum(np.diff(raw[table.pieces][keep], prepend=raw[table.pieces][keep][:1]) != 0.0)
        t = _one_after_another(t, segment)
    check_time(t, table.source, "; leave out rows whose stamp repeats, and cut the log where its clock goes back")
    _check_rate(t, segment, table.source)
    segment, gaps = _parted(t, segment, table.source)
    for name, values in (("q", q), ("tau", tau)):
        check_numbers(values, name, mechanism.names, t, table.source, "; leave those rows out, or cut the log there")
    check_leaps(q, t, segment, mechanism, table.source)
    return _Log(table.source, t, segment, q, dq, tau, temperature, (*table.notes, *wraps, *notes, *gaps), told)


def _one_after_another(t: Array, segment: NDArray[np.int64]) -> Array:
    """Time that goes on from piece to piece, after a pause."""
    t = t.copy()
    for start in (np.flatnonzero(np.diff(segment)) + 1).tolist():
        t[start:] += t[start - 1] + _PAUSE - t[start]
    return t


def _check_rate(t: Array, segment: NDArray[np.int64], source: str) -> None:
    """Refuse a rate that no log of an arm has."""
    steps = np.diff(t)[np.diff(segment) == 0]
    rate = 1.0 / float(np.median(steps)) if len(steps) else np.nan
    if not np.isnan(rate) and not _RATES[0] <= rate <= _RATES[1]:
        raise InputError(f"{source}: {len(t)} rows in {np.ptp(t):.4g} s, {rate:.3g} Hz; friction can be found in logs of "
                         f"{_RATES[0]:g} to {_RATES[1]:g} Hz: check the unit of time")


def _parted(t: Array, segment: NDArray[np.int64], source: str) -> tuple[NDArray[np.int64], list[str]]:
    """Pieces that end at holes, too, and a note that says so."""
    steps = np.where(np.diff(segment) == 0, np.diff(t), 0.0)
    gaps, row = steps > _LARGEST_GAP * float(np.median(steps)), int(np.argmax(steps))
    if steps[row] > _LONGEST_GAP:
        raise InputError(f"{source}: a gap of {steps[row]:.3g} s after row {row} (t = {t[row]:.3f} s): the clock was set there; "
                         "cut the log and import the pieces")
    if not gaps.any():
        return segment, []
    note = (f"{gaps.sum()} gap(s), the longest of {steps[row]:.3f} s after row {row} (t = {t[row]:.3f} s): what lies between "
            "them is taken for pieces of one run")
    return segment + np.concatenate(([0], np.cumsum(gaps))), [note]


def _check_units(log: _Log, arm: ArmFile, mechanism: Mechanism) -> None:
    """Refuse values so far beyond what the arm can do that their unit must be another."""
    limits = arm.limits(mechanism)
    span = np.ptp(limits.position, axis=1)
    for word, found, allowed in (("position", np.ptp(log.q, axis=0), span),
                                 ("torque", np.abs(log.tau).max(axis=0), limits.torque)):
        beyond = found > _IMPLAUSIBLE * allowed             # an unknown limit is nan or infinite
        if beyond.any():
            joint = int(np.argmax(beyond))
            unit = mechanism.unit(joint) if word == "torque" else mechanism.position_unit(joint)
            verb = "spans" if word == "position" else "reaches"
            raise InputError(f"{log.source}: the {word} of {mechanism.names[joint]} {verb} {found[joint]:.4g} {unit}, "
                             f"the arm file allows {allowed[joint]:.4g} {unit}; check the unit in its column")
    middle = np.where(np.isfinite(limits.position), limits.position, 0.0).mean(axis=1)      # some joints turn without end
    away = np.abs(log.q - middle).max(axis=0) - 0.5 * span
    if (far := away > _IMPLAUSIBLE * span).any():
        j = int(np.argmax(far))
        unit, where = mechanism.position_unit(j), log.q[int(np.argmax(np.abs(log.q[:, j] - middle[j]))), j]
        raise InputError(f"{log.source}: the position of {mechanism.names[j]} is {where:.4g} {unit}, far outside its limits, "
                         f"{limits.position[j, 0]:.4g} ... {limits.position[j, 1]:.4g} {unit}; check the unit in its column, and "
                         "zero_offset in the arm file")


def _as_run(log: _Log, arm: ArmFile, mechanism: Mechanism) -> Run:
    """The log as a run that lies nowhere yet."""
    return Run(Path(log.source), {}, arm, (), mechanism.names, log.t, log.segment, {"q": log.q, "tau": log.tau})


def _described(entry: ColumnMap, names: Sequence[str]) -> dict[str, Any]:
    said = {"column": entry.find(names) or entry.column, "unit": entry.unit, "factor": entry.factor}
    return said | ({"guess": entry.guess} if entry.guess else {})


def _digest(path: Path) -> str | None:
    """Digest of a log; none of a folder."""
    return file_sha256(path) if path.is_file() else None


def _write(log: _Log, arm: ArmFile, mechanism: Mechanism, campaign: Path, note: str, origin: Mapping[str, Any],
           raw: Array | None) -> Path:
    name = Path(log.source).name
    folder = new_run_folder(campaign, f"import-{Path(name).stem}")
    status, unknown = np.zeros(mechanism.n, dtype=np.int64), np.full(mechanism.n, np.nan)
    rate = min(1.0 / float(np.median(np.diff(log.t))), len(log.t))
    try:
        with RunWriter(folder, arm, mechanism, f"imported log {name}", rate, note=note, origin=origin) as writer:
            for row, t in enumerate(log.t.tolist()):
                sample = JointSample(t, log.q[row], log.dq[row], log.tau[row], np.full(mechanism.n, t),
                                     None if log.temperature is None else log.temperature[row], status,
                                     None if raw is None else raw[row])
                writer.sample(sample, unknown if log.q_cmd is None else log.q_cmd[row], unknown, int(log.segment[row]))
    except BaseException as error:          # half of a log is no log
        rmtree(folder, ignore_errors=True)
        if isinstance(error, RecordingFailed):
            raise RecordingFailed(f"{str(error).removesuffix(KEPT)}nothing was imported") from error
        raise
    return folder
