"""Differences between the directions that would make friction negative are not claimed."""

import numpy as np
import pandas as pd
import pytest

from stribeck.ident.errors import FitError
from stribeck.ident.fit.joint.directions import differing, offset_finding
from stribeck.ident.fit.joint.general_motion import fit_motion
from stribeck.ident.laws.parameter import Parameter
from tests.ident.log.motion.test_motion_points import COULOMB, INERTIA, VISCOUS, reduced, swing


def turning(backward: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Swings about a steady turn of `backward` less than their own speed: 1 never goes back."""
    t = np.arange(30000) / 500.0
    w, a = 2.0 * np.pi * np.array([0.21, 0.53]), np.array([0.6, 0.2])
    steady = backward * float(a @ w)
    dq, ddq = np.cos(w * t[:, None]) @ (a * w) + steady, -np.sin(w * t[:, None]) @ (a * w**2)
    return (
        t,
        np.sin(w * t[:, None]) @ a + steady * t,
        INERTIA * ddq + COULOMB * np.sign(dq) + VISCOUS * dq,
    )


def test_directions_are_not_compared_with_data_of_one_direction() -> None:
    """All but a moment of the motion goes forward; the fit said 0.4951 forward and
    -0.4951 backward of such.
    """
    t, q, tau = turning(0.93)
    noise = 0.02 * np.random.default_rng(0).standard_normal(len(t))
    motion = reduced(t, q, tau + noise + 0.05 * (np.sin(3.0 * q)))
    assert fit_motion(motion, law="coulomb-viscous").directional == "none"
    with pytest.raises(
        FitError, match="the joint hardly moves at the same speeds in both directions"
    ):
        fit_motion(motion, law="coulomb-viscous", directional="viscous")


@pytest.mark.slow
def test_viscous_friction_below_zero_is_not_claimed_of_general_motion() -> None:
    """Something else than friction, a push of 0.8 N·m·s/rad times speed,
    differs between the directions.
    """
    t, q, tau = swing(rate=250.0)
    pushed = reduced(t, q, tau + 0.8 * np.abs(np.gradient(q, t)))
    assert fit_motion(pushed, law="coulomb-viscous").directional == "none"
    with pytest.raises(
        FitError,
        match=r"would be 1\.\d+ forward and -0\.\d+ N·m·s/rad backward; friction cannot be "
        r"negative",
    ):
        fit_motion(pushed, law="coulomb-viscous", directional="viscous")


@pytest.mark.parametrize(
    ("half", "claimed"), [(0.3, True), (-0.3, True), (0.8, False), (-0.8, False)]
)
def test_viscous_friction_below_zero_is_not_claimed_of_round_trips(
    half: float, claimed: bool
) -> None:
    speed = np.repeat(np.geomspace(0.05, 1.0, 12), 2)
    noise = 0.002 * np.random.default_rng(0).standard_normal(24)
    points = pd.DataFrame(
        {
            "speed": speed,
            "odd": COULOMB + VISCOUS * speed,
            "even": 0.1 + half * speed + noise,
            "gravity": np.zeros(24),
        }
    )
    assert differing(points, np.arange(24), None, "auto", False, VISCOUS)[0] == (
        "viscous" if claimed else "none"
    )
    if claimed:
        assert differing(points, np.arange(24), None, "viscous", False, VISCOUS)[0] == "viscous"
    else:
        with pytest.raises(FitError, match="friction cannot be negative"):
            differing(points, np.arange(24), None, "viscous", False, VISCOUS)


@pytest.mark.slow
def test_viscous_friction_of_a_direction_is_at_least_zero() -> None:
    """Viscous friction forward alone; noise takes what is left backward
    below zero in every other log.
    """
    t, q, tau = swing(rate=250.0)
    dq = np.gradient(q, t)
    found = []
    for seed in range(6):
        noise = 0.3 * np.random.default_rng(seed).standard_normal(len(t))
        chosen = fit_motion(
            reduced(t, q, tau + VISCOUS * np.abs(dq) + noise), law="coulomb-viscous"
        )
        assert chosen.directional == "viscous"
        mean, half = chosen.values["viscous"], chosen.nuisance["viscous_difference"].value
        assert mean + half == pytest.approx(2.0 * VISCOUS, rel=0.1)
        found.append(mean - half)
    assert min(found) == 0.0
    assert max(found) < 0.1 * VISCOUS


def test_round_trips_of_a_direction_without_viscous_friction() -> None:
    speed = np.repeat(np.geomspace(0.05, 1.0, 12), 2)
    for seed in range(6):
        noise = 0.01 * np.random.default_rng(seed).standard_normal(24)
        points = pd.DataFrame(
            {
                "speed": speed,
                "odd": COULOMB + VISCOUS * speed,
                "even": 0.1 + VISCOUS * speed + noise,
                "gravity": np.zeros(24),
            }
        )
        directional, gravity = differing(points, np.arange(24), None, "auto", False, VISCOUS)
        assert directional == "viscous"
        assert gravity["viscous_difference"].value <= VISCOUS


@pytest.mark.parametrize(
    ("scale", "said"),
    [
        (
            1.07,
            ". The offset was fitted together with a torque scale of 1.07 times the model's gravity",
        ),
        (1.01, ""),
    ],
)
def test_an_offset_names_the_scale_with_which_it_was_fitted(scale: float, said: str) -> None:
    gravity = {
        "offset": Parameter(0.8, 0.1, 0.6, 1.0, "N·m", "identified"),
        "scale": Parameter(scale, 0.01, scale - 0.005, scale + 0.005, "1", "identified"),
    }
    (found,) = offset_finding("elbow", gravity, 4.0)
    assert found.text == (
        "elbow: torque offset of 0.8 ± 0.2 N·m: Coulomb friction is 1.6 N·m greater forward, or "
        "the zero of the torque signal or the model's gravity is wrong. export --to c --offset "
        f"adds the offset to the friction{said}"
    )
