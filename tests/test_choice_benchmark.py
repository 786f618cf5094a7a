"""The benchmark `choice` in small: its truths and priors agree, its oracle
covers, its rows are filled.
"""

import numpy as np
import pandas as pd
import pytest

from benchmarks import choice_oracle
from benchmarks.choice_judge import Case, interval_score, judge
from benchmarks.choice_oracle import bounds, posterior
from benchmarks.choice_tables import figures_of, table
from benchmarks.choice_truths import (
    FASTEST,
    FIRST,
    LEVEL,
    MIXES,
    Condition,
    correlations,
    drop_of,
    kink_at,
    measure,
)
from tests.coverage import fewest, most

FAMILIES = [(mix, k) for mix in MIXES.values() for k in range(len(mix.families))]
SPEEDS = np.linspace(0.01, 1.0, 40)
CASES, FITS = 16, 800  # draws from the oracle, and of errors of linear fits


@pytest.mark.parametrize(
    ("mix", "k"), FAMILIES, ids=[f"{mix.name}, {mix.families[k].name}" for mix, k in FAMILIES]
)
def test_the_prior_is_the_density_of_the_draws(mix, k):
    """The density integrates to one over a box, and drawn truths have this density."""
    family, rng, count = mix.families[k], np.random.default_rng(0), 400_000
    low, high = np.array(
        [
            *family.box,
            LEVEL,
            *([(0.0, LEVEL[1] * family.drop[1])] if family.exponents else []),
            (0.0, LEVEL[1] * family.growth[1]),
        ]
    ).T
    drawn = low + (high - low) * rng.random((count, len(low)))
    shape, beta = np.split(drawn, [len(family.box)], axis=1)
    density = np.exp(family.log_prior(shape[:, None], beta[:, None])) * np.prod(high - low)
    assert density.mean() == pytest.approx(1.0, abs=5.0 * density.std() / np.sqrt(count))
    assert 5.0 * density.std() / np.sqrt(count) < 0.25
    for truth in (family.draw(rng) for _ in range(50)):
        assert np.isfinite(family.log_prior(truth.shape[None, None], truth.beta[None, None])).all()
        assert truth.exponent in (family.exponents or (None,))


def test_truths_have_the_shapes_of_their_names():
    falling = drop_of(0.2, 0.8, 2.0).friction(FASTEST * SPEEDS)
    w_s = 0.8 * 0.2 / 0.72
    np.testing.assert_allclose(falling, 5.0 + np.exp(-((SPEEDS / w_s) ** 2)) + 3.6 * SPEEDS)
    np.testing.assert_allclose(
        kink_at(0.4).friction(FASTEST * SPEEDS), 5.0 + 3.6 * np.maximum(0.0, SPEEDS - 0.4)
    )
    for mix in MIXES.values():
        for family in mix.families:
            truth = family.draw(np.random.default_rng(1))
            ends = truth.friction(FASTEST * np.array([1e-9, 1.0]))
            assert ends[0] == pytest.approx(truth.static, rel=1e-3)
            if truth.exponent is None:
                assert np.all(np.diff(truth.friction(FASTEST * SPEEDS)) > -1e-12)
                assert ends[1] == pytest.approx(truth.coulomb + truth.beta[-1])


def test_round_trips_have_the_order_and_noise_of_their_row():
    rng, truth = np.random.default_rng(2), kink_at(0.5)
    for order, sign in (("ascending", 1.0), ("descending", -1.0)):
        assert np.all(
            sign * np.diff(measure(truth, FIRST, Condition(36, 0.01, "white", order), rng).w) > 0.0
        )
    many = [measure(truth, FIRST, Condition(36, 0.03, "AR(1)", "random"), rng) for _ in range(300)]
    noise = np.array([one.tau - truth.friction(one.w) for one in many])
    assert noise.std() == pytest.approx(0.15, rel=0.03)
    assert np.mean(noise[:, 1:] * noise[:, :-1]) == pytest.approx(0.5 * 0.15**2, rel=0.1)
    many = [measure(truth, FIRST, Condition(36, 1e-9, "drift", "random"), rng) for _ in range(300)]
    assert np.std([one.tau[-1] / truth.friction(one.w)[-1] - 1.0 for one in many]) == pytest.approx(
        0.015, rel=0.15
    )


@pytest.mark.parametrize("mix", MIXES.values(), ids=MIXES)
@pytest.mark.slow
def test_intervals_of_the_oracle_cover_95_per_cent(mix, monkeypatch):
    """So do those of 50 per cent, which show too wide intervals, too."""
    monkeypatch.setattr(choice_oracle, "SHAPES", choice_oracle.SHAPES // 2)
    rng, at = np.random.default_rng(3), FASTEST * np.array([mix.slowest, 0.3, 1.0])
    held: dict[float, list[float]] = {0.5: [], 0.95: []}
    for case in range(CASES):
        how = Condition(12, 0.03, ("white", "drift", "AR(1)")[case % 3], "random")
        truth = mix.families[case % len(mix.families)].draw(rng)
        known = posterior(mix, how, measure(truth, mix, how, rng), at, rng)
        assert known.draws > 50.0
        true = [truth.coulomb, truth.static, *truth.friction(at)]
        drawn = [known.coulomb, known.static, *known.friction.T]
        for level, inside in held.items():
            ends = np.array([known.interval(values, level) for values in drawn]).T
            inside.append(float(np.mean((ends[0] <= true) & (true <= ends[1]))))
    for level, inside in held.items():  # the values of one case are held together or not at all
        assert fewest(CASES, level) <= sum(inside) <= most(CASES, level)


@pytest.mark.parametrize("kind", ["white", "drift", "AR(1)"])
@pytest.mark.slow
def test_bounds_agree_with_weighted_least_squares_of_the_true_family(kind):
    """Coulomb and viscous friction: errors of many linear fits, weighted by the known noise."""
    rng, truth, how, at = (
        np.random.default_rng(4),
        FIRST.families[0].draw(np.random.default_rng(0)),
        Condition(12, 0.03, kind, "ascending"),
        FASTEST * np.array([0.01, 0.5, 1.0]),
    )
    errors = []
    for _ in range(FITS):
        measured = measure(truth, FIRST, how, rng)
        clean = truth.friction(measured.w)
        A = np.column_stack((np.ones(12), measured.w, measured.t * clean))
        white = np.linalg.inv(np.linalg.cholesky(correlations(kind, 12))) / (
            how.noise * truth.coulomb
        )
        prior = np.array([0.0, 0.0, 1.0 / 0.03 if kind == "drift" else 1e9])
        rows = np.vstack((white @ A, prior))
        beta = np.linalg.lstsq(rows, np.append(white @ measured.tau, 0.0), rcond=None)[0]
        errors.append(beta[0] + beta[1] * at - truth.friction(at))
    np.testing.assert_allclose(
        np.std(errors, axis=0), bounds(truth, how, measured, at), rtol=4.0 / np.sqrt(2.0 * FITS)
    )  # four standard errors of a standard deviation


def test_an_interval_score_is_width_plus_forty_times_the_miss():
    np.testing.assert_allclose(
        interval_score([0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.5, 1.5, -0.25]), [1.0, 21.0, 11.0]
    )


@pytest.mark.slow
def test_rows_contain_errors_claims_and_intervals(monkeypatch):
    monkeypatch.setattr(choice_oracle, "SHAPES", choice_oracle.SHAPES // 2)
    how = Condition(36, 0.01, "white", "random")
    cases = [
        Case("first", k, FIRST.families[k].name, how, seed, True)
        for k in (3, 5)
        for seed in range(2)
    ]
    said = pd.DataFrame(
        [judge(case) for case in [*cases, Case("first", 0, "kink at 0.8", how, 0, False)]]
    )
    assert (said["ratio"] >= 1.0 - 1e-9).all()
    assert (said["error"] < 0.1).all()
    figures = figures_of(said)
    assert {row["truth"] for row in figures["errors"]} == {
        "Stribeck, exponent 2",
        "kink",
    }
    assert {row["truth"]: row["cases"] for row in figures["claims"]}["kink at 0.8"] == 1
    (row,) = figures["intervals"]
    assert row["cases"] == 4
    assert 0.5 < row["oracle_width"] < 2.0
    assert row["width"] > 0.8
    assert [row["random"][0] >= 1.0 - 1e-9 for row in figures["rows"]] == [True] * 2
    reached = {row[0]: row[3] for row in table(figures).rows}
    assert reached["first, kink"].endswith(" of 1")
    assert reached["first, kink at 0.8"] == "-"
