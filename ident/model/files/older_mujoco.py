"""Corrections of models that older releases of MuJoCo misread; current
releases need no correction.
"""

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import mujoco

_CORRECT = 3, 14
_MOMENTS = ("ixx", "ixy", "ixz"), ("ixy", "iyy", "iyz"), ("ixz", "iyz", "izz")


def mujoco_release() -> tuple[int, ...]:
    """Return the first two numbers of the version of the imported MuJoCo."""
    import mujoco

    return tuple(int(number) for number in mujoco.__version__.split(".")[:2])


def correct_model(spec: "mujoco.MjSpec", text: str) -> None:
    """Correct a specification where MuJoCo before 3.14 reads or compiles its file wrongly.

    MuJoCo merges inertias of fixed bodies correctly since 3.11. It reads ``mimic`` of a URDF since
    3.13, and the rotation of ``inertial`` frames of a URDF since 3.14.

    Parameters
    ----------
    spec : MjSpec
        Specification as read by MuJoCo.
    text : str
        Text of the URDF or MJCF.

    Raises
    ------
    ValueError
        If a ``mimic`` names no joint, or if a value is not a number.
    """
    if mujoco_release() >= _CORRECT:
        return
    spec.compiler.fusestatic = False
    if "<robot" in text:
        robot = ET.fromstring(text)
        for joint in robot.findall("joint"):
            _couple(spec, joint)
        for link in robot.findall("link"):
            _state_inertia(spec, link)


def _couple(spec: "mujoco.MjSpec", joint: ET.Element) -> None:
    """Couple a moving joint to the joint that it mimics, by an equality constraint."""
    import mujoco

    name, mimic = joint.get("name", ""), joint.find("mimic")
    if (
        mimic is None
        or joint.get("type") == "fixed"
        or name in (equality.name1 for equality in spec.equalities)
    ):
        return
    leader = mimic.get("joint")
    if leader is None:
        raise ValueError(f"the <mimic> of joint {name} names no joint")
    equality = spec.add_equality(type=mujoco.mjtEq.mjEQ_JOINT, name1=name, name2=leader)
    equality.data[:2] = float(mimic.get("offset", "0")), float(mimic.get("multiplier", "1"))


def _state_inertia(spec: "mujoco.MjSpec", link: ET.Element) -> None:
    """Write a link's inertia as principal moments with their axes; the ground link
    has no body and is skipped.
    """
    import mujoco

    body, stated = spec.body(link.get("name", "")), link.find("inertial/inertia")
    if body is None or stated is None:
        return
    origin = link.find("inertial/origin")
    rpy = [
        float(angle)
        for angle in ("0 0 0" if origin is None else origin.get("rpy", "0 0 0")).split()
    ]
    moments, axes = np.linalg.eigh(
        [[float(stated.get(key, "0")) for key in row] for row in _MOMENTS]
    )
    axes[:, 0] *= np.linalg.det(axes)
    frame, principal, turn = np.empty(4), np.empty(4), np.empty(4)
    mujoco.mju_euler2Quat(frame, rpy, "XYZ")  # rotations about fixed axes
    mujoco.mju_mat2Quat(principal, axes.ravel())
    mujoco.mju_mulQuat(turn, frame, principal)
    body.inertia, body.iquat, body.fullinertia[:] = moments, turn, np.nan
