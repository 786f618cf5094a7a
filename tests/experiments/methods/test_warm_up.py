"""Warm-up: it ends soon after friction has settled, not before; the following
run starts with a warm arm.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from stribeck.drivers.arm import JointSample
from stribeck.drivers.connect import connect
from stribeck.experiments.calibrate import Operator, calibrate
from stribeck.experiments.campaign_options import CampaignOptions
from stribeck.experiments.methods import warm_up
from stribeck.experiments.methods.registry import DEFAULT, plan_method
from stribeck.experiments.methods.warm_up import CHANGE, OVER, Settling, ended, plan_warm_up
from stribeck.experiments.plans.plan import Segment
from stribeck.experiments.recording.drive_plan import drive_plan
from stribeck.experiments.recording.replay_run import replay_run
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.log.campaign_folder import find_runs
from stribeck.ident.log.health.points_health import friction_change
from stribeck.ident.log.reduction.round_trips import reduce_run
from stribeck.ident.log.run import SIGNALS, load_run
from tests.recorded import Few

pytestmark = pytest.mark.slow

WARM = {"warm_up": 0.4, "warm_up_time": 8.0}
LAW = Options(law="stribeck", load="none")  # of the truth


def trips(*frictions, noise=0.0, every=4.0, seed=0):
    """Result of `Settling` after each round trip of joints, whose frictions are functions of
    time.
    """
    rng, settling, said = np.random.default_rng(seed), Settling(), []
    for k in range(300):
        for sign, mirror in ((1.0, None), (-1.0, 2 * k)):
            t = every * (k + 0.5 * (mirror is not None)) + np.linspace(0.0, every / 2.0, 25)
            shape = (25, len(frictions))
            level = np.column_stack([friction(t) for friction in frictions])
            tau = 7.0 + sign * level + noise * rng.standard_normal(shape)
            q, dq, rest = (
                np.outer(sign * t, np.ones(len(frictions))),
                np.full(shape, sign),
                np.zeros(shape),
            )
            samples = [
                JointSample(now, *row, None, rest[0])
                for now, *row in zip(t, q, dq, tau, rest, strict=True)
            ]
            said.append(
                (t[-1], settling(Segment(2 * k, "stroke", (1.0,), 0, "j", 1.0, mirror), samples))
            )
    return next(((t, reason) for t, reason in said if reason), (np.inf, ""))


class TestSettling:
    def test_constant_friction_settles_after_the_time_of_the_test(self):
        t, reason = trips(lambda t: np.full(len(t), 5.0), noise=0.05)
        assert OVER <= t < OVER + 10.0
        assert "friction changes by no more than" in reason

    @pytest.mark.parametrize("time", [100.0, 250.0])
    def test_warming_ends_when_the_change_is_small(self, time):
        """The change of 5 (1 + 0.3 exp(-t / time)) over two minutes is known in closed form."""
        t, _ = trips(lambda t: 5.0 * (1.0 + 0.3 * np.exp(-t / time)), noise=0.02)
        change = 0.3 * (np.exp(-(t - OVER) / time) - np.exp(-t / time))
        assert 0.6 * CHANGE < change < 1.15 * CHANGE

    def test_every_joint_must_have_settled(self):
        def warming(t):
            return 5.0 * (1.0 + 0.3 * np.exp(-t / 100.0))

        def constant(t):
            return np.full(len(t), 5.0)

        alone, _ = trips(warming, noise=0.02)
        for joints in ((warming, constant), (constant, warming)):
            assert trips(*joints, noise=0.02)[0] == pytest.approx(alone, rel=0.1)

    def test_friction_that_keeps_changing_never_settles(self):
        assert trips(lambda t: 5.0 * (1.0 - 2e-4 * t))[0] == np.inf

    def test_noise_that_hides_a_change_prevents_settling(self):
        assert (
            trips(lambda t: np.full(len(t), 5.0), noise=3.0)[0]
            > trips(lambda t: np.full(len(t), 5.0), noise=0.05)[0]
        )

    def test_a_joint_at_rest_is_ignored(self):
        settling, said = Settling(), ""
        for k in range(60):
            for mirror in (None, 0):
                t = 4.0 * k + np.linspace(0.0, 2.0, 20) + (0.0 if mirror is None else 2.0)
                way = np.linspace(0.0, 1.0, 20) if mirror is None else np.linspace(1.0, 0.0, 20)
                samples = [
                    JointSample(
                        now,
                        np.array([x, 0.3]),
                        np.array([np.sign(way[-1] - way[0]), 0.0]),
                        np.array([2.0 * np.sign(way[-1] - way[0]), now]),
                        np.zeros(2),
                        None,
                        np.zeros(2),
                    )
                    for now, x in zip(t, way, strict=True)
                ]
                said = said or settling(
                    Segment(0, "stroke", (1.0, 0.3), 0, "j", 0.5, mirror), samples
                )
        assert said


class TestPlan:
    def test_the_plan_lasts_to_the_limit_and_repeats_round_trips(self, make_arm):
        made = plan_warm_up(make_arm(), limit=60.0)
        assert 50.0 < made.robot_time < 62.0
        for there, back in zip(made.segments[1::2], made.segments[2::2], strict=True):
            assert back.mirror_of == there.id
            assert back.target == made.start
        assert [segment.id for segment in made.segments] == list(range(len(made.segments)))


@pytest.fixture
def brief():
    """Campaigns of one posture."""
    with Few(postures=1, speeds=6).used():
        yield


@pytest.mark.usefixtures("brief")
def test_a_warmed_arm_drifts_less_and_its_warm_up_is_not_fitted(make_arm, tmp_path, monkeypatch):
    monkeypatch.setattr(warm_up, "OVER", 25.0)
    arm, said = make_arm({"simulation": WARM, "driver": {"rate": 100.0}}), []
    cold = load_run(drive_plan(arm, plan_method(DEFAULT, arm, ("turn",), 1), tmp_path / "cold", 1))
    warm = calibrate(
        arm,
        tmp_path / "warm",
        CampaignOptions(("turn",), seed=1, fit=LAW, warm_up=600.0),
        Operator(say=lambda *words: said.append(words)),
    )
    first, second = (load_run(folder) for folder in find_runs(tmp_path / "warm"))
    assert (first.purpose, second.purpose) == ("warm-up", "fit")
    assert second.t[0] > first.t[-1]  # the same warm arm
    assert 30.0 < first.t[-1] < 90.0
    assert [run["path"] for run in warm.calibration.runs] == [second.label]
    before, after = (
        friction_change(points)
        for points in (reduce_run(cold, load_mechanism(arm)).points, warm.result.points)
    )
    assert max(abs(change) for change in after.values()) < 0.25 * max(
        abs(change) for change in before.values()
    )
    true = connect(arm).truth.joints[0].coulomb
    assert warm.calibration.joints["turn"].parameters["coulomb"].value == pytest.approx(
        true, rel=0.02
    )
    assert said[0][0] == "warm-up"
    assert "friction changes by no more than" in said[0][1]
    assert ended(first) in (tmp_path / "warm" / "report.html").read_text(encoding="utf-8")


def test_a_replay_ends_at_the_same_sample(make_arm, tmp_path):
    arm = make_arm()
    plan = plan_warm_up(arm, limit=20.0)
    fourth = plan.segments[3]
    enough = lambda segment, _: "friction has settled" if segment == fourth else ""  # noqa: E731
    run = load_run(drive_plan(arm, plan, tmp_path / "first", 1, enough=enough), SIGNALS)
    assert run.t[-1] < 0.5 * plan.robot_time
    again = load_run(replay_run(run, tmp_path / "again"))
    np.testing.assert_array_equal(again.t, run.t)
    assert ended(again) == ended(run)
    assert "friction has settled" in ended(run)


def test_reaching_the_time_limit_is_reported(make_arm, tmp_path):
    arm = make_arm({"simulation": WARM})
    run = load_run(drive_plan(arm, plan_warm_up(arm, limit=20.0), tmp_path, 1, enough=Settling()))
    assert run.closed["reason"] == "done"
    assert "too short to tell whether friction had settled" in ended(run)


@pytest.mark.usefixtures("brief", "no_figures")
def test_the_command_line_warms_up_first(cli, make_arm):
    arm = make_arm({"driver": {"rate": 100.0}}).path
    outcome = cli(
        "calibrate",
        arm,
        "--joints",
        "lift",
        "--warm-up",
        "0.2",
        "-o",
        "out",
        "--json",
        "--law",
        "coulomb-viscous",
    )
    assert outcome.code == 0, outcome.err
    assert (
        "warm-up   0.2 min; too short to tell whether friction had settled; the test needs more "
        "than 2 min; drives" in outcome.err
    )
    assert [folder.name.split("_")[1] for folder in find_runs(Path("out"))] == [
        "warm-up",
        "constant-speed",
    ]
    assert len(json.loads(outcome.out)["calibration"]["runs"]) == 1
