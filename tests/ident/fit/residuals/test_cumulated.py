"""Tests of cumulated residuals: against known distributions, and how
often they reject a right law.
"""

import numpy as np
import pytest
from scipy.stats import binom, f, kstest

from stribeck.ident.fit.residuals.cumulated import (
    cells,
    flipped_p,
    positive_p,
    ratio_p,
    reached,
    waves,
)
from stribeck.ident.fit.residuals.white_residuals import Residuals

SPEED = np.geomspace(0.02, 1.0, 30)


def rows(white: np.ndarray, columns: np.ndarray, group: np.ndarray | None = None) -> Residuals:
    """What least squares leaves of white torques."""
    left = white - columns @ np.linalg.lstsq(columns, white, rcond=None)[0]
    return Residuals(
        left, left, columns, np.arange(len(white)) if group is None else group, np.ones(len(white))
    )


def line(speed: np.ndarray = SPEED) -> np.ndarray:
    return np.column_stack((np.ones_like(speed), speed))


@pytest.mark.parametrize("value", [0.2, 1.0, 3.0, 6.0])
def test_a_ratio_of_sums_of_squares_has_fishers_distribution(value: float) -> None:
    weights, times = np.array([1.0 / 4.0, -value / 11.0]), np.array([4.0, 11.0])
    assert positive_p(weights, times) == pytest.approx(f.sf(value, 4, 11), rel=1e-6)


def test_sums_that_are_all_of_one_sign_are_sure() -> None:
    assert positive_p(np.array([1.0, 0.5]), np.ones(2)) == 1.0
    assert positive_p(np.array([-1.0, 0.0]), np.ones(2)) == 0.0


def test_means_of_replicates_give_the_f_test_of_lack_of_fit() -> None:
    """Against the textbook: scatter of the means about the line over scatter within replicates."""
    speed = np.repeat(np.geomspace(0.02, 1.0, 8), 3)
    torque = (
        1.0
        + speed
        + 0.3 * np.sin(6.0 * speed)
        + 0.2 * np.random.default_rng(1).standard_normal(len(speed))
    )
    cell = np.repeat(np.arange(8), 3)
    means = (np.arange(8)[:, None] == cell) / np.sqrt(3.0)
    mean = torque.reshape(8, 3).mean(axis=1)
    of_means = mean - line(speed[::3]) @ np.linalg.lstsq(line(speed[::3]), mean, rcond=None)[0]
    ratio = (3.0 * of_means @ of_means / 6.0) / (np.sum((torque - np.repeat(mean, 3)) ** 2) / 16.0)
    assert ratio_p(rows(torque, line(speed)), means) == pytest.approx(f.sf(ratio, 6, 16), rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("sums", [reached(cells(SPEED)), waves(SPEED)])
def test_p_values_of_a_right_law_are_uniform(sums: np.ndarray) -> None:
    random = np.random.default_rng(2)
    found = [ratio_p(rows(random.standard_normal(30), line()), sums) for _ in range(400)]
    assert kstest(found, "uniform").pvalue > 0.01


@pytest.mark.slow
def test_heavy_tails_make_no_false_alarms() -> None:
    random = np.random.default_rng(3)
    found = [
        ratio_p(rows(random.standard_t(3, 30), line()), reached(cells(SPEED))) for _ in range(400)
    ]
    assert sum(p < 0.01 for p in found) <= binom.ppf(0.999, 400, 0.01)


def test_a_fast_wave_is_found_by_waves_and_not_by_cumulated_sums() -> None:
    """Two periods over the range, without any noise: the part of all squares that sums see is then
    as small as that of noise.
    """
    wave = rows(np.sin(4.0 * np.pi * np.arange(30) / 29.0), line())
    assert ratio_p(wave, reached(cells(SPEED))) > 0.001
    assert ratio_p(wave, waves(SPEED)) < 1e-6


@pytest.mark.slow
def test_errors_shared_within_round_trips_give_no_false_alarms() -> None:
    """Every round trip has a wave of its own along its way, as rough surfaces make it."""
    random, group, place = (
        np.random.default_rng(4),
        np.repeat(np.arange(24), 6),
        np.tile(np.linspace(0.0, 1.0, 6), 24),
    )
    found = []
    for _ in range(200):
        wave = random.standard_normal((24, 2)) @ np.array(
            [np.sin(4.0 * place[:6]), np.cos(4.0 * place[:6])]
        )
        white = wave.ravel() + 0.3 * random.standard_normal(144)
        found.append(
            flipped_p(
                rows(white, line(np.repeat(np.geomspace(0.02, 1.0, 24), 6)), group), cells(place)
            )
        )
    assert sum(p < 0.02 for p in found) <= binom.ppf(0.999, 200, 0.02)
    assert sum(p < 0.5 for p in found) > 40  # nor is the test blind


def test_a_wave_that_round_trips_share_is_found() -> None:
    random, group, place = (
        np.random.default_rng(5),
        np.repeat(np.arange(24), 6),
        np.tile(np.linspace(0.0, 1.0, 6), 24),
    )
    white = np.sin(6.0 * place) + random.standard_normal(144)
    assert (
        flipped_p(rows(white, line(np.repeat(np.geomspace(0.02, 1.0, 24), 6)), group), cells(place))
        < 0.002
    )


def test_a_difference_between_directions_shows_only_in_the_even_part() -> None:
    """What pushes forward and backward alike is odd in the direction of motion, and
    stays unseen by the odd part.
    """
    random, speed = np.random.default_rng(6), np.tile(np.geomspace(0.02, 1.0, 20), 2)
    turn, group = np.repeat([1.0, -1.0], 20), np.arange(40)
    # in the direction of motion
    white = turn * np.sin(5.0 * speed) + 0.3 * random.standard_normal(40)
    found = rows(white, line(speed), group)
    assert flipped_p(found, cells(speed), turn) < 0.005
    assert flipped_p(found, cells(speed)) > 0.05


def test_many_values_share_few_cells_and_equal_ones_the_same() -> None:
    cell = cells(np.repeat(np.linspace(0.0, 1.0, 100), 2))
    assert cell.max() == 31
    assert (cell[::2] == cell[1::2]).all()
    assert cells(np.array([3.0, 1.0, 3.0, 2.0])).tolist() == [2, 0, 2, 1]
