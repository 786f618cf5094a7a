"""Plans: a file that round-trips, motion that keeps its promises, and refusals before anything moves."""

import tomllib
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
import tomlkit
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from stribeck.experiments.errors import PlanError
from stribeck.experiments.methods.breakaway_ramps import plan_breakaway
from stribeck.experiments.methods.lowest_speed_search import plan_lowest_speed
from stribeck.experiments.methods.one_joint_at_a_time import plan_constant_speed
from stribeck.experiments.methods.validation_motion import plan_validation
from stribeck.experiments.methods.warm_up import plan_warm_up
from stribeck.experiments.methods.whole_arm import plan_whole_arm
from stribeck.experiments.plans.plan import (
    RAMP,
    Segment,
    check_plan,
    check_way,
    profile,
    read_plan,
    robot_time,
    run_on,
    silence,
    write_plan,
)
from stribeck.experiments.plans.speeds_and_postures import ConstantSpeed, Design, load_spread
from stribeck.ident.arm.arm_file import Limits, Workspace, load_arm
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import InputError
from stribeck.ident.model.loads import joint_loads

SMALL = ConstantSpeed(postures=2, speeds=2)


@pytest.fixture
def arm(make_arm):
    return make_arm()


@pytest.fixture
def plan(arm, make_plan):
    return make_plan(arm, speeds=(0.4, 0.1))


def checked(plan, arm):
    return check_plan(plan, arm, load_mechanism(arm))


def changed(plan, number, **changes):
    """The plan with one segment changed."""
    segments = list(plan.segments)
    segments[number] = replace(segments[number], **changes)
    return replace(plan, segments=tuple(segments))


class TestFile:
    def test_a_plan_comes_back_as_it_was(self, arm, tmp_path):
        made = plan_constant_speed(arm, seed=4, options=SMALL)
        write_plan(made, tmp_path / "plan.toml")
        assert read_plan(tmp_path / "plan.toml") == made
        assert checked(read_plan(tmp_path / "plan.toml"), arm) > 0.0

    def test_the_file_has_a_line_a_segment(self, plan, tmp_path):
        write_plan(plan, tmp_path / "plan.toml")
        lines = [line for line in (tmp_path / "plan.toml").read_text(encoding="utf-8").splitlines() if "target" in line]
        assert len(lines) == len(plan.segments) == 5

    def test_it_states_schema_arm_method_seed_and_robot_time(self, plan, tmp_path):
        write_plan(plan, tmp_path / "plan.toml")
        table = tomllib.loads((tmp_path / "plan.toml").read_text(encoding="utf-8"))
        assert {key: table[key] for key in ("schema", "arm", "method", "seed", "names")} == {
            "schema": 1, "arm": "pair", "method": "a test", "seed": 0, "names": ["turn", "lift"]}
        assert table["robot_time"] == pytest.approx(plan.robot_time)
        assert table["segments"][2] == {"id": 2, "kind": "stroke", "target": [0.2, 0.3], "posture": 1, "joint": "turn",
                                        "speed": 0.4, "mirror_of": 1}

    @pytest.mark.parametrize(("change", "words"), [
        (lambda table: table.pop("names"), ["names is missing"]),
        (lambda table: table.update(sped=1), ["unknown key 'sped'", "did you mean 'seed'"]),
        (lambda table: table["segments"][1].update(sped=1), ["segments.1.sped", "did you mean 'speed'"]),
        (lambda table: table["segments"][1].update(kind="strok"), ["segments.1.kind", "'strok'"]),
        (lambda table: table["segments"][1].update(speed=float("nan")), ["segments.1.speed", "nan"]),
        (lambda table: table["segments"][1].update(target=[0.0]), ["segment 1 has 1 targets for 2 joints"]),
        (lambda table: table.update(start=[0.0, 0.0, 0.0]), ["start has 3 values for 2 joints"]),
        (lambda table: table.update(schema=2), ["schema 2 is newer"]),
        (lambda table: table.pop("schema"), ["schema"]),
    ])
    def test_a_file_that_is_no_plan_is_refused_with_the_key(self, plan, tmp_path, change, words):
        path = tmp_path / "plan.toml"
        write_plan(plan, path)
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        change(table)
        path.write_text(tomlkit.dumps(table), encoding="utf-8")
        with pytest.raises(InputError) as caught:
            read_plan(path)
        for word in [str(path), *words]:
            assert word in str(caught.value)

    @pytest.mark.parametrize("content", [b"schema = ", b"\xff\xfe\x00", b""])
    def test_garbage_is_refused(self, tmp_path, content):
        (tmp_path / "plan.toml").write_bytes(content)
        with pytest.raises(InputError, match=r"plan\.toml"):
            read_plan(tmp_path / "plan.toml")


class TestWeight:
    """Gravity alone must leave the drives some torque."""

    def test_a_plan_that_gravity_would_stop_is_refused(self, make_arm, make_plan):
        arm = make_arm({"joints": {"lift": {"torque": 4.0}}})
        with pytest.raises(PlanError, match=r"ends where gravity asks .* of lift, more than 90 % of its limit of 4 N·m; raise "
                                            r"joints\.lift\.torque"):
            check_plan(make_plan(arm), arm, load_mechanism(arm))

    def test_postures_are_where_the_drives_hold_the_arm(self, make_arm):
        """Stretched out the boom is too heavy; lifted up it is not."""
        arm = make_arm({"joints": {"lift": {"torque": 4.0}}, "workspace": {"home": [0.0, 1.3]}})
        mechanism = load_mechanism(arm)
        heaviest = np.abs(joint_loads(mechanism, np.zeros((1, 2))).tau[0, 1])
        assert heaviest > 4.0
        plan = plan_constant_speed(arm, ("turn",), 0, ConstantSpeed(postures=2, speeds=3))
        held = np.abs(joint_loads(mechanism, np.array([segment.target for segment in plan.segments])).tau[:, 1])
        assert held.max() <= 0.9 * 4.0

    @pytest.mark.parametrize("plan", [plan_breakaway, plan_validation])
    def test_so_are_those_of_ramps_and_swings(self, make_arm, plan):
        arm = make_arm({"joints": {"lift": {"torque": 4.0}}, "workspace": {"home": [0.0, 1.3]}})
        for seed in range(5):
            made = plan(arm, ("turn",), seed)
            held = np.abs(joint_loads(load_mechanism(arm), np.array([segment.target for segment in made.segments])).tau[:, 1])
            assert held.max() <= 0.9 * 4.0

    def test_a_home_that_is_too_heavy_says_so(self, make_arm):
        arm = make_arm({"joints": {"lift": {"torque": 4.0}}})
        with pytest.raises(PlanError, match=r"workspace\.home = .* gravity asks .* of lift, more than 90 % of its limit of 4"):
            plan_constant_speed(arm)


def test_steps_of_a_drive_round_no_speed_below_the_slowest(make_arm):
    """At 0.011 rad/s a joint still turns evenly; the nearest step below is 7.7 mrad/s."""
    arm = make_arm({"joints": {"turn": {"slowest": 0.011}}})
    design = Design.of(arm, None, ConstantSpeed(), np.array([0.0077, 0.0077]))
    np.testing.assert_allclose(design.snapped(np.array([0.011, 0.011])), [0.0154, 0.0077])
    np.testing.assert_allclose(design.snapped(np.array([0.1, 0.0])), [0.1001, 0.0])


def test_a_joint_that_stands_at_its_limit_all_the_time_is_refused(make_arm, make_plan):
    """A gripper's finger at zero, where its range begins: the least sway would end the run."""
    arm = make_arm()
    made = make_plan(arm, posture=(0.2, 1.4996))
    with pytest.raises(PlanError, match=r"lift stands still at 1\.\d+ rad in segment 0, .* workspace\.home, or fix it by"):
        check_plan(replace(made, start=(0.2, 1.4996)), arm, load_mechanism(arm))
    check_plan(make_plan(arm), arm, load_mechanism(arm))


class TestSilence:
    """A computer that falls silent leaves its joints at their last speed until the drives' watchdogs act."""

    BUS = {"kind": "canopen", "watchdog": 0.3, "bus": {"interface": "virtual", "channel": "nobody"}}     # noqa: RUF012
    DRIVES = {"turn": {"drive": {"node": 1, "rated_torque": 0.6, "position_counts": 65536}},             # noqa: RUF012
              "lift": {"drive": {"node": 2, "rated_torque": 0.4, "position_counts": 65536}}}

    @pytest.fixture
    def wired(self, make_arm):
        box = {"box": [[-2.0, 2.0]] * 3, "home": [0.0, 0.0]}
        return make_arm({"driver": self.BUS, "joints": self.DRIVES, "workspace": box})

    @pytest.mark.parametrize("speed", [0.05, 0.5, 1.7, 3.0])
    @pytest.mark.parametrize("silent", [0.05, 0.2, 0.5])
    def test_no_instant_of_silence_takes_a_joint_farther(self, speed, silent):
        """Against all instants of a long way."""
        acceleration = 4.0
        ramp = speed / (RAMP * acceleration)
        left = np.linspace(0.0, ramp, 2001)                       # s to the end of the ramp
        v = RAMP * acceleration * left
        beyond = v * silent + v**2 / (2.0 * acceleration) - RAMP * acceleration * left**2 / 2.0
        assert run_on(np.array([speed]), np.array([acceleration]), silent)[0] == pytest.approx(beyond.max(), rel=1e-5)

    def test_where_nothing_says_what_is_clear_only_one_joint_is_brought_to_the_start(self, wired, make_arm):
        plan = plan_whole_arm(wired, None, 0, SMALL)
        check_way(np.array(plan.start) + np.array([0.3, -0.3]), plan, wired, load_mechanism(wired))
        bare = make_arm({"driver": self.BUS, "joints": self.DRIVES, "workspace": {"home": [0.0, 0.0]}})
        check_way(np.array(plan.start) + np.array([0.3, 0.0]), plan, bare, load_mechanism(bare))
        with pytest.raises(PlanError, match=r"turn, lift stand elsewhere than at the start of the plan, .* nothing moved"):
            check_way(np.array(plan.start) + np.array([0.3, -0.3]), plan, bare, load_mechanism(bare))

    @pytest.mark.parametrize(("share", "room", "free"), [(0.1, 0.06, True), (1.0, 0.06, False), (0.1, 0.005, False)])
    def test_the_way_to_the_start_leaves_it_too(self, wired, share, room, free):
        mechanism = load_mechanism(wired)
        start = np.array([wired.limits(mechanism).position[0, 1] - room, 0.0])
        plan = replace(plan_whole_arm(wired, None, 0, SMALL), start=tuple(start.tolist()))
        stands = start - [0.5, 0.0]
        if free:
            check_way(stands, plan, wired, mechanism, share)
            return
        with pytest.raises(PlanError, match=r"the way to the start takes turn at .* before its limit, .* fall silent"):
            check_way(stands, plan, wired, mechanism, share)

    def test_plans_keep_the_way_free(self, wired, make_arm):
        assert silence(wired) == pytest.approx(0.3 + 2.0 / wired.driver.rate)
        assert silence(make_arm()) == 0.0
        coasts = replace(wired, driver=wired.driver.model_copy(update={"kind": "odrive"}))
        assert silence(coasts) == pytest.approx(silence(wired) + 0.1)           # until brakes hold
        mechanism = load_mechanism(wired)
        limits, plan = wired.limits(mechanism), plan_whole_arm(wired, None, 0, SMALL)
        assert checked(plan, wired) > 0.0
        ends = np.array([segment.target for segment in plan.segments])
        needed = run_on(SMALL.fastest * limits.velocity, limits.acceleration, 0.3)
        assert (needed > 0.2).all()
        assert (np.minimum(ends - limits.position[:, 0], limits.position[:, 1] - ends).min(axis=0) >= needed - 1e-9).all()

    def test_a_plan_of_somebody_else_that_does_not_is_refused(self, wired, make_plan):
        with pytest.raises(PlanError, match=r"segment 1 takes turn at 1 rad/s to 0\.1 rad before its limit, 0\.268 rad are "
                                            r"needed: .* goes on for 0\.31 s \(driver\.watchdog and 2 cycles; "):
            checked(make_plan(wired, speeds=(1.0,), posture=(2.1, 0.3)), wired)
        checked(make_plan(wired, speeds=(0.3,), posture=(2.1, 0.3)), wired)

    def test_a_swing_comes_back_to_its_start(self, wired):
        mechanism = load_mechanism(wired)
        swing = Segment(0, "swing", (1.0, 0.3), 0, "turn", 1.0, swings=(3, 1))
        plan = replace(plan_validation(wired), start=(2.4, 0.3), segments=(swing,))
        with pytest.raises(PlanError, match=r"segment 0 takes turn at 1 rad/s to 0\.1 rad before its limit"):
            check_plan(plan, wired, mechanism)

    @pytest.mark.parametrize("make", [plan_constant_speed, plan_whole_arm, plan_validation, plan_lowest_speed, plan_breakaway])
    def test_a_range_too_short_to_stop_in_names_the_joint(self, make_arm, make):
        arm = make_arm({"driver": {"kind": "bench", "watchdog": 0.3}, "joints": {"turn": {"position": [-0.05, 0.05]}},
                        "workspace": {"box": [[-2.0, 2.0]] * 3}})
        with pytest.raises(PlanError, match=r"joint turn has 0\.1 rad between .*, but may go on for 0\.\d+ rad either way"):
            make(arm)

    @pytest.mark.parametrize(("change", "words"), [
        ({"joint": "elbow"}, "unknown joint 'elbow'"), ({"speed": 0.0}, "moves turn at 0 rad/s"),
        ({"kind": "swing"}, "a swing has swings")])
    def test_damage_is_said_as_of_any_arm(self, wired, make_plan, change, words):
        with pytest.raises(PlanError, match=words):
            checked(changed(make_plan(wired, speeds=(0.3,)), 1, **change), wired)


class TestCheck:
    def test_a_good_plan_says_how_much_room_it_keeps(self, plan, arm):
        assert checked(plan, arm) == pytest.approx(1.5 - 0.3)       # the lift stands at 0.3 of 1.5 rad

    def test_a_target_outside_the_limits(self, plan, arm):
        with pytest.raises(PlanError, match=r"segment 3 takes turn to 2\.600 rad, outside its limits \[-2\.5, 2\.5\]"):
            checked(changed(plan, 3, target=(2.6, 0.3)), arm)

    def test_a_start_outside_the_limits(self, plan, arm):
        with pytest.raises(PlanError, match=r"takes lift to -1\.600 rad"):
            checked(replace(plan, start=(0.0, -1.6)), arm)

    @pytest.mark.parametrize(("speed", "said"), [(2.1, "2.1"), (0.0, "0"), (-0.4, "-0.4"), (None, "0")])
    def test_an_impossible_speed(self, plan, arm, speed, said):
        with pytest.raises(PlanError, match=rf"segment 1 moves turn at {said} rad/s, limit 2 rad/s"):
            checked(changed(plan, 1, speed=speed), arm)

    def test_a_segment_that_would_never_end(self, plan, arm):
        with pytest.raises(PlanError, match=r"segment 1 takes .*e\+\d+ s, at most 3600 s are allowed; raise its speed"):
            checked(changed(plan, 1, speed=1e-9), arm)

    @pytest.mark.parametrize("purpose", ["breakaway", "validation"])
    def test_segments_that_do_not_serve_its_purpose(self, plan, arm, purpose):
        with pytest.raises(PlanError, match=f"segment 1 is a stroke; a plan whose purpose is {purpose} has"):
            checked(replace(plan, purpose=purpose), arm)

    @pytest.mark.parametrize("make", [plan_constant_speed, plan_whole_arm, plan_validation, plan_warm_up, plan_lowest_speed,
                                      plan_breakaway])
    def test_a_home_posture_outside_the_box_is_what_is_said(self, arm, make):
        boxed = replace(arm, workspace=Workspace(box=((-1.0, 1.0), (-1.0, 1.0), (0.0, 0.2))))
        with pytest.raises(PlanError, match=r"pair\.toml: the home posture .* workspace box of pair\.toml; state another"):
            make(boxed)

    def test_an_unknown_joint(self, plan, arm):
        with pytest.raises(PlanError, match=r"segment 1: unknown joint 'elbow' \(valid: turn, lift\)"):
            checked(changed(plan, 1, joint="elbow"), arm)

    def test_a_stroke_that_moves_another_joint_as_well(self, plan, arm):
        """The other joint would be as much faster than the stroke as its way is longer."""
        with pytest.raises(PlanError, match=r"segment 1 is a stroke of turn alone, but it moves turn, lift"):
            checked(changed(plan, 1, target=(0.25, 1.4)), arm)

    def test_a_stroke_that_goes_nowhere(self, plan, arm):
        with pytest.raises(PlanError, match=r"segment 1 is a stroke of turn alone, but it moves nothing"):
            checked(changed(plan, 1, target=(0.2, 0.3)), arm)

    @pytest.mark.parametrize("number", [1, -1])
    def test_numbers_that_do_not_tell_segments_apart(self, plan, arm, number):
        with pytest.raises(PlanError, match="number of its own"):
            checked(changed(plan, 3, id=number), arm)

    @pytest.mark.parametrize("of", [2, 3, 9])
    def test_a_segment_that_does_not_retrace_what_it_says(self, plan, arm, of):
        with pytest.raises(PlanError, match=f"segment 2 says mirror_of = {of}, but does not retrace"):
            checked(changed(plan, 2, mirror_of=of), arm)

    def test_nothing_to_record(self, plan, arm):
        with pytest.raises(PlanError, match="no stroke"):
            checked(replace(plan, segments=()), arm)

    def test_another_arm(self, plan, make_arm):
        with pytest.raises(PlanError, match="the plan is for joints turn, lift, the arm slide has carriage"):
            checked(plan, make_arm(base="slide"))

    def test_an_arm_file_that_changed_since(self, plan, make_arm):
        with pytest.raises(PlanError, match="another version of the arm file"):
            checked(plan, make_arm({"joints": {"turn": {"velocity": 1.9}}}))

    def test_another_truth_is_no_other_arm(self, plan, make_arm):
        checked(plan, make_arm({"simulation": {"torque_noise": 0.1}}))

    def test_a_way_that_leaves_the_box(self, arm, plan):
        """Both ends are inside, but between them the boom swings out to y = 0.362 m for a moment."""
        boxed = replace(arm, workspace=Workspace(box=((-1.0, 1.0), (-1.0, 0.3605), (0.0, 1.0))))
        with pytest.raises(PlanError, match=r"segment 1 \(turn in posture 1\) .* workspace box of pair\.toml"):
            checked(changed(plan, 1, target=(2.088, 0.3)), boxed)
        checked(plan, boxed)

    def test_a_sliding_joint_is_spoken_of_in_metres(self, make_arm, make_plan):
        arm = make_arm(base="slide")
        plan = make_plan(arm, speeds=(0.1,), posture=(0.2,), names=("carriage",))
        with pytest.raises(PlanError, match=r"takes carriage to 0\.500 m, outside its limits \[-0\.4, 0\.4\]"):
            checked(plan, arm)


class TestProfile:
    @settings(max_examples=60, deadline=None, derandomize=True)
    @given(way=st.tuples(st.floats(-3.0, 3.0), st.floats(-3.0, 3.0)), speed=st.floats(0.01, 2.0), data=st.data())
    def test_motion_is_smooth_within_limits_and_ends_exactly(self, way, speed, data):
        """Position is the integral of velocity, velocity of an acceleration within the limits; both ends are at rest."""
        velocity, acceleration = (np.array(data.draw(st.tuples(*[st.floats(0.5, 10.0)] * 2))) for _ in range(2))
        stroke = data.draw(st.booleans())
        way = np.array([way[0], 0.0 if stroke else way[1]])
        assume(abs(way[0]) > 1e-3)
        start = np.array([0.3, -0.2])
        segment = Segment(0, "stroke" if stroke else "move", tuple(start + way), 0, "a", min(speed, velocity[0]))
        motion = profile(start, segment, ("a", "b"), limits(velocity, acceleration))
        t = np.linspace(0.0, motion.duration, 4001)
        s, ds = motion(t)
        q, dq = start + s[:, None] * way, ds[:, None] * way
        np.testing.assert_allclose(q[[0, -1]], [start, start + way], atol=1e-12)
        np.testing.assert_allclose(dq[[0, -1]], 0.0, atol=1e-12)
        assert (np.diff(s) >= -1e-12).all()
        travelled = np.cumsum((dq[1:] + dq[:-1]) / 2.0, axis=0) * (t[1] - t[0])
        np.testing.assert_allclose(q[1:] - q[0], travelled, atol=np.abs(dq).max() * t[1])
        assert (np.abs(dq) <= velocity * (1.0 + 1e-9)).all()
        assert (np.abs(np.diff(dq, axis=0)) <= acceleration * (t[1] - t[0]) * (1.0 + 1e-6)).all()
        if stroke:
            assert np.abs(dq[:, 0]).max() <= segment.speed * (1.0 + 1e-9)

    def test_a_stroke_has_its_speed_for_as_long_as_the_way_allows(self):
        motion = profile(np.zeros(2), Segment(0, "stroke", (1.0, 0.0), 0, "a", 0.5), ("a", "b"), limits([2.0, 2.0], [4.0, 4.0]))
        t = np.linspace(0.0, motion.duration, 2000)
        at_speed = np.isclose(motion(t)[1], 0.5)
        assert at_speed.mean() * motion.duration > 0.75 * 1.0 / 0.5

    def test_before_and_after_nothing_moves(self):
        motion = profile(np.zeros(1), Segment(0, "move", (1.0,), 0), ("a",), limits([1.0], [1.0]))
        s, ds = motion(np.array([-1.0, motion.duration + 1.0]))
        np.testing.assert_allclose(s, [0.0, 1.0])
        np.testing.assert_allclose(ds, 0.0)

    def test_a_move_to_where_the_arm_stands_takes_no_time(self):
        assert profile(np.ones(1), Segment(0, "move", (1.0,), 0), ("a",), limits([1.0], [1.0])).duration == 0.0


class TestConstantSpeed:
    @settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(data=st.data(), seed=st.integers(0, 1000))
    def test_whatever_the_limits_a_plan_keeps_them(self, make_arm, data, seed):
        """Every point of every segment, looked at closely: position, speed, acceleration and the box, by Pinocchio."""
        joints = {}
        for name, reach in (("turn", 2.6), ("lift", 1.6)):
            low, high = data.draw(st.floats(-reach, -0.8)), data.draw(st.floats(0.8, reach))
            joints[name] = {"position": [low, high], "velocity": data.draw(st.floats(0.2, 1.5)),
                            "acceleration": data.draw(st.floats(4.0, 20.0)),
                            "gear_ratio": data.draw(st.sampled_from([1.0, 50.0]))}
        reach = st.floats(0.0, 0.5)
        box = [[-data.draw(reach), 0.36 + data.draw(reach)], [-data.draw(reach), 0.12 + data.draw(reach)], [0.1, 0.7]]
        arm = make_arm({"joints": joints, "workspace": {"box": box}})
        try:
            plan = plan_constant_speed(arm, seed=seed, options=SMALL)
        except PlanError as error:
            if "room" not in str(error):                            # a plan that its own check refuses
                raise
            return
        position = np.array([joints[name]["position"] for name in plan.names])
        model = pin.buildModelFromUrdf(str(arm.model))
        scratch = model.createData()
        for start, segment in plan.legs():
            motion = profile(start, segment, plan.names, arm.limits(load_mechanism(arm)))
            t = np.linspace(0.0, motion.duration, 101)
            s, ds = motion(t)
            q, dq = (part[:, None] * (np.array(segment.target) - start) for part in (s, ds))
            q += start
            assert (q >= position[:, 0]).all()
            assert (q <= position[:, 1]).all()
            for j, name in enumerate(plan.names):
                assert np.abs(dq[:, j]).max() <= joints[name]["velocity"] * (1.0 + 1e-9)
                if motion.duration:
                    assert np.abs(np.diff(dq[:, j])).max() <= joints[name]["acceleration"] * (t[1] - t[0]) * (1.0 + 1e-6)
            for row in q:
                pin.forwardKinematics(model, scratch, row)
                for point in (scratch.oMi[2].translation, scratch.oMi[2].act(model.inertias[2].lever)):
                    assert (point >= np.array(box)[:, 0] - 1e-3).all()
                    assert (point <= np.array(box)[:, 1] + 1e-3).all()

    def test_every_joint_makes_round_trips_at_every_speed_in_every_posture(self, arm):
        plan = plan_constant_speed(arm, options=ConstantSpeed(postures=3, speeds=4))
        for name in plan.names:
            strokes = [segment for segment in plan.segments if segment.joint == name and not segment.reference]
            assert len(strokes) == 2 * 3 * 4
            assert len({segment.speed for segment in strokes}) == 3 * 4
            assert {segment.posture for segment in strokes} == {1, 2, 3}
            fastest, slowest = (pick(segment.speed for segment in strokes) for pick in (max, min))
            assert 100.0 < fastest / slowest < 150.0

    def test_strokes_come_in_pairs_that_retrace_each_other(self, arm):
        legs = {segment.id: (start, segment) for start, segment in plan_constant_speed(arm, options=SMALL).legs()}
        back = [segment for _, segment in legs.values() if segment.mirror_of is not None]
        assert len(back) == sum(segment.kind == "stroke" for _, segment in legs.values()) / 2
        for segment in back:
            there_start, there = legs[segment.mirror_of]
            assert segment.target == tuple(there_start)
            assert tuple(legs[segment.id][0]) == there.target
            assert (segment.joint, segment.speed) == (there.joint, there.speed)

    def test_the_reference_is_repeated_from_start_to_end(self, arm):
        plan = plan_constant_speed(arm)
        for name in plan.names:
            where = [k for k, segment in enumerate(plan.segments) if segment.reference and segment.joint == name]
            assert len({plan.segments[k].speed for k in where}) == 1
            assert len(where) >= 2 * 3
            assert min(where) < 0.1 * len(plan.segments)
            assert max(where) > 0.9 * len(plan.segments)

    def test_the_seed_gives_the_order(self, arm):
        assert plan_constant_speed(arm, seed=1, options=SMALL) == plan_constant_speed(arm, seed=1, options=SMALL)
        assert plan_constant_speed(arm, seed=1, options=SMALL) != plan_constant_speed(arm, seed=2, options=SMALL)

    def test_only_the_chosen_joints_make_strokes(self, arm):
        plan = plan_constant_speed(arm, ("lift",), options=SMALL)
        assert {segment.joint for segment in plan.segments if segment.joint} == {"lift"}

    def test_the_default_campaign_of_lab6_takes_less_than_twenty_minutes(self):
        arm = load_arm("lab6")
        plan = plan_constant_speed(arm)
        assert 300.0 < plan.robot_time < 20 * 60.0
        assert plan.robot_time == pytest.approx(robot_time(plan, arm.limits(load_mechanism(arm))))
        assert checked(plan, arm) > 0.05

    @pytest.mark.parametrize("seed", range(4))
    def test_a_box_about_the_arm_is_no_reason_to_fail_half_way(self, seed):
        """Home and every posture can be reached inside; so can one posture from another, if need be by way of home."""
        lab6 = load_arm("lab6")
        box = ((-0.35, 0.75), (-0.6, 0.6), (0.05, 0.95))
        plan_constant_speed(replace(lab6, workspace=replace(lab6.workspace, box=box)), ("j4", "j5", "j6"), seed)

    @pytest.mark.parametrize("key", ["velocity", "acceleration", "torque"])
    def test_without_a_limit_there_is_no_plan(self, make_arm, key):
        arm = make_arm({"joints": {"lift": {key: None}}})
        with pytest.raises(PlanError, match=rf"joints\.lift\.{key} is missing; nothing moves without it"):
            plan_constant_speed(arm)

    def test_an_unknown_joint_is_named(self, arm):
        with pytest.raises(InputError, match=r"unknown joint 'lft'; did you mean 'lift'\? \(valid: turn, lift\)"):
            plan_constant_speed(arm, ("turn", "lft"))

    def test_a_joint_sensor_does_not_see_the_friction(self, make_arm):
        with pytest.raises(PlanError, match="joint sensor"):
            plan_constant_speed(make_arm({"torque_signal": "joint sensor"}))

    def test_a_home_that_nobody_stated_and_limits_exclude(self, make_arm):
        with pytest.raises(PlanError, match=r"turn is at 0 in the home posture, outside its limits \[0\.5, 2\.5\]"):
            plan_whole_arm(make_arm({"joints": {"turn": {"position": [0.5, 2.5]}}}))

    def test_no_room_says_which_joint_and_how_much(self, make_arm):
        arm = make_arm({"workspace": {"home": [0.0, 0.0], "box": [[-2, 0.355], [-0.2, 0.12], [-2, 2]]}})
        with pytest.raises(PlanError, match=r"joint turn has no room for a stroke of \d\.\d\d rad"):
            plan_constant_speed(arm)

    def test_a_joint_with_little_room_goes_slower(self, make_arm):
        """Ramps need way with the square of speed: what does not fit is not driven, and all else stays."""
        arm = make_arm({"joints": {"lift": {"position": [-0.2, 0.2]}}})
        plan = plan_constant_speed(arm)
        assert check_plan(plan, arm, load_mechanism(arm)) > 0.0
        fastest = {joint: max(s.speed for s in plan.segments if s.joint == joint) for joint in ("turn", "lift")}
        assert fastest["lift"] < 0.6 * 0.85 * 1.5
        assert fastest["turn"] == pytest.approx(0.85 * 2.0, rel=0.02)

    def test_no_room_at_any_speed_names_joint_and_way(self, make_arm):
        with pytest.raises(PlanError, match=r"joint lift: even the slowest stroke needs 0\.\d+ rad, the room is 0\.0\d+ rad"):
            plan_constant_speed(make_arm({"joints": {"lift": {"position": [-0.04, 0.04]}}}))

    def test_no_stroke_of_a_slow_joint_takes_minutes(self, make_arm):
        """At a hundredth of the speed the strokes last as long as allowed, and the speeds spread less."""
        joints = {"turn": {"velocity": 0.02}, "lift": {"velocity": 0.02}}
        arm = make_arm({"joints": joints})
        plan = plan_constant_speed(arm)
        limits = arm.limits(load_mechanism(arm))
        strokes = [profile(start, s, plan.names, limits).duration for start, s in plan.legs() if s.kind == "stroke"]
        assert 8.0 < max(strokes) < 10.5
        speeds = [s.speed for s in plan.segments if s.joint == "lift"]
        assert max(speeds) / min(speeds) < 20.0
        with pytest.raises(PlanError, match=r"joint turn: strokes of 0\.\d+ rad take more than 10 s at 0\.0017 rad/s"):
            plan_constant_speed(make_arm({"joints": {"turn": {"velocity": 0.002}}}))

    def test_the_spread_of_loads_says_what_posture_can_show(self, arm):
        """About the vertical nothing pulls on the turning joint; the lift's torque goes from little to all of its gravity."""
        spread = load_spread(plan_constant_speed(arm), load_mechanism(arm))
        assert spread["turn"]["torque"] == pytest.approx((0.0, 0.0), abs=1e-9)
        assert spread["turn"]["axial"] == pytest.approx((5.0 * 9.81,) * 2)
        low, high = spread["lift"]["torque"]
        assert low < 0.3 * high
        assert 4.0 < high <= 2.0 * 9.81 * np.hypot(0.25, 0.02)
        assert "normal" in spread["turn"]
        assert "normal" not in spread["lift"]                       # its bearing is not known


def limits(velocity, acceleration):
    velocity, acceleration = np.array(velocity, dtype=float), np.array(acceleration, dtype=float)
    unknown = np.full(len(velocity), np.nan)
    return Limits(np.tile([-np.inf, np.inf], (len(velocity), 1)), velocity, acceleration, unknown, unknown, unknown)
