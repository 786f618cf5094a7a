"""Lack of fit of laws that are wrong in a known way, and none of laws that are right;
torques are written out here.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from stribeck.ident.fit.fit_friction import fit_friction
from stribeck.ident.fit.fit_result import FitResult
from stribeck.ident.fit.law_fit import fit_law
from stribeck.ident.fit.points import FitPoints
from stribeck.ident.fit.residuals.holding import with_lack_of_fit
from stribeck.ident.fit.residuals.lack_of_fit import lack_of_fit
from stribeck.ident.laws.law_table import law_named

TRIPS, PLACES, LEVEL = 36, 5, 0.03  # N·m that round trips scatter by, of 2 N·m of friction
RIGHT = {
    "coulomb-viscous": 2.0 + 3.0 * np.geomspace(0.02, 1.0, TRIPS),
    "stribeck": 2.0
    + 3.0 * np.geomspace(0.02, 1.0, TRIPS)
    + np.exp(-((np.geomspace(0.02, 1.0, TRIPS) / 0.1) ** 2)),
}


def points(
    friction: np.ndarray,
    seed: int,
    ascending: bool = False,
    wave: float = 0.0,
    later: float = 0.0,
    correlation: float = 0.0,
) -> tuple[FitPoints, np.ndarray]:
    """Round trips over several places, at speeds in no order of time; and the places."""
    random, group = np.random.default_rng(seed), np.repeat(np.arange(TRIPS), PLACES)
    time = np.arange(TRIPS) if ascending else random.permutation(TRIPS)
    level = random.standard_normal(TRIPS)
    for k in range(1, TRIPS):
        level[k] = correlation * level[k - 1] + np.sqrt(1.0 - correlation**2) * level[k]
    place = np.tile(np.linspace(-1.0, 1.0, PLACES), TRIPS) + random.uniform(-0.2, 0.2, TRIPS)[group]
    tau = (friction + LEVEL * level[time] + later * np.sin(np.pi * time / TRIPS))[
        group
    ] + wave * np.sin(3.0 * place)
    speed = np.geomspace(0.02, 1.0, TRIPS)[group]
    return FitPoints(
        speed, tau + 0.02 * random.standard_normal(len(group)), None, group, time=time.astype(float)
    ), place


def fitted(law: str, data: FitPoints, place: np.ndarray | None = None) -> FitResult:
    return with_lack_of_fit(fit_law(data, law_named(law)), place)


@pytest.mark.slow
@pytest.mark.parametrize("law", RIGHT)
def test_a_right_law_is_not_called_wrong(law: str) -> None:
    alarms = sum(
        bool(lack_of_fit(fit_law(data, law_named(law)), place)[0])
        for data, place in (points(RIGHT[law], seed) for seed in range(25))
    )
    assert alarms <= binom.ppf(0.999, 25, 0.01)


@pytest.mark.slow
def test_drifting_levels_are_no_misfit_of_the_law() -> None:
    alarms = sum(
        bool(lack_of_fit(fit_law(data, law_named("coulomb-viscous")), place)[0])
        for data, place in (
            points(RIGHT["coulomb-viscous"], seed, correlation=0.6) for seed in range(20)
        )
    )
    assert alarms <= binom.ppf(0.999, 20, 0.02)


@pytest.mark.parametrize(
    ("truth", "law"),
    [
        (2.0 + 3.0 * np.geomspace(0.02, 1.0, TRIPS) ** 0.6, "coulomb-viscous"),
        (RIGHT["stribeck"] - 2.0 * np.geomspace(0.02, 1.0, TRIPS), "coulomb-viscous"),
        (
            RIGHT["coulomb-viscous"] + 0.6 * np.exp(-np.geomspace(0.02, 1.0, TRIPS) / 0.1),
            "coulomb-viscous",
        ),
    ],
)
def test_a_wrong_law_shows_over_speed_and_the_band_covers_the_truth(
    truth: np.ndarray, law: str
) -> None:
    found = [fitted(law, points(truth, seed)[0]) for seed in range(5)]
    assert all(fit.lack_of_fit and fit.lack_of_fit[0].over == "speed" for fit in found)
    speed = np.geomspace(0.02, 1.0, TRIPS)
    held = [np.mean(np.abs(fit.predict(speed) - truth) <= fit.band(speed)) for fit in found]
    assert np.mean(held) >= 0.85


def test_a_misfit_of_one_noise_deviation_is_found_nine_times_in_ten() -> None:
    """Rms of what the best line leaves of a drop is that of the levels."""
    speed = np.geomspace(0.02, 1.0, TRIPS)
    line = np.column_stack((np.ones(TRIPS), speed))
    drop = np.exp(-((speed / 0.1) ** 2))
    left = drop - line @ np.linalg.lstsq(line, drop, rcond=None)[0]
    truth = RIGHT["coulomb-viscous"] + LEVEL * drop / np.sqrt(np.mean(left**2))
    found = [
        lack_of_fit(fit_law(points(truth, seed)[0], law_named("coulomb-viscous")))[0]
        for seed in range(20)
    ]
    assert sum(bool(one) for one in found) >= 18


def test_size_and_place_are_those_of_the_bump() -> None:
    speed = np.geomspace(0.02, 1.0, TRIPS)
    truth = RIGHT["coulomb-viscous"] + 0.4 * np.exp(-8.0 * np.log(speed / 0.2) ** 2)
    (first, *_) = fitted("coulomb-viscous", points(truth, 3)[0]).lack_of_fit
    assert first.over == "speed"
    assert 0.12 < first.at < 0.3
    assert 0.15 < first.size < 0.4


def test_a_wave_along_the_stroke_is_found_over_position() -> None:
    data, place = points(RIGHT["stribeck"], 4, wave=0.05)
    fit = fitted("stribeck", data, place)
    assert [one.over for one in fit.lack_of_fit] == ["position"]
    assert abs(fit.lack_of_fit[0].size) == pytest.approx(0.05, rel=0.4)
    assert not fitted("stribeck", data).lack_of_fit


def test_a_shared_error_over_time_beyond_drift_is_found() -> None:
    """A run that was warmer than the others, in the middle."""
    found = [
        fitted("coulomb-viscous", points(RIGHT["coulomb-viscous"], seed, later=0.3)[0])
        for seed in range(5)
    ]
    assert all(fit.serial > 0.3 or "time" in {one.over for one in fit.lack_of_fit} for fit in found)
    assert sum("speed" in {one.over for one in fit.lack_of_fit} for fit in found) <= 1


def test_replicates_that_agree_with_each_other_and_not_with_the_law_are_found() -> None:
    """Levels that jump from speed to speed without any run, six round trips of each speed."""
    random = np.random.default_rng(5)
    speed = np.repeat(np.geomspace(0.05, 1.0, 8), 6)
    jump = np.repeat([0.1, -0.1, 0.1, -0.1, 0.1, -0.1, 0.1, -0.1], 6)
    order = random.permutation(len(speed))
    fit = fit_friction(
        speed[order],
        (2.0 + 3.0 * speed + jump + 0.03 * random.standard_normal(48))[order],
        law="coulomb-viscous",
    )
    assert "repeats" in {one.over for one in fit.lack_of_fit}


@pytest.mark.slow
@pytest.mark.parametrize("blocks", [1, 3, 6])
def test_drifting_levels_are_no_misfit_over_loads_measured_in_sequence(blocks: int) -> None:
    """So many round trips of a load, or of a speed, stand side by side in time."""
    alarms = 0
    for seed in range(12):
        random = np.random.default_rng(seed)
        time, level = np.arange(TRIPS), random.standard_normal(TRIPS)
        for k in range(1, TRIPS):
            level[k] = 0.6 * level[k - 1] + 0.8 * level[k]
        load = np.repeat(random.permutation(TRIPS // blocks), blocks) * 0.5
        speed = np.geomspace(0.02, 1.0, TRIPS // 3)[
            random.permutation(np.repeat(np.arange(TRIPS // 3), 3))
        ]
        tau = 2.0 + 3.0 * speed + 0.1 * load + LEVEL * level
        data = FitPoints(
            speed, tau + 0.005 * random.standard_normal(TRIPS), load, time, time=time.astype(float)
        )
        alarms += bool(lack_of_fit(fit_law(data, law_named("coulomb-viscous"), "load"))[0])
    # a correlation that chance could make is not counted
    assert alarms <= binom.ppf(0.999, 12, 0.03)


def test_outliers_that_count_less_hide_no_misfit() -> None:
    truth = 2.0 + 3.0 * np.geomspace(0.02, 1.0, TRIPS) ** 0.6
    for seed in range(6):
        data, _ = points(truth, seed)
        weight = np.where(np.isin(np.arange(TRIPS), (9, 22)), 0.01, 1.0)
        tau = data.tau + np.where(weight < 1.0, 0.6, 0.0)[data.group]
        found = fitted("coulomb-viscous", replace(data, tau=tau, weight=weight)).lack_of_fit
        assert found[0].over == "speed"
        assert abs(found[0].size) < 0.4


@pytest.mark.parametrize("trips", [6, 7, 8, 9])
def test_few_round_trips_are_judged_without_a_crash(trips: int) -> None:
    speed = np.geomspace(0.02, 1.0, trips)
    fit = with_lack_of_fit(
        fit_law(
            FitPoints(
                speed, 2.0 + 3.0 * speed + np.exp(-((speed / 0.1) ** 2)), None, np.arange(trips)
            ),
            law_named("coulomb-viscous"),
        )
    )
    assert np.isfinite(fit.band(speed)).all()


@pytest.mark.parametrize("counts", [(2, 12, 12), (1, 1, 28), (10, 10, 10)])
def test_few_speeds_of_uneven_numbers_are_judged_without_a_crash(
    counts: tuple[int, int, int],
) -> None:
    random = np.random.default_rng(1)
    speed = random.permutation(np.repeat([0.05, 0.3, 1.0], counts))
    fit = fit_friction(
        speed,
        2.0 + 3.0 * speed + 0.5 * (speed == 0.3) + 0.01 * random.standard_normal(len(speed)),
        law="coulomb-viscous",
    )
    assert fit.lack_of_fit
    if min(counts) > 1:
        assert (
            np.abs(fit.predict([0.05, 0.3, 1.0]) - [2.15, 3.4, 5.0]) < fit.band([0.05, 0.3, 1.0])
        ).all()


def test_an_interaction_of_speed_and_load_is_found_with_its_size() -> None:
    random = np.random.default_rng(2)
    k, m, _ = np.array(np.meshgrid(np.arange(6), np.arange(2), np.arange(4))).reshape(3, -1)
    order = random.permutation(len(k))
    speed, load = np.geomspace(0.05, 1.0, 6)[k][order], np.array([2.0, 10.0])[m][order]
    apart = 0.2 * np.where((k + m) % 2, 1.0, -1.0)[order]
    tau = 2.0 + 3.0 * speed + 0.1 * load + apart + 0.03 * random.standard_normal(len(k))
    fit = with_lack_of_fit(
        fit_law(
            FitPoints(speed, tau, load, np.arange(len(k))), law_named("coulomb-viscous"), "load"
        )
    )
    (found,) = fit.lack_of_fit
    assert found.over == "repeats"
    assert abs(found.size) == pytest.approx(0.2, abs=0.08)
    assert (fit.band([0.05, 0.3, 1.0], [2.0, 2.0, 10.0]) > 0.12).all()


def test_intervals_hold_the_misfit() -> None:
    truth = 2.0 + 3.0 * np.geomspace(0.02, 1.0, TRIPS) ** 0.6
    data, _ = points(truth, 6)
    plain, found = fit_law(data, law_named("coulomb-viscous")), fitted("coulomb-viscous", data)
    for name in ("coulomb", "viscous"):
        assert found.parameters[name].half_width > 1.2 * plain.parameters[name].half_width
        assert found.parameters[name].value == plain.parameters[name].value
    assert (found.band([0.02, 0.2, 1.0]) > plain.band([0.02, 0.2, 1.0])).all()


@pytest.mark.parametrize(("size", "worth_a_word"), [(2e-6, False), (2e-2, True)])
def test_a_trifle_that_no_noise_covers_is_held_and_no_finding(
    size: float, worth_a_word: bool
) -> None:
    """Without noise a law's millionth is sure; it widens the band as any misfit does."""
    speed, group = np.geomspace(0.02, 1.0, TRIPS), np.repeat(np.arange(TRIPS), PLACES)
    friction = 2.0 + 3.0 * speed + size * np.exp(-((np.log(speed / 0.1)) ** 2))
    data = FitPoints(
        speed[group],
        friction[group],
        None,
        group,
        time=np.random.default_rng(0).permutation(TRIPS).astype(float),
    )
    plain, fit = fit_law(data, law_named("coulomb-viscous")), fitted("coulomb-viscous", data)
    (surest, *_), _ = lack_of_fit(plain)
    assert surest.over == "speed"
    assert 0.1 * size < abs(surest.size) < size
    assert bool(fit.lack_of_fit) == worth_a_word
    assert fit.further_error is not None
    assert 0.1 * size < fit.further_error[:, 1].max() < size


def test_a_law_that_fits_changes_nothing() -> None:
    data, place = points(RIGHT["stribeck"], 7)
    plain, found = fit_law(data, law_named("stribeck")), fitted("stribeck", data, place)
    assert found.lack_of_fit == ()
    assert found.parameters == plain.parameters


def test_units_and_the_order_of_rows_change_nothing() -> None:
    truth = 2.0 + 3.0 * np.geomspace(0.02, 1.0, TRIPS) ** 0.6
    data, place = points(truth, 8)
    one = fitted("coulomb-viscous", data, place).lack_of_fit
    milli = fitted("coulomb-viscous", replace(data, tau=1e3 * data.tau), place).lack_of_fit
    assert [(a.over, a.at) for a in one] == [(b.over, b.at) for b in milli]
    assert [1e3 * a.size for a in one] == pytest.approx([b.size for b in milli])
    assert [a.p for a in one] == pytest.approx([b.p for b in milli], rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("within", [False, True])
def test_viscous_friction_that_grows_with_the_load_is_found_and_held(within: bool) -> None:
    """Where each round trip has a load of its own, and where it varies along the way."""
    alarms = 0
    for seed in range(4):
        random = np.random.default_rng(seed)
        group, speed = (
            np.repeat(np.arange(TRIPS), PLACES),
            random.permutation(np.linspace(0.05, 1.0, TRIPS)),
        )
        load = (
            random.uniform(0.0, 10.0, TRIPS)[group]
            if not within
            else random.uniform(0.0, 10.0, TRIPS * PLACES)
        )
        for grows in (0.0, 0.1):
            tau = (
                2.0
                + 0.1 * load
                + (3.0 + grows * load) * speed[group]
                + LEVEL * random.standard_normal(TRIPS)[group]
            )
            data = FitPoints(
                speed[group], tau + 0.02 * random.standard_normal(len(group)), load, group
            )
            fit = with_lack_of_fit(fit_law(data, law_named("coulomb-viscous"), "load"))
            if grows:
                assert "load at speed" in {one.over for one in fit.lack_of_fit}
                state = np.geomspace(0.05, 1.0, 9)
                off = fit.predict(state, np.full(9, 8.0)) - (2.8 + 3.8 * state)
                assert np.mean(np.abs(off) < fit.band(state, np.full(9, 8.0))) > 0.8
            else:
                alarms += bool(fit.lack_of_fit)
    assert alarms <= 1


@pytest.mark.parametrize("wrong", ["growth", "speed"])
def test_few_light_loads_tell_growth_from_speed(wrong: str) -> None:
    """Seven of ten rows under the greatest load, or under none: their median is the greatest."""
    random = np.random.default_rng(3)
    group, speed = (
        np.repeat(np.arange(TRIPS), 10),
        random.permutation(np.linspace(0.05, 1.0, TRIPS)),
    )
    load = 10.0 * (random.random(10 * TRIPS) < 0.7)
    bent = 0.05 * load * speed[group] if wrong == "growth" else 0.5 * np.sin(6.0 * speed[group])
    tau = (
        2.0 + 0.1 * load + 3.0 * speed[group] + bent + LEVEL * random.standard_normal(TRIPS)[group]
    )
    data = FitPoints(speed[group], tau + 0.02 * random.standard_normal(len(group)), load, group)
    found = {
        one.over
        for one in with_lack_of_fit(fit_law(data, law_named("coulomb-viscous"), "load")).lack_of_fit
    }
    assert ("load at speed" in found) == (wrong == "growth")
    assert ("speed" in found) == (wrong == "speed")
