"""Random mechanisms, one of them with a follower, and Pinocchio as their judge."""

from types import ModuleType

import numpy as np

from stribeck.ident.model.mechanism import Mechanism

# a gripper: the right finger turns as the left one slides
HAND = """<?xml version="1.0"?>
<robot name="hand">
  <link name="base"/>
  <joint name="wrist" type="continuous"><parent link="base"/><child link="palm"/>
    <origin xyz="0.1 0.05 0.2" rpy="0.1 -0.7 0.4"/><axis xyz="0.2 1 1"/></joint>
  <link name="palm"><inertial><origin xyz="0.02 0.1 0.05" rpy="0.5 0.1 -0.2"/><mass value="1.2"/>
    <inertia ixx="0.03" iyy="0.04" izz="0.05" ixy="0.002" ixz="-0.003" iyz="0.004"/></inertial></link>
  <joint name="left" type="prismatic"><parent link="palm"/><child link="left finger"/>
    <origin xyz="0 0.02 0.1" rpy="0.3 0 0.2"/><axis xyz="0 1 0.2"/><limit lower="0" upper="0.1" velocity="1" effort="1"/></joint>
  <link name="left finger"><inertial><origin xyz="0 0.04 0.1" rpy="0.2 0 0"/><mass value="0.7"/>
    <inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0.001" iyz="0"/></inertial></link>
  <joint name="right" type="revolute"><parent link="palm"/><child link="right finger"/>
    <origin xyz="0.01 -0.02 0.1" rpy="0 0.8 0"/><axis xyz="1 0.5 0"/><limit lower="-1" upper="1" velocity="1" effort="1"/>
    <mimic joint="left" multiplier="-6.5" offset="0.3"/></joint>
  <link name="right finger"><inertial><origin xyz="0.1 0 0.2"/><mass value="0.9"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.015" ixy="0" ixz="0" iyz="0.001"/></inertial></link>
</robot>
"""


def rotation(rng: np.random.Generator) -> np.ndarray:
    """A random proper rotation."""
    q, r = np.linalg.qr(rng.normal(size=(3, 3)))
    q *= np.sign(np.diag(r))
    return q if np.linalg.det(q) > 0.0 else -q


def tree(seed: int, n: int = 8) -> Mechanism:
    """Random branching tree; a third of its joints slide; every link is a cloud of point masses."""
    rng = np.random.default_rng(seed)
    axis = rng.normal(size=(n, 3))
    mass, com, inertia = np.zeros(n), np.zeros((n, 3)), np.zeros((n, 3, 3))
    for j in range(n):
        masses, points = rng.uniform(0.1, 1.0, 6), rng.normal(scale=0.3, size=(6, 3))
        mass[j], com[j] = masses.sum(), masses @ points / masses.sum()
        for m, r in zip(masses, points - com[j], strict=True):
            inertia[j] += m * (r @ r * np.eye(3) - np.outer(r, r))
    parent = (-1, *(int(rng.integers(-1, j)) for j in range(1, n)))
    return Mechanism(
        f"tree {seed}",
        tuple(f"joint{j}" for j in range(n)),
        parent,
        prismatic=rng.random(n) < 1.0 / 3.0,
        axis=axis / np.linalg.norm(axis, axis=1, keepdims=True),
        origin=rng.normal(scale=0.5, size=(n, 3)),
        mass=mass,
        com=com,
        inertia=inertia,
        gravity=rng.normal(scale=8.0, size=3),
        position=np.tile([-np.inf, np.inf], (n, 1)),
        bearings=(None,) * n,
    )


def states(seed: int, n: int, samples: int = 9) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1000 + seed)
    return (
        rng.uniform(-3.0, 3.0, (samples, n)),
        rng.normal(size=(samples, n)),
        rng.normal(scale=3.0, size=(samples, n)),
    )


class Pinocchio:
    """The same tree in Pinocchio: torques, wrenches on the subtrees in base axes, origins."""

    def __init__(self, pin: ModuleType, m: Mechanism) -> None:
        self.pin, self.model = pin, pin.Model()
        for j in range(m.n):
            kind = (
                pin.JointModelPrismaticUnaligned
                if m.prismatic[j]
                else pin.JointModelRevoluteUnaligned
            )
            placed = pin.SE3(np.eye(3), m.origin[j])
            joint = self.model.addJoint(m.parent[j] + 1, kind(m.axis[j]), placed, m.names[j])
            self.model.appendBodyToJoint(
                joint, pin.Inertia(m.mass[j], m.com[j], m.inertia[j]), pin.SE3.Identity()
            )
        self.model.gravity.linear = m.gravity
        self.data = self.model.createData()

    def __call__(self, q: np.ndarray, dq: np.ndarray, ddq: np.ndarray) -> tuple[np.ndarray, ...]:
        tau = self.pin.rnea(self.model, self.data, q, dq, ddq).copy()
        self.pin.forwardKinematics(self.model, self.data, q)  # rnea leaves oMi as it was
        placed, on_joint = list(self.data.oMi)[1:], list(self.data.f)[1:]
        force = np.array([oMi.rotation @ f.linear for oMi, f in zip(placed, on_joint, strict=True)])
        moment = np.array(
            [oMi.rotation @ f.angular for oMi, f in zip(placed, on_joint, strict=True)]
        )
        return tau, force, moment, np.array([oMi.translation for oMi in placed])
