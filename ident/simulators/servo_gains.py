r"""Gains with which drives follow position references, stated or identified from a log:

.. math:: \tau = k_p\, (r - q) + k_r\, \dot r - k_d\, \dot q

The constant torque is what the drive adds at rest, or the zero of the torque signal, which a
calibration has as an offset.

A drive in velocity mode follows the integral of its set-points in the same way; its integral
starts at a level of its own.

A drive whose loop is so stiff that its following error drowns in noise shows no gains; its log is
simulated from its torques.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.integrate import cumulative_trapezoid

from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError, unknown_name
from stribeck.ident.log.motion.filtered_motion import Log, Stretch
from stribeck.ident.log.motion.low_pass import low_pass
from stribeck.ident.log.run import Run, read_signal

# stated gains under this name hold for all joints without gains of their own
EVERYONE = "default"
SHOWN = 0.98  # least part of the torque's variance that identified gains must explain


@dataclass(frozen=True)
class ServoGains:
    """Gains of one joint.

    Attributes
    ----------
    position : float
        Torque per position error [N·m/rad or N/m].
    velocity : float
        Torque per velocity [N·m·s/rad or N·s/m].
    reference : float
        Torque per velocity of the reference [N·m·s/rad or N·s/m]; 0 if the drive
        damps the velocity itself.
    constant : float
        Constant torque [N·m or N]; 0 for stated gains and servos.
    explained : float, optional
        Part of the torque's variance that the gains explain; None if they are stated.
    """

    position: float
    velocity: float
    reference: float
    constant: float = 0.0
    explained: float | None = None


def stated_gains(
    stated: Mapping[str, tuple[float, ...]], names: tuple[str, ...]
) -> dict[str, ServoGains]:
    """Return the gains of every joint from two or three numbers each: position, velocity, and
    reference (default: velocity).

    Raises
    ------
    InputError
        If a name is no joint, a joint has no gains, or there are not two or three finite
        numbers that are not negative.
    """
    found = {}
    for name, values in stated.items():
        if name not in (*names, EVERYONE):
            raise unknown_name("joint in --gains", name, (*names, EVERYONE))
        if len(values) not in (2, 3) or not np.all(np.isfinite(values)) or min(values) < 0.0:
            raise InputError(
                f"--gains {name}={','.join(f'{value:g}' for value in values)}: needed are two or "
                "three numbers that are not negative, torque per position error, per velocity, "
                "and per velocity of the reference"
            )
        found[name] = ServoGains(values[0], values[1], values[-1])
    every = dict.fromkeys(names, found[EVERYONE]) if EVERYONE in found else {}
    every |= {name: found[name] for name in names if name in found}
    if missing := [name for name in names if name not in every]:
        raise InputError(
            f"--gains: {', '.join(missing)} have no gains; state them for each joint, or for all "
            f"as {EVERYONE}=KP,KD"
        )
    return every


def velocity_set_points(run: Run) -> Array | None:
    """Return the velocity set-points of all joints, shape (N, n); None if the run lacks some."""
    found = read_signal(run, "dq_cmd", run.rows)
    return (
        None if found is None or len(found) != run.rows or not np.isfinite(found).all() else found
    )


def references(run: Run) -> tuple[Array | None, str]:
    """Return the position references of all joints, shape (N, n); if the run lacks
    them, None and what it lacks.
    """
    found = read_signal(run, "q_cmd", run.rows)
    if found is None or len(found) != run.rows:
        return None, "the run has no position references (q_cmd)"
    if unknown := [
        name
        for name, column in zip(run.names, found.T, strict=True)
        if not np.isfinite(column).all()
    ]:
        return (
            None,
            f"the run has no position references (q_cmd) of {', '.join(unknown)}, or not in all "
            "rows",
        )
    return found, ""


def identified_gains(
    run: Run, log: Log, wanted: Array, rates: bool = False
) -> dict[str, ServoGains]:
    """Return the gains that explain the torques best, by least squares of equally filtered signals.

    Parameters
    ----------
    run : Run
    log : Log
        The filtered run.
    wanted : ndarray, shape (N, n)
        Position references at the samples of the run, or velocity set-points.
    rates : bool
        Whether they are velocity set-points: the loop's integral then follows their integral, from
        a level of its own in each section.
    """
    rows = [(_of_rates if rates else _columns)(run, part, log, wanted) for part in log.stretches]
    found = {}
    for j, name in enumerate(run.names):
        columns = np.vstack([of_part[j] for of_part, _ in rows])
        tau = np.concatenate([tau[:, j] for _, tau in rows])
        size = np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
        gains = np.linalg.lstsq(columns / size, tau, rcond=None)[0] / size
        explained = 1.0 - float(np.var(tau - columns @ gains)) / max(float(np.var(tau)), 1e-300)
        position, reference, velocity, constant = gains.tolist()
        found[name] = ServoGains(position, velocity, reference, constant, explained)
    return found


def _columns(run: Run, part: Stretch, log: Log, wanted: Array) -> tuple[Array, Array]:
    """Regressors of a section, shape (n, M, 4), and its torques, shape (M, n),
    all behind the same filter.
    """
    low = log.cutoff * log.dt
    told = low_pass(np.column_stack([np.interp(part.t, run.t, column) for column in wanted.T]), low)
    rate, tau = np.gradient(told, log.dt, axis=0), low_pass(part.tau, low)
    return np.stack([told - part.q, rate, -part.dq, np.ones_like(told)], axis=-1).swapaxes(
        0, 1
    ), tau


def _of_rates(run: Run, part: Stretch, log: Log, wanted: Array) -> tuple[Array, Array]:
    """Regressors and torques of a section as `_columns`, without their means, for a loop of
    velocity with an integral.
    """
    low = log.cutoff * log.dt
    told = np.column_stack([np.interp(part.t, run.t, column) for column in wanted.T])
    place = cumulative_trapezoid(told, dx=log.dt, axis=0, initial=0)
    columns = np.stack(
        [low_pass(place, low) - part.q, low_pass(told, low), -part.dq, np.zeros_like(told)], axis=-1
    )
    columns, tau = columns.swapaxes(0, 1), low_pass(part.tau, low)
    return columns - columns.mean(axis=1, keepdims=True), tau - tau.mean(axis=0)
