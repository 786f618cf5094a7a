"""Motors of the simulated arm that move several joints, as MuJoCo tendons with the motor's
rotor inertia and friction.

The length of a fixed tendon is the travel of the motor. Its dry friction, damping and armature act
on every joint that it spans.
"""

from dataclasses import dataclass

import mujoco
import numpy as np

from stribeck.drivers.arm import Array
from stribeck.drivers.simulation.simulated_drive import Friction
from stribeck.drivers.simulation.truth import Truth, armature
from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.model.transmission import Transmission

# as stiff as for joints: friction keeps its level and sticks at rest
_SOLIMP = 0.9999, 0.9999, 0.001, 0.5, 2.0


@dataclass(frozen=True)
class SharedMotors:
    """Indices of the motors that move several joints in MuJoCo's model.

    Attributes
    ----------
    motors : tuple of int
        Numbers of these motors among all motors of the arm.
    tendons : ndarray of int, shape (m,)
        Tendons of these motors.
    ratios : ndarray, shape (m, n)
        Travel of each motor per travel of each joint.
    """

    motors: tuple[int, ...]
    tendons: np.ndarray
    ratios: Array

    @classmethod
    def none(cls, joints: int) -> "SharedMotors":
        """Return the object for an arm in which each joint has a motor of its own."""
        return cls((), np.zeros(0, dtype=int), np.zeros((0, joints)))

    def frictions(self, truth: Truth, dt: float) -> list[Friction]:
        """Return the true friction of each motor."""
        return [Friction(truth.motors[motor], 0.0, dt) for motor in self.motors]


def add_tendons(spec: "mujoco.MjSpec", transmission: Transmission | None) -> None:
    """Add a tendon for every motor that moves several joints."""
    if transmission is None:
        return
    for motor in transmission.shared:
        tendon = spec.add_tendon(name=_tendon(transmission.names[motor]))
        for joint in np.flatnonzero(transmission.ratios[motor]):
            tendon.wrap_joint(transmission.names[joint], transmission.ratios[motor, joint])


def shared_motors(
    model: "mujoco.MjModel", arm: ArmFile, names: tuple[str, ...], truth: Truth
) -> SharedMotors:
    """Return the motors of a compiled model.

    Their rotor inertia moves from the joint to the tendon, and their friction gets the
    stiffness of joint friction.
    """
    transmission = arm.transmission_of(names)
    if transmission is None:
        return SharedMotors.none(len(names))
    motors = transmission.shared
    tendons = np.array([model.tendon(_tendon(names[motor])).id for motor in motors], dtype=int)
    model.tendon_solimp_fri[tendons] = _SOLIMP
    for motor, tendon in zip(motors, tendons, strict=True):
        model.tendon_armature[tendon] = armature(arm, names[motor], truth.joints[motor])
        model.dof_armature[model.joint(names[motor]).dofadr[0]] = 0.0
    return SharedMotors(motors, tendons, transmission.ratios[list(motors)])


def _tendon(motor: str) -> str:
    """Return MuJoCo's name of a motor's tendon."""
    return f"{motor} motor"
