"""Joints that others move, against Pinocchio and MuJoCo."""

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from stribeck import joint_loads, load_mechanism
from stribeck.ident.errors import InputError, ModelError
from stribeck.ident.model.dynamics import inverse_dynamics, joint_wrenches
from stribeck.ident.model.files.mimic_joints import hold_followers
from stribeck.ident.model.files.urdf_mjcf import model_spec
from tests.judges import HAND
from tests.model_texts import BODY, FOLLOW, INERTIAL, mjcf, two_links, written

TIP = (
    """<joint name="tip" type="revolute"><parent link="right finger"/><child link="nail"/><origin xyz="0 0.03 0.2"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="1" velocity="1" effort="1"/>
    <mimic joint="{}" multiplier="{}" offset="{}"/></joint>
  <link name="nail">"""
    + INERTIAL
    + "</link></robot>"
)


def test_a_mimic_joint_loads_its_leader_and_the_joints_that_carry_it(
    tmp_path: Path, pin: ModuleType
) -> None:
    path = written(tmp_path, HAND)
    mechanism = load_mechanism(path, gravity=(3.0, -4.0, -8.0))
    assert mechanism.names == ("wrist", "left")
    model = pin.buildModelFromUrdf(str(path), mimic=True)
    model.gravity.linear = np.array([3.0, -4.0, -8.0])
    data = model.createData()
    q, dq, ddq = np.random.default_rng(0).normal(size=(3, 15, 2))
    loads, held = (
        joint_loads(mechanism, q, dq, ddq),
        joint_loads(mechanism, q * [1.0, 0.0], dq * [1.0, 0.0], ddq * [1.0, 0.0]),
    )
    # where the fingers are does matter
    assert np.abs(loads.bending[:, 0] - held.bending[:, 0]).max() > 0.1
    for k in range(len(q)):
        posture = np.array([np.cos(q[k, 0]), np.sin(q[k, 0]), q[k, 1]])
        np.testing.assert_allclose(
            loads.tau[k], pin.rnea(model, data, posture, dq[k], ddq[k]), rtol=0, atol=1e-9
        )
        pin.forwardKinematics(model, data, posture)
        for j in range(2):
            turn, wrench = data.oMi[j + 1].rotation, data.f[j + 1]
            np.testing.assert_allclose(loads.force[k, j], turn @ wrench.linear, rtol=0, atol=1e-9)
            np.testing.assert_allclose(loads.moment[k, j], turn @ wrench.angular, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(loads.torque, np.abs(loads.tau))
    np.testing.assert_allclose(
        inverse_dynamics(mechanism, q, dq, ddq), loads.tau, rtol=0, atol=1e-12
    )
    # joint_wrenches must not ignore followers
    with pytest.raises(
        ModelError, match=r"right follows left and is not an independent joint; use mechanism\.tree"
    ):
        joint_wrenches(mechanism, q)


def test_a_follower_may_sit_on_its_leader(tmp_path: Path) -> None:
    """An upper and a lower link of 1 kg with their centres 0.1 m out; the elbow, 1 m out, turns
    twice as far, the other way.
    """
    path = written(
        tmp_path, two_links(more='<mimic joint="shoulder" multiplier="-2" offset="0.5"/>')
    )
    mechanism = load_mechanism(path)
    q = np.linspace(-1.0, 1.0, 5)
    lower = 0.5 - 2.0 * q  # turns about y: down is positive
    slope = -9.81 * (0.1 * np.cos(q) + np.cos(q) + 0.1 * np.cos(q + lower) * (1.0 - 2.0))
    np.testing.assert_allclose(
        joint_loads(mechanism, q[:, None]).tau[:, 0], slope, rtol=0, atol=1e-9
    )


def test_a_follower_of_a_follower_follows_the_first_leader(tmp_path: Path) -> None:
    chain = load_mechanism(
        written(tmp_path, HAND.replace("</robot>", TIP.format("right", 0.5, -0.2)), "chain.urdf")
    )
    direct = load_mechanism(
        written(tmp_path, HAND.replace("</robot>", TIP.format("left", -3.25, -0.05)), "direct.urdf")
    )
    motion = np.random.default_rng(0).normal(size=(3, 9, 2))
    assert [one.name for one in chain.followers] == ["right", "tip"]
    np.testing.assert_allclose(
        joint_loads(chain, *motion).tau, joint_loads(direct, *motion).tau, rtol=0, atol=1e-10
    )


def test_followers_of_an_mjcf_have_the_positions_of_mujoco(
    tmp_path: Path, mujoco: ModuleType
) -> None:
    """Joint equality counts from the reference positions and may hold a joint at a value."""
    text = mjcf(
        f'<body><joint name="a" ref="0.4"/>{BODY}<body><joint name="b" axis="0 1 0" '
        f'ref="-0.3"/>{BODY}</body></body><body><joint name="c" axis="1 0 0"/>{BODY}</body>',
        '<equality><joint joint1="b" joint2="a" polycoef="0.1 -2 0 0 0"/><joint joint1="c" '
        'polycoef="0.7 0 0 0 0"/><connect body1="body" anchor="0 0 0" active="false"/></equality>',
    ).replace("<body>", '<body name="body">', 1)
    path = written(tmp_path, text, "robot.xml")
    mechanism = load_mechanism(path)
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    data.qpos[0] = 1.3
    data.qpos[1:] = [one.ratio * 1.3 + one.shift for one in mechanism.followers]
    mujoco.mj_fwdPosition(model, data)
    assert (mechanism.names, [one.name for one in mechanism.followers], data.ne) == (
        ("a",),
        ["b", "c"],
        2,
    )
    np.testing.assert_allclose(data.efc_pos, 0.0, atol=1e-12)


def test_arrays_have_no_columns_for_followers(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"q has shape \(4, 3\), robot needs \(N, 2\) with columns wrist, left"
    ):
        joint_loads(load_mechanism(written(tmp_path, HAND)), np.zeros((4, 3)))


def test_a_fixed_follower_has_its_position_for_a_leader_at_zero(
    tmp_path: Path, mujoco: ModuleType
) -> None:
    """What the simulated arm moves: its torques are those of the model as long as
    the gripper rests at zero.
    """
    path = written(tmp_path, HAND)
    mechanism = load_mechanism(path, gravity=(3.0, -4.0, -8.0))
    spec = model_spec(path)
    hold_followers(spec)
    spec.option.gravity = mechanism.gravity
    model = spec.compile()
    data = mujoco.MjData(model)
    assert tuple(model.joint(j).name for j in range(model.njnt)) == mechanism.names
    q, dq, ddq = np.random.default_rng(0).normal(size=(3, 9, 2)) * [1.0, 0.0]
    tau = joint_loads(mechanism, q, dq, ddq).tau
    for k in range(len(q)):
        data.qpos[:], data.qvel[:], data.qacc[:] = q[k], dq[k], ddq[k]
        mujoco.mj_inverse(model, data)
        assert tau[k, 0] == pytest.approx(data.qfrc_inverse[0], abs=1e-9)


def test_a_follower_that_shares_its_body_cannot_be_fixed(tmp_path: Path) -> None:
    text = mjcf(
        f'<body><joint name="a"/><joint name="b" axis="0 1 0"/>{BODY}</body>', FOLLOW.format("")
    )
    spec = model_spec(written(tmp_path, text, "robot.xml"))
    with pytest.raises(ModelError, match="joint b shares its body"):
        hold_followers(spec)
