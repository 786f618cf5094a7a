"""Conversion of limits, commands and samples between joints and motors, for motors
that move several joints.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from stribeck.drivers.arm import Array, Command, JointSample, Resolution
from stribeck.ident.arm.arm_file import Limits
from stribeck.ident.model.transmission import Transmission


def limits_of_motors(limits: Limits, transmission: Transmission | None) -> Limits:
    """Return the limits of motors that let joints use their limits fully; values are on the joint
    side of each motor's gear.
    """
    if transmission is None:
        return limits
    ratios = transmission.ratios
    gain, push = np.abs(ratios), np.abs(np.linalg.inv(ratios)).T
    ends = ratios[:, :, None] * limits.position
    position = np.column_stack((ends.min(axis=2).sum(axis=1), ends.max(axis=2).sum(axis=1)))
    return Limits(
        position,
        gain @ limits.velocity,
        gain @ limits.acceleration,
        push @ limits.torque,
        limits.temperature,
        gain @ limits.following_error,
    )


def resolution_of_joints(resolution: Resolution, transmission: Transmission | None) -> Resolution:
    """Return the resolution of joints from the resolution of motors."""
    if transmission is None:
        return resolution
    way, push = np.abs(np.linalg.inv(transmission.ratios)), np.abs(transmission.ratios).T
    return replace(
        resolution,
        velocity_step=way @ resolution.velocity_step,
        position_step=way @ resolution.position_step,
        torque_step=push @ resolution.torque_step,
    )


def mixed_modes(command: Command, transmission: Transmission | None) -> str | None:
    """Return the reason why a command mixes modes of joints that share a
    motor; None if it does not.
    """
    if transmission is None or command.mode is None:
        return None
    for motor in transmission.shared:
        moved = np.flatnonzero(transmission.ratios[motor])
        if len({command.mode[j] for j in moved}) > 1:
            names = [transmission.names[j] for j in moved]
            return (
                f"{' and '.join(names)} share the motor of {transmission.names[motor]}; all of "
                "them must be in the same mode, torque or velocity"
            )
    return None


def command_of_motors(command: Command, transmission: Transmission | None) -> Command:
    """Return the set-points of motors from the set-points of joints."""
    if transmission is None:
        return command
    torque = (
        None
        if command.torque is None
        else transmission.torque_of_motors(np.nan_to_num(command.torque))
    )
    return replace(command, velocity=transmission.of_motors(command.velocity), torque=torque)


def sample_of_joints(sample: JointSample, transmission: Transmission | None) -> JointSample:
    """Return the sample of joints from the sample of motors; status, temperature and raw torques
    stay those of the motors.
    """
    if transmission is None:
        return sample
    return replace(
        sample,
        q=_joined(transmission.of_joints, sample.q),
        dq=_joined(transmission.of_joints, sample.dq),
        tau=_joined(transmission.torque_of_joints, sample.tau),
    )


def _joined(turn: Callable[[Array], Array], values: Array) -> Array:
    """Return values of joints from values of motors; nan for joints that depend
    on a motor without a value.
    """
    known = np.isfinite(values)
    if known.all():
        return turn(values)
    out, lost = turn(np.where(known, values, 0.0)), turn(np.where(known, 0.0, 1.0)) != 0.0
    out[lost] = np.nan
    return out
