"""Checks that refuse unsupported joints, constraints and masses of a URDF or MJCF; messages
use the names of the file.
"""

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import numpy as np

from stribeck.ident.errors import ModelError, unknown_name
from stribeck.ident.model.files.link_inertia import stated_inertia
from stribeck.ident.model.files.mujoco_bodies import body_name

if TYPE_CHECKING:
    import mujoco

_MOST = 1e9  # kg, m, kg·m²: a larger number is a typing error
_MOVING = ("revolute", "continuous", "prismatic")
_SUPPORTED = "only revolute, continuous and prismatic joints of a mounted arm are supported"


def refuse_urdf_joints(text: str, name: str) -> None:
    """Refuse a URDF with an unsupported type of joint, or with a joint that mimics no
    moving joint; name the joint.
    """
    try:
        robot = ET.fromstring(text)
    except ET.ParseError:
        return  # MuJoCo says what is wrong
    names = [joint.get("name", "without name") for joint in robot.findall("joint")]
    for k, one in enumerate(names):
        if one in names[:k]:
            raise ModelError(
                f"{name}: two joints are called {one}; every joint needs a name of its own"
            )
    joints = dict(zip(names, robot.findall("joint"), strict=True))
    moving = [one for one, joint in joints.items() if joint.get("type") in _MOVING]
    for one, joint in joints.items():
        kind, mimic = joint.get("type"), joint.find("mimic")
        if kind is not None and kind not in (*_MOVING, "fixed"):
            raise ModelError(f"{name}: joint {one} is a {kind} joint; {_SUPPORTED}")
        if mimic is not None and one in moving and mimic.get("joint") == one:
            raise ModelError(f"{name}: joint {one} follows itself; let it follow another joint")
        if mimic is not None and one in moving and mimic.get("joint") not in (None, *moving):
            raise ModelError(
                f"{name}: joint {one} mimics "
                f"{unknown_name('joint', str(mimic.get('joint')), moving)}"
            )


def refuse_joints(spec: "mujoco.MjSpec", name: str) -> None:
    """Refuse a model that has no moving joint, or a floating, ball or nameless joint."""
    import mujoco

    kinds = {int(mujoco.mjtJoint.mjJNT_FREE): "floating", int(mujoco.mjtJoint.mjJNT_BALL): "ball"}
    if not spec.joints:
        raise ModelError(f"{name}: the model has no moving joint; at least one is needed")
    for j, joint in enumerate(spec.joints):
        if int(joint.type) in kinds:
            raise ModelError(
                f"{name}: joint {joint.name or j} is a {kinds[int(joint.type)]} joint; {_SUPPORTED}"
            )
        if not joint.name:
            raise ModelError(f"{name}: joint number {j} has no name; every moving joint needs one")


def refuse_unknown_ends(spec: "mujoco.MjSpec", name: str) -> None:
    """Refuse equality constraints between unknown parts: a copy of the specification
    would drop them silently.
    """
    import mujoco

    kinds = {
        int(kind): kind.name[5:].lower()
        for kind in (mujoco.mjtEq.mjEQ_CONNECT, mujoco.mjtEq.mjEQ_WELD, mujoco.mjtEq.mjEQ_JOINT)
    }
    for number, one in enumerate(spec.equalities):
        if int(one.type) in kinds and one.active:
            of_sites = int(one.objtype) == int(mujoco.mjtObj.mjOBJ_SITE)
            what, there = (
                ("joint", spec.joints)
                if kinds[int(one.type)] == "joint"
                else ("site", spec.sites)
                if of_sites
                else ("body", spec.bodies)
            )
            valid = [part.name for part in there if part.name]
            for end in (one.name1, one.name2):
                if end and end not in valid:
                    raise ModelError(
                        f"{name}: the {kinds[int(one.type)]} {one.name or number!r} of <equality>: "
                        f"{unknown_name(what, end, valid)}"
                    )


def refuse_masses(spec: "mujoco.MjSpec", name: str) -> None:
    """Refuse negative masses, and impossibly large masses, positions and inertias."""
    for body in spec.bodies[1:]:
        if not body.mass >= 0.0:
            raise ModelError(
                f"{name}: {body_name(body)} has a mass of {body.mass:g} kg; needed is a mass of "
                "at least 0"
            )
        # nan: the file states no value
        stated = np.array([body.mass, *body.pos, *body.ipos, *stated_inertia(body).ravel()])
        if (np.abs(stated) > _MOST).any():
            raise ModelError(
                f"{name}: mass, position or inertia of {body_name(body)} is impossibly large; "
                "correct this number"
            )
