"""Mean acceleration of a drive that settles, against what its speed truly does."""

import numpy as np

from stribeck.ident.log.bin_acceleration import mean_acceleration

T = np.arange(60) * 0.004
PARTS = np.array([(0.0, 0.08), (0.08, 0.16), (0.16, 0.236)])
TAU = 0.07              # s, of a drive that settles


def settling(t):
    """Position and velocity of a drive that is 4 % too fast at first, at 0.9 rad/s."""
    return 0.9 * (t - 0.04 * TAU * np.exp(-t / TAU)), 0.9 * (1.0 + 0.04 * np.exp(-t / TAU))


def true_mean(between):
    return np.diff(settling(between)[1], axis=1)[:, 0] / np.diff(between, axis=1)[:, 0]


def test_of_a_drive_that_settles():
    mean, error = mean_acceleration(T, settling(T)[0], PARTS)
    np.testing.assert_allclose(mean, true_mean(PARTS), atol=0.01 * abs(true_mean(PARTS)[0]))
    assert (error < 0.05 * abs(mean[0])).all()


def test_of_uneven_samples_with_a_hole():
    t = np.delete(T + 0.001 * np.sin(np.arange(60)), np.s_[20:30])
    mean, _ = mean_acceleration(t, settling(t)[0], PARTS)
    np.testing.assert_allclose(mean, true_mean(PARTS), atol=0.02 * abs(true_mean(PARTS)[0]))


def test_error_is_that_of_noise():
    rng = np.random.default_rng(1)
    mean, error = zip(*[mean_acceleration(T, 0.3 * T + rng.normal(0.0, 1e-4, len(T)), PARTS) for _ in range(400)], strict=True)
    np.testing.assert_allclose(np.std(mean, axis=0), np.sqrt(np.mean(np.square(error), axis=0)), rtol=0.1)


def test_of_too_few_samples_nothing_is_told():
    mean, error = mean_acceleration(T[:5], T[:5], PARTS)
    assert (mean == 0.0).all()
    assert (error == np.inf).all()
