"""Self-heating without a sensor: found with its time constants, told from drift, refused
where a joint only warms up.
"""

from dataclasses import replace

import numpy as np
import pytest

from stribeck import fit_self_heating
from stribeck.ident.errors import FitError, InputError
from stribeck.ident.temperature.self_heating import HeatLog, SelfHeating, check_heating
from stribeck.ident.temperature.temperature_result import TemperatureResult

TRIP = 10.0  # s
SPEEDS = np.geomspace(0.05, 1.5, 12)


def level(w: float, s: float, dry: float = -0.1, viscous: float = -0.4) -> float:
    return (6.0 + 2.0 * np.exp(-((w / 0.06) ** 2))) * (1.0 + dry * s) + 10.0 * w * (
        1.0 + viscous * s
    )


def driven(
    speeds: np.ndarray, times: tuple[float, ...] = (300.0,), shares: tuple[float, ...] = (1.0,)
) -> np.ndarray:
    """Mean friction in each round trip, by Euler steps of 0.5 s from a cold
    start; state 1 settles at 10 W.
    """
    bodies, out = np.zeros(len(times)), np.zeros(len(speeds))
    for k, w in enumerate(speeds):
        for _ in range(20):
            friction = level(w, float(np.dot(shares, bodies)))
            out[k] += friction / 20.0
            bodies += 0.5 / np.array(times) * (w * friction / 10.0 - bodies)
    return out


def motion(rest: int = 60, rounds: int = 5, seed: int = 0) -> np.ndarray:
    """Speeds of round trips that heat, rest and heat."""
    rng = np.random.default_rng(seed)
    heat = [np.concatenate([rng.permutation(SPEEDS) for _ in range(rounds)]) for _ in range(2)]
    return np.concatenate((heat[0], np.zeros(rest), heat[1]))


def fitted(
    speeds: np.ndarray, friction: np.ndarray, noise: float = 0.02, **options: object
) -> TemperatureResult:
    start, moves = TRIP * np.arange(len(speeds)), speeds > 0.0
    torque = friction + noise * np.random.default_rng(1).standard_normal(len(speeds))
    path = np.append(start, start[-1] + TRIP), np.append(speeds, 0.0)
    return fit_self_heating(
        speeds[moves], torque[moves], start[moves] + TRIP / 2.0, path, law="stribeck", **options
    )


@pytest.fixture(scope="module")
def heated() -> TemperatureResult:
    speeds = motion()
    return fitted(speeds, driven(speeds))


@pytest.mark.slow
def test_time_constant_and_friction_are_found(heated: TemperatureResult) -> None:
    assert heated.heating is not None
    time = heated.parameters["time_constant"]
    assert time.low <= 300.0 <= time.high
    assert time.half_width < 30.0
    assert heated.held_out_rmse < 0.1 * heated.static_rmse
    assert "state" in repr(heated)
    assert heated.joint.parameters["viscous_temperature_slope"].unit == "1"


def test_another_motion_is_predicted_from_a_cold_start(heated: TemperatureResult) -> None:
    speeds = np.concatenate((np.full(40, 0.9), np.zeros(20), np.full(20, 0.2)))
    true, bodies, error = driven(speeds), np.zeros(1), []
    for w, friction in zip(speeds, true, strict=True):
        for half in range(2):
            now = heated.predict(w, heated.heating.state(bodies))
            bodies = heated.heating.advanced(bodies, float(w * now[0]), TRIP / 2.0)
            if not half:
                error.append(float(heated.predict(w, heated.heating.state(bodies))[0]) - friction)
    moves = speeds > 0.0
    assert np.sqrt(np.mean(np.square(error)[moves])) < 0.01 * np.sqrt(np.mean(true[moves] ** 2))


@pytest.mark.slow
def test_a_second_time_constant_is_found_where_there_is_one() -> None:
    speeds = motion(rest=90, rounds=7)
    found = fitted(speeds, driven(speeds, (60.0, 600.0), (0.5, 0.5)), noise=0.01)
    assert len(found.heating.times) == 2
    assert found.heating.times == pytest.approx([60.0, 600.0], rel=0.3)
    assert found.heating.shares.sum() == pytest.approx(1.0)


@pytest.mark.slow
@pytest.mark.parametrize("drift", [lambda t: 1.0 + 0.1 * t, lambda t: 1.0 + 0.2 * np.exp(-t / 0.2)])
def test_drift_and_running_in_are_not_taken_for_heat(drift) -> None:
    speeds = motion()
    steady = np.array([level(w, 0.0) for w in speeds])
    with pytest.raises(FitError, match=r"drifts with time|only warms up"):
        fitted(speeds, steady * drift(np.linspace(0.0, 1.0, len(speeds))))


@pytest.mark.slow
def test_constant_friction_is_not_taken_for_heat() -> None:
    speeds = motion()
    with pytest.raises(
        FitError, match=r"no better than friction without it|only warms up|drifts with time"
    ):
        fitted(speeds, np.array([level(w, 0.0) for w in speeds]))


@pytest.mark.slow
def test_motion_that_only_heats_is_refused_with_what_to_record() -> None:
    speeds = motion(rest=0)
    with pytest.raises(
        FitError,
        match=r"only warms up .*0\.9 allowed\). Record motion that heats, rests .*--experiment "
        r"warm-up",
    ):
        fitted(speeds, driven(speeds, (2000.0,)))


def test_a_motion_that_does_not_fit_its_points_is_refused() -> None:
    w, t = np.full(20, 0.5), np.arange(20.0)
    with pytest.raises(InputError, match="ascending times"):
        fit_self_heating(w, w, t, (t[::-1], w))
    with pytest.raises(
        InputError, match=r"time of the points is 0 to 19 s, motion only covers 0 to 9 s"
    ):
        fit_self_heating(w, w, t, (t[:10], w[:10]))


def test_states_follow_the_closed_form() -> None:
    """At constant power a body nears its end exponentially, and cools
    exponentially, whatever the intervals.
    """
    duration = np.concatenate((np.full(50, 2.0), [300.0], np.full(20, 5.0)))
    power = np.concatenate((np.full(50, 4.0), np.zeros(21)))
    log = HeatLog(np.cumsum(duration), duration, power, np.zeros(71), 500.0)
    hot = 1.0 - np.exp(-100.0 / 80.0)
    assert log.states(
        np.array([0.0, 100.0, 450.0]), np.array([80.0]), np.ones(1), 4.0
    ) == pytest.approx([0.0, hot, hot * np.exp(-350.0 / 80.0)])
    half = log.states(
        np.array([100.0]),
        np.array([80.0]),
        np.ones(1),
        4.0,
        lambda s: (np.full_like(s, 0.5), np.ones_like(s)),
    )
    assert half == pytest.approx(0.5 * hot)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"time_constant": None}, "time_constant has no value"),
        ({"power": -1.0}, "power = -1; it must be positive"),
        ({"second_time_constant": 900.0}, "second_share has no value"),
        ({"second_time_constant": 900.0, "second_share": 1.5}, "positive and below 1"),
        ({"speed": 1.0}, "speed"),
    ],
)
def test_impossible_parameters_are_refused(
    change: dict[str, float | None], said: str, heated: TemperatureResult
) -> None:
    entry = heated.heating.parameters["power"]
    table = {
        **heated.heating.parameters,
        **{name: replace(entry, value=value) for name, value in change.items()},
    }
    with pytest.raises(InputError, match=said):
        check_heating(SelfHeating(table), "joints.j1.temperature.heating")
