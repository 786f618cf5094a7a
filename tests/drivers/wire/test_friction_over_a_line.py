"""The main job on servos with coarse encoders finds the friction that it finds without a line.

``python -m benchmarks wires`` measures lost samples, rates and friction in real time.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from stribeck.drivers.simulation.simulated_arm import SimulatedArm
from stribeck.experiments.cli.app import run
from stribeck.experiments.plans.plan import read_plan
from stribeck.experiments.recording.drive_plan import drive_plan
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.identify import identify
from stribeck.ident.log.campaign_folder import find_runs
from stribeck.ident.log.run import SIGNALS, arm_sha256, load_run
from stribeck.ident.log.strokes import encoder_step

CHANGES: dict[str, Any] = {
    "simulation": {"torque_noise": 0.05},
    "workspace": {"box": [[-1.0, 1.0]] * 3},
    # slow enough for a coarse encoder, which cannot separate inertia in faster
    # strokes (docs/limits.md)
    "joints": {
        "turn": {"position": [-1.4, 1.4], "velocity": 0.8},
        "lift": {"position": [-1.2, 1.2], "velocity": 0.8},
    },
}
BUDGET = "50s"  # duration of a plan with enough round trips
SPEEDS = np.tile(np.geomspace(0.1, 0.65, 8)[:, None], 2)


def test_the_friction_equals_that_of_the_same_plan_without_a_line(bench, tmp_path):
    """Compared with the truth; each parameter also by the intervals of both calibrations."""
    arm, folder = bench("dynamixel", CHANGES).arm, tmp_path / "wired"
    command = ["calibrate", str(arm.path), "--no-lowest-speed", "--budget", BUDGET]
    assert run([*command, "--out", str(folder), "--yes"]) == 0
    (log,) = (load_run(path, SIGNALS) for path in find_runs(folder))
    np.testing.assert_allclose(np.diff(log.t), 1.0 / arm.driver.rate, rtol=1e-6)
    # the drives' encoders are coarse
    step = max(encoder_step(x) for x in log.signals["q"].T)
    here = replace(
        arm,
        driver=arm.driver.model_copy(update={"kind": "simulated"}),
        simulation={**arm.simulation, "encoder_step": step},
    )
    plan = replace(read_plan(folder / "plan.toml"), arm_sha256=arm_sha256(here))
    truth = SimulatedArm(here).friction(np.zeros_like(SPEEDS), SPEEDS)
    wired = Calibration.load(folder / "calibration.toml")
    plain = identify([load_run(drive_plan(here, plan, tmp_path / "plain"))]).calibration
    for fit in (wired, plain):
        stated = np.column_stack(
            [
                SPEEDS[:, k] <= 1.1 * fit.joints[name].velocity_range[1]
                for k, name in enumerate(fit.names)
            ]
        )
        assert stated.mean() > 0.5
        np.testing.assert_allclose(
            fit.friction(np.zeros_like(SPEEDS), SPEEDS)[stated], truth[stated], rtol=0.03
        )
    apart = [
        difference(wired, plain, name, key)
        for name, joint in plain.joints.items()
        for key in joint.values
    ]
    assert np.median(apart) < 1.0, apart
    # three standard deviations, as the largest of six
    assert np.max(apart) < 1.5, apart


def difference(wired: Calibration, plain: Calibration, joint: str, key: str) -> float:
    """Difference of a parameter over the combined half widths of two calibrations;
    infinite if only one has it.
    """
    a, b = wired.joints[joint].parameters.get(key), plain.joints[joint].parameters[key]
    if a is None or a.value is None:
        return np.inf
    return abs(a.value - b.value) / float(np.hypot(a.half_width, b.half_width))
