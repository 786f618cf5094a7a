"""Paths: displacements without encoder noise, reversals, and blocks between reversals."""

import numpy as np

from stribeck.ident.memory.states.path import Path, played


def test_noise_within_the_play_does_not_move_the_path():
    rng = np.random.default_rng(0)
    noisy = 0.3 + rng.uniform(-1e-4, 1e-4, 5000)
    path = Path.of(noisy, 2e-4)
    assert path.length.sum() == 0.0
    assert len(path.reversals) == 0
    assert len(Path.of(noisy).reversals) > 1000          # without play, noise looks like reversals


def test_the_play_follows_motion_at_a_constant_distance():
    rising = np.linspace(0.0, 0.1, 500)
    np.testing.assert_allclose(played(rising, 0.01)[100:], rising[100:] - 0.01, atol=1e-12)
    assert played(rising, 0.0) is rising


def test_reversals_and_the_distance_since_them():
    position = np.concatenate((np.linspace(0.0, 1.0, 101), np.linspace(0.99, 0.5, 50)))
    path = Path.of(position)
    assert path.reversals.tolist() == [101]
    assert path.direction[100] == 1.0
    assert path.direction[101] == -1.0
    np.testing.assert_allclose(path.since_reversal[[100, 101, 150]], [1.0, 0.01, 0.5])


def test_direction_is_kept_at_rest_and_known_before_the_first_motion():
    path = Path.of(np.array([0.0, 0.0, 1.0, 1.0, 0.0]))
    assert path.direction.tolist() == [1.0, 1.0, 1.0, 1.0, -1.0]


def test_sections_do_not_move_the_path_where_they_meet():
    path = Path.of(np.array([0.0, 0.1, 0.2, 5.0, 5.1]), begins=np.array([0, 3]))
    np.testing.assert_allclose(path.step, [0.0, 0.1, 0.1, 0.0, 0.1])
    np.testing.assert_allclose(path.since_reversal, [0.0, 0.1, 0.2, 0.0, 0.1])


def test_blocks_end_at_reversals_and_there_are_at_least_twelve():
    t = np.linspace(0.0, 60.0, 6001)
    many = Path.of(np.sin(2.0 * t))
    assert 12 <= many.blocks.max() + 1 <= 48
    assert set(np.flatnonzero(np.diff(many.blocks)) + 1) <= set(many.reversals.tolist())
    assert Path.of(t).blocks.max() + 1 == 12
