"""Advice in notes: the tests follow the advice, and the parameter is then identified."""

import re
from dataclasses import replace

import numpy as np
import pytest

from stribeck.ident.arm.arm_file import load_arm
from stribeck.ident.arm.arm_tables import Tool
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.fit.joint.advice import advised, more, vary_load
from stribeck.ident.fit.law_fit import fit_law
from stribeck.ident.fit.points import FitPoints
from stribeck.ident.laws.law_table import law_named
from stribeck.ident.model.loads import joint_loads

SPEEDS = np.geomspace(0.01, 1.0, 10)


def points(
    trips: int, seed: int, scatter: float = 0.05, speeds: np.ndarray = SPEEDS, static: float = 3.0
) -> FitPoints:
    """Round trips of a joint, one point each, whose levels scatter."""
    rng = np.random.default_rng(seed)
    w = np.resize(speeds, trips)
    friction = law_named("stribeck").function(
        w, coulomb=2.0, static=static, stribeck_velocity=0.06, viscous=0.8
    )
    return FitPoints(
        w, friction * (1.0 + scatter * rng.standard_normal(trips)), None, np.arange(trips)
    )


@pytest.mark.slow
def test_the_advised_number_of_round_trips_makes_a_weak_parameter_identified() -> None:
    reached = []
    for seed in range(12):
        few = points(30, seed, 0.05)
        note = (
            advised(fit_law(few, law_named("stribeck")), few.w, None, 30).parameters["viscous"].note
        )
        further = int(re.search(r"about (\d+) round trips in addition to these 30", note)[1])
        better = fit_law(points(30 + further, 100 + seed, 0.05), law_named("stribeck")).parameters[
            "viscous"
        ]
        reached.append(better.half_width / better.value)
    assert 0.12 < np.median(reached) < 0.18


def test_what_is_known_well_enough_needs_no_more() -> None:
    assert more(0.15, 40) == ""
    assert "about 120 round trips in addition to these 40" in more(0.30, 40)


def test_advice_never_asks_for_endless_round_trips() -> None:
    assert (
        more(80.0, 40, "passes")
        == "its interval includes zero; more passes like these 40 would hardly narrow the interval"
    )
    assert (
        more(1.2, 40)
        == "known within 120 %; more round trips like these 40 would hardly narrow the interval"
    )


def test_advice_never_asks_for_a_hundredfold_load_span() -> None:
    data = points(60, 3)
    load = np.random.default_rng(3).uniform(1.0, 2.0, 60)
    fit = fit_law(replace(data, load=load), law_named("stribeck"), "torque")
    tiny = replace(
        fit,
        parameters={
            "coulomb_coefficient": replace(
                fit.parameters["coulomb"], value=1e-3, low=-0.3, high=0.3, verdict="unidentifiable"
            )
        },
    )
    note = advised(tiny, data.w, load, 60, auto=False).parameters["coulomb_coefficient"].note
    assert "hardly shows" in note
    assert "times this span" not in note


def test_an_identified_parameter_has_no_note() -> None:
    data = points(60, 1, 0.01)
    fit = fit_law(data, law_named("stribeck"))
    assert advised(fit, data.w, None, 60).parameters == fit.parameters


def test_slower_strokes_are_advised_if_the_slowest_misses_the_stribeck_effect() -> None:
    fast = points(30, 2, 0.05, np.geomspace(0.05, 1.0, 10))
    fit = fit_law(fast, law_named("stribeck"))
    note = advised(fit, fast.w, None, 30).parameters["static"].note
    wanted = float(re.search(r"no speed below ([\d.]+) rad/s, the slowest is 0.05", note)[1])
    assert wanted == pytest.approx(0.5 * fit.values["stribeck_velocity"], rel=0.02)
    slow = points(30, 2, 0.05, np.geomspace(0.5 * wanted, 1.0, 10))
    better = fit_law(slow, law_named("stribeck")).parameters["static"]
    assert better.half_width < 0.5 * fit.parameters["static"].half_width


@pytest.mark.parametrize(("speed", "said"), [(0.12, True), (0.02, False)])
def test_a_note_says_if_no_speed_is_slow_enough_for_a_stribeck_effect(
    speed: float, said: bool
) -> None:
    data = points(30, 3, 0.01, np.geomspace(speed, 1.0, 8), static=2.0)
    fit = advised(fit_law(data, law_named("coulomb-viscous")), data.w, None, 30)
    assert ("static" in fit.parameters) == said
    if said:
        assert "no speed below 0.05 rad/s, the slowest is 0.12" in fit.parameters["static"].note
        assert fit.parameters["static"].value is None
    assert (
        "static"
        not in advised(
            replace(fit, parameters={}, law="coulomb-viscous"), data.w, None, 30, auto=False
        ).parameters
    )


@pytest.mark.slow
def test_the_advised_payload_varies_the_load() -> None:
    """Put on the arm by another way, its description, the payload varies the load by a
    third; a lighter one does not.
    """
    arm = load_arm("lab6")
    mechanism = load_mechanism(arm)
    j3 = mechanism.names.index("j3")
    rng = np.random.default_rng(0)
    q = rng.uniform(-1.5, 1.5, (40, 6))
    mass, offset = map(
        float,
        re.search(
            r"a payload of ([\d.]+) kg, ([\d.]+) m from the axis of j6",
            vary_load(mechanism, j3, "normal", q),
        ).groups(),
    )

    def spread(mass: float) -> float:
        sides = [np.array([np.cos(a), np.sin(a), 0.0]) for a in np.linspace(0.0, 2.0 * np.pi, 16)]
        loads = [
            joint_loads(load_mechanism(arm, tool=Tool(mass, tuple(offset * side))), q).normal[:, j3]
            for side in sides
        ]
        return max(np.ptp(load) / load.max() for load in loads)

    assert spread(mass) > 0.9 / 3.0
    assert spread(0.3 * mass) < 1.0 / 3.0


def test_no_payload_is_advised_if_none_varies_the_load() -> None:
    """Gravity never turns a joint with a vertical axis."""
    mechanism = load_mechanism("lab6")
    said = vary_load(
        mechanism, 0, "torque", np.random.default_rng(0).uniform(-1.0, 1.0, (20, 6)), 0.3
    )
    assert said.startswith("no payload up to")
