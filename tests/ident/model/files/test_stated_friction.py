"""Friction and armature that a URDF or MJCF states, in motion: MuJoCo, with the same file,
and closed forms as judges.
"""

from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from stribeck import load_mechanism
from stribeck.ident.arm.arm_file import load_arm
from stribeck.ident.model.driven.driving_torques import driving_torque
from stribeck.ident.model.driven.forward_simulation import acceleration, forward_motion
from stribeck.ident.model.energy import mechanical_energy
from tests.model_texts import BODY, mjcf, two_links, written
from tests.places import TEST_ARMS

SLIDE = """<robot name="sled"><link name="base"/><link name="sled"><inertial><mass value="2"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="way" type="prismatic"><parent link="base"/><child link="sled"/><axis xyz="1 0 0"/>
<limit lower="-9" upper="9" effort="9" velocity="9"/><dynamics {}/></joint></robot>"""


@pytest.mark.slow
def test_damping_and_armature_of_an_mjcf_move_as_in_mujoco(
    tmp_path: Path, mujoco: ModuleType
) -> None:
    """A chain of two hinges and a slide under torques that change, by
    Runge-Kutta steps of 0.1 ms there.
    """
    path = written(
        tmp_path,
        mjcf(
            f'<body><joint name="a" axis="0 1 0" damping="0.6" armature="0.3"/>{BODY}<body '
            'pos="0.3 0 0.1"><joint name="b" '
            f'axis="1 0 0" damping="0.2"/>{BODY}<body>'
            '<joint name="c" type="slide" axis="1 0 0" armature="0.5" '
            f'damping="3"/>{BODY}</body></body>'
            "</body>"
        ),
        "robot.xml",
    )
    mechanism, t = load_mechanism(path), np.linspace(0.0, 0.5, 6)
    start = np.array([0.4, -0.3, 0.1]), np.array([1.0, 2.0, -0.5])
    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.timestep, model.opt.integrator = 1e-4, mujoco.mjtIntegrator.mjINT_RK4
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = start
    data.qfrc_applied[:] = tau = np.array([3.0, -1.0, 2.0])
    found = [data.qpos.copy()]
    for _ in t[1:]:
        mujoco.mj_step(model, data, 1000)
        found.append(data.qpos.copy())
    motion = forward_motion(mechanism, lambda t, q, dq: tau, *start, t, tolerance=1e-10)
    np.testing.assert_allclose(motion.q, found, rtol=0, atol=1e-7)
    for lacking in ({"friction": {}}, {"rotors": None}):
        assert (
            np.abs(
                forward_motion(replace(mechanism, **lacking), lambda t, q, dq: tau, *start, t).q
                - found
            ).max()
            > 1e-2
        )
    energy = mechanical_energy(mechanism, motion.q, motion.dq)
    np.testing.assert_allclose(energy - energy[0], motion.driven - motion.rubbed, rtol=0, atol=1e-7)


def test_a_sled_with_stated_coulomb_friction_stops_at_the_expected_position(tmp_path: Path) -> None:
    r"""Under F + d v it slows by :math:`v = (v_0 + F/d) e^{-d t/m} - F/d`, and then stays."""
    path = written(tmp_path, SLIDE.format('friction="3" damping="4"'), "sled.urdf")
    mass, coulomb, viscous, speed = 2.0, 3.0, 4.0, 1.5
    stops = mass / viscous * np.log(1.0 + speed * viscous / coulomb)
    t = np.array([0.0, 0.3 * stops, 0.9 * stops, 1.5 * stops, 10.0])
    motion = forward_motion(
        load_mechanism(path, gravity=(0.0, 0.0, -9.81)), lambda t, q, dq: [0.0], [0.0], [speed], t
    )
    (event,) = motion.events
    assert (event.what, event.t) == ("sticks", pytest.approx(stops, rel=1e-9))
    left, ratio = np.minimum(t, stops), coulomb / viscous
    way = (speed + ratio) * mass / viscous * (1.0 - np.exp(-viscous * left / mass)) - ratio * left
    np.testing.assert_allclose(motion.q[:, 0], way, rtol=0, atol=1e-8)


def test_a_leader_s_drive_carries_the_friction_of_its_followers(tmp_path: Path) -> None:
    """Power is the same: the elbow, which turns twice as fast the other way, adds 2 F and 4 d,
    as it does 4 A of inertia.
    """
    text = two_links(
        more='<dynamics friction="0.5" damping="0.3"/><mimic joint="shoulder" multiplier="-2" '
        'offset="0.5"/>'
    )
    mechanism = load_mechanism(written(tmp_path, text))
    driving = driving_torque(mechanism, [[0.1], [0.1]], [[0.7], [-0.7]], [[0.0], [0.0]])
    np.testing.assert_allclose(driving.friction[:, 0], [1.0 + 0.84, -1.0 - 0.84], rtol=1e-12)
    path = written(
        tmp_path,
        mjcf(
            f'<body><joint name="a" armature="0.1"/>{BODY}<body><joint name="b" axis="0 1 0" '
            f'armature="0.2"/>{BODY}</body></body>',
            '<equality><joint joint1="b" joint2="a" polycoef="0 -2 0 0 0"/></equality>',
        ),
        "robot.xml",
    )
    np.testing.assert_allclose(load_mechanism(path).rotors, [[0.9]])


def test_armatures_of_a_closed_chain_act_as_in_mujoco(tmp_path: Path, mujoco: ModuleType) -> None:
    """Accelerations from rest, by MuJoCo's mass matrix and the Jacobian of its constraint."""
    text = (
        (TEST_ARMS / "five-bar.xml")
        .read_text(encoding="utf-8")
        .replace('armature="0"', 'armature="0.004"')
    )
    path = written(tmp_path, text.replace('frictionloss="0.3"', ""), "bar.xml")
    mechanism, model = load_mechanism(path), mujoco.MjModel.from_xml_path(str(path))
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    data, M = mujoco.MjData(model), np.zeros((model.nv, model.nv))
    mujoco.mj_fwdPosition(model, data)
    mujoco.mj_fwdVelocity(model, data)
    for column, unit in zip(M, np.eye(model.nv), strict=True):
        mujoco.mj_mulM(model, data, column, unit)
    J, tau = data.efc_J.reshape(-1, model.nv)[: data.ne], np.zeros(model.nv)
    tau[[model.joint(name).id for name in ("left", "right")]] = 1.5, -0.4
    motion = np.linalg.svd(J)[2][np.linalg.matrix_rank(J, tol=1e-9) :].T
    expected = motion @ np.linalg.solve(motion.T @ M @ motion, motion.T @ (tau - data.qfrc_bias))
    found = acceleration(mechanism, np.zeros(mechanism.n), np.zeros(mechanism.n), tau)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * np.abs(expected).max())
    bare = acceleration(
        replace(mechanism, rotors=None), np.zeros(mechanism.n), np.zeros(mechanism.n), tau
    )
    assert np.abs(bare - expected).max() > 0.05 * np.abs(expected).max()


def test_rotors_of_the_arm_file_override_those_of_the_model() -> None:
    """The arm file states 4e-6 kg·m² behind a gear of 50, the MJCF 0.002 at the cranks
    and nothing at the elbows.
    """
    arm = load_arm(TEST_ARMS / "five-bar.toml")
    np.testing.assert_allclose(load_mechanism(arm).rotors, np.diag([0.01, 0.01]))
    silent = arm.with_joints_changed(lambda table: replace(table, rotor_inertia=0.0))
    np.testing.assert_allclose(load_mechanism(silent).rotors, np.diag([0.002, 0.002]))
