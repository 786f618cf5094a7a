"""Counting of skipped cycles in the benchmark `wires`."""

import numpy as np
import pytest

from benchmarks.wires import on_the_grid


@pytest.mark.parametrize("first", [0.0, 0.7])
@pytest.mark.parametrize("rate", [200.0, 1000.0])
def test_a_late_cycle_is_not_a_skipped_cycle(rate, first):
    late = 0.05 + 0.02 * np.random.default_rng(0).standard_normal(5000)  # periods
    late[[0, 500, 600, 602]] += first, 0.93, 0.5, 0.7
    late[700:760] += 0.15
    kept = np.delete(np.arange(5000), [100, 200, 201, 300])
    ticks, found = on_the_grid((kept + late[kept]) / rate, rate)
    assert np.array_equal(ticks - ticks[-1], kept - kept[-1])
    np.testing.assert_allclose(rate * found, late[kept] - np.median(late), atol=0.005)
