"""Friction in the dynamics: the tables of the five-axis tree, simulation, springs, spherical joints."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ident.description import load_mechanism
from ident.driving import ball_moment, driving_torque
from ident.elastic import equilibrium
from ident.errors import InputError
from ident.loads import joint_loads
from ident.mechanism import Ball, JointFriction, Mechanism, Spring
from ident.simulation import acceleration, simulate

REFERENCE = Path(__file__).parents[2] / "data" / "reference" / "a_tree.csv"
FRICTION = {"coulomb": 0.0, "viscous": 0.01, "coulomb_coefficient": 0.005}
STRIBECK = {**FRICTION, "static": 0.0, "static_coefficient": 0.05, "stribeck_velocity": 0.03}


@pytest.fixture(scope="module")
def tree() -> Mechanism:
    return load_mechanism("five-axis-tree")


def rubbing(tree: Mechanism, law: str) -> Mechanism:
    parameters = STRIBECK if law == "stribeck" else FRICTION
    return replace(tree, friction={j: JointFriction(law, "normal", parameters) for j in range(tree.n)})


def wanted(t: np.ndarray, n: int) -> tuple[np.ndarray, ...]:
    """All joints at 0.2 rad/s² from rest (P0, Table 2)."""
    one = np.ones((len(t), n))
    return 0.1 * t[:, None] ** 2 * one, 0.2 * t[:, None] * one, 0.2 * one


class TestFiveAxisTree:
    """P0, Table 2; numbers of Pinocchio, which agree with MuJoCo and the explicit equations to 1e-13."""

    @pytest.fixture(scope="class")
    @classmethod
    def table(cls) -> pd.DataFrame:
        return pd.read_csv(REFERENCE)

    def cells(self, table: pd.DataFrame, column: str) -> np.ndarray:
        return table.pivot(index="t", columns="joint", values=column).to_numpy()

    def motion(self, table: pd.DataFrame) -> tuple[np.ndarray, ...]:
        return wanted(np.array(sorted(table["t"].unique())), 5)

    @pytest.mark.parametrize(("column", "key"), [("tau_d0", "tau"), ("tau_r", "bending"), ("f_r", "radial"), ("f_m", "axial"),
                                                 ("tau_n", "normal")])
    def test_loads(self, table, tree, column, key):
        found = getattr(joint_loads(tree, *self.motion(table)), key)
        np.testing.assert_allclose(found, self.cells(table, column), rtol=1e-9, atol=1e-12)

    @pytest.mark.parametrize(("law", "short"), [("coulomb-viscous", "cv"), ("stribeck", "st")])
    def test_friction_and_driving_torques(self, table, tree, law, short):
        driving = driving_torque(rubbing(tree, law), *self.motion(table))
        np.testing.assert_allclose(driving.friction, self.cells(table, f"tau_f_{short}"), rtol=1e-9, atol=1e-15)
        np.testing.assert_allclose(driving.tau, self.cells(table, f"tau_d_{short}"), rtol=1e-9, atol=1e-12)

    def test_the_file_states_the_friction_of_the_paper(self, tree):
        assert {friction.law for friction in tree.friction.values()} == {"stribeck"}
        q, dq, ddq = wanted(np.array([0.1]), 5)
        np.testing.assert_allclose(driving_torque(tree, q, dq, ddq).friction[0, [0, 1, 3]], [0.428202, 0.663271, 0.442018],
                                   atol=5e-7)


class TestSimulation:
    def test_the_driving_torques_make_the_wanted_motion(self, tree):
        """Without friction: fourth order, so that a step half as long errs sixteen times less."""
        smooth = replace(tree, friction={})
        errors = []
        for steps in (100, 200):
            t = np.linspace(0.0, 4.0, steps + 1)
            q, _ = simulate(smooth, lambda t, q, dq: driving_torque(smooth, *wanted(np.array([t]), 5)).tau[0],
                             np.zeros(5), np.zeros(5), t)
            errors.append(np.abs(q - wanted(t, 5)[0]).max())
        assert errors[1] < 1e-4
        assert 11.0 < errors[0] / errors[1] < 22.0

    @pytest.mark.parametrize("law", ["coulomb-viscous", "stribeck"])
    def test_with_friction_too(self, tree, law):
        m = rubbing(tree, law)
        t = np.linspace(0.5, 1.5, 51)
        start = wanted(t[:1], 5)
        q, dq = simulate(m, lambda t, q, dq: driving_torque(m, *wanted(np.array([t]), 5)).tau[0], start[0][0], start[1][0], t)
        np.testing.assert_allclose(q, wanted(t, 5)[0], rtol=0, atol=1e-6)
        np.testing.assert_allclose(dq, wanted(t, 5)[1], rtol=0, atol=1e-5)

    def test_friction_never_adds_energy(self, tree):
        """Coasting in the plane, where gravity does no work: kinetic energy only falls, as fast as friction takes it."""
        from ident.dynamics import mass_matrix

        m, t = rubbing(tree, "coulomb-viscous"), np.linspace(0.0, 0.5, 51)
        q, dq = simulate(m, lambda t, q, dq: np.zeros(5), np.zeros(5), np.array([1.0, -0.5, 2.0, 0.8, -1.2]), t)
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
        q, _ = simulate(m, lambda t, q, dq: np.array([99.0]), [0.2], [0.0], t)     # a passive joint takes no torque
        decay, w = 0.3 / (2.0 * J), np.sqrt(40.0 / J - (0.3 / (2.0 * J)) ** 2)
        exact = 0.2 * np.exp(-decay * t) * (np.cos(w * t) + decay / w * np.sin(w * t))
        np.testing.assert_allclose(q[:, 0], exact, rtol=0, atol=1e-7)

    def test_friction_beyond_reason_is_said(self, tree):
        jammed = replace(tree, friction={j: JointFriction("coulomb-viscous", "normal", {**FRICTION, "coulomb_coefficient": 50.0})
                                         for j in range(5)})
        with pytest.raises(InputError, match=r"find no balance.*friction coefficients are too large"):
            acceleration(jammed, np.zeros(5), np.ones(5), np.zeros(5))


def one_joint() -> Mechanism:
    """A rod that turns about a horizontal axis."""
    return Mechanism("rod", ("a",), (-1,), np.array([False]), np.array([[0.0, 1.0, 0.0]]), np.zeros((1, 3)), np.array([2.0]),
                     np.array([[0.5, 0.0, 0.0]]), np.diag([0.0, 0.1, 0.1])[None], np.array([0.0, 0.0, -10.0]),
                     np.array([[-np.inf, np.inf]]), (None,))


def test_an_elastic_joint_sags_under_its_load():
    m = replace(one_joint(), passive=(0,), springs={0: Spring(50.0)})
    (q,) = equilibrium(m, [0.0])
    assert 50.0 * q == pytest.approx(2.0 * 10.0 * 0.5 * np.cos(q), rel=1e-12)        # a positive turn about y lowers the rod
    assert q > 0.1


def test_a_spring_too_soft_for_its_load_is_named():
    tip = replace(one_joint(), passive=(0,), springs={0: Spring(0.0)}, gravity=np.array([0.0, -10.0, 0.0]))
    with pytest.raises(InputError, match="elastic joints a are too soft"):
        equilibrium(tip, [0.0])


class TestBalls:
    """P4, Eqs. 3-5: friction moment K |R|, against the relative angular velocity."""

    def test_moment(self):
        R, w = np.array([[3.0, 0.0, -4.0], [1.0, 2.0, 2.0]]), np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 0.0]])
        np.testing.assert_allclose(ball_moment(0.1, R, w), [[0.0, -0.5, 0.0], [0.0, 0.0, 0.0]], atol=1e-15)

    def test_a_hanging_rod_in_a_universal_joint(self, tmp_path):
        """Turned about both axes at once it resists against the sum of both, not with each of them in full."""
        (tmp_path / "rod.toml").write_text("""schema = 1
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
""", encoding="utf-8")
        m = load_mechanism(tmp_path / "rod.toml")
        assert (m.names, m.passive, m.balls) == (("hip.1", "hip.2"), (0, 1), (Ball("hip", (0, 1), 0.01),))
        driving = driving_torque(m, np.zeros((1, 2)), [[3.0, 4.0]], np.zeros((1, 2)))
        R = np.linalg.norm(joint_loads(m, np.zeros((1, 2)), [[3.0, 4.0]]).force[0, 1])
        np.testing.assert_allclose(driving.friction[0], 0.01 * R * np.array([0.6, 0.8]), rtol=1e-12)
