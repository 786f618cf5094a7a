"""What a fit says of itself on data whose truth is known: intervals,
verdicts, band, prediction, lmfit.

The truth is written out and not taken from the package, see `round_trip_points`.
"""

import sys
from dataclasses import dataclass

import numpy as np
import pytest

from stribeck import FitResult, fit_friction
from stribeck.ident.errors import InputError
from tests.coverage import fewest
from tests.round_trip_points import friction, points, random_truth

CASES = 40


@dataclass(frozen=True)
class Case:
    truth: dict[str, float]
    fit: FitResult
    fresh_rmse: float


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    """Random joints with Stribeck effect, from nearly white to strongly correlated errors."""
    out = []
    for seed in range(CASES):
        rng = np.random.default_rng(seed)
        truth, p = random_truth(rng), points(members=int(rng.integers(2, 6)))
        scatter, noise = rng.uniform(0.002, 0.02), rng.uniform(0.005, 0.05)
        clean = friction(p.w, **truth)
        fit = fit_friction(
            p.w, p.measured(rng, clean, scatter, noise), group=p.group, law="stribeck"
        )
        fresh = [p.measured(rng, clean, scatter, noise) - fit.predict(p.w) for _ in range(5)]
        out.append(Case(truth, fit, float(np.sqrt(np.mean(np.square(fresh))))))
    return out


@pytest.mark.slow
@pytest.mark.parametrize("name", ["coulomb", "static", "viscous", "stribeck_velocity"])
def test_intervals_cover_the_truth_as_often_as_promised(cases: list[Case], name: str) -> None:
    inside = [
        case.fit.parameters[name].low <= case.truth[name] <= case.fit.parameters[name].high
        for case in cases
    ]
    assert sum(inside) >= fewest(CASES)


@pytest.mark.parametrize("name", ["coulomb", "static", "viscous", "stribeck_velocity"])
def test_standard_errors_are_the_size_of_the_errors(cases: list[Case], name: str) -> None:
    """Covering intervals could be far too wide; in standard errors the
    deviation has mean 0 and size 1.
    """
    estimates = [case.fit.parameters[name] for case in cases]
    deviation = [
        (p.value - case.truth[name]) / p.std_error for p, case in zip(estimates, cases, strict=True)
    ]
    # errors of median and deviation of so many cases are 1.25 and 1.17 over the root of their number
    assert abs(np.median(deviation)) < 2.0 * 1.25 / np.sqrt(CASES)
    assert abs(np.median(np.abs(deviation)) / 0.6745 - 1.0) < 2.5 * 1.17 / np.sqrt(CASES)


@pytest.mark.slow
def test_the_band_covers_the_true_curve(cases: list[Case]) -> None:
    w = np.array([-1.0, -0.1, -0.01, 0.005, 0.02, 0.05, 0.3, 1.1])
    inside = [
        np.abs(case.fit.predict(w) - friction(w, **case.truth)) <= case.fit.band(w)
        for case in cases
    ]
    # points of one curve are held together or not at all
    assert np.sum(np.mean(inside, axis=1)) >= fewest(CASES)


def test_held_out_error_is_what_new_round_trips_show(cases: list[Case]) -> None:
    ratio = [case.fit.held_out_rmse / case.fresh_rmse for case in cases]
    assert 0.9 < np.median(ratio) < 1.15
    assert np.mean([case.fit.held_out_rmse > case.fit.rmse for case in cases]) > 0.95


def test_a_verdict_says_how_wide_the_interval_is(cases: list[Case]) -> None:
    """`identified` promises a 95 % half width of at most 15 % of the value."""
    verdicts = set()
    noisy = [noisy_fit(seed) for seed in range(10)]
    for parameter in (
        p for fit in [case.fit for case in cases] + noisy for p in fit.parameters.values()
    ):
        if parameter.verdict == "at bound":
            continue
        assert parameter.low < parameter.value < parameter.high
        half = (parameter.high - parameter.low) / 2.0 / parameter.value
        assert (parameter.verdict == "identified") == (half <= 0.15)
        assert (parameter.verdict == "unidentifiable") == (half > 1.0)
        verdicts.add(parameter.verdict)
    assert {"identified", "weak"} <= verdicts


def noisy_fit(seed: int) -> FitResult:
    rng, p = np.random.default_rng(seed), points()
    tau = p.measured(rng, friction(p.w, coulomb=3.0, viscous=0.5), 0.05, 0.3)
    return fit_friction(p.w, tau, group=p.group, law="coulomb-viscous")


def test_a_law_with_load_is_not_predicted_without_one() -> None:
    """Silence would mean friction at no load, which is another number
    than any that was measured.
    """
    p = points(loads=(5.0, 15.0, 30.0), repeats=1)
    tau = friction(p.w, p.load, coulomb=3.0, viscous=2.0, coulomb_coefficient=0.1)
    fit = fit_friction(p.w, tau, p.load, p.group)
    assert fit.load == "load"
    with pytest.raises(InputError, match="load"):
        fit.predict([0.1])


def test_prediction_is_the_law_at_the_fitted_values(cases: list[Case]) -> None:
    fit, w = cases[0].fit, np.array([-0.7, -0.02, 0.0, 0.004, 0.3])
    np.testing.assert_allclose(fit.predict(w), friction(w, **fit.values), rtol=1e-12)
    assert (fit.band(w)[[0, 1, 3, 4]] > 0.0).all()


@pytest.mark.slow
def test_the_lmfit_result_is_made_when_asked_and_agrees(cases: list[Case]) -> None:
    for case in cases[:2]:
        report = case.fit.lmfit.fit_report()
        for name, value in case.fit.values.items():
            assert name in report
            assert case.fit.lmfit.params[name].value == pytest.approx(value, rel=1e-5)
    interval = cases[0].fit.lmfit.conf_interval(sigmas=[1.0])
    assert set(interval) == set(cases[0].truth)


def test_a_fit_does_not_import_lmfit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its import takes longer than a hundred fits."""
    monkeypatch.setitem(sys.modules, "lmfit", None)  # an import of it fails
    w = np.geomspace(0.01, 1.0, 20)
    assert fit_friction(w, 5.0 + 3.0 * np.exp(-((w / 0.05) ** 2)) + w).law


def test_units_go_with_the_parameters(cases: list[Case]) -> None:
    units = {name: parameter.unit for name, parameter in cases[0].fit.parameters.items()}
    assert units == {
        "coulomb": "N·m",
        "static": "N·m",
        "viscous": "N·m·s/rad",
        "stribeck_velocity": "rad/s",
    }
