"""The even part of one joint: scale, offset, and differences between the
directions, including false claims.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from stribeck.ident.arm.built_in import data_dir
from stribeck.ident.fit.joint.directions import choose_direction, directions, directions_on_offer
from stribeck.ident.fit.joint.gravity import fit_gravity, zero_shift
from stribeck.ident.fit.law_fit import fit_law
from stribeck.ident.fit.points import FitPoints
from stribeck.ident.identification.judge_joints import doubted
from stribeck.ident.identify import Identification, identify
from stribeck.ident.laws.law_table import LAWS
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.log.run import load_run
from tests.coverage import fewest, most

TRIPS, BINS = 42, 3


def even_parts(
    seed: int, viscous: float = 0.0, driving: float = 0.0, scale: float = 1.0
) -> tuple[np.ndarray, ...]:
    """Speed, even part, gravity, friction, load (a bearing's, apart from gravity) and
    round trip of every point.
    """
    rng = np.random.default_rng(seed)
    trip = np.repeat(np.arange(TRIPS), BINS)
    w = np.repeat(rng.permutation(np.geomspace(0.01, 1.2, TRIPS)), BINS)
    gravity = 12.0 * np.sin(
        rng.uniform(-1.5, 1.5, TRIPS)[trip] + np.tile(np.linspace(0.0, 0.3, BINS), TRIPS)
    )
    load = 10.0 + 8.0 * rng.uniform(-1.0, 1.0, TRIPS)[trip]
    friction = 4.0 + 0.1 * load + 3.0 * w
    level = 0.01 * rng.standard_normal(TRIPS)[trip] * friction
    even = (
        scale * gravity
        + 0.3
        + viscous * w
        + driving * load * np.sign(gravity)
        + level
        + 0.01 * rng.standard_normal(len(w))
    )
    return w, even, gravity, friction, load, trip


@pytest.mark.parametrize("scale", [0.4, 1.0, 2.5, 4.0])
def test_any_scale_is_found(scale: float) -> None:
    """Torque in the unit of a gear ratio or a torque constant that is wrong by a factor."""
    _, even, gravity, friction, _, trip = even_parts(0, scale=scale)
    found = fit_gravity(even, gravity, friction, trip)["scale"]
    assert found.verdict == "identified"
    assert found.value == pytest.approx(scale, rel=0.02)


def test_the_offset_does_not_contain_a_gravity_that_hardly_changes() -> None:
    """A scale cannot be told then, and that of the model is taken."""
    rng, trip = np.random.default_rng(0), np.repeat(np.arange(TRIPS), BINS)
    gravity = 12.0 + 1e-3 * rng.standard_normal(len(trip))
    even = gravity + 0.3 + 0.01 * rng.standard_normal(len(trip))
    found = fit_gravity(even, gravity, np.full(len(trip), 4.0), trip)
    assert found["offset"].value == pytest.approx(0.3, abs=0.02)
    assert "scale" not in found or found["scale"].value is None


def claimed(seed: int, **truth: float) -> str:
    w, even, gravity, friction, load, trip = even_parts(seed, **truth)
    return choose_direction(even, gravity, friction, trip, directions_on_offer(w, gravity, load))


@pytest.mark.slow
def test_no_difference_is_invented() -> None:
    """Where directions are alike, a difference is claimed in at most 2 % of cases; a scale
    that is off changes nothing.
    """
    claims = [claimed(seed, scale=(1.0, 0.93, 1.08)[seed % 3]) for seed in range(30)]
    assert sum(claim != "none" for claim in claims) <= most(len(claims), 0.02, once_in=50)


def test_a_handful_of_round_trips_makes_no_claim() -> None:
    for seed in range(5):
        w, even, gravity, friction, load, trip = (
            values[: 11 * BINS] for values in even_parts(seed, viscous=0.3)
        )
        assert (
            choose_direction(even, gravity, friction, trip, directions_on_offer(w, gravity, load))
            == "none"
        )


@pytest.mark.slow
@pytest.mark.parametrize("truth", [{"viscous": 0.3}, {"driving": 0.01}])
def test_a_difference_is_found_and_covered(truth: dict[str, float]) -> None:
    ((kind, value),) = truth.items()
    assert [claimed(seed, **truth) for seed in range(5)] == [kind] * 5
    hits = []
    for seed in range(10):
        w, even, gravity, friction, load, trip = even_parts(seed, **truth)
        found = fit_gravity(
            even, gravity, friction, trip, differences=directions_on_offer(w, gravity, load)[kind]
        )
        hits += [
            found[f"{kind}_difference"].low <= value <= found[f"{kind}_difference"].high,
            found["scale"].low <= 1.0 <= found["scale"].high,
        ]
    assert sum(hits) >= fewest(len(hits))


@pytest.mark.parametrize(("half", "doubted"), [(0.02, False), (-0.04, True)])
def test_friction_that_would_drive_is_doubted(half: float, doubted: bool) -> None:
    w = np.tile(np.geomspace(0.01, 1.0, 8), 3)
    load = np.random.default_rng(0).uniform(5.0, 20.0, len(w))
    fit = fit_law(
        FitPoints(w, 2.0 + 0.03 * load + w, load, np.arange(len(w))),
        LAWS["coulomb-viscous"],
        "torque",
    )
    (found,) = directions(
        "j1",
        "driving",
        fit,
        {"driving_difference": Parameter(half, 0.001, half, half, "1", "identified")},
    )
    assert ("assumed right, are wrong" in found.text) == doubted


def test_driving_by_the_transmitted_torque_is_not_on_offer() -> None:
    """It looks like a scale."""
    w, _, gravity, _, load, _ = even_parts(0)
    assert set(directions_on_offer(w, gravity, load)) == {"none", "viscous", "driving"}
    assert set(directions_on_offer(w, gravity, np.abs(gravity))) == {"none", "viscous"}
    assert set(directions_on_offer(w, gravity, None)) == {"none", "viscous"}


@cache
def golden() -> Identification:
    return identify([load_run(data_dir() / "golden" / "runs" / "constant-speed")])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("low", "high", "word"),
    [(1.004, 1.262, "identified"), (1.09, 1.17, "weak"), (0.99, 1.27, "identified")],
)
def test_only_a_precise_scale_puts_loads_in_doubt(low: float, high: float, word: str) -> None:
    """Gravity of the last joint is a few hundredths of a N·m: torque over
    model of 1.13 is chance there.
    """
    joints = golden().joints
    scale = replace(
        joints["hinge"].gravity["scale"], value=1.13, low=low, high=high, verdict="identified"
    )
    (found,) = doubted({"hinge": replace(joints["hinge"], gravity={"scale": scale})}).values()
    assert found.fit.parameters["coulomb_coefficient"].verdict == word


def seen_at(shift: float, seed: int, span: float = 2.4) -> tuple[float, float] | None:
    """What is found of a zero that is off: the log says q, gravity is that at q + shift."""
    rng = np.random.default_rng(seed)
    trip = np.repeat(np.arange(TRIPS), BINS)
    q = rng.uniform(-span / 2.0, span / 2.0, TRIPS)[trip] + np.tile(
        np.linspace(0.0, 0.3, BINS), TRIPS
    )
    friction = 4.0 + 3.0 * np.repeat(rng.permutation(np.geomspace(0.01, 1.2, TRIPS)), BINS)
    even = 12.0 * np.sin(q + shift) + 0.3 + 0.01 * rng.standard_normal(TRIPS)[trip] * friction
    return zero_shift(even, 12.0 * np.sin(q), 12.0 * np.cos(q), friction, trip)


@pytest.mark.parametrize("shift", [-0.3, -0.05, 0.1])
def test_a_wrong_zero_is_found(shift: float) -> None:
    """To first order: large ones are told a few per cent too small or great."""
    for seed in range(5):
        found = seen_at(shift, seed)
        assert found is not None
        assert found[0] == pytest.approx(shift, rel=0.05, abs=0.01)


@pytest.mark.slow
def test_no_shift_of_the_zero_is_invented() -> None:
    assert [seen_at(0.0, seed) for seed in range(30)] == [None] * 30
    assert seen_at(0.0, 0, span=0.1) is None
