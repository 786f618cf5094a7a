"""Claims that the selection of a law must not make, and those that it must."""

from typing import Any

import numpy as np
import pytest

from stribeck import FitResult, fit_friction
from stribeck.ident.fit.joint.torque_basis import uncertain
from stribeck.ident.laws.parameter import Parameter
from tests.round_trip_points import friction, noisy, points, random_truth


def claims(seed: int, truth: dict[str, float], **measured: Any) -> FitResult:
    rng, p = np.random.default_rng(seed), points(**measured)
    tau = p.measured(
        rng, friction(p.w, p.load, **truth), rng.uniform(0.003, 0.02), rng.uniform(0.005, 0.05)
    )
    return fit_friction(p.w, tau, p.load if np.ptp(p.load) else None, p.group)


@pytest.mark.slow
def test_no_stribeck_effect_is_claimed_where_there_is_none() -> None:
    rng = np.random.default_rng(0)
    false = sum(
        claims(seed, {"coulomb": rng.uniform(2, 8), "viscous": rng.uniform(0.5, 10)}).falls
        for seed in range(6)
    )
    assert not false


@pytest.mark.slow
def test_a_stribeck_effect_that_is_there_is_found() -> None:
    rng = np.random.default_rng(1)
    assert sum(claims(seed, random_truth(rng)).falls for seed in range(5)) >= 4


@pytest.mark.slow
def test_no_load_dependence_is_claimed_where_there_is_none() -> None:
    rng = np.random.default_rng(2)
    false = sum(
        claims(
            seed,
            {"coulomb": rng.uniform(2, 8), "viscous": rng.uniform(0.5, 10)},
            loads=(5.0, 15.0, 30.0),
            repeats=1,
        ).load
        != "none"
        for seed in range(4)
    )
    assert false == 0


@pytest.mark.parametrize(
    ("low", "high"), [(1.3, 5.0), (2e-4, 1e-3)], ids=["beyond the fastest", "below the slowest"]
)
def test_a_stribeck_velocity_outside_the_measured_speeds_is_not_claimed(
    low: float, high: float
) -> None:
    """Beyond them it is curvature of the viscous part; below them nothing was seen of it."""
    claimed = 0
    for seed in range(3):
        rng, p = np.random.default_rng(5000 + seed), points()
        truth = {**random_truth(rng), "stribeck_velocity": rng.uniform(low, high)}
        fit = fit_friction(p.w, p.measured(rng, friction(p.w, **truth), 0.01, 0.02), group=p.group)
        claimed += fit.falls
    assert claimed == 0


@pytest.mark.slow
@pytest.mark.parametrize("powers", [(0.5, 0.8), (1.3, 2.0)], ids=["falling slope", "rising slope"])
def test_curvature_of_the_viscous_part_is_no_stribeck_effect(powers: tuple[float, float]) -> None:
    """Grease and churning oil: friction grows with a power of speed that is not one,
    and never falls with speed.
    """
    false = 0
    for seed in range(4):
        rng, p = np.random.default_rng(4000 + seed), points()
        clean = np.sign(p.w) * (
            rng.uniform(2, 5) + rng.uniform(1, 8) * np.abs(p.w) ** rng.uniform(*powers)
        )
        false += fit_friction(p.w, p.measured(rng, clean, 0.01, 0.02), group=p.group).falls
    assert false == 0


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


def test_no_interval_of_a_law_reaches_below_zero() -> None:
    """Friction that is nearly all viscous leaves Coulomb friction open down to
    none, and the verdict says so.
    """
    w, _, group = noisy()
    found = []
    for seed in range(5):
        tau = friction(w, coulomb=0.05, viscous=2.0) + 0.2 * np.random.default_rng(seed).normal(
            size=len(w)
        )
        fit = fit_friction(w, tau, group=group, law="coulomb-viscous")
        found += [
            entry
            for entry in uncertain(
                fit, Parameter(1.0, 0.02, 0.96, 1.04, "1", "identified")
            ).parameters.values()
            if entry.low is not None
        ] + [entry for entry in fit.parameters.values() if entry.low is not None]
    assert min(entry.low for entry in found) == 0.0
    assert {entry.verdict for entry in found if entry.low == 0.0} <= {"weak", "unidentifiable"}


def test_a_parameter_that_wants_to_be_negative_stays_at_its_bound_and_says_so() -> None:
    w, _, group = noisy()
    tau = friction(w, coulomb=6.0, viscous=-1.0) + 0.01 * np.random.default_rng(0).normal(
        size=len(w)
    )
    viscous = fit_friction(w, tau, group=group, law="coulomb-viscous").parameters["viscous"]
    assert (viscous.value, viscous.verdict) == (0.0, "at bound")
    assert viscous.low is None
    assert viscous.high is None
