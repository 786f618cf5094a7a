"""What a calibration file holds, as data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from stribeck.ident.arm.arm_file import Tool, Vector
from stribeck.ident.calibration.joint_calibration import JointCalibration
from stribeck.ident.fit.arm.unknown_tool import UnknownTool
from stribeck.ident.fit.inertia.identified_inertia import IdentifiedInertia
from stribeck.ident.fit.inertia.motor_friction import NO_MOTORS, MotorFriction
from stribeck.ident.fit.inertia.passive_friction import NO_PASSIVE, PassiveFriction
from stribeck.ident.model.files.stated_loops import LoopTable, StatedChain


@dataclass(frozen=True)
class Model:
    """Which rigid-body model the loads come from.

    Attributes
    ----------
    file, sha256 : str
        File beside the calibration, and its digest.
    gravity : tuple of float
        [m/s²].
    tool, unknown_tool
        Stated by the arm file, and found.
    inertia : IdentifiedInertia, optional
        Of the links, tools among them, in place of the file's.
    transmission : mapping of str to mapping of str to float
        Motors that move several joints, and how: motor -> joint -> ratio.
    drives : tuple of str
        Joints with a drive, where a URDF or MJCF has loops.
    loops : tuple of LoopTable
        Loops that the arm file states for it.
    passive : PassiveFriction
        Friction of a closed chain's joints without a drive, which its drives feel.
    """

    file: str
    sha256: str
    gravity: Vector
    tool: Tool
    unknown_tool: UnknownTool = field(default_factory=UnknownTool)
    inertia: IdentifiedInertia | None = None
    transmission: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    drives: tuple[str, ...] = ()
    loops: tuple[LoopTable, ...] = ()
    passive: PassiveFriction = NO_PASSIVE

    @property
    def stated_chain(self) -> StatedChain:
        """What is stated beside the file of the closed chain that it may be."""
        return StatedChain(self.drives, False, self.loops, f"the calibration's model {self.file}")


@dataclass(frozen=True)
class CalibrationContent:
    """What ``calibration.toml`` holds.

    Attributes
    ----------
    arm, method, torque_basis : str
        Which arm, how it was measured, and which torque the numbers are in: "drive" as it reports it, "gravity-corrected"
        divided by `torque_scale` of the joints that have one.
    created : datetime
        When it was fitted.
    runs : tuple of dict
        Runs it rests on: path, sha256, `tool` where it is not the model's, the run that it `continues`, its `purpose` where that
        is not to be fitted.
    model : Model
        Rigid-body model.
    fit : dict
        Options, seed and versions: enough to repeat every digit.
    joints : dict of str to JointCalibration
        Friction by joint.
    motors : MotorFriction
        Friction of motors that move several joints, where it was told apart from that of the joints; it is not in theirs.
    """

    arm: str
    created: datetime
    method: str
    torque_basis: str
    runs: tuple[dict[str, Any], ...]
    model: Model
    fit: dict[str, Any]
    joints: Mapping[str, JointCalibration]
    motors: MotorFriction = field(default=NO_MOTORS, kw_only=True)
