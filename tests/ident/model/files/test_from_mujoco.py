"""Models from URDF and MJCF against what Pinocchio and MuJoCo make of the same files."""

from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from stribeck import joint_loads, load_mechanism
from stribeck.ident.model.driven.driving_torques import driving_torque
from stribeck.ident.model.dynamics import inverse_dynamics
from stribeck.ident.model.joint_parts import Spring
from tests.model_texts import (
    BODY,
    MJCF_BODIES,
    WORKSHOP,
    assert_agrees_with_pinocchio,
    mjcf,
    written,
)
from tests.places import TEST_ARMS


@pytest.mark.parametrize("kind", MJCF_BODIES)
def test_mjcf_agrees_with_mujoco(kind: str, tmp_path: Path, mujoco: ModuleType) -> None:
    path = written(tmp_path, mjcf(MJCF_BODIES[kind]), "robot.xml")
    mechanism = load_mechanism(path)
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    rng = np.random.default_rng(0)
    q, dq, ddq = rng.normal(size=(3, 10, model.nv))
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    tau = inverse_dynamics(mechanism, q, dq, ddq)
    assert mechanism.names == tuple(model.joint(j).name for j in range(model.njnt))
    for k in range(len(q)):
        data.qpos[:], data.qvel[:], data.qacc[:] = q[k], dq[k], ddq[k]
        mujoco.mj_inverse(model, data)
        np.testing.assert_allclose(tau[k], data.qfrc_inverse, rtol=0, atol=1e-9)


def test_springs_of_an_mjcf_act_across_their_drives(
    tmp_path: Path, mujoco: ModuleType, caplog: pytest.LogCaptureFixture
) -> None:
    text = mjcf(
        f'<body><joint name="a" stiffness="30" damping="0.4"/>{BODY}<body pos="0.3 0 0.1"><joint '
        'name="b" axis="0 1 0" '
        f'damping="0.1" frictionloss="0.2"/>{BODY}<body><joint name="c" type="slide" axis="1 0 0" '
        f'stiffness="200"/>{BODY}'
        "</body></body></body>"
    )
    path = written(tmp_path, text, "robot.xml")
    mechanism = load_mechanism(path)
    assert mechanism.springs == {0: Spring(30.0, 0.4), 2: Spring(200.0)}
    assert mechanism.passive == ()
    assert {j: dict(stated.parameters) for j, stated in mechanism.friction.items()} == {
        1: {"coulomb": 0.2, "viscous": 0.1}
    }
    (warning,) = caplog.messages
    assert "joints a, c have springs" in warning
    model = mujoco.MjModel.from_xml_string(text.replace('damping="0.1" frictionloss="0.2"', ""))
    data = mujoco.MjData(model)
    q, dq, ddq = np.random.default_rng(0).normal(size=(3, 5, 3))
    tau = driving_torque(replace(mechanism, friction={}), q, dq, ddq).tau
    for k in range(5):
        data.qpos[:], data.qvel[:], data.qacc[:] = q[k], dq[k], ddq[k]
        mujoco.mj_inverse(model, data)
        np.testing.assert_allclose(tau[k], data.qfrc_inverse, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("joint", "body", "more", "said"),
    [
        ('stiffness="30" springref="0.2"', "", "", "springs of joints b are left out"),
        ('stiffness="30 2"', "", "", "springs of joints b are left out"),
        ('stiffness="30" damping="1 2"', "", "", "springs of joints b are left out"),
        (
            'stiffness="30"',
            "",
            '<equality><joint joint1="b" joint2="a"/></equality>',
            "springs of joints b are left out",
        ),
        ("", 'gravcomp="1"', "", "gravcomp of the links of joints b is left out"),
        (
            "",
            "",
            '<tendon><fixed name="cord" stiffness="5"><joint joint="b" coef="1"/></fixed></tendon>',
            "tendons cord are left",
        ),
        (
            "",
            "",
            '<tendon><fixed damping="5"><joint joint="b" coef="1"/></fixed></tendon>',
            "tendons 0 are left out",
        ),
    ],
)
def test_ignored_springs_and_forces_of_an_mjcf_are_named(
    joint: str, body: str, more: str, said: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text = mjcf(
        f'<body><joint name="a"/>{BODY}<body {body}><joint name="b" axis="0 1 0" '
        f"{joint}/>{BODY}</body></body>",
        more,
    )
    assert load_mechanism(written(tmp_path, text, "robot.xml")).springs == {}
    (warning,) = caplog.messages
    assert said in warning


@pytest.mark.parametrize(
    ("angle", "reach", "said"),
    [
        ("radian", "-70 70", "left (-70 to 70 rad), right (-70 to 70 rad) exceed two turns"),
        (
            "degree",
            "-1.2 1.2",
            "left (-0.02094 to 0.02094 rad), right (-0.02094 to 0.02094 rad) are narrower than "
            "0.11 rad",
        ),
        ("degree", "-70 70", ""),
        ("radian", "-1.2 1.2", ""),
        ("radian", "-12 12", ""),
        ("degree", "-900 900", ""),
    ],
)
def test_joint_ranges_in_a_wrong_unit_are_named(
    angle: str, reach: str, said: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Cranks of a closed chain, whose drives would else be stopped, or go nowhere, for no
    reason that anybody sees.
    """
    text = (
        (TEST_ARMS / "five-bar.xml")
        .read_text(encoding="utf-8")
        .replace('angle="degree"', f'angle="{angle}"')
    )
    text = text.replace(
        'range="-150 150"', 'range="-2.9 2.9"' if angle == "radian" else 'range="-150 150"'
    )
    load_mechanism(written(tmp_path, text.replace('range="-70 70"', f'range="{reach}"'), "bar.xml"))
    named = [message for message in caplog.messages if "check the model's unit" in message]
    assert len(named) == bool(said)
    assert all(said in message for message in named)


def test_a_tilted_base_body_in_an_mjcf_equals_tilted_gravity(
    tmp_path: Path, mujoco: ModuleType
) -> None:
    arm = (
        f'<joint name="a" axis="1 2 0"/>{BODY}<body pos="0 0.3 0"><joint name="b" '
        f'type="slide"/>{BODY}</body></body>'
    )
    quat, turn = np.array([0.8, 0.2, -0.4, 0.4]), np.empty(9)
    mujoco.mju_quat2Mat(turn, quat)
    straight = load_mechanism(written(tmp_path, mjcf("<body>" + arm), "straight.xml"))
    askew = load_mechanism(
        written(tmp_path, mjcf('<body pos="1 2 3" quat="0.8 0.2 -0.4 0.4">' + arm), "askew.xml"),
        gravity=turn.reshape(3, 3) @ straight.gravity,
    )
    motion = np.random.default_rng(0).normal(size=(3, 9, 2))
    one, other = joint_loads(straight, *motion), joint_loads(askew, *motion)
    for load in ("tau", "bending", "radial", "axial"):
        np.testing.assert_allclose(getattr(one, load), getattr(other, load), rtol=0, atol=1e-9)


def test_fixed_joints_slides_branches_and_turned_frames_agree_with_pinocchio(
    tmp_path: Path, pin: ModuleType
) -> None:
    path = written(tmp_path, WORKSHOP)
    mechanism = load_mechanism(path, gravity=(3.0, -4.0, -8.0))
    model = pin.buildModelFromUrdf(str(path))
    model.gravity.linear = np.array([3.0, -4.0, -8.0])
    assert set(mechanism.names) == {"turn", "slide", "tip", "lamp"}
    assert_agrees_with_pinocchio(mechanism, model, pin)


def test_joint_ranges_come_from_the_model(tmp_path: Path) -> None:
    mechanism = load_mechanism(written(tmp_path, WORKSHOP))
    ranges = dict(zip(mechanism.names, mechanism.position.tolist(), strict=True))
    assert ranges == {
        "turn": [-np.inf, np.inf],
        "slide": [-0.2, 0.6],
        "tip": [-1.0, 2.0],
        "lamp": [-1.5, 1.5],
    }


def test_an_arm_on_a_tilted_plate_equals_tilted_gravity(tmp_path: Path, pin: ModuleType) -> None:
    turn = pin.rpy.rpyToMatrix(0.3, 0.2, -0.4)
    down = np.array([0.0, 0.0, -9.81])
    straight = load_mechanism(
        written(tmp_path, WORKSHOP.replace('rpy="0.3 0.2 -0.4"', ""), "straight.urdf"), gravity=down
    )
    tilted = load_mechanism(written(tmp_path, WORKSHOP), gravity=turn @ down)
    upright = load_mechanism(tmp_path / "robot.urdf", gravity=down)
    motion = np.random.default_rng(0).normal(size=(3, 9, 4))
    one, other, wrong = (
        joint_loads(mechanism, *motion) for mechanism in (straight, tilted, upright)
    )
    for load in ("tau", "torque", "bending", "radial", "axial"):
        np.testing.assert_allclose(getattr(one, load), getattr(other, load), rtol=0, atol=1e-9)
        assert np.abs(getattr(one, load) - getattr(wrong, load)).max() > 0.1
    np.testing.assert_allclose(other.force, one.force @ turn.T, rtol=0, atol=1e-9)
