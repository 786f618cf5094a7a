"""Presliding: small round trips within limits and resolution, whose record shows the
hysteresis of the simulated joint.
"""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import least_squares

from stribeck.drivers.arm import Resolution
from stribeck.experiments.errors import PlanError
from stribeck.experiments.methods.registry import plan_experiment
from stribeck.experiments.methods.small_round_trips import (
    SmallTrips,
    left_out,
    plan_presliding,
    planned_amplitudes,
)
from stribeck.experiments.plans.check_plan import check_plan
from stribeck.experiments.plans.motion_profile import motion_profile
from stribeck.experiments.plans.plan import read_plan, write_plan
from stribeck.experiments.recording.drive_plan import drive_plan
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import InputError
from stribeck.ident.log.run import PRESLIDING, load_run

DEFAULT = np.geomspace(3e-4, 3e-2, 6)
FEW = SmallTrips((0.001, 0.002, 0.005, 0.012), 1)
RATE = 200.0
G, VISCOUS, STIFFNESS, DAMPING = 3.0, 2.0, 1500.0, 20.0


def swings(plan, posture, joint="turn"):
    return [
        (start, segment)
        for start, segment in plan.legs()
        if segment.kind == "swing" and (segment.posture, segment.joint) == (posture, joint)
    ]


def coarse(position=0.0, velocity=0.0, n=2):
    """Resolution of equal drives."""
    return Resolution(np.full(n, velocity), np.full(n, position), np.zeros(n))


@pytest.fixture(scope="module")
def arm(make_arm):
    return make_arm()


@pytest.fixture(scope="module")
def plan(arm):
    return plan_experiment(PRESLIDING, "whole-arm", arm)


@pytest.fixture(scope="module")
def run(make_arm, tmp_path_factory):
    """Plan and run of one joint with a LuGre truth, coarse signals and noise."""
    truth = {
        "coulomb": G,
        "static": G,
        "viscous": VISCOUS,
        "memory": "lugre",
        "bristle_stiffness": STIFFNESS,
        "bristle_damping": DAMPING,
    }
    arm = make_arm(
        {"simulation": {"torque_noise": 0.1, "encoder_step": 1e-5, "joints": {"turn": truth}}}
    )
    plan = plan_experiment(PRESLIDING, "whole-arm", arm, ("turn",), small=FEW)
    folder = drive_plan(arm, plan, tmp_path_factory.mktemp("presliding"), seed=1)
    return plan, load_run(folder, ("q", "dq", "tau"))


class TestPlan:
    @pytest.mark.slow
    def test_each_joint_makes_every_small_round_trip_slowly_and_quickly_in_three_places(self, plan):
        assert {segment.posture for segment in plan.segments} == {0, 1, 2, 3}
        for posture in (1, 2, 3):
            for j, joint in enumerate(plan.names):
                halves = [
                    abs(segment.target[j] - start[j]) / 2.0
                    for start, segment in swings(plan, posture, joint)
                ]
                np.testing.assert_allclose(halves, [*DEFAULT[::-1], *DEFAULT])
                speeds = [segment.speed for _, segment in swings(plan, posture, joint)]
                assert (np.array(speeds[6:]) > 1.9 * np.array(speeds[5::-1])).all()
        assert plan.purpose == PRESLIDING
        assert planned_amplitudes(plan) == {
            name: pytest.approx(DEFAULT, rel=1e-5) for name in plan.names
        }

    @pytest.mark.slow
    def test_one_joint_moves_at_a_time_and_small_motions_lead_back_to_the_posture(self, plan):
        for start, segment in plan.legs():
            if segment.kind != "move":
                assert np.count_nonzero(segment.moving(start)) == 1
        for posture in (1, 2, 3):
            legs = swings(plan, posture)
            np.testing.assert_allclose(legs[0][0], legs[-1][1].target, atol=1e-12)

    def test_each_slow_round_trip_lies_inside_the_one_before(self, plan):
        ends = [sorted((start[0], segment.target[0])) for start, segment in swings(plan, 1)[:6]]
        for (low, high), (inner_low, inner_high) in pairwise(ends):
            assert low - 1e-12 <= inner_low < inner_high <= high + 1e-12

    def test_the_wave_reverses_inside_its_round_trip(self, plan, arm):
        start, wave = next(
            (start, segment)
            for start, segment in plan.legs()
            if segment.kind == "wave" and segment.posture == 1
        )
        motion = motion_profile(start, wave, plan.names, arm.limits(load_mechanism(arm)))
        s, ds = motion(np.linspace(0.0, motion.period, 2001))
        j = int(np.argmax(np.ptp(s, axis=0)))
        assert np.ptp(s[:, j]) == pytest.approx(2.0 * DEFAULT[-2], rel=1e-3)
        # at the top, and four small loops
        assert np.count_nonzero(np.diff(np.sign(ds[1:-1, j]))) == 9

    def test_twenty_samples_fall_into_the_smallest_half_amplitude_after_a_reversal(self, plan, arm):
        limits = arm.limits(load_mechanism(arm))
        for start, segment in swings(plan, 2)[:6]:
            motion = motion_profile(start, segment, plan.names, limits)
            t = np.arange(1, round(motion.duration * RATE)) / RATE
            gone = motion(t)[0][:, 0] * abs(segment.target[0] - start[0])
            assert np.argmax(gone > DEFAULT[0]) >= 19

    def test_accelerations_stay_small(self, plan, arm):
        limits = arm.limits(load_mechanism(arm))
        for start, segment in swings(plan, 1):
            motion = motion_profile(start, segment, plan.names, limits)
            half = abs(segment.target[0] - start[0]) / 2.0
            assert (
                half * (5.0 * np.pi / motion.duration) ** 2 <= 0.1 * limits.acceleration[0] * 1.001
            )

    def test_long_round_trips_show_sliding_at_several_speeds(self, plan):
        for j, joint in enumerate(plan.names):
            speeds = {
                segment.speed
                for segment in plan.segments
                if segment.kind == "stroke" and segment.joint == joint
            }
            ways = [
                abs(segment.target[j] - start[j])
                for start, segment in plan.legs()
                if segment.kind == "stroke" and segment.joint == joint
            ]
            assert len(speeds) == 3
            assert max(speeds) > 20.0 * min(speeds)
            assert min(ways) > 2.0 * DEFAULT[-1]

    def test_the_file_gives_the_same_plan(self, plan, tmp_path):
        write_plan(plan, tmp_path / "plan.toml")
        assert read_plan(tmp_path / "plan.toml") == plan

    def test_other_segments_are_refused(self, plan, arm):
        k = next(k for k, segment in enumerate(plan.segments) if segment.kind == "stroke")
        sweep = replace(plan.segments[k], kind="sweep")
        with pytest.raises(
            PlanError, match="a plan whose purpose is presliding has stroke or swing or wave"
        ):
            check_plan(
                replace(plan, segments=(*plan.segments[:k], sweep, *plan.segments[k + 1 :])),
                arm,
                load_mechanism(arm),
            )

    @pytest.mark.slow
    def test_amplitudes_and_places_of_ones_own(self, arm):
        plan = plan_presliding(arm, ("lift",), 0, FEW)
        assert planned_amplitudes(plan) == {"lift": list(FEW.amplitudes)}
        assert {segment.posture for segment in plan.segments} == {0, 1}
        assert plan.robot_time < 100.0

    @pytest.mark.slow
    def test_amplitudes_of_a_slide_are_metres(self, make_arm):
        plan = plan_presliding(make_arm(base="slide"), options=SmallTrips(places=1))
        assert planned_amplitudes(plan) == {
            "carriage": pytest.approx(np.geomspace(3e-5, 3e-3, 6), rel=1e-4)
        }

    @pytest.mark.slow
    def test_an_arm_without_a_box_stays_at_home_on_hardware(self, make_arm):
        plan = plan_presliding(make_arm({"driver": {"kind": "canopen"}}))
        assert {segment.posture for segment in plan.segments} == {0, 1}
        assert all(np.count_nonzero(segment.moving(start)) <= 1 for start, segment in plan.legs())


class TestResolution:
    @pytest.mark.slow
    def test_amplitudes_below_eight_steps_of_the_encoder_are_left_out(self, make_arm):
        arm = make_arm({"simulation": {"encoder_step": 1.5e-4}})
        plan = plan_experiment(PRESLIDING, "whole-arm", arm, ("turn",))
        assert planned_amplitudes(plan) == {"turn": pytest.approx(DEFAULT[2:], rel=1e-5)}
        (note,) = left_out(plan, load_mechanism(arm))
        assert note.startswith(
            "turn: no round trips of 0.0003, 0.000754 rad: too small for the resolution of its "
            "drive"
        )

    @pytest.mark.slow
    def test_a_coarse_encoder_is_refused_with_its_resolution_and_the_one_needed(self, make_arm):
        with pytest.raises(
            PlanError,
            match=r"joint turn: 2 of 6 half amplitudes .* has steps of 0.001 rad.* 0.008 rad.*"
            r"need a resolution of 0.000237 rad or finer",
        ):
            plan_experiment(
                PRESLIDING, "whole-arm", make_arm({"simulation": {"encoder_step": 1e-3}})
            )
        plan_presliding(make_arm(), ("turn",), resolution=coarse(2.36e-4))

    @pytest.mark.slow
    def test_coarse_velocity_set_points_are_refused(self, make_arm):
        with pytest.raises(
            PlanError,
            match=r"joint turn: .* set-points have steps of 0.02 rad/s.* need steps of .* or finer",
        ):
            plan_presliding(make_arm(), resolution=coarse(velocity=0.02))

    @pytest.mark.slow
    def test_large_amplitudes_without_room_are_refused(self, make_arm):
        with pytest.raises(
            PlanError,
            match=r"turn: 2 of 4 .* have room for [\d.]+ rad. State more or smaller --amplitudes",
        ):
            plan_presliding(make_arm(), ("turn",), options=SmallTrips((0.1, 0.2, 1.5, 2.5)))

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            (("--experiment", "validation", "--places", "2"), "only with --experiment presliding"),
            (
                ("--experiment", "presliding", "--amplitudes", "0.1,x"),
                "--amplitudes 0.1,x: different positive numbers",
            ),
            (
                ("--experiment", "presliding", "--amplitudes", "0.1,0.1"),
                "different positive numbers",
            ),
            (("--experiment", "presliding", "--amplitudes", "0.01,0.02"), "2 of 2 half amplitudes"),
        ],
    )
    @pytest.mark.parametrize("command", ["plan", "run"])
    def test_wrong_options_are_refused(self, cli, make_arm, tmp_path, command, options, words):
        outcome = cli(command, make_arm().path, *options, "-o", tmp_path / "out.toml")
        assert outcome.code == 2
        assert words in " ".join(outcome.err.split())
        assert not (tmp_path / "out.toml").exists()

    def test_places_below_one_are_refused(self, make_arm):
        with pytest.raises(InputError, match="--places 0: at least 1 place"):
            plan_presliding(make_arm(), options=SmallTrips(places=0))


class TestRun:
    @pytest.mark.slow
    def test_the_run_is_finished_and_every_segment_is_recorded(self, run):
        plan, recorded = run
        assert recorded.purpose == PRESLIDING
        assert recorded.closed["reason"] == "done"
        assert {segment.id for segment in plan.segments} <= set(recorded.segment.tolist())
        assert recorded.duration == pytest.approx(plan.robot_time, rel=0.05)

    @pytest.mark.slow
    def test_small_round_trips_reach_their_amplitudes(self, run):
        plan, recorded = run
        for start, segment in swings(plan, 1):
            way = abs(segment.target[0] - start[0])
            assert np.ptp(
                recorded.signals["q"][recorded.segment == segment.id, 0]
            ) == pytest.approx(way, rel=0.15)

    @pytest.mark.slow
    def test_the_record_determines_bristle_stiffness_and_sliding_friction(self, run):
        """A law integrated in this file, z' = w - sigma |w| z / g over steps of
        position, fits the small motions.
        """
        plan, recorded = run
        small = [segment.id for segment in plan.segments if segment.kind in ("swing", "wave")]
        rows = np.flatnonzero(np.isin(recorded.segment, small))
        q, dq, tau = (recorded.signals[key][rows, 0] for key in ("q", "dq", "tau"))
        smooth = np.convolve(dq, np.ones(5) / 5.0, "same")
        ddq, dx = np.gradient(smooth) * RATE, np.diff(q, prepend=q[0])

        def torque(x):
            sigma, g, viscous, inertia, damping, offset = x
            z, force = -g / sigma, np.empty(len(q))
            for k, step in enumerate(dx):
                end = np.copysign(g / sigma, step)
                z = z if step == 0.0 else end + (z - end) * np.exp(-abs(step) * sigma / g)
                force[k] = sigma * z + damping * dq[k] * (1.0 - z * sigma / g * np.sign(dq[k]))
            return force + viscous * dq + inertia * ddq + offset - tau

        found = least_squares(
            torque, [800.0, 2.0, 1.0, 0.5, 0.0, 0.0], x_scale=[500.0, 1.0, 1.0, 1.0, 10.0, 1.0]
        )
        assert found.x[0] == pytest.approx(STIFFNESS, rel=0.05)
        assert found.x[1] == pytest.approx(G, rel=0.02)
        assert found.x[4] == pytest.approx(DAMPING, rel=0.3)
        # noise of 0.1 N·m, and little else
        assert np.std(found.fun) < 0.13
