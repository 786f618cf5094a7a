"""Speeds that drives can hold, home postures with room, and loads of postures."""

from dataclasses import replace

import numpy as np
import pytest

from stribeck.experiments.errors import PlanError
from stribeck.experiments.methods.breakaway_ramps import plan_breakaway
from stribeck.experiments.methods.lowest_speed_search import plan_lowest_speed
from stribeck.experiments.methods.one_joint_at_a_time import plan_constant_speed
from stribeck.experiments.methods.validation_motion import plan_validation
from stribeck.experiments.methods.warm_up import plan_warm_up
from stribeck.experiments.methods.whole_arm import plan_whole_arm
from stribeck.experiments.plans.constant_speed_options import ConstantSpeed
from stribeck.experiments.plans.speeds_and_postures import Design
from stribeck.ident.arm.arm_tables import Workspace


def test_rounding_to_the_resolution_keeps_the_slowest_speed(make_arm):
    """At 0.011 rad/s a joint still turns evenly; the nearest step below is 7.7 mrad/s."""
    arm = make_arm({"joints": {"turn": {"slowest": 0.011}}})
    design = Design.of(arm, None, ConstantSpeed(), np.array([0.0077, 0.0077]))
    np.testing.assert_allclose(design.snapped(np.array([0.011, 0.011])), [0.0154, 0.0077])
    np.testing.assert_allclose(design.snapped(np.array([0.1, 0.0])), [0.1001, 0.0])


class TestHome:
    @pytest.mark.parametrize(
        "make",
        [
            plan_constant_speed,
            plan_whole_arm,
            plan_validation,
            plan_warm_up,
            plan_lowest_speed,
            plan_breakaway,
        ],
    )
    def test_a_home_posture_outside_the_box_is_named(self, arm, make):
        boxed = replace(arm, workspace=Workspace(box=((-1.0, 1.0), (-1.0, 1.0), (0.0, 0.2))))
        with pytest.raises(
            PlanError,
            match=r"pair\.toml: the home posture .* workspace box of pair\.toml; state another",
        ):
            make(boxed)
