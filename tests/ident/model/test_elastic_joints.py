"""Elastic joints against rigid dynamics and Spong's frequencies; flexible links
against Euler-Bernoulli beams.
"""

import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import eigh

from stribeck import load_mechanism
from stribeck.ident.arm.built_in import built_in_mechanisms
from stribeck.ident.errors import InputError, ModelError
from stribeck.ident.model.chains.closed_chain import close_loops, closed_loads, swinging_joints
from stribeck.ident.model.chains.loop_geometry import gap
from stribeck.ident.model.chains.rest import equilibrium
from stribeck.ident.model.driven.driving_torques import drive
from stribeck.ident.model.dynamics import (
    inverse_dynamics,
    joint_origins,
    joint_wrenches,
    kinematics,
    mass_matrix,
)
from stribeck.ident.model.elastic_joints import elastic_joint, flexible_link
from stribeck.ident.model.files.mechanism_toml import mechanism_from_table
from stribeck.ident.model.joint_parts import Ball, Bearing, Closure, Follower, JointFriction, Spring
from stribeck.ident.model.loads import joint_loads
from stribeck.ident.model.mechanism import Mechanism
from tests.judges import HAND

# the flexible link of Zhang and Zhao, Electronics 12 (2023) 2038, Table 1: 1.5 kg, 0.8 m,
# density 2740, E = 207 GPa
MASS, LENGTH, RADIUS = 1.5, 0.8, np.sqrt(1.5 / (np.pi * 2740.0 * 0.8))
EI = 2.07e11 * np.pi * RADIUS**4 / 4.0
RIGID_TREE = load_mechanism("five-axis-tree")


def rod(
    tool: float = 0.0,
    gravity: tuple[float, float, float] = (0.0, 0.0, 0.0),
    tip: np.ndarray | None = None,
) -> Mechanism:
    """Return a solid rod on a vertical joint "clamp", with a joint "tool"
    and a point mass at its tip.
    """
    tip = np.array([LENGTH, 0.0, 0.0]) if tip is None else tip
    e = tip / np.linalg.norm(tip)
    axial = MASS * RADIUS**2 / 2.0
    across = axial / 2.0 + MASS * LENGTH**2 / 12.0
    inertia = axial * np.outer(e, e) + across * (np.eye(3) - np.outer(e, e))
    return Mechanism(
        "rod",
        ("clamp", "tool"),
        (-1, 0),
        np.zeros(2, dtype=bool),
        np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]),
        np.array([np.zeros(3), tip]),
        np.array([MASS, tool]),
        np.array([tip / 2.0, np.zeros(3)]),
        np.array([inertia, 1e-12 * np.eye(3)]),
        np.array(gravity),
        np.tile([-np.inf, np.inf], (2, 1)),
        (None, None),
    )


def frequencies(m: Mechanism) -> np.ndarray:
    """Return the natural frequencies with all drives locked [Hz]."""
    passive = list(m.passive)
    stiffness = np.diag([m.springs[joint].stiffness for joint in passive])
    M = mass_matrix(m, np.zeros((1, m.n)))[0][np.ix_(passive, passive)]
    return np.sqrt(eigh(stiffness, M, eigvals_only=True)) / (2.0 * np.pi)


class TestElasticJoint:
    @pytest.mark.parametrize("joint", RIGID_TREE.names)
    def test_link_motion_and_joint_loads_equal_those_of_the_rigid_mechanism(
        self, joint: str
    ) -> None:
        """Drive position plus deflection equals the rigid joint's position; the spring transmits
        the rigid joint's torque.
        """
        rigid = replace(RIGID_TREE, gravity=np.array([1.0, -9.0, 2.0]))
        m = elastic_joint(rigid, joint, Spring(100.0, 1.0))
        at = m.names.index(joint)
        q, dq, ddq = np.random.default_rng(0).normal(size=(3, 20, m.n))
        together = [np.delete(values, at + 1, axis=1) for values in (q, dq, ddq)]
        for sums, values in zip(together, (q, dq, ddq), strict=True):
            sums[:, at] += values[:, at + 1]
        tau, expected = inverse_dynamics(m, q, dq, ddq), inverse_dynamics(rigid, *together)
        np.testing.assert_allclose(np.delete(tau, at + 1, axis=1), expected, atol=1e-9)
        np.testing.assert_allclose(tau[:, at + 1], expected[:, at], atol=1e-9)
        np.testing.assert_allclose(
            np.delete(joint_origins(m, q), at + 1, axis=1),
            joint_origins(rigid, together[0]),
            atol=1e-9,
        )

    def test_the_rotor_turns_with_the_drive(self) -> None:
        rotor = 0.3
        q, ddq = np.random.default_rng(1).normal(size=(2, 10, 6))
        with_rotor, without = (
            inverse_dynamics(elastic_joint(RIGID_TREE, "2", Spring(1.0), inertia), q, ddq=ddq)
            for inertia in (rotor, 0.0)
        )
        # all axes are parallel: joint 1 carries the rotor of 2 round
        turning = rotor * (ddq[:, 0] + ddq[:, 1])
        np.testing.assert_allclose(
            with_rotor - without, np.column_stack((turning, turning, np.zeros((10, 4)))), atol=1e-9
        )

    def test_natural_frequencies_agree_with_spongs_model(self) -> None:
        """K / J behind a locked drive, K (1 / J + 1 / B) with a free one."""
        K, B = 700.0, 0.02
        J = MASS * LENGTH**2 / 3.0 + MASS * RADIUS**2 / 4.0
        m = elastic_joint(rod(), "clamp", Spring(K), B)
        assert frequencies(m)[0] == pytest.approx(np.sqrt(K / J) / (2.0 * np.pi))
        M = mass_matrix(m, np.zeros((1, m.n)))[0, :2, :2]
        free = eigh(np.diag([0.0, K]), M, eigvals_only=True)
        np.testing.assert_allclose(free, [0.0, K * (1.0 / J + 1.0 / B)], atol=1e-6 * free[1])

    def test_friction_springs_and_balls_keep_their_joints_after_the_split(self) -> None:
        friction = {
            joint: JointFriction(law, "none", {}) for joint, law in ((1, "stribeck"), (3, "other"))
        }
        m = replace(
            RIGID_TREE,
            passive=(2,),
            springs={2: Spring(5.0)},
            friction=friction,
            balls=(Ball("ball", (3, 4)),),
        )
        m = elastic_joint(m, "2", Spring(9.0), 0.1)
        by_name = {name: index for index, name in enumerate(m.names)}
        assert m.names == ("1", "2", "2 spring", "3", "4", "5")
        assert [m.names[parent] if parent >= 0 else "" for parent in m.parent] == [
            "",
            "1",
            "2",
            "2 spring",
            "1",
            "4",
        ]
        assert m.passive == (by_name["2 spring"], by_name["3"])
        assert m.springs == {by_name["2 spring"]: Spring(9.0), by_name["3"]: Spring(5.0)}
        assert {m.names[joint]: friction.law for joint, friction in m.friction.items()} == {
            "2": "stribeck",
            "4": "other",
        }
        assert m.balls[0].joints == (by_name["4"], by_name["5"])
        assert m.bearings[by_name["2"]] == RIGID_TREE.bearings[1]
        assert m.bearings[by_name["2 spring"]] is None
        assert m.active == tuple(by_name[name] for name in ("1", "2", "4", "5"))

    @pytest.mark.parametrize("joint", ["1", "2", "3", "5"])
    def test_loads_with_followers_equal_those_of_the_rigid_mechanism(self, joint: str) -> None:
        """One follower on link 2 with leader 4, a second follower on the first; joints behind the
        new joint have new indices.
        """

        def follower(name: str, ratio: float, parent: int) -> Follower:
            return Follower(
                name,
                3,
                ratio,
                0.2,
                parent,
                False,
                np.array([0.0, 0.6, 0.8]),
                np.array([0.1, 0.2, 0.3]),
                1.5,
                np.array([0.3, 0.1, 0.0]),
                np.diag([0.02, 0.03, 0.04]),
            )

        rigid = replace(
            RIGID_TREE,
            gravity=np.array([1.0, -9.0, 2.0]),
            followers=(follower("a", -2.0, 1), follower("b", 3.0, 5)),
        )
        m = elastic_joint(rigid, joint, Spring(100.0))
        at = m.names.index(joint)
        q, dq, ddq = np.random.default_rng(3).normal(size=(3, 20, m.n))
        together = [np.delete(values, at + 1, axis=1) for values in (q, dq, ddq)]
        for sums, values in zip(together, (q, dq, ddq), strict=True):
            sums[:, at] += values[:, at + 1]
        ours, theirs = joint_loads(m, q, dq, ddq), joint_loads(rigid, *together)
        for key in ("tau", "radial", "bending", "force", "moment"):
            np.testing.assert_allclose(
                np.delete(getattr(ours, key), at + 1, axis=1), getattr(theirs, key), atol=1e-9
            )

    def test_a_leader_of_a_follower_is_not_split(self, tmp_path: Path) -> None:
        (tmp_path / "hand.urdf").write_text(
            HAND.replace('"prismatic"', '"revolute"'), encoding="utf-8"
        )
        hand = load_mechanism(tmp_path / "hand.urdf")
        with pytest.raises(ModelError, match="joint left leads the follower right"):
            elastic_joint(hand, "left", Spring(1.0))
        with pytest.raises(
            InputError,
            match="a joint 'wrist spring' exists already, so joint wrist is already elastic",
        ):
            elastic_joint(
                replace(hand, followers=(replace(hand.followers[0], name="wrist spring"),)),
                "wrist",
                Spring(1.0),
            )

    def test_two_joints_of_a_mechanism_can_be_elastic(self) -> None:
        m = elastic_joint(elastic_joint(RIGID_TREE, "3", Spring(3.0)), "1", Spring(1.0))
        assert {m.names[joint]: spring.stiffness for joint, spring in m.springs.items()} == {
            "1 spring": 1.0,
            "3 spring": 3.0,
        }

    @pytest.mark.parametrize(
        ("change", "joint", "inertia", "error", "words"),
        [
            ({}, "6", 0.0, InputError, "unknown joint '6'.*1, 2, 3, 4, 5"),
            ({}, "2", -0.1, InputError, "rotor_inertia of joint 2 = -0.1"),
            (
                {"prismatic": np.array([False, True, False, False, False])},
                "2",
                0.0,
                ModelError,
                "joint 2 slides",
            ),
            (
                {"balls": (Ball("b", (1, 2)),)},
                "3",
                0.0,
                ModelError,
                "joint 3 is part of a spherical joint",
            ),
        ],
    )
    def test_what_cannot_be_split_is_refused(
        self,
        change: dict[str, object],
        joint: str,
        inertia: float,
        error: type[InputError],
        words: str,
    ) -> None:
        with pytest.raises(error, match=words):
            elastic_joint(replace(RIGID_TREE, **change), joint, Spring(1.0), inertia)

    def test_a_joint_is_split_once(self) -> None:
        with pytest.raises(InputError, match="already"):
            elastic_joint(elastic_joint(RIGID_TREE, "2", Spring(1.0)), "2", Spring(1.0))


class TestFlexibleLink:
    @pytest.mark.parametrize("gravity", [(0.0, 0.0, -9.81), (0.0, 6.0, -8.0)])
    def test_a_tip_load_bends_the_beam_as_a_cantilever(
        self, gravity: tuple[float, float, float]
    ) -> None:
        """F l^3 / (3 E I) in any direction across the beam; the error is that of the
        midpoint rule, 1 / (4 N^2).
        """
        tool = 5.0
        load = np.linalg.norm(gravity)
        beam = load * tool * LENGTH**3 / (3.0 * EI) + load * MASS * LENGTH**3 / (8.0 * EI)
        for segments in (2, 4, 8, 16):
            m = flexible_link(rod(tool, gravity), "clamp", [LENGTH, 0.0, 0.0], EI, segments)
            tip = joint_origins(m, [equilibrium(m, np.zeros(m.n))])[0, m.names.index("tool")]
            np.testing.assert_allclose(
                np.cross(tip - [tip[0], 0.0, 0.0], gravity), 0.0, atol=1e-6 * beam * load
            )
            deflection = tip @ gravity / load
            assert abs(deflection / beam - 1.0) < 0.35 / segments**2
            # the error is of second order, not higher
            assert abs(deflection / beam - 1.0) > 0.15 / segments**2

    def test_own_weight_bends_the_beam_as_a_cantilever(self) -> None:
        """q l^4 / (8 E I)."""
        m = flexible_link(rod(gravity=(0.0, 0.0, -9.81)), "clamp", [LENGTH, 0.0, 0.0], EI, 16)
        tip = joint_origins(m, [equilibrium(m, np.zeros(m.n))])[0, m.names.index("tool")]
        assert -tip[2] == pytest.approx(9.81 * MASS * LENGTH**3 / (8.0 * EI), rel=0.005)

    def test_frequencies_converge_to_those_of_a_continuous_beam(self) -> None:
        """1.875^2 and 4.694^2 over 2 pi, times sqrt(E I / (rho A l^4)), in pairs
        for the two bending axes.
        """
        beam = (
            np.array([1.8751041, 4.6940911]) ** 2
            / (2.0 * np.pi)
            * np.sqrt(EI / (MASS / LENGTH * LENGTH**4))
        )
        errors = []
        for segments in (4, 8, 16):
            found = frequencies(flexible_link(rod(), "clamp", [LENGTH, 0.0, 0.0], EI, segments))
            np.testing.assert_allclose(found[:4:2], found[1:4:2], rtol=1e-6)
            errors.append(np.abs(found[:4:2] / beam - 1.0))
        assert errors[-1][0] < 0.002
        assert errors[-1][1] < 0.015
        assert (errors[1] < errors[0]).all()
        assert (errors[2] < errors[1]).all()

    def test_a_follower_on_the_link_moves_with_the_tip_of_the_beam(self) -> None:
        """The follower sits on the beam and follows the joint that carries the beam."""
        end = np.array([LENGTH, 0.0, 0.0])
        finger = Follower(
            "finger",
            0,
            0.5,
            0.0,
            0,
            False,
            np.array([1.0, 0.0, 0.0]),
            end,
            0.3,
            np.zeros(3),
            1e-3 * np.eye(3),
        )
        rigid = replace(rod(2.0, (0.0, 0.0, -9.81)), followers=(finger,))
        m = flexible_link(rigid, "clamp", end, EI, 3)
        posture = np.zeros((1, m.n))
        posture[0, 0] = 0.4
        np.testing.assert_allclose(
            joint_origins(m, posture)[0, m.n], joint_origins(rigid, [[0.4, 0.0]])[0, 2], atol=1e-12
        )
        # bend the beam: the finger moves with the tool
        posture[0, 2] = 0.1
        moved = joint_origins(m, posture)[0]
        np.testing.assert_allclose(moved[m.n], moved[m.names.index("tool")], atol=1e-12)

    def test_a_straight_beam_has_the_loads_of_the_rigid_link(self) -> None:
        """Beams in several directions from the joint."""
        for tip in np.array([[0.3, -0.5, 0.2], [0.0, 0.0, 1.0], [-1.0, 0.0, 0.0]]):
            tip *= LENGTH / np.linalg.norm(tip)
            rigid = rod(2.0, (1.0, 2.0, -9.0), tip)
            m = flexible_link(rigid, "clamp", tip, EI, 5)
            ends = [m.names.index("clamp"), m.names.index("tool")]
            q, dq, ddq = np.zeros((3, 7, m.n))
            for values in (q, dq, ddq):
                values[:, ends] = np.random.default_rng(2).normal(size=(7, 2))
            ours, theirs = (
                joint_wrenches(m, q, dq, ddq),
                joint_wrenches(rigid, q[:, ends], dq[:, ends], ddq[:, ends]),
            )
            np.testing.assert_allclose(ours.force[:, ends], theirs.force, atol=1e-9)
            np.testing.assert_allclose(ours.moment[:, ends], theirs.moment, atol=1e-9)
            assert m.mass.sum() == pytest.approx(rigid.mass.sum())

    def test_stiffness_and_damping_of_the_hinges(self) -> None:
        m = flexible_link(rod(), "clamp", [LENGTH, 0.0, 0.0], EI, 4, relaxation_time=1e-3)
        assert [m.names[joint] for joint in m.passive] == [
            f"clamp {k}{axis}" for k in (1, 2, 3, 4) for axis in "ab"
        ]
        assert set(m.springs.values()) == {Spring(EI / 0.2, 1e-3 * EI / 0.2)}

    @pytest.mark.parametrize(
        ("tip", "keywords", "error", "words"),
        [
            ([0.0, 0.0, 0.0], {}, InputError, "tip"),
            ([1.0, 0.0], {}, InputError, "tip"),
            ([0.8, 0.0, 0.0], {"segments": 0}, InputError, "segments = 0"),
            ([0.8, 0.0, 0.0], {"bending_stiffness": 0.0}, InputError, "bending_stiffness = 0"),
            ([0.8, 0.0, 0.0], {"relaxation_time": -1.0}, InputError, "relaxation_time = -1"),
            ([0.6, 0.0, 0.0], {}, ModelError, "not a uniform rod of 0.6 m.*0.4.*0.3"),
            ([0.0, 0.8, 0.0], {}, ModelError, "not a uniform rod"),
        ],
    )
    def test_impossible_beams_are_refused(
        self, tip: list[float], keywords: dict[str, float], error: type[InputError], words: str
    ) -> None:
        with pytest.raises(error, match=words):
            flexible_link(rod(), "clamp", tip, **{"bending_stiffness": EI, **keywords})

    def test_a_link_without_the_inertia_of_a_rod_is_refused(self) -> None:
        ball = rod()
        ball.inertia[0] *= 0.5
        with pytest.raises(ModelError, match="transverse moment of inertia"):
            flexible_link(ball, "clamp", [LENGTH, 0.0, 0.0], EI)


class TestFlexibleArm:
    """`data/mechanisms/flexible-arm.toml`, and keys of springs in a mechanism file."""

    def test_the_flexible_arm_is_the_rigid_arm_with_three_elastic_joints(self) -> None:
        m = load_mechanism("flexible-arm")
        assert [m.names[joint] for joint in m.active] == ["shoulder", "elbow", "wrist"]
        assert {m.names[joint] for joint in m.springs} == {m.names[joint] for joint in m.passive}
        assert m.springs[1] == Spring(600.0, 0.05)
        assert m.mass.sum() == pytest.approx(2.0 + 0.3 + 0.07 + 1.5 + 2.6)
        m = replace(m, gravity=np.array([0.0, 0.0, -9.81]))
        shoulder = 9.81 * (2.0 * 0.2 + 0.3 * 0.45 + 0.07 * 0.52 + 1.5 * 0.94 + 2.6 * 1.34)
        assert inverse_dynamics(m, np.zeros((1, m.n)))[0, :2] == pytest.approx([shoulder, shoulder])
        tip = joint_origins(m, [equilibrium(m, np.zeros(m.n))])[0, m.names.index("wrist")]
        elbow = shoulder - 9.81 * (2.0 * 0.2 + 0.4 * (0.3 + 0.07 + 1.5 + 2.6))
        flexure = elbow - 9.81 * 0.1 * (0.07 + 1.5 + 2.6) - 9.81 * 0.3 * 0.05
        down = (shoulder * 1.34 + elbow * 0.94 + flexure * 0.84) / 600.0
        assert 0.7 - tip[2] == pytest.approx(down, rel=0.03)

    def test_the_flexible_link_of_the_arm_bends(self) -> None:
        m = load_mechanism("flexible-arm")
        bent = flexible_link(m, "flexure 2", [0.8, 0.0, 0.0], EI, 8)
        assert bent.n == m.n + 16
        soft, stiff = frequencies(bent), frequencies(m)
        assert soft[0] < stiff[0]
        # compliance of the joints, not of the beam, dominates
        np.testing.assert_allclose(soft[:2], stiff[:2], rtol=0.05)

    def test_a_bearing_and_a_spring_in_a_file(self, tmp_path: object) -> None:
        text = (
            TABLE + "passive = true\nspring = { stiffness = 40.0 }\n"
            "bearing = { pin_radius = 0.01, friction_arm = 0.02, bending_arm = 0.03 }\n"
        )
        m = load_mechanism(written(tmp_path, text))
        assert (m.passive, m.springs, m.bearings) == (
            (0,),
            {0: Spring(40.0, 0.0)},
            (Bearing(0.01, 0.02, 0.03),),
        )

    def test_without_the_keys_a_joint_is_driven_and_rigid(self, tmp_path: object) -> None:
        m = load_mechanism(written(tmp_path, TABLE))
        assert (m.passive, m.springs, m.active) == ((), {}, (0,))

    @pytest.mark.parametrize(
        ("line", "words"),
        [
            ("spring = { stiffness = -1.0 }", ["spring", "stiffness = -1"]),
            ("spring = { damping = 1.0 }", ["spring.stiffness is missing"]),
            ("spring = { stifness = 1.0 }", ["stifness", "did you mean 'stiffness'"]),
            ("spring = 5.0", ["spring"]),
            ("passive = 1", ["passive"]),
        ],
    )
    def test_errors_in_a_file_name_the_key(
        self, tmp_path: object, line: str, words: list[str]
    ) -> None:
        with pytest.raises(InputError) as caught:
            load_mechanism(written(tmp_path, TABLE + line + "\n"))
        for word in words:
            assert word in str(caught.value)


TABLE = """schema = 1
name = "one"
[[joints]]
name = "1"
parent = "ground"
type = "revolute"
axis = [0.0, 0.0, 1.0]
origin = [0.0, 0.0, 0.0]
mass = 1.0
com = [0.1, 0.0, 0.0]
inertia = [0.01, 0.01, 0.01, 0.0, 0.0, 0.0]
"""


def written(folder, text):
    path = folder / "one.toml"
    path.write_text(text)
    return path


class TestClosedChains:
    @pytest.mark.parametrize("crank", [-0.5, 0.4, 1.0])
    def test_at_rest_the_spring_torque_equals_the_torque_of_the_rigid_chain(
        self, crank: float
    ) -> None:
        """Spring and drive have the torque that cut-joint forces give for the rigid
        chain at the link's position.
        """
        rigid = replace(load_mechanism("three-loop-chain"), friction={})
        m = elastic_joint(rigid, "1''", Spring(40.0), 0.01)
        assert swinging_joints(m) == (m.names.index("1'' spring"),)
        q = equilibrium(m, [crank])
        link = close_loops(rigid, [[q[0] + q[1]]])
        torque = closed_loads(rigid, link).tau[0, 0]
        assert abs(torque) > 0.1
        assert -40.0 * q[1] == pytest.approx(torque, rel=1e-10)
        np.testing.assert_allclose(q[2:], link.q[0, 1:], rtol=0, atol=1e-12)
        posture, driving = drive(m, [crank], [0.0], [0.0])
        np.testing.assert_allclose(posture, q, rtol=0, atol=1e-12)
        assert driving.tau[0, 0] == pytest.approx(torque, rel=1e-10)
        assert driving.closed is not None
        np.testing.assert_allclose(
            driving.closed.force, closed_loads(rigid, link).force, rtol=1e-9, atol=1e-9
        )

    def test_flexible_link_gives_the_chain_of_the_mechanism_file(self) -> None:
        """The file has the pieces and hinges that `flexible_link` makes of P3's rods; softer
        hinges here show differences.
        """
        m, whole = with_rigid_links(), load_mechanism("flexible-parallel")
        stiff, softer, drives = m, 0.03, [0.3, -0.2, 0.1]
        whole = replace(
            whole,
            springs={
                j: Spring((softer if whole.names[j].startswith("link") else 1.0) * spring.stiffness)
                for j, spring in whole.springs.items()
            },
        )
        for k in "123":
            tip = m.origin[m.names.index(f"wrist{k}")]
            m = flexible_link(
                m, f"flexure{k}b", tip, softer * 2.07e11 * np.pi * 0.01475**4 / 4.0, 2
            )
        assert m.n == whole.n
        at = [m.names.index(f"platform.{axis}") for axis in "xyz"]
        places = [equilibrium(robot, drives)[at] for robot in (m, whole, stiff)]
        bent = np.linalg.norm(places[0] - places[2])
        assert bent > 1e-5
        np.testing.assert_allclose(places[0], places[1], rtol=0, atol=1e-2 * bent)

    def test_a_closure_moves_with_the_tip_of_a_flexible_link(self) -> None:
        """The closure acts on the last piece, whose origin is half a segment before the tip; the
        loop is closed as before.
        """
        ends = np.array([[LENGTH, 0.0, 0.0], [LENGTH, 0.0, 0.0]])
        ball = Closure("ball", "spherical", (0, -1), ends, np.array([0.0, 0.0, 1.0]))
        bent = flexible_link(replace(rod(), closures=(ball,)), "clamp", [LENGTH, 0.0, 0.0], EI, 8)
        assert bent.closures[0].links == (bent.names.index("clamp 8b"), -1)
        np.testing.assert_allclose(
            bent.closures[0].points, [[LENGTH / 16.0, 0.0, 0.0], [LENGTH, 0.0, 0.0]]
        )
        np.testing.assert_allclose(
            gap(bent, kinematics(bent, np.zeros((1, bent.n)))), 0.0, rtol=0, atol=1e-15
        )


def with_rigid_links() -> Mechanism:
    """Return P3's robot with rigid long links: the mechanism file
    without the hinges of its links.
    """
    path = built_in_mechanisms()["flexible-parallel"]
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    for joint in table["joints"]:
        if joint["name"].startswith("wrist"):
            k = joint["name"][-1]
            joint["parent"], joint["origin"] = (
                f"flexure{k}b",
                [4.0 * value for value in joint["origin"]],
            )
        elif joint["name"].startswith("flexure") and joint["name"].endswith("b"):
            e = np.array(joint["com"]) / np.linalg.norm(joint["com"])
            inertia = 0.000163 * np.outer(e, e) + (0.000163 / 2.0 + MASS * LENGTH**2 / 12.0) * (
                np.eye(3) - np.outer(e, e)
            )
            joint |= {
                "mass": MASS,
                "com": (LENGTH / 2.0 * e).tolist(),
                "inertia": [
                    float(inertia[place])
                    for place in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
                ],
            }
    table["joints"] = [joint for joint in table["joints"] if not joint["name"].startswith("link")]
    return mechanism_from_table(table, path)
