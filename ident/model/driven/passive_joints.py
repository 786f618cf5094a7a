"""Friction of joints without a drive in a closed chain, in classes of alike joints.

A joint of one axis has load-dependent Coulomb friction and viscous friction. A spherical or
universal joint has a friction arm (`ball_friction`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from stribeck.ident.errors import InputError, unknown_name
from stribeck.ident.laws.law_table import law_named, unit
from stribeck.ident.model.driven.ball_friction import balls_rub
from stribeck.ident.model.joint_parts import JointFriction
from stribeck.ident.model.mechanism import Mechanism, PassiveJoints

LAW = "coulomb-viscous"
ARM = "friction_arm"


def parameters_of(joints: PassiveJoints, whole: Mechanism) -> tuple[str, ...]:
    """Return the names of the friction parameters of a class."""
    return (
        (ARM,)
        if joints.joints[0] in _balls(whole)
        else law_named(LAW).parameters(joints.load != "none")
    )


def unit_of(joints: PassiveJoints, parameter: str, whole: Mechanism) -> str:
    """Return the unit of a friction parameter of a class."""
    slides = parameter != ARM and bool(whole.prismatic[whole.names.index(joints.joints[0])])
    return unit(parameter, slides, joints.load)


def check_classes(whole: Mechanism, classes: Sequence[PassiveJoints]) -> None:
    """Check that classes of joints fit a closed chain.

    Raises
    ------
    InputError
        If a class does not fit; the message is one sentence that begins with the
        class and names the joint.
    """
    balls, single = _balls(whole), single_joints(whole)
    taken = dict[str, str]()
    for one in classes:
        for joint in one.joints:
            if joint not in (*single, *balls):
                raise InputError(
                    f"{one.name}: {unknown_name('joint without a drive', joint, (*single, *balls))}"
                )
            if joint in taken:
                of = (
                    f"belongs to {taken[joint]} already"
                    if taken[joint] != one.name
                    else "is named twice"
                )
                raise InputError(f"{one.name}: {joint} {of}; name each joint once, in one class")
            taken[joint] = one.name
            if (joint in balls) != (one.joints[0] in balls):
                raise InputError(
                    f"{one.name}: {one.joints[0]} and {joint} have different friction laws "
                    "because one of them is "
                    "spherical or universal; put the two kinds of joint in separate tables"
                )
            if (
                joint in single
                and one.load == "normal"
                and whole.bearings[whole.names.index(joint)] is None
            ):
                raise InputError(
                    f'{one.name}: load = "normal" needs a bearing of {joint} in the mechanism\'s '
                    "file; if the "
                    'bearing is unknown, use load = "radial"'
                )
        allowed = parameters_of(one, whole)
        for key in one.values:
            if key not in allowed:
                raise InputError(f"{one.name}: {unknown_name('parameter', key, allowed)}")


def single_joints(whole: Mechanism) -> tuple[str, ...]:
    """Return names of one-axis joints without a drive; massless inner links reveal the parts
    of joints of several axes.
    """
    nothing = (whole.mass == 0.0) & ~whole.inertia.any(axis=(1, 2))
    within = {j for j in whole.passive if nothing[j]}
    parts = (
        {j for ball in whole.balls for j in ball.joints}
        | within
        | {j for j in whole.passive if whole.parent[j] in within}
    )
    return tuple(whole.names[j] for j in whole.passive if j not in parts)


def with_friction(whole: Mechanism, classes: Sequence[PassiveJoints]) -> Mechanism:
    """Return the chain with the friction of the classes; other joints
    keep the friction of `whole`.
    """
    friction, arms = dict(whole.friction), dict[str, float]()
    for one in classes:
        parameters = {name: one.values.get(name, 0.0) for name in parameters_of(one, whole)}
        for joint in one.joints:
            if ARM in parameters:
                arms[joint] = parameters[ARM]
            else:
                friction[whole.names.index(joint)] = JointFriction(LAW, one.load, parameters)
    rubbing = {j: stated for j, stated in friction.items() if any(stated.parameters.values())}
    return replace(_with_arms(whole, arms), friction=rubbing)


def without_friction(whole: Mechanism, joints: Sequence[int] | None = None) -> Mechanism:
    """Return the chain without friction of `joints` (default: all joints), and of
    spherical and universal joints.
    """
    bare = range(whole.n) if joints is None else joints
    return replace(
        _with_arms(whole, dict.fromkeys(_balls(whole), 0.0)),
        friction={j: stated for j, stated in whole.friction.items() if j not in bare},
    )


def _with_arms(whole: Mechanism, arms: Mapping[str, float]) -> Mechanism:
    """Return the chain with other friction arms of spherical and universal joints."""
    return replace(
        whole,
        balls=tuple(
            replace(ball, friction_arm=arms.get(ball.name, ball.friction_arm))
            for ball in whole.balls
        ),
        closures=tuple(
            replace(one, friction_arm=arms.get(one.name, one.friction_arm))
            for one in whole.closures
        ),
    )


def rubs(whole: Mechanism) -> bool:
    """Tell whether any joint of a chain has friction."""
    return bool(whole.friction) or balls_rub(whole)


def _balls(whole: Mechanism) -> tuple[str, ...]:
    """Return the names of spherical and universal joints, and of spherical closures."""
    return (
        *(ball.name for ball in whole.balls),
        *(one.name for one in whole.closures if one.kind == "spherical"),
    )
