"""A killed campaign resumes from its folder: no segment is driven twice, no file rewritten,
and the result is the same.
"""

import hashlib
import json
import os
import re
import shutil
import signal
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from stribeck.drivers.errors import DriverError
from stribeck.drivers.supervisor import Supervisor
from stribeck.experiments.calibrate import Operator, calibrate
from stribeck.experiments.campaign_options import CampaignOptions, begun_with
from stribeck.experiments.cli.common import agree
from stribeck.experiments.errors import PlanError
from stribeck.experiments.fit_runs import Delivery
from stribeck.experiments.methods import breakaway_ramps
from stribeck.experiments.methods.lowest_speed_search import plan_lowest_speed
from stribeck.experiments.methods.one_joint_at_a_time import plan_constant_speed
from stribeck.experiments.methods.registry import METHODS
from stribeck.experiments.plans.check_plan import check_plan
from stribeck.experiments.plans.constant_speed_options import ConstantSpeed
from stribeck.experiments.plans.motion_profile import with_robot_time
from stribeck.experiments.plans.plan import Plan, Segment, read_plan
from stribeck.experiments.recording import campaign
from stribeck.experiments.recording.campaign import Campaign, rest_of
from stribeck.experiments.recording.run_writer import RunWriter
from stribeck.experiments.report.words import repeat_sentence
from stribeck.ident.arm.arm_file import ArmFile, load_arm
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.errors import InputError
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.log.campaign_folder import campaign_runs
from stribeck.ident.log.run import EVENTS, RECORD, SAMPLES, arm_sha256, load_run
from tests.places import ROOT
from tests.without_figures import without_figures

ARMS = ROOT / "tests" / "arms"
ROWS = 2_400  # about the number of samples of one pass
SMALL = ConstantSpeed(postures=2, speeds=5, spread=60.0, window_time=0.15, longest_stroke=4.0)
PLAIN = Options(law="stribeck", load="none")


def quick(folder: Path) -> ArmFile:
    """The small arm with noise, and with higher gear ratios, so that
    short strokes are sufficient.
    """
    shutil.copy(ARMS / "pair.urdf", folder)
    text = (ARMS / "pair.toml").read_text(encoding="utf-8")
    text = text.replace("gear_ratio = 100.0", "gear_ratio = 400.0").replace(
        "rotor_inertia = 4.0e-5", "rotor_inertia = 2.5e-6"
    )
    text = text.replace("rate = 200.0", "rate = 100.0")
    text = text.replace(
        "seed = 0", "torque_noise = 0.07\nstroke_scatter = 0.01\nencoder_step = 1e-5"
    )
    (folder / "pair.toml").write_text(text, encoding="utf-8")
    return load_arm(folder / "pair.toml")


@pytest.fixture(scope="module", autouse=True)
def no_figures() -> Iterator[None]:
    with without_figures():
        yield


@pytest.fixture
def arm(tmp_path):
    return quick(tmp_path)


@pytest.fixture(scope="module")
def wanted(tmp_path_factory):
    """Result of an uninterrupted campaign."""
    folder = tmp_path_factory.mktemp("at-once")
    return small(quick(folder), folder / "out")


def small(
    arm: ArmFile, out: Path, resume: bool = False, operator: Operator | None = None, **options: Any
) -> Delivery:
    """A campaign of one joint with half a minute of robot time, and a law that is not chosen."""
    options = CampaignOptions(("turn",), seed=5, fit=PLAIN, **options)
    with patch.dict(METHODS, {"whole-arm": (plan_constant_speed, SMALL)}):
        return calibrate(arm, out, options, operator, resume)


def planned(arm: ArmFile, out: Path, **options: Any) -> list[Plan]:
    """Plans that a resumed campaign shows to an operator, who declines."""
    shown: list[Plan] = []

    def decline(plans: list[Plan]) -> None:
        shown.extend(plans)
        raise InputError("no")

    with pytest.raises(InputError, match="no"):
        small(arm, out, resume=True, operator=Operator(decline), **options)
    return shown


def killed(path: str, out: str, where: str) -> None:
    """Code of the other process: a campaign that kills its own process without cleaning up."""

    def kill(*_: object, **__: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def torn(plan: object, path: Path) -> None:
        path.write_text('schema = 1\narm = "pa', encoding="utf-8")
        kill()

    sample, kind, _, count = RunWriter.sample, *where.partition(" ")

    def some(self: RunWriter, *arguments: object) -> None:
        sample(self, *arguments)
        if self.rows == int(count):
            kill()

    place = {
        "plan": (campaign, "write_plan", torn),
        "row": (RunWriter, "sample", some),
    }[kind]
    with patch.object(*place):
        small(load_arm(path), Path(out))


def kill_at(arm: ArmFile, out: Path, where: str) -> None:
    """Run a campaign that is killed, in a copy of this process, which has all modules already."""
    process = get_context("fork").Process(target=killed, args=(str(arm.path), str(out), where))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL


def raw(out: Path) -> dict[str, str]:
    """Digest of all recorded files."""
    return {
        path.relative_to(out).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(out.glob("runs/**/*"))
        if path.is_file()
    }


def whole_trips(out: Path) -> list[int]:
    """Strokes of all runs that were finished together with their mirrored stroke."""
    found = []
    for path in campaign_runs(out):
        run = load_run(path, ())
        finished = {
            event["segment"]
            for event in run.events
            if event["event"] == "finished" and event["row"] <= len(run.t)
        }
        found += [
            back["mirror_of"]
            for back in run.record["plan"]["segments"]
            if {back["id"], back.get("mirror_of")} <= finished
        ]
    return found


def assert_same(found: Delivery, wanted: Delivery) -> None:
    """Assert that estimates agree within the 95 % interval of a difference, and
    have similar half widths.
    """
    for name, parameter in wanted.calibration.joints["turn"].parameters.items():
        other = found.calibration.joints["turn"].parameters[name]
        assert abs(other.value - parameter.value) <= np.hypot(
            other.half_width, parameter.half_width
        ), name
        # both from the scatter of some 12 round trips
        assert other.half_width < 2.0 * parameter.half_width, name
        assert other.verdict == parameter.verdict == "identified"


@pytest.mark.slow
def test_a_killed_campaign_resumes_to_the_same_result(arm, wanted, tmp_path):
    kill_at(arm, tmp_path / "out", f"row {np.random.default_rng(7).integers(1, ROWS)}")
    before = raw(tmp_path / "out")
    # a process killed while it writes the plan again would leave runs without their plan
    with patch.object(campaign, "write_plan", side_effect=AssertionError("written again")):
        found = small(arm, tmp_path / "out", resume=True)
    assert before.items() <= raw(tmp_path / "out").items()
    plan = read_plan(tmp_path / "out" / "plan.toml")
    assert sorted(whole_trips(tmp_path / "out")) == [
        segment.mirror_of for segment in plan.segments if segment.mirror_of is not None
    ]
    assert_same(found, wanted)
    assert (tmp_path / "out" / "report.html").is_file()
    # the two are one pass, no repeats, and the simulated noise differs
    first, rest = (load_run(path, ()) for path in campaign_runs(tmp_path / "out"))
    assert rest.record["continues"] == first.label
    assert rest.record["seed"] != first.record["seed"]
    assert all(
        parameter.repeat_deviation is None
        for parameter in found.calibration.joints["turn"].parameters.values()
    )
    assert not [finding for finding in found.result.findings if finding.kind == "repeats"]


@pytest.mark.slow
def test_a_campaign_killed_while_it_writes_its_plan_plans_again(arm, wanted, tmp_path):
    kill_at(arm, tmp_path / "out", "plan")
    assert planned(arm, tmp_path / "out") == [read_plan(wanted.calibration.folder / "plan.toml")]


@pytest.fixture(scope="module")
def broken_off(tmp_path_factory):
    """A campaign interrupted in the middle, made without a second process."""

    class Off(Exception):
        pass

    sample = RunWriter.sample

    def some(self, *arguments):
        if self.rows == ROWS // 2:
            raise Off
        sample(self, *arguments)

    folder = tmp_path_factory.mktemp("broken-off")
    with patch.object(RunWriter, "sample", some), pytest.raises(Off):
        small(quick(folder), folder / "out")
    return folder / "out"


@pytest.fixture
def broken(broken_off, tmp_path):
    """Copy of the interrupted campaign for one test."""
    return shutil.copytree(broken_off, tmp_path / "out")


@pytest.fixture
def done(wanted, tmp_path):
    """Copy of an uninterrupted campaign."""
    return shutil.copytree(wanted.calibration.folder, tmp_path / "out")


class TestRest:
    @pytest.mark.slow
    def test_plans_are_shown_before_motion_and_nothing_moves_without_consent(self, arm, broken):
        before = raw(broken)
        rest, whole = planned(arm, broken, repeats=2)
        assert raw(broken) == before
        assert len(rest.segments) < len(whole.segments)
        assert 0.0 < rest.robot_time < whole.robot_time

    @pytest.mark.slow
    def test_a_finished_campaign_only_fits(self, arm, wanted, done):
        shown, before = [], raw(done)
        again = small(arm, done, resume=True, operator=Operator(shown.extend))
        assert shown == []
        assert raw(done) == before
        assert (
            again.calibration.joints["turn"].parameters
            == wanted.calibration.joints["turn"].parameters
        )

    @pytest.mark.slow
    def test_a_finished_event_without_its_samples_does_not_count(self, arm, broken):
        """Events may reach the disk before their batch of samples."""
        plan, mechanism = read_plan(broken / "plan.toml"), load_mechanism(arm)
        run = load_run(campaign_runs(broken)[0], ())
        backs = {segment.id for segment in plan.segments if segment.mirror_of is not None}
        row = max(
            event["row"]
            for event in run.events
            if event["event"] == "finished" and event["segment"] in backs
        )
        whole, torn, empty = (
            measuring(rest_of(plan, [replace(run, t=run.t[:rows])], arm, mechanism))
            for rows in (row, row - 1, 0)
        )
        assert len(torn - whole) == 2
        assert whole < torn < empty == measuring(plan)

    def test_the_moves_of_the_plan_are_used_if_the_straight_path_is_not_clear(
        self, make_arm, make_plan
    ):
        arm = make_arm()
        plan = make_plan(arm, speeds=(0.4, 0.2))
        detour = Segment(9, "move", (0.1, -0.4), 0)
        plan = replace(plan, segments=(detour, *plan.segments))
        mechanism = load_mechanism(arm)
        rest = rest_of(plan, [finished(plan, {9, 0, 1, 2})], arm, mechanism)
        assert [(segment.kind, segment.target) for segment in rest.segments][:2] == [
            ("move", (0.2, 0.3)),
            ("stroke", (0.5, 0.3)),
        ]
        with patch(
            "stribeck.experiments.recording.campaign.ways_are_clear", lambda *_: np.array([False])
        ):
            around = rest_of(plan, [finished(plan, {9, 0, 1, 2})], arm, mechanism)
        assert [segment.id for segment in around.segments] == [9, 0, 3, 4]
        for made in (rest, around):
            check_plan(made, arm, mechanism)
            assert len({segment.id for segment in made.segments}) == len(made.segments)

    def test_half_a_round_trip_is_driven_again_completely(self, make_arm, make_plan):
        arm = make_arm()
        plan = make_plan(arm, speeds=(0.4, 0.2))
        rest = rest_of(plan, [finished(plan, {0, 1, 2, 3})], arm, load_mechanism(arm))
        assert [segment.id for segment in rest.segments if segment.kind != "move"] == [3, 4]
        halves = [finished(plan, {0, 1, 2, 3}), finished(plan, {4})]
        assert rest_of(plan, halves, arm, load_mechanism(arm)) == rest
        assert rest_of(plan, [*halves, finished(plan, {3, 4})], arm, load_mechanism(arm)) is None


@pytest.mark.slow
def test_a_campaign_resumes_with_its_stored_options_on_hardware_only_with_consent(
    arm, broken, cli, monkeypatch
):
    """Options missing on the command line come from the campaign; given options must agree."""
    monkeypatch.setitem(METHODS, "whole-arm", (plan_constant_speed, SMALL))
    command = ["calibrate", arm.path, "--joints", "turn", "--seed", "5", "-o", broken, "--resume"]
    with monkeypatch.context() as real:
        real.setattr(
            "stribeck.experiments.cli.commands.calibrate_command.agree",
            lambda plans, arm, mechanism, yes, text: agree(
                plans,
                replace(arm, driver=arm.driver.model_copy(update={"kind": "bench"})),
                mechanism,
                yes,
                text,
            ),
        )
        before = raw(broken)
        refused = cli(*command)
        assert (refused.code, raw(broken)) == (2, before)
        assert "only with --yes" in refused.err
    wrong = cli("calibrate", arm.path, "--seed", "6", "-o", broken, "--resume")
    assert (wrong.code, "seed 5 instead of 6; leave the options out to resume" in wrong.err) == (
        2,
        True,
    )
    outcome = cli("calibrate", arm.path, "-o", broken, "--resume", "--law", "auto")
    assert outcome.code == 0, outcome.err
    kept = Calibration.load(broken / "calibration.toml")
    assert (list(kept.joints), kept.fit["law"], kept.joints["turn"].law) == (
        ["turn"],
        "auto",
        "stribeck",
    )
    outcome = cli("calibrate", arm.path, "-o", broken, "--resume", "--drift", "none")
    assert outcome.code == 0, outcome.err
    assert "all round trips are recorded already; nothing moves" in outcome.out
    kept = Calibration.load(broken / "calibration.toml")
    # stored options, except those given now
    assert (kept.fit["law"], kept.fit["drift"]) == ("stribeck", "none")


@pytest.mark.slow
def test_a_campaign_without_stored_options_is_not_resumed(arm, broken, cli):
    """The campaign was killed before its first record, or made by an older version."""
    record = next(broken.glob(f"runs/*/{RECORD}"))
    told = json.loads(record.read_text(encoding="utf-8"))
    del told["options"]
    record.write_text(json.dumps(told), encoding="utf-8")
    before = raw(broken)
    outcome = cli("calibrate", arm.path, "-o", broken, "--resume")
    assert (
        outcome.code,
        "does not hold the options of its campaign" in outcome.err,
        raw(broken),
    ) == (2, True, before)


@pytest.mark.slow
def test_a_run_without_samples_does_not_prevent_resuming(arm, tmp_path):
    """A drive did not answer, for example. Earlier runs can be fitted, and the campaign
    resumes with its own options.
    """
    out = tmp_path / "out"
    with (
        patch.object(
            Supervisor, "enable", side_effect=DriverError("the drive of turn does not answer")
        ),
        pytest.raises(DriverError),
    ):
        small(arm, out)
    assert campaign_runs(out) == []
    assert begun_with(out)["joints"] == ("turn",)
    assert planned(arm, out) == [read_plan(out / "plan.toml")]
    assert len(list(out.glob("runs/*"))) == 1


@pytest.mark.slow
def test_a_run_that_ended_with_its_first_sample_is_left_out(arm, tmp_path):
    """The path to the start was not clear after power-up, for example."""
    out = tmp_path / "out"
    refused = patch(
        "stribeck.experiments.recording.drive_plan.check_way",
        side_effect=PlanError("the way is not free"),
    )
    with refused, pytest.raises(PlanError):
        small(arm, out)
    assert [len(load_run(run).t) for run in campaign_runs(out)] == [1]
    delivery = small(arm, out, resume=True)
    assert delivery.calibration.pass_count == 1
    assert any(
        "ended after its first sample" in finding.text for finding in delivery.result.findings
    )


@pytest.mark.slow
def test_a_run_and_its_continuation_count_once(arm, broken):
    before = raw(broken)
    found = small(arm, broken, repeats=2, resume=True)
    assert found.calibration.pass_count == 2
    assert before.items() <= raw(broken).items()
    first, rest, second = (load_run(path, ()) for path in campaign_runs(broken))
    assert [run.record["seed"] for run in (first, rest, second)] == [5, 6, 7]
    assert first.record["plan"] == second.record["plan"] != rest.record["plan"]
    for parameter in found.calibration.joints["turn"].parameters.values():
        assert parameter.repeat_deviation is not None
    calibration = Calibration.load(broken / "calibration.toml")
    assert len(calibration.runs) == 3
    assert "Estimates of 2 single runs" in repeat_sentence(calibration)


@pytest.mark.slow
def test_options_of_a_damaged_record_are_refused(arm, broken, cli):
    record = next(broken.glob(f"runs/*/{RECORD}"))
    told = json.loads(record.read_text(encoding="utf-8"))
    record.write_text(
        json.dumps(told | {"options": told["options"] | {"seed": "many"}}), encoding="utf-8"
    )
    outcome = cli("calibrate", arm.path, "-o", broken, "--resume")
    assert (outcome.code, "run.json: seed = 'many': " in outcome.err) == (2, True)


@pytest.mark.slow
def test_ramps_resume_with_the_interrupted_pair(make_arm, tmp_path):
    arm = make_arm()
    stay = (0.0, 0.0)
    segments = [Segment(0, "move", stay, 1)] + [
        Segment(1 + 2 * k + down, "ramp", stay, 1, joint, rate=-15.0 if down else 15.0, dwell=0.2)
        for k, joint in enumerate(("turn", "lift"))
        for down in (0, 1)
    ]
    plan = with_robot_time(
        Plan(
            arm.name,
            arm_sha256(arm),
            "a test",
            0,
            ("turn", "lift"),
            stay,
            tuple(segments),
            purpose="breakaway",
        ),
        arm.limits(load_mechanism(arm)),
    )
    finish = RunWriter.finish

    def off(self, segment):
        if segment.id == 4:
            raise KeyboardInterrupt
        finish(self, segment)

    begun = Campaign(arm, tmp_path / "out", 0)
    assert begun.left_of_ramps(plan).plan == plan
    with patch.object(RunWriter, "finish", off), pytest.raises(KeyboardInterrupt):
        begun.drive(plan)
    left = Campaign(arm, tmp_path / "out", 0).left_of_ramps(plan)
    assert [segment.id for segment in left.plan.segments if segment.kind == "ramp"] == [3, 4]
    again = Campaign(arm, tmp_path / "out", 0)
    again.drive(left.plan, left.continues)
    assert again.left_of_ramps(plan) is None


@pytest.mark.slow
def test_a_run_counts_for_its_own_joints_only(make_arm, make_plan, tmp_path):
    arm = make_arm()
    plan = replace(make_plan(arm, speeds=(0.8,)), purpose="lowest-speed")
    begun = Campaign(arm, tmp_path / "out", 0)
    begun.drive(plan)
    assert begun.recorded(plan) is not None
    assert begun.recorded(replace(make_plan(arm, 1, speeds=(0.8,)), purpose="lowest-speed")) is None
    assert not begun.measuring


class TestRefused:
    """Refusals: one sentence, and no file changes."""

    @pytest.mark.slow
    def test_a_search_added_after_the_first_plan(self, arm, broken):
        before = raw(broken)
        with pytest.raises(
            InputError, match="the campaign began without the search for the lowest speed"
        ):
            small(arm, broken, resume=True, search=True)
        assert raw(broken) == before

    @pytest.mark.slow
    def test_a_used_folder_without_resume(self, arm, broken):
        with pytest.raises(InputError, match=r"out exists and is not empty; .* --resume"):
            small(arm, broken)

    @pytest.mark.slow
    def test_another_arm_file(self, arm, broken):
        text = arm.path.read_text(encoding="utf-8")
        arm.path.write_text(text.replace("velocity = 2.0", "velocity = 1.9"), encoding="utf-8")
        with pytest.raises(
            InputError, match="arm file or model of pair changed since the campaign began"
        ):
            small(load_arm(arm.path), broken, resume=True)

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"seed": 6}, "seed 5 instead of 6"),
            ({"joints": ("lift",)}, "other joints"),
            ({"method": "whole-arm"}, "method .* instead of"),
        ],
    )
    @pytest.mark.slow
    def test_another_plan(self, arm, broken, change, words):
        options = {"seed": 5, "joints": ("turn",), "method": "single"} | change
        with (
            patch.dict(METHODS, {"single": (plan_constant_speed, SMALL)}),
            pytest.raises(InputError, match=words),
        ):
            calibrate(arm, broken, CampaignOptions(**options), resume=True)

    def test_a_folder_with_other_files(self, arm, tmp_path):
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "thesis.txt").write_text("precious", encoding="utf-8")
        with pytest.raises(InputError, match=r"thesis\.txt, but no campaign to resume"):
            small(arm, tmp_path / "out", resume=True)

    @pytest.mark.slow
    def test_runs_without_their_plan(self, arm, broken):
        (broken / "plan.toml").unlink()
        with pytest.raises(InputError, match=r"plan\.toml: no such file"):
            small(arm, broken, resume=True)

    @pytest.mark.slow
    def test_a_damaged_closed_run_is_refused(self, arm, done):
        (run,) = campaign_runs(done)
        (run / SAMPLES).write_bytes(b"")
        with pytest.raises(InputError, match=r"samples\.arrows"):
            small(arm, done, resume=True)


@pytest.mark.slow
def test_runs_killed_before_their_first_sample_are_ignored(arm, broken):
    run = campaign_runs(broken)[0]
    empty = run.with_name(f"{run.name}-2")
    empty.mkdir()
    (empty / RECORD).write_text((run / RECORD).read_text(encoding="utf-8"), encoding="utf-8")
    (empty / SAMPLES).touch()
    (empty / EVENTS).write_text(
        json.dumps({"event": "started", "row": 0, "segment": -1}) + "\n", encoding="utf-8"
    )
    assert campaign_runs(broken) == [run]


def measuring(plan):
    return {segment.id for segment in plan.segments if segment.kind != "move"}


def finished(plan, ids):
    """A run with given events."""
    from stribeck.ident.log.run import Run

    events = tuple({"event": "finished", "row": 1, "segment": id_} for id_ in sorted(ids))
    return Run(Path("runs/x"), {}, None, events, plan.names, np.zeros(1), np.zeros(1), {})


@pytest.mark.slow
def test_the_budget_covers_all_motion_and_plans_depend_on_the_folder_only(
    arm, tmp_path, monkeypatch
):
    """A campaign interrupted in a later pass, after a warm-up, resumes
    with the plan of that pass.
    """
    monkeypatch.setattr(breakaway_ramps, "DWELLS", (0.5,))
    monkeypatch.setattr(breakaway_ramps, "_RAMP_TIME", 8.0)
    out, budget, drive = tmp_path / "out", 110.0, Campaign.drive
    options = CampaignOptions(
        ("turn",), seed=5, fit=PLAIN, warm_up=10.0, breakaway=True, budget=budget
    )

    def off(self, plan, continues=None, enough=None):
        if plan.purpose == "fit" and self.measuring:
            finish, done = RunWriter.finish, []

            def some(recorder, segment):
                finish(recorder, segment)
                done.append(segment)
                if len(done) == 6:
                    raise KeyboardInterrupt

            with patch.object(RunWriter, "finish", some):
                return drive(self, plan, continues, enough)
        return drive(self, plan, continues, enough)

    with patch.object(Campaign, "drive", off), pytest.raises(KeyboardInterrupt):
        calibrate(arm, out, options)
    plans = {path.name: path.read_bytes() for path in out.glob("plan*.toml")}
    assert sorted(plans) == ["plan-2.toml", "plan.toml"]
    delivery = calibrate(arm, out, options, resume=True)
    assert (
        plans.items() <= {path.name: path.read_bytes() for path in out.glob("plan*.toml")}.items()
    )
    assert {load_run(path, ()).purpose for path in campaign_runs(out)} == {
        "fit",
        "warm-up",
        "breakaway",
    }
    assert delivery.robot_time == pytest.approx(
        sum(load_run(path, ()).duration for path in campaign_runs(out))
    )
    # the warm-up before the interrupted run, and paths to the start
    again = 10.0 + 10.0
    assert 0.5 * budget < delivery.robot_time <= budget + again


@pytest.mark.slow
def test_a_budget_too_short_for_any_plan_is_reported_before_the_search(arm, tmp_path):
    class Declined(Exception):
        pass

    def decline(ahead: list[Plan]) -> None:
        raise Declined

    def begin(budget: float) -> list[str]:
        told: list[str] = []
        operator = Operator(
            decline, say=lambda heading, sentence: told.append(f"{heading}: {sentence}")
        )
        with pytest.raises(Declined):
            calibrate(
                arm,
                tmp_path / f"{budget:.0f}",
                CampaignOptions(("turn",), search=True, budget=budget),
                operator,
            )
        return told

    search = plan_lowest_speed(arm, ("turn",), 0).robot_time
    (told,) = begin(search + 5.0)
    assert re.match(
        r"budget: the shortest plan takes \d+ s, but only 5 s remain after the search", told
    )
    assert begin(search + 3600.0) == []


def test_a_budget_used_up_by_other_motions(arm, tmp_path):
    with pytest.raises(
        PlanError,
        match=r"100 s of robot time are too short: warm-up \d+ s and breakaway \d+ s take the "
        r"whole",
    ):
        calibrate(
            arm,
            tmp_path / "out",
            CampaignOptions(("turn",), warm_up=60.0, breakaway=True, budget=100.0),
        )
