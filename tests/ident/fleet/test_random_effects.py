"""Random-effects model of a fleet, against dense matrices and against known truths."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm

from stribeck.ident.fleet.over_time import greatest, steps, trend
from stribeck.ident.fleet.random_effects import Levels, random_effects
from tests.coverage import fewest, most


def levels(arms, days, seed, between=0.05, within=0.015, error=(0.002, 0.01)):
    rng = np.random.default_rng(seed)
    arm = np.repeat(np.arange(arms), days)
    own = rng.uniform(*error, arms * days)
    y = (
        1.0
        + rng.normal(0.0, between, arms)[arm]
        + rng.normal(0.0, within, arms * days)
        + own * rng.normal(size=arms * days)
    )
    return Levels(arm, np.tile(30.0 * np.arange(days), arms), y, own)


def restricted(log_deviations, data):
    """Minus the restricted log-likelihood by dense matrices."""
    between, within = np.exp(2.0 * np.asarray(log_deviations))
    V = between * (data.arm[:, None] == data.arm) + np.diag(within + data.error**2)
    inverse, one = np.linalg.inv(V), np.ones(len(data.y))
    mean = one @ inverse @ data.y / (one @ inverse @ one)
    rest = data.y - mean
    return 0.5 * (np.linalg.slogdet(V)[1] + np.log(one @ inverse @ one) + rest @ inverse @ rest)


def test_the_estimates_are_those_of_restricted_likelihood(monkeypatch):
    """Without the cut, the maximum is that of a dense implementation."""
    monkeypatch.setattr("stribeck.ident.fleet.random_effects.TRIM", 0.0)
    monkeypatch.setattr("stribeck.ident.fleet.random_effects._KEPT", 1.0)
    monkeypatch.setattr("stribeck.ident.fleet.random_effects._LOST", 0.0)
    data = levels(25, 4, 1)
    best = np.exp(
        minimize(
            restricted,
            np.log([0.05, 0.015]),
            (data,),
            method="Nelder-Mead",
            options={"xatol": 1e-5},
        ).x
    )
    model = random_effects(data)
    assert model.arms_in.all()
    assert model.days_in.all()
    assert [model.between_arms[0], model.between_days[0]] == pytest.approx(best, rel=2e-3)


def test_known_deviations_are_recovered_although_some_arms_and_days_changed():
    data = levels(150, 5, 2)
    data.y[:50] += 0.3  # ten arms
    data.y[data.newest[20:30]] += 0.15  # newest days of ten others
    model = random_effects(data)
    assert model.between_arms[1] < 0.05 < model.between_arms[2]
    assert model.between_days[1] < 0.015 < model.between_days[2]
    assert not model.arms_in[:10].any()
    assert not model.days_in[data.newest[20:30]].any()
    assert model.population() == pytest.approx(1.0, abs=0.015)


@pytest.mark.slow
def test_probabilities_of_an_unchanged_fleet_are_even():
    """Each arm is left out of its own judgement, so few arms give no false findings; the
    priors make them careful.
    """
    for arms, fleets, least in ((5, 20, 0.0), (60, 2, 0.02)):
        p = np.concatenate(
            [
                model.outside(data.y[data.newest], data.error[data.newest], np.arange(arms))
                for data in (levels(arms, 2, seed) for seed in range(fleets))
                for model in [random_effects(data)]
            ]
        )
        assert least * len(p) <= np.sum(p < 0.05) <= most(len(p), 0.05)
        assert fewest(len(p), 0.5) <= np.sum(p < 0.5) <= most(len(p), 0.5)


@pytest.mark.slow
def test_the_prediction_interval_of_few_arms_is_wider_than_that_of_many():
    few, many = (
        np.mean(
            [
                np.diff(random_effects(levels(arms, 3, seed)).interval(0.005))
                for seed in range(fleets)
            ]
        )
        for arms, fleets in ((4, 8), (120, 2))
    )
    assert few > 1.3 * many
    assert many == pytest.approx(
        2.0 * norm.ppf(0.975) * np.sqrt(0.05**2 + 0.015**2 + 0.005**2), rel=0.1
    )


def test_predictions_are_shrunk_by_the_scatter():
    data = levels(60, 1, 4, between=0.02, error=(0.02, 0.02))
    model = random_effects(data)
    own = data.y - model.population()
    # half of the variance is of the arms
    assert np.polyfit(own, model.predicted(), 1)[0] == pytest.approx(0.5, abs=0.2)


def test_fleets_without_two_days_have_no_deviation_between_days():
    model = random_effects(levels(20, 1, 5))
    assert np.isnan(model.between_days).all()
    assert steps(model, 0) == []
    assert trend(model, 0) is None


@pytest.mark.slow
def test_steps_and_trends_are_found_where_they_are():
    data = levels(30, 8, 6)
    data.y[5:8] += 0.12  # arm 0 from its sixth day on
    data.y[8:16] += 0.3 * data.time[8:16] / 365.25  # arm 1: 0.3 a year
    model = random_effects(data)
    step, slope = greatest(steps(model, 0)), trend(model, 1)
    assert step.row == 5
    assert step.size == pytest.approx(0.12, abs=0.03)
    assert step.probability < 1e-6
    assert slope.size == pytest.approx(0.3, abs=0.08)
    assert slope.probability < 1e-4
    others = [greatest(steps(model, arm)).probability for arm in range(2, 30)]
    assert np.mean(np.array(others) < 0.1) < 0.25


def test_one_arm_is_judged_by_its_own_scatter():
    """The step of the newest day is not taken for scatter, and a larger scatter hides it."""
    calm, rough = levels(1, 7, 7, within=0.01), levels(1, 7, 7, within=0.2)
    for data in (calm, rough):
        data.y[-1] += 0.15
    assert steps(random_effects(calm), 0)[-1].probability < 0.01
    assert steps(random_effects(rough), 0)[-1].probability > 0.05
