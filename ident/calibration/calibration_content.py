"""Content of a calibration file, as data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from stribeck.ident.arm.arm_tables import Tool, Vector
from stribeck.ident.calibration.joint_calibration import JointCalibration
from stribeck.ident.fit.arm.unknown_tool import UnknownTool
from stribeck.ident.fit.inertia.identified_inertia import IdentifiedInertia
from stribeck.ident.fit.inertia.motor_friction import NO_MOTORS, MotorFriction
from stribeck.ident.fit.inertia.passive_friction import NO_PASSIVE, PassiveFriction
from stribeck.ident.model.files.stated_loops import LoopTable, StatedChain


@dataclass(frozen=True)
class Model:
    """Rigid-body model from which the loads come.

    Attributes
    ----------
    file, sha256 : str
        Model file beside the calibration, and its digest.
    gravity : tuple of float
        [m/s²].
    tool, unknown_tool
        Tool that the arm file states, and tool that was identified.
    inertia : IdentifiedInertia, optional
        Identified inertia of the links, including tools; replaces that of the file.
    transmission : mapping of str to mapping of str to float
        Motors that move several joints: motor -> joint -> ratio.
    drives : tuple of str
        Joints with a drive, if a URDF or MJCF has loops.
    loops : tuple of LoopTable
        Loops that the arm file states for the model.
    passive : PassiveFriction
        Friction of a closed chain's passive joints, which its drives feel.
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
        """Drives and loops that are stated in addition to the model file, for a closed chain."""
        return StatedChain(self.drives, False, self.loops, f"the calibration's model {self.file}")


@dataclass(frozen=True)
class CalibrationContent:
    """Content of ``calibration.toml``.

    Attributes
    ----------
    arm, method, torque_basis : str
        Name of the arm, method of measurement, and basis of torques: "drive" as the drive reports
        them, "gravity-corrected" divided by the `torque_scale` of a joint.
    created : datetime
        Date of the fit.
    runs : tuple of dict
        Fitted runs: path, sha256, `tool` if it is not the model's, the run that this run
        `continues`, and `purpose` if the run was not fitted.
    model : Model
        Rigid-body model.
    fit : dict
        Options, seed and versions: enough to repeat every digit.
    joints : dict of str to JointCalibration
        Friction by joint.
    serial : str
        Serial number of the arm; empty if it is not stated.
    note : str
        The operator's notes on the runs, or on the fit.
    motors : MotorFriction
        Friction of motors that move several joints, if it was separated; friction
        of the joints excludes it.
    """

    arm: str
    created: datetime
    method: str
    torque_basis: str
    runs: tuple[dict[str, Any], ...]
    model: Model
    fit: dict[str, Any]
    joints: Mapping[str, JointCalibration]
    serial: str = field(default="", kw_only=True)
    note: str = field(default="", kw_only=True)
    motors: MotorFriction = field(default=NO_MOTORS, kw_only=True)

    @property
    def origin(self) -> str:
        """One line for exports: arm, serial number, date, temperature of the drives, version
        of stribeck, and the note.
        """
        known = [
            joint.temperature_range
            for joint in self.joints.values()
            if joint.temperature_range is not None
        ]
        ends = (
            f"{min(low for low, _ in known):.3g} to {max(high for _, high in known):.3g}"
            if known
            else ""
        )
        version = self.fit.get("versions", {}).get("stribeck", "")
        parts = (
            self.arm,
            self.serial and f"serial number {self.serial}",
            f"calibrated {self.created.isoformat()}",
            ends and f"drives at {ends} °C",
            version and f"stribeck {version}",
        )
        return ", ".join(filter(None, parts)) + (
            f"; note: {' '.join(self.note.split())}" if self.note else ""
        )
