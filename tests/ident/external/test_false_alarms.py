"""Statistics of false alarms: simulated noise, and published intervals."""

import numpy as np
import pytest
from scipy.signal import lfilter

from stribeck.ident.external.false_alarms import FilteredNoise, rate_interval


@pytest.mark.parametrize("keep", [0.0, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("weights", [(0.5, 0.5), (1.0, -1.0), (1.0, 0.0)])
def test_crossings_are_those_of_simulated_noise(keep, weights):
    """Deviation, correlation and upward crossings of two million samples."""
    noise = FilteredNoise.of(keep, (2.0, *weights))
    y = lfilter(weights, [1.0, -keep], 2.0 * np.random.default_rng(0).standard_normal(2_000_000))[
        1000:
    ]
    assert noise.deviation == pytest.approx(np.std(y), rel=0.02)
    assert noise.correlation == pytest.approx(np.corrcoef(y[1:], y[:-1])[0, 1], abs=0.01)
    for level in (2.5, 3.0, 3.5):
        beyond = np.abs(y) > level * noise.deviation
        counted = np.sum(beyond[1:] & ~beyond[:-1])
        expected = noise.crossings(level) * len(y)
        assert abs(counted - expected) < 0.03 * expected + 4.0 * np.sqrt(expected)


def test_parts_add_up():
    one, other = (FilteredNoise.of(0.9, part) for part in ((1.0, 0.05, 0.05), (0.1, 25.0, -25.0)))
    both = FilteredNoise.of(0.9, (1.0, 0.05, 0.05), (0.1, 25.0, -25.0))
    assert both.deviation**2 == pytest.approx(one.deviation**2 + other.deviation**2)
    assert other.correlation < both.correlation < one.correlation


def test_the_level_has_the_asked_rate_and_correlated_noise_crosses_less_often():
    levels = [FilteredNoise(1.0, correlation).level(1.0, 0.004) for correlation in (0.0, 0.9, 0.99)]
    assert levels == sorted(levels, reverse=True)
    for level, correlation in zip(levels, (0.0, 0.9, 0.99), strict=True):
        assert FilteredNoise(1.0, correlation).crossings(level) * 3600.0 / 0.004 == pytest.approx(
            1.0, rel=1e-6
        )
    assert FilteredNoise(1.0, 0.0).level(0.1, 0.004) > levels[0]


def test_the_interval_of_a_rate_is_garwoods():
    """Printed table of exact Poisson limits."""
    assert rate_interval(0, 1.0) == pytest.approx((0.0, 3.689), abs=1e-3)
    assert rate_interval(10, 2.0) == pytest.approx((4.795 / 2.0, 18.390 / 2.0), abs=1e-3)
