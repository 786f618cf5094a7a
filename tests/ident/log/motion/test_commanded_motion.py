"""Motion predicted from references: close to the true motion, and without the
noise of the measured motion.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import lfilter

from stribeck.ident.log.motion.commanded_motion import commanded
from stribeck.ident.log.motion.filtered_motion import filtered
from tests.ident.fit.joint.test_general_motion import RATE, log, multi_sine, pendulum

_DELAY, _LAG = 0.03, 0.05  # s
_NOISE = 2e-4


def followed(
    noise: float = _NOISE, **more: np.ndarray
) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """True motion of a joint that follows a reference with a delay and a first-order lag,
    the noise, and the signals.
    """
    t, told, *_ = multi_sine(40.0)
    a = np.exp(-1.0 / RATE / _LAG)
    late = np.interp(t - _DELAY, t, told)
    true = lfilter([1.0 - a], [1.0, -a], late, zi=[a * late[0]])[0]
    off = noise * np.random.default_rng(1).standard_normal(len(t))
    return (
        true,
        off,
        {"q": (true + off)[:, None], "tau": np.ones((len(t), 1)), "q_cmd": told[:, None], **more},
    )


def recorded(signals: dict[str, np.ndarray]):
    t = np.arange(len(signals["q"])) / RATE
    return filtered([log(t, signals)], [pendulum()], 20.0)


def test_the_prediction_is_the_true_motion_without_measurement_noise() -> None:
    true, _, signals = followed()
    measured = recorded(signals)
    told, silent = commanded(measured), recorded(signals | {"q": true[:, None]})
    assert told is not None
    inner = slice(400, -400)
    ddq = [one.stretches[0].ddq[inner, 0] for one in (told, silent, measured)]
    assert np.std(ddq[0] - ddq[1]) < 0.05 * np.std(ddq[1])
    noise = ddq[2] - ddq[1]
    assert np.std(noise) > 0.05 * np.std(ddq[1])  # the measured motion has noise
    assert abs(np.corrcoef(ddq[0] - ddq[1], noise)[0, 1]) < 0.05


def test_the_prediction_ignores_the_velocity_set_point() -> None:
    true, off, signals = followed()
    sent = {"dq_cmd": (np.gradient(true) * RATE - 8.0 * off)[:, None]}
    one, other = commanded(recorded(signals)), commanded(recorded(signals | sent))
    assert one is not None
    assert other is not None
    np.testing.assert_array_equal(one.stretches[0].ddq, other.stretches[0].ddq)


@pytest.mark.parametrize("told", [None, np.nan])
def test_there_is_no_prediction_without_references(told: float | None) -> None:
    _, _, signals = followed()
    if told is None:
        del signals["q_cmd"]
    else:
        signals["q_cmd"] = signals["q_cmd"].copy()
        signals["q_cmd"][7] = told
    assert commanded(recorded(signals)) is None


@pytest.mark.parametrize("rate", [5.0, 25.0])
def test_a_slow_log_has_a_finite_prediction(rate: float) -> None:
    _, _, signals = followed()
    every = round(RATE / rate)
    t, slow = (
        np.arange(len(signals["q"]))[::every] / RATE,
        {name: values[::every] for name, values in signals.items()},
    )
    told = commanded(filtered([log(t, slow)], [pendulum()], 1.0))
    assert told is not None
    assert np.isfinite(told.stretches[0].ddq).all()


def test_one_run_without_references_prevents_the_prediction() -> None:
    _, _, signals = followed()
    t = np.arange(len(signals["q"])) / RATE
    bare = {name: values for name, values in signals.items() if name != "q_cmd"}
    runs = [log(t, signals), replace(log(t, bare), sha256="other")]
    assert commanded(filtered(runs, [pendulum(), pendulum()], 20.0)) is None
