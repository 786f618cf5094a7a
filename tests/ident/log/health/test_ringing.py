"""Ringing is found; gear ripple, noise, coarse encoders and commanded motions are not reported."""

import re
from pathlib import Path

import numpy as np
import pytest

from stribeck.ident.arm.arm_file import load_arm
from stribeck.ident.log.health.ringing import ringing
from stribeck.ident.log.run import Run

T = np.arange(0.0, 40.0, 0.004)
STAIRS = np.repeat([0.2, 0.5, 1.0, -1.0, -0.5, -0.2, 0.3, -0.3], len(T) // 8)
SINE = 2.5 * np.cos(2.0 * T)


def run(v, noise=1e-4, step=0.0, torque=None):
    rng = np.random.default_rng(0)
    q = np.cumsum(v) * 0.004 + noise * 0.1 * rng.standard_normal(len(v))
    q = np.round(q / step) * step if step else q
    tau = np.sign(v) + 0.5 * v + 0.05 * np.gradient(v, 0.004) + 0.02 * rng.standard_normal(len(v))
    return Run(
        Path("log"),
        {},
        load_arm("emps"),
        (),
        ("carriage",),
        T,
        np.zeros(len(T), dtype=int),
        {"q": q[:, None], "tau": (tau if torque is None else torque)[:, None]},
    )


@pytest.mark.parametrize("motion", [STAIRS, SINE], ids=["stairs", "sine"])
@pytest.mark.parametrize("frequency", [17.0, 40.0])
def test_ringing_is_reported_with_frequency_and_amplitude(motion, frequency):
    (found,) = ringing(
        run(motion + 0.1 * np.sqrt(2.0) * np.sin(2.0 * np.pi * frequency * T)), 0, "rad/s"
    )
    assert found.kind == "ringing"
    assert f"oscillates at {frequency:.3g}" in found.text
    assert float(re.search(r"by (.*) rad/s rms", found.text)[1]) == pytest.approx(0.1, rel=0.1)


@pytest.mark.parametrize("motion", [STAIRS, SINE], ids=["stairs", "sine"])
@pytest.mark.parametrize("step", [0.0, 2.0 * np.pi / 4096.0])
def test_clean_motion_is_not_reported(motion, step):
    assert not ringing(run(motion, step=step), 0, "rad/s")


def test_gear_ripple_is_not_reported():
    """The frequency of gear ripple depends on speed."""
    q = np.cumsum(STAIRS) * 0.004
    assert not ringing(run(STAIRS * (1.0 + 0.1 * np.sin(60.0 * q))), 0, "rad/s")


def test_a_commanded_multi_sine_is_not_reported():
    v = sum(np.cos(2.0 * np.pi * k * 0.5 * T + k * k) for k in range(1, 9))
    assert not ringing(run(v), 0, "rad/s")
