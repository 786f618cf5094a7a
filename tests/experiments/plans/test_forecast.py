"""What a plan says that it will tell, judged by the run that follows it."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from stribeck.experiments.calibrate import calibrate
from stribeck.experiments.campaign_options import CampaignOptions
from stribeck.experiments.cli.screen.plan_text import forecast_table
from stribeck.experiments.errors import PlanError
from stribeck.experiments.methods.refine import precision
from stribeck.experiments.methods.registry import METHODS, plan_method
from stribeck.experiments.methods.whole_arm import WHOLE_ARM
from stribeck.experiments.plans.constant_speed_options import Goal
from stribeck.experiments.plans.forecast import (
    check_separable,
    forecast,
    points_ahead,
    richest,
    ways_of,
)
from stribeck.experiments.plans.plan import Plan, read_plan, write_plan
from stribeck.experiments.plans.speeds_and_postures import Design
from stribeck.experiments.recording.drive_plan import drive_plan
from stribeck.ident.arm.arm_file import ArmFile, load_arm
from stribeck.ident.arm.built_in import data_dir
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.fit.fit_result import FitResult
from stribeck.ident.fit.information import Expectation, learnt
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.identify import Identification, identify
from stribeck.ident.laws.load_components import load_at
from stribeck.ident.log.campaign_folder import find_runs
from stribeck.ident.log.reduction.round_trips import reduce_run
from stribeck.ident.log.run import Run, load_run
from tests.recorded import Recorded

LAW = Options(law="stribeck")  # of the truth
QUANTILES = (0.05, 0.5, 0.95)


@pytest.fixture(scope="module")
def followed(recorded: Recorded) -> tuple[ArmFile, Plan, Run]:
    """The default plan of lab6, and the run that came of it."""
    made = recorded.main_job().folder
    return load_arm("lab6"), read_plan(made / "plan.toml"), load_run(find_runs(made)[0])


@pytest.fixture(scope="module")
def found(followed: tuple[ArmFile, Plan, Run]) -> Identification:
    return identify([followed[2]], LAW)


@pytest.mark.slow
def test_points_are_those_of_the_run(followed: tuple[ArmFile, Plan, Run]) -> None:
    """As many round trips and points of every joint, at the same speeds and loads."""
    arm, plan, run = followed
    mechanism = load_mechanism(arm)
    ahead = points_ahead(
        ways_of(plan, Design.of(arm, None, WHOLE_ARM)), Design.of(arm, None, WHOLE_ARM)
    )
    points = reduce_run(run, mechanism).points
    for name in mechanism.names:
        own, came = (table[table["joint"] == name] for table in (ahead, points))
        trips = [table["segment"].nunique() for table in (own, came)]
        others = int(0.06 * trips[0])
        assert abs(trips[0] - trips[1]) <= others
        assert len(came) == pytest.approx(len(own), rel=0.15)
        for column in ("speed", "torque", "bending", "gravity"):
            planned, measured = (
                table.groupby("segment")[column].mean().to_numpy() for table in (own, came)
            )
            low, high = shifted_quantiles(planned, others)
            found = np.quantile(measured, QUANTILES)
            tolerance = 0.01 * np.ptp(own[column]) + 1e-3  # of a mean over a trip
            assert (found > low - tolerance).all(), f"{name} {column}"
            assert (found < high + tolerance).all(), f"{name} {column}"


def shifted_quantiles(
    values: NDArray[np.float64], others: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lowest and highest quantiles that are left when so many of the values are missing or other
    ones: each shifts the ranks by one at most.
    """
    share = others / (len(values) - 1)
    levels = (np.clip(np.array(QUANTILES) + sign * share, 0.0, 1.0) for sign in (-1.0, 1.0))
    low, high = (np.quantile(values, level) for level in levels)
    return low, high


@pytest.mark.slow
def test_intervals_are_those_of_the_fit_once_friction_is_known(
    followed: tuple[ArmFile, Plan, Run], found: Identification
) -> None:
    """The same plan again by what the first run told: half of what was left open is
    predicted to remain, by 1/sqrt(2).
    """
    arm, plan, _ = followed
    thought = {
        name: replace(learnt(joint.fit), earlier=None) for name, joint in found.joints.items()
    }
    again = forecast(plan, Design.of(arm, None, WHOLE_ARM), thought)
    ratio = {
        (told.joint, name): width / _half_width(found.joints[told.joint].fit, name)
        for told in again.predicted
        if told.joint != "j4"  # has no Stribeck effect
        for name, width in told.parameters.items()
    }
    assert set(thought) == {told.joint for told in again.predicted}
    assert 0.6 < np.median(list(ratio.values())) < 1.5
    assert all(0.25 < value < 4.0 for value in ratio.values()), ratio


def _half_width(fit: FitResult, name: str) -> float:
    return fit.parameters[name].half_width / fit.values[name]


@pytest.mark.slow
def test_nobody_needs_to_have_measured_for_a_forecast(
    followed: tuple[ArmFile, Plan, Run], found: Identification
) -> None:
    """Expected of geared arms in general, right within a factor for this one."""
    _, plan, _ = followed
    told = richest(plan.predicted)
    assert set(told) == set(found.joints)
    for name, joint in found.joints.items():
        width = _half_width(joint.fit, "viscous")
        assert 0.2 < told[name].parameters["viscous"] / width < 8.0, name
        assert 0.0 < told[name].friction < 0.3


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.slow
def test_a_file_keeps_what_was_predicted(
    make_arm: Callable[..., ArmFile], tmp_path: Path, method: str
) -> None:
    plan = plan_method(method, make_arm(), seed=1)
    assert plan.predicted
    path = tmp_path / "plan.toml"
    write_plan(plan, path)
    assert read_plan(path) == plan


def test_a_plan_that_cannot_separate_the_parameters_is_refused(
    make_arm: Callable[..., ArmFile], make_plan: Callable[..., Plan]
) -> None:
    arm = make_arm()
    design = Design.of(arm, None, WHOLE_ARM)
    check_separable(
        forecast(make_plan(arm, speeds=(0.05, 0.1, 0.2, 0.4, 0.8) * 4, way=0.8), design)
    )
    words = (
        r"round trips of turn cannot separate its friction parameters: .*viscous ± .*wider range"
    )
    with pytest.raises(PlanError, match=words):
        check_separable(forecast(make_plan(arm, speeds=(0.4, 0.41, 0.42), way=0.8), design))


@pytest.mark.slow
def test_a_velocity_limit_out_of_reach_is_none_to_expect_friction_by(
    make_arm: Callable[..., ArmFile], tmp_path: Path
) -> None:
    """Models state 1000 rad/s; the plan says which speeds there is room for, and the fit
    tells the friction there.
    """
    arm = make_arm({"driver": {"rate": 100.0}, "joints": {"turn": {"velocity": 1000.0}}})
    plan = plan_method("whole-arm", arm, ("turn",), 1, Goal(time=60.0))
    slower = plan.lowered[0]
    assert (slower.joint, slower.wanted) == ("turn", pytest.approx(850.0))
    assert slower.speed == pytest.approx(
        max(
            abs(segment.speeds(start, plan.names)[0])
            for start, segment in plan.legs()
            if segment.kind != "move"
        ),
        rel=0.02,
    )
    fit = identify([load_run(drive_plan(arm, plan, tmp_path / "out", 1))], LAW).joints["turn"].fit
    told = next(told for told in plan.predicted if (told.joint, told.load) == ("turn", "none"))
    assert (
        max(fit.band(w := np.geomspace(fit.data.w.min(), fit.data.w.max(), 20)) / fit.predict(w))
        < 2.0 * told.friction
    )


@pytest.mark.slow
def test_joints_are_listed_in_the_order_of_the_arm(followed: tuple[ArmFile, Plan, Run]) -> None:
    plan = followed[1]
    by_precision = replace(
        plan, predicted=tuple(sorted(plan.predicted, key=lambda told: told.joint, reverse=True))
    )
    assert list(forecast_table(by_precision, 0.05).columns[0].cells) == list(plan.names)


@pytest.mark.slow
def test_it_is_said_what_was_not_reached(found: Identification) -> None:
    assert precision(found, ("j1", "j2"), 1.0, "").startswith("95 % half width of friction: j1 ")
    assert "yet" not in precision(found, ("j1", "j2"), 1.0, "")
    assert "target of 0.001 % not reached for j1, j2: no time" in precision(
        found, ("j1", "j2"), 1e-5, "no time"
    )


@pytest.mark.slow
class TestGoals:
    """`--target` and `--budget`."""

    @pytest.mark.slow
    def test_the_target_is_reached_in_less_time_than_the_whole_grid_takes(
        self, followed: tuple[ArmFile, Plan, Run], tmp_path: Path
    ) -> None:
        plan = followed[1]
        folder = Path(shutil.copytree(data_dir() / "arms" / "lab6", tmp_path / "arm"))
        text = (folder / "lab6.toml").read_text(encoding="utf-8")
        text = text.replace("rate = 250.0", "rate = 100.0")
        (folder / "lab6.toml").write_text(text, encoding="utf-8")
        arm = load_arm(folder / "lab6.toml")
        delivery = calibrate(
            arm, tmp_path / "out", CampaignOptions(("j6",), seed=1, fit=LAW, target=0.05)
        )
        fits = {name: joint.fit for name, joint in delivery.result.joints.items()}
        assert delivery.robot_time < 0.5 * plan.robot_time
        for name, fit in fits.items():
            own = delivery.result.points[delivery.result.points["joint"] == name]
            speed = own["speed"].to_numpy(dtype=float)
            load = load_at(own, fit.load, fit.values)
            assert np.max(fit.interval(speed, load) / fit.predict(speed, load)) <= 0.05 + 1e-9, name

    def test_no_plan_fits_into_a_moment(
        self, followed: tuple[ArmFile, Plan, Run], tmp_path: Path
    ) -> None:
        with pytest.raises(
            PlanError, match=r"5 s of robot time are too short; the shortest plan takes \d+ s"
        ):
            calibrate(followed[0], tmp_path / "out", CampaignOptions(seed=1, budget=5.0))

    def test_the_first_plan_can_be_seen_before(
        self, cli: Callable[..., Any], followed: tuple[ArmFile, Plan, Run]
    ) -> None:
        first = json.loads(cli("plan", "lab6", "--seed", "1", "--json", "--target", "5%").out)
        assert first["robot_time_s"] < 0.5 * followed[1].robot_time
        refused = cli("plan", "lab6", "--experiment", "breakaway", "--budget", "90s")
        assert (refused.code, "--experiment breakaway" in refused.err) == (2, True)

    @pytest.mark.parametrize(
        ("option", "value"),
        [("--target", "5"), ("--target", "wide"), ("--budget", "3 parsecs"), ("--budget", "-3s")],
    )
    def test_what_is_no_goal(self, cli: Callable[..., Any], option: str, value: str) -> None:
        outcome = cli("calibrate", "lab6", option, value)
        assert (outcome.code, option in outcome.err) == (2, True)


@pytest.mark.slow
def test_further_plans_serve_what_is_weak(
    followed: tuple[ArmFile, Plan, Run], found: Identification
) -> None:
    """Of a joint that is known as well as wanted nothing is asked."""
    arm, *_ = followed
    known: dict[str, Expectation] = {
        name: learnt(joint.fit) for name, joint in found.joints.items()
    }
    plan = plan_method("single", arm, ("j3",), 2, goal=Goal(0.002, np.inf, 300.0), earlier=known)
    assert {
        segment.joint
        for segment in plan.segments
        if segment.kind == "stroke" and not segment.reference
    } <= {"j3"}
