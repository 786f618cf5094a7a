"""Simulated motion of a servo keeps to physics, whatever parameters a fit tries."""

import numpy as np
import pytest

from stribeck.ident.servo.servo_simulation import STEP, simulate
from stribeck.ident.servo.servo_windows import ServoWindows

SAMPLES, DT = 400, 0.005
GAIN = 100.0


def windows(inertia: float) -> ServoWindows:
    """A joint without weight that begins 0.5 rad off its set-point."""
    still = np.zeros((1, SAMPLES))
    return ServoWindows(
        dt=DT,
        q=still,
        speed=np.zeros(1),
        goal=np.full((1, SAMPLES + 10), 0.5),
        gain=np.full((1, SAMPLES), GAIN),
        inertia=np.full((1, SAMPLES), inertia),
        links=still,
        rest=still,
        cosine=still,
        sine=still,
        loads={},
        known=np.ones((1, SAMPLES), dtype=bool),
        run=np.zeros(1, dtype=int),
    )


def moved(inertia: float, torque_per_gain: float) -> np.ndarray:
    values = {
        "torque_per_gain": torque_per_gain,
        "stribeck_velocity": 0.1,
        **dict.fromkeys(("back_emf", "inertia", "delay", "offset", "coulomb", "static"), 0.0),
        **dict.fromkeys(("viscous", "coulomb_coefficient", "static_coefficient"), 0.0),
    }
    sets = {name: np.array([value]) for name, value in values.items()}
    return simulate(windows(inertia), sets)[0, 0]


@pytest.mark.parametrize("torque_per_gain", [1e-6, 1e-3, 1.0, 1e3])
def test_a_joint_without_mass_swings_no_farther_than_its_spring_allows(torque_per_gain):
    """Energy of a joint that starts at rest 0.5 rad off its set-point: it reaches at most 1 rad."""
    q = moved(1e-11, torque_per_gain)
    assert q.min() > -0.5
    assert q.max() < 1.5


def test_a_joint_with_mass_swings_at_its_own_frequency():
    """A swing of 0.2 s lasts many steps, so that the least inertia of a step does not matter."""
    inertia = GAIN * 0.002 * (0.2 / (2.0 * np.pi)) ** 2
    assert inertia > 100.0 * GAIN * 0.002 * STEP**2
    q = moved(inertia, 0.002)
    expected = 0.5 * (1.0 - np.cos(2.0 * np.pi * DT * np.arange(SAMPLES) / 0.2))
    np.testing.assert_allclose(q[:200], expected[:200], atol=0.05)
