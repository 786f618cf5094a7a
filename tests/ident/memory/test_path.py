"""Paths: displacements without encoder noise, reversals, and blocks between reversals."""

import numpy as np
import pytest

from stribeck.ident.memory.states.path import Path, played


def test_noise_within_the_play_does_not_move_the_path():
    rng = np.random.default_rng(0)
    noisy = 0.3 + rng.uniform(-1e-4, 1e-4, 5000)
    path = Path.of(noisy, 2e-4)
    assert path.length.sum() == 0.0
    assert len(path.reversals) == 0
    assert len(Path.of(noisy).reversals) > 1000  # without play, noise looks like reversals


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


def test_a_reversal_costs_a_moving_joint_no_displacement():
    rng = np.random.default_rng(1)
    t = np.arange(0.0, 10.0, 0.004)
    true = 0.01 * np.sin(2.0 * t)
    noisy = true + 1e-5 * rng.standard_normal(len(t))
    path, lost = Path.of(noisy, 3e-5, rest=12), Path.of(noisy, 3e-5)
    assert np.std(np.cumsum(path.step) - true) < 1.2e-5
    # the play operator itself lags by its half width
    assert np.std(np.cumsum(lost.step) - true) > 2.5e-5
    assert len(path.reversals) == len(lost.reversals) == 6
    np.testing.assert_allclose(path.length.sum() - lost.length.sum(), 6 * 6e-5, rtol=0.3)


def test_a_joint_that_rests_does_not_move_the_path_also_if_reversals_cost_nothing():
    rng = np.random.default_rng(2)
    position = np.concatenate(
        (np.linspace(0.0, 0.01, 200), np.full(5000, 0.01), np.linspace(0.01, 0.0, 200))
    )
    # it leaves the band now and then
    noisy = position + 1e-5 * rng.standard_normal(len(position))
    path = Path.of(noisy, 3e-5, rest=12)
    # the reversal costs no more
    assert path.length[400:5190].sum() < Path.of(noisy, 3e-5).length[400:5190].sum() + 6.1e-5
    assert np.cumsum(path.step)[[200, -1]].tolist() == pytest.approx([0.01, 0.0], abs=4e-5)


def test_recordings_with_different_rates_rest_for_the_same_time():
    # pauses at the reversal for some ten samples
    turn = np.abs(np.linspace(-0.01, 0.01, 2001))
    both = np.concatenate((turn, turn))
    path = Path.of(both, 5e-5, np.array([0, len(turn)]), rest=[50, 5])
    assert np.any(path.step[1001:1011] > 0.0)
    assert not np.any(path.step[len(turn) + 1001 : len(turn) + 1009])
    np.testing.assert_allclose(
        path.length[: len(turn)].sum(), path.length[len(turn) :].sum(), rtol=1e-9
    )


def test_a_path_without_samples():
    assert len(Path.of(np.zeros(0), 1e-5, velocity=np.zeros(0), rest=5).step) == 0


def test_motion_within_the_noise_is_that_of_the_play_operator():
    position = 3.5e-5 * np.sin(np.linspace(0.0, 20.0, 2000))
    np.testing.assert_array_equal(
        Path.of(position, 3e-5, rest=12).step, Path.of(position, 3e-5).step
    )
