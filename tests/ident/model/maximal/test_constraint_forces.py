"""Maximal coordinates against Pinocchio and references for P1's six cylinders, and
inertias from joint wrenches.

`data/reference/c_screw.json`: joint wrenches of the cylinders (Cheng et al., Machines 10 (2022)
499, Table 1) on their subtrees about the joint origins, base axes, computed with Pinocchio at t =
1.2 s of q_1 = q_2 = a t²/2 with a = 15 deg/s² and with a = 4.7746 rad/s² (the paper names both for
one motion), and at rest in the posture at t = 0.
"""

import json
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from stribeck import Mechanism, load_mechanism
from stribeck.ident.errors import InputError, ModelError
from stribeck.ident.fit.arm.inertial_identification import LinkInertia, recover_inertia
from stribeck.ident.model.dynamics import inverse_dynamics, joint_wrenches
from stribeck.ident.model.maximal.bodies import (
    ConstraintSet,
    body_motion,
    constrained,
    constraint_jacobian,
    solved,
)
from stribeck.ident.model.maximal.constraint_forces import constraint_rank, maximal_dynamics
from tests.judges import HAND, Pinocchio, states, tree
from tests.places import ROOT

REFERENCE = json.loads((ROOT / "data" / "reference" / "c_screw.json").read_text(encoding="utf-8"))
MOTIONS = ("15deg/s2", "4.7746", "static")
MOVING = MOTIONS[:2]
MASSES = np.array([6402.6012, 2746.0726, 1186.166, 308.7953, 284.2877, 661.7042])
SEEDS = range(6)


@pytest.fixture(scope="module")
def pin() -> ModuleType:
    return pytest.importorskip(
        "pinocchio", reason="Pinocchio (the package pin) judges the multipliers"
    )


@pytest.fixture(scope="module")
def cylinders() -> Mechanism:
    return load_mechanism("six-cylinders")


def reference(motion: str, *keys: str) -> list[np.ndarray]:
    """Return columns of the reference motion as batches of one sample."""
    return [np.array([REFERENCE[motion][key]]) for key in keys]


def unknowing(m: Mechanism) -> Mechanism:
    """Return the mechanism without its masses and inertias."""
    return replace(m, mass=np.full(m.n, np.nan), inertia=np.full((m.n, 3, 3), np.nan))


class TestCylinders:
    @pytest.mark.parametrize("motion", MOTIONS)
    def test_the_tree_has_the_reference_wrenches(self, cylinders: Mechanism, motion: str) -> None:
        """The mechanism file has the values of the paper's Table 1 and the
        assembly of the reference.
        """
        q, dq, ddq, force, moment = reference(
            motion, "q", "dq", "ddq", "joint_force", "joint_moment"
        )
        ours = joint_wrenches(cylinders, q, dq, ddq)
        assert np.abs(ours.force - force).max() < 1e-9 * np.abs(force).max()
        assert np.abs(ours.moment - moment).max() < 1e-9 * np.abs(moment).max()

    def test_static_multipliers_are_the_outboard_weights(self, cylinders: Mechanism) -> None:
        q, rest = reference("static", "q", "dq")
        found = maximal_dynamics(cylinders, q, ddq=rest).multipliers[0]
        weights = 9.80665 * np.cumsum(MASSES[::-1])[::-1]
        np.testing.assert_allclose(found[:, 2], weights, rtol=1e-13)
        np.testing.assert_allclose(found[:, :2], 0.0, rtol=0, atol=1e-13 * weights[0])
        # P1
        np.testing.assert_allclose(
            weights, [1.1366e5, 5.0867e4, 2.3938e4, 1.2305e4, 9.2770e3, 6.4891e3], rtol=5e-5
        )

    @pytest.mark.parametrize("motion", MOTIONS)
    def test_multipliers_are_the_joint_reactions(self, cylinders: Mechanism, motion: str) -> None:
        q, dq, ddq, force, moment, drive = reference(
            motion, "q", "dq", "ddq", "joint_force", "joint_moment", "drive"
        )
        found = maximal_dynamics(cylinders, q, dq, ddq=ddq)
        scale = np.abs(moment).max()
        np.testing.assert_allclose(
            found.multipliers[:, :, :3], force, rtol=0, atol=1e-12 * np.abs(force).max()
        )
        np.testing.assert_allclose(found.force, force, rtol=0, atol=1e-12 * np.abs(force).max())
        np.testing.assert_allclose(found.moment, moment, rtol=0, atol=1e-12 * scale)
        np.testing.assert_allclose(found.tau, drive, rtol=0, atol=1e-12 * scale)
        # two couples across the hinge
        across = np.sqrt(np.maximum(np.sum(moment**2, axis=2) - drive**2, 0.0))
        np.testing.assert_allclose(
            np.hypot(found.multipliers[:, :, 3], found.multipliers[:, :, 4]),
            across,
            atol=1e-7 * scale,
        )

    @pytest.mark.parametrize("motion", MOTIONS)
    def test_drive_torques_give_the_reference_accelerations(
        self, cylinders: Mechanism, motion: str
    ) -> None:
        q, dq, ddq, force, drive = reference(motion, "q", "dq", "ddq", "joint_force", "drive")
        found = maximal_dynamics(cylinders, q, dq, tau=drive)
        np.testing.assert_allclose(found.ddq, ddq, rtol=0, atol=1e-11)
        np.testing.assert_allclose(found.force, force, rtol=0, atol=1e-11 * np.abs(force).max())

    @pytest.mark.parametrize(
        ("motion", "rank", "joints"),
        [
            ("15deg/s2", 33, ("2", "3", "5")),
            ("4.7746", 33, ("2", "3", "5")),
            ("static", 31, ("2", "3", "4", "5", "6")),
        ],
    )
    def test_horizontal_hinges_degrade_the_projected_constraints(
        self, cylinders: Mechanism, motion: str, rank: int, joints: tuple[str, ...]
    ) -> None:
        posture = REFERENCE[motion]["q"]
        found = constraint_rank(cylinders, posture, "projected")
        assert (found.rank, found.rows, found.joints) == (rank, 36, joints)
        assert f"rank {rank} of 36" in str(found)
        assert f"joints {', '.join(joints)} are dependent" in str(found)
        # the rank does not depend on the tolerance
        assert found.singular_values[rank - 1] > 0.1
        robust = constraint_rank(cylinders, posture)
        assert (robust.rank, robust.joints, str(robust)) == (36, (), "rank 36 of 36")
        assert robust.singular_values[-1] > 0.1

    @pytest.mark.parametrize("turn", np.linspace(0.1, 6.2, 7))
    def test_the_rank_does_not_depend_on_the_first_joint(
        self, cylinders: Mechanism, turn: float
    ) -> None:
        found = constraint_rank(cylinders, [turn, *REFERENCE["static"]["q"][1:]], "projected")
        assert (found.rank, found.joints) == (31, ("2", "3", "4", "5", "6"))

    @pytest.mark.parametrize("kind", ["dot", "projected"])
    def test_every_motion_of_the_joints_obeys_the_constraints(
        self, cylinders: Mechanism, kind: ConstraintSet
    ) -> None:
        """Phi_q qd = 0, with qd by central differences."""
        q, dq, _ = states(0, 6)
        h = 1e-6
        before, after = body_motion(cylinders, q - h * dq), body_motion(cylinders, q + h * dq)
        rate = np.concatenate(
            [getattr(after, x) - getattr(before, x) for x in ("position", "quaternion")], axis=2
        ) / (2.0 * h)
        slip = np.einsum(
            "ijk,ik->ij", constraint_jacobian(cylinders, q, kind), rate.reshape(len(q), -1)
        )
        np.testing.assert_allclose(slip, 0.0, rtol=0, atol=1e-7)


class TestRandomTrees:
    @pytest.mark.parametrize("seed", SEEDS)
    def test_prescribed_accelerations_give_pinocchios_wrenches(
        self, seed: int, pin: ModuleType
    ) -> None:
        m = tree(seed)
        q, dq, ddq = states(seed, m.n)
        judge, found = Pinocchio(pin, m), maximal_dynamics(m, q, dq, ddq=ddq)
        for k in range(len(q)):
            tau, force, moment, _ = judge(q[k], dq[k], ddq[k])
            np.testing.assert_allclose(found.tau[k], tau, rtol=0, atol=1e-9)
            np.testing.assert_allclose(found.force[k], force, rtol=0, atol=1e-9)
            np.testing.assert_allclose(found.moment[k], moment, rtol=0, atol=1e-9)
        np.testing.assert_allclose(found.ddq, ddq, rtol=0, atol=1e-9)

    @pytest.mark.parametrize("seed", SEEDS)
    def test_drive_torques_give_pinocchios_accelerations(self, seed: int, pin: ModuleType) -> None:
        m = tree(seed)
        q, dq, tau = states(seed, m.n)
        judge, found = Pinocchio(pin, m), maximal_dynamics(m, q, dq, tau=tau)
        for k in range(len(q)):
            ddq = pin.aba(judge.model, judge.data, q[k], dq[k], tau[k]).copy()
            _, force, moment, _ = judge(q[k], dq[k], ddq)
            scale = max(1.0, np.abs(ddq).max(), np.abs(force).max(), np.abs(moment).max())
            np.testing.assert_allclose(found.ddq[k], ddq, rtol=0, atol=1e-9 * scale)
            np.testing.assert_allclose(found.force[k], force, rtol=0, atol=1e-9 * scale)
            np.testing.assert_allclose(found.moment[k], moment, rtol=0, atol=1e-9 * scale)

    @pytest.mark.parametrize("seed", SEEDS)
    def test_maximal_coordinates_agree_with_the_recursion(self, seed: int) -> None:
        m = tree(seed)
        q, dq, ddq = states(seed, m.n)
        wrenches, found = joint_wrenches(m, q, dq, ddq), maximal_dynamics(m, q, dq, ddq=ddq)
        np.testing.assert_allclose(found.tau, inverse_dynamics(m, q, dq, ddq), rtol=0, atol=1e-9)
        np.testing.assert_allclose(found.force, wrenches.force, rtol=0, atol=1e-9)
        np.testing.assert_allclose(found.moment, wrenches.moment, rtol=0, atol=1e-9)

    @pytest.mark.parametrize("seed", SEEDS)
    def test_velocities_and_accelerations_are_derivatives(self, seed: int) -> None:
        """The constraint Jacobian and zeta by central differences of positions and
        quaternions along a motion.
        """
        m = tree(seed)
        q, dq, ddq = states(seed, m.n, samples=3)
        h = 1e-4
        before, now, after = (
            body_motion(m, q + s * dq + 0.5 * s**2 * ddq, dq + s * ddq, ddq) for s in (-h, 0.0, h)
        )
        slope = {
            name: (getattr(after, name) - getattr(before, name)) / (2.0 * h)
            for name in ("position", "velocity", "rotation", "angular_velocity")
        }
        size = 1.0 + np.abs(now.acceleration).max()
        np.testing.assert_allclose(now.velocity, slope["position"], rtol=0, atol=1e-5 * size)
        np.testing.assert_allclose(now.acceleration, slope["velocity"], rtol=0, atol=1e-5 * size)
        np.testing.assert_allclose(
            now.angular_acceleration, slope["angular_velocity"], rtol=0, atol=1e-5 * size
        )
        turning = slope["rotation"] @ now.rotation.swapaxes(2, 3)
        spin = np.stack((turning[..., 2, 1], turning[..., 0, 2], turning[..., 1, 0]), axis=-1)
        np.testing.assert_allclose(now.angular_velocity, spin, rtol=0, atol=1e-5 * size)
        np.testing.assert_allclose(np.sum(now.quaternion**2, axis=2), 1.0, rtol=0, atol=1e-14)
        _, rows = constrained(m, q, dq)
        second = solved(rows.jacobian, rows.right(ddq)).reshape(3, m.n, 7)[:, :, 3:]
        curve = (after.quaternion - 2.0 * now.quaternion + before.quaternion) / h**2
        np.testing.assert_allclose(second, curve, rtol=0, atol=1e-5 * size)

    @pytest.mark.parametrize("seed", SEEDS)
    def test_a_tree_has_independent_constraints(self, seed: int) -> None:
        m = tree(seed)
        found = constraint_rank(m, states(seed, m.n)[0][0])
        assert (found.rank, found.rows, found.joints) == (6 * m.n, 6 * m.n, ())

    @pytest.mark.slow
    def test_a_batch_equals_its_samples_one_by_one(self) -> None:
        m = tree(3)
        q, dq, ddq = states(3, m.n)
        together = maximal_dynamics(m, q, dq, ddq=ddq)
        for k in range(len(q)):
            alone = maximal_dynamics(m, q[k : k + 1], dq[k : k + 1], ddq=ddq[k : k + 1])
            np.testing.assert_allclose(
                together.multipliers[k], alone.multipliers[0], rtol=0, atol=1e-10
            )
        assert maximal_dynamics(m, q[:0], dq[:0], tau=ddq[:0]).force.shape == (0, m.n, 3)


class TestInertia:
    def recovered(
        self, m: Mechanism, motions: tuple[str, ...], **options: object
    ) -> tuple[LinkInertia, ...]:
        columns = (
            np.concatenate(column)
            for column in zip(
                *(
                    reference(motion, "q", "dq", "ddq", "joint_force", "joint_moment")
                    for motion in motions
                ),
                strict=True,
            )
        )
        return recover_inertia(unknowing(m), *columns, **options)  # type: ignore[arg-type]

    @pytest.mark.parametrize("motions", [("15deg/s2",), ("4.7746",), MOTIONS])
    def test_masses_and_inertias_of_the_cylinders(
        self, cylinders: Mechanism, motions: tuple[str, ...]
    ) -> None:
        """The largest error of the paper is 0.0723 kg·m²."""
        links = self.recovered(cylinders, motions)
        for i, link in enumerate(links):
            assert link.mass == pytest.approx(MASSES[i], abs=1e-11)
            seen = [2] if i == 0 else [0, 1, 2]
            np.testing.assert_allclose(
                np.diag(link.inertia)[seen], np.diag(cylinders.inertia[i])[seen], rtol=0, atol=1e-10
            )
            assert link.residual.max() < 1e-9

    @pytest.mark.parametrize(("motion", "condition"), [("15deg/s2", 2.1), ("4.7746", 26.6)])
    def test_condition_numbers_of_one_sample(
        self, cylinders: Mechanism, motion: str, condition: float
    ) -> None:
        for link in self.recovered(cylinders, (motion,))[1:]:
            assert link.condition == pytest.approx(condition, abs=0.05)

    @pytest.mark.parametrize(
        ("unknown", "missing"),
        [
            ("principal", ("Jxx", "Jyy")),
            ("full", ("Jxx", "Jyy", "Jxy")),
            ("all", ("cz", "Jxx", "Jyy", "Jxy", "Jxz", "Jyz")),
        ],
    )
    def test_inertias_that_a_turn_about_one_axis_hides_are_named(
        self, cylinders: Mechanism, unknown: str, missing: tuple[str, ...]
    ) -> None:
        """Body 1 turns about its own axis only; the paper nevertheless prints its J22 and J33."""
        first, *others = self.recovered(cylinders, MOVING, unknown=unknown)
        assert first.unobservable == missing
        assert (
            str(first)
            == f"link 1: {', '.join(missing)} unobservable: the link turned only about (0, 0, 1)"
        )
        assert np.isnan(first.inertia[[0, 1], [0, 1]]).all()
        assert first.mass == pytest.approx(MASSES[0], abs=1e-10)
        assert first.inertia[2, 2] == pytest.approx(800.3251, abs=1e-9)
        for link, com, inertia in zip(
            others, cylinders.com[1:], cylinders.inertia[1:], strict=True
        ):
            assert link.unobservable == ()
            assert "all parameters identified" in str(link)
            np.testing.assert_allclose(link.com, com, rtol=0, atol=1e-12)
            np.testing.assert_allclose(link.inertia, inertia, rtol=0, atol=1e-9)

    def test_at_rest_only_masses_are_observable(self, cylinders: Mechanism) -> None:
        for link, mass in zip(self.recovered(cylinders, ("static",)), MASSES, strict=True):
            assert link.mass == pytest.approx(mass, abs=1e-11)
            assert link.unobservable == ("Jxx", "Jyy", "Jzz")
            assert link.reason == "the link did not turn"

    def test_the_mass_of_a_freely_falling_link_is_unobservable(self) -> None:
        m = replace(
            tree(0, n=1),
            prismatic=np.array([True]),
            axis=np.array([[0.0, 0.0, 1.0]]),
            gravity=np.array([0, 0, -10.0]),
        )
        nothing = np.zeros((2, 1, 3))
        (link,) = recover_inertia(
            m, [[0.0], [0.1]], [[0.0], [-1.0]], [[-10.0], [-10.0]], nothing, nothing
        )
        assert link.unobservable == ("mass", "Jxx", "Jyy", "Jzz")
        assert "the link fell freely" in link.reason

    @pytest.mark.parametrize("unknown", ["full", "all"])
    @pytest.mark.parametrize("seed", SEEDS)
    def test_links_of_random_trees(self, seed: int, unknown: str, pin: ModuleType) -> None:
        """All parameters if at least two axes turn a link, otherwise mass and
        names; wrenches from Pinocchio.
        """
        m = tree(seed)
        q, dq, ddq = states(seed, m.n, samples=30)
        judge = Pinocchio(pin, m)
        wrenches = [judge(*sample)[1:3] for sample in zip(q, dq, ddq, strict=True)]
        force, moment = (np.array(column) for column in zip(*wrenches, strict=True))
        blind = unknowing(replace(m, com=np.full((m.n, 3), np.nan)) if unknown == "all" else m)
        for i, link in enumerate(recover_inertia(blind, q, dq, ddq, force, moment, unknown)):
            axes, j = 0, i
            while j >= 0:
                axes, j = axes + (not m.prismatic[j]), m.parent[j]
            assert link.mass == pytest.approx(m.mass[i], abs=1e-12)
            if axes >= 2:
                assert link.unobservable == ()
                np.testing.assert_allclose(link.com, m.com[i], rtol=0, atol=1e-12)
                np.testing.assert_allclose(link.inertia, m.inertia[i], rtol=0, atol=1e-12)
            else:
                assert {"Jxx", "Jyy", "Jzz"} <= set(link.unobservable)
                assert link.reason.startswith(
                    "the link turned only about" if axes else "the link did not turn"
                )

    def test_small_motion_is_observable_only_above_the_resolution(
        self, cylinders: Mechanism
    ) -> None:
        """Joint 2 moves with 1e-4 of joint 1's speed: measured noise would hide the
        effect of link 2's inertia.
        """
        rng = np.random.default_rng(0)
        q, dq, ddq = np.zeros((3, 40, 6))
        dq[:, 0], ddq[:, 0] = rng.normal(size=(2, 40))
        dq[:, 1], ddq[:, 1] = 1e-4 * rng.normal(size=(2, 40))
        wrenches = joint_wrenches(cylinders, q, dq, ddq)
        data = (unknowing(cylinders), q, dq, ddq, wrenches.force, wrenches.moment)
        assert "Jxx" not in recover_inertia(*data)[1].unobservable
        coarse = recover_inertia(*data, resolution=1e-2)[1]
        assert coarse.unobservable == ("Jxx", "Jyy")
        assert coarse.inertia[2, 2] == pytest.approx(cylinders.inertia[1, 2, 2], rel=1e-2)

    @pytest.mark.parametrize("motion", MOVING)
    def test_rounding_to_six_digits_explains_the_errors_of_the_paper(
        self, cylinders: Mechanism, motion: str
    ) -> None:
        """The paper's error of 0.0723 kg·m² comes from rounded data, not from the
        model: exact data give 1e-10.
        """
        sample = reference(motion, "q", "dq", "ddq", "joint_force", "joint_moment")
        rounded = [
            np.array([float(f"{x:.5e}") for x in column.flat]).reshape(column.shape)
            for column in sample
        ]
        found = recover_inertia(unknowing(cylinders), *rounded)
        assert (
            0.02
            < max(
                np.abs(link.inertia - J).max()
                for link, J in zip(found[1:], cylinders.inertia[1:], strict=True)
            )
            < 1.0
        )

    def test_a_motion_that_shows_only_a_sum_of_inertias_leaves_both_unobservable(
        self, cylinders: Mechanism
    ) -> None:
        """Upright and turning at constant relative speed, link 2 reveals the sum Jxx + Jyy only."""
        q, dq, ddq = np.zeros((3, 10, 6))
        dq[:, 0], dq[:, 1], ddq[:, 0] = np.linspace(-1.0, 1.0, 10), 0.5, 1.0
        w = joint_wrenches(cylinders, q, dq, ddq)
        link = recover_inertia(unknowing(cylinders), q, dq, ddq, w.force, w.moment)[1]
        assert link.unobservable == ("Jxx", "Jyy")
        assert link.reason == "this motion cannot separate these parameters"
        assert link.inertia[2, 2] == pytest.approx(123.5733, abs=1e-9)

    def test_noise_shows_in_the_residual(self, cylinders: Mechanism) -> None:
        rng = np.random.default_rng(1)
        q, dq, ddq = rng.normal(size=(3, 50, 6))
        w = joint_wrenches(cylinders, q, dq, ddq)
        noisy = w.force + rng.normal(scale=5.0, size=w.force.shape)
        last = recover_inertia(unknowing(cylinders), q, dq, ddq, noisy, w.moment, "full")[-1]
        assert last.residual[0] == pytest.approx(5.0 * np.sqrt(3.0), rel=0.2)
        assert last.mass == pytest.approx(MASSES[-1], rel=0.01)


class TestRefusals:
    def test_a_massless_link_is_named(self, cylinders: Mechanism) -> None:
        q = np.zeros((1, 6))
        mass = cylinders.mass.copy()
        mass[[2, 4]] = 0.0
        with pytest.raises(
            ModelError, match=r"six-cylinders: link 3, 5 has no mass.* M .*singular"
        ):
            maximal_dynamics(replace(cylinders, mass=mass), q, ddq=q)
        inertia = cylinders.inertia.copy()
        inertia[3, 2, 2] = 0.0
        with pytest.raises(ModelError, match=r"link 4 has no inertia about some axis.*singular"):
            maximal_dynamics(replace(cylinders, inertia=inertia), q, tau=q)

    def test_a_platform_with_massless_legs_is_refused(self) -> None:
        legs = replace(load_mechanism("gough-stewart"), closures=())
        with pytest.raises(ModelError, match="has no mass"):
            maximal_dynamics(legs, np.zeros((1, legs.n)), ddq=np.zeros((1, legs.n)))

    def test_loops_are_refused(self) -> None:
        chain = load_mechanism("three-loop-chain")
        q = np.zeros((1, chain.n))
        for call in (
            lambda: maximal_dynamics(chain, q, ddq=q),
            lambda: constraint_rank(chain, q[0]),
            lambda: body_motion(chain, q),
        ):
            with pytest.raises(ModelError, match="need a tree, but cut joints close loops: "):
                call()

    def test_followers_are_refused(self, tmp_path: Path) -> None:
        (tmp_path / "hand.urdf").write_text(HAND, encoding="utf-8")
        hand = load_mechanism(tmp_path / "hand.urdf")
        q = np.zeros((1, hand.n))
        for call in (
            lambda: maximal_dynamics(hand, q, ddq=q),
            lambda: constraint_rank(hand, q[0]),
            lambda: body_motion(hand, q),
            lambda: recover_inertia(hand, q, q, q, np.zeros((1, 2, 3)), np.zeros((1, 2, 3))),
        ):
            with pytest.raises(
                ModelError,
                match=r"right follows left and is not an independent joint; use mechanism\.tree",
            ):
                call()

    def test_a_link_of_small_mass_is_accepted(self) -> None:
        """A link of one gram beside a link of one ton counts as a link with mass."""
        light = replace(tree(2), mass=np.array([1000.0, *tree(2).mass[1:-1], 0.001]))
        light.inertia[-1] = np.diag([1e-9, 2e-9, 2e-9])
        q, dq, ddq = states(2, light.n)
        found = maximal_dynamics(light, q, dq, ddq=ddq)
        np.testing.assert_allclose(
            found.tau, inverse_dynamics(light, q, dq, ddq), rtol=0, atol=1e-8
        )

    def test_wrong_shapes_are_refused(self, cylinders: Mechanism) -> None:
        q = np.zeros((2, 6))
        with pytest.raises(InputError, match=r"q has shape \(6,\).*\(N, 6\)"):
            maximal_dynamics(cylinders, q[0], ddq=q)
        with pytest.raises(InputError, match=r"tau has shape \(1, 6\).*\(2, 6\)"):
            maximal_dynamics(cylinders, q, tau=q[:1])
        with pytest.raises(InputError, match=r"ddq of joint 3 .* row 1"):
            maximal_dynamics(cylinders, q, ddq=[[0.0] * 6, [0, 0, np.nan, 0, 0, 0]])
        with pytest.raises(
            InputError, match=r"q has shape \(2, 6\), one state of six-cylinders needs \(6,\)"
        ):
            constraint_rank(cylinders, q)
        with pytest.raises(InputError, match=r"force has shape \(2, 6\).*\(2, 6, 3\)"):
            recover_inertia(cylinders, q, q, q, q, np.zeros((2, 6, 3)))
        with pytest.raises(InputError, match=r"moment of joint 1 .* row 0"):
            recover_inertia(cylinders, q, q, q, np.zeros((2, 6, 3)), np.full((2, 6, 3), np.nan))
        with pytest.raises(InputError, match="at least one sample"):
            recover_inertia(
                cylinders, q[:0], q[:0], q[:0], np.zeros((0, 6, 3)), np.zeros((0, 6, 3))
            )

    def test_wrong_options_are_refused(self, cylinders: Mechanism) -> None:
        q = np.zeros((1, 6))
        for options in ({}, {"ddq": q, "tau": q}):
            with pytest.raises(InputError, match="exactly one of ddq"):
                maximal_dynamics(cylinders, q, **options)
        with pytest.raises(InputError, match=r"'euler'.*dot, projected"):
            constraint_rank(cylinders, q[0], "euler")  # type: ignore[arg-type]
        with pytest.raises(InputError, match=r"'some'.*principal, full, all"):
            recover_inertia(cylinders, q, q, q, q[..., None], q[..., None], "some")
        for resolution in (0.0, -1e-3, 1.0, np.nan):
            with pytest.raises(InputError, match=r"resolution = .*between 0 and 1"):
                recover_inertia(
                    cylinders,
                    q,
                    q,
                    q,
                    np.zeros((1, 6, 3)),
                    np.zeros((1, 6, 3)),
                    resolution=resolution,
                )
        sliding = tree(5)
        with pytest.raises(ModelError, match="hinges only, but joint0 slides"):
            constraint_rank(sliding, np.zeros(sliding.n), "projected")
