"""Torques of the drives in a simulated run: as recorded, or by references, velocity
set-points or set-points of servos.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from scipy.integrate import cumulative_trapezoid

from stribeck.ident.arrays import Array
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.errors import InputError
from stribeck.ident.log.motion.filtered_motion import Stretch
from stribeck.ident.log.run import Run
from stribeck.ident.servo.joint_servo import JointServo
from stribeck.ident.servo.servo_commands import servo_commands
from stribeck.ident.simulators.servo_gains import ServoGains

Torques = Callable[[int, Array, Array], Array]  # of a step, at a position and velocity
Drive = Callable[[Stretch, Array], Torques]  # for a section, and the times of all its steps


def by_torques(calibration: Calibration, names: tuple[str, ...]) -> Drive:
    """Recorded torques, which the signal may show as late as the calibration found."""
    joints = [calibration.joints.get(name) for name in names]
    late = [
        0.0
        if joint is None
        or (found := joint.gravity.get("delay")) is None
        or found.verdict == "unidentifiable"
        else found.value or 0.0
        for joint in joints
    ]

    def drive(part: Stretch, times: Array) -> Torques:
        at = np.column_stack(
            [
                np.interp(times + own, part.t, column)
                for own, column in zip(late, part.tau.T, strict=True)
            ]
        )
        return lambda step, q, dq: np.asarray(at[step])

    return drive


def by_references(run: Run, told: Array, gains: Mapping[str, ServoGains], delay: float) -> Drive:
    """Torques with which the drives follow the references `told`, shape (N, n),
    that act a delay late [s].
    """
    position, velocity, reference, constant = (
        np.array([getattr(gains[name], key) for name in run.names])
        for key in ("position", "velocity", "reference", "constant")
    )

    def drive(part: Stretch, times: Array) -> Torques:
        wanted = np.column_stack([np.interp(times - delay, run.t, column) for column in told.T])
        fixed = (
            position * wanted
            + reference * np.gradient(wanted, times[1] - times[0], axis=0)
            + constant
        )
        return lambda step, q, dq: np.asarray(fixed[step] - position * q - velocity * dq)

    return drive


def by_velocities(run: Run, told: Array, gains: Mapping[str, ServoGains]) -> Drive:
    """Torques with which velocity loops follow the set-points `told`, shape (N, n); integrals
    are as they were on average.
    """
    position, velocity, reference = (
        np.array([getattr(gains[name], key) for name in run.names])
        for key in ("position", "velocity", "reference")
    )

    def fixed(times: Array) -> Array:
        rate = np.column_stack([np.interp(times, run.t, column) for column in told.T])
        return np.asarray(
            position * cumulative_trapezoid(rate, times, axis=0, initial=0) + reference * rate
        )

    def drive(part: Stretch, times: Array) -> Torques:
        level = np.mean(part.tau - fixed(part.t) + position * part.q + velocity * part.dq, axis=0)
        at = fixed(times) + level
        return lambda step, q, dq: np.asarray(at[step] - position * q - velocity * dq)

    return drive


def servos_of(run: Run, calibration: Calibration) -> list[JointServo]:
    """Return the servo of each joint of a run.

    Raises
    ------
    InputError
        If the calibration does not know one of them.
    """
    known = {
        name: joint.servo for name, joint in calibration.joints.items() if joint.servo is not None
    }
    if without := [name for name in run.names if name not in known]:
        raise InputError(
            f"{run.path} has set-points of servos, but the calibration of {calibration.arm} knows "
            f"no servo of {', '.join(without)}; fit runs with --signal commands"
        )
    return [known[name] for name in run.names]


def by_servos(run: Run, servos: Sequence[JointServo]) -> tuple[dict[str, ServoGains], Drive]:
    """Greatest gains of the servos, and their torques; a servo that is off has none, and the
    damping of its motor with it.
    """
    per_gain, back, late = (
        np.array([servo.of(key) for servo in servos])
        for key in ("torque_per_gain", "back_emf", "servo_delay")
    )
    commands = servo_commands(run)
    stiff, damps = per_gain * commands.gains, back * (commands.gains > 0.0)

    def drive(part: Stretch, times: Array) -> Torques:
        row = np.clip(np.searchsorted(run.t, times, "right") - 1, 0, run.rows - 1)
        wanted = np.column_stack(
            [
                np.interp(times - own, run.t, column)
                for own, column in zip(late, commands.goals.T, strict=True)
            ]
        )
        return lambda step, q, dq: np.asarray(
            stiff[row[step]] * (wanted[step] - q) - damps[row[step]] * dq
        )

    return {
        name: ServoGains(float(stiff[:, j].max()), float(back[j]), 0.0)
        for j, name in enumerate(run.names)
    }, drive
