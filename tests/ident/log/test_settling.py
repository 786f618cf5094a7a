"""Windows over bins of a stroke: mean accelerations are compared with the true
accelerations of a settling drive.
"""

import numpy as np
import pytest

from stribeck.ident.log.reduction.settling import Windows
from stribeck.ident.log.strokes import Stroke

T = np.arange(60) * 0.004
BINS = [np.arange(5, 20), np.arange(20, 35), np.arange(35, 55)]
TAU = 0.02  # s, time constant of a settling drive


def settling(t):
    """Position and acceleration of a drive that is 10 % too fast at first, at 0.9 rad/s."""
    return 0.9 * (t - 0.1 * TAU * np.exp(-t / TAU)), -0.09 / TAU * np.exp(-t / TAU)


def windows(rows=T, bins=BINS):
    stroke = Stroke(
        0, 1, slice(2, len(rows) - 2), 1, 0.9, 0.0, 1.0, np.zeros(1), np.array([0.9]), 1.0
    )
    return Windows.over([stroke] * len(bins), bins, 0.004)


@pytest.mark.parametrize("shift", [0.0, 0.04])
def test_mean_acceleration_of_a_settling_drive(shift):
    x, acceleration = settling(T + shift)
    own = windows()
    found, _ = own.accelerations(T, x[:, None])
    expected = own.mean(acceleration[own.rows])
    np.testing.assert_allclose(found[:, 0], expected, rtol=0.02, atol=1e-3 * abs(expected[0]))


def test_mean_acceleration_of_uneven_samples():
    t = T + 0.0005 * np.sin(np.arange(60))
    x, acceleration = settling(t)
    own = windows()
    found, _ = own.accelerations(t, x[:, None])
    assert found[0, 0] == pytest.approx(own.mean(acceleration[own.rows])[0], rel=0.05)


def test_sensitivity_to_position_errors():
    rng, own = np.random.default_rng(1), windows()
    found = [
        own.accelerations(T, 0.3 * T[:, None] + rng.normal(0.0, 1e-4, (len(T), 1)))
        for _ in range(800)
    ]
    np.testing.assert_allclose(
        np.std([mean[:, 0] for mean, _ in found], axis=0), 1e-4 * found[0][1], rtol=0.1
    )


def test_windows_stay_within_the_stroke_and_overlap_at_bin_edges():
    own = windows()
    parts = np.split(own.rows, own.starts[1:])
    # half a taper beyond the bins, within the stroke
    assert (parts[0][0], parts[-1][-1]) == (3, 57)
    assert parts[0][-1] > parts[1][0]
    assert {float(own.weight.min()), float(own.weight.max())} == {0.0, 1.0}


def test_bins_of_three_samples_keep_a_weight():
    own = windows(bins=[np.arange(10, 13), np.arange(13, 15)])
    np.testing.assert_allclose(own.mean(np.ones((len(own.rows), 2))), 1.0)
