"""The estimator on data whose truth is known: values, invariance, losses, every law, refusals.

The truth is written out and not taken from the package, see `round_trip_points`.
"""

from functools import cache
from typing import Any

import numpy as np
import pytest

from stribeck import FitResult, fit_friction
from stribeck.ident.errors import FitError, InputError
from stribeck.ident.laws.law_table import LAWS
from tests.coverage import fewest
from tests.round_trip_points import friction, noisy, points, random_truth

CASES = 3  # noisy cases of each law
LAW_TRUTHS = {
    "coulomb-viscous": {"coulomb": 4.0, "viscous": 6.0},
    "stribeck": {"coulomb": 4.0, "static": 6.0, "stribeck_velocity": 0.05, "viscous": 6.0},
    "stribeck-free": {
        "coulomb": 4.0,
        "static": 6.0,
        "stribeck_velocity": 0.05,
        "stribeck_exponent": 1.3,
        "viscous": 6.0,
    },
    "tustin": {"coulomb": 4.0, "static": 6.0, "stribeck_velocity": 0.05, "viscous": 6.0},
    "brown-mcphee": {"coulomb": 4.0, "static": 6.0, "stribeck_velocity": 0.03, "viscous": 6.0},
    "andersson": {
        "coulomb": 4.0,
        "static": 6.0,
        "stribeck_velocity": 0.08,
        "tanh_velocity": 0.006,
        "viscous": 6.0,
    },
    "quadratic": {"coulomb": 4.0, "viscous": 6.0, "viscous_quadratic": 2.0},
    "power": {"coulomb": 4.0, "viscous_power": 6.0, "viscous_exponent": 0.7},
    "kinked": {"coulomb": 4.0, "viscous_beyond": 5.0, "kink_velocity": 0.3},
    "rounded-kink": {
        "coulomb": 4.0,
        "viscous_beyond": 5.0,
        "kink_velocity": 0.3,
        "kink_width": 0.06,
    },
    "saturating": {"coulomb": 4.0, "viscous_level": 5.0, "saturation_velocity": 0.3},
    "stribeck-power": {
        "coulomb": 4.0,
        "static": 6.0,
        "stribeck_velocity": 0.05,
        "viscous_power": 6.0,
        "viscous_exponent": 0.7,
    },
    "stribeck-free-power": {
        "coulomb": 4.0,
        "static": 6.0,
        "stribeck_velocity": 0.05,
        "stribeck_exponent": 1.3,
        "viscous_power": 6.0,
        "viscous_exponent": 0.7,
    },
    # without a load they are other laws
    "loaded-viscous": {"coulomb": 4.0, "viscous": 6.0},
    "stribeck-loaded-viscous": {
        "coulomb": 4.0,
        "static": 6.0,
        "stribeck_velocity": 0.05,
        "viscous": 6.0,
    },
}


@cache
def plain_fit() -> FitResult:
    """Fit of the noisy points, all laws on offer."""
    w, tau, group = noisy()
    return fit_friction(w, tau, group=group)


def test_exact_data_give_the_exact_truth() -> None:
    truth = {"coulomb": 5.0, "static": 8.0, "viscous": 3.0, "stribeck_velocity": 0.05}
    p = points()
    fit = fit_friction(p.w, friction(p.w, **truth), group=p.group)
    assert fit.law == "stribeck"
    assert fit.values == pytest.approx(truth, rel=1e-6)
    assert fit.rmse < 1e-6


@pytest.mark.slow
def test_load_coefficients_and_load_free_parts_are_told_apart() -> None:
    names = (
        "coulomb",
        "static",
        "viscous",
        "stribeck_velocity",
        "coulomb_coefficient",
        "static_coefficient",
    )
    inside = []
    for seed in range(3):
        rng = np.random.default_rng(1000 + seed)
        truth, p = random_truth(rng, loaded=True), points(loads=(5.0, 15.0, 30.0), repeats=1)
        tau = p.measured(rng, friction(p.w, p.load, **truth), 0.01, 0.02)
        fit = fit_friction(p.w, tau, p.load, p.group)
        assert fit.load == "load"
        assert fit.falls
        if fit.law == "stribeck":  # others predict as well now and then
            inside += [
                fit.parameters[name].low <= truth[name] <= fit.parameters[name].high
                for name in names
            ]
        w, load = np.array([0.02, -0.5]), np.array([12.0, 25.0])
        assert fit.predict(w, load) == pytest.approx(friction(w, load, **truth), rel=0.04)
    assert len(inside) >= 2 * len(names)
    assert sum(inside) >= fewest(len(inside))


@pytest.mark.slow
def test_friction_in_proportion_to_its_load_is_told_better_without_a_constant_part() -> None:
    names, errors, inside, widths = (
        ("coulomb_coefficient", "static_coefficient", "stribeck_velocity", "viscous"),
        [],
        [],
        [],
    )
    for seed in range(6):
        rng = np.random.default_rng(2000 + seed)
        truth, p = (
            random_truth(rng, loaded=True) | {"coulomb": 0.0, "static": 0.0},
            points(loads=(10.0, 15.0, 20.0), repeats=1),
        )
        tau = p.measured(rng, friction(p.w, p.load, **truth), 0.01, 0.02)
        found = {
            constant: fit_friction(p.w, tau, p.load, p.group, "stribeck", constant=constant)
            for constant in ("fit", "none")
        }
        for name in ("coulomb", "static"):
            told = found["none"].parameters[name]
            assert (told.value, told.verdict) == (0.0, "at bound")
            assert "proportional to its load" in told.note
        own = found["none"].parameters
        errors.append([own[name].value / truth[name] - 1.0 for name in names])
        inside.append([own[name].low <= truth[name] <= own[name].high for name in names])
        widths.append(
            [
                found["none"].parameters[name].half_width
                / (found["fit"].parameters[name].half_width or np.nan)
                for name in ("coulomb_coefficient", "static_coefficient")
            ]
        )
        w, load = np.array([0.02, -0.5]), np.array([12.0, 18.0])
        assert found["none"].predict(w, load) == pytest.approx(friction(w, load, **truth), rel=0.03)
    assert np.sqrt(np.mean(np.square(errors), axis=0)) == pytest.approx(np.zeros(4), abs=0.05)
    assert np.sum(inside) >= fewest(np.size(inside))
    # where the constant part is not zero by itself, the intervals shrink to a third
    assert np.nanmedian(widths) < 0.6


def test_laws_compete_without_a_constant_part() -> None:
    """Without a Stribeck effect none is claimed, and friction without a load cannot win."""
    rng, p = np.random.default_rng(5), points(loads=(10.0, 15.0, 20.0), repeats=1)
    tau = p.measured(
        rng, friction(p.w, p.load, coulomb=0.0, viscous=4.0, coulomb_coefficient=0.1), 0.01, 0.02
    )
    fit = fit_friction(p.w, tau, p.load, p.group, constant="none")
    assert (fit.load, fit.falls, fit.values["coulomb"]) == ("load", False, 0.0)
    assert fit.predict(np.array([0.02, 0.5]), np.array([12.0, 18.0])) == pytest.approx(
        [1.28, 3.8], rel=0.03
    )
    assert {one.load for one in fit.candidates} == {"load"}


@pytest.mark.parametrize(
    ("load", "constant", "words"),
    [
        (True, "some", "unknown constant part 'some' .valid: fit, none."),
        (False, "none", "load is missing"),
    ],
)
def test_a_constant_part_that_cannot_be_left_out(load: bool, constant: str, words: str) -> None:
    p = points(loads=(10.0, 20.0))
    with pytest.raises(InputError, match=words):
        fit_friction(p.w, np.sign(p.w), p.load if load else None, p.group, constant=constant)


def numbers(fit: FitResult) -> np.ndarray:
    return np.array([(p.value, p.low, p.high) for p in fit.parameters.values()])


def test_order_and_labels_of_round_trips_do_not_matter() -> None:
    w, tau, group = noisy()
    order = np.random.default_rng(0).permutation(len(w))
    labels = np.array([f"segment {g * 7 % 101}" for g in group])
    np.testing.assert_allclose(
        numbers(fit_friction(w[order], tau[order], group=labels[order])),
        numbers(plain_fit()),
        rtol=1e-5,
    )


def test_the_other_sign_of_motion_gives_the_same_friction() -> None:
    w, tau, group = noisy()
    mirrored = fit_friction(-w, -tau, group=group)
    np.testing.assert_allclose(numbers(mirrored), numbers(plain_fit()), rtol=1e-6)


@pytest.mark.parametrize("factor", [1e-3, 1e4])
def test_units_of_torque_and_speed_only_scale_the_result(factor: float) -> None:
    w, tau, group = noisy()
    plain = plain_fit()
    torque, speed = (
        fit_friction(w, factor * tau, group=group),
        fit_friction(factor * w, tau, group=group),
    )
    scale_of_torque = {
        "coulomb": factor,
        "static": factor,
        "viscous": factor,
        "stribeck_velocity": 1.0,
    }
    scale_of_speed = {
        "coulomb": 1.0,
        "static": 1.0,
        "viscous": 1.0 / factor,
        "stribeck_velocity": factor,
    }
    for fit, scale in ((torque, scale_of_torque), (speed, scale_of_speed)):
        assert fit.law == plain.law == "stribeck"
        for name, parameter in fit.parameters.items():
            was = plain.parameters[name]
            assert parameter.value == pytest.approx(scale[name] * was.value, rel=1e-4)
            assert parameter.std_error == pytest.approx(scale[name] * was.std_error, rel=1e-3)
            assert parameter.verdict == was.verdict


def test_points_at_rest_say_nothing_about_sliding() -> None:
    w, tau, group = noisy()
    with_rest = fit_friction(
        np.append(w, [0.0, 0.0]), np.append(tau, [3.0, -9.0]), group=np.append(group, [98, 99])
    )
    np.testing.assert_allclose(numbers(with_rest), numbers(plain_fit()), rtol=1e-9)


def test_lists_are_as_good_as_arrays_and_input_is_left_alone() -> None:
    w, tau, group = noisy()
    before = w.copy(), tau.copy()
    listed = fit_friction(w.tolist(), tau.tolist(), group=group.tolist())
    np.testing.assert_allclose(numbers(listed), numbers(plain_fit()), rtol=1e-12)
    assert (w == before[0]).all()
    assert (tau == before[1]).all()


@pytest.mark.slow
def test_huber_loss_tolerates_outliers() -> None:
    """Three of 24 read half as much again: the worst parameter must stay within two of its
    clean standard errors, mostly.
    """
    squares, huber = [], []
    for seed in range(5):
        rng, p = np.random.default_rng(6000 + seed), points()
        truth = random_truth(rng)
        clean = p.measured(rng, friction(p.w, **truth), 0.01, 0.02)
        wrong = np.isin(p.group, rng.choice(24, 3, replace=False))
        error = {
            name: parameter.std_error
            for name, parameter in fit_friction(
                p.w, clean, group=p.group, law="stribeck"
            ).parameters.items()
        }
        for off, loss in ((squares, "squares"), (huber, "huber")):
            fit = fit_friction(
                p.w, np.where(wrong, 1.5, 1.0) * clean, group=p.group, law="stribeck", loss=loss
            )
            off.append(max(abs(fit.values[name] - truth[name]) / error[name] for name in truth))
    assert np.median(squares) > 5.0
    assert np.median(huber) < 3.0
    assert np.sum(np.array(huber) < np.array(squares)) >= 4


def test_lmfit_gives_round_trips_the_weights_that_huber_loss_gave_them() -> None:
    w = np.repeat(np.tile([0.1, 0.3, 0.6, 1.0, 1.4], 4), 3)
    group = np.repeat(np.arange(20), 3)
    tau = 4.0 + 3.0 * w + 0.02 * np.random.default_rng(5).standard_normal(len(w))
    tau[group == 7] += 2.0
    found = fit_friction(w, tau, group=group, law="coulomb-viscous", loss="huber")
    for name in ("coulomb", "viscous"):
        assert found.lmfit.params[name].value == pytest.approx(found.values[name], rel=1e-4)


@pytest.mark.slow
def test_huber_loss_costs_little_without_outliers() -> None:
    w, tau, group = noisy()
    plain, robust = plain_fit(), fit_friction(w, tau, group=group, law="stribeck", loss="huber")
    for name, parameter in robust.parameters.items():
        assert abs(parameter.value - plain.values[name]) < plain.parameters[name].std_error


@pytest.mark.parametrize(
    ("std", "words"),
    [(-1.0, "std is negative in row 0"), (np.nan, "std is not a finite number in row 0")],
)
def test_scatter_that_is_none(std: float, words: str) -> None:
    w, tau, group = noisy()
    with pytest.raises(InputError, match=words):
        fit_friction(w, tau, group=group, std=np.full(len(w), std))


def test_an_unknown_loss_lists_the_losses() -> None:
    w, tau, group = noisy()
    with pytest.raises(InputError, match=r"huber"):
        fit_friction(w, tau, group=group, loss="hubert")


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


@pytest.mark.slow
def test_noise_without_friction_is_not_called_a_wrong_sign() -> None:
    w, tau, group = noisy()
    refused = []
    for seed in range(4):
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


def test_text_in_place_of_numbers_is_refused() -> None:
    w, tau, _ = noisy()
    with pytest.raises(InputError, match="torque holds values that are not numbers"):
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


@pytest.mark.parametrize(
    ("velocity", "torque"), [([], []), (np.zeros(9), np.zeros(9)), (np.zeros(9), np.ones(9))]
)
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


class TestEveryLaw:
    """Fits by name. Truths are of the law's own function, which
    `test_friction` holds to the literature.
    """

    def test_all_are_here(self):
        assert set(LAW_TRUTHS) == set(LAWS)

    @pytest.mark.parametrize("law", LAW_TRUTHS)
    def test_exact_data_give_the_truth(self, law):
        at, truth = points(), LAW_TRUTHS[law]
        fit = fit_friction(at.w, LAWS[law].function(at.w, **truth), group=at.group, law=law)
        for name, value in truth.items():
            assert fit.parameters[name].value == pytest.approx(value, rel=2e-3)
        assert fit.rmse < 1e-3

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "law", [law for law in LAW_TRUTHS if law not in ("coulomb-viscous", "stribeck")]
    )
    def test_intervals_hold_the_truth(self, law):
        """Each parameter, and all together, over noisy cases with both noises of a real arm."""
        at, truth, inside = points(members=4), LAW_TRUTHS[law], dict.fromkeys(LAW_TRUTHS[law], 0)
        clean = LAWS[law].function(at.w, **truth)
        for seed in range(CASES):
            fit = fit_friction(
                at.w,
                at.measured(np.random.default_rng(seed), clean, 0.01, 0.02),
                group=at.group,
                law=law,
            )
            for name, value in truth.items():
                parameter = fit.parameters[name]
                inside[name] += (
                    parameter.low is not None and parameter.low <= value <= parameter.high
                )
        assert min(inside.values()) >= fewest(CASES), inside
        assert sum(inside.values()) >= fewest(CASES * len(inside)), inside

    @pytest.mark.slow
    @pytest.mark.parametrize("law", ["stribeck-free", "andersson"])
    def test_two_nonlinear_parameters_end_no_worse_than_the_law_with_one(self, law):
        """stribeck is stribeck-free at exponent 2, and andersson without smoothing: a worse
        optimum would be a wrong one.
        """
        at = points()
        for seed in range(2):
            rng = np.random.default_rng(seed)
            measured = at.measured(rng, friction(at.w, **random_truth(rng)), 0.02, 0.05)
            smaller = fit_friction(at.w, measured, group=at.group, law="stribeck")
            larger = fit_friction(at.w, measured, group=at.group, law=law)
            assert larger.rmse <= 1.02 * smaller.rmse
