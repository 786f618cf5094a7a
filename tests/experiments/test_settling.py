"""Short fast strokes, in which the drive is still settling: torque of
deceleration is not friction.
"""

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest

from stribeck.experiments.recording.drive_plan import drive_plan
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.log.reduction.round_trips import reduce_run
from stribeck.ident.log.run import load_run

pytestmark = pytest.mark.slow

SPEEDS = (0.2, 0.3, 0.5, 0.7, 0.9)


def test_torque_of_inertia_does_not_bias_friction(make_arm, make_plan, tmp_path):
    """Friction equals the simulated friction without noise; with the torque of inertia it
    would be 0.09 N·m too low.
    """
    arm = make_arm(
        {
            "simulation": {
                "torque_noise": 0.0,
                "stroke_scatter": 0.0,
                "joints": {"lift": {"coulomb": 2.0, "viscous": 1.5}},
            }
        }
    )
    run = load_run(drive_plan(arm, make_plan(arm, 1, SPEEDS, 0.4), tmp_path, 1))
    points = reduce_run(run, load_mechanism(arm)).points
    np.testing.assert_allclose(points["odd"], 2.0 + 1.5 * points["speed"], rtol=5e-3)


def spoiled(run, **signals):
    return replace(run, signals={**run.signals, **signals})


@pytest.fixture(scope="module")
def noisy(make_arm, make_plan, tmp_path_factory):
    """Short fast strokes of the lift with noise."""
    arm = make_arm(
        {"simulation": {"torque_noise": 0.05, "joints": {"lift": {"coulomb": 2.0, "viscous": 1.5}}}}
    )
    folder = tmp_path_factory.mktemp("noisy")
    return load_run(drive_plan(arm, make_plan(arm, 1, SPEEDS, 0.4), folder, 1))


@pytest.mark.parametrize("spoil", ["repeats", "jitter", "coarse"])
def test_unusable_positions_leave_the_torque_unchanged(noisy, spoil):
    """Friction then equals the result without a correction of accelerations,
    within a tenth of a per cent.
    """
    run = noisy
    q, dt = run.signals["q"], float(np.median(np.diff(run.t)))
    if spoil == "repeats":  # a sensor slower than the log
        run = spoiled(run, q=q[np.arange(len(q)) // 8 * 8])
    elif spoil == "jitter":
        run = spoiled(run, t=run.t + np.random.default_rng(0).uniform(-0.05, 0.05, len(run.t)) * dt)
    else:
        run = spoiled(run, q=np.round(q / 1.5e-3) * 1.5e-3)
    mechanism = load_mechanism(run.arm)
    found = reduce_run(run, mechanism).points["odd"].to_numpy()
    with patch("stribeck.ident.log.reduction.round_trips.settling_torque", lambda *_: 0.0):
        without = reduce_run(run, mechanism).points["odd"].to_numpy()
    truth = 2.0 + 1.5 * reduce_run(run, mechanism).points["speed"].to_numpy()
    off, before = (
        float(np.sqrt(np.mean((values / truth - 1.0) ** 2))) for values in (found, without)
    )
    assert off < before + 1e-3
