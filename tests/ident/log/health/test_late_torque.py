"""Lags of the torque are found at the beginning of strokes; effects that only look
like a lag are not reported.
"""

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import cont2discrete, lfilter

from stribeck.ident.log.health.late_torque import (
    LATE,
    Starts,
    common_lag,
    lags_of_starts,
    late_torques,
)
from stribeck.ident.log.health.swinging_starts import swinging_starts
from stribeck.ident.log.run import Run, load_run
from stribeck.ident.log.strokes import find_strokes
from tests.places import DATA

GOLDEN = DATA / "golden" / "runs" / "constant-speed"
RATE, STEP = 250.0, 1e-5


@pytest.fixture(scope="module")
def golden() -> Run:
    return load_run(GOLDEN, ("q", "tau"))


def lagging(run: Run, lag: float) -> Run:
    tau = np.column_stack(
        [np.interp(run.t - lag, run.t, column) for column in run.signals["tau"].T]
    )
    return replace(run, signals={**run.signals, "tau": tau})


@pytest.mark.parametrize("lag", [0.0, 0.01, 0.04, 0.1, 0.2])
def test_the_lag_of_a_shifted_torque_is_found(golden: Run, lag: float) -> None:
    strokes = find_strokes(golden.t, golden.signals["q"], golden.segment)
    findings = late_torques(golden.period, Starts.of(lagging(golden, lag), strokes))
    assert len(findings) == (lag > LATE)
    for finding in findings:
        (told,) = re.findall(r"torque of hinge lags the motion by (\d+) ms", finding.text)
        # a period of the samples
        assert float(told) == pytest.approx(1e3 * lag, abs=15.0)


def strokes_of(torque, lag: float = 0.0, noise: float = 0.0) -> np.ndarray:
    """Speed and lag of the starts of a joint with this torque."""
    lags, swings = lags_of_starts(*moved(torque, lag, noise))
    assert not swings
    return lags


def moved(torque, lag: float = 0.0, noise: float = 0.0):
    """Time, position, torque and strokes of a joint that rests for 0.3 s between
    strokes of 0.02 to 2 rad/s.

    `torque` is a function of x, dx and ddx.
    """
    dt, t, dx = 1.0 / RATE, [], []
    for speed in np.repeat(np.geomspace(0.02, 2.0, 10), 2):
        for sign in (1.0, -1.0):
            # 4 rad/s²
            ramp = (
                speed
                * np.sin(np.pi / 2.0 * np.linspace(0.0, 1.0, max(4, round(speed / 4.0 / dt)))) ** 2
            )
            stroke = np.concatenate(
                (np.zeros(75), ramp, np.full(round(max(0.6 / speed, 0.8) / dt), speed), ramp[::-1])
            )
            dx.extend(sign * stroke)
    t, dx = np.arange(len(dx)) * dt, np.array(dx)
    x = np.cumsum(dx) * dt
    tau = torque(x, dx, np.gradient(dx, dt))
    tau = np.interp(t - lag, t, tau) + noise * np.random.default_rng(0).standard_normal(len(t))
    x = np.round(x / STEP) * STEP
    strokes = find_strokes(t, x[:, None], np.zeros(len(t), dtype=int))
    assert len(strokes) >= 36
    return t, x, tau, strokes


def slides(viscous: float, inertia: float = 0.0):
    def torque(x, dx, ddx):
        return 2.0 * np.tanh(dx / 1e-3) + viscous * dx + inertia * ddx + 4.0 * np.sin(x)

    return torque


@pytest.mark.parametrize(
    ("torque", "lag", "noise"),
    [
        (slides(0.5), 0.0, 0.0),
        (slides(0.5), 0.05, 0.0),
        (slides(0.5, 0.5), 0.05, 0.05),
        (slides(0.5), 0.12, 0.1),
    ],
)
def test_a_lag_shows_in_slow_and_fast_strokes(torque, lag: float, noise: float) -> None:
    assert common_lag(strokes_of(torque, lag, noise)) == pytest.approx(lag, abs=0.012)


@pytest.mark.parametrize("viscous", [5.0, 20.0])
def test_large_viscous_friction_is_not_a_lag(viscous: float) -> None:
    lags = strokes_of(slides(viscous))
    # the ramps of fast strokes look like a lag
    assert np.median(lags[lags[:, 0] > 0.5, 1]) > LATE
    assert common_lag(lags) < LATE


def test_torques_without_a_step_give_no_lag() -> None:
    assert len(strokes_of(lambda x, dx, ddx: 0.0 * x, noise=1.0)) == 0


@pytest.mark.parametrize("hertz", [10.0, 13.0, 30.0])
def test_the_torque_of_an_elastic_joint_swings_and_does_not_lag(hertz: float) -> None:
    """Its link swings after every start, at a damping ratio of 0.1."""
    w, inertia = 2.0 * np.pi * hertz, 0.5
    b, a, _ = cont2discrete(([1.0], [1.0 / w**2, 0.2 / w, 1.0]), 1.0 / RATE, "foh")

    def torque(x, dx, ddx):
        link = lfilter(b.ravel(), a, ddx)
        return 0.3 * np.tanh(dx / 1e-3) + 0.5 * dx + inertia * link

    t, x, tau, strokes = moved(torque)
    lags, swings = lags_of_starts(t, x, tau, strokes)
    assert len(swings) > len(lags)
    assert np.median(swings) == pytest.approx(hertz, rel=0.1)
    (finding,) = swinging_starts("hinge", swings, len(swings) + len(lags))
    assert f"oscillates at about {np.median(swings):.2g} Hz after {len(swings)} of" in finding.text
