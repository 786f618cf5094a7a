"""Whitening, noise model and intervals against linear algebra done the long way."""

import numpy as np
import pytest
from scipy.stats import t as student

from stribeck.ident.arrays import group_index
from stribeck.ident.fit.cluster_covariance import cluster_covariance
from stribeck.ident.fit.group_sums import group_sum
from stribeck.ident.fit.noise import WHITE, Noise, estimate_noise, noise_of_sums

GROUP = np.array([0, 0, 1, 1, 1, 1, 2, 3, 3, 3])


def clustered(
    rng: np.random.Generator,
    groups: int,
    members: int,
    within: float,
    between: float,
    level: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Group labels and noise with a level of its own for every group, which `level` scales."""
    group = np.repeat(np.arange(groups), members)
    shared = between * rng.normal(size=groups) * (1.0 if level is None else level)
    return group, shared[group] + within * rng.normal(size=groups * members)


@pytest.mark.parametrize(
    "labels", [["b", "b", "a", "c", "a"], [7, 7, -3, 11, -3], [0.5, 0.5, 0.1, 0.9, 0.1]]
)
def test_groups_are_counted_in_order_of_appearance(labels: list[object]) -> None:
    assert group_index(np.array(labels)).tolist() == [0, 0, 1, 2, 1]


def test_group_sums_by_hand() -> None:
    values = np.arange(20.0).reshape(10, 2)
    assert group_sum(values, GROUP).tolist() == [
        [2.0, 4.0],
        [28.0, 32.0],
        [12.0, 13.0],
        [48.0, 51.0],
    ]


@pytest.mark.parametrize(
    "between", [np.zeros(10), np.full(10, 0.7), np.array([0.2, 0.2, 1, 1, 1, 1, 0.0, 3, 3, 3])]
)
def test_whitened_noise_is_white(between: np.ndarray) -> None:
    """W V W' = 1 for the covariance V that the noise model stands for."""
    noise = Noise(0.3, np.sqrt(between**2 + 0.3**2 / np.bincount(GROUP)[GROUP]))
    shared = (GROUP[:, None] == GROUP) * np.outer(between, between)
    covariance = shared + 0.3**2 * np.eye(10)
    whiten = noise.whiten(np.eye(10), GROUP)
    np.testing.assert_allclose(whiten @ covariance @ whiten.T, np.eye(10), atol=1e-12)


def test_whitening_treats_all_columns_alike() -> None:
    noise = Noise(0.3, np.full(10, 0.7))
    values = np.random.default_rng(0).normal(size=(10, 3, 2))
    for i in range(3):
        for j in range(2):
            np.testing.assert_allclose(
                noise.whiten(values, GROUP)[:, i, j], noise.whiten(values[:, i, j], GROUP)
            )


def test_white_noise_changes_nothing() -> None:
    values = np.random.default_rng(0).normal(size=(10, 2))
    np.testing.assert_allclose(WHITE.whiten(values, GROUP), values, atol=1e-12)


@pytest.mark.parametrize("proportional", [False, True])
@pytest.mark.parametrize("ratio", [0.5, 1.0, 2.0])
def test_noise_model_finds_both_levels(proportional: bool, ratio: float) -> None:
    rng = np.random.default_rng(int(10 * ratio) + proportional)
    level = np.linspace(1.0, 20.0, 400)
    within, between = 0.1, 0.1 * ratio
    group, residual = clustered(rng, 400, 5, within, between, level if proportional else None)
    noise = estimate_noise(residual, level[group], group, parameters=3)
    assert noise.within == pytest.approx(within, rel=0.1)
    true = np.sqrt((between * (level[group] if proportional else 1.0)) ** 2 + within**2 / 5)
    np.testing.assert_allclose(noise.level, true, rtol=0.15, atol=0.02)


def test_noise_without_shared_level_is_seen_as_white() -> None:
    group, residual = clustered(np.random.default_rng(0), 200, 6, 0.1, 0.0)
    noise = estimate_noise(residual, np.ones(len(residual)), group, parameters=2)
    assert noise.within == pytest.approx(0.1, rel=0.1)
    np.testing.assert_allclose(noise.level, 0.1 / np.sqrt(6), rtol=0.15)


def test_levels_of_few_points_are_as_sure_as_they_prove() -> None:
    """Slow round trips have one point each, the mean of many samples; the noise of the points
    of fast ones is not theirs.
    """
    rng = np.random.default_rng(3)
    count, level = np.repeat([1, 5], 200), np.repeat([1.0, 4.0], 200)
    group = np.repeat(np.arange(400), count)
    residual = (0.01 * level * rng.normal(size=400))[group] + 0.03 * rng.normal(size=len(group)) * (
        count == 5
    )[group]
    noise = estimate_noise(residual, level[group], group, parameters=2)
    np.testing.assert_allclose(noise.level[:200], 0.01, rtol=0.15)
    np.testing.assert_allclose(noise.level[200:], np.hypot(0.04, 0.03 / np.sqrt(5)), rtol=0.15)


def test_levels_with_high_leverage_count_less_for_the_noise() -> None:
    """Levels far out in the law leave small residuals, because the law follows them."""
    rng, found = np.random.default_rng(0), []
    A = np.column_stack((np.ones(8), [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 3.0, 4.0]))
    hat = A @ np.linalg.pinv(A)
    for _ in range(400):
        residual = (np.eye(8) - hat) @ rng.normal(size=8)
        found.append(
            noise_of_sums(residual, 0.0, np.ones(8), np.ones(8), np.diag(hat)).level[0] ** 2
        )
    assert np.mean(found) == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("members", [1, 4])
def test_noise_of_exact_data_stays_positive(members: int) -> None:
    """Simulated data without noise must not divide by zero."""
    group = np.repeat(np.arange(6), members)
    noise = estimate_noise(np.zeros(len(group)), np.ones(len(group)), group, parameters=2)
    assert noise.within > 0.0
    assert np.isfinite(noise.whiten(np.ones(len(group)), group)).all()


def left_out_fits(A: np.ndarray, b: np.ndarray, group: np.ndarray) -> np.ndarray:
    return np.array(
        [np.linalg.lstsq(A[group != g], b[group != g], rcond=None)[0] for g in np.unique(group)]
    )


@pytest.mark.parametrize("seed", range(5))
def test_covariance_is_that_of_fits_with_each_group_left_out(seed: int) -> None:
    rng = np.random.default_rng(seed)
    group = np.sort(rng.integers(0, 9, 60))
    group = group_index(group)
    A = np.column_stack(
        [np.ones(60), rng.normal(size=60), 1e3 * rng.normal(size=60) + 50.0 * group]
    )
    b = A @ [1.0, 2.0, 0.003] + rng.normal(size=10)[group] + 0.1 * rng.normal(size=60)
    beta = np.linalg.lstsq(A, b, rcond=None)[0]
    change = left_out_fits(A, b, group)
    change -= change.mean(axis=0)
    groups = len(change)
    expected = (groups - 1) / groups * change.T @ change
    np.testing.assert_allclose(
        cluster_covariance(A, b - A @ beta, group).covariance, expected, rtol=1e-7
    )


def test_interval_of_a_mean_is_the_textbook_one() -> None:
    """Equal groups: Student's interval of the group means with one degree of
    freedom less than groups.
    """
    group, noise = clustered(np.random.default_rng(1), 7, 5, 0.3, 1.0)
    values = 4.0 + noise
    means = values.reshape(7, 5).mean(axis=1)
    intervals = cluster_covariance(np.ones((35, 1)), values - values.mean(), group)
    error = means.std(ddof=1) / np.sqrt(7)
    assert intervals.freedom[0] == pytest.approx(6.0, rel=1e-6)
    assert intervals.std_error[0] == pytest.approx(error, rel=1e-9)
    assert intervals.half_width()[0] == pytest.approx(student.ppf(0.975, 6) * error, rel=1e-6)
    assert intervals.half_width(0.5)[0] == pytest.approx(student.ppf(0.75, 6) * error, rel=1e-6)


def test_intervals_do_not_shrink_when_points_are_merely_repeated() -> None:
    """Ten copies of each point in its round trip are no new information; white-noise
    intervals would shrink by 3.
    """
    rng = np.random.default_rng(2)
    x = np.linspace(0.0, 1.0, 12)
    y = 1.0 + 2.0 * x + 0.1 * rng.normal(size=12)

    def half(copies: int) -> np.ndarray:
        A, b = np.column_stack([np.ones(12), x]).repeat(copies, axis=0), y.repeat(copies)
        beta = np.linalg.lstsq(A, b, rcond=None)[0]
        return cluster_covariance(A, b - A @ beta, np.arange(12).repeat(copies)).half_width()

    np.testing.assert_allclose(half(10), half(1), rtol=1e-6)


def test_slopes_are_covered_as_often_as_promised() -> None:
    """Strongly correlated groups, ten of them, 400 cases: 95 % intervals of level and slope."""
    rng = np.random.default_rng(3)
    hits = np.zeros(2)
    for _ in range(400):
        group, noise = clustered(rng, 10, 4, 0.2, 1.0)
        A = np.column_stack([np.ones(40), rng.uniform(size=10)[group]])
        b = A @ [3.0, -2.0] + noise
        beta = np.linalg.lstsq(A, b, rcond=None)[0]
        hits += (
            np.abs(beta - [3.0, -2.0]) <= cluster_covariance(A, b - A @ beta, group).half_width()
        )
    assert (hits / 400 > 0.91).all()
    assert (hits / 400 < 0.995).all()


def test_a_parameter_that_one_group_alone_shows_does_not_break_the_others() -> None:
    rng = np.random.default_rng(4)
    group = np.repeat(np.arange(8), 3)
    A = np.column_stack([np.ones(24), (group == 7).astype(float)])
    b = 2.0 + 0.1 * rng.normal(size=24)
    beta = np.linalg.lstsq(A, b, rcond=None)[0]
    intervals = cluster_covariance(A, b - A @ beta, group)
    assert np.isfinite(intervals.covariance).all()
    assert 0.0 < intervals.half_width()[0] < 0.3
