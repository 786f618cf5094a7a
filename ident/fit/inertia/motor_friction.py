"""Identified friction of motors that move several joints, and its
contribution to the joint torques.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.laws.law_table import law_named
from stribeck.ident.laws.parameter import Parameter, verdict
from stribeck.ident.log.motion.filtered_motion import Log
from stribeck.ident.model.transmission import Transmission

INERTIA = "inertia"
# deviation of measured over gravity torque above which a joint's scale differs from 1
_SCALED = 0.02


@dataclass(frozen=True)
class RubbingMotor:
    """Friction of a motor, and its inertia in addition to the inertia that the arm file states.

    Attributes
    ----------
    law : str
        Friction law, on the joints' side of the gear.
    parameters : mapping of str to Parameter
        Parameters of the law, and `INERTIA`.
    velocity_range : tuple of float
        Lowest and highest speed of the motor in the data [rad/s or m/s].
    """

    law: str
    parameters: Mapping[str, Parameter]
    velocity_range: tuple[float, float]

    @property
    def values(self) -> dict[str, float]:
        """Values of the law's parameters; 0 where a parameter has no value."""
        return {
            name: float(self.parameters[name].value or 0.0)
            for name in law_named(self.law).parameters(False)
        }

    def torque(self, rate: Array) -> Array:
        """Return friction at velocities `rate` of the motor, same shape [N·m or N]."""
        return law_named(self.law).torque(rate, self.values)


@dataclass(frozen=True)
class MotorFriction:
    """Friction of the motors that move several joints, for motors whose friction was separated
    from that of their joints.
    """

    motors: Mapping[str, RubbingMotor] = field(default_factory=dict)

    def moves(self, transmission: Transmission | None, joint: str) -> bool:
        """Return True if one of the motors moves the joint."""
        return transmission is not None and any(
            transmission.ratios[transmission.names.index(name), transmission.names.index(joint)]
            != 0.0
            for name in self.motors
        )

    def torque(self, transmission: Transmission, dq: Array, ddq: Array | None = None) -> Array:
        """Return the motors' contribution to the joint torques, shape (N, n) [N·m or N].

        Parameters
        ----------
        transmission : Transmission
            Ratios between motors and joints of the arm.
        dq : ndarray, shape (N, n)
            Velocities of the joints.
        ddq : ndarray, shape (N, n), optional
            Accelerations of the joints; without them, the contribution of inertia is left out.
        """
        rate, torque = transmission.of_motors(dq), np.zeros(np.shape(dq))
        for name, motor in self.motors.items():
            k = transmission.names.index(name)
            torque[..., k] = motor.torque(rate[..., k])
            if ddq is not None:
                inertia = float(motor.parameters[INERTIA].value or 0.0)
                torque[..., k] += inertia * transmission.of_motors(ddq)[..., k]
        return transmission.torque_of_joints(torque)

    def doubted(
        self, transmission: Transmission | None, scales: Mapping[str, Parameter]
    ) -> "MotorFriction":
        """Return the friction with wider intervals for motors whose joints have a
        torque scale other than 1.

        A wrong torque scale of a joint changes the motor's friction by the same factor.

        Parameters
        ----------
        transmission : Transmission, optional
            Ratios between motors and joints of the arm.
        scales : mapping of str to Parameter
            Measured torque over gravity torque, for joints where gravity determines this scale.
        """
        if transmission is None:
            return self
        off = {
            name: one.value - 1.0
            for name, one in scales.items()
            if one.value is not None
            and one.half_width is not None
            and abs(one.value - 1.0) > max(one.half_width, _SCALED)
        }
        motors = {}
        for name, motor in self.motors.items():
            row = transmission.ratios[transmission.names.index(name)]
            apart = {
                joint: off[joint]
                for joint, ratio in zip(transmission.names, row, strict=True)
                if ratio and joint in off
            }
            motors[name] = (
                motor
                if not apart
                else replace(
                    motor,
                    parameters={
                        key: _wider(one, max(map(abs, apart.values())), apart)
                        for key, one in motor.parameters.items()
                    },
                )
            )
        return replace(self, motors=motors)

    def left_out_of(self, log: Log) -> Log:
        """Return the log with joint torques reduced by the contribution of these motors."""
        return replace(
            log,
            stretches=tuple(
                part
                if (coupled := part.mechanism.transmission) is None
                else replace(part, tau=part.tau - self.torque(coupled, part.dq, part.ddq))
                for part in log.stretches
            ),
        )


def _wider(one: Parameter, part: float, apart: Mapping[str, float]) -> Parameter:
    """Return the parameter with an interval widened by `part` of its value; its
    verdict is "weak" at best.
    """
    if one.value is None or one.low is None or one.high is None:
        return one
    low, high = max(0.0, one.low - part * one.value), one.high + part * one.value
    word = verdict(one.value, low, high)
    scaled = ", ".join(f"{joint}: {1.0 + off:.2f}" for joint, off in apart.items())
    return replace(
        one,
        low=low,
        high=high,
        verdict="weak" if word == "identified" else word,
        note=f"measured torque over gravity torque is not 1 ({scaled}); the interval is widened "
        "accordingly",
    )


NO_MOTORS = MotorFriction()
