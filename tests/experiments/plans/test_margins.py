"""Room in plans for drives that keep moving after the computer stops sending."""

from dataclasses import replace

import numpy as np
import pytest

from stribeck.experiments.errors import PlanError
from stribeck.experiments.methods.breakaway_ramps import plan_breakaway
from stribeck.experiments.methods.lowest_speed_search import plan_lowest_speed
from stribeck.experiments.methods.one_joint_at_a_time import plan_constant_speed
from stribeck.experiments.methods.validation_motion import plan_validation
from stribeck.experiments.methods.whole_arm import plan_whole_arm
from stribeck.experiments.plans.check_plan import check_plan, check_way
from stribeck.experiments.plans.constant_speed_options import ConstantSpeed
from stribeck.experiments.plans.margins import run_on, silence
from stribeck.experiments.plans.motion_profile import ACCELERATION_SHARE
from stribeck.experiments.plans.plan import Segment
from stribeck.ident.arm.load_mechanism import load_mechanism
from tests.experiments.plans.damage import changed, checked

SMALL = ConstantSpeed(postures=2, speeds=2)


class TestSilence:
    """If the computer stops sending, joints keep their last speed until
    the drives' watchdogs act.
    """

    BUS = {"kind": "canopen", "watchdog": 0.3, "bus": {"interface": "virtual", "channel": "nobody"}}  # noqa: RUF012
    DRIVES = {  # noqa: RUF012
        "turn": {"drive": {"node": 1, "rated_torque": 0.6, "position_counts": 65536}},
        "lift": {"drive": {"node": 2, "rated_torque": 0.4, "position_counts": 65536}},
    }

    @pytest.fixture
    def wired(self, make_arm):
        box = {"box": [[-2.0, 2.0]] * 3, "home": [0.0, 0.0]}
        return make_arm({"driver": self.BUS, "joints": self.DRIVES, "workspace": box})

    @pytest.mark.parametrize("speed", [0.05, 0.5, 1.7, 3.0])
    @pytest.mark.parametrize("silent", [0.05, 0.2, 0.5])
    def test_overrun_is_bounded_for_every_instant_of_silence(self, speed, silent):
        """Compared with all instants of a long stroke."""
        acceleration = 4.0
        ramp = speed / (ACCELERATION_SHARE * acceleration)
        left = np.linspace(0.0, ramp, 2001)  # s to the end of the ramp
        v = ACCELERATION_SHARE * acceleration * left
        beyond = (
            v * silent
            + v**2 / (2.0 * acceleration)
            - ACCELERATION_SHARE * acceleration * left**2 / 2.0
        )
        assert run_on(np.array([speed]), np.array([acceleration]), silent)[0] == pytest.approx(
            beyond.max(), rel=1e-5
        )

    @pytest.mark.slow
    def test_without_collision_checks_only_one_joint_moves_to_the_start(self, wired, make_arm):
        plan = plan_whole_arm(wired, None, 0, SMALL)
        check_way(np.array(plan.start) + np.array([0.3, -0.3]), plan, wired, load_mechanism(wired))
        bare = make_arm(
            {"driver": self.BUS, "joints": self.DRIVES, "workspace": {"home": [0.0, 0.0]}}
        )
        check_way(np.array(plan.start) + np.array([0.3, 0.0]), plan, bare, load_mechanism(bare))
        with pytest.raises(
            PlanError, match=r"turn, lift are away from the start of the plan, .* nothing moved"
        ):
            check_way(
                np.array(plan.start) + np.array([0.3, -0.3]), plan, bare, load_mechanism(bare)
            )

    @pytest.mark.parametrize(
        ("share", "room", "free"), [(0.1, 0.06, True), (1.0, 0.06, False), (0.1, 0.005, False)]
    )
    @pytest.mark.slow
    def test_the_path_to_the_start_has_room_for_overrun(self, wired, share, room, free):
        mechanism = load_mechanism(wired)
        start = np.array([wired.limits(mechanism).position[0, 1] - room, 0.0])
        plan = replace(plan_whole_arm(wired, None, 0, SMALL), start=tuple(start.tolist()))
        stands = start - [0.5, 0.0]
        if free:
            check_way(stands, plan, wired, mechanism, share)
            return
        with pytest.raises(
            PlanError,
            match=r"the path to the start takes turn at .* before its limit, .* stops sending",
        ):
            check_way(stands, plan, wired, mechanism, share)

    @pytest.mark.slow
    def test_plans_have_room_for_overrun(self, wired, make_arm):
        assert silence(wired) == pytest.approx(0.3 + 2.0 / wired.driver.rate)
        assert silence(make_arm()) == 0.0
        coasts = replace(wired, driver=wired.driver.model_copy(update={"kind": "odrive"}))
        # until the brakes hold
        assert silence(coasts) == pytest.approx(silence(wired) + 0.1)
        mechanism = load_mechanism(wired)
        limits, plan = wired.limits(mechanism), plan_whole_arm(wired, None, 0, SMALL)
        assert checked(plan, wired) > 0.0
        ends = np.array([segment.target for segment in plan.segments])
        needed = run_on(SMALL.fastest * limits.velocity, limits.acceleration, 0.3)
        assert (needed > 0.2).all()
        assert (
            np.minimum(ends - limits.position[:, 0], limits.position[:, 1] - ends).min(axis=0)
            >= needed - 1e-9
        ).all()

    def test_a_written_plan_without_room_for_overrun_is_refused(self, wired, make_plan):
        with pytest.raises(
            PlanError,
            match=r"segment 1 takes turn at 1 rad/s to 0\.1 rad before its limit, but 0\.268 rad "
            r"are "
            r"needed to stop: .* keeps moving for 0\.31 s \(driver\.watchdog plus 2 cycles, ",
        ):
            checked(make_plan(wired, speeds=(1.0,), posture=(2.1, 0.3)), wired)
        checked(make_plan(wired, speeds=(0.3,), posture=(2.1, 0.3)), wired)

    def test_a_swing_needs_room_for_overrun_at_its_start(self, wired):
        mechanism = load_mechanism(wired)
        swing = Segment(0, "swing", (1.0, 0.3), 0, "turn", 1.0, swings=(3, 1))
        plan = replace(plan_validation(wired), start=(2.4, 0.3), segments=(swing,))
        with pytest.raises(
            PlanError, match=r"segment 0 takes turn at 1 rad/s to 0\.1 rad before its limit"
        ):
            check_plan(plan, wired, mechanism)

    @pytest.mark.parametrize(
        "make",
        [plan_constant_speed, plan_whole_arm, plan_validation, plan_lowest_speed, plan_breakaway],
    )
    def test_a_range_too_short_to_stop_is_refused_with_the_joint(self, make_arm, make):
        arm = make_arm(
            {
                "driver": {"kind": "bench", "watchdog": 0.3},
                "joints": {"turn": {"position": [-0.05, 0.05]}},
                "workspace": {"box": [[-2.0, 2.0]] * 3},
            }
        )
        with pytest.raises(
            PlanError,
            match=r"joint turn has 0\.1 rad between .*, "
            r"but would overrun by 0\.\d+ rad in either direction",
        ):
            make(arm)

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"joint": "elbow"}, "unknown joint 'elbow'"),
            ({"speed": 0.0}, "moves turn at 0 rad/s"),
            ({"kind": "swing"}, "a swing needs swings"),
        ],
    )
    def test_damaged_plans_are_refused_as_for_any_arm(self, wired, make_plan, change, words):
        with pytest.raises(PlanError, match=words):
            checked(changed(make_plan(wired, speeds=(0.3,)), 1, **change), wired)
