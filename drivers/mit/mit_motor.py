"""The common part of MIT motors: keys of the arm file, and the conversion
between output shaft and joint.
"""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import PositiveFloat, model_validator

from stribeck.drivers.mit import mit_frames as mit
from stribeck.drivers.mit.mit_frames import Ranges, State
from stribeck.drivers.wire.axis import Steps
from stribeck.drivers.wire.drive_keys import Keys
from stribeck.drivers.wire.driven_joint import DrivenJoint
from stribeck.ident.errors import InputError


class MotorKeys(Keys):
    """Keys of ``drive = {...}`` that MIT motors share; `motors` maps motor names to the ranges
    that the maker publishes.
    """

    motors: ClassVar[Mapping[str, Ranges]]
    id: int
    motor: str | None = None  # name of the motor, which gives its ranges
    # or the ranges themselves: rad, rad/s, N·m
    ranges: tuple[PositiveFloat, PositiveFloat, PositiveFloat] | None = None
    # turns of the motor's output shaft per turn of the joint
    gear: PositiveFloat = 1.0

    @model_validator(mode="after")
    def _one_of_both(self) -> "MotorKeys":
        if (self.motor is None) == (self.ranges is None):
            raise ValueError("exactly one of motor and ranges is needed")
        if self.motor is not None and self.motor not in self.motors:
            raise ValueError(
                f"motor {self.motor!r} is not known; state ranges, or one of "
                f"{', '.join(self.motors)}"
            )
        return self

    @property
    def spans(self) -> Ranges:
        """Values of full fields."""
        return Ranges(*self.ranges) if self.ranges is not None else self.motors[self.motor or ""]


class Shaft:
    """Conversion between the motor's output shaft and the joint: gear, direction and zero."""

    def __init__(self, joint: DrivenJoint, keys: MotorKeys) -> None:
        self.joint, self.spans, self.gear = joint, keys.spans, keys.gear
        self._turn = joint.table.direction / keys.gear
        self._torque = joint.table.direction * keys.gear
        self._zero = joint.table.zero_offset
        self.steps = Steps(
            0.0,
            mit.step(self.spans.position, 16) / keys.gear,
            mit.step(self.spans.torque, 12) * keys.gear,
        )
        self._refuse_small_ranges()

    def measured(self, state: State) -> tuple[float, float, float]:
        """Position, velocity and torque of a state, at the joint."""
        q, dq, tau = state.si(self.spans)
        return q * self._turn + self._zero, dq * self._turn, tau * self._torque

    def position(self, q: float) -> float:
        """Position of the shaft at joint position q."""
        return (q - self._zero) / self._turn

    def velocity(self, dq: float) -> float:
        """Velocity of the shaft at joint velocity dq."""
        return dq / self._turn

    def torque(self, tau: float) -> float:
        """Torque of the shaft at joint torque tau."""
        return tau / self._torque

    def _refuse_small_ranges(self) -> None:
        """Refuse limits beyond the ranges: a field saturates without notice, so a breach of such
        a limit would not be seen.
        """
        joint, spans = self.joint, self.spans
        room = spans.position - mit.LOWEST * mit.step(spans.position, 16)
        for what, needed, span, unit in (
            ("position", max(abs(self.position(q)) for q in joint.position), room, "rad"),
            ("velocity", joint.velocity * self.gear, spans.velocity, "rad/s"),
            ("torque", joint.torque / self.gear, spans.torque, "N·m"),
        ):
            if not needed < span:
                raise InputError(
                    f"joints.{joint.name}.{what}: the limit is {needed:.4g} {unit} at the motor's "
                    f"shaft, but the motor's {what} range ends at {span:.4g} {unit}; lower the "
                    "limit, or correct motor, ranges or gear"
                )
