"""Recording and replay. However a run ends early, the arm stops and the samples are kept."""

import json
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from multiprocessing import get_context

import numpy as np
import pytest

from stribeck.drivers.connect import DRIVERS
from stribeck.drivers.errors import DriverError, LimitExceeded, ReplayMismatch
from stribeck.drivers.simulation.simulated_arm import SimulatedArm
from stribeck.drivers.wire.wired_arm import WiredArm
from stribeck.experiments.errors import PlanError, RecordingFailed
from stribeck.experiments.plans.plan import plan_from_table
from stribeck.experiments.recording.drive_plan import checked_way, drive_plan
from stribeck.experiments.recording.replay_run import replay_run
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import FitError, InputError
from stribeck.ident.identify import identify
from stribeck.ident.log.campaign_folder import find_runs
from stribeck.ident.log.health.log_health import check_log
from stribeck.ident.log.run import EVENTS, RECORD, SAMPLES, SIGNALS, load_run
from tests.drivers.ideal_drives import Loopback

resource = pytest.importorskip("resource")
NOISY = {"simulation": {"torque_noise": 0.1, "encoder_step": 1e-5}}
COMMAND = [sys.executable, "-m", "stribeck"]


@pytest.fixture
def arm(make_arm):
    return make_arm(NOISY)


@pytest.fixture
def stops(monkeypatch):
    """Reasons for the stops of the simulated arm, in order; the last reason is disconnecting."""
    reasons = []

    class Watched(SimulatedArm):
        def stop(self, reason):
            reasons.append(reason)
            super().stop(reason)

    monkeypatch.setitem(DRIVERS, "simulated", lambda arm, seed: Watched(arm, seed))
    return reasons


class TestRecord:
    def test_an_impossible_position_is_refused_before_the_path_is_checked(
        self, make_arm, make_plan, tmp_path
    ):
        """A damaged reply may contain such a position; the path from it would need
        too much memory to check.
        """
        arm = make_arm({"driver": {"kind": "bench"}, "workspace": {"box": [[-1.0, 1.0]] * 3}})
        device = WiredArm(arm, Loopback)
        device.axes[0].q = 1e30
        with pytest.raises(
            DriverError,
            match=r"turn stands at 1e\+30 rad, outside its limits .*; nothing was powered",
        ):
            drive_plan(arm, make_plan(arm), tmp_path, device=device)
        assert [axis.power for axis in device.axes] == ["off", "off"]

    @pytest.mark.slow
    def test_a_run_contains_the_plan_and_the_motion(self, arm, make_plan, tmp_path):
        plan = make_plan(arm, speeds=(0.8, 0.4))
        folder = drive_plan(arm, plan, tmp_path / "campaign", seed=3, note="a test")
        assert find_runs(tmp_path / "campaign") == [folder]
        run = load_run(folder, SIGNALS)
        assert run.closed["reason"] == "done"
        assert run.closed["rows"] == len(run.t)
        assert (run.record["seed"], run.record["note"], run.record["experiment"]) == (
            3,
            "a test",
            plan.method,
        )
        assert plan_from_table(run.record["plan"], folder) == plan
        assert run.record["driver"]["position_step"] == [1e-5, 1e-5]
        np.testing.assert_allclose(np.diff(run.t), 1.0 / 200.0, rtol=1e-6)
        assert run.t[-1] == pytest.approx(plan.robot_time, abs=0.5)
        assert set(run.segment) == {-1, *range(len(plan.segments))}
        for part in plan.segments:
            np.testing.assert_allclose(
                run.signals["q"][run.segment == part.id][-1], part.target, atol=2e-3
            )
        assert [event["segment"] for event in run.events if event["event"] == "finished"] == [
            -1,
            *range(len(plan.segments)),
        ]

    @pytest.mark.slow
    def test_the_same_seed_records_the_same_samples(self, arm, make_plan, tmp_path):
        plan = make_plan(arm)
        one, two, other = (
            load_run(drive_plan(arm, plan, tmp_path / f"{k}", seed=seed))
            for k, seed in enumerate((5, 5, 6))
        )
        np.testing.assert_array_equal(one.signals["tau"], two.signals["tau"])
        assert (one.signals["tau"] != other.signals["tau"]).any()

    @pytest.mark.slow
    def test_runs_of_a_campaign_have_separate_folders(self, arm, make_plan, tmp_path):
        folders = [drive_plan(arm, make_plan(arm), tmp_path, seed=seed) for seed in (1, 2)]
        assert find_runs(tmp_path) == folders

    def test_a_plan_beyond_the_limits_is_refused_before_a_folder_is_made(
        self, arm, make_plan, stops, tmp_path
    ):
        with pytest.raises(PlanError):
            drive_plan(arm, make_plan(arm, way=5.0), tmp_path / "campaign")
        assert not (tmp_path / "campaign").exists()
        assert stops == []

    @pytest.mark.parametrize(
        "changes",
        [
            {"simulation": {"torqe_noise": 0.1}},
            {"joints": {"turn": {"torque": None}}},
            {"driver": {"kind": "simulatd"}},
            {"joints": {"turn": {"position": [-3.0, 3.0]}}},
        ],
    )
    def test_an_impossible_arm_is_refused_before_a_folder_is_made(
        self, make_arm, make_plan, tmp_path, changes
    ):
        arm = make_arm(changes)
        with pytest.raises(InputError):
            drive_plan(arm, make_plan(arm), tmp_path / "campaign")
        assert not (tmp_path / "campaign").exists()


def test_an_arm_that_moved_at_power_up_is_not_driven(make_arm, make_plan):
    """The path is checked before power-up, because drives on a bus would receive
    nothing during the check.
    """
    arm = make_arm()
    plan, mechanism = make_plan(arm), load_mechanism(arm)
    device = object.__new__(WiredArm)
    device.stands = lambda: np.array([0.1, 0.2])
    check = checked_way(device, plan, arm, mechanism)
    check(np.array([0.1, 0.21]))
    with pytest.raises(
        DriverError,
        match=r"lift stood at 0\.2 rad when the path to the start was checked, "
        r"and at 0\.25 after power-up",
    ):
        check(np.array([0.1, 0.25]))


@pytest.mark.slow
class TestEndedEarly:
    def test_an_exceeded_limit_stops_the_arm_closes_the_run_and_keeps_the_data(
        self, make_arm, make_plan, stops, tmp_path
    ):
        """The drive warms up by half a degree per second and reaches its limit
        in the middle of the plan.
        """
        arm = make_arm(
            {"joints": {"lift": {"temperature": 28.0}}, "simulation": {"warm_up_time": 25.0}}
        )
        plan = make_plan(arm, speeds=(0.4,) * 6)
        with pytest.raises(LimitExceeded, match="temperature of lift") as caught:
            drive_plan(arm, plan, tmp_path)
        assert stops[0] == caught.value.fault
        run = load_run(find_runs(tmp_path)[0], SIGNALS)
        assert run.closed["reason"] == str(caught.value)
        assert 0.3 * plan.robot_time < run.t[-1] < 0.9 * plan.robot_time
        assert run.signals["temperature"].max() <= 28.0
        assert run.t[-1] == pytest.approx(caught.value.t, abs=0.011)
        assert any(
            "ended early" in finding.text and "temperature" in finding.text
            for finding in check_log(run)
        )
        assert_fits_or_says_why(run)

    def test_ctrl_c_stops_the_arm_closes_the_run_and_keeps_the_data(
        self, arm, make_plan, stops, tmp_path
    ):
        def watch(segment, sample, done):
            if sample.t > 1.5:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            drive_plan(arm, make_plan(arm), tmp_path, watch=watch)
        assert stops
        run = load_run(find_runs(tmp_path)[0])
        assert run.closed["reason"] == "stopped by the operator"
        assert run.t[-1] == pytest.approx(1.5, abs=0.2)
        assert run.closed["rows"] == len(run.t)

    def test_data_are_saved_even_if_stopping_fails(self, arm, make_plan, monkeypatch, tmp_path):
        class Stuck(SimulatedArm):
            def stop(self, reason):
                raise OSError("the bus is gone")

        def watch(segment, sample, done):
            if sample.t > 1.0:
                raise KeyboardInterrupt

        monkeypatch.setitem(DRIVERS, "simulated", lambda arm, seed: Stuck(arm, seed))
        with pytest.raises(OSError, match="the bus is gone"):
            drive_plan(arm, make_plan(arm), tmp_path, watch=watch)
        run = load_run(find_runs(tmp_path)[0])
        assert run.t[-1] > 0.9
        assert "the bus is gone" in run.closed["reason"]

    def test_a_full_disk_stops_the_arm_and_keeps_earlier_rows(
        self, arm, make_plan, stops, tmp_path
    ):
        plan = make_plan(arm, speeds=(0.1,) * 4)
        with (
            files_of_at_most(150_000),
            pytest.raises(RecordingFailed, match=r"samples\.arrows: File too large"),
        ):
            drive_plan(arm, plan, tmp_path)
        assert stops
        run = load_run(find_runs(tmp_path)[0], SIGNALS)
        assert len(run.t) >= 400
        np.testing.assert_allclose(np.diff(run.t), 1.0 / 200.0, rtol=1e-6)
        assert "File too large" in run.closed["reason"]

    def test_a_disk_that_is_full_to_the_last_byte(self, arm, cli, tmp_path):
        """The same on a real full file system, where even the last event may not fit."""
        disk = tmp_path / "disk"
        disk.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(disk)]
        mounted = subprocess.run(mount, capture_output=True, check=False)
        if mounted.returncode:
            pytest.skip(
                "mounting a file system is not allowed here; the limit on the size of files "
                "stands in for it"
            )
        try:
            done = cli("run", arm.path, "-o", disk / "out")
            run = load_run(find_runs(disk / "out")[0])
        finally:
            subprocess.run(["umount", str(disk)], check=True)
        assert done.code == 3
        assert "No space left on device" in done.err
        assert len(run.t) >= 400
        np.testing.assert_allclose(np.diff(run.t), 1.0 / 200.0, rtol=1e-6)

    @pytest.mark.parametrize("how", [signal.SIGTERM])
    def test_a_signal_ends_the_command_with_code_three_and_a_closed_run(self, arm, tmp_path, how):
        """Signals as sent from a terminal or by a service manager."""
        out = tmp_path / "out"
        with running(arm, out) as command:
            wait_for(
                lambda: sum(path.stat().st_size for path in out.glob(f"runs/*/{SAMPLES}")) > 50_000,
                command,
            )
            while command.poll() is None:  # the operator presses Ctrl-C repeatedly
                command.send_signal(how)
                time.sleep(0.01)
            _, err = command.communicate(timeout=30)
        assert command.returncode == 3
        assert "Traceback" not in err
        run = load_run(find_runs(out)[0], SIGNALS)
        assert "stopped by the operator" in err
        assert str(run.path) in err  # where the data are
        assert run.closed["reason"] == "stopped by the operator"
        assert run.closed["rows"] == len(run.t) >= 200
        assert_fits_or_says_why(run)

    def test_kill_9_leaves_a_readable_run_that_is_not_closed(self, arm, make_plan, tmp_path):
        out = tmp_path / "out"
        plan = make_plan(arm, speeds=(0.1,) * 20)
        process = get_context("fork").Process(target=drive_plan, args=(arm, plan, out))
        process.start()
        while sum(path.stat().st_size for path in out.glob(f"runs/*/{SAMPLES}")) <= 50_000:
            assert process.is_alive()
            time.sleep(0.005)
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        run = load_run(find_runs(out)[0], SIGNALS)
        assert run.closed is None
        assert len(run.t) >= 200
        np.testing.assert_allclose(np.diff(run.t), 1.0 / 200.0, rtol=1e-6)
        assert any(finding.kind == "torn" for finding in check_log(run))
        assert_fits_or_says_why(run)


@pytest.fixture(scope="module")
def driven(make_arm, make_plan, tmp_path_factory):
    arm = make_arm(NOISY)
    return drive_plan(arm, make_plan(arm), tmp_path_factory.mktemp("campaign"), seed=3)


class TestReplay:
    @pytest.fixture
    def recorded(self, driven, tmp_path):
        return shutil.copytree(driven, tmp_path / "campaign" / "runs" / driven.name)

    @pytest.mark.slow
    def test_a_replay_records_the_same_run(self, recorded, tmp_path):
        again = replay_run(load_run(recorded, SIGNALS), tmp_path / "again")
        assert again.name == recorded.name
        old, new = load_run(recorded, SIGNALS), load_run(again, SIGNALS)
        np.testing.assert_array_equal(new.t, old.t)
        np.testing.assert_array_equal(new.segment, old.segment)
        assert new.signals.keys() == old.signals.keys()
        for key in old.signals:
            np.testing.assert_array_equal(new.signals[key], old.signals[key])
        assert new.events == old.events
        assert new.record["plan"] == old.record["plan"]

    def test_a_replay_does_not_change_the_replayed_run(self, recorded, tmp_path):
        before = [(recorded / name).read_bytes() for name in (SAMPLES, EVENTS, RECORD)]
        replay_run(load_run(recorded, SIGNALS), tmp_path / "again")
        assert [(recorded / name).read_bytes() for name in (SAMPLES, EVENTS, RECORD)] == before

    def test_commands_that_differ_from_the_recorded_ones_are_detected(self, recorded, tmp_path):
        """The plan of the copy has another speed, which stands for a changed tracker."""
        record_ = json.loads((recorded / RECORD).read_text(encoding="utf-8"))
        record_["plan"]["segments"][1]["speed"] = 0.35
        (recorded / RECORD).write_text(json.dumps(record_), encoding="utf-8")
        with pytest.raises(ReplayMismatch, match="velocity command of turn"):
            replay_run(load_run(recorded, SIGNALS), tmp_path / "again")

    def test_an_interrupted_run_is_replayed_to_its_end(self, recorded, tmp_path):
        whole = (recorded / SAMPLES).read_bytes()
        (recorded / SAMPLES).write_bytes(whole[: len(whole) // 2])
        (recorded / EVENTS).unlink()
        run = load_run(recorded, SIGNALS)
        again = load_run(replay_run(run, tmp_path / "again"), SIGNALS)
        np.testing.assert_array_equal(again.t, run.t)

    def test_watch_receives_the_recorded_motion(self, recorded, tmp_path):
        told = []
        run = load_run(recorded, SIGNALS)
        replay_run(
            run,
            tmp_path / "again",
            watch=lambda segment, sample, done: told.append((segment.id, sample.t)),
        )
        assert {number for number, _ in told} == {-1, 0, 1, 2}
        assert len(told) == pytest.approx(10 * run.t[-1], abs=2)


def assert_fits_or_says_why(run):
    """The kept samples give a calibration, or the reason why they cannot."""
    try:
        result = identify([load_run(run.path)])
    except (FitError, InputError) as error:
        why = str(error)
    else:
        assert result.joints
        return
    assert "joint" in why
    assert "\n" not in why


@contextmanager
def running(arm, out):
    """``stribeck run`` in a separate process."""
    with subprocess.Popen(
        [*COMMAND, "run", str(arm.path), "-o", str(out)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as command:
        try:
            yield command
        finally:
            command.kill()


def wait_for(condition, command, seconds=60.0):
    """Wait until a condition holds; fail if the command ends first."""
    end = time.monotonic() + seconds
    while not condition():
        assert command.poll() is None, f"the command has ended: {command.stderr.read()}"
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.005)


@contextmanager
def files_of_at_most(size):
    """Limit the size of files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_the_path_to_the_start_must_stay_in_the_box(make_arm, make_plan, tmp_path, stops):
    """The straight path to the start would move the tip out of the box: the arm does not move."""
    arm = make_arm(
        {"workspace": {"home": [-2.4, 0.0], "box": [[-2.0, 2.0], [-0.25, 2.0], [-1.0, 2.0]]}}
    )
    plan = make_plan(arm, posture=(0.0, 0.0))
    with pytest.raises(
        PlanError,
        match=r"from the arm's position, \[-2\.4, 0\.0\], to the start of the plan.*nothing moved",
    ):
        drive_plan(arm, plan, tmp_path / "campaign")
    assert stops
    run = load_run(find_runs(tmp_path / "campaign")[0], SIGNALS)
    assert np.ptp(run.signals["q"], axis=0).max() < 1e-3
