"""Signals of a foreign log: its columns in SI units, with the checks that they pass before a run
folder is written.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stribeck.drivers.coupling import limits_of_motors
from stribeck.experiments.importers.columns import ColumnMap, check_distinct, factor_hint
from stribeck.experiments.importers.sense import begins, check_leaps, unwrap, with_sense
from stribeck.experiments.importers.table import Array, Table
from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.errors import InputError, unknown_name
from stribeck.ident.log.signal_checks import check_numbers, check_time
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.model.transmission import Transmission

_LARGEST_GAP = 10.0  # periods; a longer gap splits the log into segments,
_LONGEST_GAP = 86400.0  # s; a longer step means that the clock was set
_RATES = 1.0, 1e5  # Hz; a rate outside this range means that the unit of time is wrong
_PAUSE = 1.0  # s inserted between recordings whose time stamps restart
# a value above this multiple of a limit means a wrong unit, not a fast or strong arm
_IMPLAUSIBLE = 2.0


@dataclass(frozen=True)
class LogSignals:
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


def read_signals(
    table: Table,
    columns: Sequence[ColumnMap],
    arm: ArmFile,
    mechanism: Mechanism,
    coupled: Transmission | None,
) -> LogSignals:
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
    if tau is None:  # of a servo: `import_log` sets it
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
    return LogSignals(
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


def check_units(
    log: LogSignals, arm: ArmFile, mechanism: Mechanism, with_torque: bool = True
) -> None:
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
