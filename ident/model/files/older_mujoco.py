"""Corrections of models that older releases of MuJoCo misread; current releases need none."""

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import mujoco

_CORRECT = 3, 14
_MOMENTS = ("ixx", "ixy", "ixz"), ("ixy", "iyy", "iyz"), ("ixz", "iyz", "izz")


def mujoco_release() -> tuple[int, ...]:
    """First two numbers of the version of MuJoCo that is imported."""
    import mujoco

    return tuple(int(number) for number in mujoco.__version__.split(".")[:2])


def correct_model(spec: "mujoco.MjSpec", text: str) -> None:
    """Give a specification what its file states and MuJoCo before 3.14 reads or compiles wrongly.

    MuJoCo merges inertias of fixed bodies rightly since 3.11, reads ``mimic`` of a URDF since 3.13 and the rotation of its
    ``inertial`` frames since 3.14.

    Parameters
    ----------
    spec : MjSpec
        As MuJoCo read it.
    text : str
        The URDF or MJCF.

    Raises
    ------
    ValueError
        If a joint mimics a joint without name, or a number is no number.
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
    """Let a joint that moves follow the joint that it mimics."""
    import mujoco

    name, mimic = joint.get("name", ""), joint.find("mimic")
    if mimic is None or joint.get("type") == "fixed" or name in (equality.name1 for equality in spec.equalities):
        return
    leader = mimic.get("joint")
    if leader is None:
        raise ValueError(f"joint {name} mimics a joint without name")
    equality = spec.add_equality(type=mujoco.mjtEq.mjEQ_JOINT, name1=name, name2=leader)
    equality.data[:2] = float(mimic.get("offset", "0")), float(mimic.get("multiplier", "1"))


def _state_inertia(spec: "mujoco.MjSpec", link: ET.Element) -> None:
    """State a link's inertia by its principal moments and their axes; the link that is the ground has no body."""
    import mujoco

    body, stated = spec.body(link.get("name", "")), link.find("inertial/inertia")
    if body is None or stated is None:
        return
    origin = link.find("inertial/origin")
    rpy = [float(angle) for angle in ("0 0 0" if origin is None else origin.get("rpy", "0 0 0")).split()]
    moments, axes = np.linalg.eigh([[float(stated.get(key, "0")) for key in row] for row in _MOMENTS])
    axes[:, 0] *= np.linalg.det(axes)
    frame, principal, turn = np.empty(4), np.empty(4), np.empty(4)
    mujoco.mju_euler2Quat(frame, rpy, "XYZ")            # about fixed axes
    mujoco.mju_mat2Quat(principal, axes.ravel())
    mujoco.mju_mulQuat(turn, frame, principal)
    body.inertia, body.iquat, body.fullinertia[:] = moments, turn, np.nan
