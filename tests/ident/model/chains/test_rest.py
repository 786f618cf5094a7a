"""Postures at rest of elastic closed chains against MuJoCo, virtual work and the rigid chain."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

from benchmarks.mujoco_chains import judged, mujoco_chain
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import InputError
from stribeck.ident.model.chains.closed_chain import close_loops, telling_joints
from stribeck.ident.model.chains.loop_geometry import gap
from stribeck.ident.model.chains.posture_following import PostureError
from stribeck.ident.model.chains.rest import equilibrium, set_off
from stribeck.ident.model.driven.driving_torques import drive
from stribeck.ident.model.driven.forward_simulation import prescribed_motion
from stribeck.ident.model.dynamics import kinematics
from stribeck.ident.model.energy import mechanical_energy
from stribeck.ident.model.joint_parts import Spring
from stribeck.ident.model.mechanism import Mechanism

DRIVES = np.array([0.3, -0.2, 0.1])


@pytest.fixture(scope="module")
def robot() -> Mechanism:
    return load_mechanism("flexible-parallel")


def test_drives_and_springs_determine_the_posture(robot):
    """Three drives and 21 springs are the 24 degrees of freedom; with locked springs
    three translations remain.
    """
    known = telling_joints(robot)
    assert known == tuple(sorted((*robot.active, *robot.springs)))
    assert len(known) == robot.n - 15
    at = np.zeros((1, len(known)))
    at[0, [known.index(j) for j in robot.active]] = DRIVES
    platform = close_loops(robot, at, known=known).q[0, :6]
    np.testing.assert_allclose(platform[3:], 0.0, rtol=0, atol=1e-12)
    assert np.abs(platform[:3]).min() > 1e-3


@pytest.mark.slow
def test_mujoco_comes_to_rest_in_the_same_posture(robot):
    """MuJoCo with damping and heavy drives comes to rest; the difference
    decreases with stiffer closures.
    """
    robot = judged("flexible-parallel")
    found = equilibrium(robot, DRIVES)
    assert np.abs(gap(robot, kinematics(robot, found[None]))).max() < 1e-12
    springs = [j for j in robot.springs if j in robot.passive]
    start = close_loops(robot, [[*DRIVES, *np.zeros(21)]], known=(*robot.active, *springs)).q[0]
    off = []
    for constant in (2e-2, 2e-3):
        model = mujoco_chain(robot, 1e-3, constant)
        model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        model.dof_damping[:] += 40.0
        for j in robot.active:
            model.dof_armature[model.joint(robot.names[j]).dofadr[0]] = 1e9
        data, order = (
            mujoco.MjData(model),
            [int(model.joint(name).qposadr[0]) for name in robot.names],
        )
        data.qpos[order] = start
        for _ in range(4000):
            mujoco.mj_step(model, data)
        assert np.abs(data.qvel).max() < 1e-5
        off.append(float(np.abs(data.qpos[order] - found).max()))
    assert off[0] < 1e-4
    assert off[1] < max(off[0] / 20.0, 1e-6)
    assert np.linalg.norm(start[:3] - found[:3]) > 5e-3


def test_the_posture_at_rest_has_the_least_energy(robot):
    """Comparison with random closed postures nearby that have the same drive positions."""
    found, known = equilibrium(robot, DRIVES), telling_joints(robot)
    rng = np.random.default_rng(0)
    near = np.repeat(found[None, known], 200, axis=0)
    elastic = [known.index(j) for j in robot.springs]
    near[:, elastic] += rng.normal(scale=1e-3, size=(200, len(elastic)))
    postures = np.vstack((found, close_loops(robot, near, known=known).q))
    energy = mechanical_energy(robot, postures, 0.0 * postures)
    assert (energy[1:] > energy[0]).all()


@pytest.mark.slow
def test_holding_torques_are_derivatives_of_the_energy(robot):
    """The holding torque of a drive is the derivative of the energy at rest
    with respect to its position.
    """
    posture, driving = drive(robot, DRIVES, np.zeros(3), np.zeros(3))
    h = 1e-4
    for k, j in enumerate(robot.active):
        ends = [equilibrium(robot, DRIVES + side * h * np.eye(3)[k]) for side in (1.0, -1.0)]
        energy = mechanical_energy(robot, ends, np.zeros((2, robot.n)))
        assert driving.tau[0, j] == pytest.approx((energy[0] - energy[1]) / (2.0 * h), abs=1e-5)
    assert np.abs(driving.tau[0, list(robot.active)]).min() > 5.0
    np.testing.assert_array_equal(posture, equilibrium(robot, DRIVES))


@pytest.mark.slow
def test_deflection_vanishes_with_stiff_springs(robot):
    """The deflection from the posture with locked springs is inversely
    proportional to stiffness.
    """
    locked = close_loops(
        robot, [[*DRIVES, *np.zeros(21)]], known=(*robot.active, *robot.springs)
    ).q[0, :3]
    beams = {j: Spring(1e9) for j in robot.springs}
    away = [
        np.linalg.norm(
            equilibrium(
                replace(
                    robot,
                    springs={
                        **beams,
                        **{
                            j: Spring(K)
                            for j in robot.springs
                            if robot.names[j].startswith("spring")
                        },
                    },
                ),
                DRIVES,
            )[:3]
            - locked
        )
        for K in (1e3, 1e4, 1e5, 1e6)
    ]
    np.testing.assert_allclose(np.array(away[:-1]) / away[1:], 10.0, rtol=0.1)
    assert away[-1] < 1e-5


def test_a_joint_that_no_spring_holds_is_named(robot):
    loose = {j: Spring(0.0) for j in robot.springs}
    with pytest.raises(InputError, match=r"at rest joint .* has nothing that holds it"):
        equilibrium(replace(robot, springs=loose, gravity=np.zeros(3)), np.zeros(3))


@pytest.mark.slow
def test_surplus_elastic_joints_follow_the_loops():
    """Three-loop chain with one open loop and springs in all passive joints: two degrees of
    freedom besides the crank.
    """
    m = load_mechanism("three-loop-chain")
    open_chain = replace(
        m,
        friction={},
        closures=m.closures[:-1],
        springs=dict.fromkeys(m.passive, Spring(20.0, 0.5)),
    )
    assert len(telling_joints(open_chain)) == 3
    q = equilibrium(open_chain, [0.3])
    assert np.abs(gap(open_chain, kinematics(open_chain, q[None]))).max() < 1e-12
    held = prescribed_motion(
        open_chain,
        lambda t: np.array([0.3, 0.0, 0.0])[:, None, None] * np.ones((1, len(t), 1)),
        [0.0, 2.0],
    )
    np.testing.assert_allclose(held.q, [q, q], rtol=0, atol=1e-10)
    with pytest.raises(
        PostureError,
        match=r"only 4 of 6 joints .*: a closure is missing, one of these joints has a drive, or",
    ):
        equilibrium(replace(open_chain, springs={3: Spring(20.0)}), [0.3])


def test_moving_drives_set_the_velocities_of_the_chain(robot):
    """Initial state: springs do not move yet, and the velocities keep the loops closed."""
    speed = np.array([0.5, 0.0, -0.3])
    q, dq = set_off(robot, DRIVES, speed)
    np.testing.assert_array_equal(dq[list(robot.active)], speed)
    np.testing.assert_array_equal(dq[list(robot.springs)], 0.0)
    moved = gap(robot, kinematics(robot, np.array([q + 1e-6 * dq, q - 1e-6 * dq])))
    np.testing.assert_allclose(moved[0] - moved[1], 0.0, rtol=0, atol=1e-11)


def test_elastic_joints_that_the_drives_do_not_determine_are_named(robot):
    with pytest.raises(
        PostureError,
        match=r"elastic joints \(for example spring1\) are free; use equilibrium for their rest "
        r"posture",
    ):
        close_loops(robot, [DRIVES])
    with pytest.raises(
        InputError,
        match=r"has passive joints \(for example spring1\) that swing when the mechanism moves",
    ):
        drive(robot, DRIVES, np.ones(3), np.zeros(3))
