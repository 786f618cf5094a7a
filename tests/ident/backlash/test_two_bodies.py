"""The link behind a measured motor, against laws of mechanics and an integration in fine steps."""

import numpy as np
import pytest

from stribeck.ident.backlash.two_bodies import Drive, follow


def _drive(q: np.ndarray, dt: float, load: float = 0.0, inertia: float = 0.5) -> Drive:
    return Drive(q, dt, np.full(len(q), inertia), np.full(len(q), load), np.zeros(len(q)))


def _one(*values: float) -> list[np.ndarray]:
    return [np.array([value]) for value in values]


def test_a_resting_link_winds_up_by_its_load_on_the_loaded_flank():
    passage = follow(_drive(np.zeros(500), 0.004, load=6.0), *_one(2e-3, 2000.0, 0.0, 0.5))
    assert passage.gap[-1, 0] == pytest.approx(1e-3 + 6.0 / 2000.0, rel=1e-3)
    assert passage.torque[-1, 0] == pytest.approx(6.0, rel=1e-3)


def test_in_the_gap_no_torque_passes():
    # from the middle of a gap of 4 mrad, the flank is not reached
    q = np.linspace(0.0, 1e-3, 200)
    passage = follow(_drive(q, 0.004), *_one(4e-3, 2e4, 1.0, 0.1))
    assert not passage.touching[100:].any()
    assert passage.torque[100:] == pytest.approx(0.0)


@pytest.mark.slow
@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_motion_agrees_with_fine_steps(friction):
    t = np.arange(1000) * 0.004
    q = 0.03 * np.sin(0.6 * np.pi * t)
    play, stiffness, inertia = 3e-3, 3000.0, 0.5
    damping = 2.0 * 0.2 * np.sqrt(stiffness * inertia)
    x, v, fine, every = 0.0, 0.03 * 0.6 * np.pi, 2e-5, 200
    truth = []
    for k in range(len(t) * every):
        if k % every == 0:
            truth.append(0.03 * np.sin(0.6 * np.pi * k * fine) - x)
        e, w = (
            0.03 * np.sin(0.6 * np.pi * k * fine) - x,
            0.03 * 0.6 * np.pi * np.cos(0.6 * np.pi * k * fine),
        )
        over = e - min(max(e, -play / 2.0), play / 2.0)
        force = stiffness * over + damping * (w - v) if over else 0.0
        force = force if force * over > 0.0 else 0.0
        free = v + fine / inertia * force
        v = np.sign(free) * max(abs(free) - fine / inertia * friction, 0.0)
        x += fine * v
    passage = follow(_drive(q, 0.004, inertia=inertia), *_one(play, stiffness, friction, 0.2))
    assert np.std(passage.gap[:, 0] - truth) < 0.1 * play
