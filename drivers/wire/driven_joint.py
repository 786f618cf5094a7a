"""A joint as seen by its drive: limits, gear, sign and zero from the arm file."""

from dataclasses import dataclass

from stribeck.drivers.arm import Array
from stribeck.ident.arm.arm_file import ArmFile, Limits
from stribeck.ident.arm.arm_tables import JointTable
from stribeck.ident.errors import InputError
from stribeck.ident.model.mechanism import Mechanism


@dataclass(frozen=True)
class DrivenJoint:
    """Data of one joint from the arm file that its axis needs. SI, joint side.

    Attributes
    ----------
    name : str
        The joint's name.
    position : tuple of float
        Lower and upper limit.
    velocity, acceleration, torque : float
        Largest magnitudes.
    table : JointTable
        The joint's table in the arm file: direction, zero_offset, gear_ratio, stop.
    position_unit, torque_unit : str
        "rad" and "N·m", or "m" and "N".
    """

    name: str
    position: tuple[float, float]
    velocity: float
    acceleration: float
    torque: float
    table: JointTable
    position_unit: str = "rad"
    torque_unit: str = "N·m"

    @property
    def small(self) -> float:
        """Factor from thresholds in rad to the joint's own unit: 1 for joints that
        turn, 0.1 for slides, in m.
        """
        return 1.0 if self.position_unit == "rad" else 0.1

    @property
    def falls(self) -> bool:
        """Whether only the drive's power holds the joint."""
        return self.table.stop == "hold"

    @property
    def gear(self) -> float:
        """Motor revolutions per joint revolution, for drives that count at the motor.

        Raises
        ------
        InputError
            If the arm file does not state gear_ratio.
        """
        if self.table.gear_ratio is None:
            raise InputError(
                f"joints.{self.name}.gear_ratio is missing: this drive counts motor revolutions; "
                "state 1.0 if there "
                "is no gear, and for a slide 2 pi over the travel per motor revolution [m]"
            )
        return self.table.gear_ratio


def read_joints(arm: ArmFile, mechanism: Mechanism, limits: Limits) -> tuple[DrivenJoint, ...]:
    """Return the data of each joint that its axis needs."""

    def row(values: Array, j: int) -> float:
        return float(values[j])

    return tuple(
        DrivenJoint(
            name,
            (float(limits.position[j, 0]), float(limits.position[j, 1])),
            row(limits.velocity, j),
            row(limits.acceleration, j),
            row(limits.torque, j),
            arm.joint(name),
            mechanism.position_unit(j),
            mechanism.unit(j),
        )
        for j, name in enumerate(mechanism.names)
    )
