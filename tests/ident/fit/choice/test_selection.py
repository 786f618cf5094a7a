"""Selection of laws and loads: the true law wins, the simpler law wins ties, and
held-out errors are correct.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from stribeck.ident.errors import FitError, InputError
from stribeck.ident.fit.choice.selection import select
from stribeck.ident.fit.fit_result import FitResult
from stribeck.ident.fit.points import FitPoints
from stribeck.ident.fit.residuals.holding import with_lack_of_fit
from stribeck.ident.laws.law_table import law_named, laws_on_offer
from tests.coverage import fewest

SPEEDS = np.geomspace(0.004, 1.2, 12)
# loads of four postures, which rank them differently
TORQUE = np.array([5.0, 25.0, 12.0, 30.0])
BENDING = np.array([20.0, 8.0, 28.0, 12.0])


def friction(w: np.ndarray, load: np.ndarray | float, drop: float, slope: float) -> np.ndarray:
    """Truth: 4 N·m and `slope` per load, `drop` of it on top at low speed
    (w_s = 0.05), 3 N·m·s/rad.
    """
    return (4.0 + slope * load) * (1.0 + drop * np.exp(-((w / 0.05) ** 2))) * np.sign(w) + 3.0 * w


def data(
    seed: int,
    drop: float = 0.0,
    slope: float = 0.0,
    of: np.ndarray = TORQUE,
    scatter: float = 0.01,
    noise: float = 0.02,
) -> tuple[FitPoints, dict[str, np.ndarray | None]]:
    """Round trips of two points at every speed in four postures, and the loads on offer."""
    rng = np.random.default_rng(seed)
    w = np.repeat(np.tile(SPEEDS, 4), 2)
    posture, group = np.repeat(np.arange(4), 24), np.repeat(np.arange(48), 2)
    clean = friction(w, of[posture], drop, slope)
    tau = clean * (1.0 + scatter * rng.standard_normal(48)[group]) + noise * rng.standard_normal(96)
    return FitPoints(w, tau, None, group), {
        "none": None,
        "torque": TORQUE[posture],
        "bending": BENDING[posture],
    }


@cache
def selected() -> FitResult:
    """Choice for friction that falls with speed and grows with one of three loads."""
    return select(*data(2, drop=0.5, slope=0.1))


def chosen(selection: FitResult) -> tuple[str, str]:
    return selection.law, selection.load


@pytest.mark.slow
@pytest.mark.parametrize(
    ("truth", "of", "law", "load"),
    [
        ({"drop": 0.5, "slope": 0.1}, BENDING, "stribeck", "bending"),
        ({"drop": 0.0, "slope": 0.1}, TORQUE, "coulomb-viscous", "torque"),
        ({"drop": 0.5, "slope": 0.0}, TORQUE, "stribeck", "none"),
        ({"drop": 0.0, "slope": 0.0}, TORQUE, "coulomb-viscous", "none"),
    ],
)
def test_the_true_load_wins_and_a_law_that_falls_only_where_friction_does(
    truth: dict[str, float], of: np.ndarray, law: str, load: str
) -> None:
    fit = select(*data(0, **truth, of=of))
    assert (*chosen(fit), fit.falls) == (law, load, law == "stribeck")


@pytest.mark.parametrize("scatter", [0.0, 1e-4])
def test_the_simpler_wins_ties_of_exact_data(scatter: float) -> None:
    points, loads = data(0, scatter=scatter, noise=scatter)
    assert chosen(select(points, loads)) == ("coulomb-viscous", "none")


@pytest.mark.slow
def test_intervals_hold_what_a_law_allows_that_fits_as_well() -> None:
    """Drops too small to be claimed reliably: a law without one, where it is kept,
    does not pretend to know.
    """
    kept = held = 0
    for seed in range(8):
        points, _ = data(300 + seed, drop=0.06, scatter=0.05)
        fit = select(points, {"none": None})
        if not law_named(fit.law).knee:
            kept += 1
            held += fit.parameters["coulomb"].low <= 4.0 <= fit.parameters["coulomb"].high
    assert kept >= 2
    assert held >= fewest(kept, once_in=20)


@pytest.mark.slow
def test_where_there_is_no_drop_the_other_law_makes_intervals_hardly_wider() -> None:
    from stribeck.ident.fit.law_fit import fit_law
    from stribeck.ident.laws.law_table import LAWS

    wider = []
    for seed in range(3):
        points, _ = data(400 + seed, scatter=0.05)
        ours, alone = (
            fit.parameters["coulomb"].half_width
            for fit in (select(points, {"none": None}), fit_law(points, LAWS["coulomb-viscous"]))
        )
        wider.append(ours / alone)
    assert np.median(wider) < 1.4


@pytest.mark.slow
def test_the_order_in_which_loads_are_offered_does_not_matter() -> None:
    points, loads = data(2, drop=0.5, slope=0.1)
    turned = dict(reversed(loads.items()))
    assert chosen(select(points, turned)) == chosen(selected())


@pytest.mark.slow
def test_a_law_with_a_free_drop_and_a_bent_viscous_part_competes_where_one_of_them_is_not_enough() -> (
    None
):
    """The exponent alone takes what the viscous part bends for a drop that fades slowly: 1 %
    off, and plausible by itself.
    """
    w, group = np.repeat(np.tile(SPEEDS, 4), 2), np.repeat(np.arange(48), 2)
    clean = (4.0 + 2.0 * np.exp(-((w / 0.05) ** 1.2)) + 4.0 * w**0.9) * np.sign(w)
    chosen_law, off, silent = [], [], []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        points = FitPoints(w, clean * (1.0 + 0.005 * rng.standard_normal(48)[group]), None, group)
        fit, alone = (
            select(points, {"none": None}),
            select(points, {"none": None}, ("stribeck-free",)),
        )
        chosen_law.append(fit.law)
        for one, out in ((fit, off), (alone, silent)):
            out.append(np.mean(np.abs(one.predict(w) - clean) > one.interval(w)))
    assert "stribeck-free-power" in chosen_law
    assert np.mean(off) < 0.05
    assert np.mean(silent) > 0.2


@pytest.mark.slow
def test_the_best_of_a_law_with_three_bends_is_found_from_a_thin_grid() -> None:
    """Residuals of the best fit are no more than those of the truth; from one start, one of ten
    was five times as far off.
    """
    w = np.geomspace(0.05, 2.0, 14)
    clean = 2.0 + np.exp(-w / 0.1) + 1.5 * w**0.7
    alarms = 0
    for seed in range(2):
        noise = 0.002 * np.random.default_rng(seed).standard_normal(14)
        fit = select(
            FitPoints(w, clean + noise, None, np.arange(14)),
            {"none": None},
            ("stribeck-free-power",),
        )
        assert fit.rmse <= np.sqrt(np.mean(noise**2))
        alarms += bool(with_lack_of_fit(fit).lack_of_fit)
    assert not alarms


def test_every_candidate_is_listed_and_the_winner_is_among_the_best() -> None:
    loads, selection = data(2)[1], selected()
    assert (*chosen(selection), selection.falls) == ("stribeck", "torque", True)
    listed = [(c.law, c.load) for c in selection.candidates]
    # nothing here asks for more
    offered = [law for law in laws_on_offer() if not law_named(law).needs]
    bent = {law for law in offered if len(law_named(law).nonlinear) > 1}
    assert len(set(listed)) == len(listed)
    assert set(listed) == {
        (law, load) for law in offered for load in loads if load == "torque" or law not in bent
    }
    for load in loads:
        assert sum(c.share for c in selection.candidates if c.load == load) == pytest.approx(1.0)
    error = {(c.law, c.load): c.held_out_rmse for c in selection.candidates}
    assert error[chosen(selection)] == selection.held_out_rmse
    others = [
        value for (_, load), value in error.items() if load != "torque" and np.isfinite(value)
    ]
    assert error["stribeck", "torque"] < 0.3 * min(others)


def test_held_out_error_is_that_of_fits_without_the_speed_or_at_the_ends_the_round_trip() -> None:
    """By brute force for the law that is linear; its weights are nearly uniform here. Single trips
    everywhere would give less.
    """
    points, _ = data(3, scatter=0.0, noise=0.05)
    keep = np.isin(points.group % 12, [0, 4, 8, 11])
    w, group = points.w[keep], np.unique(points.group[keep], return_inverse=True)[1]
    tau = points.tau[keep] + 0.4 * np.isclose(w, SPEEDS[8])
    A = np.column_stack([np.sign(w), w])

    def brute(left_out: list[np.ndarray]) -> float:
        error = np.concatenate(
            [
                tau[out] - A[out] @ np.linalg.lstsq(A[~out], tau[~out], rcond=None)[0]
                for out in left_out
            ]
        )
        return float(np.sqrt(np.mean(error**2)))

    trips = [group == g for g in range(group.max() + 1)]
    ends = [out for out in trips if w[out][0] in (w.min(), w.max())]
    expected = brute([*ends, *(w == speed for speed in np.unique(w)[1:-1])])
    held_out = select(
        FitPoints(w, tau, None, group), {"none": None}, ("coulomb-viscous",)
    ).held_out_rmse
    assert held_out == pytest.approx(expected, rel=0.01)
    assert expected > 1.05 * brute(trips)


@pytest.mark.slow
def test_errors_of_single_speeds_are_no_stribeck_effect() -> None:
    """Friction with a level of its own at every speed, as resonances make: it repeats, but
    a curve cannot predict it.
    """
    claimed = 0
    for seed in range(4):
        rng = np.random.default_rng(500 + seed)
        points, _ = data(500 + seed)
        own = 0.4 * rng.standard_normal(len(SPEEDS))[points.group % 12]
        claimed += select(replace(points, tau=points.tau + own), {"none": None}).falls
    assert not claimed


def test_passes_that_hold_many_speeds_are_left_out_singly() -> None:
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(20), 30)
    w = rng.uniform(0.01, 1.0, len(group))
    tau = (
        friction(w, 0.0, 0.0, 0.0)
        + 0.1 * rng.standard_normal(20)[group]
        + 0.05 * rng.standard_normal(len(w))
    )
    A, errors = np.column_stack([np.ones_like(w), w]), []
    for g in range(20):
        beta = np.linalg.lstsq(A[group != g], tau[group != g], rcond=None)[0]
        errors.append(tau[group == g] - A[group == g] @ beta)
    held_out = select(
        FitPoints(w, tau, None, group), {"none": None}, ("coulomb-viscous",)
    ).held_out_rmse
    assert held_out == pytest.approx(np.sqrt(np.mean(np.square(errors))), rel=0.02)


@pytest.mark.slow
def test_held_out_error_grows_with_needless_parameters() -> None:
    """In-sample error never does, which is why it cannot choose."""
    worse = []
    for seed in range(3):
        points, loads = data(20 + seed)
        error = [
            select(points, {load: loads[load]}, (law,)).held_out_rmse
            for law, load in (("stribeck", "torque"), ("coulomb-viscous", "none"))
        ]
        worse.append(error[0] / error[1])
    assert np.median(worse) > 1.02


@pytest.mark.slow
def test_impossible_candidates_are_dismissed_with_a_reason() -> None:
    falling, loads = data(4, slope=-0.08)
    for candidate in select(falling, loads).candidates:
        assert candidate.dismissed or candidate.load != "torque"
    rising, _ = data(5, drop=-0.4)
    fit = select(rising, {"none": None})
    assert not fit.falls


def test_a_forced_law_is_fitted_even_where_the_data_do_not_favour_it() -> None:
    points, _ = data(6)
    assert select(points, {"none": None}, ("stribeck",)).law == "stribeck"


def test_a_requested_load_does_not_hide_the_stribeck_effect() -> None:
    """Friction that knows no load, fitted with one: only its coefficient is nothing."""
    points, loads = data(20, drop=0.5)
    fit = select(points, {"torque": loads["torque"]})
    assert (fit.law, fit.load) == ("stribeck", "torque")
    assert fit.parameters["coulomb"].low <= 4.0 <= fit.parameters["coulomb"].high
    assert fit.parameters["coulomb_coefficient"].verdict in ("unidentifiable", "at bound")


@pytest.mark.slow
@pytest.mark.parametrize(("slope", "load"), [(0.0, "none"), (0.1, "torque")])
def test_a_requested_law_does_not_decide_the_load(slope: float, load: str) -> None:
    """No Stribeck effect, but a law with one: none of its fits falls with speed, and
    they compete nevertheless.
    """
    picked = [select(*data(30 + seed, slope=slope), ("stribeck",)).load for seed in range(2)]
    assert picked == [load] * 2


def test_nuisance_columns_do_not_bias_the_law() -> None:
    """A torque signal that lags by 4 ms while gravity changes by up to 30 N·m a radian."""
    points, _ = data(7, drop=0.5)
    rate = np.random.default_rng(0).uniform(-30.0, 30.0, len(points.w)) * np.abs(points.w)
    lagging = FitPoints(points.w, points.tau - 0.004 * rate, None, points.group, {"delay": -rate})
    fit = select(lagging, {"none": None})
    delay = fit.nuisance["delay"]
    assert delay.low <= 0.004 <= delay.high
    assert delay.high - delay.low < 0.003
    assert fit.parameters["viscous"].low <= 3.0 <= fit.parameters["viscous"].high
    assert "delay" not in fit.values


def test_a_prior_holds_what_the_data_cannot_show() -> None:
    """With no gravity slope to speak of the delay stays at what is known
    beforehand: zero, give or take.
    """
    points, _ = data(8, drop=0.5)
    rate = 1e-3 * np.random.default_rng(0).normal(size=len(points.w))
    known = FitPoints(points.w, points.tau, None, points.group, {"delay": -rate}, {"delay": 0.005})
    fit = select(known, {"none": None})
    assert abs(fit.nuisance["delay"].value) < 0.005
    free = select(points, {"none": None})
    assert fit.values == pytest.approx(free.values, rel=0.01)


def test_too_little_to_choose_from_is_refused() -> None:
    points, loads = data(9)
    few = points.group < 3
    with pytest.raises(FitError, match=r"3 round trip.*at least 4"):
        select(FitPoints(points.w[few], points.tau[few], None, points.group[few]), {"none": None})
    same = np.isclose(points.w, SPEEDS[3])
    with pytest.raises(FitError, match=r"1 different speed"):
        select(
            FitPoints(points.w[same], points.tau[same], None, np.arange(same.sum())), {"none": None}
        )
    with pytest.raises(InputError, match=r"'stribek'"):
        select(points, loads, ("stribek",))
