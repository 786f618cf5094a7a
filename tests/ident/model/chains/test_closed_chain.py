"""Closed chains against independent results for the papers' mechanisms, and
against laws of mechanics.
"""

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
import tomlkit

from stribeck.ident.arm.built_in import find_model
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import InputError, ModelError
from stribeck.ident.model.chains.closed_chain import ClosedMotion, close_loops, closed_loads
from stribeck.ident.model.chains.posture_following import PostureError
from stribeck.ident.model.driven.driving_torques import closed_driving_torque
from stribeck.ident.model.dynamics import (
    forward_dynamics,
    inverse_dynamics,
    joint_origins,
    joint_wrenches,
    kinematics,
    mass_matrix,
)
from stribeck.ident.model.joint_parts import Closure, Spring
from stribeck.ident.model.loads import joint_loads
from stribeck.ident.model.mechanism import Mechanism
from tests.judges import tree
from tests.places import DATA

REFERENCE = DATA / "reference"
CLOSED = ("three-loop-chain", "planar-3-prr", "gough-stewart")


def energy(m: Mechanism, q: np.ndarray, dq: np.ndarray) -> np.ndarray:
    """Kinetic and potential energy of all links."""
    motion = kinematics(replace(m, closures=()), q, dq)
    arm = motion.rotation @ m.com[:, :, None]
    v = motion.v + np.cross(motion.w, arm[..., 0])
    # angular velocity in link axes
    own = np.einsum("njik,nji->njk", motion.rotation, motion.w)
    turning = np.einsum("nji,jik,njk->n", own, m.inertia, own)
    height = motion.origin + arm[..., 0]
    return (
        0.5 * np.einsum("j,nji,nji->n", m.mass, v, v)
        + 0.5 * turning
        - np.einsum("j,nji,i->n", m.mass, height, m.gravity)
    )


class TestThreeLoopChain:
    """P0, Table 3. References: absolute coordinates with 21 multipliers, and a
    spanning tree in Pinocchio.
    """

    ANGLES: ClassVar = {
        "1'": "phi_1p",
        "2'": "phi_2p",
        "1": "phi_1",
        "2": "phi_2",
        "3": "phi_3",
        "4": "phi_4",
    }
    FORCES: ClassVar = {"2I-1": "F_2p_from_1pp", "2II-4": "F_2p_from_4", "4-3": "F_3_from_4"}

    @pytest.fixture(params=["exact", "nominal"])
    def case(self, request, tmp_path):
        """Both readings of the crank's base point; with the second reading the loops have
        small gaps at zero angles.
        """
        text = find_model("three-loop-chain").read_text(encoding="utf-8")
        if request.param == "nominal":
            assert "[-0.05, 0.0001, 0.0]" in text
            text = text.replace("[-0.05, 0.0001, 0.0]", "[-0.05, 0.0, 0.0]")
        (tmp_path / "chain.toml").write_text(text, encoding="utf-8")
        table = pd.read_csv(REFERENCE / f"b_closed_{request.param}_pos.csv")
        m = load_mechanism(tmp_path / "chain.toml")
        return m, table, close_loops(m, table[["crank"]].to_numpy(), np.full((len(table), 1), 0.1))

    def test_angles(self, case):
        m, table, motion = case
        for joint, column in self.ANGLES.items():
            j = m.names.index(joint)
            np.testing.assert_allclose(motion.q[:, j], table[column], rtol=0, atol=1e-9)
            np.testing.assert_allclose(motion.dq[:, j], table[f"d{column}"], rtol=0, atol=1e-9)

    def test_forces_and_torque(self, case):
        m, table, motion = case
        found = closed_loads(m, motion)
        np.testing.assert_allclose(found.tau[:, 0], table["tau_drive"], rtol=1e-8)
        np.testing.assert_allclose(found.joints.radial[:, 0], table["f_r_1pp"], rtol=1e-8)
        for k, closure in enumerate(m.closures):
            wanted = table[[f"{self.FORCES[closure.name]}_{axis}" for axis in "xy"]].to_numpy()
            np.testing.assert_allclose(
                found.force[:, k, :2], wanted, rtol=1e-8, atol=1e-8 * np.abs(wanted).max()
            )
            np.testing.assert_allclose(found.force[:, k, 2], 0.0, atol=1e-9)

    def test_passive_joints_carry_no_torque(self, case):
        m, _, motion = case
        np.testing.assert_allclose(closed_loads(m, motion).joints.tau[:, 1:], 0.0, atol=1e-10)

    def test_friction_of_the_crank(self):
        """Eqs. 42 and 52 by hand at crank angles 0 and 1: pins of a planar chain
        carry radial forces only.
        """
        m = load_mechanism("three-loop-chain")
        motion = close_loops(m, [[0.0], [1.0]], [[0.1], [0.1]])
        driving = closed_driving_torque(m, motion)
        np.testing.assert_allclose(driving.loads.normal[:, 0], [1.212471, 4.887920], atol=1e-6)
        np.testing.assert_allclose(driving.friction[:, 0], [0.128530, 0.515121], atol=1e-6)
        np.testing.assert_allclose(
            driving.tau[:, 0], [0.880992 + 0.128530, 0.888484 + 0.515121], atol=1e-6
        )

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("crank", "fits"),
        [(1.579, True), (-2.540, True), (-2.5407, False), (3.0, False)],
    )
    def test_a_crank_angle_beyond_its_range_is_refused_and_the_message_states_the_range(
        self, crank, fits
    ):
        m = load_mechanism("three-loop-chain")
        if fits:
            assert close_loops(m, [[crank]]).condition[0] > 100.0  # nearly stretched
            return
        with pytest.raises(PostureError, match=r"1'' from -2\.5403 to 1\.5792 rad") as caught:
            close_loops(m, [[0.2], [crank]])
        np.testing.assert_allclose(caught.value.reachable, [[-2.540336, 1.579162]], atol=2e-6)
        assert caught.value.condition == np.inf


class TestPlanar3PRR:
    """P2. References: the formulation of P2, and a spanning tree in Pinocchio."""

    @pytest.fixture
    def case(self):
        m, table = load_mechanism("planar-3-prr"), pd.read_csv(REFERENCE / "e_3prr.csv")
        t, w = table["t"].to_numpy(), np.array([np.pi, 2.0 * np.pi, np.pi])
        s, c = np.sin(w * t[:, None]), np.cos(w * t[:, None])
        size = np.array([0.05, 0.02, 0.10])
        motion = close_loops(m, size * s, size * w * c, -size * w**2 * s, known=[0, 1, 2])
        return m, table, motion, [m.names.index(f"slider{k}") for k in (1, 2, 3)]

    def test_sliders(self, case):
        _, table, motion, sliders = case
        np.testing.assert_allclose(
            motion.dq[:, sliders], table[["v1", "v2", "v3"]], rtol=0, atol=1e-10
        )

    def test_normal_forces_and_driving_forces(self, case):
        m, table, motion, sliders = case
        ideal, driving = closed_loads(m, motion), closed_driving_torque(m, motion)
        np.testing.assert_allclose(
            driving.loads.normal[:, sliders], table[["fn1", "fn2", "fn3"]], rtol=1e-9
        )
        np.testing.assert_allclose(
            ideal.tau[:, sliders], table[["tau0_1", "tau0_2", "tau0_3"]], rtol=0, atol=1e-9
        )
        np.testing.assert_allclose(
            driving.friction[:, sliders], table[["fric1", "fric2", "fric3"]], rtol=0, atol=1e-9
        )
        np.testing.assert_allclose(
            driving.tau[:, sliders], table[["tau1", "tau2", "tau3"]], rtol=0, atol=1e-9
        )


def stewart(case: dict, folder: Path) -> Mechanism:
    """Return the platform of a reference case; q = 0 is the posture of the reference, in
    which the legs do not spin.

    Legs with mass are rods: the lower rod reaches 1.0 m from the base, the upper
    rod 0.8 m from the platform.
    """
    table = tomllib.loads(find_model("gough-stewart").read_text(encoding="utf-8"))
    degrees = {
        "paired66": ((-10, 10, 110, 130, 230, 250), (-50, 50, 70, 170, 190, 290)),
        "paper_angles": ((0, 45, 135, 180, 225, 315), (0, 30, 120, 180, 210, 300)),
    }[case["geometry"]]
    base, top = (
        radius * np.column_stack((np.cos(angle), np.sin(angle), 0.0 * angle))
        for radius, angle in zip((1.0, 0.8), np.radians(degrees), strict=True)
    )
    roll, pitch, yaw = np.radians(case["rpy_deg"])
    arm = top @ (about(2, yaw) @ about(1, pitch) @ about(0, roll)).T
    points = np.array(case["p"]) + arm
    table["joints"][0]["origin"] = [float(x) for x in case["p"]]
    for k in range(6):
        hip, leg, loop = table["joints"][1 + 2 * k], table["joints"][2 + 2 * k], table["loops"][k]
        u = points[k] - base[k]
        length = np.linalg.norm(u)
        u /= length
        first = np.cross(u, [0.0, 0.0, 1.0]) / np.linalg.norm(np.cross(u, [0.0, 0.0, 1.0]))
        across = np.eye(3) - np.outer(u, u)
        for link, mass, com, rod in (
            (hip, case["ml"], 0.5 * u, 1.0),
            (leg, case["mu"], (length - 0.4) * u, 0.8),
        ):
            inertia = mass * rod**2 / 12.0 * across
            link |= {
                "mass": mass,
                "com": com.tolist(),
                "inertia": [
                    float(inertia[i]) for i in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
                ],
            }
        hip |= {
            "origin": base[k].tolist(),
            "axes": [first.tolist(), np.cross(u, first).tolist()],
            "friction_arm": case["Km"],
        }
        leg |= {
            "axis": u.tolist(),
            "friction": {**leg["friction"], "coulomb_coefficient": case["Ks"]},
        }
        loop["a"]["point"], loop["b"]["point"] = arm[k].tolist(), (length * u).tolist()
        loop["friction_arm"] = case["Km"]
    (folder / "platform.toml").write_text(tomlkit.dumps(table), encoding="utf-8")
    return load_mechanism(folder / "platform.toml")


def about(axis: int, angle: float) -> np.ndarray:
    """Return the rotation about a base axis."""
    R, (j, k) = np.eye(3), ((1, 2), (2, 0), (0, 1))[axis]
    R[j, j] = R[k, k] = np.cos(angle)
    R[k, j], R[j, k] = np.sin(angle), -np.sin(angle)
    return R


def platform_motion(m: Mechanism, twist: np.ndarray) -> ClosedMotion:
    """Motion at q = 0 with a twist of the platform; 0.1 m/s² and 0.01 deg/s² in each
    component (P4, section 5).
    """
    (x, y, z), turn = twist[3:], np.full(3, np.radians(0.01))
    # axes turn with yaw, pitch
    turn = turn - np.cross([0.0, 0.0, z], [0.0, y, 0.0]) - np.cross([0.0, y, z], [x, 0.0, 0.0])
    return close_loops(
        m, np.zeros((1, 6)), [[*twist[:3], z, y, x]], [[0.1, 0.1, 0.1, *turn[::-1]]], known=range(6)
    )


class TestGoughStewart:
    """P4, section 5. References: virtual work, and a fixed-point iteration
    of friction and reactions.
    """

    CASES: ClassVar = json.loads((REFERENCE / "d_stewart.json").read_text(encoding="utf-8"))
    WRENCH = (0.5, 0.25, -0.75, 0.5, 1.0, 1.25)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "name",
        sorted(
            {
                (case["geometry"], case["case"])
                for case in CASES
                if case["geometry"] == "paired66"
                or "10+10" in case["case"]
                or "alternating" in case["case"]
            }
        ),
        ids=": ".join,
    )
    def test_leg_forces_with_and_without_friction(self, name, tmp_path):
        """Of every case the first and the last of P4's twists; of the paper's angles the cases
        with heavy legs and with legs of both directions.
        """
        cases = [case for case in self.CASES if (case["geometry"], case["case"]) == name]
        for case in (cases[0], cases[-1]):
            m = stewart(case, tmp_path)
            legs, motion = list(m.active), platform_motion(m, np.array(case["twist"]))
            np.testing.assert_allclose(motion.dq[0, legs], case["sdot"], rtol=0, atol=1e-12)
            wrench = np.zeros((1, m.n, 6))
            wrench[0, 5] = self.WRENCH  # on the platform
            ideal, driving = (
                closed_loads(m, motion, None, wrench),
                closed_driving_torque(m, motion, wrench),
            )
            np.testing.assert_allclose(ideal.tau[0, legs], case["ideal"], rtol=1e-8, atol=1e-8)
            np.testing.assert_allclose(driving.tau[0, legs], case["fric"], rtol=1e-8, atol=1e-8)

    def test_the_joint_angles_of_the_paper_are_singular_when_level(self):
        m = load_mechanism("gough-stewart-paper")
        # any level posture
        level = close_loops(m, [[0.05, 0.02, 0.1, 0.3, 0.0, 0.0]], known=range(6))
        with pytest.raises(
            PostureError, match=r"singular: condition number \d\.\de\+1\d"
        ) as caught:
            closed_loads(m, level)
        assert caught.value.condition > 1e12
        with pytest.raises(
            PostureError, match=r"only 17 of 18 joints \(condition number \d\.\de\+1\d\)"
        ):
            # the legs alone do not hold the level platform
            close_loops(m, np.zeros((1, 6)))
        tilted = close_loops(m, [[0.0, 0.0, 0.0, -0.5, 0.07, 0.14]], known=range(6))
        assert closed_loads(m, tilted).condition[0] < 1e4

    def test_leg_lengths_give_the_pose(self):
        """Forward kinematics: from the legs to the platform and back."""
        m = load_mechanism("gough-stewart")
        pose = np.array([[0.05, -0.1, 0.08, 0.1, -0.06, 0.04]])
        legs = close_loops(m, pose, known=range(6)).q[:, list(m.active)]
        np.testing.assert_allclose(close_loops(m, legs).q[:, :6], pose, rtol=0, atol=1e-11)

    def test_friction_that_locks_the_platform_is_refused(self, tmp_path):
        case = {**self.CASES[0], "Km": 5.0}
        m = stewart(case, tmp_path)
        with pytest.raises(InputError, match="locks itself"):
            closed_driving_torque(m, platform_motion(m, np.array(case["twist"])))


@pytest.mark.parametrize("name", CLOSED)
class TestEveryChain:
    def moving(
        self, m: Mechanism, samples: int = 41, h: float = 1e-3
    ) -> tuple[np.ndarray, ClosedMotion]:
        """A smooth motion of the active joints around q = 0."""
        rng = np.random.default_rng(5)
        t = h * np.arange(samples)[:, None]
        size, angle = (
            0.05 * rng.uniform(0.5, 1.0, len(m.active)),
            rng.uniform(0.0, 6.0, len(m.active)),
        )
        w = rng.uniform(3.0, 6.0, len(m.active))
        q = size * (np.sin(w * t + angle) - np.sin(angle))
        return t[:, 0], close_loops(
            m, q, size * w * np.cos(w * t + angle), -size * w**2 * np.sin(w * t + angle)
        )

    def test_rates_are_derivatives(self, name):
        m = load_mechanism(name)
        t, motion = self.moving(m)
        h = t[1] - t[0]
        dq = (-motion.q[4:] + 8.0 * motion.q[3:-1] - 8.0 * motion.q[1:-3] + motion.q[:-4]) / (
            12.0 * h
        )
        ddq = (-motion.dq[4:] + 8.0 * motion.dq[3:-1] - 8.0 * motion.dq[1:-3] + motion.dq[:-4]) / (
            12.0 * h
        )
        np.testing.assert_allclose(motion.dq[2:-2], dq, rtol=0, atol=1e-7)
        np.testing.assert_allclose(motion.ddq[2:-2], ddq, rtol=0, atol=1e-6)

    def test_power_of_the_drives_is_the_change_of_energy(self, name):
        m = load_mechanism(name)
        t, motion = self.moving(m)
        power = np.sum(closed_loads(m, motion).tau * motion.dq, axis=1)
        E = energy(m, motion.q, motion.dq)
        rate = (-E[4:] + 8.0 * E[3:-1] - 8.0 * E[1:-3] + E[:-4]) / (12.0 * (t[1] - t[0]))
        np.testing.assert_allclose(power[2:-2], rate, rtol=0, atol=1e-6 * np.abs(power).max())

    def test_friction_never_gives_power(self, name):
        """The power of the drives minus the frictionless power equals the friction
        power, which is never negative.
        """
        m = load_mechanism(name)
        _, motion = self.moving(m)
        lost = np.sum(
            (closed_driving_torque(m, motion).tau - closed_loads(m, motion).tau) * motion.dq, axis=1
        )
        assert (lost > 0.0).all()

    def test_loops_are_closed(self, name):
        m = load_mechanism(name)
        _, motion = self.moving(m)
        pose = kinematics(replace(m, closures=()), motion.q)
        for closure in m.closures:
            a, b = (
                pose.origin[:, link] + pose.rotation[:, link] @ point if link >= 0 else point
                for link, point in zip(closure.links, closure.points, strict=True)
            )
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)

    @pytest.mark.parametrize("mirrored", [False, True], ids=["turned", "mirrored"])
    def test_turning_or_mirroring_everything_changes_no_torque_and_no_load(self, name, mirrored):
        m = load_mechanism(name)
        R = (
            about(0, 0.7)
            @ about(1, -0.4)
            @ about(2, 1.1)
            @ np.diag([1.0, 1.0, -1.0 if mirrored else 1.0])
        )
        turns = (-1.0 if mirrored else 1.0) * R  # a rotation axis is an axial vector
        axis = np.where(m.prismatic[:, None], m.axis @ R.T, m.axis @ turns.T)
        closures = tuple(
            replace(closure, points=closure.points @ R.T, axis=turns @ closure.axis)
            for closure in m.closures
        )
        other = replace(
            m,
            axis=axis,
            origin=m.origin @ R.T,
            com=m.com @ R.T,
            inertia=R @ m.inertia @ R.T,
            gravity=R @ m.gravity,
            closures=closures,
        )
        _, motion = self.moving(m, 5)
        turned = close_loops(
            other, *(values[:, list(m.active)] for values in (motion.q, motion.dq, motion.ddq))
        )
        np.testing.assert_allclose(turned.q, motion.q, rtol=0, atol=1e-9)
        one, two = closed_driving_torque(m, motion), closed_driving_torque(other, turned)
        np.testing.assert_allclose(two.tau, one.tau, rtol=1e-8, atol=1e-8)
        for key in ("radial", "bending", "torque", "axial"):
            np.testing.assert_allclose(two.loads.get(key), one.loads.get(key), rtol=1e-7, atol=1e-7)

    def test_time_reversal_changes_no_load(self, name):
        m = load_mechanism(name)
        _, there = self.moving(m)
        back = ClosedMotion(there.q, -there.dq, there.ddq, there.condition)
        for key in ("radial", "bending", "torque", "axial"):
            np.testing.assert_allclose(
                closed_loads(m, there).joints.get(key),
                closed_loads(m, back).joints.get(key),
                atol=1e-9,
            )

    def test_no_samples_give_no_torques(self, name):
        m = load_mechanism(name)
        assert closed_driving_torque(m, close_loops(m, np.zeros((0, len(m.active))))).tau.shape == (
            0,
            m.n,
        )

    def test_functions_of_a_tree_refuse_a_closed_chain(self, name):
        m = load_mechanism(name)
        rest = np.zeros((1, m.n))
        for function in (joint_loads, joint_wrenches, inverse_dynamics, mass_matrix):
            with pytest.raises(ModelError, match="closed_loads"):
                function(m, rest)
        with pytest.raises(ModelError, match="closed_loads"):
            forward_dynamics(m, rest, rest, rest)


def spatial_loop(seed: int) -> Mechanism:
    """Seven hinges with axes in all directions: a pin closes two branches of three hinges, and
    the pin axis turns in space.
    """
    judge, rng = tree(seed, n=6), np.random.default_rng(seed)
    axis, point = rng.normal(size=3), rng.normal(scale=0.4, size=(2, 3))
    m = replace(
        judge,
        name="seven hinges",
        parent=(-1, 0, 1, -1, 3, 4),
        prismatic=np.zeros(6, dtype=bool),
        passive=(1, 2, 3, 4, 5),
    )
    points = np.array([point[0], point[0] + m.origin[:3].sum(axis=0) - m.origin[3:].sum(axis=0)])
    return replace(
        m, closures=(Closure("pin", "pin", (2, 5), points, axis / np.linalg.norm(axis)),)
    )


@pytest.mark.parametrize("seed", [0, 3, 4, 8])  # far from singular
class TestSevenHinges:
    """A pin closure that transmits couples and has a turning axis; a planar chain tests neither."""

    def motion(self, seed: int) -> tuple[Mechanism, np.ndarray, ClosedMotion]:
        m, t = spatial_loop(seed), 1e-3 * np.arange(21)[:, None]
        return (
            m,
            t[:, 0],
            close_loops(m, 0.1 * np.sin(4.0 * t), 0.4 * np.cos(4.0 * t), -1.6 * np.sin(4.0 * t)),
        )

    def test_rates_are_derivatives(self, seed):
        _, t, motion = self.motion(seed)
        for value, rate in ((motion.q, motion.dq), (motion.dq, motion.ddq)):
            slope = (-value[4:] + 8.0 * value[3:-1] - 8.0 * value[1:-3] + value[:-4]) / (
                12.0 * (t[1] - t[0])
            )
            np.testing.assert_allclose(
                rate[2:-2], slope, rtol=0, atol=1e-6 * max(1.0, np.abs(rate).max())
            )
        assert np.abs(motion.ddq[:, 1:]).max() > 0.1

    def test_cut_forces_leave_the_passive_joints_free(self, seed):
        """Under cut forces and couples only the drive has a torque, and the pin has
        no moment about its axis.
        """
        m, _, motion = self.motion(seed)
        found = closed_loads(m, motion)
        scale = np.abs(found.moment).max()
        np.testing.assert_allclose(found.joints.tau, found.tau, rtol=0, atol=1e-9 * scale)
        pose = kinematics(replace(m, closures=()), motion.q)
        a, b = (pose.rotation[:, link] @ m.closures[0].axis for link in m.closures[0].links)
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-11)
        np.testing.assert_allclose(
            np.einsum("ni,nki->nk", a, found.moment), 0.0, rtol=0, atol=1e-9 * scale
        )
        assert np.linalg.norm(found.moment, axis=2).min() > 0.1

    def test_power_of_the_drive_is_the_change_of_energy(self, seed):
        m, t, motion = self.motion(seed)
        power = np.sum(closed_loads(m, motion).tau * motion.dq, axis=1)
        E = energy(m, motion.q, motion.dq)
        rate = (-E[4:] + 8.0 * E[3:-1] - 8.0 * E[1:-3] + E[:-4]) / (12.0 * (t[1] - t[0]))
        np.testing.assert_allclose(power[2:-2], rate, rtol=0, atol=1e-6 * np.abs(power).max())


def test_a_rigid_closure_has_the_loads_of_a_fixed_joint(tmp_path):
    """Two rigidly tied pendulums on one link move as one body; force and moment at the tie
    balance the pendulum's weight.
    """
    arm = """schema = 1
name = "tied"
gravity = [0.0, 0.0, -10.0]
[[joints]]
name = "a"
parent = "ground"
type = "revolute"
axis = [0.0, 1.0, 0.0]
origin = [0.0, 0.0, 0.0]
mass = 2.0
com = [0.5, 0.0, 0.0]
inertia = [0.0, 0.1, 0.1, 0.0, 0.0, 0.0]
[[joints]]
name = "b"
parent = "ground"
type = "free"
origin = [1.0, 0.0, 0.0]
mass = 3.0
com = [0.2, 0.0, 0.0]
inertia = [0.01, 0.02, 0.02, 0.0, 0.0, 0.0]
[[loops]]
type = "rigid"
a = { link = "b", point = [0.0, 0.0, 0.0] }
b = { link = "a", point = [1.0, 0.0, 0.0] }
"""
    (tmp_path / "tied.toml").write_text(arm, encoding="utf-8")
    m = load_mechanism(tmp_path / "tied.toml")
    motion = close_loops(m, [[0.0], [0.4]], [[0.0], [2.0]], [[0.0], [5.0]])
    found = closed_loads(m, motion)
    np.testing.assert_allclose(found.force[0, 0], [0.0, 0.0, 30.0], atol=1e-9)
    np.testing.assert_allclose(found.moment[0, 0], [0.0, -0.2 * 30.0, 0.0], atol=1e-9)
    inertia = 0.1 + 2.0 * 0.25 + 0.02 + 3.0 * 1.2**2
    np.testing.assert_allclose(
        found.tau[1, 0], inertia * 5.0 - np.cos(0.4) * 10.0 * (2.0 * 0.5 + 3.0 * 1.2), rtol=1e-12
    )
    tie = joint_origins(replace(m, closures=()), motion.q)[1, -2]
    np.testing.assert_allclose(tie, [np.cos(0.4), 0.0, -np.sin(0.4)], atol=1e-12)


def test_the_drive_torque_includes_springs_of_a_closed_chain():
    """Virtual work: at rest the crank torque is the sum of spring torques times
    joint speed per crank speed.
    """
    free = replace(load_mechanism("three-loop-chain"), friction={})
    sprung = replace(free, springs={2: Spring(50.0, 0.3), 5: Spring(20.0)})
    motion = close_loops(free, [[0.4], [0.9]], [[0.1], [0.2]])
    more = (closed_loads(sprung, motion).tau - closed_loads(free, motion).tau)[:, 0]
    work = (50.0 * motion.q[:, 2] + 0.3 * motion.dq[:, 2]) * motion.dq[:, 2] + 20.0 * motion.q[
        :, 5
    ] * motion.dq[:, 5]
    np.testing.assert_allclose(more * motion.dq[:, 0], work, rtol=1e-9)


def test_closures_that_leave_a_joint_free_are_refused(tmp_path):
    table = tomllib.loads(find_model("three-loop-chain").read_text(encoding="utf-8"))
    del table["loops"][2]
    (tmp_path / "loose.toml").write_text(tomlkit.dumps(table), encoding="utf-8")
    with pytest.raises(InputError, match=r"determine only 4 of 6 joints .* closure is missing"):
        close_loops(load_mechanism(tmp_path / "loose.toml"), [[0.1]])


def test_a_wrong_number_of_known_joints_is_refused():
    with pytest.raises(
        InputError,
        match=r"q has shape \(1, 2\), three-loop-chain needs \(N, 1\) for the joints 1''",
    ):
        close_loops(load_mechanism("three-loop-chain"), [[0.1, 0.2]])
