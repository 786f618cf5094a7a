"""Ripple of synthetic strokes with a velocity loop of its own: claims, kinds,
intervals, and what is refused.
"""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.ripple_cases import Strokes
from stribeck.ident.arm.arm_tables import JointTable
from stribeck.ident.ripple.find_ripple import JointRipple, find_ripple
from stribeck.ident.ripple.known_orders import known_orders
from stribeck.ident.ripple.thresholds import threshold

QUICK = Strokes(speeds=(0.03, 0.06, 0.12, 0.25, 0.5), longest=12.0)
MOTOR = (100.0, 200.0, 300.0)
TRUE = ((100.0, 0.3, 0.5, "friction"), (200.0, 0.2, 1.0, "cogging"))


def found(case: Strokes, seed: int = 0, known: tuple[float, ...] = MOTOR) -> JointRipple:
    return find_ripple("j1", case.passages(seed), known, "N·m")


def assert_true(ripple: JointRipple, truth: tuple[tuple[float, float, float, str], ...]) -> None:
    """Kinds and orders are those of the truth; amplitudes and phases lie in somewhat wider
    intervals (four standard errors).
    """
    assert sorted((wave.kind, round(wave.order)) for wave in ripple.waves) == sorted(
        (kind, round(k)) for k, _, _, kind in truth
    )
    for order, size, phase, kind in truth:
        wave = next(
            one for one in ripple.waves if one.kind == kind and abs(one.order - order) < 1.0
        )
        assert wave.amplitude == pytest.approx(size, abs=2.0 * (wave.high - wave.amplitude))
        assert wave.amplitude == pytest.approx(size, rel=0.1)
        off = (wave.phase - phase + np.pi) % (2.0 * np.pi) - np.pi
        assert abs(off) < wave.phase_high - wave.phase_low
        assert wave.verdict == "identified"


@pytest.mark.slow
def test_cogging_is_told_from_friction_ripple() -> None:
    ripple = found(replace(QUICK, waves=TRUE))
    assert_true(ripple, TRUE)
    assert {wave.origin for wave in ripple.waves} == {"known"}


@pytest.mark.slow
def test_orders_that_the_arm_file_lacks_are_found() -> None:
    truth = ((137.3, 0.15, 0.5, "friction"), (137.3, 0.2, 2.5, "cogging"))
    ripple = found(replace(QUICK, waves=truth))
    assert_true(ripple, truth)
    assert {wave.origin for wave in ripple.waves} == {"found"}
    assert ripple.waves[0].order == pytest.approx(137.3, abs=0.3)


@pytest.mark.slow
def test_no_ripple_is_invented_in_correlated_noise() -> None:
    assert found(replace(QUICK, coloured=0.2, colour_time=0.2, gravity_error=3.0)).waves == ()


@pytest.mark.slow
def test_a_late_torque_does_not_turn_cogging_into_friction() -> None:
    delay, truth = 0.01, ((150.0, 0.4, 0.5, "cogging"),)
    ripple = found(replace(QUICK, waves=truth, delay=delay, noise=0.1), known=(150.0,))
    assert_true(ripple, truth)
    assert ripple.fit is not None
    assert ripple.fit.delay == pytest.approx(delay, abs=0.002)


@pytest.mark.slow
def test_a_soft_velocity_loop_does_not_hide_ripple() -> None:
    """The loop of 8 Hz yields to the ripple of the fast strokes, and the
    rotor takes a part of it.
    """
    truth = ((150.0, 0.4, 0.5, "friction"),)
    assert_true(found(replace(QUICK, waves=truth, bandwidth=8.0, noise=0.1), known=(150.0,)), truth)


@pytest.mark.parametrize(
    ("order", "said"),
    [(1.0, "confounded"), (4.0, "confounded"), (900.0, "too fast"), (5e4, "aliased")],
)
def test_orders_that_the_samples_cannot_tell_are_named(order: float, said: str) -> None:
    ripple = find_ripple(
        "j1",
        replace(QUICK, waves=((4.0, 1.0, 0.0, "cogging"),), speeds=(0.2, 0.3, 0.5)).passages(0),
        (order,),
        "N·m",
        search=False,
    )
    assert ripple.waves == ()
    assert said in ripple.findings[0].text


@pytest.mark.slow
def test_strokes_shorter_than_two_waves_and_strokes_of_one_direction_are_named() -> None:
    passages = replace(QUICK, waves=TRUE, width=0.1, longest=99.0).passages(0)
    assert (
        "too long for the strokes"
        in find_ripple("j1", passages, (20.0,), "N·m", search=False).findings[0].text
    )
    forward = [one for one in replace(QUICK, waves=TRUE).passages(0) if one.direction > 0]
    assert "one direction" in find_ripple("j1", forward, (100.0,), "N·m").findings[0].text


@pytest.mark.slow
def test_a_frequency_at_one_speed_is_not_called_an_order() -> None:
    """At a single speed a swing in time looks like ripple over position."""
    assert found(replace(QUICK, waves=TRUE, speeds=(0.1,), repeats=8), known=()).waves == ()


def test_orders_of_the_arm_file() -> None:
    assert known_orders(JointTable(gear_ratio=50.0, ripple_orders=(50.0, 160.0))) == (
        50.0,
        160.0,
        100.0,
        150.0,
        200.0,
        300.0,
    )
    assert known_orders(JointTable()) == ()
    assert known_orders(JointTable(gear_ratio=50.0, ripple_orders=(160.0,)), several=True) == (
        160.0,
    )


def test_thresholds_rise_with_the_tests_and_with_few_passages() -> None:
    assert threshold(1e6, 2.0, 5.5) == 5.5
    assert threshold(1e6, 1e9, 5.5) > 7.0
    assert threshold(4.0, 10.0, 5.5) > 2.0 * threshold(40.0, 10.0, 5.5)
