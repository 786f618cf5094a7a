"""The lowest speed of each velocity loop: found as the theory of the simulated loop
predicts, and kept by plans.
"""

from dataclasses import replace

import numpy as np
import pytest

from stribeck.drivers.simulation.simulated_arm import SimulatedArm
from stribeck.experiments.calibrate import Operator, calibrate
from stribeck.experiments.campaign_options import CampaignOptions
from stribeck.experiments.errors import PlanError
from stribeck.experiments.methods import lowest_speed_search
from stribeck.experiments.methods.lowest_speed_search import (
    lowest_sentence,
    plan_lowest_speed,
    with_slowest,
)
from stribeck.experiments.methods.registry import METHODS, plan_method
from stribeck.experiments.plans.constant_speed_options import ConstantSpeed
from stribeck.experiments.plans.plan import read_plan
from stribeck.experiments.plans.speeds_and_postures import Design
from stribeck.experiments.recording.drive_plan import drive_plan
from stribeck.experiments.recording.follow import GAIN
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import InputError
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.log.campaign_folder import find_runs
from stribeck.ident.log.finding import Finding
from stribeck.ident.log.lowest_speed import LowestSpeed, lowest_speeds
from stribeck.ident.log.run import load_run
from tests.recorded import Few

PLAIN = Options(law="coulomb-viscous", load="none")  # three speeds suffice


def loop(bandwidth, static, exponent=2.0):
    """Settings for a turning joint with a soft loop and a steep Stribeck curve."""
    return {
        "driver": {"rate": 100.0},
        "joints": {"turn": {"following_error": 0.2}},
        "simulation": {
            "encoder_step": 1e-5,
            "joints": {
                "turn": {"bandwidth": bandwidth, "static": static, "stribeck_exponent": exponent}
            },
        },
    }


def unstable(arm):
    """Highest speed at which the turning joint's loop is unstable, by Routh's
    criterion with three states.
    """
    truth = SimulatedArm(arm)
    friction, kp = truth.truth.joints[0], truth._loop.loops[0].kp
    inertia, ki = (
        kp / (2.0 * np.pi * friction.bandwidth),
        kp * 2.0 * np.pi * friction.bandwidth / 4.0,
    )
    w = np.geomspace(1e-3, 1.0, 4000)
    rel, d = w / friction.stribeck_velocity, friction.stribeck_exponent
    slope = friction.viscous - (friction.static - friction.coulomb) * d / w * rel**d * np.exp(
        -(rel**d)
    )
    return float(w[(kp + slope) * (GAIN * kp + ki) < GAIN * inertia * ki].max(initial=0.0))


@pytest.mark.parametrize("knobs", [(6.0, 8.0, 1.0)])
@pytest.mark.slow
def test_the_search_finds_the_stability_limit_of_the_loop(make_arm, tmp_path, monkeypatch, knobs):
    monkeypatch.setattr(lowest_speed_search, "_TIME", 2.5)
    arm = make_arm(loop(*knobs))
    plan = plan_lowest_speed(arm, ("turn",))
    found = lowest_speeds(load_run(drive_plan(arm, plan, tmp_path, 1)))
    truth = unstable(arm)
    assert truth > 0.04
    # a step is 1.41, and stick-slip persists above the limit
    assert found["turn"].lost < 2.0 * truth
    assert truth < found["turn"].held <= 1.42 * found["turn"].lost


@pytest.mark.slow
def test_a_stiff_loop_holds_all_speeds(make_arm, tmp_path, monkeypatch):
    monkeypatch.setattr(lowest_speed_search, "_TIME", 2.5)
    arm = make_arm({"driver": {"rate": 100.0}, "simulation": {"encoder_step": 1e-5}})
    found = lowest_speeds(load_run(drive_plan(arm, plan_lowest_speed(arm), tmp_path, 1)))
    assert [joint.lost for joint in found.values()] == [None, None]
    slow = Design.of(arm, None, ConstantSpeed()).ends[0]
    assert found["lift"].held == pytest.approx(0.0053, rel=0.01)
    assert all(joint.held < limit for joint, limit in zip(found.values(), slow, strict=True))


@pytest.mark.slow
def test_a_stuck_joint_holds_no_speed(make_arm, tmp_path, make_plan):
    arm = make_arm(
        {
            "simulation": {"joints": {"turn": {"coulomb": 80.0, "static": 80.0}}},
            "joints": {"turn": {"following_error": 2.0}},
        }
    )
    run = load_run(drive_plan(arm, make_plan(arm, speeds=(0.2, 0.1)), tmp_path, 1))
    assert lowest_speeds(run)["turn"] == LowestSpeed(None, 0.2)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.slow
def test_plans_have_no_strokes_below_the_lowest_speed(make_arm, method):
    arm = make_arm()
    slow = with_slowest(arm, {"turn": LowestSpeed(0.1, 0.07)})
    plan = plan_method(method, slow, None, 1)
    speeds = np.array(
        [
            segment.speeds(start, plan.names)
            for start, segment in plan.legs()
            if segment.kind != "move"
        ]
    )
    assert 0.1 <= speeds[speeds[:, 0] > 0.0, 0].min() < 0.12
    assert speeds[speeds[:, 1] > 0.0, 1].min() < 0.02


def test_impossible_lowest_speeds_are_refused(make_arm):
    arm = make_arm()
    with pytest.raises(PlanError, match=r"turn does not hold 0\.2 per second or any lower speed"):
        with_slowest(arm, {"turn": LowestSpeed(None, 0.2)})
    with pytest.raises(
        PlanError, match=r"joints\.turn\.slowest = 1\.9 is above the highest speed of its strokes"
    ):
        plan_method("single", with_slowest(arm, {"turn": LowestSpeed(1.9, 1.3)}), None, 1)


def test_speeds_are_printed_in_the_units_of_their_joints(make_arm):
    slide = load_mechanism(make_arm(base="slide"))
    found = {name: LowestSpeed(0.01, 0.007) for name in slide.names}
    said = [
        f"{name} 0.01 {'m/s' if slides else 'rad/s'} (not 0.007)"
        for name, slides in zip(slide.names, slide.prismatic, strict=True)
    ]
    assert slide.prismatic.any()
    assert lowest_sentence(found, slide) == ", ".join(said)


@pytest.mark.slow
def test_a_run_without_strokes_is_refused(make_arm, make_plan, tmp_path):
    arm = make_arm()
    plan = make_plan(arm)
    run = load_run(drive_plan(arm, plan, tmp_path, 1))
    with pytest.raises(InputError, match="no strokes with planned speeds"):
        lowest_speeds(replace(run, record={**run.record, "plan": None}))


@pytest.mark.usefixtures("no_figures")
@pytest.mark.slow
def test_a_campaign_after_a_search_has_no_stick_slip(make_arm, tmp_path, monkeypatch):
    monkeypatch.setattr(lowest_speed_search, "_TIME", 2.5)
    arm, said, shown = make_arm(loop(3.0, 4.5)), [], []
    operator = Operator(
        lambda plans: shown.append(list(plans)), say=lambda *words: said.append(words)
    )
    options = CampaignOptions(("turn",), seed=1, fit=PLAIN, method="single", search=True)
    with Few(postures=1, speeds=6).used():
        found = calibrate(arm, tmp_path / "found", options, operator)
    run = load_run(find_runs(tmp_path / "found")[0])
    assert run.purpose == "lowest-speed"
    assert said == [("lowest", lowest_sentence(lowest_speeds(run), load_mechanism(arm)))]
    slowest = lowest_speeds(run)["turn"].held
    plan = read_plan(tmp_path / "found" / "plan.toml")
    assert [[one.purpose for one in plans] for plans in shown] == [["lowest-speed", "fit"], ["fit"]]
    assert shown[1] == [plan] != [shown[0][1]]  # consent was given to the driven plan
    assert min(s.speed for s in plan.segments if s.joint == "turn") >= slowest
    assert not sticks(found.result.findings)


def sticks(findings: tuple[Finding, ...]) -> bool:
    return any(finding.kind == "stick-slip" and finding.joint == "turn" for finding in findings)


def test_a_lowest_speed_for_all_joints_does_not_bound_the_search(make_arm):
    """Neither does a lowest speed of a single joint."""
    shared = make_arm({"joints": {"default": {"slowest": 0.3}}})
    assert plan_lowest_speed(shared).segments == plan_lowest_speed(make_arm()).segments
