"""Intervals: against the misfit, for data that do not limit a
parameter, and for drifting levels.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize_scalar, nnls

from stribeck import FitResult, fit_friction
from stribeck.ident.errors import FitError
from stribeck.ident.fit.intervals import correlation
from stribeck.ident.fit.law_fit import fit_law
from stribeck.ident.fit.points import FitPoints
from stribeck.ident.laws.law_table import LAWS
from tests.round_trip_points import Points, friction, nasty, points


def profile_misfit(fit: FitResult, name: str, value: float, p: "Points", tau: np.ndarray) -> float:
    """Brute force: the least misfit of the Stribeck law with one parameter held,
    in the fit's own weights.
    """

    def at(w_s: float) -> float:
        columns = LAWS["stribeck"].columns(p.w, None, {"stribeck_velocity": w_s})
        rest = tau
        if name != "stribeck_velocity":
            k = ("coulomb", "static", "viscous").index(name)
            rest, columns = tau - value * columns[:, k], np.delete(columns, k, axis=1)
        return nnls(fit.noise.whiten(columns, p.group), fit.noise.whiten(rest, p.group))[1] ** 2

    if name == "stribeck_velocity":
        return at(value)
    middle = np.log(fit.values["stribeck_velocity"])
    return float(
        minimize_scalar(
            lambda x: at(np.exp(x)),
            bounds=(middle - 0.7, middle + 0.7),
            method="bounded",
            options={"xatol": 1e-6},
        ).fun
    )


@pytest.mark.parametrize("name", ["coulomb", "static", "viscous", "stribeck_velocity"])
def test_the_misfit_rises_alike_to_both_ends_of_an_interval(name: str) -> None:
    """By at least the square of Student's t, which the noise model asks for."""
    rng, p = np.random.default_rng(11), points(repeats=1)
    tau = p.measured(
        rng, friction(p.w, coulomb=5.0, static=7.5, viscous=3.0, stribeck_velocity=0.04), 0.03, 0.1
    )
    fit = fit_friction(p.w, tau, group=p.group, law="stribeck")
    least = float(np.sum(fit.noise.whiten(fit.residual, p.group) ** 2))
    parameter = fit.parameters[name]
    below, above = (
        profile_misfit(fit, name, end, p, tau) - least for end in (parameter.low, parameter.high)
    )
    assert below == pytest.approx(above, rel=0.03)
    assert min(below, above) >= 0.97 * 2.306**2  # 12 round trips less 4 parameters


def test_a_stribeck_velocity_that_is_open_below_is_unidentifiable_and_says_so() -> None:
    """Only the slowest speed is still on the Stribeck branch."""
    p = points(np.geomspace(0.02, 1.2, 12), repeats=4)
    tau = p.measured(
        np.random.default_rng(0),
        friction(p.w, coulomb=5.0, static=8.0, viscous=3.0, stribeck_velocity=0.016),
        0.01,
        0.05,
    )
    found = fit_friction(p.w, tau, group=p.group, law="stribeck").parameters["stribeck_velocity"]
    assert found.verdict == "unidentifiable"
    assert "below" in found.note
    assert found.low <= 0.016 <= found.high


@pytest.mark.parametrize("seed", range(12))
def test_every_bound_of_an_interval_is_a_number(seed: int) -> None:
    """However wide: a calibration file holds no infinities."""
    w, tau, group = nasty(seed)
    with np.errstate(over="ignore"):
        fit = fit_friction(w, tau, group=group, law="stribeck")
    for parameter in fit.parameters.values():
        bounds = [parameter.value, parameter.std_error, parameter.low, parameter.high]
        assert np.isfinite([bound for bound in bounds if bound is not None]).all()


@pytest.mark.slow
def test_drifting_levels_widen_the_intervals() -> None:
    """Of a first-order autoregression; independent levels are hardly ever taken for one."""

    def wandering(seed: int, correlation: float) -> tuple[float, float]:
        rng = np.random.default_rng(seed)
        w = np.concatenate([rng.permutation(np.geomspace(0.02, 1.2, 12)) for _ in range(5)])
        level = rng.standard_normal(len(w))
        for k in range(1, len(w)):
            level[k] = correlation * level[k - 1] + np.sqrt(1.0 - correlation**2) * level[k]
        group = np.repeat(np.arange(len(w)), 4)
        tau = (4.0 + 3.0 * w + 0.12 * level)[group] + 0.05 * rng.standard_normal(len(group))
        found = fit_friction(w[group], tau, group=group, law="coulomb-viscous")
        return found.serial, found.parameters["coulomb"].std_error

    wander, free = (
        np.array([wandering(seed, correlation) for seed in range(15)]) for correlation in (0.8, 0.0)
    )
    assert np.mean(wander[:, 0] > 0.0) > 0.9
    assert np.median(wander[:, 0]) == pytest.approx(0.8, abs=0.15)
    assert np.mean(free[:, 0] > 0.0) < 0.2
    assert np.median(wander[:, 1]) > 1.5 * np.median(free[:, 1])


def test_the_order_of_time_decides_and_not_that_of_the_rows() -> None:
    levels = np.sin(np.arange(40) / 4.0)
    assert correlation([levels], 2) > 0.8
    assert correlation([np.random.default_rng(0).permutation(levels)], 2) == 0.0


def test_drift_counts_within_runs_and_not_between_runs() -> None:
    """Each run's time begins anew: its round trips are neighbours of each other, whatever
    another did at the same time.
    """
    rng, runs, trips = np.random.default_rng(3), 4, 24
    level = rng.standard_normal((runs, trips))
    for k in range(1, trips):
        level[:, k] = 0.8 * level[:, k - 1] + 0.6 * level[:, k]
    w = np.tile(np.repeat(np.geomspace(0.05, 1.5, 8), 3), runs)
    group = np.repeat(np.arange(runs * trips), 4)
    tau = (4.0 + 3.0 * w + 0.12 * level.ravel())[group] + 0.05 * rng.standard_normal(len(group))
    data = FitPoints(
        w[group],
        tau,
        None,
        group,
        time=np.tile(np.arange(trips) * 10.0, runs),
        run=np.repeat(np.arange(runs), trips),
    )
    one, mixed = (
        fit_law(replace(data, run=run), LAWS["coulomb-viscous"]) for run in (data.run, None)
    )
    assert one.serial > 0.5
    assert mixed.serial < 0.3
    assert one.parameters["coulomb"].std_error > 1.5 * mixed.parameters["coulomb"].std_error


@pytest.mark.parametrize("law", ["coulomb-viscous", "stribeck"])
def test_a_torque_without_friction_is_refused_with_any_nuisance_parameters(law: str) -> None:
    """No parameter of friction is above zero; a drift or a Stribeck
    velocity beside it gives no band.
    """
    rng = np.random.default_rng(0)
    w, drift = np.geomspace(0.01, 1.0, 24), np.linspace(-1.0, 1.0, 24)
    data = FitPoints(
        w,
        -0.5 + 0.3 * drift + 0.01 * rng.standard_normal(24),
        None,
        np.arange(24),
        {"drift": drift},
    )
    with pytest.raises(FitError, match="the torque shows no friction"):
        fit_law(data, LAWS[law])
