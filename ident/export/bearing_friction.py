"""Friction of bearings as MotionSolve and Adams state it: coefficients, pin radius and arms
of Eq. 47, preload torque.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from xml.sax.saxutils import quoteattr

from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.calibration.joint_calibration import JointCalibration
from stribeck.ident.errors import InputError
from stribeck.ident.export.approximation import (
    approximate,
    calibrated_range,
    other_losses,
    slowest_speed,
)
from stribeck.ident.export.result import Export, number
from stribeck.ident.export.shared_motors import motor_losses, passive_losses
from stribeck.ident.laws.law_table import law_named
from stribeck.ident.model.joint_parts import Bearing


@dataclass(frozen=True)
class BearingFriction:
    """Friction of one revolute joint, mu N + preload, with the normal load N of Eq. 47.

    Attributes
    ----------
    joint : str
        Name.
    mu_static, mu_dynamic : float
        Friction coefficients; zero without a coefficient.
    bearing : Bearing, optional
        Pin radius and arms; None without a coefficient.
    preload : float
        Dry friction without load [N·m].
    transition : float
        Velocity on the surface of the pin below which friction is static [m/s]; of the joint
        without a bearing [rad/s].
    viscous : float
        Viscous coefficient [N·m·s/rad], which the element does not have.
    rms, worst : float
        Error over the calibrated range, with the viscous part [N·m].
    """

    joint: str
    mu_static: float
    mu_dynamic: float
    bearing: Bearing | None
    preload: float
    transition: float
    viscous: float
    rms: float
    worst: float


def to_motionsolve(calibration: Calibration) -> Export:
    """Return a ``Force_JointFriction`` of Altair MotionSolve for each joint; errors as `_exported`.

    References
    ----------
    Altair MotionSolve reference guide, model statement Force_JointFriction.
    """
    return _exported(
        calibration, "Force_JointFriction", ".motionsolve.xml", _in_motionsolve, "<!-- ", " -->"
    )


def to_adams(calibration: Calibration) -> Export:
    """Return a ``FRICTION`` statement of Adams Solver for each joint; errors as `_exported`.

    References
    ----------
    Adams Solver, C++ statements, FRICTION.
    """
    return _exported(calibration, "FRICTION", ".friction.adm", _in_adams, "! ", "")


def _exported(
    calibration: Calibration,
    element: str,
    suffix: str,
    statement: Callable[[int, BearingFriction], str],
    begin: str,
    end: str,
) -> Export:
    """Return the statements for all joints whose friction a bearing can have.

    Raises
    ------
    InputError
        If there is none.
    """
    names, sliding = calibration.mechanism.names, calibration.mechanism.prismatic
    unfit = {
        name: why
        for name, joint in calibration.joints.items()
        if (why := _unfit(joint, bool(sliding[names.index(name)])))
    }
    found = [
        _friction(name, joint) for name, joint in calibration.joints.items() if name not in unfit
    ]
    told = ", ".join(f"{name} ({why})" for name, why in unfit.items())
    if not found:
        raise InputError(
            f"{element} has friction that is constant or grows with the normal load of a bearing, "
            f"and no joint of this calibration has such friction: {told}; state the bearings in "
            "the arm file and fit with --load normal, or export to urdf, json or c"
        )
    head = (
        f"Joint friction of {calibration.origin}.",
        "Units are m, kg, s, N and rad: convert them if your model has others.",
        "Set the ids of elements and joints to those of your model.",
        "Preload: dry friction without load. Viscous friction is not part of the element: add a "
        "rotational damper.",
    )
    lines = [f"{begin}{_plain(line)}{end}" for line in head]
    for k, one in enumerate(found, 1):
        lines += [
            f"{begin}{_plain(one.joint)}: viscous {number(one.viscous)} N m s/rad{end}",
            statement(k, one),
        ]
    apart = [name for name, joint in calibration.joints.items() if joint.directional != "none"]
    lost = (
        [f"{element} leaves out joints whose friction a bearing does not have: {told}"]
        * bool(unfit)
        + [f"{element} leaves out the difference between the directions ({', '.join(apart)})"]
        * bool(apart)
        + [
            f"{element} has static friction below and dynamic friction above a velocity, in place "
            "of the law; viscous friction is a comment: add a damper",
            "rms error over the calibrated range, with the damper: "
            + ", ".join(f"{one.joint} {one.rms:.2g} (worst {one.worst:.2g}) N·m" for one in found),
        ]
    )
    return Export(
        "\n".join(lines) + "\n",
        suffix,
        (
            *lost,
            *other_losses(calibration, element),
            *motor_losses(calibration, element),
            *passive_losses(calibration, element),
        ),
    )


def _plain(text: str) -> str:
    """Return a text that ends no comment: without hyphens side by side."""
    return re.sub("-(?=-)", "- ", text)


def _unfit(joint: JointCalibration, slides: bool) -> str:
    """Return why a bearing does not have the friction of a joint, or ""."""
    if slides:
        return "it slides"
    if joint.load == "none" or (joint.load == "normal" and joint.bearing is not None):
        return ""
    return f"it grows with the load {joint.load}"


def _friction(name: str, joint: JointCalibration) -> BearingFriction:
    """Return the friction of a joint as a bearing has it."""
    values, range_ = joint.values, calibrated_range(joint)
    near = approximate(joint)
    knee = law_named(joint.law).knee
    slow = values[knee] if knee else slowest_speed(joint)
    if joint.load == "none" or joint.bearing is None:
        return BearingFriction(
            name, 0.0, 0.0, None, near.friction, slow, near.damping, near.rms, near.worst
        )
    dynamic = values.get("coulomb_coefficient", 0.0)
    rest = range_.friction - values["coulomb"] - dynamic * range_.load
    viscous = max(0.0, float(rest @ range_.speed / (range_.speed @ range_.speed)))
    return BearingFriction(
        name,
        values.get("static_coefficient", dynamic),
        dynamic,
        joint.bearing,
        values["coulomb"],
        slow * joint.bearing.pin_radius,
        viscous,
        *range_.errors(values["coulomb"] + dynamic * range_.load + viscous * range_.speed),
    )


def _in_motionsolve(k: int, one: BearingFriction) -> str:
    fields = {
        "id": str(k),
        "label": one.joint,
        "joint_id": str(k),
        "mu_static": number(one.mu_static),
        "mu_dynamic": number(one.mu_dynamic),
        "stiction_trans_vel": number(one.transition),
        "torque_preload": number(one.preload),
    }
    if one.bearing is not None:
        fields |= {
            "friction_arm": number(one.bearing.friction_arm),
            "bending_reaction_arm": number(one.bearing.bending_arm),
            "pin_radius": number(one.bearing.pin_radius),
        }
    width = max(map(len, fields))
    return "\n".join(
        [
            "<Force_JointFriction",
            *(f"     {key.ljust(width)} = {quoteattr(value)}" for key, value in fields.items()),
            "/>",
        ]
    )


def _in_adams(k: int, one: BearingFriction) -> str:
    fields = {
        "JOINT": str(k),
        "MU_STATIC": number(one.mu_static),
        "MU_DYNAMIC": number(one.mu_dynamic),
        "STICTION_TRANSITION_VELOCITY": number(one.transition),
        "FRICTION_TORQUE_PRELOAD": number(one.preload),
    }
    if one.bearing is not None:
        fields |= {
            "FRICTION_ARM": number(one.bearing.friction_arm),
            "BENDING_REACTION_ARM": number(one.bearing.bending_arm),
            "PIN_RADIUS": number(one.bearing.pin_radius),
        }
    return f"FRICTION/{k}\n" + "\n".join(f", {key} = {value}" for key, value in fields.items())
