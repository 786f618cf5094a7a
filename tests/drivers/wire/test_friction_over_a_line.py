"""A plan on servos with coarse encoders gives the friction that it gives without a line.

``python -m benchmarks wires`` measures lost samples, rates and friction in real time.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from stribeck.drivers.simulation.simulated_arm import SimulatedArm
from stribeck.experiments.methods.one_joint_at_a_time import plan_constant_speed
from stribeck.experiments.recording.drive_plan import drive_plan
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.identify import identify
from stribeck.ident.log.run import SIGNALS, arm_sha256, load_run
from stribeck.ident.log.strokes import encoder_step
from tests.drivers.wire.test_resumed import SHORT

CHANGES: dict[str, Any] = {
    "simulation": {"torque_noise": 0.05},
    "workspace": {"box": [[-1.0, 1.0]] * 3},
    # slow enough for a coarse encoder, which cannot separate inertia in faster
    # strokes (docs/limits.md)
    "joints": {
        "turn": {"position": [-0.9, 0.9], "velocity": 0.8},
        "lift": {"position": [-0.8, 0.8], "velocity": 0.8},
    },
}
SPEEDS = np.tile(np.geomspace(0.1, 0.65, 8)[:, None], 2)


@pytest.mark.slow
def test_the_friction_equals_that_of_the_same_plan_without_a_line(bench, tmp_path):
    """Compared with the truth; each parameter also by the intervals of both calibrations."""
    arm = bench("dynamixel", CHANGES).arm
    plan = plan_constant_speed(arm, ("turn",), 1, replace(SHORT, speeds=4))
    log = load_run(drive_plan(arm, plan, tmp_path / "wired"), SIGNALS)
    np.testing.assert_allclose(np.diff(log.t), 1.0 / arm.driver.rate, rtol=1e-6)
    # the drives' encoders are coarse
    step = max(encoder_step(x) for x in log.signals["q"].T)
    here = replace(
        arm,
        driver=arm.driver.model_copy(update={"kind": "simulated"}),
        simulation={**arm.simulation, "encoder_step": step},
    )
    plan = replace(plan, arm_sha256=arm_sha256(here))
    truth = SimulatedArm(here).friction(np.zeros_like(SPEEDS), SPEEDS)[:, 0]
    other = load_run(drive_plan(here, plan, tmp_path / "plain"))
    wired, plain = (identify([run]).calibration for run in (log, other))
    for fit in (wired, plain):
        stated = SPEEDS[:, 0] <= 1.1 * fit.joints["turn"].velocity_range[1]
        assert stated.mean() > 0.5
        friction = fit.friction(np.zeros_like(SPEEDS), SPEEDS)[:, 0]
        np.testing.assert_allclose(friction[stated], truth[stated], rtol=0.05)
    apart = [difference(wired, plain, key) for key in plain.joints["turn"].values]
    # three standard deviations, as the largest of few
    assert np.max(apart) < 1.5, apart


def difference(wired: Calibration, plain: Calibration, key: str) -> float:
    """Difference of a parameter over the combined half widths of two calibrations;
    infinite if only one has it.
    """
    a, b = wired.joints["turn"].parameters.get(key), plain.joints["turn"].parameters[key]
    if a is None or a.value is None:
        return np.inf
    return abs(a.value - b.value) / float(np.hypot(a.half_width, b.half_width))
