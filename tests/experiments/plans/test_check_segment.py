"""Checks of one segment: exceeded limits of position, speed or time are refused
with joint, value and limit.
"""

from dataclasses import replace

import pytest

from stribeck.experiments.errors import PlanError
from tests.experiments.plans.damage import changed, checked


class TestSegment:
    def test_a_target_outside_the_limits(self, plan, arm):
        with pytest.raises(
            PlanError,
            match=r"segment 3 takes turn to 2\.600 rad, outside its limits \[-2\.5, 2\.5\]",
        ):
            checked(changed(plan, 3, target=(2.6, 0.3)), arm)

    def test_a_start_outside_the_limits(self, plan, arm):
        with pytest.raises(PlanError, match=r"takes lift to -1\.600 rad"):
            checked(replace(plan, start=(0.0, -1.6)), arm)

    @pytest.mark.parametrize(
        ("speed", "said"), [(2.1, "2.1"), (0.0, "0"), (-0.4, "-0.4"), (None, "0")]
    )
    def test_an_impossible_speed(self, plan, arm, speed, said):
        with pytest.raises(
            PlanError, match=rf"segment 1 moves turn at {said} rad/s, limit 2 rad/s"
        ):
            checked(changed(plan, 1, speed=speed), arm)

    def test_a_segment_that_would_never_end(self, plan, arm):
        with pytest.raises(
            PlanError,
            match=r"segment 1 takes .*e\+\d+ s, at most 3600 s are allowed; raise its speed",
        ):
            checked(changed(plan, 1, speed=1e-9), arm)

    def test_an_unknown_joint(self, plan, arm):
        with pytest.raises(
            PlanError, match=r"segment 1: unknown joint 'elbow' \(valid: turn, lift\)"
        ):
            checked(changed(plan, 1, joint="elbow"), arm)

    def test_a_stroke_that_moves_another_joint(self, plan, arm):
        """The other joint would move faster in proportion to its longer stroke."""
        with pytest.raises(
            PlanError, match=r"segment 1 is a stroke of turn alone, but it moves turn, lift"
        ):
            checked(changed(plan, 1, target=(0.25, 1.4)), arm)

    def test_a_stroke_without_motion(self, plan, arm):
        with pytest.raises(
            PlanError, match=r"segment 1 is a stroke of turn alone, but it moves nothing"
        ):
            checked(changed(plan, 1, target=(0.2, 0.3)), arm)

    def test_messages_about_prismatic_joints_use_metres(self, make_arm, make_plan):
        arm = make_arm(base="slide")
        plan = make_plan(arm, speeds=(0.1,), posture=(0.2,), names=("carriage",))
        with pytest.raises(
            PlanError, match=r"takes carriage to 0\.500 m, outside its limits \[-0\.4, 0\.4\]"
        ):
            checked(plan, arm)
