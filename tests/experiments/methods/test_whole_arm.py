"""The whole arm: plans within all limits, and friction of every joint from the same round trips."""

from dataclasses import replace

import numpy as np
import pytest

from stribeck.drivers.simulation.simulated_arm import SimulatedArm
from stribeck.experiments.errors import PlanError
from stribeck.experiments.methods.one_joint_at_a_time import plan_constant_speed
from stribeck.experiments.methods.refine import first_goal
from stribeck.experiments.methods.registry import plan_method
from stribeck.experiments.methods.whole_arm import METHOD, WHOLE_ARM, plan_whole_arm, sweep
from stribeck.experiments.plans import spread
from stribeck.experiments.plans.check_plan import check_plan
from stribeck.experiments.plans.constant_speed_options import ConstantSpeed
from stribeck.experiments.plans.forecast import load_spread
from stribeck.experiments.plans.motion_profile import ACCELERATION_SHARE, motion_profile
from stribeck.experiments.plans.plan import Plan, read_plan, write_plan
from stribeck.experiments.plans.speeds_and_postures import Design
from stribeck.experiments.recording.drive_plan import drive_plan
from stribeck.ident.arm.arm_file import ArmFile, load_arm
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import InputError
from stribeck.ident.log.reduction.round_trips import reduce_run
from stribeck.ident.log.run import load_run
from stribeck.ident.model.loads import joint_loads

SMALL = ConstantSpeed(postures=2, speeds=3, longest_stroke=3.0)


@pytest.fixture(scope="module")
def lab6() -> ArmFile:
    return load_arm("lab6")


@pytest.fixture(scope="module")
def plan(lab6) -> Plan:
    return plan_whole_arm(lab6, seed=3)


@pytest.fixture(scope="module")
def alone(lab6) -> Plan:
    """Round trips of one joint at a time."""
    return plan_constant_speed(lab6, seed=3)


def sweeps(plan: Plan):
    return [(start, segment) for start, segment in plan.legs() if segment.kind == "sweep"]


class TestPlan:
    @pytest.mark.slow
    def test_every_sweep_is_played_backwards_to_its_start(self, plan):
        legs = sweeps(plan)
        references = 1 + (WHOLE_ARM.postures + 1) // WHOLE_ARM.reference_every
        assert len(legs) == 2 * (WHOLE_ARM.postures * WHOLE_ARM.speeds + references)
        for (start, there), (end, back) in zip(legs[::2], legs[1::2], strict=True):
            assert back.mirror_of == there.id
            np.testing.assert_array_equal(back.target, start)
            np.testing.assert_array_equal(end, there.target)
            assert there.speed == back.speed

    @pytest.mark.slow
    def test_the_last_bit_of_loads_and_speeds_does_not_change_the_plan(
        self, plan, lab6, monkeypatch
    ):
        """Processors differ in it. The torque of j1, about the vertical, is roundoff alone."""
        rng = np.random.default_rng(0)

        def another_last_bit(values):
            relative, absolute = 1e-15 * rng.standard_normal((2, *values.shape))
            return values * (1.0 + relative) + absolute

        def loads(*given):
            exact = joint_loads(*given)
            return replace(exact, torque=another_last_bit(exact.torque))

        at_level = Design.at_level
        monkeypatch.setattr(spread, "joint_loads", loads)
        monkeypatch.setattr(
            Design, "at_level", lambda self, level: another_last_bit(at_level(self, level))
        )
        assert plan_whole_arm(lab6, seed=3).segments == plan.segments

    @pytest.mark.slow
    def test_all_joints_keep_a_window_of_whole_motor_revolutions_at_constant_speed(
        self, plan, lab6
    ):
        design = Design.of(lab6, None, WHOLE_ARM)
        for start, segment in sweeps(plan):
            motion = motion_profile(start, segment, plan.names, design.limits)
            steady = motion.duration - 2.0 * motion.speed / motion.acceleration
            speeds = segment.speeds(start, plan.names)
            for j, speed in enumerate(speeds):
                assert speed * (steady - WHOLE_ARM.settle_time) > 0.99 * design.turn(j)
            assert steady >= WHOLE_ARM.window_time
            ramp = motion.acceleration * np.abs(np.array(segment.target) - start)
            assert (ramp <= ACCELERATION_SHARE * design.limits.acceleration * (1.0 + 1e-9)).all()

    @pytest.mark.slow
    def test_every_joint_has_its_whole_range_of_speeds(self, plan, lab6):
        slow, fast = Design.of(lab6, None, WHOLE_ARM).ends
        speeds = np.array(
            [
                segment.speeds(start, plan.names)
                for start, segment in sweeps(plan)
                if not segment.reference
            ]
        )
        np.testing.assert_allclose(speeds.min(axis=0), slow, rtol=1e-5)
        np.testing.assert_allclose(np.delete(speeds.max(axis=0), 4), np.delete(fast, 4), rtol=1e-5)
        # j5 lacks the room for the ramps of the other joints
        assert 0.9 * fast[4] < speeds[:, 4].max() < fast[4]
        assert all(
            len(np.unique(column.round(6))) == WHOLE_ARM.postures * WHOLE_ARM.speeds
            for column in speeds.T
        )

    @pytest.mark.slow
    def test_the_plan_takes_a_quarter_of_the_time_of_one_joint_at_a_time(self, plan, alone):
        assert plan.robot_time < 0.3 * alone.robot_time

    @pytest.mark.slow
    def test_speeds_are_multiples_of_the_drives_resolution(self, lab6):
        step = np.array([0.004, 0.003, 0.0, 0.005, 0.002, 0.001])
        made = plan_whole_arm(lab6, None, 1, SMALL, step)
        speeds = np.array(
            [
                segment.speeds(start, made.names)
                for start, segment in sweeps(made)
                if segment.reference
            ]
        )
        counts = np.delete(speeds, 2, axis=1) / np.delete(step, 2)
        np.testing.assert_allclose(counts, counts.round(), atol=0.01)

    @pytest.mark.slow
    def test_loads_spread_as_widely_as_with_one_joint_at_a_time(self, plan, alone, lab6):
        mechanism = load_mechanism(lab6)
        whole, single = (load_spread(made, mechanism) for made in (plan, alone))
        for joint, kind in (
            ("j1", "normal"),
            ("j2", "torque"),
            ("j3", "torque"),
            ("j4", "normal"),
            ("j5", "torque"),
        ):
            assert np.ptp(whole[joint][kind]) > 0.8 * np.ptp(single[joint][kind])

    @pytest.mark.slow
    def test_a_file_gives_the_same_plan(self, plan, tmp_path):
        write_plan(plan, tmp_path / "plan.toml")
        assert read_plan(tmp_path / "plan.toml") == plan

    @pytest.mark.slow
    def test_some_joints_only(self, lab6):
        made = plan_whole_arm(lab6, ("j2", "j5"), 1, SMALL)
        for start, segment in sweeps(made):
            moved = np.flatnonzero(np.array(segment.target) != start)
            assert [made.names[j] for j in moved] == ["j2", "j5"]

    def test_only_the_joint_with_little_room_is_slower(self, lab6):
        joints = {**lab6.joints, "j4": replace(lab6.joint("j4"), position=(-0.4, 0.4))}
        design = Design.of(replace(lab6, joints=joints), None, SMALL)
        way, speeds = sweep(design, design.ends[1])
        roomy = Design.of(lab6, None, SMALL)
        assert way[3] <= design.longest[3]
        np.testing.assert_allclose(
            np.delete(speeds, 3), np.delete(sweep(roomy, roomy.ends[1])[1], 3)
        )

    @pytest.mark.slow
    def test_a_sweep_beyond_a_velocity_limit_is_refused(self, plan, lab6):
        k = next(k for k, segment in enumerate(plan.segments) if segment.kind == "sweep")
        segments = (
            *plan.segments[:k],
            replace(plan.segments[k], speed=1.7),
            *plan.segments[k + 1 :],
        )
        with pytest.raises(PlanError, match=r"moves j\d at .* rad/s, limit"):
            check_plan(replace(plan, segments=segments), lab6, load_mechanism(lab6))

    def test_a_refusal_names_the_joint_without_room_at_home(self, lab6):
        joints = {
            **lab6.joints,
            "j5": replace(lab6.joint("j5"), position=(0.55, 0.65), velocity=0.01),
        }
        with pytest.raises(PlanError, match="j5"):
            plan_whole_arm(replace(lab6, joints=joints))

    def test_an_unknown_method_names_the_known_ones(self, lab6):
        with pytest.raises(InputError, match="whole-arm"):
            plan_method("hole-arm", lab6)


@pytest.mark.slow
def test_many_directions_from_home_are_tried() -> None:
    """In the box of offset6 few directions are clear."""
    arm = load_arm("offset6")
    plan = plan_method("whole-arm", arm, None, 38, goal=first_goal(0.05, None))
    check_plan(plan, arm, load_mechanism(arm))


@pytest.mark.slow
def test_plans_stay_inside_limits_and_box(plan, lab6):
    """`check_plan`, which guards every run, accepts the plans and finds clearance."""
    offset6 = load_arm("offset6")
    for arm, made in ((lab6, plan), (offset6, plan_whole_arm(offset6, seed=0))):
        assert check_plan(made, arm, load_mechanism(arm)) > 0.0
        assert made.method == METHOD


def bare(arm: ArmFile, **knobs: object) -> ArmFile:
    """The arm without noise, ripple, scatter and warm-up, with some changed settings."""
    quiet = {
        "torque_noise": 0.0,
        "ripple": 0.0,
        "stroke_scatter": 0.0,
        "warm_up": 0.0,
        "torque_delay": 0.0,
        "mass_error": 0.0,
        "velocity_noise": 0.0,
        "torque_step": 0.0,
        "encoder_step": 0.0,
    }
    return replace(arm, simulation={**arm.simulation, **quiet, **knobs})


@pytest.mark.parametrize(
    "knobs",
    [
        {"payload": {"mass": 2.0, "com": [0.0, 0.0, 0.05]}},
    ],
    ids=["unknown 2 kg"],
)
@pytest.mark.slow
def test_round_trips_give_the_friction_of_all_joints(lab6, tmp_path, knobs):
    """Friction equals MuJoCo's truth at the same states, without influence of the other joints."""
    arm = replace(bare(lab6, **knobs), driver=lab6.driver.model_copy(update={"rate": 100.0}))
    run = load_run(drive_plan(arm, plan_whole_arm(arm, seed=1, options=SMALL), tmp_path, 1))
    reduction, truth = reduce_run(run, load_mechanism(arm)), SimulatedArm(arm, 1)
    true = truth.friction(reduction.q, reduction.dq)
    for name, rows in reduction.points.groupby("joint").indices.items():
        j, odd = run.names.index(str(name)), reduction.points["odd"].to_numpy(dtype=float)[rows]
        trips = len(set(reduction.points["segment"].iloc[rows]))
        assert trips >= 7
        off = odd / true[rows, j] - 1.0
        assert np.sqrt(np.mean(off**2)) < 0.012, name
        assert abs(off.mean()) < 0.005, name


def test_a_shared_motor_never_stands_still_and_its_joints_alternate(lab6):
    """The friction of a motor at rest has no sign. If the same joint always led, motor and
    joint friction would be equal.
    """
    design = Design.of(replace(lab6, transmission={"j6": {"j5": 1.0}}), None, WHOLE_ARM)
    levels = design.at_level(np.linspace(0.0, 1.0, 5))
    rates = np.array(
        [sweep(design, speeds, slower)[1][4:] for slower in (0, 1) for speeds in levels]
    )
    assert (np.abs(rates[:, 0] - rates[:, 1]) > 0.3 * rates.max(axis=1)).all()
    assert (rates[:5, 0] > rates[:5, 1]).all()
    assert (rates[5:, 0] < rates[5:, 1]).all()
