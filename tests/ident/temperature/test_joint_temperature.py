"""Temperature in a calibration: file, friction at temperatures, joints at one temperature,
and the stage of `identify`.
"""

from copy import copy
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from stribeck import Calibration, compare, identify, load_run
from stribeck.ident.calibration.joint_calibration import JointCalibration
from stribeck.ident.errors import InputError
from stribeck.ident.export.numbers import calibration_table, to_csv
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.identification import identify_inertia
from stribeck.ident.identification.choose_runs import ChosenRuns, choose_runs, options_for
from stribeck.ident.identification.fit_joints import fit_joints
from stribeck.ident.identification.fit_temperatures import fit_temperatures
from stribeck.ident.identification.reduce_runs import ReducedRuns, reduce_runs
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.temperature.joint_temperature import JointTemperature
from tests.places import ROOT

GOLDEN = ROOT / "data" / "golden"
SLOPES = {
    "coulomb_temperature_slope": Parameter(-0.004, 2e-4, -0.0044, -0.0036, "1/K", "identified"),
    "viscous_temperature_decay": Parameter(20.0, 1.0, 18.0, 22.0, "K", "identified"),
    "viscous_temperature_floor": Parameter(0.3, 0.02, 0.26, 0.34, "1", "identified"),
}
WARM = JointTemperature(
    30.0,
    "linear",
    "exponential",
    SLOPES,
    (20.0, 40.0),
    0.02,
    0.4,
    ((10.0, 0.1), (30.0, 0.0), (50.0, 0.08)),
)


def golden(temperature: JointTemperature | None = WARM) -> Calibration:
    found = Calibration.load(GOLDEN)
    return replace(found, joints={"hinge": replace(found.joints["hinge"], temperature=temperature)})


def test_a_file_keeps_temperature(tmp_path: Path) -> None:
    path = tmp_path / "calibration.toml"
    golden().save(path)
    (tmp_path / golden().model.file).write_bytes((GOLDEN / golden().model.file).read_bytes())
    back = Calibration.load(path)
    assert back.joints["hinge"].temperature == WARM
    assert back.friction([0.3], [0.1], temperature=45.0) == pytest.approx(
        golden().friction([0.3], [0.1], temperature=45.0)
    )


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('viscous = "exponential"', 'viscous = "cubic"', "hinge.temperature.viscous: .*cubic"),
        ('coulomb = "linear"', 'coulomb = "none"', "coulomb_temperature_slope"),
        (
            'coulomb = "linear"',
            'coulomb = "quadratic"',
            "coulomb_temperature_curvature has no value",
        ),
        ("[[10.0, 0.1]", "[[90.0, 0.1]", "must be in ascending order"),
    ],
)
def test_impossible_temperature_tables_are_refused(
    old: str, new: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "calibration.toml"
    golden().save(path)
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError, match=said):
        Calibration.load(path)


def test_friction_takes_temperature_of_all_joints_or_each() -> None:
    calibration, q, dq = golden(), np.zeros((3, 1)), np.array([[-0.5], [0.02], [0.8]])
    plain = golden(None).friction(q, dq)
    assert np.array_equal(calibration.friction(q, dq), plain)
    for reference in (30.0, np.nan, [np.nan], [[30.0], [np.nan], [30.0]]):
        assert calibration.friction(q, dq, temperature=reference) == pytest.approx(plain)
    warm = calibration.friction(q, dq, temperature=40.0)
    assert np.all(np.abs(warm) < np.abs(plain))
    assert calibration.friction(q, dq, temperature=[[30.0], [40.0], [50.0]])[1] == pytest.approx(
        warm[1]
    )
    assert calibration.friction(q[0], dq[0], temperature=40.0) == pytest.approx(warm[0])
    assert np.array_equal(golden(None).friction(q, dq, temperature=40.0), plain)
    with pytest.raises(InputError, match=r"temperature has shape \(2,\)"):
        calibration.friction(q, dq, temperature=[30.0, 40.0])


def test_a_calibration_at_a_temperature_has_its_friction_and_a_wider_band() -> None:
    calibration, w = golden(), np.array([-0.7, 0.01, 0.3, 0.9])
    joint, warm = calibration.joints["hinge"], calibration.at_temperature(45.0).joints["hinge"]
    load = np.full(len(w), 2.0)
    assert warm.torque(w, load) == pytest.approx(joint.torque(w, load, 45.0))
    assert warm.temperature is None
    assert np.all(
        warm.band(w, load) > calibration.at_temperature(31.0).joints["hinge"].band(w, load)
    )
    assert np.all(joint.band(w, load, 60.0) > joint.band(w, load, 45.0))
    assert calibration.at_temperature(np.nan).joints["hinge"] is joint


def test_exports_and_comparison_tell_temperature() -> None:
    table = calibration_table(golden())["joints"]["hinge"]["temperature"]
    assert table["reference"] == 30.0
    assert table["parameters"]["viscous_temperature_decay"]["value"] == 20.0
    assert "viscous_temperature_decay" in to_csv(golden()).text
    warmer = replace(
        WARM,
        parameters={
            **SLOPES,
            "viscous_temperature_decay": replace(
                SLOPES["viscous_temperature_decay"], value=40.0, low=38.0, high=42.0
            ),
        },
    )
    found = compare(golden(), golden(warmer))
    assert [one.name for one in found.parameters if one.joint == "temperature of hinge"] == list(
        SLOPES
    )
    assert any("no temperature" in note for note in compare(golden(), golden(None)).notes)


@cache
def golden_once() -> tuple[ChosenRuns, ReducedRuns, object]:
    """The golden run with its points of round trips, and its inertia."""
    chosen = choose_runs([load_run(GOLDEN / "runs" / "constant-speed")])
    reduced = reduce_runs(chosen, options_for(chosen, Options(law="stribeck")))
    return chosen, *identify_inertia.identify_inertia(chosen, reduced)


def golden_reduced(option: str) -> tuple[ChosenRuns, ReducedRuns, object]:
    """The same with points that a test may change, and an option of temperature."""
    chosen, made, inertia = golden_once()
    reduced = copy(made)
    options = options_for(chosen, Options(law="stribeck", temperature=option))
    vars(reduced).update(options=options, points=made.points.copy())
    return chosen, reduced, inertia


def stage(
    temperature: np.ndarray | None, option: str = "auto", hot: bool = True
) -> tuple[ReducedRuns, JointCalibration, object]:
    """Stage `fit_temperatures` for the golden run with other temperatures, at
    which its friction changes.
    """
    chosen, reduced, inertia = golden_reduced(option)
    points = reduced.points
    if temperature is not None:
        t = np.interp(
            points["t"],
            np.linspace(points["t"].min(), points["t"].max(), len(temperature)),
            temperature,
        )
        points["temperature"] = t
        if hot:
            points["odd"] *= 1.0 - 0.01 * (t - 30.0)
    fitted = fit_joints(chosen, reduced, inertia)
    return reduced, fitted, fit_temperatures(chosen, reduced, fitted, inertia)


@pytest.mark.slow
def test_temperature_that_rises_and_falls_is_fitted_and_drift_is_explained() -> None:
    _, fitted, found = stage(np.array([20.0, 40.0, 22.0, 38.0]))
    joint = found.joints["hinge"]
    assert joint.coulomb != "none"
    at_reference = 1.0 - 0.01 * (joint.reference - 30.0)
    assert joint.factors(20.0)[0] == pytest.approx(1.1 / at_reference, rel=0.05)
    again = found.applied(fitted).joints["hinge"]
    assert again.fit.held_out_rmse < 0.5 * fitted.joints["hinge"].fit.held_out_rmse


@pytest.mark.slow
def test_a_steady_warm_up_is_left_to_the_drift_unless_asked_for() -> None:
    assert stage(np.array([20.0, 40.0]))[2].joints == {}
    assert "hinge" in stage(np.array([20.0, 40.0]), "any")[2].joints


@pytest.mark.slow
def test_where_friction_does_not_change_nothing_is_claimed_and_the_reason_is_told() -> None:
    (finding,) = stage(np.array([20.0, 40.0, 22.0, 38.0]), "any", hot=False)[2].findings
    assert "no temperature law predicts left-out round trips better than none" in finding.text


@pytest.mark.slow
def test_the_option_changes_nothing_where_temperature_has_no_effect() -> None:
    run = load_run(GOLDEN / "runs" / "constant-speed")
    auto, none = (
        identify([run], Options(law="stribeck", temperature=name)).calibration.joints["hinge"]
        for name in ("auto", "none")
    )
    assert auto.values == none.values
    assert auto.temperature is None


@pytest.mark.slow
def test_several_days_are_pooled_by_their_temperature() -> None:
    """Runs of ascending days, each at a temperature of its own: temperature is told from
    the time within each run.
    """
    chosen, reduced, inertia = golden_reduced("auto")
    day = np.arange(len(reduced.points)) % 3
    reduced.points["temperature"] = 20.0 + 8.0 * day + reduced.points["t"] / 200.0
    reduced.points["run"] = [f"day {k}" for k in day]
    reduced.points["odd"] *= 1.0 - 0.01 * (reduced.points["temperature"] - 30.0)
    fitted = fit_joints(chosen, reduced, inertia)
    found = fit_temperatures(chosen, reduced, fitted, inertia)
    joint = found.joints["hinge"]
    at_reference = 1.0 - 0.01 * (joint.reference - 30.0)
    assert joint.factors(joint.reference - 10.0)[0] == pytest.approx(
        1.0 + 0.1 / at_reference, rel=0.03
    )
    again = found.applied(fitted).joints["hinge"].fit
    assert again.held_out_rmse < 0.5 * fitted.joints["hinge"].fit.held_out_rmse


@pytest.mark.slow
def test_a_log_without_rests_tells_why_no_self_heating_is_claimed() -> None:
    found = stage(None, "self-heating")[2]
    assert found.joints == {}
    assert found.findings[0].kind == "warmth"
    assert "hinge: no dependence on temperature: " in found.findings[0].text
