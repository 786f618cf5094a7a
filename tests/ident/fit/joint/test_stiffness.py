"""Stiffness of an elastic joint from its motor's motion and torque, in runs of MuJoCo's."""

from dataclasses import replace

import numpy as np
import pytest

from stribeck.experiments.methods.whole_arm import WHOLE_ARM, plan_whole_arm
from stribeck.experiments.recording.drive_plan import drive_plan
from stribeck.ident.arm.arm_file import ArmFile, load_arm
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.fit.joint.stiffness import joint_stiffness
from stribeck.ident.identify import identify
from stribeck.ident.log.run import Run, load_run

pytestmark = pytest.mark.slow  # whole fits

SMALL = replace(WHOLE_ARM, postures=1, speeds=4)


def driven(arm: ArmFile, folder) -> Run:
    return load_run(drive_plan(arm, plan_whole_arm(arm, seed=1, options=SMALL), folder, 1))


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Run:
    return driven(load_arm("elastic1"), tmp_path_factory.mktemp("elastic"))


def test_the_stiffness_of_a_ringing_joint_is_found(run: Run, tmp_path) -> None:
    found = identify([run])
    stiffness = found.calibration.joints["shoulder"].gravity["stiffness"]
    assert stiffness.verdict == "identified"
    assert stiffness.value == pytest.approx(1000.0, rel=0.02)
    assert {"ringing", "stiffness"} <= {finding.kind for finding in found.findings}
    assert "late torque" not in {finding.kind for finding in found.findings}
    found.calibration.save(tmp_path / "calibration.toml")
    assert Calibration.load(tmp_path).joints["shoulder"].gravity[
        "stiffness"
    ].value == pytest.approx(stiffness.value, rel=1e-5)


def test_noise_makes_stiffness_unidentified_and_never_larger(run: Run) -> None:
    mechanism, rng = load_mechanism(run.arm), np.random.default_rng(0)
    for noise in (0.01, 0.03, 0.3):
        tau = run.signals["tau"] + noise * rng.standard_normal(run.signals["tau"].shape)
        one = joint_stiffness(
            [replace(run, signals={**run.signals, "tau": tau})], [mechanism], "shoulder", 13.0
        )
        assert one.value is None or one.value == pytest.approx(1000.0, rel=0.1)
    assert one.value is None
    assert "torque noise makes up" in one.note


def test_an_oscillation_too_fast_for_the_sampling_rate_is_refused(run: Run) -> None:
    slow = replace(
        run,
        t=run.t[::8],
        segment=run.segment[::8],
        signals={name: values[::8] for name, values in run.signals.items()},
    )
    one = joint_stiffness([slow], [load_mechanism(run.arm)], "shoulder", 13.0)
    assert one.value is None
    assert "the log's sampling rate of 125 Hz is too low" in one.note
    assert "log at 195 Hz or more" in one.note
