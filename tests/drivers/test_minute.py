"""A minute of the main job on each kind of line, both at once: what is lost, and whether friction is that of the same in process.

How punctual the cycles are, at higher rates, too, is for ``python -m benchmarks wires``, whose figures these are.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.pauses import watched
from benchmarks.wires import punctuality
from drivers import DriverError, connect
from drivers.realtime import real_time
from drivers.simulated import SimulatedArm
from experiments.design import ConstantSpeed
from experiments.plan import Plan
from experiments.record import record
from experiments.whole_arm import plan_whole_arm
from ident.armfile import ArmFile, load_arm
from ident.calibration import Calibration
from ident.identify import identify
from ident.run import SIGNALS, Run, load_run
from tests.drivers.wires import processes

RATES = {"canopen": 250.0, "dynamixel": 200.0}
CHANGES: dict[str, Any] = {"simulation": {"torque_noise": 0.05}, "workspace": {"box": [[-1.0, 1.0]] * 3},
                           "joints": {"turn": {"position": [-1.4, 1.4]}, "lift": {"position": [-1.2, 1.2]}}}
OPTIONS = ConstantSpeed(postures=4, speeds=8, spread=10.0, longest_stroke=2.0, window_time=0.2)
TRIES = 3               # a crowded computer may stand still for so long that the arm is stopped, as it should be
SPEEDS = np.tile(np.geomspace(0.25, 1.2, 8)[:, None], 2)


def drive(path: Path, plan: Plan, campaign: Path, said: Any) -> None:
    """A program of its own that moves both joints."""
    for left in reversed(range(TRIES)):
        try:
            said.put(record(load_arm(path), plan, campaign))
            return
        except DriverError as error:
            if not left:
                said.put(error)


@pytest.fixture(scope="module")
def planned(bench) -> dict[str, tuple[ArmFile, Plan]]:
    """Each with drives that listen, planned on the steps of their commands."""
    arms = {kind: bench(kind, {**CHANGES, "driver": {"rate": rate}}).arm for kind, rate in RATES.items()}
    return {kind: (arm, plan_whole_arm(arm, options=OPTIONS, velocity_step=connect(arm).resolution.velocity_step))
            for kind, arm in arms.items()}


@pytest.fixture(scope="module")
def runs(planned, tmp_path_factory) -> dict[str, tuple[Run, dict[str, Any]]]:
    """What the program on each line recorded, and how punctual it was."""
    running = {}
    with watched() as stood:
        for kind, (arm, plan) in planned.items():
            said = processes.Queue()
            program = processes.Process(target=drive, args=(arm.path, plan, tmp_path_factory.mktemp(kind), said), daemon=True)
            program.start()
            running[kind] = program, said
        told = {kind: said.get(timeout=200.0 * TRIES) for kind, (_, said) in running.items()}
    for program, _ in running.values():
        program.join()
    for kind, found in told.items():
        assert isinstance(found, Path), f"{kind}: {found}"
    return {kind: (load_run(folder, SIGNALS), punctuality(folder, stood)) for kind, folder in told.items()}


@pytest.fixture
def run(runs, kind) -> Run:
    """Of a protocol."""
    return runs[kind][0]


@pytest.mark.parametrize("kind", RATES)
def test_no_sample_is_lost(runs, kind):
    """But beside a pause of this computer, which a program that only waits sees, too; and even so not one of a hundred."""
    run, found = runs[kind]
    with real_time() as prompt:
        if prompt:                      # else other tests get between: nothing tells whether a sample is lost by ours
            assert found["lost_unheld"] == 0, found
    assert found["lost"] < 0.01 * found["rows"], found
    assert 0.0 < np.median(run.signals["t"] - run.t[:, None]) < 1.0 / RATES[kind]


@pytest.mark.parametrize("kind", RATES)
def test_the_rate_is_kept(run, kind):
    t = run.t
    assert t[-1] - t[0] > 60.0
    assert np.median(np.diff(t)) == pytest.approx(1.0 / RATES[kind], rel=0.01)
    assert len(t) > 0.98 * RATES[kind] * (t[-1] - t[0])             # a busy computer may leave out a cycle, never a reply


@pytest.mark.parametrize("kind", RATES)
def test_the_friction_is_that_of_the_same_arm_in_process(run, planned, kind, tmp_path):
    """Judged by the truth, and parameter by parameter by the intervals of both."""
    arm, plan = planned[kind]
    here = replace(arm, driver=arm.driver.model_copy(update={"kind": "simulated"}))
    truth = SimulatedArm(here).friction(np.zeros_like(SPEEDS), SPEEDS)
    wired, plain = (identify([one]).calibration for one in (run, load_run(record(here, plan, tmp_path))))
    for fit in (wired, plain):
        np.testing.assert_allclose(fit.friction(np.zeros_like(SPEEDS), SPEEDS), truth, rtol=0.03)
    apart = [difference(wired, plain, name, key) for name, joint in plain.joints.items() for key in joint.values]
    assert np.median(apart) < 1.0
    assert np.mean(np.array(apart) < 1.0) >= 0.75, apart


def difference(one: Calibration, other: Calibration, joint: str, key: str) -> float:
    """Of a parameter in two calibrations, over what both intervals leave open; infinite where only one has it."""
    a, b = one.joints[joint].parameters.get(key), other.joints[joint].parameters[key]
    if a is None or a.value is None:
        return np.inf
    return abs(a.value - b.value) / float(np.hypot(a.half_width, b.half_width))
