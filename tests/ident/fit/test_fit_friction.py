"""The estimator on data whose truth is known: values, intervals, verdicts, claims that must not be made, refusals.

The truth is written out here and not taken from the package. Every round trip has a level of its own, as on real
arms, so that its points share an error.
"""

import subprocess
import sys
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar, nnls

from stribeck import FitResult, fit_friction
from stribeck.ident.errors import FitError, InputError
from stribeck.ident.fit.intervals import correlation
from stribeck.ident.fit.law_fit import fit_law
from stribeck.ident.fit.points import FitPoints
from stribeck.ident.laws.table import LAWS

SPEEDS = np.geomspace(0.004, 1.2, 12)
CASES = 200


def friction(w: np.ndarray, load: np.ndarray | float = 0.0, *, coulomb: float, viscous: float,
             static: float | None = None, stribeck_velocity: float = 1.0, coulomb_coefficient: float = 0.0,
             static_coefficient: float = 0.0) -> np.ndarray:
    """Truth: Coulomb and viscous friction, and an excess at low speed if `static` is given."""
    dry = coulomb + coulomb_coefficient * load
    if static is not None:
        dry = dry + (static + static_coefficient * load - dry) * np.exp(-((w / stribeck_velocity) ** 2))
    return dry * np.sign(w) + viscous * w


@dataclass(frozen=True)
class Points:
    w: np.ndarray
    load: np.ndarray
    group: np.ndarray

    def measured(self, rng: np.random.Generator, clean: np.ndarray, scatter: float, noise: float) -> np.ndarray:
        """With a level of its own for every round trip (a fraction of friction) and noise [N·m] for every point."""
        level = 1.0 + scatter * rng.standard_normal(self.group.max() + 1)
        return clean * level[self.group] + noise * rng.standard_normal(len(clean))


def points(speeds: np.ndarray = SPEEDS, loads: tuple[float, ...] = (0.0,), repeats: int = 2,
           members: int = 3) -> Points:
    """Round trips at every speed and load, each of several points, alternately of both directions."""
    trips = [(speed, load) for _ in range(repeats) for load in loads for speed in speeds]
    speed, load = np.repeat(np.array(trips), members, axis=0).T
    sign = np.resize([1.0, -1.0], len(speed))
    return Points(sign * speed, load, np.repeat(np.arange(len(trips)), members))


def random_truth(rng: np.random.Generator, loaded: bool = False) -> dict[str, float]:
    truth = {"coulomb": rng.uniform(2.0, 8.0), "viscous": rng.uniform(1.0, 10.0),
             "stribeck_velocity": rng.uniform(0.03, 0.1)}
    truth["static"] = truth["coulomb"] * rng.uniform(1.3, 1.7)
    if loaded:
        truth["coulomb_coefficient"] = rng.uniform(0.05, 0.15)
        truth["static_coefficient"] = truth["coulomb_coefficient"] * rng.uniform(1.3, 1.7)
    return truth


@dataclass(frozen=True)
class Case:
    truth: dict[str, float]
    fit: FitResult
    fresh_rmse: float


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    """Random joints with Stribeck effect, from nearly white to strongly correlated errors."""
    out = []
    for seed in range(CASES):
        rng = np.random.default_rng(seed)
        truth, p = random_truth(rng), points(members=int(rng.integers(2, 6)))
        scatter, noise = rng.uniform(0.002, 0.02), rng.uniform(0.005, 0.05)
        clean = friction(p.w, **truth)
        fit = fit_friction(p.w, p.measured(rng, clean, scatter, noise), group=p.group, law="stribeck")
        fresh = [p.measured(rng, clean, scatter, noise) - fit.predict(p.w) for _ in range(5)]
        out.append(Case(truth, fit, float(np.sqrt(np.mean(np.square(fresh))))))
    return out


# what is estimated

@pytest.mark.parametrize("name", ["coulomb", "static", "viscous", "stribeck_velocity"])
def test_intervals_cover_the_truth_as_often_as_promised(cases: list[Case], name: str) -> None:
    inside = [case.fit.parameters[name].low <= case.truth[name] <= case.fit.parameters[name].high for case in cases]
    assert 0.88 <= np.mean(inside) <= 0.995


@pytest.mark.parametrize("name", ["coulomb", "static", "viscous", "stribeck_velocity"])
def test_standard_errors_are_the_size_of_the_errors(cases: list[Case], name: str) -> None:
    """Covering intervals could be far too wide; in standard errors the deviation has mean 0 and size 1."""
    estimates = [case.fit.parameters[name] for case in cases]
    deviation = [(p.value - case.truth[name]) / p.std_error for p, case in zip(estimates, cases, strict=True)]
    assert abs(np.median(deviation)) < 0.25
    assert 0.7 < np.median(np.abs(deviation)) / 0.6745 < 1.3


def test_the_band_covers_the_true_curve(cases: list[Case]) -> None:
    w = np.array([-1.0, -0.1, -0.01, 0.005, 0.02, 0.05, 0.3, 1.1])
    inside = [np.abs(case.fit.predict(w) - friction(w, **case.truth)) <= case.fit.band(w) for case in cases]
    assert 0.88 <= np.mean(inside) <= 0.995


def test_held_out_error_is_what_new_round_trips_show(cases: list[Case]) -> None:
    ratio = [case.fit.held_out_rmse / case.fresh_rmse for case in cases]
    assert 0.9 < np.median(ratio) < 1.15
    assert np.mean([case.fit.held_out_rmse > case.fit.rmse for case in cases]) > 0.95


def test_a_verdict_says_how_wide_the_interval_is(cases: list[Case]) -> None:
    """`identified` promises a 95 % half width of at most 15 % of the value."""
    verdicts = set()
    noisy = [noisy_fit(seed) for seed in range(10)]
    for parameter in (p for fit in [case.fit for case in cases] + noisy for p in fit.parameters.values()):
        if parameter.verdict == "at bound":
            continue
        assert parameter.low < parameter.value < parameter.high
        half = (parameter.high - parameter.low) / 2.0 / parameter.value
        assert (parameter.verdict == "identified") == (half <= 0.15)
        assert (parameter.verdict == "unidentifiable") == (half > 1.0)
        verdicts.add(parameter.verdict)
    assert {"identified", "weak"} <= verdicts


def noisy_fit(seed: int) -> FitResult:
    rng, p = np.random.default_rng(seed), points()
    tau = p.measured(rng, friction(p.w, coulomb=3.0, viscous=0.5), 0.05, 0.3)
    return fit_friction(p.w, tau, group=p.group, law="coulomb-viscous")


def test_exact_data_give_the_exact_truth() -> None:
    truth = {"coulomb": 5.0, "static": 8.0, "viscous": 3.0, "stribeck_velocity": 0.05}
    p = points()
    fit = fit_friction(p.w, friction(p.w, **truth), group=p.group)
    assert fit.law == "stribeck"
    assert fit.values == pytest.approx(truth, rel=1e-6)
    assert fit.rmse < 1e-6


def test_load_coefficients_and_load_free_parts_are_told_apart() -> None:
    names = ("coulomb", "static", "viscous", "stribeck_velocity", "coulomb_coefficient", "static_coefficient")
    inside = []
    for seed in range(20):
        rng = np.random.default_rng(1000 + seed)
        truth, p = random_truth(rng, loaded=True), points(loads=(5.0, 15.0, 30.0), repeats=1)
        tau = p.measured(rng, friction(p.w, p.load, **truth), 0.01, 0.02)
        fit = fit_friction(p.w, tau, p.load, p.group)
        assert (fit.law, fit.load) == ("stribeck", "load")
        inside += [fit.parameters[name].low <= truth[name] <= fit.parameters[name].high for name in names]
        w, load = np.array([0.02, -0.5]), np.array([12.0, 25.0])
        assert fit.predict(w, load) == pytest.approx(friction(w, load, **truth), rel=0.04)
    assert np.mean(inside) >= 0.88


def test_a_law_with_load_is_not_predicted_without_one() -> None:
    """Silence would mean friction at no load, which is another number than any that was measured."""
    p = points(loads=(5.0, 15.0, 30.0), repeats=1)
    tau = friction(p.w, p.load, coulomb=3.0, viscous=2.0, coulomb_coefficient=0.1)
    fit = fit_friction(p.w, tau, p.load, p.group)
    assert fit.load == "load"
    with pytest.raises(InputError, match="load"):
        fit.predict([0.1])


def test_prediction_is_the_law_at_the_fitted_values(cases: list[Case]) -> None:
    fit, w = cases[0].fit, np.array([-0.7, -0.02, 0.0, 0.004, 0.3])
    np.testing.assert_allclose(fit.predict(w), friction(w, **fit.values), rtol=1e-12)
    assert (fit.band(w)[[0, 1, 3, 4]] > 0.0).all()


def test_the_lmfit_result_is_made_when_asked_and_agrees(cases: list[Case]) -> None:
    for case in cases[:5]:
        report = case.fit.lmfit.fit_report()
        for name, value in case.fit.values.items():
            assert name in report
            assert case.fit.lmfit.params[name].value == pytest.approx(value, rel=1e-5)
    interval = cases[0].fit.lmfit.conf_interval(sigmas=[1.0])
    assert set(interval) == set(cases[0].truth)


def test_a_fit_does_not_import_lmfit() -> None:
    """Its import takes longer than a hundred fits."""
    code = ("import sys, numpy as np; from stribeck import fit_friction; w = np.geomspace(0.01, 1.0, 20); "
            "fit_friction(w, 5.0 + 3.0 * np.exp(-(w / 0.05)**2) + w); assert 'lmfit' not in sys.modules")
    subprocess.run([sys.executable, "-c", code], check=True)


def test_units_go_with_the_parameters(cases: list[Case]) -> None:
    units = {name: parameter.unit for name, parameter in cases[0].fit.parameters.items()}
    assert units == {"coulomb": "N·m", "static": "N·m", "viscous": "N·m·s/rad", "stribeck_velocity": "rad/s"}


# what may not depend on how the data are written down

def noisy() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng, p = np.random.default_rng(7), points()
    truth = {"coulomb": 5.0, "static": 8.0, "viscous": 3.0, "stribeck_velocity": 0.05}
    return p.w, p.measured(rng, friction(p.w, **truth), 0.01, 0.03), p.group


def numbers(fit: FitResult) -> np.ndarray:
    return np.array([(p.value, p.low, p.high) for p in fit.parameters.values()])


def test_order_and_labels_of_round_trips_do_not_matter() -> None:
    w, tau, group = noisy()
    order = np.random.default_rng(0).permutation(len(w))
    labels = np.array([f"segment {g * 7 % 101}" for g in group])
    np.testing.assert_allclose(numbers(fit_friction(w[order], tau[order], group=labels[order])),
                               numbers(fit_friction(w, tau, group=group)), rtol=1e-5)


def test_the_other_sign_of_motion_gives_the_same_friction() -> None:
    w, tau, group = noisy()
    once, mirrored = fit_friction(w, tau, group=group), fit_friction(-w, -tau, group=group)
    np.testing.assert_allclose(numbers(mirrored), numbers(once), rtol=1e-6)


@pytest.mark.parametrize("factor", [1e-3, 57.29578, 1e4])
def test_units_of_torque_and_speed_only_scale_the_result(factor: float) -> None:
    w, tau, group = noisy()
    plain = fit_friction(w, tau, group=group)
    torque, speed = fit_friction(w, factor * tau, group=group), fit_friction(factor * w, tau, group=group)
    scale_of_torque = {"coulomb": factor, "static": factor, "viscous": factor, "stribeck_velocity": 1.0}
    scale_of_speed = {"coulomb": 1.0, "static": 1.0, "viscous": 1.0 / factor, "stribeck_velocity": factor}
    for fit, scale in ((torque, scale_of_torque), (speed, scale_of_speed)):
        assert fit.law == plain.law == "stribeck"
        for name, parameter in fit.parameters.items():
            was = plain.parameters[name]
            assert parameter.value == pytest.approx(scale[name] * was.value, rel=1e-4)
            assert parameter.std_error == pytest.approx(scale[name] * was.std_error, rel=1e-3)
            assert parameter.verdict == was.verdict


def test_points_at_rest_say_nothing_about_sliding() -> None:
    w, tau, group = noisy()
    with_rest = fit_friction(np.append(w, [0.0, 0.0]), np.append(tau, [3.0, -9.0]), group=np.append(group, [98, 99]))
    np.testing.assert_allclose(numbers(with_rest), numbers(fit_friction(w, tau, group=group)), rtol=1e-9)


def test_lists_are_as_good_as_arrays_and_input_is_left_alone() -> None:
    w, tau, group = noisy()
    before = w.copy(), tau.copy()
    listed = fit_friction(w.tolist(), tau.tolist(), group=group.tolist())
    np.testing.assert_allclose(numbers(listed), numbers(fit_friction(w, tau, group=group)), rtol=1e-12)
    assert (w == before[0]).all()
    assert (tau == before[1]).all()


# the optimum

def nasty(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Few speeds, low ones lost, outliers, curvature, a rise instead of a fall: what real sweeps hold."""
    rng = np.random.default_rng(3000 + seed)
    speeds = np.exp(rng.uniform(np.log(0.002), np.log(2.0), int(rng.integers(9, 16))))
    p = points(speeds, repeats=int(rng.integers(1, 3)), members=int(rng.integers(1, 4)))
    drop = rng.choice([-0.3, 0.0, 0.3, 1.0])
    clean = friction(p.w, coulomb=4.0, static=4.0 * (1.0 + drop), viscous=rng.choice([0.0, 0.3, 5.0]),
                     stribeck_velocity=float(np.exp(rng.uniform(np.log(0.003), np.log(2.0)))))
    tau = p.measured(rng, clean + rng.choice([0.0, 0.8]) * np.sign(p.w) * np.sqrt(np.abs(p.w)), 0.05, 0.1)
    tau[rng.integers(0, len(tau), 2)] *= 1.3
    return p.w, tau, p.group


def least_misfit(fit: FitResult, w: np.ndarray, tau: np.ndarray, group: np.ndarray, velocities: np.ndarray) -> float:
    """Brute force: the least weighted misfit of the law over Stribeck velocities, in the fit's own weights."""
    def misfit(columns: list[np.ndarray]) -> float:
        return nnls(fit.noise.whiten(np.column_stack(columns), group), fit.noise.whiten(tau, group))[1] ** 2

    fading = (np.exp(-((w / velocity) ** 2)) for velocity in velocities)
    return min(misfit([(1.0 - fade) * np.sign(w), fade * np.sign(w), w]) for fade in fading)


@pytest.mark.parametrize("seed", range(25))
def test_no_local_optimum_and_never_worse_than_the_nested_law(seed: int) -> None:
    w, tau, group = nasty(seed)
    fit = fit_friction(w, tau, group=group, law="stribeck")
    reached = float(np.sum(fit.noise.whiten(fit.residual, group) ** 2))
    speed = np.abs(w)
    best = least_misfit(fit, w, tau, group, np.geomspace(speed.min(), 0.5 * speed.max(), 400))
    nested = least_misfit(fit, w, tau, group, np.array([1e9]))
    assert reached <= best * (1.0 + 1e-6)
    assert reached <= nested * (1.0 + 1e-6)
    assert all(value >= 0.0 for value in fit.values.values()), "friction would drive the joint"


@settings(derandomize=True, deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), law=st.sampled_from(["stribeck", "tustin", "stribeck-free", "andersson", "quadratic"]))
def test_a_larger_law_never_ends_worse_than_the_law_it_holds(seed: int, law: str) -> None:
    """Each holds coulomb-viscous (a drop or a square of zero), and stribeck-free holds stribeck and tustin."""
    rng, p = np.random.default_rng(seed), points()
    tau = p.measured(rng, friction(p.w, **random_truth(rng)), 0.03, 0.1)
    fit = fit_friction(p.w, tau, group=p.group, law=law)
    target = fit.noise.whiten(tau, p.group)
    reached = float(np.sum(fit.noise.whiten(fit.residual, p.group) ** 2))

    def misfit(smaller: str, **nonlinear: float) -> float:
        return nnls(fit.noise.whiten(LAWS[smaller].columns(p.w, None, nonlinear), p.group), target)[1] ** 2

    least = [misfit("coulomb-viscous")] if law != "andersson" else []
    if law == "stribeck-free":
        speed = np.geomspace(SPEEDS[0], 0.5 * SPEEDS[-1], 100)
        least += [misfit(smaller, stribeck_velocity=w_s) for smaller in ("stribeck", "tustin") for w_s in speed]
    if law == "andersson":
        least += [misfit("andersson", stribeck_velocity=w_s, tanh_velocity=0.05 * SPEEDS[0])
                  for w_s in np.geomspace(SPEEDS[0], 0.5 * SPEEDS[-1], 100)]
    assert reached <= min(least) * (1.0 + 1e-6)


# intervals

def profile_misfit(fit: FitResult, name: str, value: float, p: "Points", tau: np.ndarray) -> float:
    """Brute force: the least misfit of the Stribeck law with one parameter held, in the fit's own weights."""
    def at(w_s: float) -> float:
        columns = LAWS["stribeck"].columns(p.w, None, {"stribeck_velocity": w_s})
        rest = tau
        if name != "stribeck_velocity":
            k = ("coulomb", "static", "viscous").index(name)
            rest, columns = tau - value * columns[:, k], np.delete(columns, k, axis=1)
        return nnls(fit.noise.whiten(columns, p.group), fit.noise.whiten(rest, p.group))[1] ** 2

    if name == "stribeck_velocity":
        return at(value)
    middle = np.log(fit.values["stribeck_velocity"])
    return float(minimize_scalar(lambda x: at(np.exp(x)), bounds=(middle - 0.7, middle + 0.7), method="bounded",
                                 options={"xatol": 1e-6}).fun)


@pytest.mark.parametrize("name", ["coulomb", "static", "viscous", "stribeck_velocity"])
def test_the_misfit_rises_alike_to_both_ends_of_an_interval(name: str) -> None:
    """By at least the square of Student's t, which the noise model asks for."""
    rng, p = np.random.default_rng(11), points(repeats=1)
    tau = p.measured(rng, friction(p.w, coulomb=5.0, static=7.5, viscous=3.0, stribeck_velocity=0.04), 0.03, 0.1)
    fit = fit_friction(p.w, tau, group=p.group, law="stribeck")
    least = float(np.sum(fit.noise.whiten(fit.residual, p.group) ** 2))
    parameter = fit.parameters[name]
    below, above = (profile_misfit(fit, name, end, p, tau) - least for end in (parameter.low, parameter.high))
    assert below == pytest.approx(above, rel=0.03)
    assert min(below, above) >= 0.97 * 2.306**2           # 12 round trips less 4 parameters


def test_a_stribeck_velocity_that_is_open_below_is_unidentifiable_and_says_so() -> None:
    """Only the slowest speed is still on the Stribeck branch."""
    p = points(np.geomspace(0.02, 1.2, 12), repeats=4)
    tau = p.measured(np.random.default_rng(0), friction(p.w, coulomb=5.0, static=8.0, viscous=3.0, stribeck_velocity=0.016),
                     0.01, 0.05)
    found = fit_friction(p.w, tau, group=p.group, law="stribeck").parameters["stribeck_velocity"]
    assert found.verdict == "unidentifiable"
    assert "below" in found.note
    assert found.low <= 0.016 <= found.high


# very many samples

def long_log(scatter: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """60 round trips of 400 samples, speed and load scattering within each."""
    rng = np.random.default_rng(5)
    group = np.repeat(np.arange(60), 400)
    speed, load = np.tile(np.geomspace(0.01, 1.5, 12), 5)[group], rng.uniform(2.0, 30.0, 60)[group]
    w = np.resize([1.0, -1.0], len(group)) * speed * (1.0 + scatter * rng.standard_normal(len(group)))
    load = load * (1.0 + scatter * rng.standard_normal(len(group)))
    level = 1.0 + 0.01 * rng.standard_normal(60)
    tau = level[group] * friction(w, load, coulomb=4.0, static=6.0, viscous=5.0, stribeck_velocity=0.06, coulomb_coefficient=0.1,
                                  static_coefficient=0.14)
    return w, tau + 0.1 * rng.standard_normal(len(group)), load, group


@pytest.mark.parametrize("scatter", [0.0, 0.02])
def test_averaging_alike_samples_costs_next_to_nothing(scatter: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against the fit of all samples: values and interval ends move by little beside the standard error."""
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


# round trips that went wrong

def test_huber_loss_bears_round_trips_that_went_wrong() -> None:
    """Three of 24 read half as much again: the worst parameter must stay within two of its clean standard errors, mostly."""
    squares, huber = [], []
    for seed in range(20):
        rng, p = np.random.default_rng(6000 + seed), points()
        truth = random_truth(rng)
        clean = p.measured(rng, friction(p.w, **truth), 0.01, 0.02)
        wrong = np.isin(p.group, rng.choice(24, 3, replace=False))
        error = {name: parameter.std_error
                 for name, parameter in fit_friction(p.w, clean, group=p.group, law="stribeck").parameters.items()}
        for off, loss in ((squares, "squares"), (huber, "huber")):
            fit = fit_friction(p.w, np.where(wrong, 1.5, 1.0) * clean, group=p.group, law="stribeck", loss=loss)
            off.append(max(abs(fit.values[name] - truth[name]) / error[name] for name in truth))
    assert np.median(squares) > 5.0
    assert np.median(huber) < 3.0
    assert np.mean(np.array(huber) < np.array(squares)) >= 0.95


def test_lmfit_gives_round_trips_the_weights_that_huber_loss_gave_them() -> None:
    w = np.repeat(np.tile([0.1, 0.3, 0.6, 1.0, 1.4], 4), 3)
    group = np.repeat(np.arange(20), 3)
    tau = 4.0 + 3.0 * w + 0.02 * np.random.default_rng(5).standard_normal(len(w))
    tau[group == 7] += 2.0
    found = fit_friction(w, tau, group=group, law="coulomb-viscous", loss="huber")
    for name in ("coulomb", "viscous"):
        assert found.lmfit.params[name].value == pytest.approx(found.values[name], rel=1e-4)


def test_huber_loss_hardly_costs_anything_where_nothing_went_wrong() -> None:
    w, tau, group = noisy()
    plain, robust = fit_friction(w, tau, group=group), fit_friction(w, tau, group=group, loss="huber")
    assert robust.law == plain.law
    for name, parameter in robust.parameters.items():
        assert abs(parameter.value - plain.values[name]) < plain.parameters[name].std_error


def test_points_whose_windows_scatter_count_less() -> None:
    """White noise of each point's own size: knowing it makes the worst error smaller; alike sizes change nothing."""
    plain, weighed = [], []
    for seed in range(30):
        rng, p = np.random.default_rng(7000 + seed), points()
        truth, size = random_truth(rng), np.exp(rng.standard_normal(len(p.w)))
        tau = friction(p.w, **truth) + 0.03 * truth["coulomb"] * size * rng.standard_normal(len(p.w))
        for off, std in ((plain, None), (weighed, size)):
            fit = fit_friction(p.w, tau, group=p.group, law="stribeck", std=std)
            off.append([fit.values[name] / truth[name] - 1.0 for name in truth])
    assert np.median(np.abs(weighed)) < 0.8 * np.median(np.abs(plain))
    same = fit_friction(p.w, tau, group=p.group, law="stribeck", std=np.exp(0.2 * rng.standard_normal(len(p.w))))
    assert same.values == fit_friction(p.w, tau, group=p.group, law="stribeck").values


@pytest.mark.parametrize(("std", "words"), [(-1.0, "std is negative in row 0"), (np.nan, "std is not a finite number in row 0")])
def test_scatter_that_is_none(std: float, words: str) -> None:
    w, tau, group = noisy()
    with pytest.raises(InputError, match=words):
        fit_friction(w, tau, group=group, std=np.full(len(w), std))


def test_an_unknown_loss_lists_the_losses() -> None:
    w, tau, group = noisy()
    with pytest.raises(InputError, match=r"huber"):
        fit_friction(w, tau, group=group, loss="hubert")


@pytest.mark.parametrize("seed", range(25))
def test_every_bound_of_an_interval_is_a_number(seed: int) -> None:
    """However wide: a calibration file holds no infinities."""
    w, tau, group = nasty(seed)
    with np.errstate(over="ignore"):
        fit = fit_friction(w, tau, group=group, law="stribeck")
    for parameter in fit.parameters.values():
        bounds = [parameter.value, parameter.std_error, parameter.low, parameter.high]
        assert np.isfinite([bound for bound in bounds if bound is not None]).all()


# what must not be claimed

def claims(seed: int, truth: dict[str, float], **measured: Any) -> FitResult:
    rng, p = np.random.default_rng(seed), points(**measured)
    tau = p.measured(rng, friction(p.w, p.load, **truth), rng.uniform(0.003, 0.02), rng.uniform(0.005, 0.05))
    return fit_friction(p.w, tau, p.load if np.ptp(p.load) else None, p.group)


def test_no_stribeck_effect_is_claimed_where_there_is_none() -> None:
    rng = np.random.default_rng(0)
    false = sum(claims(seed, {"coulomb": rng.uniform(2, 8), "viscous": rng.uniform(0.5, 10)}).law == "stribeck"
                for seed in range(60))
    assert false <= 3


def test_a_stribeck_effect_that_is_there_is_found() -> None:
    rng = np.random.default_rng(1)
    assert sum(claims(seed, random_truth(rng)).law == "stribeck" for seed in range(40)) >= 38


def test_no_load_dependence_is_claimed_where_there_is_none() -> None:
    rng = np.random.default_rng(2)
    false = sum(claims(seed, {"coulomb": rng.uniform(2, 8), "viscous": rng.uniform(0.5, 10)}, loads=(5.0, 15.0, 30.0),
                       repeats=1).load != "none" for seed in range(30))
    assert false <= 2


@pytest.mark.parametrize(("low", "high"), [(1.3, 5.0), (2e-4, 1e-3)], ids=["beyond the fastest", "below the slowest"])
def test_a_stribeck_velocity_outside_the_measured_speeds_is_not_claimed(low: float, high: float) -> None:
    """Beyond them it is curvature of the viscous part; below them nothing was seen of it."""
    for seed in range(20):
        rng, p = np.random.default_rng(5000 + seed), points()
        truth = {**random_truth(rng), "stribeck_velocity": rng.uniform(low, high)}
        fit = fit_friction(p.w, p.measured(rng, friction(p.w, **truth), 0.01, 0.02), group=p.group)
        assert fit.law == "coulomb-viscous"


@pytest.mark.parametrize("powers", [(0.5, 0.8), (1.3, 2.0)], ids=["falling slope", "rising slope"])
def test_curvature_of_the_viscous_part_is_no_stribeck_effect(powers: tuple[float, float]) -> None:
    """Grease and churning oil: friction grows with a power of speed that is not one, and never falls with speed."""
    false = 0
    for seed in range(40):
        rng, p = np.random.default_rng(4000 + seed), points()
        clean = np.sign(p.w) * (rng.uniform(2, 5) + rng.uniform(1, 8) * np.abs(p.w) ** rng.uniform(*powers))
        false += fit_friction(p.w, p.measured(rng, clean, 0.01, 0.02), group=p.group).law == "stribeck"
    assert false <= 2


@pytest.mark.parametrize("load", [np.full(72, 12.0), np.zeros(72)])
def test_a_load_that_never_changes_gets_no_coefficient(load: np.ndarray) -> None:
    w, tau, group = noisy()
    fit = fit_friction(w, tau, load, group)
    assert fit.load == "none"
    assert fit.values["coulomb"] == pytest.approx(5.0, rel=0.03)


def test_friction_that_falls_with_load_is_not_called_a_load_dependence() -> None:
    p = points(loads=(5.0, 15.0, 30.0), repeats=1)
    tau = friction(p.w, p.load, coulomb=6.0, viscous=2.0, coulomb_coefficient=-0.1)
    tau = p.measured(np.random.default_rng(0), tau, 0.01, 0.02)
    assert fit_friction(p.w, tau, p.load, p.group).load == "none"


def test_a_parameter_that_wants_to_be_negative_stays_at_its_bound_and_says_so() -> None:
    w, _, group = noisy()
    tau = friction(w, coulomb=6.0, viscous=-1.0) + 0.01 * np.random.default_rng(0).normal(size=len(w))
    viscous = fit_friction(w, tau, group=group, law="coulomb-viscous").parameters["viscous"]
    assert (viscous.value, viscous.verdict) == (0.0, "at bound")
    assert viscous.low is None
    assert viscous.high is None


# refusals

def test_too_few_round_trips_say_how_many_are_needed() -> None:
    w, tau, group = noisy()
    few = group < 3
    with pytest.raises(FitError, match=r"3 round trip.*at least 4"):
        fit_friction(w[few], tau[few], group=group[few])


@pytest.mark.parametrize("law", ["auto", "coulomb-viscous", "stribeck"])
def test_one_speed_is_no_curve(law: str) -> None:
    p = points(np.array([0.1]), repeats=10)
    with pytest.raises(FitError, match="speed"):
        fit_friction(p.w, friction(p.w, coulomb=5.0, viscous=1.0), group=p.group, law=law)


def test_three_speeds_are_no_stribeck_curve() -> None:
    p = points(np.array([0.01, 0.1, 1.0]), repeats=4)
    tau = friction(p.w, coulomb=5.0, viscous=1.0, static=8.0, stribeck_velocity=0.05)
    with pytest.raises(FitError, match="speed"):
        fit_friction(p.w, tau, group=p.group, law="stribeck")


def test_the_wrong_sign_of_torque_is_named() -> None:
    w, tau, group = noisy()
    with pytest.raises(FitError, match="sign"):
        fit_friction(w, -tau, group=group)


def test_noise_without_friction_is_not_called_a_wrong_sign() -> None:
    w, tau, group = noisy()
    refused = []
    for seed in range(12):
        noise = np.random.default_rng(seed).normal(size=len(tau))
        try:
            fit = fit_friction(w, noise, group=group)
        except FitError as error:
            refused.append(str(error))
        else:
            assert all(entry.verdict != "identified" for entry in fit.parameters.values())
    assert refused
    assert not any("wrong" in text for text in refused)


def test_labels_that_are_no_numbers_are_not_one_round_trip() -> None:
    w, tau, group = noisy()
    labels = np.where(group == 3, np.nan, group)
    with pytest.raises(InputError, match=f"group.*row {int(np.argmax(group == 3))}"):
        fit_friction(w, tau, group=labels)


def test_words_are_refused_in_plain_words() -> None:
    w, tau, _ = noisy()
    with pytest.raises(InputError, match="torque holds values that are no numbers"):
        fit_friction(w, [str(value) + " Nm" for value in tau])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("what", ["velocity", "torque", "load"])
def test_a_value_that_is_no_number_is_named_by_row(what: str, bad: float) -> None:
    w, tau, group = noisy()
    arrays = {"velocity": w.copy(), "torque": tau.copy(), "load": np.ones_like(w)}
    arrays[what][7] = bad
    with pytest.raises(InputError, match=rf"{what}.*row 7"):
        fit_friction(**arrays, group=group)


@pytest.mark.parametrize("what", ["torque", "load", "group"])
def test_arrays_of_different_length_are_named(what: str) -> None:
    w, tau, group = noisy()
    arrays: dict[str, Any] = {"torque": tau, "load": np.ones_like(w), "group": group}
    arrays[what] = arrays[what][:-1]
    with pytest.raises(InputError, match=rf"{what} has shape \(71,\).*\(72,\)"):
        fit_friction(w, **arrays)


def test_tables_of_values_are_refused() -> None:
    w, tau, _ = noisy()
    with pytest.raises(InputError, match=r"shape"):
        fit_friction(w[:, None], tau[:, None])
    with pytest.raises(InputError, match=r"shape"):
        fit_friction(0.1, 5.0)


@pytest.mark.parametrize(("velocity", "torque"), [([], []), (np.zeros(9), np.zeros(9)), (np.zeros(9), np.ones(9))])
def test_no_motion_is_refused_in_plain_words(velocity: object, torque: object) -> None:
    with pytest.raises((FitError, InputError), match=r"round trip|motion|moving|speed|empty"):
        fit_friction(velocity, torque)


def test_a_dead_torque_signal_is_refused_in_plain_words() -> None:
    w, tau, group = noisy()
    with pytest.raises((FitError, InputError), match="torque"):
        fit_friction(w, 0.0 * tau, group=group)


def test_an_unknown_law_lists_the_laws() -> None:
    w, tau, group = noisy()
    with pytest.raises(InputError, match=r"'stribek'; did you mean 'stribeck'"):
        fit_friction(w, tau, group=group, law="stribek")


LAW_TRUTHS = {
    "coulomb-viscous": {"coulomb": 4.0, "viscous": 6.0},
    "stribeck": {"coulomb": 4.0, "static": 6.0, "stribeck_velocity": 0.05, "viscous": 6.0},
    "stribeck-free": {"coulomb": 4.0, "static": 6.0, "stribeck_velocity": 0.05, "stribeck_exponent": 1.3, "viscous": 6.0},
    "tustin": {"coulomb": 4.0, "static": 6.0, "stribeck_velocity": 0.05, "viscous": 6.0},
    "brown-mcphee": {"coulomb": 4.0, "static": 6.0, "stribeck_velocity": 0.03, "viscous": 6.0},
    "andersson": {"coulomb": 4.0, "static": 6.0, "stribeck_velocity": 0.08, "tanh_velocity": 0.006, "viscous": 6.0},
    "quadratic": {"coulomb": 4.0, "viscous": 6.0, "viscous_quadratic": 2.0},
}


class TestEveryLaw:
    """Fits by name. Truths are of the law's own function, which `test_friction` holds to the literature."""

    def test_all_are_here(self):
        assert set(LAW_TRUTHS) == set(LAWS)

    @pytest.mark.parametrize("law", LAW_TRUTHS)
    def test_exact_data_give_the_truth(self, law):
        at, truth = points(), LAW_TRUTHS[law]
        fit = fit_friction(at.w, LAWS[law].function(at.w, **truth), group=at.group, law=law)
        for name, value in truth.items():
            assert fit.parameters[name].value == pytest.approx(value, rel=2e-3)
        assert fit.rmse < 1e-3

    @pytest.mark.parametrize("law", [law for law in LAW_TRUTHS if law not in ("coulomb-viscous", "stribeck")])
    def test_intervals_hold_the_truth(self, law):
        """Each parameter, over 60 noisy cases, with both noises of a real arm: expected 57, least 50 in one of 10,000."""
        at, truth, inside = points(members=4), LAW_TRUTHS[law], dict.fromkeys(LAW_TRUTHS[law], 0)
        clean = LAWS[law].function(at.w, **truth)
        for seed in range(60):
            fit = fit_friction(at.w, at.measured(np.random.default_rng(seed), clean, 0.01, 0.02), group=at.group, law=law)
            for name, value in truth.items():
                parameter = fit.parameters[name]
                inside[name] += parameter.low is not None and parameter.low <= value <= parameter.high
        assert min(inside.values()) >= 50, inside

    @pytest.mark.parametrize("law", ["stribeck-free", "andersson"])
    def test_two_nonlinear_parameters_end_no_worse_than_the_law_with_one(self, law):
        """stribeck is stribeck-free at exponent 2, and andersson without smoothing: a worse optimum would be a wrong one."""
        at = points()
        for seed in range(10):
            rng = np.random.default_rng(seed)
            measured = at.measured(rng, friction(at.w, **random_truth(rng)), 0.02, 0.05)
            smaller = fit_friction(at.w, measured, group=at.group, law="stribeck")
            larger = fit_friction(at.w, measured, group=at.group, law=law)
            assert larger.rmse <= 1.02 * smaller.rmse


def test_levels_that_wander_from_round_trip_to_round_trip_widen_the_intervals() -> None:
    """Of a first-order autoregression; independent levels are hardly ever taken for one."""
    def wandering(seed: int, correlation: float) -> tuple[float, float]:
        rng = np.random.default_rng(seed)
        w = np.concatenate([rng.permutation(np.geomspace(0.02, 1.2, 12)) for _ in range(5)])
        level = rng.standard_normal(len(w))
        for k in range(1, len(w)):
            level[k] = correlation * level[k - 1] + np.sqrt(1.0 - correlation**2) * level[k]
        group = np.repeat(np.arange(len(w)), 4)
        tau = (4.0 + 3.0 * w + 0.12 * level)[group] + 0.05 * rng.standard_normal(len(group))
        found = fit_friction(w[group], tau, group=group, law="coulomb-viscous")
        return found.serial, found.parameters["coulomb"].std_error

    wander, free = (np.array([wandering(seed, correlation) for seed in range(30)]) for correlation in (0.8, 0.0))
    assert np.mean(wander[:, 0] > 0.0) > 0.9
    assert np.median(wander[:, 0]) == pytest.approx(0.8, abs=0.15)
    assert np.mean(free[:, 0] > 0.0) < 0.2
    assert np.median(wander[:, 1]) > 1.5 * np.median(free[:, 1])


def test_the_order_of_time_decides_and_not_that_of_the_rows() -> None:
    levels = np.sin(np.arange(40) / 4.0)
    assert correlation([levels], 2) > 0.8
    assert correlation([np.random.default_rng(0).permutation(levels)], 2) == 0.0


def test_levels_wander_within_runs_and_not_from_one_to_the_next() -> None:
    """Each run's time begins anew: its round trips are neighbours of each other, whatever another did at the same time."""
    rng, runs, trips = np.random.default_rng(3), 4, 24
    level = rng.standard_normal((runs, trips))
    for k in range(1, trips):
        level[:, k] = 0.8 * level[:, k - 1] + 0.6 * level[:, k]
    w = np.tile(np.repeat(np.geomspace(0.05, 1.5, 8), 3), runs)
    group = np.repeat(np.arange(runs * trips), 4)
    tau = (4.0 + 3.0 * w + 0.12 * level.ravel())[group] + 0.05 * rng.standard_normal(len(group))
    data = FitPoints(w[group], tau, None, group, time=np.tile(np.arange(trips) * 10.0, runs),
                     run=np.repeat(np.arange(runs), trips))
    one, mixed = (fit_law(replace(data, run=run), LAWS["coulomb-viscous"]) for run in (data.run, None))
    assert one.serial > 0.5
    assert mixed.serial < 0.3
    assert one.parameters["coulomb"].std_error > 1.5 * mixed.parameters["coulomb"].std_error
