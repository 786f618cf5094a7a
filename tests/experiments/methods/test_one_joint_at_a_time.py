"""Constant speed, one joint at a time: mirrored strokes within all limits, or a
refusal that names the joint.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stribeck.experiments.errors import PlanError
from stribeck.experiments.methods.one_joint_at_a_time import plan_constant_speed
from stribeck.experiments.methods.whole_arm import plan_whole_arm
from stribeck.experiments.plans.check_plan import check_plan
from stribeck.experiments.plans.constant_speed_options import ConstantSpeed
from stribeck.experiments.plans.forecast import load_spread
from stribeck.experiments.plans.motion_profile import motion_profile, robot_time
from stribeck.ident.arm.arm_file import load_arm
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import InputError
from tests.experiments.plans.damage import checked

SMALL = ConstantSpeed(postures=2, speeds=2)


@pytest.fixture
def arm(make_arm):
    return make_arm()


class TestConstantSpeed:
    @settings(
        max_examples=4,
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    @given(data=st.data(), seed=st.integers(0, 1000))
    @pytest.mark.slow
    def test_plans_keep_random_limits(self, make_arm, data, seed):
        """Position, speed, acceleration and box at finely sampled points of every
        segment, judged with Pinocchio.
        """
        import pinocchio as pin

        joints = {}
        for name, reach in (("turn", 2.6), ("lift", 1.6)):
            low, high = data.draw(st.floats(-reach, -0.8)), data.draw(st.floats(0.8, reach))
            joints[name] = {
                "position": [low, high],
                "velocity": data.draw(st.floats(0.2, 1.5)),
                "acceleration": data.draw(st.floats(4.0, 20.0)),
                "gear_ratio": data.draw(st.sampled_from([1.0, 50.0])),
            }
        reach = st.floats(0.0, 0.5)
        box = [
            [-data.draw(reach), 0.36 + data.draw(reach)],
            [-data.draw(reach), 0.12 + data.draw(reach)],
            [0.1, 0.7],
        ]
        arm = make_arm({"joints": joints, "workspace": {"box": box}})
        try:
            plan = plan_constant_speed(arm, seed=seed, options=SMALL)
        except PlanError as error:
            # a plan refused by its own check
            if "room" not in str(error):
                raise
            return
        position = np.array([joints[name]["position"] for name in plan.names])
        model = pin.buildModelFromUrdf(str(arm.model))
        scratch = model.createData()
        for start, segment in plan.legs():
            motion = motion_profile(start, segment, plan.names, arm.limits(load_mechanism(arm)))
            t = np.linspace(0.0, motion.duration, 41)
            s, ds = motion(t)
            q, dq = (part[:, None] * (np.array(segment.target) - start) for part in (s, ds))
            q += start
            assert (q >= position[:, 0]).all()
            assert (q <= position[:, 1]).all()
            for j, name in enumerate(plan.names):
                assert np.abs(dq[:, j]).max() <= joints[name]["velocity"] * (1.0 + 1e-9)
                if motion.duration:
                    assert np.abs(np.diff(dq[:, j])).max() <= joints[name]["acceleration"] * (
                        t[1] - t[0]
                    ) * (1.0 + 1e-6)
            for row in q:
                pin.forwardKinematics(model, scratch, row)
                for point in (
                    scratch.oMi[2].translation,
                    scratch.oMi[2].act(model.inertias[2].lever),
                ):
                    assert (point >= np.array(box)[:, 0] - 1e-3).all()
                    assert (point <= np.array(box)[:, 1] + 1e-3).all()

    @pytest.mark.slow
    def test_every_joint_makes_round_trips_at_every_speed_in_every_posture(self, arm):
        plan = plan_constant_speed(arm, options=ConstantSpeed(postures=3, speeds=4))
        for name in plan.names:
            strokes = [
                segment
                for segment in plan.segments
                if segment.joint == name and not segment.reference
            ]
            assert len(strokes) == 2 * 3 * 4
            assert len({segment.speed for segment in strokes}) == 3 * 4
            assert {segment.posture for segment in strokes} == {1, 2, 3}
            fastest, slowest = (pick(segment.speed for segment in strokes) for pick in (max, min))
            assert 100.0 < fastest / slowest < 150.0

    @pytest.mark.slow
    def test_strokes_come_in_mirrored_pairs(self, arm):
        legs = {
            segment.id: (start, segment)
            for start, segment in plan_constant_speed(arm, options=SMALL).legs()
        }
        back = [segment for _, segment in legs.values() if segment.mirror_of is not None]
        assert len(back) == sum(segment.kind == "stroke" for _, segment in legs.values()) / 2
        for segment in back:
            there_start, there = legs[segment.mirror_of]
            assert segment.target == tuple(there_start)
            assert tuple(legs[segment.id][0]) == there.target
            assert (segment.joint, segment.speed) == (there.joint, there.speed)

    @pytest.mark.slow
    def test_the_reference_is_repeated_from_start_to_end(self, arm):
        plan = plan_constant_speed(arm)
        for name in plan.names:
            where = [
                k
                for k, segment in enumerate(plan.segments)
                if segment.reference and segment.joint == name
            ]
            assert len({plan.segments[k].speed for k in where}) == 1
            assert len(where) >= 2 * 3
            assert min(where) < 0.1 * len(plan.segments)
            assert max(where) > 0.9 * len(plan.segments)

    @pytest.mark.slow
    def test_the_seed_determines_the_order(self, arm):
        assert plan_constant_speed(arm, seed=1, options=SMALL) == plan_constant_speed(
            arm, seed=1, options=SMALL
        )
        assert plan_constant_speed(arm, seed=1, options=SMALL) != plan_constant_speed(
            arm, seed=2, options=SMALL
        )

    @pytest.mark.slow
    def test_only_the_chosen_joints_make_strokes(self, arm):
        plan = plan_constant_speed(arm, ("lift",), options=SMALL)
        assert {segment.joint for segment in plan.segments if segment.joint} == {"lift"}

    @pytest.mark.slow
    def test_the_default_campaign_of_lab6_takes_less_than_twenty_minutes(self):
        arm = load_arm("lab6")
        plan = plan_constant_speed(arm)
        assert 300.0 < plan.robot_time < 20 * 60.0
        assert plan.robot_time == pytest.approx(robot_time(plan, arm.limits(load_mechanism(arm))))
        assert checked(plan, arm) > 0.05

    @pytest.mark.slow
    def test_plans_succeed_inside_a_tight_box(self):
        """Home and every posture are reachable inside the box, and so is each posture from the
        others, if necessary via home.
        """
        lab6 = load_arm("lab6")
        box = ((-0.35, 0.75), (-0.6, 0.6), (0.05, 0.95))
        plan_constant_speed(
            replace(lab6, workspace=replace(lab6.workspace, box=box)), ("j4", "j5", "j6")
        )

    @pytest.mark.parametrize("key", ["velocity", "acceleration", "torque"])
    def test_a_missing_limit_is_refused(self, make_arm, key):
        arm = make_arm({"joints": {"lift": {key: None}}})
        with pytest.raises(
            PlanError, match=rf"joints\.lift\.{key} is missing; no joint moves without this limit"
        ):
            plan_constant_speed(arm)

    def test_an_unknown_joint_is_named(self, arm):
        with pytest.raises(
            InputError, match=r"unknown joint 'lft'; did you mean 'lift'\? \(valid: turn, lift\)"
        ):
            plan_constant_speed(arm, ("turn", "lft"))

    def test_a_joint_torque_sensor_is_refused(self, make_arm):
        with pytest.raises(PlanError, match="joint sensor"):
            plan_constant_speed(make_arm({"torque_signal": "joint sensor"}))

    def test_a_default_home_posture_outside_the_limits_is_refused(self, make_arm):
        with pytest.raises(
            PlanError, match=r"turn is at 0 in the home posture, outside its limits \[0\.5, 2\.5\]"
        ):
            plan_whole_arm(make_arm({"joints": {"turn": {"position": [0.5, 2.5]}}}))

    def test_a_refusal_names_joint_and_stroke_without_room(self, make_arm):
        arm = make_arm(
            {"workspace": {"home": [0.0, 0.0], "box": [[-2, 0.355], [-0.2, 0.12], [-2, 2]]}}
        )
        with pytest.raises(PlanError, match=r"joint turn has no room for a stroke of \d\.\d\d rad"):
            plan_constant_speed(arm)

    @pytest.mark.slow
    def test_a_joint_with_little_room_moves_slower(self, make_arm):
        """Ramps need a distance proportional to the square of speed: speeds that do not fit are
        dropped, others do not change.
        """
        arm = make_arm({"joints": {"lift": {"position": [-0.2, 0.2]}}})
        plan = plan_constant_speed(arm)
        assert check_plan(plan, arm, load_mechanism(arm)) > 0.0
        fastest = {
            joint: max(s.speed for s in plan.segments if s.joint == joint)
            for joint in ("turn", "lift")
        }
        assert fastest["lift"] < 0.6 * 0.85 * 1.5
        assert fastest["turn"] == pytest.approx(0.85 * 2.0, rel=0.02)

    def test_a_refusal_names_the_joint_without_room_at_any_speed(self, make_arm):
        with pytest.raises(
            PlanError,
            match=r"joint lift: even the slowest stroke needs 0\.\d+ rad, the room is 0\.0\d+ rad",
        ):
            plan_constant_speed(make_arm({"joints": {"lift": {"position": [-0.04, 0.04]}}}))

    @pytest.mark.slow
    def test_strokes_of_a_slow_joint_keep_the_longest_time(self, make_arm):
        """At a hundredth of the speed, strokes take the longest allowed time, and the
        range of speeds is smaller.
        """
        joints = {"turn": {"velocity": 0.02}, "lift": {"velocity": 0.02}}
        arm = make_arm({"joints": joints})
        plan = plan_constant_speed(arm)
        limits = arm.limits(load_mechanism(arm))
        strokes = [
            motion_profile(start, s, plan.names, limits).duration
            for start, s in plan.legs()
            if s.kind == "stroke"
        ]
        assert 8.0 < max(strokes) < 10.5
        speeds = [s.speed for s in plan.segments if s.joint == "lift"]
        assert max(speeds) / min(speeds) < 20.0
        with pytest.raises(
            PlanError,
            match=r"joint turn: strokes of 0\.\d+ rad take more than 10 s at 0\.0017 rad/s",
        ):
            plan_constant_speed(make_arm({"joints": {"turn": {"velocity": 0.002}}}))

    @pytest.mark.slow
    def test_the_spread_of_loads_depends_on_the_postures(self, arm):
        """The turning joint is vertical and has no gravity torque; the lift's torque ranges
        from little to full gravity.
        """
        spread = load_spread(plan_constant_speed(arm), load_mechanism(arm))
        assert spread["turn"]["torque"] == pytest.approx((0.0, 0.0), abs=1e-9)
        assert spread["turn"]["axial"] == pytest.approx((5.0 * 9.81,) * 2)
        low, high = spread["lift"]["torque"]
        assert low < 0.3 * high
        assert 4.0 < high <= 2.0 * 9.81 * np.hypot(0.25, 0.02)
        assert "normal" in spread["turn"]
        assert "normal" not in spread["lift"]  # its bearing is not known
