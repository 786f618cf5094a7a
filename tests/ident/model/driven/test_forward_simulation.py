"""Forward dynamics of stiff mechanisms and closed chains against MuJoCo, energy, inverse
dynamics and closed forms.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import make_interp_spline

from benchmarks.mujoco_chains import SOFTNESS, against_mujoco, rubbing_against_mujoco
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError
from stribeck.ident.model.chains.closed_chain import ClosedMotion, close_loops
from stribeck.ident.model.chains.loop_geometry import gap
from stribeck.ident.model.chains.rest import equilibrium
from stribeck.ident.model.driven.driving_torques import closed_driving_torque, driving_torque
from stribeck.ident.model.driven.forward_simulation import acceleration, forward_motion, simulate
from stribeck.ident.model.driven.radau import Radau
from stribeck.ident.model.dynamics import kinematics
from stribeck.ident.model.elastic_joints import flexible_link
from stribeck.ident.model.energy import mechanical_energy
from stribeck.ident.model.joint_parts import Bearing, JointFriction, Spring
from stribeck.ident.model.mechanism import Mechanism


def driven(m: Mechanism, values: object) -> Array:
    """Return the torques of all joints for torques of the driven joints."""
    out = np.zeros(m.n)
    out[list(m.active)] = values
    return out


def smooth(m: Mechanism) -> Mechanism:
    """Return the mechanism without friction that can stick."""
    return replace(
        m,
        friction={},
        balls=tuple(replace(ball, friction_arm=0.0) for ball in m.balls),
        closures=tuple(replace(closure, friction_arm=0.0) for closure in m.closures),
    )


def swung(m: Mechanism, size: float = 15.0):
    """Return a torque function with springs and weak oscillating forces on the drives."""

    def torque(t: float, q: Array, dq: Array) -> Array:
        a = list(m.active)
        return driven(m, size * np.sin(3.0 * t + np.arange(len(a))) - 300.0 * q[a] - 5.0 * dq[a])

    return torque


def balance(m: Mechanism, motion) -> Array:
    """Return energy minus work, relative to their variation."""
    energy = mechanical_energy(m, motion.q, motion.dq)
    return (energy - energy[0] - motion.driven + motion.rubbed + motion.damped) / np.ptp(energy)


class TestRadau:
    @pytest.mark.parametrize("s", [3, 5, 7])
    def test_polynomials_are_integrated_to_the_order_of_the_method(self, s):
        radau = Radau(s)
        for power in range(2 * s - 1):
            assert radau.A[-1] @ radau.c**power == pytest.approx(1.0 / (power + 1.0), rel=1e-13)
        np.testing.assert_allclose(
            radau.through(np.array([0.3]), 2) @ radau.c**2, 0.3**4 / 12.0, rtol=1e-13
        )

    def test_coefficients_for_three_points_are_those_of_hairer_and_wanner(self):
        """Hairer and Wanner II, table IV.5.6."""
        root = np.sqrt(6.0)
        np.testing.assert_allclose(
            Radau(3).c, [(4.0 - root) / 10.0, (4.0 + root) / 10.0, 1.0], rtol=1e-14
        )
        np.testing.assert_allclose(
            Radau(3).A[0],
            [
                (88.0 - 7.0 * root) / 360.0,
                (296.0 - 169.0 * root) / 1800.0,
                (-2.0 + 3.0 * root) / 225.0,
            ],
            rtol=1e-13,
        )


class TestStiffMechanisms:
    @pytest.mark.parametrize("segments", [0, 1, 2, 4, 8])
    def test_an_arm_at_rest_stays_there(self, segments):
        """Steel beams with natural frequencies beyond 1e5 rad/s; steps are as
        long as the motion allows.
        """
        m = load_mechanism("flexible-arm")
        if segments:
            m = flexible_link(
                m, "flexure 2", [0.8, 0.0, 0.0], 207e9 * np.pi / 64.0 * 0.0295**4, segments
            )
        rest = equilibrium(m, np.zeros(m.n))
        tau = driving_torque(m, [rest], [0.0 * rest], [0.0 * rest]).tau[0]
        q, dq = simulate(m, lambda t, q, dq: tau, rest, np.zeros(m.n), np.linspace(0.0, 0.5, 501))
        np.testing.assert_allclose(q, np.tile(rest, (501, 1)), rtol=0, atol=1e-11)
        assert np.abs(dq).max() < 1e-9

    @pytest.mark.slow
    def test_the_default_tolerance_agrees_with_a_tight_tolerance(self):
        """Motions with tolerances a factor of 1000 apart agree, and energy balances the
        work of drives and damping.
        """
        m = load_mechanism("flexible-arm")
        rest = equilibrium(m, np.zeros(m.n))
        hold = driving_torque(m, [rest], [0.0 * rest], [0.0 * rest]).tau[0]
        pull = driven(m, [200.0, 200.0, 2.0])
        t = np.linspace(0.0, 0.1, 11)
        coarse, fine = (
            forward_motion(
                m,
                lambda t, q, dq: hold + pull * (0.1 * np.sin(6.0 * t) - (q - rest) - 0.1 * dq),
                rest,
                np.zeros(m.n),
                t,
                tolerance=tolerance,
            )
            for tolerance in (1e-6, 1e-9)
        )
        np.testing.assert_allclose(coarse.q, fine.q, rtol=0, atol=1e-7)
        assert np.abs(balance(m, fine)).max() < 1e-8
        assert fine.damped[-1] > 0.0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["planar-3-prr", "gough-stewart"])
def test_motion_of_the_chain_agrees_with_mujoco(name):
    """The motion in MuJoCo converges to this motion with stiffer closures. Planar
    pins need no axis in MuJoCo.
    """
    errors = against_mujoco(name, 0.15, SOFTNESS[::2])
    assert errors[0] < 5e-5
    assert errors[1] < errors[0] / 25.0
    assert errors[1] < 2e-7


@pytest.mark.slow
def test_friction_of_sliders_agrees_with_mujoco():
    """MuJoCo computes normal load, friction and sticking itself; its deviation is
    proportional to its step.
    """
    errors = rubbing_against_mujoco(0.4, SOFTNESS[::2])
    assert errors[0] < 2e-3
    assert errors[1] < errors[0] / 4.0
    assert errors[1] < 2e-4


class TestClosedChains:
    @pytest.mark.slow
    def test_energy_balance_holds_with_friction_events(self):
        """Sliders with normal-load friction stick, break loose and turn back; loops stay closed."""
        m, t = load_mechanism("planar-3-prr"), np.linspace(0.0, 0.15, 16)
        motion = forward_motion(m, swung(m), np.zeros(3), np.zeros(3), t)
        assert {event.what for event in motion.events} >= {"sticks", "breaks loose"}
        assert motion.rubbed[-1] > 0.1
        assert np.abs(balance(m, motion)).max() < 1e-8
        assert np.abs(gap(m, kinematics(m, motion.q))).max() < 1e-12

    @pytest.mark.slow
    def test_loops_stay_closed_and_energy_stays(self):
        """Without friction, energy is constant over a large swing; the benchmark
        simulates one minute.
        """
        m, t = smooth(load_mechanism("three-loop-chain")), np.linspace(0.0, 1.0, 11)
        motion = forward_motion(m, lambda t, q, dq: np.zeros(m.n), [0.3], [0.0], t)
        assert np.ptp(motion.q[:, 0]) > 0.5
        energy = mechanical_energy(m, motion.q, motion.dq)
        kinetic = energy - mechanical_energy(m, motion.q, 0.0 * motion.dq)
        assert np.abs(energy - energy[0]).max() < 1e-8 * kinetic.max()
        assert np.abs(gap(m, kinematics(m, motion.q))).max() < 1e-12

    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["planar-3-prr", "gough-stewart"])
    def test_inverse_dynamics_with_friction_reproduces_the_driving_torques(self, name):
        """Inverse dynamics with friction, also of passive balls, is an independent
        method; all drives slide.
        """
        m = load_mechanism(name)
        speed = (
            np.full(len(m.active), 0.05) if name == "gough-stewart" else np.array([0.2, 0.15, 0.1])
        )
        start = close_loops(m, [np.zeros(len(m.active))], [speed])
        tau = closed_driving_torque(m, start).tau[0]
        motion = forward_motion(
            m, lambda t, q, dq: tau, np.zeros(len(m.active)), speed, np.linspace(0.0, 0.05, 4)
        )
        assert motion.events == ()
        needed = closed_driving_torque(
            m, ClosedMotion(motion.q, motion.dq, motion.ddq, np.ones(4))
        ).tau
        np.testing.assert_allclose(
            needed, np.tile(tau, (4, 1)), rtol=0, atol=2e-7 * np.abs(tau).max()
        )

    @pytest.mark.slow
    def test_simulation_with_the_driving_torques_reproduces_the_motion(self):
        """Inverse, then forward dynamics: sliders of the 3-PRR with normal-load
        friction, without reversals.
        """
        m = load_mechanism("planar-3-prr")

        t = np.linspace(0.0, 0.3, 61)
        way, speed, gain = (
            0.08 * t + 0.01 * np.sin(3.0 * t),
            0.08 + 0.03 * np.cos(3.0 * t),
            -0.09 * np.sin(3.0 * t),
        )
        wanted = close_loops(m, *(np.outer(value, [1.0, 0.8, 0.5]) for value in (way, speed, gain)))
        torque = make_interp_spline(t, closed_driving_torque(m, wanted).tau, 5)
        q, _ = simulate(
            m, lambda t, q, dq: torque(t), wanted.q[0, [3, 5, 7]], wanted.dq[0, [3, 5, 7]], t[::10]
        )
        np.testing.assert_allclose(q, wanted.q[::10], rtol=0, atol=1e-7)

    @pytest.mark.slow
    def test_a_stuck_chain_breaks_loose_at_its_static_level(self):
        """Under a growing torque the crank of the three-loop chain breaks loose at the static
        level of inverse dynamics.
        """
        m = load_mechanism("three-loop-chain")
        at_rest = close_loops(m, [[0.5]])
        creeping = closed_driving_torque(m, close_loops(m, [[0.5]], [[1e-9]])).tau[0, 0]
        resting = closed_driving_torque(m, at_rest).tau[0, 0]
        t = np.linspace(0.0, creeping - resting + 0.05, 21)
        motion = forward_motion(m, lambda t, q, dq: driven(m, [resting + t]), [0.5], [0.0], t)
        assert (motion.events[0].what, motion.events[0].joint) == ("breaks loose", "1''")
        assert motion.events[0].t == pytest.approx(creeping - resting, rel=1e-6)
        before = t < motion.events[0].t
        assert before.sum() > 3
        assert (motion.q[before] == motion.q[0]).all()

    @pytest.mark.slow
    def test_friction_of_passive_joints_passes_reversals_and_refuses_undetermined_sticking(self):
        """All joints of a crank mechanism turn back simultaneously; at rest, the share of
        each joint is not determined.
        """
        m = load_mechanism("three-loop-chain")
        rubbing = JointFriction(
            "coulomb-viscous",
            "radial",
            {"coulomb": 0.0, "viscous": 0.01, "coulomb_coefficient": 0.0005},
        )
        m = replace(m, friction={**m.friction, 1: rubbing, 3: rubbing})
        motion = forward_motion(
            m, lambda t, q, dq: np.zeros(m.n), [0.5], [0.0], np.linspace(0.0, 0.7, 15)
        )
        assert {event.joint for event in motion.events if event.what == "turns back"} >= {
            "1''",
            "1'",
            "1",
        }
        assert np.abs(balance(m, motion)).max() < 1e-8
        held = driven(m, closed_driving_torque(m, close_loops(m, [[0.5]])).tau[0, :1])
        with pytest.raises(
            InputError,
            match="joints 1'', 1', 1 stick at the same time, and rigid-body mechanics does not "
            "determine how they share the load",
        ):
            simulate(m, lambda t, q, dq: held, [0.5], [0.0], [0.0, 0.1])

    @pytest.mark.slow
    def test_a_crank_passes_its_dead_point(self):
        """The crank is pushed to the end of its range, 1.5792 rad, and turns back
        while the other links move on.
        """
        m, t = load_mechanism("three-loop-chain"), np.linspace(0.3, 0.6, 151)
        motion = forward_motion(
            m, lambda t, q, dq: driven(m, [6.0 * np.sin(5.0 * t)]), [1.45], [0.6], t, tolerance=1e-9
        )
        assert motion.q[:, 0].max() == pytest.approx(1.5792, abs=5e-4)
        assert [(event.joint, event.what) for event in motion.events] == [("1''", "turns back")]
        assert np.abs(motion.dq).max() > 10.0
        assert np.abs(balance(m, motion)).max() < 1e-8

    @pytest.mark.slow
    def test_a_chain_with_more_degrees_of_freedom_than_drives_moves_on_springs(self):
        """Three-loop chain with one open loop on springs: the closures do not
        determine the passive joints.
        """
        m = load_mechanism("three-loop-chain")
        m = replace(
            m,
            friction={},
            closures=m.closures[:-1],
            springs=dict.fromkeys(m.passive, Spring(20.0, 0.05)),
        )
        motion = forward_motion(
            m,
            lambda t, q, dq: np.zeros(m.n),
            np.zeros(m.n),
            np.zeros(m.n),
            np.linspace(0.0, 0.3, 16),
        )
        assert motion.damped[-1] > 0.0
        assert np.abs(balance(m, motion)).max() < 1e-8
        assert np.abs(gap(m, kinematics(m, motion.q))).max() < 1e-12

    @pytest.mark.slow
    def test_friction_that_outweighs_inertia_is_refused(self):
        m = load_mechanism("planar-3-prr")
        jamming = JointFriction(
            "coulomb-viscous",
            "normal",
            {"coulomb": 0.0, "viscous": 0.0, "coulomb_coefficient": 5.0},
        )
        m = replace(m, friction=dict.fromkeys(m.active, jamming))
        start = close_loops(m, np.zeros((1, 3)), [[0.1, -0.1, 0.1]])
        with pytest.raises(
            InputError, match=r"friction and joint loads find no balance.*slider1, slider2, slider3"
        ):
            acceleration(m, start.q[0], start.dq[0], np.zeros(m.n))

    def test_friction_of_undetermined_loads_is_refused(self):
        """Gravity across the plane of the three-loop chain causes pin loads
        that depend on elasticity.
        """
        m = replace(load_mechanism("three-loop-chain"), gravity=np.array([0.0, 0.0, -9.8]))
        with pytest.raises(
            InputError,
            match="friction of 1'' depends on loads that rigid-body mechanics does not determine: "
            "the "
            "chain is overconstrained",
        ):
            simulate(m, lambda t, q, dq: np.zeros(m.n), [0.5], [0.1], [0.0, 0.1])

    def test_a_state_that_does_not_close_the_loops_is_refused(self):
        m = load_mechanism("planar-3-prr")
        q = close_loops(m, [[0.01, 0.0, 0.0]]).q[0]
        for position, velocity, word in (
            (q + np.eye(9)[4] * 1e-3, np.zeros(9), "q"),
            (q, np.eye(9)[3], "dq"),
        ):
            with pytest.raises(
                InputError, match=rf"{word} does not close the loops: joint \S+ differs by"
            ):
                simulate(m, lambda t, q, dq: np.zeros(9), position, velocity, [0.0, 0.1])
        with pytest.raises(InputError, match=r"tolerance = 0, more than 0"):
            simulate(m, lambda t, q, dq: np.zeros(9), q, np.zeros(9), [0.0, 0.1], tolerance=0.0)


def test_energy_of_a_rod_on_a_spring():
    """Closed form: J w² / 2 + K q² / 2 - m g r sin q for a rod below the axis."""
    m = Mechanism(
        "rod",
        ("a",),
        (-1,),
        np.array([False]),
        np.array([[0.0, 1.0, 0.0]]),
        np.zeros((1, 3)),
        np.array([2.0]),
        np.array([[0.5, 0.0, 0.0]]),
        np.diag([0.0, 0.1, 0.1])[None],
        np.array([0.0, 0.0, -10.0]),
        np.array([[-np.inf, np.inf]]),
        (Bearing(0.1, 0.1, 0.1),),
        springs={0: Spring(7.0, 1.0)},
    )
    energy = mechanical_energy(m, [[0.3]], [[2.0]])
    assert energy == pytest.approx(
        [0.5 * 0.6 * 4.0 + 0.5 * 7.0 * 0.09 - 2.0 * 10.0 * 0.5 * np.sin(0.3)], rel=1e-12
    )
