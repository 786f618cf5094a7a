"""Two-stage least squares against the textbook: with as many instruments as
columns it is (Z'X)^-1 Z'y.
"""

import numpy as np

from stribeck.ident.fit.law_on_points import predicted
from stribeck.ident.fit.noise import WHITE
from stribeck.ident.fit.points import FitPoints
from stribeck.ident.fit.residuals.two_stage import instrumented, without
from stribeck.ident.laws.law_table import law_named

RNG = np.random.default_rng(5)
N = 4000
TRUTH = {"coulomb": 2.0, "viscous": 1.0, "y_0": 3.0, "y_1": -2.0}
LAW, GROUP = law_named("coulomb-viscous"), np.repeat(np.arange(40), N // 40)
TOLD = np.column_stack((np.ones(N), RNG.uniform(0.1, 1.0, N), RNG.normal(size=(N, 2))))
NOISE = 0.4 * RNG.normal(size=(N, 2))
X = TOLD + np.column_stack((np.zeros((N, 2)), NOISE))
# the noise is in both
TAU = TOLD @ list(TRUTH.values()) - 0.5 * NOISE.sum(axis=1) + 0.1 * RNG.normal(size=N)
POINTS = FitPoints(X[:, 1], TAU, None, GROUP, {"y_0": X[:, 2], "y_1": X[:, 3]})


def test_it_is_the_estimate_by_instruments() -> None:
    begin = dict.fromkeys(TRUTH, 1.0)
    one = instrumented(POINTS, LAW, WHITE, begin, TOLD, np.zeros((5, 5)), [2, 3], [0, 1])
    found = np.linalg.solve(one.matrix, one.moment)
    np.testing.assert_allclose(found, np.linalg.solve(TOLD.T @ X, TOLD.T @ TAU)[2:], rtol=1e-9)
    np.testing.assert_allclose(found, [3.0, -2.0], atol=0.05)
    assert np.abs(np.linalg.lstsq(X, TAU, rcond=None)[0][2:] - [3.0, -2.0]).max() > 0.3
    residual = TAU - predicted(POINTS, LAW, begin)
    np.testing.assert_allclose(
        one.scores.sum(axis=0) + one.matrix @ [1.0, 1.0], one.moment, rtol=1e-9
    )
    assert residual.std() > 1.0


def test_what_instruments_leave_does_not_go_with_what_they_tell() -> None:
    one = instrumented(POINTS, LAW, WHITE, TRUTH, TOLD, np.zeros((5, 5)), [2, 3], [0, 1])
    np.testing.assert_allclose(
        one.left.sum(axis=0), np.zeros((2, 2)), atol=1e-8 * np.abs(one.matrix).max()
    )
    assert np.abs(one.left).max() > 1e-3 * np.abs(one.matrix).max()


def test_what_is_left_of_columns_is_their_residual() -> None:
    left = X @ without(X.T @ X, [2, 3], [0, 1])
    own = X[:, :2]
    np.testing.assert_allclose(
        left, X[:, 2:] - own @ np.linalg.lstsq(own, X[:, 2:], rcond=None)[0], atol=1e-9
    )
