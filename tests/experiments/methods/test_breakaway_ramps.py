"""Breakaway: identified beside the sliding law, with the level and growth of the truth;
refused without torque mode.
"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from stribeck.drivers.connect import DRIVERS
from stribeck.drivers.errors import LimitExceeded
from stribeck.drivers.replay import ALL_SIGNALS
from stribeck.drivers.simulation.simulated_arm import SimulatedArm
from stribeck.experiments.errors import PlanError
from stribeck.experiments.methods import breakaway_ramps
from stribeck.experiments.methods.breakaway_ramps import plan_breakaway
from stribeck.experiments.plans.check_plan import check_plan
from stribeck.experiments.plans.forecast import load_spread
from stribeck.experiments.plans.plan import Plan, Segment, read_plan, write_plan
from stribeck.experiments.recording.drive_plan import drive_plan
from stribeck.experiments.recording.replay_run import replay_run
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.errors import InputError
from stribeck.ident.identification.choose_runs import choose_runs
from stribeck.ident.log.breakaway import breakaway_table, breakaways
from stribeck.ident.log.campaign_folder import find_runs
from stribeck.ident.log.run import BREAKAWAY, FIT, arm_sha256, load_run
from tests.recorded import Few

POSTURES = ((0.2, 0.3), (-0.5, -0.4))
SLOW = {"driver": {"rate": 100.0}}  # fewer cycles
UNITS = {"turn": "N·m", "lift": "N·m"}


def ramps(arm, dwells=(1.0, 1.0), joints=("turn", "lift"), rate=2.0) -> Plan:
    """Plan of ramps of both joints in both directions and two postures."""
    segments = []
    for number, (posture, dwell) in enumerate(zip(POSTURES, dwells, strict=True), start=1):
        segments.append(Segment(len(segments), "move", posture, number))
        for joint in joints:
            for sign in (1.0, -1.0):
                segments.append(
                    Segment(
                        len(segments), "ramp", posture, number, joint, rate=sign * rate, dwell=dwell
                    )
                )
    return Plan(
        arm.name,
        arm_sha256(arm),
        "a test",
        0,
        ("turn", "lift"),
        (0.0, 0.0),
        tuple(segments),
        purpose=BREAKAWAY,
    )


@pytest.mark.slow
class TestLevel:
    def test_breakaway_is_the_static_level_without_growth_at_rest(self, make_arm, tmp_path):
        arm = make_arm({**SLOW, "simulation": {"encoder_step": 1e-5, "torque_noise": 0.1}})
        table = breakaway_table([load_run(drive_plan(arm, ramps(arm, rate=0.7), tmp_path, 1))])
        assert len(table) == 4
        for name, static in (("turn", 4.5), ("lift", 2.0)):
            rows = table[table["joint"] == name]
            # the lift moves slowly after breakaway: 2 % late
            np.testing.assert_allclose(rows["friction"], static, rtol=0.03)
        # a vertical axis has no gravity torque
        assert abs(table[table["joint"] == "turn"]["even"]).max() < 0.1
        assert abs(table[table["joint"] == "lift"]["even"]).min() > 1.0

    def test_breakaway_grows_with_rest_and_exceeds_sliding_friction(self, make_arm, tmp_path):
        """Breakaway by the formula of the truth; the ramp prolongs the rest."""
        knobs = {"breakaway": 0.5, "breakaway_time": 4.0, "encoder_step": 1e-5}
        arm = make_arm({**SLOW, "simulation": knobs})
        run = load_run(
            drive_plan(arm, ramps(arm, dwells=(0.5, 8.0), joints=("turn",)), tmp_path, 1)
        )
        begun = {
            event["segment"]: event["row"] for event in run.events if event["event"] == "started"
        }
        loose = {
            event["segment"]: event["row"] for event in run.events if event["event"] == "moved"
        }
        friction = breakaway_table([run])["friction"].to_numpy()
        for k, pair in enumerate(((1, 2), (4, 5))):
            rest = np.mean([run.t[loose[number]] - run.t[begun[number]] for number in pair])
            assert friction[k] == pytest.approx(4.5 * (1.0 + 0.5 * rest / (rest + 4.0)), rel=0.04)
        assert friction[1] > friction[0] > 1.1 * 4.5

    def test_torque_commands_and_readings_have_the_same_scale(self, make_arm, tmp_path):
        """A torque constant with an error of 20 % scales command and reading alike: torque does
        not jump at the mode change.
        """
        knobs = {"encoder_step": 1e-5, "torque_scale": 0.8, "offset": 1.0}
        arm = make_arm({**SLOW, "simulation": knobs})
        plan = ramps(arm, joints=("turn",), rate=0.7)
        table = breakaway_table([load_run(drive_plan(arm, plan, tmp_path, 1))])
        np.testing.assert_allclose(table["friction"], 0.8 * 4.5, rtol=0.04)
        np.testing.assert_allclose(table["even"], 1.0, atol=0.1)

    def test_a_joint_that_does_not_move_gives_no_pair(self, make_arm, tmp_path):
        arm = make_arm({"simulation": {"joints": {"turn": {"coulomb": 58.0, "static": 58.0}}}})
        run = load_run(
            drive_plan(
                arm,
                replace(
                    ramps(arm, joints=("lift",)),
                    segments=(
                        Segment(0, "ramp", (0.0, 0.0), 1, "turn", rate=20.0, dwell=0.2),
                        Segment(1, "ramp", (0.0, 0.0), 1, "turn", rate=-20.0, dwell=0.2),
                    ),
                ),
                tmp_path,
                1,
            )
        )
        assert run.closed["reason"] == "done"
        assert np.abs(run.signals["tau"][:, 0]).max() < 0.95 * 60.0
        assert breakaway_table([run]).empty
        assert breakaways(breakaway_table([run]), UNITS) == {}


@pytest.mark.slow
class TestSafety:
    def test_torque_limits_hold_during_a_ramp(self, make_arm, tmp_path):
        """The supervisor's torque limit is below the end of the ramp."""
        arm = make_arm(
            {
                "simulation": {
                    "joints": {"turn": {"coulomb": 50.0, "static": 50.0, "torque_noise": 6.0}}
                }
            }
        )
        plan = replace(
            ramps(arm), segments=(Segment(0, "ramp", (0.0, 0.0), 1, "turn", rate=30.0, dwell=0.2),)
        )
        with pytest.raises(LimitExceeded, match="torque of turn"):
            drive_plan(arm, plan, tmp_path, 1)

    def test_the_joint_hardly_moves_and_returns(self, make_arm, tmp_path):
        arm = make_arm({"simulation": {"breakaway": 0.5, "encoder_step": 1e-5}})
        run = load_run(drive_plan(arm, ramps(arm, joints=("turn",)), tmp_path, 1))
        for number in (1, 2, 4, 5):
            q = run.signals["q"][run.segment == number]
            assert np.abs(q - q[0]).max(axis=0)[0] < 0.05
            assert np.abs(q[-1] - POSTURES[number // 4]).max() < 2e-3
            # the other joint holds
            assert np.abs(q - q[0]).max(axis=0)[1] < 1e-3

    def test_a_driver_without_torque_mode_is_refused_before_files_are_written(
        self, cli, make_arm, monkeypatch
    ):
        class Plain(SimulatedArm):
            modes = frozenset({"velocity"})

        monkeypatch.setitem(DRIVERS, "simulated", lambda arm, seed: Plain(arm, seed=seed))
        arm = make_arm()
        for arguments in (
            ["run", arm.path, "--experiment", "breakaway"],
            ["calibrate", arm.path, "--breakaway"],
        ):
            outcome = cli(*arguments, "-o", "out")
            assert outcome.code == 2
            assert (
                "the driver simulated has no torque mode, only velocity; breakaway cannot be "
                "measured" in outcome.err
            )
            assert not Path("out").exists()


class TestPlan:
    @pytest.mark.slow
    def test_every_joint_has_ramps_in_both_directions_in_every_posture(self, make_arm, tmp_path):
        made = plan_breakaway(make_arm(), seed=2)
        kinds = {
            (segment.joint, segment.posture, np.sign(segment.rate))
            for segment in made.segments
            if segment.kind == "ramp"
        }
        assert len(kinds) == 2 * 4 * 2
        assert {segment.dwell for segment in made.segments if segment.kind == "ramp"} == {1.0, 4.0}
        low, high = load_spread(made, load_mechanism(make_arm()))["lift"]["torque"]
        assert low < 0.7 * high  # the plan covers a range of loads
        write_plan(made, tmp_path / "plan.toml")
        assert read_plan(tmp_path / "plan.toml") == made

    @pytest.mark.parametrize("seed", [0])
    def test_postures_have_room_for_overrun(self, make_arm, seed):
        """If the computer stops sending, drives keep moving for a while, also on the path
        to a posture near a limit.
        """
        arm = make_arm(
            {"driver": {"kind": "bench", "watchdog": 0.3}, "workspace": {"box": [[-1.0, 1.0]] * 3}}
        )
        check_plan(plan_breakaway(arm, seed=seed), arm, load_mechanism(arm))

    def test_breakaway_of_one_joint_needs_collision_checks_too(self, make_arm):
        """Breakaway of each joint is measured in several postures, so several joints move."""
        with pytest.raises(PlanError, match=r"links in the model; state workspace\.box$"):
            plan_breakaway(make_arm({"driver": {"kind": "bench"}}), ("turn",))

    def test_a_joint_without_room_is_named(self, make_arm):
        with pytest.raises(
            PlanError, match=r"joint turn has no position at least 0\.05 rad from both limits"
        ):
            plan_breakaway(make_arm({"joints": {"turn": {"position": [-0.04, 0.04]}}}))

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"rate": 0.0}, "a rate other than 0"),
            ({"rate": None}, "a ramp needs a rate"),
            ({"dwell": None}, "a dwell above 0 s"),
            ({"joint": "elbow"}, "unknown joint 'elbow'"),
            ({"target": (0.5, 0.5)}, "a target equal to its start"),
            ({"kind": "move"}, "is a move: a ramp needs a rate"),
            ({"rate": -31.0}, r"turn grows by 31 N·m/s, limit 30 N·m/s"),
        ],
    )
    def test_an_invalid_ramp_is_refused(self, make_arm, change, words):
        arm = make_arm()
        plan = ramps(arm)
        segments = (*plan.segments[:1], replace(plan.segments[1], **change), *plan.segments[2:])
        with pytest.raises(PlanError, match=words):
            check_plan(replace(plan, segments=segments), arm, load_mechanism(arm))


@pytest.mark.slow
def test_a_run_of_ramps_can_be_replayed(make_arm, tmp_path):
    arm = make_arm({"simulation": {"torque_noise": 0.1}})
    plan = ramps(arm, joints=("turn",))
    run = load_run(
        drive_plan(arm, replace(plan, segments=plan.segments[:3]), tmp_path / "first", 1),
        ALL_SIGNALS,
    )
    again = load_run(replay_run(run, tmp_path / "again"))
    assert (
        breakaway_table([again])["friction"].to_list()
        == breakaway_table([run])["friction"].to_list()
    )


@pytest.mark.slow
def test_a_campaign_reports_breakaway_beside_the_law(cli, make_arm, monkeypatch):
    monkeypatch.setattr(breakaway_ramps, "_RAMP_TIME", 25.0)
    arm = make_arm(
        {
            **SLOW,
            "joints": {"turn": {"gear_ratio": 400.0, "rotor_inertia": 2.5e-6}},
            "simulation": {"breakaway": 0.3, "torque_noise": 0.05, "encoder_step": 1e-5},
        }
    )
    options = ("--joints", "turn", "--law", "stribeck", "--load", "none", "--breakaway", "--json")
    with Few(postures=1, speeds=7).used():
        outcome = cli("calibrate", arm.path, *options, "-o", "out")
    assert outcome.code == 0, outcome.err
    joint = Calibration.load("out").joints["turn"]
    assert joint.breakaway.pairs == 4
    assert joint.breakaway.dwell == (1.0, 4.0)
    assert 4.5 * 1.1 < joint.breakaway.torque.value < 4.5 * 1.35
    # breakaway does not affect the law
    assert joint.parameters["static"].value == pytest.approx(4.5, rel=0.05)
    assert json.loads(outcome.out)["calibration"]["joints"]["turn"]["breakaway"]["pairs"] == 4
    assert "breakaway turn:" in outcome.err
    assert "Breakaway torque starts a joint from rest" in Path("out/report.html").read_text(
        encoding="utf-8"
    )
    assert len(Path("out/breakaway.csv").read_text(encoding="utf-8").splitlines()) == 5
    alone = cli("fit", find_runs(Path("out"), (BREAKAWAY,))[0], "-o", "alone", "--json")
    assert alone.code == 0, alone.err
    assert json.loads(alone.out)["breakaway"]["turn"]["torque"]["value"] == pytest.approx(
        joint.breakaway.torque.value, rel=1e-4
    )
    runs = [load_run(path, ALL_SIGNALS) for path in find_runs(Path("out"), (FIT, BREAKAWAY))]
    # a ramp counted twice would halve its interval, too
    with pytest.raises(InputError, match="Name each run once"):
        choose_runs([*runs, *(run for run in runs if run.purpose == BREAKAWAY)])
