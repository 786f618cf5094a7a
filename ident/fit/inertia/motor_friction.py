"""Friction of motors that move several joints, as it was found: what it adds to the torques of the joints."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.laws.law_table import law_named
from stribeck.ident.laws.parameter import Parameter, verdict
from stribeck.ident.log.motion.filtered_motion import Log
from stribeck.ident.model.transmission import Transmission

INERTIA = "inertia"
_SCALED = 0.02          # of torque against gravity, from which a joint's scale is not 1


@dataclass(frozen=True)
class RubbingMotor:
    """Friction of a motor, and its inertia beside that which the arm file states.

    Attributes
    ----------
    law : str
        Of its friction, on the joints' side of its gear.
    parameters : mapping of str to Parameter
        Of the law, and `INERTIA`.
    velocity_range : tuple of float
        Speeds of the motor that the data covered [rad/s or m/s].
    """

    law: str
    parameters: Mapping[str, Parameter]
    velocity_range: tuple[float, float]

    @property
    def values(self) -> dict[str, float]:
        """Parameters of the law."""
        return {name: float(self.parameters[name].value or 0.0) for name in law_named(self.law).parameters(False)}

    def torque(self, rate: Array) -> Array:
        """Friction at velocities of the motor, shapes alike [N·m or N]."""
        return law_named(self.law).torque(rate, self.values)


@dataclass(frozen=True)
class MotorFriction:
    """Friction of the motors that move several joints, by motor, as far as it was told apart from that of their joints."""

    motors: Mapping[str, RubbingMotor] = field(default_factory=dict)

    def moves(self, transmission: Transmission | None, joint: str) -> bool:
        """Whether one of them moves a joint."""
        return transmission is not None and any(
            transmission.ratios[transmission.names.index(name), transmission.names.index(joint)] != 0.0 for name in self.motors)

    def torque(self, transmission: Transmission, dq: Array, ddq: Array | None = None) -> Array:
        """What the motors add to the torques of the joints, shape (N, n) [N·m or N].

        Parameters
        ----------
        transmission : Transmission
            Of the arm.
        dq : ndarray, shape (N, n)
            Velocities of the joints.
        ddq : ndarray, shape (N, n), optional
            Accelerations; without them, friction alone is counted.
        """
        rate, torque = transmission.of_motors(dq), np.zeros(np.shape(dq))
        for name, motor in self.motors.items():
            k = transmission.names.index(name)
            torque[..., k] = motor.torque(rate[..., k])
            if ddq is not None:
                torque[..., k] += float(motor.parameters[INERTIA].value or 0.0) * transmission.of_motors(ddq)[..., k]
        return transmission.torque_of_joints(torque)

    def doubted(self, transmission: Transmission | None, scales: Mapping[str, Parameter]) -> "MotorFriction":
        """The same where torques of its joints are not to one scale: each tells of the motor in its own.

        Parameters
        ----------
        transmission : Transmission, optional
            Of the arm.
        scales : mapping of str to Parameter
            Torque over gravity of the joints that show it.
        """
        if transmission is None:
            return self
        off = {name: one.value - 1.0 for name, one in scales.items() if one.value is not None and one.half_width is not None
               and abs(one.value - 1.0) > max(one.half_width, _SCALED)}
        motors = {}
        for name, motor in self.motors.items():
            row = transmission.ratios[transmission.names.index(name)]
            apart = {joint: off[joint] for joint, ratio in zip(transmission.names, row, strict=True) if ratio and joint in off}
            motors[name] = motor if not apart else replace(motor, parameters={
                key: _wider(one, max(map(abs, apart.values())), apart) for key, one in motor.parameters.items()})
        return replace(self, motors=motors)

    def left_out_of(self, log: Log) -> Log:
        """A log with the torques that its joints would have without these motors."""
        return replace(log, stretches=tuple(
            part if (coupled := part.mechanism.transmission) is None
            else replace(part, tau=part.tau - self.torque(coupled, part.dq, part.ddq)) for part in log.stretches))


def _wider(one: Parameter, part: float, apart: Mapping[str, float]) -> Parameter:
    """A parameter with an interval that is wider by a part of it, known weakly at best."""
    if one.value is None or one.low is None or one.high is None:
        return one
    low, high = max(0.0, one.low - part * one.value), one.high + part * one.value
    word = verdict(one.value, low, high)
    scaled = ", ".join(f"{joint}: {1.0 + off:.2f}" for joint, off in apart.items())
    return replace(one, low=low, high=high, verdict="weak" if word == "identified" else word,
                   note=f"measured torque over gravity torque is not 1 ({scaled}); the interval is widened accordingly")


NO_MOTORS = MotorFriction()
