"""Outliers are found and count less; clean data are fitted as with least squares; a law that does
not fit gives no outliers.
"""

import numpy as np
import pytest

from stribeck.ident.fit.choice.selection import select
from stribeck.ident.fit.fit_friction import fit_friction
from stribeck.ident.fit.joint.outliers import fit_robustly, outliers
from stribeck.ident.fit.points import FitPoints

W = np.geomspace(0.01, 1.0, 41)
TRUTH = {"coulomb": 1.0, "static": 1.3, "viscous": 0.5}


def friction(seed=0, noise=0.01, drop=0.3):
    return (
        1.0
        + drop * np.exp(-((W / 0.05) ** 2))
        + 0.5 * W
        + noise * np.random.default_rng(seed).standard_normal(len(W))
    )


def spoiled(seed=0):
    tau = friction(seed)
    tau[[5, 20]] *= 1.6, 0.5
    return tau


@pytest.mark.slow
def test_two_bad_rows_of_41_hide_nothing():
    fit = fit_friction(W, spoiled())
    assert fit.law == "stribeck"
    for name, value in TRUTH.items():
        found = fit.parameters[name]
        assert found.verdict == "identified"
        assert found.low <= value <= found.high
    plain = fit_friction(W, spoiled(), loss="squares").parameters["coulomb"]
    assert plain.half_width > 5.0 * fit.parameters["coulomb"].half_width


@pytest.mark.slow
def test_outliers_are_named():
    data = FitPoints(W, spoiled(), None, np.arange(len(W)))
    _, found = fit_robustly(data, selected, "auto")
    assert np.flatnonzero(found).tolist() == [5, 20]


def selected(points):
    return select(points, {"none": None}, ("coulomb-viscous", "stribeck"))


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "drop"), [(0.05, 0.0), (0.01, 0.3)])
def test_clean_round_trips_are_fitted_as_without(noise, drop):
    tau = friction(0, noise, drop)
    auto, squares = (fit_friction(W, tau, loss=loss) for loss in ("auto", "squares"))
    assert auto.parameters == squares.parameters


@pytest.mark.parametrize("law", ["coulomb-viscous", "quadratic"])
def test_a_law_that_does_not_fit_makes_no_outliers(law):
    """A drop over a few speeds, at the slowest or amid them, is
    friction and not what went wrong.
    """
    noise = 0.003 * np.random.default_rng(0).standard_normal(len(W))
    for place in (0.01, 0.1):
        tau = 1.0 + 0.4 * np.exp(-((np.log(W / place) / 0.25) ** 2)) + 0.5 * W + noise
        data = FitPoints(W, tau, None, np.arange(len(W)))
        assert not outliers(data, fit_friction(W, tau, law=law, loss="squares")).any()


SPEED = np.geomspace(0.02, 1.0, 41)


def shuffled(seed: int, friction: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A row a speed, in no order, with noise of one per cent."""
    random = np.random.default_rng(seed)
    order = random.permutation(len(SPEED))
    return SPEED[order], (friction + 0.03 * random.standard_normal(len(SPEED)))[order]


@pytest.mark.slow
def test_a_rise_that_two_slow_rows_show_bends_the_law_instead_of_being_thrown_away() -> None:
    friction = 2.0 + 3.0 * SPEED + np.exp(-((SPEED / 0.026) ** 2))
    fit = fit_friction(*shuffled(2, friction))
    assert fit.predict([SPEED[0]])[0] == pytest.approx(friction[0], abs=0.15)


@pytest.mark.slow
def test_points_that_repeat_each_other_change_nothing() -> None:
    """The same round trips as one point each, or as hundreds of samples that share its level."""
    friction = 2.0 + 3.0 * SPEED + 0.15 * np.exp(-((SPEED / 0.1) ** 2))
    repeated = 200
    w, torque = shuffled(0, friction)
    samples = np.repeat(torque, repeated) + 1e-3 * np.random.default_rng(0).standard_normal(
        len(w) * repeated
    )
    many = fit_friction(
        np.repeat(w, repeated), samples, group=np.repeat(np.arange(len(w)), repeated)
    )
    one = fit_friction(w, torque)
    assert many.stribeck_share == pytest.approx(one.stribeck_share, abs=0.05)
    assert many.predict([0.03])[0] == pytest.approx(one.predict([0.03])[0], abs=0.01)
