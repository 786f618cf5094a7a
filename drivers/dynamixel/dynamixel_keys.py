"""Keys of Dynamixel servos in the arm file, and the values for one servo that follow from them."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, PositiveFloat, PositiveInt

from stribeck.drivers.dynamixel.protocol2 import MODELS, NO_TORQUE, Model, Scale
from stribeck.drivers.wire.drive_keys import Keys, LinkKeys
from stribeck.drivers.wire.driven_joint import DrivenJoint
from stribeck.ident.errors import InputError, unknown_name

_FULL_CURRENT = 1.0 + 1e-6  # tolerance of rounding for a torque limit at full current


class DynamixelKeys(LinkKeys):
    """Keys of ``[driver]``."""

    port: str  # a device, a pty, or socket://host:port
    baud_rate: PositiveInt = 1_000_000
    # "current-based" also sets the torque limit in the servo
    profile: Literal["position", "current-based"] = "position"
    span: Annotated[float, Field(ge=0.02, le=1.0)] = 0.2  # s by which each goal lies ahead
    watchdog: Annotated[float, Field(ge=0.02, le=2.54)] = 0.2


class DriveKeys(Keys):
    """Keys of ``drive = {...}`` of a joint."""

    id: Annotated[int, Field(ge=0, le=252)]
    model: str  # one of protocol2.MODELS
    # turns of the horn per turn of the joint
    reduction: PositiveFloat = 1.0
    # N·m at the horn per A; default: the model's
    torque_constant: PositiveFloat | None = None


@dataclass(frozen=True)
class ServoConfig:
    """Data of one servo from the arm file.

    Attributes
    ----------
    joint : DrivenJoint
        The joint that the servo moves.
    keys : DynamixelKeys
        Keys of the line.
    drive : DriveKeys
        Keys of the servo.
    """

    joint: DrivenJoint
    keys: DynamixelKeys
    drive: DriveKeys

    @property
    def model(self) -> Model:
        """Data of the servo's model from the maker."""
        return MODELS[self.drive.model]

    @property
    def scale(self) -> Scale:
        """Scale between the servo's counts and the joint."""
        table = self.joint.table
        return Scale.of(
            self.model.current_step,
            self.drive.torque_constant or self.model.torque_constant,
            self.drive.reduction,
            table.direction,
            table.zero_offset,
        )

    def refuse_unfit(self) -> None:
        """Refuse servos that report no torque, and torque limits that the
        servo's current cannot reach.

        Raises
        ------
        InputError
        """
        joint, name = self.joint, self.drive.model
        if (series := name.partition("-")[0]) in NO_TORQUE:
            raise InputError(
                f"joints.{joint.name}.drive.model = {name!r}: this servo reports "
                f"{NO_TORQUE[series]}, from which "
                "friction cannot be identified; use a servo that reports its motor current"
            )
        if name not in MODELS:
            raise unknown_name(f"joints.{joint.name}.drive.model", name, MODELS)
        most = self.model.most_current * abs(self.scale.torque)
        if joint.torque > most * _FULL_CURRENT:
            raise InputError(
                f"joints.{joint.name}.torque = {joint.torque:g} {joint.torque_unit} exceeds the "
                f"largest torque that {name} can give at the joint, {most:.3g} "
                f"{joint.torque_unit}, so this limit could never trip. Lower torque, or correct "
                "model, reduction or torque_constant"
            )
