"""Checks for unusable signals: time that does not increase, values that are not numbers, wrong
velocities, dead torques.
"""

from collections.abc import Collection

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError
from stribeck.ident.log.run import Run
from stribeck.ident.log.strokes import REST_TOLERANCE

GAP = 1.5  # periods; a longer time step is a gap
JITTER = 0.05  # part of the period; a larger deviation of a time step is jitter
_HOLE = 5.0  # periods; across a longer gap, velocity and position are not compared
_SAME_RATE = 0.1  # largest relative difference of velocity and derivative of position

SMALLEST, LARGEST = 1e-12, 1e12  # allowed absolute values of any signal, in SI


def dead_torques(run: Run) -> list[str]:
    """Joints that move with a constant torque signal, and joints without any recorded torque."""
    way, swing = (np.subtract(*run.range_of(signal)[::-1]) for signal in ("q", "tau"))
    return [
        name
        for name, moved, varied in zip(run.names, way, swing, strict=True)
        if np.isnan(varied) or (moved > REST_TOLERANCE and varied == 0.0)
    ]


def unrecorded_torques(run: Run) -> list[str]:
    """Joints without any torque sample, for example if an imported
    current has no torque constant.
    """
    return [
        name
        for name, least in zip(run.names, run.range_of("tau")[0], strict=True)
        if np.isnan(least)
    ]


def check_signals(run: Run, without: Collection[str] | None = None) -> None:
    """Refuse positions and torques that are not finite numbers, except the torques of joints
    `without` torque: by default, those without any in this run.

    Raises
    ------
    InputError
        If a value is not a finite number; the message names signal, joint, row and time.
    """
    without = unrecorded_torques(run) if without is None else without
    known = (
        [name not in without for name in run.names]
        if len(without) < len(run.names)
        else slice(None)
    )
    check_numbers(run.signals["q"], "q", run.names, run.t, str(run.path), first=run.first)
    check_numbers(
        run.signals["tau"][:, known],
        "tau",
        tuple(np.array(run.names)[known]),
        run.t,
        str(run.path),
        first=run.first,
    )


def check_velocity(q: Array, dq: Array, t: Array, names: tuple[str, ...], source: str) -> None:
    """Refuse velocities that are not the derivative of the positions,
    because a unit or sign is wrong.

    Parameters
    ----------
    q, dq : ndarray, shape (N, n)
        Positions and velocities; nan for velocities that were not recorded.
    t : ndarray, shape (N,)
        Times [s].
    names : tuple of str
        Joint names.
    source : str
        Name of the log, for messages.

    Raises
    ------
    InputError
        If a velocity differs; the message names the joint and the factor.
    """
    step = np.diff(t)
    along = step <= _HOLE * np.median(step)  # the motion during a gap is unknown
    for joint, name in enumerate(names):
        v = dq[:, joint]
        # motion according to the velocity
        way = np.where(along, 0.5 * (v[1:] + v[:-1]) * step, 0.0)
        if not np.isfinite(way).all():
            continue
        steps = max(1, len(t) // 200)  # long enough to average position noise
        said = np.add.reduceat(way, np.arange(0, len(way) - steps + 1, steps))[:-1]
        went = np.add.reduceat(
            np.where(along, np.diff(q[:, joint]), 0.0), np.arange(0, len(way) - steps + 1, steps)
        )[:-1]
        if len(said) < 3 or not np.abs(went).max() > 0.0:
            continue
        factor = float(said @ went / (went @ went))
        alike = float(said @ went) ** 2 > 0.8 * float(said @ said) * float(went @ went)
        if alike and not abs(factor - 1.0) < _SAME_RATE:
            raise InputError(
                f"{source}: the velocity of {name} is {factor:.4g} times the derivative of its "
                "position; check unit and sign of both columns"
            )


def check_time(t: Array, source: str, remedy: str = "", first: int = 0) -> tuple[float, np.ndarray]:
    """Return the median sampling rate [Hz], and the rows before each gap; `remedy` is
    appended to the error message.

    The row in the message counts from `first`, the row of the first time.

    Raises
    ------
    InputError
        If time is not a finite number or does not increase.
    """
    steps = np.diff(t)
    if len(t) < 2 or not np.isfinite(t).all() or (steps <= 0.0).any():
        row = int(np.argmin(np.append(np.where(np.isfinite(steps), steps, -1.0) > 0.0, True)))
        raise InputError(
            f"{source}: time must increase from row to row; it does not after row {first + row} (t "
            f"= {t[row]:.6g} s){remedy}"
            if len(t) > 1
            else f"{source}: fewer than two samples; at least two are needed"
        )
    period = float(np.median(steps))
    return 1.0 / period, np.flatnonzero(steps > GAP * period)


def check_numbers(
    values: Array,
    signal: str,
    names: tuple[str, ...],
    t: Array,
    source: str,
    remedy: str = "",
    first: int = 0,
) -> None:
    """Refuse values that are not finite numbers; `remedy` is appended to the error message,
    whose row counts from `first`.
    """
    bad = ~np.isfinite(values)
    if bad.any():
        row, joint = np.argwhere(bad)[0]
        raise InputError(
            f"{source}: {signal} of {names[joint]} is not a finite number in row {first + row} (t "
            f"= {t[row]:.3f} "
            f"s), the first of {int(bad.sum())} bad values{remedy or '; finite numbers are needed'}"
        )
    check_size(values, signal, names, source)


def check_size(values: Array, signal: str, names: tuple[str, ...], source: str) -> None:
    """Refuse implausibly large or small values, shape (N, n): the unit or the column is wrong."""
    most = np.abs(values).max(axis=0, initial=0.0)
    if (odd := (most > LARGEST) | ((most > 0.0) & (most < SMALLEST))).any():
        joint = int(np.argmax(odd))
        raise InputError(
            f"{source}: {signal} of {names[joint]} reaches {most[joint]:.3g}, which no machine has "
            f"(allowed are {SMALLEST:g} to {LARGEST:g}); check the column and its factor or unit"
        )
