"""The warm-up run heats, rests and heats; from its log `fit` finds how friction changes with heat,
with and without a sensor.
"""

from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
import pytest

from stribeck import Calibration, load_run
from stribeck.drivers.simulation.friction_heat import HeatTruth
from stribeck.experiments.cli.app import run
from stribeck.experiments.methods.heat_rest_heat import LEVELS, plan_heat_rest_heat
from stribeck.experiments.plans.check_plan import check_plan
from stribeck.experiments.plans.plan import Plan, read_plan, write_plan
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import InputError
from tests.without_figures import without_figures

HEAT = {"warming": 4.0, "time_constant": 15.0}
WARM = {
    "driver": {"rate": 100.0},
    "joints": {"turn": {"bearing": None}},
    "simulation": {
        "torque_noise": 0.02,
        "joints": {
            "turn": {"viscous": 5.0, "heat": {**HEAT, "sensor": False}},
            "lift": {"viscous": 5.0, "heat": HEAT},
        },
    },
}


@pytest.fixture(scope="module")
def campaign(make_arm, tmp_path_factory) -> Path:
    """Campaign folder with one warm-up run of an arm of which only `lift` has a
    sensor, and its fit in `fit`.
    """
    out = tmp_path_factory.mktemp("warm") / "out"
    arm = str(make_arm(WARM).path)
    assert (
        run(
            [
                "run",
                arm,
                "--experiment",
                "warm-up",
                "--budget",
                "120s",
                "--yes",
                "-q",
                "-o",
                str(out),
            ]
        )
        == 0
    )
    with redirect_stdout(StringIO()) as console, without_figures():
        assert (
            run(["fit", str(out), "--law", "stribeck", "--load", "none", "-o", str(out / "fit")])
            == 0
        )
    (out / "console.txt").write_text(console.getvalue(), encoding="utf-8")
    return out


@pytest.mark.slow
def test_the_plan_heats_rests_and_heats_at_interleaved_speeds(make_arm, tmp_path) -> None:
    arm = make_arm()
    plan = plan_heat_rest_heat(arm, seed=3, time=300.0)
    (rest,) = [k for k, segment in enumerate(plan.segments) if segment.dwell]
    assert plan.segments[rest].dwell == pytest.approx(100.0)
    assert plan.robot_time == pytest.approx(300.0, rel=0.15)
    halves = [
        [segment.speed for segment in part if segment.speed and segment.mirror_of is None]
        for part in (plan.segments[:rest], plan.segments[rest:])
    ]
    assert halves[0] != halves[1]
    for half in halves:
        assert len(half) % len(LEVELS) == 0
        for k in range(0, len(half), len(LEVELS)):
            assert len(set(half[k : k + len(LEVELS)])) == len(LEVELS)
    write_plan(plan, tmp_path / "plan.toml")
    assert read_plan(tmp_path / "plan.toml") == plan


def test_too_short_a_time_and_a_negative_rest_are_refused(make_arm) -> None:
    arm = make_arm()
    with pytest.raises(
        InputError, match=r"30 s of robot time are too short to heat, rest and heat.*allow at least"
    ):
        plan_heat_rest_heat(arm, time=30.0)
    plan = plan_heat_rest_heat(arm, time=150.0)
    wrong = Plan(
        **{
            **vars(plan),
            "segments": tuple(
                segment
                if segment.dwell is None
                else type(segment)(**{**vars(segment), "dwell": -1.0})
                for segment in plan.segments
            ),
        }
    )
    with pytest.raises(InputError, match="dwell = -1 s"):
        check_plan(wrong, arm, load_mechanism(arm))


@pytest.mark.slow
def test_the_arm_rests_for_a_third_of_the_time(campaign) -> None:
    (folder,) = (campaign / "runs").iterdir()
    recorded = load_run(folder, ("q", "dq", "temperature"))
    still = np.abs(recorded.signals["dq"]).max(axis=1) < 1e-3
    longest = max(map(len, "".join("r" if rests else " " for rests in still).split()))
    assert longest / 100.0 == pytest.approx(40.0, rel=0.05)
    assert np.isnan(recorded.signals["temperature"][:, 0]).all()
    assert np.ptp(recorded.signals["temperature"][:, 1]) > 5.0


@pytest.mark.slow
def test_both_joints_get_their_dependence(campaign) -> None:
    calibration = Calibration.load(campaign / "fit")
    turn, lift = (calibration.joints[name].temperature for name in ("turn", "lift"))
    assert turn.heating is not None
    assert turn.heating.times[0] == pytest.approx(15.0, rel=0.25)
    assert lift.heating is None
    truth = HeatTruth.model_validate(HEAT)
    for t in lift.range:
        true = truth.factors(t)[3] / truth.factors(lift.reference)[3]
        assert lift.factors(t)[1] == pytest.approx(true, rel=0.05)


@pytest.mark.slow
def test_friction_of_both_is_that_of_the_truth_over_the_measured_range(campaign) -> None:
    """The truth of `turn` without its sensor: the hottest state stands for the
    temperature that it reached.
    """
    calibration, w = Calibration.load(campaign / "fit"), np.linspace(0.2, 1.2, 6)
    joint, truth = calibration.joints["lift"], HeatTruth.model_validate(HEAT)
    for t in (*joint.temperature.range, joint.temperature.reference):
        dry, _, _, viscous = truth.factors(t)
        assert joint.torque(w, np.zeros(6), t) == pytest.approx(
            2.0 * dry + 5.0 * viscous * w, rel=0.03
        )
    joint = calibration.joints["turn"]
    cold = joint.torque(w, np.zeros(6), 0.0)
    dry, static, slow, viscous = truth.factors(truth.ambient)
    true = 3.0 * dry + 1.5 * static * np.exp(-((w / (0.08 * slow)) ** 2)) + 5.0 * viscous * w
    assert cold == pytest.approx(true, rel=0.05)
    assert np.all(np.abs(cold - true) <= joint.band(w, np.zeros(6), 0.0))


@pytest.mark.slow
def test_console_and_report_tell_the_dependence(campaign) -> None:
    text = (campaign / "console.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("warmth")]
    assert "turn: parameters hold at state" in lines[0]
    assert "time_constant" in lines[0]
    assert "lift: parameters hold at" in lines[1]
    assert "°C" in lines[1]
    page = (campaign / "fit" / "report.html").read_text(encoding="utf-8")
    section = page.split('<section id="temperature">')[1].split("</section>")[0]
    assert "time constant of self-heating" in section
    assert "viscous part: " in section
    assert section.count("parameters hold at") == 2
