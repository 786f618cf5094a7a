"""Speeds without room are lowered and reported; other speeds do not change; an arm without
room at any speed is refused.
"""

from dataclasses import replace

import numpy as np
import pytest

from stribeck.experiments.errors import PlanError
from stribeck.experiments.methods.one_joint_at_a_time import plan_constant_speed
from stribeck.experiments.methods.whole_arm import WHOLE_ARM, plan_whole_arm
from stribeck.experiments.plans.check_plan import check_plan
from stribeck.experiments.plans.constant_speed_options import ConstantSpeed
from stribeck.experiments.plans.make_room import LEAST_SPREAD
from stribeck.experiments.plans.plan import plan_table, read_plan, write_plan
from stribeck.experiments.plans.speeds_and_postures import Design
from stribeck.ident.arm.load_mechanism import load_mechanism
from tests.recorded import Few

pytestmark = pytest.mark.slow

TIGHT = [[-2, 0.355], [-0.2, 0.12], [-2, 2]]  # the boom, 0.37 m long, may turn by 0.05 rad


def within(box):
    """Changes to the limits of the arm."""
    return {"workspace": {"home": [0.0, 0.0], "box": box}}


def fastest(plan):
    """Highest speed of each joint in strokes and sweeps."""
    speeds = [
        segment.speeds(start, plan.names)
        for start, segment in plan.legs()
        if segment.kind in ("stroke", "sweep")
    ]
    return dict(zip(plan.names, np.max(speeds, axis=0).tolist(), strict=True))


@pytest.fixture
def cramped(make_arm):
    """An arm whose turning joint moves the boom out of the box in fast strokes, while
    the boom itself has room.
    """
    return make_arm(within([[-2, 2], [-0.15, 0.15], [-2, 2]]))


@pytest.mark.parametrize("make", [plan_constant_speed, plan_whole_arm])
def test_only_the_joint_without_room_is_slower_and_is_named(cramped, make):
    plan = make(cramped)
    assert check_plan(plan, cramped, load_mechanism(cramped)) > 0.0
    (lowered,) = plan.lowered
    assert lowered.joint == "turn"
    assert lowered.speed < 0.9 * lowered.wanted
    assert lowered.reason == "faster strokes from home have no room inside limits and box"
    speeds = fastest(plan)
    assert 0.9 * lowered.speed < speeds["turn"] <= 1.001 * lowered.speed
    roomy = make(replace(cramped, workspace=replace(cramped.workspace, box=None)))
    assert speeds["lift"] == pytest.approx(fastest(roomy)["lift"], rel=0.02)
    assert lowered.wanted == pytest.approx(fastest(roomy)["turn"], rel=0.02)


@pytest.mark.parametrize("options", [ConstantSpeed(), WHOLE_ARM])
def test_the_lowest_speed_does_not_change(cramped, options):
    """Only speeds without room are dropped."""
    make = plan_whole_arm if options is WHOLE_ARM else plan_constant_speed
    slow = Design.of(cramped, None, options).ends[0]
    legs = make(cramped).legs()
    slowest = min(
        segment.speeds(start, ("turn", "lift"))[0]
        for start, segment in legs
        if segment.joint == "turn"
    )
    assert slowest == pytest.approx(slow[0], rel=0.1)


@pytest.mark.parametrize("make", [plan_constant_speed, plan_whole_arm])
def test_a_plan_with_room_does_not_change(make_arm, make):
    plan = make(make_arm())
    assert plan.lowered == ()
    assert "lowered" not in plan_table(plan)


@pytest.mark.parametrize("make", [plan_constant_speed, plan_whole_arm])
def test_an_arm_without_room_for_the_least_range_of_speeds_is_refused(make_arm, make):
    arm = make_arm(within(TIGHT))
    with pytest.raises(
        PlanError,
        match=r"joint turn has no room for a stroke of \d\.\d\d rad.*; "
        r"slower strokes have no room either",
    ):
        make(arm)


@pytest.mark.parametrize("width", [0.12, 0.2])
def test_the_range_of_speeds_stays_wide_enough(make_arm, width):
    arm = make_arm(within([[-2, 2], [-width, width], [-2, 2]]))
    plan = plan_constant_speed(arm)
    assert plan.lowered
    slow = Design.of(arm, None, ConstantSpeed()).ends[0]
    assert all(
        lowered.speed >= 0.99 * LEAST_SPREAD * slow[plan.names.index(lowered.joint)]
        for lowered in plan.lowered
    )


@pytest.mark.parametrize("make", [plan_constant_speed, plan_whole_arm])
def test_speeds_are_lowered_for_overrun_after_a_silent_computer(make_arm, make):
    """At its highest speed the drive would overrun a limit; at a lower speed
    strokes and overrun have room.
    """
    arm = make_arm(
        {
            "driver": {"kind": "bench", "watchdog": 0.3},
            "joints": {"turn": {"position": [-0.9, 0.9], "velocity": 4.0}},
            "workspace": {"box": [[-2.0, 2.0]] * 3},
        }
    )
    plan = make(arm)
    check_plan(plan, arm, load_mechanism(arm))
    (lowered,) = plan.lowered
    assert lowered.joint == "turn"
    assert "if the computer stops sending" in lowered.reason


def test_a_plan_file_keeps_what_was_lowered(cramped, tmp_path):
    plan = plan_constant_speed(cramped)
    write_plan(plan, tmp_path / "plan.toml")
    assert read_plan(tmp_path / "plan.toml") == plan


class TestCommand:
    def test_plan_prints_lowered_speeds(self, cli, cramped):
        outcome = cli("plan", cramped.path, "--method", "single", "--json")
        assert outcome.code == 0, outcome.err
        said = " ".join(outcome.err.split())
        assert "note turn: strokes up to" in said
        assert (
            "instead of 1.7 rad/s: faster strokes from home have no room inside limits and box"
            in said
        )
        assert '"wanted": 1.7' in outcome.out

    @pytest.mark.usefixtures("no_figures")
    def test_calibrate_prints_lowered_speeds_and_continues(self, cli, make_arm, tmp_path):
        quick = {"turn": {"gear_ratio": 400.0, "rotor_inertia": 2.5e-6}}
        arm = make_arm(
            within([[-2, 2], [-0.15, 0.15], [-2, 2]]) | {"driver": {"rate": 100.0}, "joints": quick}
        )
        law = ("--law", "coulomb-viscous", "--load", "none")
        with Few(postures=1, speeds=5).used():
            outcome = cli(
                "calibrate", arm.path, "--joints", "turn", *law, "--out", tmp_path / "out"
            )
        assert outcome.code == 0, outcome.err
        assert "note turn: strokes up to" in " ".join(outcome.out.split())
        assert read_plan(tmp_path / "out" / "plan.toml").lowered
