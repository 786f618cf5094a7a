"""No plan of random arms leaves limits or box; the judge shares only the time law of a
segment with the planner.
"""

import tomllib
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest

from benchmarks.plans import INSIDE, Case, judge, judge_seed, random_case
from stribeck.experiments.methods.whole_arm import plan_whole_arm
from stribeck.experiments.plans.clear.clearance import ways_are_clear
from stribeck.experiments.plans.constant_speed_options import ConstantSpeed
from stribeck.experiments.recording.drive_plan import drive_plan
from stribeck.ident.arm.arm_tables import Workspace
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.log.run import load_run
from stribeck.ident.model.dynamics import joint_origins

# seeds of arms for which all of a campaign is planned; number 75 has shapes
WHOLE = {2, 75}
BOXED = 14  # an arm with a box and a short plan
SEEDS = (0, 2, 4, 5, 7, 9, 10, 11, 75)  # half of them can be moved


class TestRandomArms:
    @pytest.mark.slow
    def test_no_plan_leaves_limits_or_box(self):
        """Arms of ``python -m benchmarks plans``."""
        found = [judge_seed(seed, campaign=seed in WHOLE) for seed in SEEDS]
        assert {one.seed: one.broken for one in found if one.broken} == {}
        # not all arms may be refused
        assert sum(bool(one.kept) for one in found) >= 4
        assert any(one.kept.get("box", np.inf) < np.inf for one in found)
        assert sum(len(one.beside) for one in found) >= 1

    @pytest.mark.parametrize(
        ("name", "value", "limit"),
        [
            ("ACCELERATION_SHARE", 1.3, "acceleration"),
            ("MOVE_SHARE", 1.2, "velocity"),
            (
                "are_clear",
                lambda arm, mechanism, start, target, margin: np.ones(len(start), dtype=bool),
                "box",
            ),
        ],
    )
    @pytest.mark.slow
    def test_the_judge_detects_exceeded_limits(self, name, value, limit):
        modules = {
            "ACCELERATION_SHARE": ("plans.motion_profile", "plans.margins"),
            "MOVE_SHARE": ("plans.motion_profile",),
            "are_clear": ("plans.check_plan", "plans.clear.clearance"),
        }[name]
        patches = [patch(f"stribeck.experiments.{module}.{name}", value) for module in modules]
        for one in patches:
            one.start()
        try:
            detected = any(limit in judge_seed(seed, campaign=False).broken for seed in range(5))
        finally:
            for one in patches:
                one.stop()
        assert detected

    def test_the_judge_detects_a_target_outside_the_limits(self, make_arm, make_plan, tmp_path):
        arm = make_arm()
        case = Case(
            arm,
            tomllib.loads(arm.path.read_text(encoding="utf-8")) | {"workspace": {}},
            "",
            None,
            None,
            np.zeros(2),
        )
        made = make_plan(arm)
        assert judge(made, case, None)["position"] == pytest.approx(1.5 - 0.3)
        beyond = replace(made.segments[0], target=(0.2, 1.6))
        assert judge(replace(made, segments=(beyond,)), case, None)["position"] == pytest.approx(
            -0.1
        )
        assert judge(made, case, np.array([0.0, 1.7]))["position"] == pytest.approx(-0.2)


@pytest.mark.slow
def test_the_simulated_arm_stays_inside_limits_and_box(tmp_path):
    """Positions measured through supervisor, tracker and physics stay inside limits and box."""
    case: Case = random_case(BOXED, tmp_path, 0.0)
    options = ConstantSpeed(postures=1, speeds=2, longest_stroke=3.0)
    made = plan_whole_arm(case.arm, None, BOXED, options)
    run = load_run(drive_plan(case.arm, made, tmp_path / "out"), ("q", "tau"))
    assert run.closed["reason"] == "done"
    q = run.signals["q"]
    low, high = np.array([joint["position"] for joint in case.table["joints"].values()]).T
    assert (q > low - 2e-3).all()
    assert (q < high + 2e-3).all()
    points = joint_origins(load_mechanism(case.arm), q)[:, 1:]
    box = np.array(case.table["workspace"]["box"])
    assert (points > box[:, 0] - 2e-3).all()
    assert (points < box[:, 1] + 2e-3).all()


class TestBox:
    """The boom of the small arm moves on an arc of radius 0.362 m about the column."""

    RADIUS = float(np.hypot(0.35, 0.11))

    @pytest.mark.parametrize(
        ("wall", "clear"), [(RADIUS + 1e-6, True), (RADIUS - 2.0 * INSIDE, False)]
    )
    def test_walls_between_sampled_places_are_detected(self, make_arm, wall, clear):
        """A long path deviates by several millimetres between 33 places; here it just touches
        the wall or just misses it.
        """
        arm = make_arm({"workspace": {"box": [[-1.0, 1.0], [-1.0, 1.0], [0.0, 1.0]]}})
        arm = replace(arm, workspace=Workspace(box=((-1.0, float(wall)), (-1.0, 1.0), (0.0, 1.0))))
        for begin in np.linspace(-2.4, -1.0, 7):
            found = ways_are_clear(
                arm, load_mechanism(arm), np.array([[begin, 0.0]]), np.array([[begin + 3.4, 0.0]])
            )
            assert found.tolist() == [clear]

    def test_a_prismatic_first_joint_is_checked(self, make_arm):
        """Its own origin moves and may leave the box."""
        arm = make_arm(base="slide")
        mechanism = load_mechanism(arm)
        plate = joint_origins(mechanism, np.array([[0.0], [0.3]]))
        assert not np.allclose(plate[0, 0], plate[1, 0])
        boxed = replace(arm, workspace=Workspace(box=((-0.1, 0.6), (-1.0, 1.0), (0.0, 2.0))))
        assert ways_are_clear(boxed, mechanism, np.array([[0.0]]), np.array([[0.3]])).all()
        boxed = replace(arm, workspace=Workspace(box=((-0.05, 0.6), (-1.0, 1.0), (0.0, 2.0))))
        assert not ways_are_clear(boxed, mechanism, np.array([[0.0]]), np.array([[-0.3]])).any()

    def test_a_fixed_first_joint_need_not_be_inside(self, make_arm):
        arm = make_arm()
        # the column stands at 0.2
        boxed = replace(arm, workspace=Workspace(box=((-1.0, 1.0), (-1.0, 1.0), (0.25, 1.0))))
        assert ways_are_clear(
            boxed, load_mechanism(arm), np.zeros((1, 2)), np.full((1, 2), 0.1)
        ).all()

    def test_without_a_box_every_path_is_clear(self, make_arm):
        arm = make_arm()
        assert (
            ways_are_clear(arm, load_mechanism(arm), np.zeros((3, 2)), np.ones((3, 2))).tolist()
            == [True] * 3
        )
