"""Memory of the joints of an arm, from runs of the simulated arm, whose
bristles are not the estimator's.
"""

from dataclasses import replace

import numpy as np
import pytest

from stribeck.experiments.methods.one_joint_at_a_time import plan_constant_speed
from stribeck.experiments.methods.small_round_trips import SmallTrips, plan_presliding
from stribeck.experiments.plans.constant_speed_options import ConstantSpeed
from stribeck.experiments.recording.drive_plan import drive_plan
from stribeck.ident.errors import FitError
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.identify import identify
from stribeck.ident.log.campaign_folder import find_runs
from stribeck.ident.log.run import PRESLIDING, load_run
from tests.test_spoiled_runs import record

pytestmark = pytest.mark.slow  # whole fits

STIFFNESS, DAMPING = 1500.0, 20.0
TRUTH = {"coulomb": 3.0, "static": 4.0, "stribeck_velocity": 0.05, "viscous": 2.0}
BRISTLES = {"memory": "lugre", "bristle_stiffness": STIFFNESS, "bristle_damping": DAMPING}
FEW = SmallTrips((0.001, 0.003, 0.01, 0.03), 1)


def driven(make_arm, folder, plan):
    """Run of the joint with bristles by a plan for its arm."""
    arm = make_arm(
        {
            "driver": {"rate": 125.0},
            "simulation": {
                "torque_noise": 0.1,
                "encoder_step": 1e-5,
                "joints": {"turn": TRUTH | BRISTLES},
            },
        }
    )
    return load_run(drive_plan(arm, plan(arm), folder, seed=1))


def rows_of(run, rows):
    """Some rows of a run."""
    return replace(
        run,
        t=run.t[rows],
        segment=run.segment[rows],
        signals={key: values[rows] for key, values in run.signals.items()},
    )


@pytest.fixture(scope="module")
def small(make_arm, tmp_path_factory):
    """Every second sample of a presliding run of a joint with bristles."""
    run = driven(
        make_arm,
        tmp_path_factory.mktemp("small"),
        lambda arm: plan_presliding(arm, ("turn",), options=FEW),
    )
    return rows_of(run, slice(None, None, 2))


@pytest.fixture(scope="module")
def trips(make_arm, tmp_path_factory):
    """Round trips of the same joint."""
    return driven(
        make_arm,
        tmp_path_factory.mktemp("trips"),
        lambda arm: plan_constant_speed(arm, ("turn",), 0, ConstantSpeed(postures=2, speeds=5)),
    )


@pytest.fixture(scope="module")
def both(small, trips):
    """What both runs together identify."""
    return identify([trips, small], Options(law="stribeck"))


@pytest.fixture(scope="module")
def alone(trips):
    """What the round trips alone identify."""
    return identify([trips], Options(law="stribeck"))


def test_memory_comes_from_the_presliding_run_and_the_law_from_the_round_trips(both, alone):
    found, joint = both, both.calibration.joints["turn"]
    assert found.calibration.runs[1]["purpose"] == PRESLIDING
    assert len(found.points) == len(alone.points)
    assert joint.memory is not None
    assert joint.memory.name == "lugre"
    stiffness = joint.memory.parameters["bristle_stiffness"]
    assert stiffness.verdict == "identified"
    assert stiffness.value == pytest.approx(STIFFNESS, rel=0.05)
    assert joint.memory.held_out_rmse < 0.5 * joint.memory.static_rmse
    assert joint.parameters["coulomb"].value == pytest.approx(3.0, rel=0.05)


def test_a_delay_of_the_torque_is_allowed_for_in_the_damping(both):
    damping = both.calibration.joints["turn"].memory.parameters["bristle_damping"]
    assert damping.low <= DAMPING <= damping.high
    assert damping.half_width >= 1.9 * 0.005 * STIFFNESS or not damping.note


def test_law_and_memory_of_a_presliding_run_are_fitted_together(small):
    found = identify([small], Options(law="stribeck"))
    joint = found.calibration.joints["turn"]
    # it tests the law without memory
    assert not [one for one in found.findings if one.kind == "closed loop"]
    assert "turn" not in found.calibration.fit.get("closed_loop", {})
    assert joint.memory is not None
    assert joint.memory.parameters["bristle_stiffness"].value == pytest.approx(STIFFNESS, rel=0.05)
    assert joint.parameters["coulomb"].value == pytest.approx(3.0, rel=0.1)
    w = np.array([0.02, 0.2])
    true = (3.0 + np.exp(-((w / 0.05) ** 2))) * np.sign(w) + 2.0 * w
    np.testing.assert_allclose(
        joint.torque(w, None if joint.load == "none" else joint.middle_load + 0.0 * w),
        true,
        rtol=0.05,
    )


def test_memory_can_be_left_out_and_another_kind_can_be_asked_for(small, trips):
    for memory, name in (("none", None), ("relaxing", "relaxing")):
        options = Options(law="stribeck", memory=memory)
        told = identify([trips, small], options).calibration.joints["turn"].memory
        assert (told and told.name) == name


def test_memory_explains_torque_that_seems_late(trips, alone):
    without = identify([trips], Options(law="stribeck", memory="none"))
    if any(finding.kind == "late torque" for finding in without.findings):
        assert alone.calibration.joints["turn"].memory is not None
        assert not any(finding.kind == "late torque" for finding in alone.findings)
    found = identify([trips], Options(law="stribeck", memory="lugre"))
    assert found.calibration.joints["turn"].memory.parameters[
        "bristle_stiffness"
    ].value == pytest.approx(STIFFNESS, rel=0.1)


def test_no_memory_is_invented_for_joints_that_stick_rigidly(recorded):
    (folder,) = find_runs(recorded.folder(record) / "pair")
    run = load_run(folder)
    begin = rows_of(run, slice(0, len(run.t) // 2))
    found = identify([begin], Options(law="stribeck", memory="any"))
    assert {joint.memory for joint in found.calibration.joints.values()} == {None}
    said = [finding.text for finding in found.findings if finding.kind == "memory"]
    assert all(
        "none predicts left-out motion better than sliding friction" in text for text in said
    )
    assert len(said) == 2


def test_a_joint_that_hardly_reverses_has_no_memory(trips):
    short = rows_of(trips, slice(0, len(trips.t) // 40))
    with pytest.raises(FitError):
        identify([short], Options(memory="any"))
