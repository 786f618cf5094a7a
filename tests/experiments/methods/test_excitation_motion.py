"""Excitation: a periodic motion that keeps every limit, tells more than other motion, and
is fitted with other runs.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline

from stribeck.experiments.errors import PlanError
from stribeck.experiments.excitation import search
from stribeck.experiments.excitation.allowance import WRONG_MASSES, Allowance
from stribeck.experiments.excitation.expected import guesses, told
from stribeck.experiments.excitation.reach import Reach
from stribeck.experiments.excitation.rest_to_rest import RestToRest
from stribeck.experiments.exporters.plan_export import plan_writer
from stribeck.experiments.methods.excitation_motion import foretold, plan_excitation
from stribeck.experiments.methods.validation_motion import plan_validation
from stribeck.experiments.plans.check_plan import check_plan
from stribeck.experiments.plans.check_segment import Bounds
from stribeck.experiments.plans.check_wave import check_wave
from stribeck.experiments.plans.constant_speed_options import ConstantSpeed
from stribeck.experiments.plans.motion_profile import (
    ACCELERATION_SHARE,
    Wave,
    course,
    motion_profile,
)
from stribeck.experiments.plans.plan import Plan, read_plan, write_plan
from stribeck.experiments.plans.speeds_and_postures import Design
from stribeck.experiments.recording.drive_plan import drive_plan
from stribeck.ident.arm.arm_file import load_arm
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import InputError
from stribeck.ident.fit.arm.motion_information import Course, MotionInformation
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.identification.choose_runs import choose_runs
from stribeck.ident.identification.reduce_runs import reduce_runs
from stribeck.ident.identify import identify
from stribeck.ident.log.run import EXCITATION, load_run
from stribeck.ident.model.dynamics import inverse_dynamics, joint_origins

EFFORT, TIME = 0.05, 10.0


@pytest.fixture(scope="module")
def lab6():
    return load_arm("lab6")


@pytest.fixture(scope="module")
def plan(lab6) -> Plan:
    return plan_excitation(lab6, time=TIME, effort=EFFORT)


@contextmanager
def short_search() -> Iterator[None]:
    """Few turns of the search: enough for limits and words, too few for the best motion."""
    with pytest.MonkeyPatch.context() as patch:
        for turns in ("_TRIAL_TURNS", "_TURNS"):
            patch.setattr(search, turns, 3)
        yield


def wave_of(plan: Plan):
    """Where the wave starts, its segment and its motion."""
    start, segment = next(leg for leg in plan.legs() if leg[1].kind == "wave")
    motion = motion_profile(start, segment, plan.names, None)
    assert isinstance(motion, Wave)
    return start, segment, motion


class TestPlan:
    @pytest.mark.slow
    def test_it_starts_and_ends_at_rest_at_home(self, lab6, plan):
        start, segment, motion = wave_of(plan)
        np.testing.assert_allclose(start, lab6.home(load_mechanism(lab6)))
        q, dq = course(
            motion, np.array([0.0, 1e-4, motion.duration - 1e-4, motion.duration]), start, segment
        )
        np.testing.assert_allclose(q[[0, 3]], [start, start], atol=1e-8)
        np.testing.assert_allclose(dq, 0.0, atol=1e-3)
        np.testing.assert_allclose(
            motion.accelerations(np.array([0.0, motion.duration])), 0.0, atol=1e-5
        )

    @pytest.mark.slow
    def test_it_keeps_limits_of_every_kind_with_masses_a_third_greater_and_the_box(
        self, lab6, plan
    ):
        mechanism = load_mechanism(lab6)
        limits, (start, segment, motion) = lab6.limits(mechanism), wave_of(plan)
        t = np.linspace(0.0, motion.duration, 4001)
        q, dq = course(motion, t, start, segment)
        ddq = motion.accelerations(t)
        np.testing.assert_allclose(np.gradient(q, t, axis=0)[1:-1], dq[1:-1], atol=2e-3)
        np.testing.assert_allclose(np.gradient(dq, t, axis=0)[2:-2], ddq[2:-2], atol=2e-2)
        assert ((q > limits.position[:, 0]) & (q < limits.position[:, 1])).all()
        assert (np.abs(dq) <= 0.851 * limits.velocity).all()
        assert (np.abs(ddq) <= 1.001 * ACCELERATION_SHARE * limits.acceleration).all()
        heavy = replace(
            mechanism,
            mass=(1.0 + WRONG_MASSES) * mechanism.mass,
            inertia=(1.0 + WRONG_MASSES) * mechanism.inertia,
        )
        weight = np.abs(inverse_dynamics(heavy, q, dq, ddq))
        expected = guesses(Design.of(lab6, None, ConstantSpeed()))
        rubbed = [one.friction(np.abs(dq[:, j]), weight[:, j]) for j, one in enumerate(expected)]
        assert (weight + np.transpose(rubbed) <= 1.001 * limits.torque).all()
        low, high = np.transpose(lab6.workspace.box)
        origins = joint_origins(mechanism, q)[:, 1:]
        assert ((origins > low) & (origins < high)).all()

    @pytest.mark.slow
    def test_the_same_seed_gives_the_same_plan(self, make_arm):
        arm = make_arm()
        with short_search():
            once, again = (plan_excitation(arm, time=5.0, effort=EFFORT) for _ in range(2))
            other = plan_excitation(arm, seed=1, time=5.0, effort=EFFORT)
        assert again == once
        assert other.segments != once.segments

    @pytest.mark.slow
    def test_it_tells_more_than_swings_of_the_same_time(self, lab6, plan):
        design = Design.of(lab6, None, ConstantSpeed())
        information = MotionInformation(design.mechanism, guesses(design))
        gains, swings = [], plan_validation(lab6)
        for start, segment in swings.legs():
            if segment.kind == "swing":
                swing = motion_profile(start, segment, swings.names, design.limits)
                assert swing.duration == pytest.approx(TIME, rel=0.01)
                t = np.arange(0.0, swing.duration, 0.04)
                q, dq = course(swing, t, start, segment)
                gains.append(
                    information.gain(
                        information.prior
                        + information.told(Course(q, dq, np.gradient(dq, t, axis=0), 0.04))
                    )
                )
        ahead, _ = foretold(plan, lab6)
        assert ahead.gain > max(gains) + 20.0
        assert ahead.condition < 15.0

    @pytest.mark.slow
    def test_what_runs_told_before_is_not_sought_once_more(self, lab6, plan, tmp_path):
        recorded = load_run(drive_plan(lab6, plan, tmp_path, seed=0))
        ahead, _ = foretold(plan, lab6, [recorded])
        alone, _ = foretold(plan, lab6)
        assert ahead.earlier == pytest.approx(alone.gain, rel=0.05)  # it was that very motion
        assert 0.0 < ahead.gain < 0.3 * alone.gain
        assert all(
            after[0] < before[0]
            for after, before in zip(ahead.base.values(), alone.base.values(), strict=True)
        )

    @pytest.mark.slow
    def test_it_goes_through_its_file_and_out_to_other_software(self, lab6, plan, tmp_path):
        write_plan(plan, tmp_path / "plan.toml")
        assert read_plan(tmp_path / "plan.toml") == plan
        start, _, motion = wave_of(plan)
        for name in ("plan.csv", "plan.json"):
            plan_writer(Path(name))(plan, tmp_path / name, lab6)
        table = np.genfromtxt(tmp_path / "plan.csv", delimiter=",", names=True)
        assert table["t"][1] == pytest.approx(1.0 / lab6.driver.rate)
        points = json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))["points"]
        t = np.array(
            [
                point["time_from_start"]["sec"] + 1e-9 * point["time_from_start"]["nanosec"]
                for point in points
            ]
        )
        between = CubicHermiteSpline(
            t, [point["positions"] for point in points], [point["velocities"] for point in points]
        )
        begin = 0.15  # the move home takes no time, and is rested after
        q = start + motion(np.linspace(0.0, motion.duration, 999))[0]
        np.testing.assert_allclose(
            between(begin + np.linspace(0.0, motion.duration, 999)), q, atol=1e-4
        )
        column = table.dtype.names.index("qj1")
        np.testing.assert_allclose(table[table.dtype.names[column]][-1], start[0], atol=1e-6)


class TestRefusals:
    def refused(self, arm, plan: Plan, match: str, **changes) -> None:
        segments = tuple(
            replace(one, wave=replace(one.wave, **changes)) if one.wave else one
            for one in plan.segments
        )
        with pytest.raises(PlanError, match=match):
            check_plan(replace(plan, segments=segments), arm, load_mechanism(arm))

    @pytest.mark.slow
    def test_waves_that_leave_limits(self, lab6, plan):
        _, segment, _ = wave_of(plan)
        self.refused(lab6, plan, "has a speed of", period=0.5 * segment.wave.period)
        larger = tuple(tuple(3.0 * value for value in row) for row in segment.wave.sines)
        self.refused(lab6, plan, "position limit|has a speed of", sines=larger)
        jerk = tuple((row[0] + 0.02, *row[1:]) for row in segment.wave.sines)
        self.refused(lab6, plan, "begins at a speed of", sines=jerk)

    @pytest.mark.slow
    def test_waves_that_pass_a_limit_should_the_computer_fall_silent(self, lab6, plan):
        mechanism, (start, segment, motion) = load_mechanism(lab6), wave_of(plan)
        limits = lab6.limits(mechanism)
        q = start + motion(np.linspace(0.0, motion.duration, 2001))[0]
        near = np.column_stack((q.min(axis=0) - 0.03, q.max(axis=0) + 0.03))
        close = replace(limits, position=near)
        assert check_wave(segment, start, Bounds(mechanism, close, 0.0)) == pytest.approx(
            0.03, abs=1e-3
        )
        with pytest.raises(PlanError, match="if the computer stops sending"):
            check_wave(segment, start, Bounds(mechanism, close, 0.3))

    @pytest.mark.slow
    def test_waves_that_are_none(self, lab6, plan):
        _, segment, _ = wave_of(plan)
        self.refused(lab6, plan, "a row for each of the 6 joints", sines=segment.wave.sines[1:])
        self.refused(lab6, plan, "wave.periods = 0", periods=0)
        still = tuple((0.0,) * len(row) for row in segment.wave.sines)
        self.refused(lab6, plan, "moves no joint", sines=still, cosines=still)
        with pytest.raises(PlanError, match="wave and move segments only"):
            check_plan(
                replace(plan_validation(lab6), purpose=EXCITATION), lab6, load_mechanism(lab6)
            )

    def test_home_without_torque_reserve_for_wrong_masses(self, make_arm):
        heavy = make_arm({"workspace": {"home": [0.0, 0.0]}, "joints": {"lift": {"torque": 7.0}}})
        held = np.abs(inverse_dynamics(load_mechanism(heavy), [[0.0, 0.0]]))[0, 1]
        assert 0.6 * 7.0 < held < 0.88 * 7.0
        with pytest.raises(PlanError, match="friction and masses 30 % greater than the model"):
            plan_excitation(heavy, effort=EFFORT)

    @pytest.mark.slow
    def test_several_joints_without_anything_that_says_what_is_clear(
        self, make_arm, make_plan, lab6, plan
    ):
        bare = replace(
            lab6,
            driver=lab6.driver.model_copy(update={"kind": "canopen"}),
            workspace=replace(lab6.workspace, box=None),
        )
        with pytest.raises(PlanError, match="several joints simultaneously only if"):
            check_plan(plan, bare, load_mechanism(lab6))


@pytest.fixture(scope="module")
def machine():
    return load_arm("planar-3-prr")


@pytest.mark.slow
class TestClosedChains:
    """`benchmarks excitation` plans motions of whole machines."""

    def test_slopes_of_the_margins_cost_are_those_of_differences_in_reach_and_beyond(self, machine):
        mechanism = load_mechanism(machine)
        reach = Reach(
            mechanism.chain,
            machine.home(mechanism),
            machine.workspace.singular_margin,
            np.full(mechanism.n, 0.3),
        )
        beyond = np.array([-0.07, -0.0066, -0.037])
        near = beyond * np.linspace(0.05, 0.4, 60)[:, None]
        q = np.array(
            [[0.2, 0.2, 0.2], near[np.argmin(np.abs(reach.margins(near)[0] - 0.4))], beyond]
        )
        margin, part = reach.margins(q)
        assert margin[0] > 0.8
        assert 0.3 < margin[1] < 0.5
        assert margin[2] < 0.0
        assert (part == 1.0).tolist() == [True, True, False]
        _, slope = reach.cost(q)
        np.testing.assert_allclose(slope[0], 0.0)
        for j in range(3):
            step = 1e-5 * np.eye(3)[j]
            expected = (reach.cost(q[1:2] + step)[0] - reach.cost(q[1:2] - step)[0]) / 2e-5
            assert slope[1, j] == pytest.approx(expected, rel=2e-3, abs=1e-2)
        assert slope[2] @ q[2] > 0.0  # costs grow outwards


def test_the_search_weighs_velocities_and_accelerations_of_its_positions():
    reach = np.array([[0.8, 0.8], [1.2, 1.2], [6.0, 6.0]])
    series = RestToRest(np.array([0.1, -0.2]), np.eye(2), reach, 5.0, 2, 6)
    x = np.random.default_rng(0).standard_normal((2, series.size))
    sampled = series.sampled(400.0)
    course = sampled.course(x)
    for lower, upper in ((course.q, course.dq), (course.dq, course.ddq)):
        slope = np.gradient(lower, sampled.dt, axis=0)[1:-1]
        np.testing.assert_allclose(slope, upper[1:-1], atol=1e-3 * np.abs(upper).max())


class Forgetful:
    """A chain that loses its first posture when the second is drawn back, as continuing from
    previous postures may do.
    """

    def __init__(self):
        # second: home
        self.parts, self.asked = [(1.0, 0.5), (1.0, 1.0), (0.8, 1.0), (1.0, 1.0)], []

    def farthest(self, q):
        self.asked.append(q.copy())
        return np.array(self.parts.pop(0)[-len(q) :]), np.ones(len(q))


def test_drawn_back_postures_are_tested_again():
    """What is returned is what the chain was asked for last, and reached."""
    chain, q = Forgetful(), np.array([[0.1], [0.2]])
    course, inside = Reach(chain, np.zeros(1), 0.5, np.ones(1)).drawn_back(Course(q, q, q, 0.01, 1))
    assert chain.parts == []
    np.testing.assert_array_equal(course.q, chain.asked[-1])
    np.testing.assert_allclose(course.q, [[0.1 * 0.9 * 0.8], [0.2 * 0.9 * 0.5]])
    assert inside.tolist() == [False, False]


@pytest.fixture(scope="module")
def pair(make_arm):
    return make_arm(
        {"driver": {"rate": 100.0}, "simulation": {"mass_error": 0.3, "torque_noise": 0.05}}
    )


@pytest.fixture(scope="module")
def recorded(pair, tmp_path_factory):
    made = plan_excitation(pair, time=15.0, effort=EFFORT)
    return load_run(drive_plan(pair, made, tmp_path_factory.mktemp("campaign"), seed=0))


class TestFit:
    @pytest.mark.slow
    def test_a_run_of_excitation_is_fitted_as_general_motion_with_inertia(self, pair, recorded):
        assert recorded.purpose == EXCITATION
        result = identify([recorded], Options(inertia="fit", law="stribeck", load="none"))
        calibration = result.calibration
        assert calibration.fit["motion"] == "model"
        assert calibration.model.inertia is not None
        for name, viscous in (("turn", 2.0), ("lift", 1.5)):
            speed = np.geomspace(0.05, 1.2, 20)
            drop = 1.5 * np.exp(-np.square(speed / 0.08)) if name == "turn" else 0.0
            true = {"turn": 3.0, "lift": 2.0}[name] + drop + viscous * speed
            joint = calibration.joints[name]
            error = joint.torque(speed, None) - true
            assert np.sqrt(np.mean(error**2) / np.mean(true**2)) < 0.02

    @pytest.mark.slow
    def test_what_rests_on_round_trips_is_refused(self, recorded):
        with pytest.raises(
            InputError, match="is an excitation run, so all runs are fitted as general motion"
        ):
            identify([recorded], Options(directional="driving"))

    @pytest.mark.slow
    def test_round_trips_beside_it_are_fitted_along(self, pair, recorded, make_plan, tmp_path):
        trips = make_plan(pair, speeds=(0.8, 0.4, 0.2, 0.1))
        beside = load_run(drive_plan(pair, trips, tmp_path, seed=1))
        options = Options(law="coulomb-viscous", load="none")
        reduced = reduce_runs(choose_runs([recorded, beside]), options)
        assert len(reduced.reductions[0].points) == 0
        # of the round trips, whatever runs without any bring
        assert reduced.points["speed"].dtype == np.float64
        result = identify([recorded, beside], options)
        assert set(result.points["run"]) == {recorded.label, beside.label}


@pytest.mark.slow
def test_the_command_plans_runs_and_says_what_is_told(cli, make_arm):
    with short_search():
        plans_runs_and_says(cli, make_arm)


def plans_runs_and_says(cli, make_arm):
    arm = make_arm({"driver": {"rate": 100.0}}).path
    made = cli(
        "plan", arm, "--experiment", "excitation", "--budget", "8s", "-o", "plan.csv", "--json"
    )
    assert made.code == 0
    answer = json.loads(made.out)
    assert answer["robot_time_s"] == pytest.approx(8.0, abs=0.05)
    assert set(answer["room"]) == {"position", "velocity", "acceleration", "torque"}
    assert all(0.0 <= one["free"] < 1.0 for one in answer["room"].values())
    assert answer["condition"] > 1.0
    assert len(answer["friction"]) == 2
    assert "nat/s" in made.err
    assert (
        cli("run", arm, "--experiment", "excitation", "--budget", "8s", "-o", "campaign").code == 0
    )
    more = cli("run", arm, "--experiment", "excitation", "--budget", "8s", "--after", "campaign")
    assert more.code == 0
    assert "of 1 earlier runs" in more.out
    assert len(list(Path("campaign/runs").glob("*_excitation"))) == 2
    assert cli("plan", arm, "--experiment", "excitation", "--target", "5%").code == 2
    assert cli("plan", arm, "--experiment", "excitation", "--budget", "2s").code == 2
    assert cli("plan", arm, "--after", "campaign").code == 2


@pytest.mark.slow
def test_the_forecast_of_a_plan_is_that_of_its_motion(lab6, plan):
    design = Design.of(lab6, None, ConstantSpeed())
    information = MotionInformation(design.mechanism, guesses(design))
    start, segment, motion = wave_of(plan)
    t = np.arange(0.0, motion.period, 0.01)
    s, ds = motion(t)
    own = told(
        information,
        information.prior,
        Course(start + s, ds, motion.accelerations(t), 0.01, segment.wave.periods),
    )
    ahead, room = foretold(plan, lab6)
    assert ahead.gain == pytest.approx(own.gain, rel=1e-3)
    shares = Allowance(design, information.guesses).shares(
        Course(start + s, ds, motion.accelerations(t), 0.01)
    )
    assert {kind: part for kind, (_, part) in room.items()} == pytest.approx(
        {kind: 1.0 - share.max() for kind, share in shares.items()}, abs=1e-3
    )
    assert all(part > 0.0 for _, part in room.values())
