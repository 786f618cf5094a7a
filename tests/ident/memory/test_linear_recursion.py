"""Linear recursions in blocks, against a loop over the samples."""

import numpy as np
import pytest

from stribeck.ident.memory.states.linear_recursion import recursion


@pytest.mark.parametrize("count", [1, 2, 3, 16, 17, 1000, 1003])
def test_blocks_give_the_same_values_as_a_loop_over_the_samples(count):
    rng = np.random.default_rng(count)
    factor, push = rng.uniform(-1.0, 1.0, count), rng.standard_normal((3, count))
    state, expected = np.zeros(3), np.empty((3, count))
    for k in range(count):
        state = factor[k] * state + push[:, k]
        expected[:, k] = state
    np.testing.assert_allclose(recursion(factor, push), expected, rtol=1e-12, atol=1e-12)
