"""Expected precision of planned round trips, compared with fits of such round trips."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from stribeck.ident.fit.information import (
    Expectation,
    ExpectedNoise,
    Outlook,
    PlausibleLaw,
    expectation,
    expected_precision,
    information,
    learnt,
    outlooks,
    planned,
    speeds_at_extreme_loads,
)
from stribeck.ident.fit.law_fit import fit_law
from stribeck.ident.fit.points import FitPoints
from stribeck.ident.laws.law_table import LAWS, law_named

TRUTH = {"coulomb": 2.0, "static": 2.8, "viscous": 1.5, "stribeck_velocity": 0.06}
LOADED = TRUTH | {"coulomb_coefficient": 0.1, "static_coefficient": 0.14}
APART = TRUTH | {
    f"{level}_coefficient_{part}": value
    for level, part, value in (
        ("coulomb", "radial", 0.02),
        ("coulomb", "bending", 0.1),
        ("static", "radial", 0.03),
        ("static", "bending", 0.14),
    )
}
CANDIDATES = {"none": TRUTH, "torque": LOADED, "components": APART}
NOISE = ExpectedNoise(within=0.01, scatter=0.02, ripple=0.0)


def points(postures: int = 4, speeds: int = 8, places: int = 4) -> pd.DataFrame:
    """Round trips at every speed in every posture, whose loads differ from posture to
    posture, in random order.
    """
    rng = np.random.default_rng(0)
    order = rng.permutation(postures * speeds)
    rows = [
        {
            "joint": "j1",
            "segment": k * speeds + i,
            "speed": w,
            "position": float(place),
            "gravity": 0.0,
            "gravity_rate": 0.0,
            "torque": 2.0 + 6.0 * k,
            "bending": [12.0, 2.0, 14.0, 8.0][k % 4],
            "radial": [5.0, 60.0, 30.0, 50.0][k % 4],
            "axial": 20.0,
            "normal": np.nan,
            "n": 100.0,
            "t": 10.0 * order[k * speeds + i],
            "reference": False,
            "ripple": 0.0,
            "run": "planned",
        }
        for k in range(postures)
        for i, w in enumerate(rng.permutation(np.geomspace(0.01, 1.2, speeds)))
        for place in range(places)
    ]
    return pd.DataFrame(rows)


def measured(ahead: pd.DataFrame, candidate: PlausibleLaw, seed: int) -> FitPoints:
    """Points with the noise that is expected, in the torque and not in the information."""
    rng, data = np.random.default_rng(seed), planned(ahead, candidate)
    level = 1.0 + NOISE.scatter / np.sqrt(2.0) * rng.standard_normal(data.groups)
    within = NOISE.within * data.tau * rng.standard_normal(len(data.tau))
    return replace(data, tau=data.tau * level[data.group] + within)


@pytest.mark.slow
@pytest.mark.parametrize("load", CANDIDATES)
def test_predicted_intervals_are_those_of_fits(load: str) -> None:
    """Of the points that were planned, with the noise that was expected, over seeds."""
    candidate, ahead = PlausibleLaw("stribeck", load, CANDIDATES[load]), points()
    (told,) = expected_precision(ahead, Expectation((candidate,), NOISE))
    found = [
        fit_law(measured(ahead, candidate, seed), law_named("stribeck"), load) for seed in range(12)
    ]
    for name, width in told.parameters.items():
        own = np.median([fit.parameters[name].half_width / CANDIDATES[load][name] for fit in found])
        assert 0.6 < own / width < 1.7, name
    where = speeds_at_extreme_loads(ahead, load, candidate.values)
    band = np.median([np.max(fit.interval(*where) / fit.predict(*where)) for fit in found])
    assert 0.6 < band / told.friction < 1.7


def test_twice_as_many_round_trips_give_twice_the_information() -> None:
    candidate, ahead = PlausibleLaw("stribeck", "torque", LOADED), points()
    again = pd.concat(
        [ahead, ahead.assign(segment=ahead["segment"] + 100, t=ahead["t"] + 400.0)],
        ignore_index=True,
    )
    once, twice = (outlooks(one, Expectation((candidate,), NOISE))[0] for one in (ahead, again))
    for name, width in once.half_widths().items():
        assert twice.half_widths()[name] / width == pytest.approx(2.0**-0.5, abs=0.04)


def test_the_predicted_gain_of_a_round_trip_is_its_actual_gain() -> None:
    candidate, ahead = PlausibleLaw("stribeck", "torque", LOADED), points()
    data = planned(ahead, candidate)
    told = information(ahead, data, candidate, NOISE)
    before = Outlook.of(data, candidate).with_trips(told[:20].sum(axis=0), 20)
    asked = before.asked(ahead, 0.05, 0.1)
    falls = before.fall(told[20:], asked)
    assert (falls > 0.0).all()
    norm = [
        np.mean(np.einsum("ci,ij,cj->c", asked, one.covariance, asked) ** 4) ** 0.25
        for one in (before, *(before.with_trips(own, 1) for own in told[20:]))
    ]
    np.testing.assert_allclose(falls, np.log(norm[0] / np.array(norm[1:])), rtol=1e-6)


def test_an_earlier_fit_adds_its_information() -> None:
    candidate, ahead = PlausibleLaw("stribeck", "torque", LOADED), points()
    fit = fit_law(measured(ahead, candidate, 0), law_named("stribeck"), "torque")
    (first,), (later,) = (
        outlooks(ahead, one) for one in (Expectation((candidate,), NOISE), learnt(fit))
    )
    assert later.candidate.values == fit.values
    assert later.trips == 2 * first.trips
    for name, width in later.half_widths().items():
        assert width < fit.parameters[name].half_width / fit.values[name]


def test_an_earlier_fit_gives_the_expected_noise() -> None:
    candidate, ahead = PlausibleLaw("stribeck", "none", TRUTH), points()
    data = measured(ahead, candidate, 1)
    quiet, loud = (
        learnt(fit_law(one, law_named("stribeck"), "none")).noise
        for one in (
            data,
            replace(
                data,
                tau=planned(ahead, candidate).tau
                + 3.0 * (data.tau - planned(ahead, candidate).tau),
            ),
        )
    )
    assert loud.scatter / quiet.scatter == pytest.approx(3.0, rel=0.3)


def test_only_loads_that_vary_are_candidates() -> None:
    varied = {candidate.load for candidate in expectation(2.0, 1.5, points()).candidates}
    assert {"none", "torque", "bending"} <= varied
    still = {candidate.load for candidate in expectation(2.0, 1.5, points(postures=1)).candidates}
    assert still == {"none"}


def test_correlated_loads_are_one_candidate() -> None:
    ahead = points()
    alike = {
        candidate.load
        for candidate in expectation(
            2.0, 1.5, ahead.assign(bending=1.0 + 2.0 * ahead["torque"])
        ).candidates
    }
    assert len(alike & {"torque", "bending"}) == 1


def test_one_speed_does_not_identify_viscous_friction() -> None:
    ahead = points()
    (wide,), (narrow,) = (
        expected_precision(one, Expectation((PlausibleLaw("stribeck", "none", TRUTH),), NOISE))
        for one in (ahead, ahead.assign(speed=0.5))
    )
    assert wide.parameters["viscous"] < 0.1
    assert narrow.parameters["viscous"] > 1.0


@pytest.mark.parametrize("law", LAWS)
def test_the_precision_of_every_law_can_be_predicted(law: str) -> None:
    values = (
        dict.fromkeys(LAWS[law].parameters(True), 0.1)
        | {"coulomb": 1.0, "static": 1.5}
        | {"stribeck_exponent": 2.0}
    )
    candidate = PlausibleLaw(
        law, "torque", {name: values[name] for name in LAWS[law].parameters(True)}
    )
    (told,) = expected_precision(points(), Expectation((candidate,), NOISE))
    assert 0.0 < told.friction < 1.0
    assert told.needed(told.friction / 2.0) == 4 * told.round_trips
