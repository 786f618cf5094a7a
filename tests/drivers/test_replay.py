"""Replay: returns the recorded samples, and accepts only the recorded commands."""

import json
import shutil

import numpy as np
import pyarrow as pa
import pytest

from stribeck.drivers.arm import Command
from stribeck.drivers.errors import ArmStopped, ReplayEnded, ReplayMismatch
from stribeck.drivers.replay import ALL_SIGNALS, ReplayArm
from stribeck.drivers.simulation.simulated_arm import SimulatedArm
from stribeck.drivers.wire.clock import REAL_TIME, VirtualClock
from stribeck.experiments.recording.run_writer import RunWriter
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import InputError
from stribeck.ident.log.run import SAMPLES, load_run

CYCLES = 50


def command(k):
    return np.array([0.3 * np.sin(0.1 * k), -0.2 * np.sin(0.07 * k)])


@pytest.fixture
def recording(make_arm, tmp_path):
    """A run of a noisy arm, and its recorded samples."""
    arm = make_arm({"simulation": {"torque_noise": 0.2, "encoder_step": 1e-4, "torque_step": 0.1}})
    source = SimulatedArm(arm, seed=3)
    samples = []
    with (
        RunWriter(
            tmp_path / "recording",
            arm,
            load_mechanism(arm),
            "a test",
            source.rate,
            source.resolution,
        ) as writer,
        source,
    ):
        source.enable()
        for k in range(CYCLES):
            samples.append(source.step(Command(command(k))))
            writer.sample(samples[-1], np.zeros(2), command(k), k // 10)
    return tmp_path / "recording", samples


def replayed(folder, paced=False, clock=REAL_TIME):
    arm = ReplayArm(load_run(folder, ALL_SIGNALS), paced, clock)
    arm.enable()
    return arm


def test_the_replayed_samples_are_the_recorded_samples(recording):
    folder, samples = recording
    arm = replayed(folder)
    for k, recorded in enumerate(samples):
        again = arm.step(Command(command(k)))
        assert again.t == recorded.t
        for key in ("q", "dq", "tau", "t_joint", "temperature"):
            np.testing.assert_array_equal(getattr(again, key), getattr(recorded, key))


def test_signals_that_were_not_recorded_are_unknown(recording):
    assert replayed(recording[0]).step(Command(command(0))).raw is None


def test_the_replay_has_rate_limits_and_resolution_of_the_recorded_arm(recording):
    arm = replayed(recording[0])
    assert arm.rate == 200.0
    assert arm.limits.velocity.tolist() == [2.0, 1.5]
    assert arm.resolution.position_step.tolist() == [1e-4, 1e-4]
    assert arm.resolution.torque_step.tolist() == [0.1, 0.1]


@pytest.mark.parametrize("change", [0.01, -0.01])
def test_a_changed_command_is_named_with_found_and_recorded_value(recording, change):
    arm = replayed(recording[0])
    for k in range(20):
        arm.step(Command(command(k)))
    changed = command(20) + np.array([0.0, change])
    with pytest.raises(ReplayMismatch) as caught:
        arm.step(Command(changed))
    assert not isinstance(caught.value, ReplayEnded)
    for said in ("lift", f"{changed[1]:.6g}", f"{command(20)[1]:.6g}", "t = 0.105 s"):
        assert said in str(caught.value)
    with pytest.raises(ArmStopped):
        arm.step(Command(command(20)))


def test_rounding_of_the_last_digits_is_accepted(recording):
    replayed(recording[0]).step(Command(command(0) + 1e-12))


def test_the_end_of_the_recording_is_reported(recording):
    arm = replayed(recording[0])
    for k in range(CYCLES):
        arm.step(Command(command(k)))
    with pytest.raises(ReplayEnded, match=f"after {CYCLES} samples"):
        arm.step(Command(np.zeros(2)))


def test_after_a_stop_the_replay_continues_where_it_was(recording):
    folder, samples = recording
    arm = replayed(folder)
    for k in range(10):
        arm.step(Command(command(k)))
    arm.stop("a test")
    arm.enable()
    assert arm.step(Command(command(10))).t == samples[10].t


@pytest.mark.parametrize("paced", [True, False])
def test_a_paced_replay_takes_as_long_as_the_recording(recording, paced):
    clock = VirtualClock()
    arm = replayed(recording[0], paced, clock)
    began = clock.now()
    for k in range(CYCLES):
        arm.step(Command(command(k)))
    assert clock.now() - began == pytest.approx((CYCLES - 1) / 200.0 if paced else 0.0)


def test_a_log_without_commands_accepts_any_command(recording):
    """An imported log has no commands to compare with."""
    folder, samples = recording
    run = load_run(folder, ALL_SIGNALS)
    run.signals["dq_cmd"][:] = np.nan
    arm = ReplayArm(run)
    arm.enable()
    assert arm.step(Command(np.array([1.0, np.nan]))).t == samples[0].t


def test_a_run_loaded_for_fitting_only_is_refused(recording):
    with pytest.raises(InputError, match="load all signals"):
        ReplayArm(load_run(recording[0]))


def test_a_recording_without_commands_is_refused(recording, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(recording[0], copy)
    with pa.memory_map(str(copy / SAMPLES)) as source:
        table = pa.ipc.open_stream(source).read_all()
    kept = table.select([name for name in table.column_names if not name.startswith("dq_cmd.")])
    (copy / SAMPLES).unlink()
    with pa.ipc.new_stream(str(copy / SAMPLES), kept.schema) as writer:
        writer.write_table(kept)
    with pytest.raises(InputError, match="commands"):
        ReplayArm(load_run(copy, ALL_SIGNALS))


def test_the_rate_is_computed_from_time_stamps_if_the_record_has_none(recording, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(recording[0], copy)
    record = json.loads((copy / "run.json").read_text(encoding="utf-8"))
    del record["driver"]
    (copy / "run.json").write_text(json.dumps(record), encoding="utf-8")
    assert ReplayArm(load_run(copy, ALL_SIGNALS)).rate == pytest.approx(200.0)
