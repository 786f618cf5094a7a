"""Averaging of very many samples, and weights of points with different scatter."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from stribeck import fit_friction
from stribeck.ident.fit.law_on_points import linear_names, predicted
from stribeck.ident.fit.points import FitPoints
from stribeck.ident.laws.law_table import LAWS
from tests.round_trip_points import friction, points, random_truth


def long_log(scatter: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """60 round trips of 150 samples, speed and load scattering within each."""
    rng = np.random.default_rng(5)
    group = np.repeat(np.arange(60), 150)
    speed, load = np.tile(np.geomspace(0.01, 1.5, 12), 5)[group], rng.uniform(2.0, 30.0, 60)[group]
    w = (
        np.resize([1.0, -1.0], len(group))
        * speed
        * (1.0 + scatter * rng.standard_normal(len(group)))
    )
    load = load * (1.0 + scatter * rng.standard_normal(len(group)))
    level = 1.0 + 0.01 * rng.standard_normal(60)
    tau = level[group] * friction(
        w,
        load,
        coulomb=4.0,
        static=6.0,
        viscous=5.0,
        stribeck_velocity=0.06,
        coulomb_coefficient=0.1,
        static_coefficient=0.14,
    )
    return w, tau + 0.1 * rng.standard_normal(len(group)), load, group


@pytest.mark.slow
@pytest.mark.parametrize("scatter", [0.0, 0.02])
def test_averaging_nearly_equal_samples_costs_no_precision(
    scatter: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against the fit of all samples: values and interval ends move by little
    beside the standard error.
    """
    log = long_log(scatter)
    fast = fit_friction(*log, law="stribeck")
    monkeypatch.setattr("stribeck.ident.fit.points._MANY", 10**9)
    whole = fit_friction(*log, law="stribeck")
    for name, parameter in whole.parameters.items():
        ours = fast.parameters[name]
        for end in ("value", "low", "high"):
            assert abs(getattr(ours, end) - getattr(parameter, end)) < 0.3 * parameter.std_error
        assert ours.std_error == pytest.approx(parameter.std_error, rel=0.1)
    assert fast.rmse == pytest.approx(whole.rmse, rel=5e-3)
    assert fast.held_out_rmse == pytest.approx(whole.held_out_rmse, rel=1e-2)
    np.testing.assert_allclose(fast.residual, whole.residual, atol=0.01)


@pytest.mark.slow
def test_points_whose_windows_scatter_count_less() -> None:
    """White noise of each point's own size: knowing it makes the worst error smaller;
    alike sizes change nothing.
    """
    plain, weighed = [], []
    for seed in range(10):
        rng, p = np.random.default_rng(7000 + seed), points()
        truth, size = random_truth(rng), np.exp(rng.standard_normal(len(p.w)))
        tau = friction(p.w, **truth) + 0.03 * truth["coulomb"] * size * rng.standard_normal(
            len(p.w)
        )
        for off, std in ((plain, None), (weighed, size)):
            fit = fit_friction(p.w, tau, group=p.group, law="stribeck", std=std)
            off.append([fit.values[name] / truth[name] - 1.0 for name in truth])
    assert np.median(np.abs(weighed)) < 0.8 * np.median(np.abs(plain))
    same = fit_friction(
        p.w, tau, group=p.group, law="stribeck", std=np.exp(0.2 * rng.standard_normal(len(p.w)))
    )
    assert same.values == fit_friction(p.w, tau, group=p.group, law="stribeck").values


@pytest.mark.parametrize("loaded", [False, True])
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_seen_through_a_filter_a_law_at_nodes_is_that_at_all_samples(law, loaded: bool) -> None:
    """To a thousandth of friction at most, for parameters over the whole of their search; its
    direction and its speed, too.
    """
    rng = np.random.default_rng(2)
    t = np.arange(0.0, 40.0, 0.01)
    w = 0.8 * np.sin(1.3 * t) + 0.3 * np.sin(3.1 * t + 1.0)
    w = np.copysign(np.maximum(np.abs(w), 0.011), w)
    load = 4.0 + 3.0 * np.sin(0.7 * t) if loaded else None
    begins = np.arange(0, len(t) - 40, 20)
    kernel = np.hanning(42)[1:-1] / np.hanning(42).sum()
    seen = csr_array(
        (
            np.tile(kernel, len(begins)),
            (begins[:, None] + np.arange(40)).ravel(),
            40 * np.arange(len(begins) + 1),
        ),
        shape=(len(begins), len(t)),
    )
    data = FitPoints(w, np.zeros(len(begins)), load, np.arange(len(begins)) // 10, seen=seen)
    nodes = data.at_nodes()
    assert len(nodes.w) < len(w) / 2
    np.testing.assert_allclose(nodes.direction, data.direction, atol=1e-12)
    np.testing.assert_allclose(nodes.speed, data.speed, rtol=1e-12)
    for _ in range(20):
        values = {name: rng.uniform(0.1, 2.0) for name in linear_names(data, law)}
        values |= {
            name: float(rng.choice(quantity.grid(w))) for name, quantity in law.searched.items()
        }
        expected = predicted(data, law, values)
        np.testing.assert_allclose(
            predicted(nodes, law, values), expected, atol=1e-3 * np.abs(expected).max()
        )
