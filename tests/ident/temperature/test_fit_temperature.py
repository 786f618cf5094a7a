"""Friction over temperature: found, extrapolated with a band that covers, and not invented."""

import numpy as np
import pytest

from stribeck import fit_temperature, stribeck
from stribeck.ident.errors import FitError, InputError
from stribeck.ident.temperature.joint_temperature import JointTemperature

SPEEDS = np.geomspace(0.02, 1.5, 12)
COULOMB = {"none": lambda t: np.ones_like(t), "linear": lambda t: 1.0 - 0.004 * (t - 30.0)}
VISCOUS = {
    "none": lambda t: np.ones_like(t),
    "linear": lambda t: 1.0 - 0.02 * (t - 30.0),
    "exponential": lambda t: 0.3 + 0.7 * np.exp(-(t - 30.0) / 20.0),
    "quadratic": lambda t: 1.0 - 0.02 * (t - 30.0) + 4e-4 * (t - 30.0) ** 2,
}


def friction(w: np.ndarray, t: np.ndarray, coulomb: str, viscous: str) -> np.ndarray:
    return np.asarray(
        stribeck(w, 6.0, 8.0, 0.05, 0.0) * COULOMB[coulomb](t) + 11.0 * w * VISCOUS[viscous](t)
    )


def warm_up(
    coulomb: str, viscous: str, seed: int, n: int = 120
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Velocity, torque and temperature of round trips while a gear warms up from 20 to 40 °C."""
    rng = np.random.default_rng(seed)
    w = rng.permutation(np.tile(SPEEDS, n // len(SPEEDS)))
    t = 20.0 + 20.0 * (1.0 - np.exp(-np.arange(n) / 40.0)) / (1.0 - np.exp(-n / 40.0))
    torque = friction(w, t, coulomb, viscous) * (
        1.0 + 0.005 * rng.standard_normal(n)
    ) + 0.02 * rng.standard_normal(n)
    return w, torque, t


@pytest.mark.slow
@pytest.mark.parametrize(
    ("coulomb", "viscous"),
    [("none", "exponential"), ("none", "linear"), ("linear", "quadratic"), ("linear", "linear")],
)
def test_friction_at_other_temperatures_is_predicted(coulomb: str, viscous: str) -> None:
    fit = fit_temperature(*warm_up(coulomb, viscous, 1), law="stribeck")
    assert (fit.coulomb == "none") == (coulomb == "none")
    for t, most in ((30.0, 0.03), (50.0, 0.05)):
        true = friction(SPEEDS, np.full(len(SPEEDS), t), coulomb, viscous)
        error = fit.predict(SPEEDS, t) - true
        assert np.sqrt(np.mean(error**2) / np.mean(true**2)) < most
        assert np.mean(np.abs(error) <= fit.band(SPEEDS, t)) > 0.9
    assert fit.held_out_rmse < 0.25 * fit.static_rmse


@pytest.mark.slow
def test_no_dependence_is_invented() -> None:
    for seed in range(2):
        fit = fit_temperature(*warm_up("none", "none", seed), law="stribeck")
        assert (fit.coulomb, fit.viscous) == ("none", "none")
        assert not fit.choice.claimed
        assert np.array_equal(fit.predict(SPEEDS, 50.0), fit.predict(SPEEDS))


@pytest.mark.slow
def test_the_band_grows_with_extrapolation() -> None:
    fit = fit_temperature(*warm_up("linear", "linear", 0), law="stribeck")
    widths = [float(fit.band([0.5], t)[0]) for t in (35.0, 45.0, 55.0, 70.0)]
    assert widths == sorted(widths)
    assert widths[-1] > 4.0 * widths[0]
    assert isinstance(fit.joint, JointTemperature)
    spread = fit.joint.widening(np.array([fit.reference, 45.0, 60.0, 90.0]))
    assert spread[0] == 0.0
    assert np.all(np.diff(spread) > 0.0)


@pytest.mark.slow
def test_the_law_is_chosen_from_friction_at_one_temperature() -> None:
    fit = fit_temperature(*warm_up("none", "exponential", 2))
    assert fit.law == "stribeck"
    assert fit.viscous in ("exponential", "quadratic")
    assert "°C" in repr(fit)
    assert list(fit.to_dataframe()["parameter"])[-1].startswith("viscous_temperature")


@pytest.mark.slow
def test_both_directions_are_one_friction() -> None:
    w, torque, t = warm_up("none", "linear", 3)
    sign = np.tile([1.0, -1.0], len(w) // 2)
    one, both = (
        fit_temperature(w, torque, t, law="stribeck"),
        fit_temperature(sign * w, sign * torque, t, law="stribeck"),
    )
    assert both.values == pytest.approx(one.values, rel=1e-6)
    assert both.predict([-0.5], 25.0) == pytest.approx(-one.predict([0.5], 25.0))


def test_what_cannot_show_temperature_is_refused() -> None:
    w, torque, t = warm_up("none", "linear", 0)
    with pytest.raises(FitError, match=r"varies by 0 K; a dependence shows only from 2 K"):
        fit_temperature(w, torque, np.full(len(w), 30.0))
    with pytest.raises(FitError, match="at least 12 round trips, found 10"):
        fit_temperature(w, torque, t, group=np.arange(len(w)) % 10)
    with pytest.raises(InputError, match="temperature is not a finite number in row 0"):
        fit_temperature(w, torque, np.append(np.nan, t[1:]))
    with pytest.raises(InputError, match="temperature has shape"):
        fit_temperature(w, torque, t[1:])
    with pytest.raises(InputError, match="cubic"):
        fit_temperature(w, torque, t, law="stribeck", viscous="cubic")
