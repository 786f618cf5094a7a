"""Refusal of plans before motion, and of the path to their start."""

import re
from dataclasses import replace

import numpy as np
import pytest

from stribeck.experiments.errors import PlanError
from stribeck.experiments.methods.breakaway_ramps import plan_breakaway
from stribeck.experiments.methods.one_joint_at_a_time import plan_constant_speed
from stribeck.experiments.methods.validation_motion import plan_validation
from stribeck.experiments.methods.whole_arm import plan_whole_arm
from stribeck.experiments.plans.check_plan import check_plan
from stribeck.experiments.plans.constant_speed_options import ConstantSpeed
from stribeck.experiments.plans.motion_profile import motion_profile
from stribeck.ident.arm.arm_tables import Workspace
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.log.run import arm_sha256
from stribeck.ident.model.loads import joint_loads
from tests.experiments.plans.damage import changed, checked


class TestWeight:
    """Gravity must leave torque to the drives."""

    def test_a_plan_that_needs_too_much_gravity_torque_is_refused(self, make_arm, make_plan):
        arm = make_arm({"joints": {"lift": {"torque": 4.0}}})
        with pytest.raises(
            PlanError,
            match=r"ends where gravity needs .* at lift, more than 90 % "
            r"of its torque limit of 4 N·m; raise joints\.lift\.torque",
        ):
            check_plan(make_plan(arm), arm, load_mechanism(arm))

    @pytest.mark.slow
    def test_the_drives_can_hold_the_arm_in_all_postures(self, make_arm):
        """The stretched boom is too heavy, the lifted boom is not."""
        arm = make_arm({"joints": {"lift": {"torque": 4.0}}, "workspace": {"home": [0.0, 1.3]}})
        mechanism = load_mechanism(arm)
        heaviest = np.abs(joint_loads(mechanism, np.zeros((1, 2))).tau[0, 1])
        assert heaviest > 4.0
        plan = plan_constant_speed(arm, ("turn",), 0, ConstantSpeed(postures=2, speeds=3))
        held = np.abs(
            joint_loads(mechanism, np.array([segment.target for segment in plan.segments])).tau[
                :, 1
            ]
        )
        assert held.max() <= 0.9 * 4.0

    @pytest.mark.parametrize("plan", [plan_breakaway, plan_validation])
    @pytest.mark.slow
    def test_the_drives_can_hold_the_postures_of_ramps_and_swings(self, make_arm, plan):
        arm = make_arm({"joints": {"lift": {"torque": 4.0}}, "workspace": {"home": [0.0, 1.3]}})
        for seed in range(5):
            made = plan(arm, ("turn",), seed)
            held = np.abs(
                joint_loads(
                    load_mechanism(arm), np.array([segment.target for segment in made.segments])
                ).tau[:, 1]
            )
            assert held.max() <= 0.9 * 4.0

    def test_a_home_posture_with_too_much_gravity_torque_is_refused(self, make_arm):
        arm = make_arm({"joints": {"lift": {"torque": 4.0}}})
        with pytest.raises(
            PlanError,
            match=r"workspace\.home = .* gravity needs .* at lift, "
            r"more than 90 % of its torque limit of 4",
        ):
            plan_constant_speed(arm)


@pytest.mark.slow
class TestTorqueOnTheWay:
    """Weight and inertia leave a tenth of every torque limit to friction; judged by Pinocchio."""

    @staticmethod
    def asked(plan, arm):
        """Largest rigid-body torque of every joint during a plan, with
        accelerations from time differences.
        """
        import pinocchio as pin

        model, limits = pin.buildModelFromUrdf(str(arm.model)), arm.limits(load_mechanism(arm))
        data, most = model.createData(), np.zeros(model.nv)
        for start, segment in plan.legs():
            motion = motion_profile(start, segment, plan.names, limits)
            if motion.duration == 0.0:
                continue
            h = 1e-4
            t = np.linspace(2.0 * h, motion.duration - 2.0 * h, 80)
            before, here, after = (
                start + motion(t + k * h)[0][:, None] * (np.array(segment.target) - start)
                for k in (-1, 0, 1)
            )
            for q, dq, ddq in zip(
                here,
                (after - before) / (2.0 * h),
                (after - 2.0 * here + before) / h**2,
                strict=True,
            ):
                most = np.maximum(most, np.abs(pin.rnea(model, data, q, dq, ddq)))
        return most

    @pytest.mark.parametrize("method", [plan_whole_arm, plan_constant_speed])
    def test_plans_leave_torque_for_friction_with_tight_limits(self, make_arm, method):
        arm = make_arm(
            {
                "joints": {"lift": {"torque": 6.5}, "turn": {"torque": 5.0}},
                "workspace": {"home": [0.0, 0.9]},
            }
        )
        for seed in range(3):
            asked = self.asked(method(arm, None, seed, ConstantSpeed(postures=3, speeds=3)), arm)
            assert (asked <= 0.9 * np.array([5.0, 6.5]) * 1.01).all()
            assert asked[1] > 0.5 * 6.5, "the limit is near"

    def test_a_plan_with_too_much_rigid_body_torque_is_refused_with_the_needed_limit(
        self, make_arm
    ):
        free = make_arm()
        plan = plan_whole_arm(free, None, 0, ConstantSpeed(postures=3, speeds=3))
        asked = self.asked(plan, free)
        weak = make_arm({"joints": {"turn": {"torque": float(asked[0])}}})
        with pytest.raises(
            PlanError, match=r"needs .* at turn for weight and inertia, more than 90 % .* raise"
        ) as caught:
            check_plan(replace(plan, arm_sha256=arm_sha256(weak)), weak, load_mechanism(weak))
        number = float(re.search(r"joints\.turn\.torque to (\S+)", str(caught.value)).group(1))
        assert number <= asked[0] / 0.9 * 1.01


def test_a_joint_at_rest_at_its_limit_is_refused(make_arm, make_plan):
    """A gripper's finger rests at zero, the end of its range: the smallest
    deviation would end the run.
    """
    arm = make_arm()
    made = make_plan(arm, posture=(0.2, 1.4996))
    with pytest.raises(
        PlanError,
        match=r"lift rests at 1\.\d+ rad in segment 0, .* workspace\.home, or lock it with",
    ):
        check_plan(replace(made, start=(0.2, 1.4996)), arm, load_mechanism(arm))
    check_plan(make_plan(arm), arm, load_mechanism(arm))


class TestCheck:
    def test_check_returns_the_smallest_clearance(self, plan, arm):
        # the lift stands at 0.3 of 1.5 rad
        assert checked(plan, arm) == pytest.approx(1.5 - 0.3)

    @pytest.mark.parametrize("purpose", ["breakaway", "validation"])
    def test_segments_that_do_not_fit_the_purpose(self, plan, arm, purpose):
        with pytest.raises(
            PlanError, match=f"segment 1 is a stroke; a plan whose purpose is {purpose} has"
        ):
            checked(replace(plan, purpose=purpose), arm)

    @pytest.mark.parametrize("number", [1, -1])
    def test_ids_that_are_not_unique(self, plan, arm, number):
        with pytest.raises(PlanError, match="unique id of at least 0"):
            checked(changed(plan, 3, id=number), arm)

    @pytest.mark.parametrize("of", [2, 3, 9])
    def test_a_segment_that_is_not_its_mirror_backwards(self, plan, arm, of):
        with pytest.raises(
            PlanError, match=f"segment 2 has mirror_of = {of}, but is not the same motion backwards"
        ):
            checked(changed(plan, 2, mirror_of=of), arm)

    def test_a_plan_without_strokes(self, plan, arm):
        with pytest.raises(PlanError, match="no stroke"):
            checked(replace(plan, segments=()), arm)

    def test_another_arm(self, plan, make_arm):
        with pytest.raises(
            PlanError, match="the plan is for joints turn, lift, but slide has joints carriage"
        ):
            checked(plan, make_arm(base="slide"))

    def test_an_arm_file_changed_after_planning(self, plan, make_arm):
        with pytest.raises(PlanError, match="another version of the arm file"):
            checked(plan, make_arm({"joints": {"turn": {"velocity": 1.9}}}))

    def test_another_truth_of_the_simulation_is_the_same_arm(self, plan, make_arm):
        checked(plan, make_arm({"simulation": {"torque_noise": 0.1}}))

    def test_a_path_that_leaves_the_box(self, arm, plan):
        """Both ends are inside the box, but in between the boom reaches y = 0.362 m."""
        boxed = replace(arm, workspace=Workspace(box=((-1.0, 1.0), (-1.0, 0.3605), (0.0, 1.0))))
        with pytest.raises(
            PlanError, match=r"segment 1 \(turn in posture 1\) .* workspace box of pair\.toml"
        ):
            checked(changed(plan, 1, target=(2.088, 0.3)), boxed)
        checked(plan, boxed)
