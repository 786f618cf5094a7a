"""Prescribed motion of the drives against closed forms, energy, forward
simulation and the rigid mechanism.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import make_interp_spline

from benchmarks.mujoco_chains import against_mujoco
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError
from stribeck.ident.model.chains.closed_chain import ClosedMotion, close_loops, closed_loads
from stribeck.ident.model.chains.loop_geometry import gap
from stribeck.ident.model.chains.rest import equilibrium
from stribeck.ident.model.driven.driving_torques import closed_driving_torque, driving_torque
from stribeck.ident.model.driven.forward_simulation import acting, forward_motion, prescribed_motion
from stribeck.ident.model.driven.stick_slip_integration import ForwardMotion
from stribeck.ident.model.dynamics import kinematics
from stribeck.ident.model.elastic_joints import elastic_joint
from stribeck.ident.model.energy import mechanical_energy
from stribeck.ident.model.joint_parts import JointFriction, Spring
from stribeck.ident.model.mechanism import Mechanism


def swing(size: list[float], w: float) -> Callable[[Array], Array]:
    """Return a motion of the drives from rest: size (1 - cos w t)."""
    A = np.array(size)

    def motion(t: Array) -> Array:
        c, s = np.cos(w * t)[:, None], np.sin(w * t)[:, None]
        return np.stack((A * (1.0 - c), A * w * s, A * w**2 * c))

    return motion


def setting_off(size: list[float], w: float) -> Callable[[Array], Array]:
    """Return a motion from rest without a jump of the acceleration: size (w t - sin w t)."""
    A = np.array(size)

    def motion(t: Array) -> Array:
        c, s = np.cos(w * t)[:, None], np.sin(w * t)[:, None]
        return np.stack((A * (w * t[:, None] - s), A * w * (1.0 - c), A * w**2 * s))

    return motion


def off_balance(m: Mechanism, motion: ForwardMotion) -> float:
    """Return the greatest difference of energy and work, relative to
    the greatest energy or work.
    """
    energy = mechanical_energy(m, motion.q, motion.dq)
    off = energy - energy[0] - motion.driven + motion.rubbed + motion.damped
    return float(np.abs(off).max() / max(np.ptp(energy), np.abs(motion.driven).max()))


def test_a_link_on_a_spring_swings_in_closed_form():
    """J (th'' + x'') = -K x behind a drive at A (1 - cos w t); the drive torque balances
    rotor inertia and spring.
    """
    J, B, K, A, w = 0.6, 0.05, 40.0, 0.3, 5.0
    rod = Mechanism(
        "rod",
        ("drive",),
        (-1,),
        np.array([False]),
        np.array([[0.0, 0.0, 1.0]]),
        np.zeros((1, 3)),
        np.array([2.0]),
        np.array([[0.5, 0.0, 0.0]]),
        np.diag([0.0, 0.1, 0.1])[None],
        np.zeros(3),
        np.array([[-9.0, 9.0]]),
        (None,),
    )
    m, t = elastic_joint(rod, "drive", Spring(K), B), np.linspace(0.0, 2.0, 41)
    motion = prescribed_motion(m, swing([A], w), t)
    n = np.sqrt(K / J)
    x = A * w**2 / (w**2 - n**2) * (np.cos(w * t) - np.cos(n * t))
    np.testing.assert_allclose(motion.q[:, 1], x, rtol=0, atol=1e-8)
    np.testing.assert_allclose(
        motion.tau[:, 0], B * A * w**2 * np.cos(w * t) - K * x, rtol=0, atol=1e-6
    )
    assert off_balance(m, motion) < 1e-8


@pytest.mark.slow
def test_friction_of_a_prescribed_drive_is_part_of_its_torque():
    """Dry friction of a prescribed drive adds to its torque, changes sign at reversals, and
    does not change the motion.
    """
    m, t = load_mechanism("flexible-arm"), np.linspace(0.0, 0.28, 8)
    rubbing = replace(
        m, friction={0: JointFriction("coulomb-viscous", "none", {"coulomb": 3.0, "viscous": 0.5})}
    )
    free, rubbed = (
        prescribed_motion(one, swing([0.05, -0.1, 0.0], 12.0), t) for one in (m, rubbing)
    )
    np.testing.assert_allclose(rubbed.q, free.q, rtol=0, atol=1e-9)
    speed = free.dq[:, 0]
    friction = np.outer(3.0 * np.sign(speed) + 0.5 * speed, np.eye(m.n)[0])
    np.testing.assert_allclose(rubbed.tau - free.tau, friction, rtol=0, atol=1e-6)
    assert (np.sign(speed) < 0.0).any()
    assert rubbed.events == ()


@pytest.mark.slow
def test_inverse_dynamics_of_the_whole_motion_gives_the_same_torques():
    """The recursion gives the simulated driving torques for the whole motion, and zero
    torque for passive joints.
    """
    m, t = load_mechanism("flexible-arm"), np.linspace(0.0, 0.3, 16)
    motion = prescribed_motion(m, swing([0.1, -0.1, 0.1], 4.0), t)
    driving = driving_torque(m, motion.q, motion.dq, motion.ddq)
    np.testing.assert_allclose(motion.tau, driving.tau, rtol=0, atol=1e-9)
    swinging = driving.loads.tau[:, list(m.passive)]
    springs = np.array([[spring.stiffness, spring.damping] for spring in m.springs.values()])
    held = (
        springs[:, 0] * motion.q[:, list(m.springs)] + springs[:, 1] * motion.dq[:, list(m.springs)]
    )
    np.testing.assert_allclose(swinging, -held, rtol=0, atol=1e-9)
    assert off_balance(m, motion) < 1e-8


@pytest.mark.slow
def test_an_elastic_joint_with_friction_sticks_and_breaks_loose():
    """Static friction is part of the reported friction, and energy is
    in balance over all events.
    """
    m = load_mechanism("flexible-arm")
    j = m.names.index("flexure 1")
    m = replace(
        m, friction={j: JointFriction("coulomb-viscous", "none", {"coulomb": 0.05, "viscous": 0.0})}
    )
    motion = prescribed_motion(m, swing([0.1, -0.1, 0.05], 6.0), np.linspace(0.0, 0.2, 21))
    assert {event.what for event in motion.events} >= {"breaks loose", "sticks"}
    assert {event.joint for event in motion.events} == {"flexure 1"}
    np.testing.assert_array_less(np.abs(motion.friction[:, j]), 0.05 + 1e-9)
    stuck = motion.dq[:, j] == 0.0
    assert stuck.any()
    assert (np.abs(motion.friction[stuck, j]) < 0.049).any()
    assert motion.rubbed[-1] > 1e-4
    assert off_balance(m, motion) < 1e-8


class TestElasticChains:
    @pytest.mark.slow
    def test_energy_is_in_balance_and_loops_stay_closed(self):
        """P3's robot: 24 degrees of freedom, three of them prescribed."""
        m, t = load_mechanism("flexible-parallel"), np.linspace(0.0, 0.1, 5)
        drives = setting_off([0.2, -0.1, 0.05], 4.0)
        motion = prescribed_motion(m, drives, t)
        for found, wanted in zip((motion.q, motion.dq, motion.ddq), drives(t), strict=True):
            np.testing.assert_array_equal(found[:, list(m.active)], wanted)
        np.testing.assert_allclose(motion.q[0], equilibrium(m, np.zeros(3)), rtol=0, atol=1e-12)
        assert off_balance(m, motion) < 1e-8
        assert np.abs(gap(m, kinematics(m, motion.q))).max() < 1e-12
        again = closed_driving_torque(
            m, ClosedMotion(motion.q, motion.dq, motion.ddq, np.ones(len(t)))
        )
        found = acting(m, motion)
        np.testing.assert_allclose(found.tau, again.tau, rtol=0, atol=1e-9)
        np.testing.assert_allclose(found.loads.bending, again.loads.bending, rtol=0, atol=1e-9)
        np.testing.assert_allclose(found.closed.force, again.closed.force, rtol=0, atol=1e-9)

    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["flexible-parallel", "crank on a spring"])
    def test_motion_under_torques_agrees_with_mujoco(self, name):
        """The deviation decreases with stiffer closures. One second of motion: `python -m
        benchmarks flexible_parallel`.
        """
        m = (
            elastic_joint(load_mechanism("three-loop-chain"), "1''", Spring(20.0, 0.2), 0.01)
            if name == "crank on a spring"
            else load_mechanism(name)
        )
        errors = against_mujoco(m, 0.04, ((5e-4, 2e-2), (2e-4, 2e-3)))
        assert errors[0] < 1e-3
        assert errors[1] < errors[0] / 20.0

    @pytest.mark.slow
    def test_simulation_with_the_inverse_torques_reproduces_the_motion(self):
        """Inverse, then forward dynamics."""
        m = elastic_joint(
            replace(load_mechanism("three-loop-chain"), friction={}), "1''", Spring(60.0, 0.1), 0.01
        )
        t = np.linspace(0.0, 0.2, 41)
        motion = prescribed_motion(m, swing([0.3], 4.0), t)
        torque = make_interp_spline(t, motion.tau, 5)
        back = forward_motion(m, lambda t, q, dq: torque(t), [0.0], [0.0], t)
        np.testing.assert_allclose(back.q, motion.q, rtol=0, atol=1e-7)
        np.testing.assert_allclose(back.loads.radial, motion.loads.radial, rtol=0, atol=1e-4)
        assert np.ptp(motion.q[:, 1]) > 1e-3

    @pytest.mark.slow
    def test_torques_converge_to_the_rigid_chain_with_stiff_springs(self):
        """After the initial transient, the difference to the torque of the rigid chain is inversely
        proportional to stiffness.
        """
        rigid = replace(load_mechanism("three-loop-chain"), friction={})
        t, drives = np.linspace(0.4, 0.6, 5), swing([0.3], 6.0)
        wanted = closed_loads(rigid, close_loops(rigid, *drives(t))).tau[:, 0]
        off = []
        for K in (1e3, 1e4):
            m = elastic_joint(rigid, "1''", Spring(K, 0.02 * K), 0.0)
            motion = prescribed_motion(m, drives, np.concatenate(([0.0], t)))
            off.append(np.abs(motion.tau[1:, 0] - wanted).max())
        assert off[0] < 0.05 * np.abs(wanted).max()
        assert off[1] == pytest.approx(off[0] / 10.0, rel=0.2)

    @pytest.mark.slow
    def test_a_rigid_chain_needs_the_torques_of_the_inverse_problem(self):
        """No joint swings: sliders of the 3-PRR with normal-load friction."""
        m, t = load_mechanism("planar-3-prr"), np.linspace(0.05, 0.5, 10)
        drives = swing([0.03, 0.02, -0.02], 3.0)
        motion = prescribed_motion(m, drives, t)
        wanted = closed_driving_torque(m, close_loops(m, *drives(t)))
        np.testing.assert_allclose(motion.tau, wanted.tau, rtol=0, atol=1e-9)
        np.testing.assert_allclose(
            acting(m, motion).closed.force, wanted.closed.force, rtol=0, atol=1e-9
        )
        assert np.abs(wanted.friction).max() > 1.0

    def test_a_motion_of_another_shape_is_refused(self):
        with pytest.raises(
            InputError,
            match=r"has shape \(3, 1, 2\), finite numbers of shape \(3, 1, 3\) are needed: .* "
            r"drive3",
        ):
            prescribed_motion(
                load_mechanism("flexible-parallel"), swing([1.0, 1.0], 3.0), [0.0, 0.5]
            )

    @pytest.mark.slow
    def test_a_motion_out_of_reach_is_refused(self):
        """The crank reaches 1.5792 rad; a spring behind the crank would allow more."""
        m = replace(load_mechanism("three-loop-chain"), friction={})
        with pytest.raises(
            InputError,
            match=r"the loops cannot be closed near the current posture|where the loops stop "
            r"closing",
        ):
            prescribed_motion(m, swing([4.0], 3.0), [0.0, 0.5])
