"""Between joints and the motors that move several of them: limits, commands and samples, turned from one to the other."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from stribeck.drivers.arm import Array, Command, JointSample, Resolution
from stribeck.ident.arm.arm_file import Limits
from stribeck.ident.model.transmission import Transmission


def limits_of_motors(limits: Limits, transmission: Transmission | None) -> Limits:
    """What motors may do so that joints can do what their limits allow, on the joints' side of each motor's gear."""
    if transmission is None:
        return limits
    ratios = transmission.ratios
    gain, push = np.abs(ratios), np.abs(np.linalg.inv(ratios)).T
    ends = ratios[:, :, None] * limits.position
    position = np.column_stack((ends.min(axis=2).sum(axis=1), ends.max(axis=2).sum(axis=1)))
    return Limits(position, gain @ limits.velocity, gain @ limits.acceleration, push @ limits.torque, limits.temperature,
                  gain @ limits.following_error)


def resolution_of_joints(resolution: Resolution, transmission: Transmission | None) -> Resolution:
    """Steps of joints by those of motors."""
    if transmission is None:
        return resolution
    way, push = np.abs(np.linalg.inv(transmission.ratios)), np.abs(transmission.ratios).T
    return replace(resolution, velocity_step=way @ resolution.velocity_step, position_step=way @ resolution.position_step,
                   torque_step=push @ resolution.torque_step)


def mixed_modes(command: Command, transmission: Transmission | None) -> str | None:
    """What makes a command impossible where joints share a motor; None if nothing does."""
    if transmission is None or command.mode is None:
        return None
    for motor in transmission.shared:
        moved = np.flatnonzero(transmission.ratios[motor])
        if len({command.mode[j] for j in moved}) > 1:
            names = [transmission.names[j] for j in moved]
            return (f"{' and '.join(names)} share the motor of {transmission.names[motor]}; all of them must be in the same "
                    "mode, torque or velocity")
    return None


def command_of_motors(command: Command, transmission: Transmission | None) -> Command:
    """Set-points of motors for those of joints."""
    if transmission is None:
        return command
    torque = None if command.torque is None else transmission.torque_of_motors(np.nan_to_num(command.torque))
    return replace(command, velocity=transmission.of_motors(command.velocity), torque=torque)


def sample_of_joints(sample: JointSample, transmission: Transmission | None) -> JointSample:
    """What joints do by what motors measured; status, temperature and raw torques stay those of the motors."""
    if transmission is None:
        return sample
    return replace(sample, q=_joined(transmission.of_joints, sample.q), dq=_joined(transmission.of_joints, sample.dq),
                   tau=_joined(transmission.torque_of_joints, sample.tau))


def _joined(turn: Callable[[Array], Array], values: Array) -> Array:
    """Values of joints by those of motors; what hangs on a motor that has not reported is not known."""
    known = np.isfinite(values)
    if known.all():
        return turn(values)
    out, lost = turn(np.where(known, values, 0.0)), turn(np.where(known, 0.0, 1.0)) != 0.0
    out[lost] = np.nan
    return out
