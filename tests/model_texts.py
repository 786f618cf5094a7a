"""Texts of URDF, MJCF and mechanism files for tests, and Pinocchio as judge of
the resulting mechanisms.
"""

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from stribeck.ident.arm.built_in import data_dir
from stribeck.ident.model.dynamics import inverse_dynamics, joint_wrenches

LAB6 = data_dir() / "arms" / "lab6" / "lab6.urdf"
GRAVITIES = [(0.0, 0.0, -9.81), (0.0, 9.81, 0.0), (3.0, -4.0, -8.0), (0.0, 0.0, 0.0)]
# turned frames, slanted axes, a slide, a fixed joint in the middle and one at the end, a
# branch, a mounting plate
WORKSHOP = """<?xml version="1.0"?>
<robot name="workshop">
  <link name="world"/>
  <joint name="plate" type="fixed"><parent link="world"/><child link="base"/>
    <origin xyz="0.1 0.2 0.3" rpy="0.3 0.2 -0.4"/></joint>
  <link name="base"><inertial><origin xyz="0 0 0.1"/><mass value="9"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="turn" type="continuous"><parent link="base"/><child link="column"/>
    <origin xyz="0.1 0.05 0.2" rpy="0.1 -0.7 0.4"/><axis xyz="0.2 0.1 1"/></joint>
  <link name="column"><inertial><origin xyz="0.02 0.1 0.05" rpy="0.5 0.1 -0.2"/><mass value="3"/>
    <inertia ixx="0.03" iyy="0.04" izz="0.05" ixy="0.002" ixz="-0.003" iyz="0.004"/></inertial></link>
  <joint name="bracket" type="fixed"><parent link="column"/><child link="rail"/>
    <origin xyz="0.2 -0.1 0.3" rpy="-1.1 0.3 0.9"/></joint>
  <link name="rail"><inertial><origin xyz="0 0.04 -0.05" rpy="0.2 0 0"/><mass value="1.5"/>
    <inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0.001" iyz="0"/></inertial></link>
  <joint name="slide" type="prismatic"><parent link="rail"/><child link="carriage"/>
    <origin xyz="0.05 0 0.1" rpy="0 0.8 0"/><axis xyz="1 0.5 0"/>
    <limit lower="-0.2" upper="0.6" velocity="1" effort="100"/></joint>
  <link name="carriage"><inertial><origin xyz="0.1 0 0"/><mass value="2"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="tip" type="revolute"><parent link="carriage"/><child link="hand"/>
    <origin xyz="0 0.3 0" rpy="0.4 0.4 0.4"/><axis xyz="0 0 -1"/>
    <limit lower="-1" upper="2" velocity="1" effort="100"/></joint>
  <link name="hand"><inertial><origin xyz="0.05 0.02 0.1"/><mass value="0.8"/>
    <inertia ixx="0.002" iyy="0.003" izz="0.002" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="flange" type="fixed"><parent link="hand"/><child link="gripper"/>
    <origin xyz="0 0.1 0.2" rpy="0 1.5 0.5"/></joint>
  <link name="gripper"><inertial><origin xyz="0.01 0 0.03" rpy="1 0 0"/><mass value="0.6"/>
    <inertia ixx="0.001" iyy="0.002" izz="0.002" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="lamp" type="revolute"><parent link="rail"/><child link="shade"/>
    <origin xyz="-0.1 0.2 0"/><axis xyz="0 1 0"/><limit lower="-1.5" upper="1.5" velocity="1" effort="10"/></joint>
  <link name="shade"><inertial><origin xyz="0.2 0 0"/><mass value="0.3"/>
    <inertia ixx="0.001" iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
</robot>
"""
INERTIAL = (
    '<inertial><origin xyz="0.1 0 0"/><mass value="1"/>'
    '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>'
)
BODY = '<inertial pos="0 0 0.1" mass="1" diaginertia="1 1 1"/>'
MJCF_BODIES = {
    "two joints on a body": """<body name="a" pos="0.1 0.2 0.3" quat="1 1 0 0.3">
        <joint name="a1" pos="0.1 0.2 0.3" axis="1 1 0"/><joint name="a2" type="slide" axis="0 1 1"/>
        <inertial pos="0 0.1 0.1" mass="1" diaginertia="0.1 0.1 0.1" quat="1 0.2 0.3 0"/>
        <body pos="0 0.3 0" euler="1 2 3"><joint name="b" pos="0 0.1 0" axis="0 0 1"/>
        <inertial pos="0.1 0 0.1" mass="2" diaginertia="0.1 0.2 0.25"/></body></body>""",
    "reference angle": """<body><joint name="a" axis="0 1 0" ref="0.7"/>
        <inertial pos="0.3 0 0.1" mass="1" diaginertia="0.1 0.1 0.1"/></body>""",
    "welded child": """<body><joint name="a" axis="0 1 0"/>
        <inertial pos="0.3 0 0.1" mass="1" diaginertia="0.1 0.1 0.1"/>
        <body pos="0.5 0 0" euler="0.3 0.2 0.1">
        <inertial pos="0.1 0.2 0" mass="2" diaginertia="0.1 0.2 0.25"/></body></body>""",
    "mass from geometry": """<body><joint name="a" axis="0 1 0"/>
        <geom type="capsule" size="0.05" fromto="0 0 0 0.4 0 0.2"/>
        <geom type="sphere" size="0.1" pos="0.4 0 0.2" mass="2"/>
        <body pos="0.5 0 0" euler="0.3 0.2 0.1"><joint name="b" axis="1 0 0"/>
        <inertial pos="0.1 0.2 0" mass="2" diaginertia="0.1 0.2 0.25"/>
        <geom type="box" size="0.1 0.1 0.1"/></body></body>""",
}
CHAIN = (
    f'<body><joint name="a"/>{BODY}<body><joint name="b"/>{BODY}<body><joint '
    f'name="c"/>{BODY}</body></body></body>'
)
FOLLOW = '<equality><joint joint1="b" joint2="a" {}/></equality>'
TREE = """
schema = 1
name = "crane"
gravity = [0.0, 0.0, -10.0]
[[joints]]
name = "mast"
parent = "ground"
type = "revolute"
axis = [0.0, 0.0, 2.0]
origin = [0.0, 0.0, 1.0]
mass = 5.0
com = [0.0, 0.0, 0.5]
inertia = [0.3, 0.3, 0.1, 0.01, 0.02, 0.03]
[[joints]]
name = "trolley"
parent = "mast"
type = "prismatic"
axis = [1.0, 0.0, 0.0]
origin = [0.5, 0.0, 1.0]
mass = 2.0
com = [0.0, 0.0, -0.2]
inertia = [0.1, 0.1, 0.1, 0.0, 0.0, 0.0]
bearing = { pin_radius = 0.01, friction_arm = 0.05, bending_arm = 0.2 }
"""


def written(folder: Path, text: str, name: str = "robot.urdf") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def two_links(
    first: str = INERTIAL, second: str = INERTIAL, kind: str = "revolute", more: str = ""
) -> str:
    limit = '<limit lower="-1" upper="1" velocity="1" effort="1"/>'
    return (
        f'<robot name="r"><link name="base"/><link name="upper">{first}</link><link '
        f'name="lower">{second}</link><joint name="shoulder" type="revolute"><parent '
        f'link="base"/><child link="upper"/><axis xyz="0 1 0"/>{limit}</joint><joint name="elbow" '
        f'type="{kind}"><parent link="upper"/><child link="lower"/><origin xyz="1 0 0"/><axis '
        f'xyz="0 1 0"/>{limit}{more}</joint></robot>'
    )


def mjcf(body: str, more: str = "") -> str:
    return (
        '<mujoco><compiler angle="radian"/><option gravity="1 2 '
        f'-3"/><worldbody>{body}</worldbody>{more}</mujoco>'
    )


def assert_agrees_with_pinocchio(mechanism: object, model: object, pin: ModuleType) -> None:
    """Compare torques and all wrenches at random states; Pinocchio may
    have another order of joints.
    """
    rng = np.random.default_rng(0)
    data = model.createData()
    q, dq, ddq = rng.normal(size=(3, 15, mechanism.n))
    tau, ours = inverse_dynamics(mechanism, q, dq, ddq), joint_wrenches(mechanism, q, dq, ddq)
    joints = [model.joints[model.getJointId(name)] for name in mechanism.names]
    assert model.njoints == mechanism.n + 1
    for k in range(len(q)):
        posture, v, a = pin.neutral(model), np.zeros(model.nv), np.zeros(model.nv)
        for j, joint in enumerate(joints):
            posture[joint.idx_q] = q[k, j] if joint.nq == 1 else np.cos(q[k, j])
            # a continuous joint is cosine and sine
            if joint.nq == 2:
                posture[joint.idx_q + 1] = np.sin(q[k, j])
            v[joint.idx_v], a[joint.idx_v] = dq[k, j], ddq[k, j]
        reference = pin.rnea(model, data, posture, v, a).copy()
        pin.forwardKinematics(model, data, posture)
        for j, joint in enumerate(joints):
            turn, wrench = data.oMi[joint.id].rotation, data.f[joint.id]
            assert tau[k, j] == pytest.approx(reference[joint.idx_v], abs=1e-9)
            np.testing.assert_allclose(ours.force[k, j], turn @ wrench.linear, rtol=0, atol=1e-9)
            np.testing.assert_allclose(ours.moment[k, j], turn @ wrench.angular, rtol=0, atol=1e-9)
