"""Set-points and gains of servos, from runs whose torque signal is the
position error of their servos.
"""

from dataclasses import dataclass

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError
from stribeck.ident.log.run import Run, read_signal

POSITION_ERROR = "position error"  # torque signal of such runs


@dataclass(frozen=True)
class ServoCommands:
    """Set-points [rad or m] and gains of all servos at the samples of a run, shape (N, n); the gain
    is 0 where a servo is off.
    """

    goals: Array
    gains: Array


def of_servos(run: Run) -> bool:
    """Return whether the run was imported with gains of servos instead of torques."""
    return (run.record.get("import") or {}).get("torque_signal") == POSITION_ERROR


def servo_commands(run: Run) -> ServoCommands:
    """Return set-points and gains of a run.

    Raises
    ------
    InputError
        If the run was imported without gains of servos.
    """
    told = read_signal(run, "q_cmd", run.rows) if of_servos(run) else None
    if told is None:
        raise InputError(
            f'{run.path}: the run has no gains of servos (torque signal "{POSITION_ERROR}"); '
            "import the log with "
            "--servo JOINT=GAIN and --column q_cmd.JOINT=NAME"
        )
    gains = run.record["import"]["servo_gains"]
    on = np.isfinite(told)
    goals = np.empty_like(told)
    for j, mask in enumerate(on.T):  # while a servo is off, its last set-point stays
        rows = np.flatnonzero(mask) if mask.any() else np.zeros(1, dtype=int)
        latest = np.searchsorted(rows, np.arange(len(mask)), "right") - 1
        goals[:, j] = np.nan_to_num(told[rows[np.maximum(latest, 0)], j])
    return ServoCommands(goals, on * np.array([float(gains[name]) for name in run.names]))
