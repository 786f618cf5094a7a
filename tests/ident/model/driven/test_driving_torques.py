"""Friction in the dynamics: the tables of the five-axis tree, simulation,
springs, spherical joints.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import InputError
from stribeck.ident.model.chains.rest import equilibrium
from stribeck.ident.model.driven.ball_friction import ball_moment
from stribeck.ident.model.driven.driving_torques import drive, driving_torque
from stribeck.ident.model.driven.forward_simulation import acceleration, simulate
from stribeck.ident.model.dynamics import inverse_dynamics
from stribeck.ident.model.joint_parts import Ball, Bearing, JointFriction, Spring
from stribeck.ident.model.loads import joint_loads
from stribeck.ident.model.mechanism import Mechanism
from tests.places import DATA

REFERENCE = DATA / "reference" / "a_tree.csv"
FRICTION = {"coulomb": 0.0, "viscous": 0.01, "coulomb_coefficient": 0.005}
STRIBECK = {**FRICTION, "static": 0.0, "static_coefficient": 0.05, "stribeck_velocity": 0.03}


@pytest.fixture(scope="module")
def tree() -> Mechanism:
    return load_mechanism("five-axis-tree")


def rubbing(tree: Mechanism, law: str) -> Mechanism:
    parameters = STRIBECK if law == "stribeck" else FRICTION
    return replace(
        tree, friction={j: JointFriction(law, "normal", parameters) for j in range(tree.n)}
    )


def wanted(t: np.ndarray, n: int) -> tuple[np.ndarray, ...]:
    """Return the motion with 0.2 rad/s² of all joints from rest (P0, Table 2)."""
    one = np.ones((len(t), n))
    return 0.1 * t[:, None] ** 2 * one, 0.2 * t[:, None] * one, 0.2 * one


class TestFiveAxisTree:
    """P0, Table 2. Reference: Pinocchio, which agrees with MuJoCo and the
    explicit equations to 1e-13.
    """

    @pytest.fixture(scope="class")
    @classmethod
    def table(cls) -> pd.DataFrame:
        return pd.read_csv(REFERENCE)

    def cells(self, table: pd.DataFrame, column: str) -> np.ndarray:
        return table.pivot(index="t", columns="joint", values=column).to_numpy()

    def motion(self, table: pd.DataFrame) -> tuple[np.ndarray, ...]:
        return wanted(np.array(sorted(table["t"].unique())), 5)

    @pytest.mark.parametrize(
        ("column", "key"),
        [
            ("tau_d0", "tau"),
            ("tau_r", "bending"),
            ("f_r", "radial"),
            ("f_m", "axial"),
            ("tau_n", "normal"),
        ],
    )
    def test_loads(self, table, tree, column, key):
        found = getattr(joint_loads(tree, *self.motion(table)), key)
        np.testing.assert_allclose(found, self.cells(table, column), rtol=1e-9, atol=1e-12)

    @pytest.mark.parametrize(("law", "short"), [("coulomb-viscous", "cv"), ("stribeck", "st")])
    def test_friction_and_driving_torques(self, table, tree, law, short):
        driving = driving_torque(rubbing(tree, law), *self.motion(table))
        np.testing.assert_allclose(
            driving.friction, self.cells(table, f"tau_f_{short}"), rtol=1e-9, atol=1e-15
        )
        np.testing.assert_allclose(
            driving.tau, self.cells(table, f"tau_d_{short}"), rtol=1e-9, atol=1e-12
        )

    def test_the_file_states_the_friction_of_the_paper(self, tree):
        assert {friction.law for friction in tree.friction.values()} == {"stribeck"}
        q, dq, ddq = wanted(np.array([0.1]), 5)
        np.testing.assert_allclose(
            driving_torque(tree, q, dq, ddq).friction[0, [0, 1, 3]],
            [0.428202, 0.663271, 0.442018],
            atol=5e-7,
        )


class TestSimulation:
    @pytest.mark.slow
    def test_the_driving_torques_produce_the_requested_motion(self, tree):
        """Without friction."""
        smooth, t = replace(tree, friction={}), np.linspace(0.0, 2.0, 21)

        def torque(t: float, q: np.ndarray, dq: np.ndarray) -> np.ndarray:
            return driving_torque(smooth, *wanted(np.array([t]), 5)).tau[0]

        q, _ = simulate(smooth, torque, np.zeros(5), np.zeros(5), t)
        np.testing.assert_allclose(q, wanted(t, 5)[0], rtol=0, atol=1e-9)

    @pytest.mark.slow
    def test_the_driving_torques_with_friction_produce_the_requested_motion(self, tree):
        m = rubbing(tree, "stribeck")
        t = np.linspace(0.5, 1.0, 26)
        start = wanted(t[:1], 5)
        q, dq = simulate(
            m,
            lambda t, q, dq: driving_torque(m, *wanted(np.array([t]), 5)).tau[0],
            start[0][0],
            start[1][0],
            t,
        )
        np.testing.assert_allclose(q, wanted(t, 5)[0], rtol=0, atol=1e-6)
        np.testing.assert_allclose(dq, wanted(t, 5)[1], rtol=0, atol=1e-5)

    @pytest.mark.slow
    def test_friction_never_adds_energy(self, tree):
        """Coasting in the plane without work of gravity: kinetic energy
        decreases by the friction power.
        """
        from stribeck.ident.model.dynamics import mass_matrix

        m, t = rubbing(tree, "coulomb-viscous"), np.linspace(0.0, 0.3, 31)
        q, dq = simulate(
            m, lambda t, q, dq: np.zeros(5), np.zeros(5), np.array([1.0, -0.5, 2.0, 0.8, -1.2]), t
        )
        E = 0.5 * np.einsum("ni,nij,nj->n", dq, mass_matrix(m, q), dq)
        assert (np.diff(E) < 0.0).all()
        ddq = np.array([acceleration(m, *state, np.zeros(5)) for state in zip(q, dq, strict=True)])
        power = np.sum(driving_torque(m, q, dq, ddq).friction * dq, axis=1)
        lost = np.sum((power[1:] + power[:-1]) / 2.0 * np.diff(t))
        assert E[0] - E[-1] == pytest.approx(lost, rel=1e-3)

    def test_an_elastic_joint_swings_at_its_frequency(self):
        """A rotor with a spring, released: angle of a damped oscillator in closed form."""
        m = replace(one_joint(), gravity=np.zeros(3), passive=(0,), springs={0: Spring(40.0, 0.3)})
        J = 0.1 + 2.0 * 0.25
        t = np.linspace(0.0, 2.0, 401)
        # a passive joint takes no torque
        q, _ = simulate(m, lambda t, q, dq: np.array([99.0]), [0.2], [0.0], t)
        decay, w = 0.3 / (2.0 * J), np.sqrt(40.0 / J - (0.3 / (2.0 * J)) ** 2)
        exact = 0.2 * np.exp(-decay * t) * (np.cos(w * t) + decay / w * np.sin(w * t))
        np.testing.assert_allclose(q[:, 0], exact, rtol=0, atol=1e-7)

    @pytest.mark.slow
    def test_a_spring_with_dry_friction_loses_the_same_amplitude_every_half_swing(self):
        """Half cosines about +-C/K: the joint turns back if K |q| > C and stays otherwise, for
        any sampling of the times.
        """
        K, C, J = 40.0, 1.0, 0.6
        m = replace(
            one_joint(),
            gravity=np.zeros(3),
            passive=(0,),
            springs={0: Spring(K)},
            friction={0: dry(C)},
        )
        half = np.pi * np.sqrt(J / K)
        t = np.linspace(0.0, 6.0 * half, 463)
        q, dq = simulate(m, lambda t, q, dq: [0.0], [0.23], [0.0], t)
        number = np.floor(t / half)
        middle = np.where(number % 2 == 0, 1.0, -1.0) * C / K
        amplitude = 0.23 - (2.0 * number + 1.0) * C / K
        exact = np.where(
            number < 5,
            middle + (-1.0) ** number * amplitude * np.cos(np.pi * (t / half - number)),
            0.02,
        )
        np.testing.assert_allclose(q[:, 0], exact, rtol=0, atol=1e-7)
        assert (dq[t > 5.0 * half, 0] == 0.0).all()  # K |q| = 0.8 < C: the joint stays

    @pytest.mark.parametrize("step", [0.01, 0.13, 1.0])
    def test_a_joint_sticks_below_its_break_away_torque_and_then_slides(self, step):
        """Under a torque that grows by 1 N·m/s the joint breaks loose at t = 1.5 s;
        no small steps are needed.
        """
        J = 0.6
        m = replace(one_joint(), gravity=np.zeros(3), friction={0: dry(1.5)})
        t = np.arange(0.0, 3.0 + step / 2, step)
        q, dq = simulate(m, lambda t, q, dq: [t], [0.3], [0.0], t)
        assert (q[t < 1.5, 0] == 0.3).all()
        assert (dq[t < 1.5, 0] == 0.0).all()
        np.testing.assert_allclose(
            dq[t > 1.5, 0], (t[t > 1.5] - 1.5) ** 2 / 2.0 / J, rtol=0, atol=1e-8
        )

    @pytest.mark.slow
    def test_stick_and_slip(self):
        """A rod pulled slowly by a spring rests, breaks loose at its static level and jumps;
        steps half as long agree.
        """
        law = {"coulomb": 0.5, "static": 1.5, "stribeck_velocity": 0.1, "viscous": 0.0}
        m = replace(
            one_joint(), gravity=np.zeros(3), friction={0: JointFriction("stribeck", "none", law)}
        )
        jumps = []
        for steps in (210, 420):
            t = np.linspace(0.0, 4.2, steps + 1)
            q, dq = simulate(m, lambda t, q, dq: 10.0 * (0.1 * t - q), [0.0], [0.0], t)
            assert (q[t < 1.5 - 1e-9] == 0.0).all()
            jumps.append(q[-1, 0])
            rests = (t > 2.7) & (t < 4.2 - 1e-9)
            assert (dq[rests] == 0.0).all()
            assert np.ptp(q[rests]) == 0.0
        assert jumps[0] == pytest.approx(jumps[1], abs=1e-5)
        # 2 (static - coulomb) / K without viscous friction, plus the pulled travel
        assert 0.2 < jumps[1] < 0.35

    def test_a_coasting_joint_stops_and_stays(self):
        m = replace(one_joint(), gravity=np.zeros(3), friction={0: dry(1.2)})
        t = np.array([0.0, 0.4, 0.8, 1.2, 9.0])
        q, dq = simulate(m, lambda t, q, dq: [0.0], [0.0], [-2.0], t)
        np.testing.assert_allclose(dq[:, 0], [-2.0, -1.2, -0.4, 0.0, 0.0], rtol=0, atol=1e-12)
        np.testing.assert_allclose(q[2:, 0], [-2.0 * 0.8 + 0.64, -1.0, -1.0], rtol=0, atol=1e-8)
        assert (dq[3:] == 0.0).all()

    def test_a_stuck_joint_moves_like_a_welded_joint(self, tree):
        """Friction holds joint 2; the other joints move as if links 1 and 2 were one link,
        and joint 2 stays at rest.
        """
        weld = replace(tree, friction={1: dry(50.0)})
        t = np.linspace(0.0, 0.5, 26)
        q, dq = simulate(
            weld, lambda t, q, dq: [2.0, 0.3, 0.5, -1.0, 0.4], np.zeros(5), np.zeros(5), t
        )
        assert (q[:, 1] == 0.0).all()
        free = replace(tree, friction={})
        for k in (0, 12, 25):
            ddq = acceleration(weld, q[k], dq[k], [2.0, 0.3, 0.5, -1.0, 0.4])
            assert ddq[1] == 0.0
            np.testing.assert_allclose(
                inverse_dynamics(free, [q[k]], [dq[k]], [ddq])[0, [0, 2, 3, 4]],
                [2.0, 0.5, -1.0, 0.4],
                rtol=0,
                atol=1e-9,
            )

    @pytest.mark.parametrize("seed", range(8))
    def test_joints_at_rest_stick_or_slide_by_coulomb_s_law(self, tree, seed):
        """Static friction of a resting joint is at most the break-away torque; a sliding
        joint has exactly this torque.
        """
        m = rubbing(tree, "coulomb-viscous")
        tau = np.random.default_rng(seed).normal(scale=0.15, size=5)
        ddq = acceleration(m, np.zeros(5), np.zeros(5), tau)
        loads = joint_loads(m, np.zeros((1, 5)), None, [ddq])
        level, friction = 0.005 * loads.normal[0], tau - loads.tau[0]
        stays = ddq == 0.0
        assert (np.abs(friction[stays]) <= level[stays]).all()
        np.testing.assert_allclose(
            friction[~stays], (np.sign(ddq) * level)[~stays], rtol=0, atol=1e-10
        )

    @pytest.mark.parametrize("coefficient", [0.05, 0.5, 3.0])
    def test_friction_with_a_load_that_grows_with_acceleration(self, coefficient):
        """A slider with its mass 0.2 m aside has the load m |a| 0.2 / 0.1: a =
        F / m (1 + 2 c) forwards.
        """
        m = aside(coefficient)
        assert acceleration(m, [0.0], [1.0], [7.0])[0] == pytest.approx(
            7.0 / (2.0 * (1.0 + 2.0 * coefficient)), rel=1e-11
        )

    @pytest.mark.parametrize("seed", [0, 1, 28, 46])
    def test_friction_as_large_as_the_torque(self, tree, seed):
        """Friction coefficients near one: for the last two Newton's method must
        increase friction step by step.
        """
        law = {**STRIBECK, "coulomb_coefficient": 0.9, "static_coefficient": 1.17}
        friction = {j: JointFriction("stribeck", "torque", law) for j in range(5)}
        m = replace(tree, gravity=np.array([3.0, -9.0, 2.0]), friction=friction)
        q, dq, tau = np.random.default_rng(seed).normal(size=(3, 5))
        ddq = acceleration(m, q, dq, 10.0 * tau)
        np.testing.assert_allclose(
            driving_torque(m, [q], [dq], [ddq]).tau[0], 10.0 * tau, rtol=0, atol=1e-9
        )

    @pytest.mark.slow
    def test_friction_that_outweighs_inertia_is_refused(self, tree):
        """The braked slider has a = F / m (1 - 2 c); no solution exists beyond c = 1/2: friction
        grows faster than inertia.
        """
        assert acceleration(aside(0.4), [0.0], [1.0], [-7.0])[0] == pytest.approx(
            -7.0 / (2.0 * 0.2), rel=1e-11
        )
        jammed = replace(
            tree,
            friction={
                j: JointFriction(
                    "coulomb-viscous", "normal", {**FRICTION, "coulomb_coefficient": 50.0}
                )
                for j in range(5)
            },
        )
        for m, tau in ((aside(0.6), [-7.0]), (jammed, np.zeros(5))):
            with pytest.raises(
                InputError, match=r"find no balance.*friction coefficients are too large"
            ):
                acceleration(m, np.zeros(m.n), np.ones(m.n), tau)

    def test_impossible_motions_are_refused(self, tree):
        rest, t = np.zeros(5), [0.0, 0.1]

        def none(t: float, q: np.ndarray, dq: np.ndarray) -> np.ndarray:
            return np.zeros(5)

        for q, torque, times, words in (
            (0.0, none, t, r"q has shape \(\), one state of five-axis-tree needs \(5,\): 1, 2"),
            (rest, none, 0.1, r"t has shape \(\), .*\(N,\)"),
            (rest, none, [t], r"t has shape \(1, 2\)"),
            (rest, none, [0.0, 0.0], "increase"),
            (rest, none, [0.0, np.inf], "finite"),
            (rest, lambda t, q, dq: np.zeros(4), t, r"torque has shape \(4,\)"),
            (rest, lambda t, q, dq: np.full(5, np.inf), t, "torque of joint 1 is not finite"),
        ):
            with pytest.raises(InputError, match=words):
                simulate(tree, torque, q, rest, times)
        q, dq = simulate(tree, none, rest, rest, [])
        assert q.shape == dq.shape == (0, 5)

    def test_friction_with_normal_load_needs_a_bearing(self):
        m = replace(one_joint(), friction={0: JointFriction("coulomb-viscous", "normal", FRICTION)})
        with pytest.raises(
            InputError,
            match="friction of joint a depends on its normal load, which needs its bearing",
        ):
            acceleration(m, [0.0], [1.0], [0.0])

    def test_friction_of_a_universal_joint_brakes_a_spinning_mass(self):
        """A gimbal without gravity and with its ring at rest: J dw = -K |R|, with the inertial
        force R of the spinning mass.
        """
        heavy = replace(
            gimbal(),
            com=np.array([[0.0, 0.0, 0.0], [0.1, 0.0, 0.0]]),
            balls=(Ball("gimbal", (0, 1), 0.01),),
            gravity=np.zeros(3),
        )
        t = np.linspace(0.0, 1.0, 11)
        q, dq = simulate(heavy, lambda t, q, dq: np.zeros(2), [0.0, 0.0], [0.0, 5.0], t)
        # |R| = m r sqrt(w^4 + dw^2), dw = -K |R| / J
        w, J, pull = 5.0, 1.0 + 2.0 * 0.01, 2.0 * 0.1
        fall = 0.01 * pull / J / np.sqrt(1.0 - (0.01 * pull / J) ** 2)
        np.testing.assert_allclose(dq[:, 1], w / (1.0 + fall * w * t), rtol=1e-9)
        np.testing.assert_allclose(q[:, 0], 0.0, atol=1e-12)


def dry(level: float) -> JointFriction:
    return JointFriction("coulomb-viscous", "none", {"coulomb": level, "viscous": 0.0})


def aside(coefficient: float) -> Mechanism:
    """Return a slider of 2 kg along x without gravity; its mass is 0.2 m beside the guide,
    whose bending arm is 0.1 m.
    """
    return Mechanism(
        "slider",
        ("a",),
        (-1,),
        np.array([True]),
        np.array([[1.0, 0.0, 0.0]]),
        np.zeros((1, 3)),
        np.array([2.0]),
        np.array([[0.0, 0.0, 0.2]]),
        np.zeros((1, 3, 3)),
        np.zeros(3),
        np.array([[-np.inf, np.inf]]),
        (Bearing(0.01, 1.0, 0.1),),
        friction={
            0: JointFriction(
                "coulomb-viscous",
                "normal",
                {"coulomb": 0.0, "viscous": 0.0, "coulomb_coefficient": coefficient},
            )
        },
    )


def one_joint() -> Mechanism:
    """Return a rod that turns about a horizontal axis."""
    return Mechanism(
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
        (None,),
    )


def gimbal() -> Mechanism:
    """Return a gimbal: a ring of 4 kg turns about x and carries 2 kg that turn about y;
    both axes meet in one point.
    """
    return replace(
        one_joint(),
        names=("x", "y"),
        parent=(-1, 0),
        prismatic=np.zeros(2, dtype=bool),
        axis=np.eye(3)[:2],
        origin=np.zeros((2, 3)),
        mass=np.array([4.0, 2.0]),
        com=np.zeros((2, 3)),
        inertia=np.array([np.eye(3)] * 2),
        position=np.tile([-np.inf, np.inf], (2, 1)),
        bearings=(None, None),
    )


def test_an_elastic_joint_deflects_under_its_load():
    m = replace(one_joint(), passive=(0,), springs={0: Spring(50.0)})
    (q,) = equilibrium(m, [0.0])
    # a positive turn about y lowers the rod
    assert 50.0 * q == pytest.approx(2.0 * 10.0 * 0.5 * np.cos(q), rel=1e-12)
    assert q > 0.1


def test_a_spring_too_soft_for_its_load_is_named():
    tip = replace(
        one_joint(), passive=(0,), springs={0: Spring(0.0)}, gravity=np.array([0.0, -10.0, 0.0])
    )
    for gravity in (tip.gravity, np.zeros(3)):
        with pytest.raises(InputError, match="at rest joint a has nothing that holds it"):
            equilibrium(replace(tip, gravity=gravity), [0.0])


def test_an_unstable_balance_is_refused():
    """An upright rod needs a spring of 10 N·m/rad, weight times arm; with a softer spring it is
    refused or leans to a side.
    """
    # hangs along x at q = 0
    up = replace(one_joint(), gravity=np.array([10.0, 0.0, 0.0]), passive=(0,))
    for stiffness, stands in ((10.5, True), (9.5, False), (0.0, False)):
        m = replace(up, gravity=np.array([-10.0, 0.0, 0.0]), springs={0: Spring(stiffness)})
        if stands:
            assert equilibrium(m, [0.3])[0] == pytest.approx(0.0, abs=1e-12)
            continue
        with pytest.raises(InputError, match="joint a would tip over"):
            equilibrium(m, [0.0])
        for start in (0.01, -0.3):
            (q,) = equilibrium(m, [start])
            assert abs(q) > 0.1
            assert stiffness * abs(q) == pytest.approx(10.0 * np.sin(abs(q)), abs=1e-9)
            assert q * start > 0.0
    # without a spring the rod hangs down
    assert equilibrium(up, [0.7])[0] == pytest.approx(0.0, abs=1e-12)


def test_springs_of_very_different_stiffness_reach_their_balance():
    """A soft hinge [N·m/rad] on a stiff slider [N/m]: very different stiffness values do
    not mean a singular balance.
    """
    rod = one_joint()
    m = replace(
        rod,
        names=("slide", "a"),
        parent=(-1, 0),
        prismatic=np.array([True, False]),
        axis=np.eye(3)[[2, 1]],
        origin=np.zeros((2, 3)),
        mass=np.array([1.0, 2.0]),
        com=np.array([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0]]),
        inertia=np.zeros((2, 3, 3)),
        position=np.tile([-np.inf, np.inf], (2, 1)),
        bearings=(None, None),
        passive=(0, 1),
        springs={0: Spring(1e11), 1: Spring(1e-2)},
    )
    slide, angle = equilibrium(m, [0.0, 0.0])
    assert slide == pytest.approx(-30.0 / 1e11, rel=1e-9)
    assert 1e-2 * angle == pytest.approx(10.0 * np.cos(angle), rel=1e-9)


class TestPassiveJointsOfATree:
    def test_only_driven_joints_have_a_driving_torque(self):
        """The torque of a drive includes its parallel spring; a passive joint has zero
        driving torque in any motion.
        """
        m = replace(load_mechanism("flexible-arm"), gravity=np.array([0.0, 0.0, -9.81]))
        q, dq, ddq = np.random.default_rng(0).normal(size=(3, 5, m.n))
        driving = driving_torque(m, q, dq, ddq)
        assert (driving.tau[:, list(m.passive)] == 0.0).all()
        active = list(m.active)
        np.testing.assert_allclose(
            driving.tau[:, active], inverse_dynamics(m, q, dq, ddq)[:, active], atol=1e-12
        )
        sprung = driving_torque(replace(m, springs={0: Spring(30.0, 0.5)}), q, dq, ddq)
        np.testing.assert_allclose(
            (sprung.tau - driving.tau)[:, 0], 30.0 * q[:, 0] + 0.5 * dq[:, 0], atol=1e-12
        )

    def test_passive_joints_hang_at_rest(self):
        m = replace(one_joint(), passive=(0,))
        q, driving = drive(m, [], [], [])
        assert q == pytest.approx([np.pi / 2.0])
        assert driving.tau == 0.0
        assert driving.loads.radial[0, 0] == pytest.approx(20.0)

    def test_a_moving_state_with_passive_joints_is_refused(self):
        with pytest.raises(
            InputError, match=r"has passive joints \(for example shoulder spring\) that swing"
        ):
            drive(load_mechanism("flexible-arm"), [0.0] * 3, [0.1] * 3, [0.0] * 3)


class TestBalls:
    """P4, Eqs. 3-5: friction moment K |R|, against the relative angular velocity."""

    def test_moment(self):
        R, w = (
            np.array([[3.0, 0.0, -4.0], [1.0, 2.0, 2.0]]),
            np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 0.0]]),
        )
        np.testing.assert_allclose(
            ball_moment(0.1, R, w), [[0.0, -0.5, 0.0], [0.0, 0.0, 0.0]], atol=1e-15
        )

    def test_a_hanging_rod_in_a_universal_joint(self, tmp_path):
        """In a rotation about both axes the friction moment opposes the resultant angular
        velocity, not each axis in full.
        """
        (tmp_path / "rod.toml").write_text(
            """schema = 1
name = "rod"
gravity = [0.0, 0.0, -10.0]
[[joints]]
name = "hip"
parent = "ground"
type = "universal"
origin = [0.0, 0.0, 0.0]
mass = 2.0
com = [0.0, 0.0, -0.4]
inertia = [0.03, 0.03, 0.0, 0.0, 0.0, 0.0]
friction_arm = 0.01
""",
            encoding="utf-8",
        )
        m = load_mechanism(tmp_path / "rod.toml")
        assert (m.names, m.passive, m.balls) == (
            ("hip.1", "hip.2"),
            (0, 1),
            (Ball("hip", (0, 1), 0.01),),
        )
        driving = driving_torque(m, np.zeros((1, 2)), [[3.0, 4.0]], np.zeros((1, 2)))
        R = np.linalg.norm(joint_loads(m, np.zeros((1, 2)), [[3.0, 4.0]]).force[0, 1])
        np.testing.assert_allclose(driving.friction[0], 0.01 * R * np.array([0.6, 0.8]), rtol=1e-12)

    def test_friction_of_a_universal_joint_depends_on_the_load_of_its_last_axis(self):
        """The first axis also carries the ring of a gimbal, 40 N; this weight does not load
        the contact of the joint.
        """
        m = replace(gimbal(), balls=(Ball("gimbal", (0, 1), 0.01),))
        assert joint_loads(m, np.zeros((1, 2))).radial[0, 0] == pytest.approx(60.0)
        friction = driving_torque(m, np.zeros((1, 2)), [[3e-6, 4e-6]], np.zeros((1, 2))).friction
        np.testing.assert_allclose(friction[0], 0.01 * 20.0 * np.array([0.6, 0.8]), rtol=1e-9)


@pytest.mark.parametrize(
    ("name", "q", "dq", "said"),
    [
        (
            "five-axis-tree",
            [0.0] * 5,
            [1e200, 0.0, 0.0, 0.0, 0.0],
            r"dq of joint 1 = 1e\+200 rad/s is too large",
        ),
        (
            "three-loop-chain",
            [1e308],
            [0.0],
            r"1'' = 1e\+308 rad is beyond the range in which a chain is followed",
        ),
        ("three-loop-chain", [0.1], [1e200], r"dq of joint 1'' = 1e\+200 rad/s is too large"),
    ],
)
def test_values_that_overflow_are_refused(name, q, dq, said):
    with pytest.raises(InputError, match=said):
        drive(load_mechanism(name), q, dq, np.zeros(len(q)))


@pytest.mark.slow
def test_a_discontinuous_torque_is_refused_with_its_time():
    """A relay controller on velocity, which switches infinitely often at its switching speed."""
    dry = JointFriction("coulomb-viscous", "none", {"coulomb": 0.2, "viscous": 0.0})
    link = replace(
        load_mechanism("five-axis-tree"), gravity=np.zeros(3), friction=dict.fromkeys(range(5), dry)
    )
    with pytest.raises(
        InputError, match=r"even the shortest time step fails at t = 0\.\d+ s: the torque jumps"
    ):
        simulate(
            link, lambda t, q, dq: -0.5 * np.sign(dq + 1e-3), np.zeros(5), np.zeros(5), [0.0, 0.5]
        )
