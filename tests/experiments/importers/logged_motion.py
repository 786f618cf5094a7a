"""Motion of all logs in these tests."""

import numpy as np

NAMES = ("turn", "lift")
ROWS = 400
T = np.arange(ROWS) / 100.0
Q = np.column_stack((np.sin(T), 0.3 * np.cos(3.0 * T)))
TAU = np.column_stack((4.0 * np.cos(T), 2.0 + T))
STAMPS = 1_700_000_000_000_000_000 + np.arange(ROWS) * 10_000_000


def assert_is_the_log(run, digits=1e-12):
    np.testing.assert_allclose(run.t - run.t[0], T, atol=1e-9)
    np.testing.assert_allclose(run.signals["q"], Q, atol=digits)
    np.testing.assert_allclose(run.signals["tau"], TAU, atol=digits)
