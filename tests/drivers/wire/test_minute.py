"""A minute of the main job on each kind of line, both at the same time: lost samples, and
friction compared with no bus.

``python -m benchmarks wires`` measures the same timing figures, also at higher rates.
"""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.pauses import watched
from benchmarks.wires import punctuality
from stribeck.drivers.realtime import real_time
from stribeck.drivers.simulation.simulated_arm import SimulatedArm
from stribeck.experiments.plans.plan import read_plan
from stribeck.experiments.recording.drive_plan import drive_plan
from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.identify import identify
from stribeck.ident.log.campaign_folder import find_runs
from stribeck.ident.log.run import SIGNALS, arm_sha256, load_run
from stribeck.ident.log.strokes import encoder_step
from tests.drivers.wires import PATIENCE
from tests.standstill import stood_still

RATES = {"canopen": 250.0, "dynamixel": 200.0}
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
BUDGET = "75s"  # duration of a plan with enough round trips
# a busy computer may stand still so long that the arm is stopped, which is correct
TRIES = 3
PATIENTLY = f"""
from stribeck.drivers import staleness
from stribeck.experiments.cli.entry import main
staleness.SHORTEST_AGE = {PATIENCE}
main()
"""
# largest number of pauses of this computer with which the minute counts as undisturbed
QUIET = 10
SPEEDS = np.tile(np.geomspace(0.1, 0.65, 8)[:, None], 2)


def calibrate(arm: ArmFile, out: Path) -> Path:
    """Run `stribeck calibrate` in a process that waits longer for replies; return
    the folder with its results.
    """
    for attempt in range(TRIES):
        folder = out / str(attempt)
        done = subprocess.run(
            [
                sys.executable,
                "-c",
                PATIENTLY,
                "calibrate",
                str(arm.path),
                "--no-lowest-speed",
                "--budget",
                BUDGET,
                "--out",
                str(folder),
                "--yes",
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0 or not stood_still():
            break
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def arms(bench) -> dict[str, ArmFile]:
    """Arms whose emulated drives are running."""
    return {
        kind: bench(kind, {**CHANGES, "driver": {"rate": rate}}).arm for kind, rate in RATES.items()
    }


@pytest.fixture(scope="module")
def found(arms, tmp_path_factory) -> dict[str, tuple[Path, dict[str, Any]]]:
    """Folder of each calibration, and figures about the timing of its run."""
    with watched() as stood, ThreadPoolExecutor(len(arms)) as programs:
        folders = dict(
            zip(
                arms,
                programs.map(calibrate, arms.values(), map(tmp_path_factory.mktemp, arms)),
                strict=True,
            )
        )
    return {
        kind: (folder, punctuality(find_runs(folder)[0], stood)) for kind, folder in folders.items()
    }


@pytest.mark.parametrize("kind", RATES)
def test_almost_no_sample_is_lost(found, kind):
    """Samples lost in pauses of this computer do not count; a program that only
    waits records these pauses.

    Other tests run programs of the same priority, which may cost one sample in two thousand.
    """
    figures = found[kind][1]
    with real_time() as prompt:
        # otherwise other programs may have caused the lost samples
        if prompt and figures["stood"] <= QUIET:
            assert figures["lost_unheld"] < 0.0005 * figures["rows"], figures
    assert figures["lost"] < (0.01 + figures["held"]) * figures["rows"], figures
    assert 0.0 < figures["latency_ms"][0] < 1e3 / RATES[kind]


@pytest.mark.parametrize("kind", RATES)
def test_the_rate_is_kept(found, kind):
    (run,) = (load_run(path, SIGNALS) for path in find_runs(found[kind][0]))
    t = run.t
    assert t[-1] - t[0] > 60.0
    assert np.median(np.diff(t)) == pytest.approx(1.0 / RATES[kind], rel=0.01)
    # a busy computer may skip a cycle
    assert len(t) > (0.98 - found[kind][1]["held"]) * RATES[kind] * (t[-1] - t[0])


@pytest.mark.parametrize("kind", RATES)
def test_the_friction_equals_that_of_the_same_plan_without_a_bus(found, arms, kind, tmp_path):
    """Compared with the truth; on an undisturbed computer, each parameter also by the
    intervals of both calibrations.
    """
    (folder, figures), arm = found[kind], arms[kind]
    (log,) = (load_run(path, SIGNALS) for path in find_runs(folder))
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
    plain = identify([load_run(drive_plan(here, plan, tmp_path))]).calibration
    # only steady strokes: pauses of the computer make fast strokes uneven
    for fit in (wired, plain):
        told = np.column_stack(
            [
                SPEEDS[:, k] <= 1.1 * fit.joints[name].velocity_range[1]
                for k, name in enumerate(fit.names)
            ]
        )
        assert told.mean() > 0.5
        np.testing.assert_allclose(
            fit.friction(np.zeros_like(SPEEDS), SPEEDS)[told], truth[told], rtol=0.03
        )
    apart = [
        difference(wired, plain, name, key)
        for name, joint in plain.joints.items()
        for key in joint.values
    ]
    # otherwise late commands make strokes uneven, which no interval includes
    if figures["stood"] <= QUIET:
        assert np.median(apart) < 1.0, apart
        # three standard deviations, as the largest of six
        assert np.max(apart) < 1.5, apart


def difference(one: Calibration, other: Calibration, joint: str, key: str) -> float:
    """Difference of a parameter over the combined half widths of two calibrations;
    infinite if only one has it.
    """
    a, b = one.joints[joint].parameters.get(key), other.joints[joint].parameters[key]
    if a is None or a.value is None:
        return np.inf
    return abs(a.value - b.value) / float(np.hypot(a.half_width, b.half_width))
