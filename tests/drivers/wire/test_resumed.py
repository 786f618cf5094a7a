"""A calibration that a drive's fault interrupted continues after a person has reset the
drive, and never by itself.
"""

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest

from stribeck.drivers.errors import DriverError
from stribeck.drivers.simulation.simulated_arm import SimulatedArm
from stribeck.experiments.calibrate import calibrate
from stribeck.experiments.campaign_options import CampaignOptions
from stribeck.experiments.cli.app import run
from stribeck.experiments.methods.one_joint_at_a_time import plan_constant_speed
from stribeck.experiments.methods.registry import METHODS
from stribeck.experiments.plans.constant_speed_options import ConstantSpeed
from stribeck.experiments.recording.run_writer import RunWriter
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.log.campaign_folder import campaign_runs
from tests.drivers.canopen.canopen_probe import TEST_OBJECT, Probe
from tests.experiments.recording.test_campaign import raw, whole_trips
from tests.without_figures import without_figures

SHORT = ConstantSpeed(postures=1, speeds=5, spread=60.0, window_time=0.15, longest_stroke=1.0)
CHANGES = {
    "simulation": {"torque_noise": 0.05},
    "joints": {"turn": {"gear_ratio": 400.0, "rotor_inertia": 2.5e-6}},
}
LAW = Options(law="stribeck", load="none")  # of the truth
ROW = 1500  # after a few round trips
SPEEDS = np.tile(np.geomspace(0.05, 0.3, 8)[:, None], 2)


@pytest.fixture
def drives(bench):
    return bench("canopen", CHANGES)


@pytest.fixture
def probe(drives):
    return Probe(drives)


@pytest.mark.slow
def test_after_a_fault_and_a_reset_the_campaign_is_completed(drives, probe, tmp_path):
    arm, out, sample = drives.arm, tmp_path / "out", RunWriter.sample

    def campaign(resume=False):
        with patch.dict(METHODS, {"whole-arm": (plan_constant_speed, SHORT)}), without_figures():
            return calibrate(arm, out, CampaignOptions(("turn",), fit=LAW), resume=resume)

    def hot(writer, *arguments):
        sample(writer, *arguments)
        if writer.rows == ROW:
            probe.write(1, TEST_OBJECT, 0x4310, "<H")

    with (
        patch.object(RunWriter, "sample", hot),
        pytest.raises(DriverError, match=r"drive of turn stopped by itself: fault"),
    ):
        campaign()
    before, driven = raw(out), whole_trips(out)
    assert driven

    with pytest.raises(DriverError, match=r"drive of turn .* has a fault.*stribeck check --reset"):
        campaign(resume=True)
    assert probe.state(1) & 0x4F == 0x08
    assert whole_trips(out) == driven

    assert run(["check", str(arm.path), "--reset"]) == 0
    assert probe.state(1) == 0x40  # without power

    delivery = campaign(resume=True)
    assert before.items() <= raw(out).items()
    trips = whole_trips(out)
    assert len(trips) == len(set(trips)) > len(driven)
    assert set(driven) < set(trips)
    assert len(campaign_runs(out)) == 2
    here = replace(arm, driver=arm.driver.model_copy(update={"kind": "simulated"}))
    truth = SimulatedArm(here).friction(np.zeros_like(SPEEDS), SPEEDS)[:, 0]
    np.testing.assert_allclose(
        delivery.calibration.friction(np.zeros_like(SPEEDS), SPEEDS)[:, 0], truth, rtol=0.05
    )
