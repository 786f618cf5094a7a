"""Waves of friction with position: not taken for a load, removed if present, not invented, and
doubtful if a load looks alike.
"""

import numpy as np
import pandas as pd
import pytest

from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.fit.joint.fit_joint import JointFit, identify_joint
from stribeck.ident.fit.joint.general_motion import fit_motion
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.fit.joint.places import harmonics
from stribeck.ident.log.motion.filtered_motion import filtered
from stribeck.ident.log.motion.motion_points import reduce_motion
from tests.ident.fit.joint.test_general_motion import pendulum, swing

SPEEDS = np.geomspace(0.02, 1.2, 9)
PLACES = np.linspace(-1.0, 1.4, 12)  # rad, of the bins of a stroke: not even about zero
WEIGHTS = (2.0, 6.0, 10.0, 14.0)  # N·m of gravity at the most, by posture


def trips(
    seed: int,
    ripple: float = 0.0,
    order: int = 1,
    slope: float = 0.0,
    weights: tuple[float, ...] = WEIGHTS,
    phase: float = 0.6,
    load=lambda q: np.abs(np.cos(q)),
    drop: float = 0.0,
    noise: float = 1.0,
    slow_way: float = 1.0,
) -> pd.DataFrame:
    """Round trips in postures of different weight: Coulomb friction 4 N·m that waves, with an
    excess at low speed, 2 N·m·s/rad, and a slope per load. Slow ones go so much of the way."""
    rng, rows = np.random.default_rng(seed), []
    for trip, (weight, w) in enumerate(
        (weight, w) for weight in weights for w in rng.permutation(SPEEDS)
    ):
        places = PLACES if w > 0.1 else PLACES[0] + slow_way * (PLACES - PLACES[0])
        pressed, wave = weight * load(places), 1.0 + ripple * np.sin(order * places + phase)
        odd = (4.0 + drop * np.exp(-((w / 0.05) ** 2)) + slope * pressed) * wave + 2.0 * w
        odd *= 1.0 + 0.01 * noise * rng.standard_normal()
        odd += 0.03 * noise * rng.standard_normal(len(places))
        rows += [
            {
                "joint": "j4",
                "segment": trip,
                "posture": 0,
                "speed": w,
                "position": q,
                "odd": tau,
                "even": 0.0,
                "gravity": 0.0,
                "gravity_rate": 0.0,
                "torque": on,
                "bending": 1.0,
                "radial": 1.0,
                "axial": 1.0,
                "normal": np.nan,
                "n": 100,
                "std": 0.1,
                "t": 10.0 * trip + k,
                "temperature": np.nan,
                "reference": False,
                "run": "one",
            }
            for k, (q, tau, on) in enumerate(zip(places, odd, pressed, strict=True))
        ]
    return pd.DataFrame(rows)


def found(options: Options | None = None, **of) -> JointFit:
    return identify_joint(trips(0, **of), load_mechanism("lab6"), "j4", options)


@pytest.mark.slow
def test_a_wave_is_no_load_and_levels_are_those_of_the_mean():
    """Over the range of positions, whose mean is not that of the turn."""
    order, phase = 2, 4.0
    even = np.linspace(PLACES.min(), PLACES.max(), 1001)
    level = 4.0 * np.mean(1.0 + 0.1 * np.sin(order * even + phase))
    joint = found(ripple=0.1, order=order, phase=phase)
    fit = joint.fit
    assert fit.load == "none"
    assert fit.place != "none"
    assert fit.parameters["coulomb"].low <= level <= fit.parameters["coulomb"].high
    assert fit.parameters["coulomb"].half_width < 0.15
    (said,) = [one.text for one in joint.findings if one.kind == "position"]
    assert "changes with position" in said  # seen over less than half a turn
    assert not fit.lack_of_fit


@pytest.mark.slow
def test_waves_scale_with_dry_friction_and_not_with_viscous_friction():
    """An excess at low speed, and what grows with a load, wave as the rest of it,
    wherever slow strokes are.
    """
    slope, even = 0.1, np.linspace(PLACES.min(), PLACES.max(), 1001)
    mean = np.mean(1.0 + 0.15 * np.sin(even + 0.6))
    options = Options(law="stribeck", load="torque")
    fit = found(options, ripple=0.15, drop=3.0, slope=slope, noise=0.2, slow_way=0.3).fit
    w, load = (grid.ravel() for grid in np.meshgrid(SPEEDS, WEIGHTS))
    level = (4.0 + 3.0 * np.exp(-((w / 0.05) ** 2)) + slope * load) * mean + 2.0 * w
    np.testing.assert_allclose(fit.predict(w, load), level, rtol=0.006)
    assert not fit.lack_of_fit


@pytest.mark.slow
@pytest.mark.parametrize("ripple", [0.0, 0.1])
def test_a_true_load_is_found_together_with_a_wave(ripple):
    """And no wave where there is none. What grows with load waves, too: its coefficient is
    that of the mean.
    """
    even = np.linspace(PLACES.min(), PLACES.max(), 1001)
    fit = found(Options(law="coulomb-viscous"), ripple=ripple, slope=0.08).fit
    assert fit.load == "torque"
    assert (fit.place != "none") == (ripple > 0.0)
    coefficient = fit.parameters["coulomb_coefficient"]
    assert coefficient.verdict == "identified"
    assert coefficient.value == pytest.approx(
        0.08 * np.mean(1.0 + ripple * np.sin(even + 0.6)), rel=0.03
    )


@pytest.mark.slow
def test_a_load_that_follows_position_is_weak_and_its_rival_is_named():
    """One posture, and a load that is a wave itself: no data of this joint can tell."""
    fit = found(slope=0.08, weights=(14.0,), load=lambda q: 1.0 + 0.5 * np.sin(q)).fit
    assert fit.load == "torque"
    coefficient = fit.parameters["coulomb_coefficient"]
    assert coefficient.verdict == "weak"
    assert "varies with position" in coefficient.note


def test_a_point_is_the_mean_over_its_stroke():
    """Two bins that cover a turn: waves once a turn are as small in each as their mean there, and
    zero in the mean of both.
    """
    met, width = np.array([-np.pi / 2.0, np.pi / 2.0]), np.full(2, np.pi)
    once = harmonics(met, width=width)["once a turn"]
    np.testing.assert_allclose(once["place_sin_1"], [-2.0 / np.pi, 2.0 / np.pi], atol=1e-6)
    np.testing.assert_allclose(once["place_cos_1"], [0.0, 0.0], atol=1e-6)


def test_short_strokes_show_no_wave_even_if_they_are_far_apart():
    assert set(harmonics(np.linspace(0.0, 0.2, 9))) == {"none"}
    assert set(harmonics(np.append(np.linspace(0.0, 0.1, 9), np.linspace(2.0, 2.1, 9)))) == {"none"}


def test_levels_are_means_over_the_measured_positions_only(monkeypatch):
    """Strokes in two places far apart, friction that waves five times a turn."""
    apart = np.append(np.linspace(-1.25, -1.0, 6), np.linspace(1.25, 1.5, 6))
    monkeypatch.setattr(f"{__name__}.PLACES", apart)
    even = np.append(np.linspace(-1.25, -1.0, 101), np.linspace(1.25, 1.5, 101))
    options = Options(law="coulomb-viscous")
    coulomb = found(options, ripple=0.05, order=5, phase=0.0).fit.parameters["coulomb"]
    level = 4.0 * np.mean(1.0 + 0.05 * np.sin(5 * even))
    assert coulomb.value == pytest.approx(level, rel=0.015)
    assert coulomb.low <= level <= coulomb.high


@pytest.mark.slow
@pytest.mark.parametrize("wave", [0.0, 0.12])
def test_general_motion_takes_no_wave_for_a_load(wave):
    motion = reduce_motion(filtered([swing(speed=1.5, wave=wave)], [pendulum()]), "swing")
    fit = fit_motion(motion, "model", law="coulomb-viscous", loads=("none", "torque"))
    assert fit.load == "none"
    assert (fit.place != "none") == (wave > 0.0)
