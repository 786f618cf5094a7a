"""Compensation of ripple in slow motion of a simulated arm in torque mode."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.compensation import follow
from stribeck import Feedforward, identify, load_run
from stribeck.ident.ripple.wave import Wave
from tests.places import DATA


@pytest.mark.slow
def test_compensated_cogging_halves_the_tracking_error_of_slow_motion(tmp_path: Path) -> None:
    """Feed-forward of the golden calibration, which knows friction and offset,
    with the wave and without it.
    """
    shutil.copytree(DATA / "golden", tmp_path / "arm", ignore=shutil.ignore_patterns("runs"))
    arm = tmp_path / "arm" / "pendulum.toml"
    text = arm.read_text(encoding="utf-8")
    knobs = "cogging = 0.5\ncogging_order = 83.0\ncogging_phase = 1.0\n"
    arm.write_text(text.replace("ripple = 0.03\n", knobs), encoding="utf-8")
    known = identify([load_run(DATA / "golden" / "runs" / "constant-speed")]).calibration
    # in the torque of the drive, whose scale is 0.97
    size = 0.97 * 0.5
    wave = Wave(
        83.0,
        "cogging",
        "found",
        size,
        0.01,
        0.96 * size,
        1.04 * size,
        1.0,
        0.95,
        1.05,
        "N·m",
        "identified",
    )
    rms = []
    for waves in ((), (wave,)):
        made = replace(
            known,
            joints={name: replace(joint, ripple=waves) for name, joint in known.joints.items()},
        ).with_offset()
        rms.append(float(follow(str(arm), made, Feedforward(made.mechanism, made), 0.02).rms[0]))
    assert rms[1] < 0.5 * rms[0]
