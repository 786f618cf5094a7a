"""Spherical and universal joints that stick, break loose and stop, against closed
forms for a hanging body.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from stribeck import load_mechanism
from stribeck.ident.model.driven.forward_simulation import forward_motion, prescribed_motion
from stribeck.ident.model.energy import mechanical_energy
from stribeck.ident.model.mechanism import Mechanism
from tests.model_texts import written

HIP = """schema = 1
name = "ball"
[[joints]]
name = "hip"
parent = "ground"
type = "{kind}"
origin = [0.0, 0.0, 0.0]
mass = 2.0
com = [{aside}, 0.0, -0.2]
inertia = [0.02, 0.02, 0.01, 0.0, 0.0, 0.0]
friction_arm = {arm}
"""
WEIGHT = """[[joints]]
name = "weight"
parent = "hip"
type = "prismatic"
axis = [0.6, 0.8, 0.0]
origin = [0.0, 0.0, -0.1]
mass = 1.0
com = [0.0, 0.0, 0.0]
inertia = [0.001, 0.001, 0.001, 0.0, 0.0, 0.0]
"""


@pytest.fixture
def hung(tmp_path: Path) -> Callable[..., Mechanism]:
    def make(arm: float, aside: float = 0.01, kind: str = "spherical", more: str = "") -> Mechanism:
        return load_mechanism(
            written(tmp_path, HIP.format(kind=kind, aside=aside, arm=arm) + more, "ball.toml")
        )

    return make


def let_go(m: Mechanism, speed: list[float], t: np.ndarray):
    return forward_motion(m, lambda t, q, dq: np.zeros(m.n), np.zeros(m.n), speed, t)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["spherical", "universal"])
def test_a_ball_joint_rests_below_its_break_away_moment_and_swings_above_it(
    kind: str, hung: Callable[..., Mechanism]
) -> None:
    """The weight acts 10 mm beside the joint. A larger friction arm holds the weight. With a
    friction arm of 9.9 mm the body swings about the posture where both arms are equal, 0.5 mrad
    away, and stops at twice this angle after half a period.
    """
    t = np.linspace(0.0, 3.0, 4)
    held = let_go(hung(0.0101, kind=kind), [0.0] * (3 if kind == "spherical" else 2), t)
    assert np.abs(held.q).max() < 1e-9
    assert held.events == ()
    found = let_go(hung(0.0099, kind=kind), [0.0] * (3 if kind == "spherical" else 2), t)
    (event,) = found.events
    stiffness, inertia = 2.0 * 9.81 * 0.2, 0.02 + 2.0 * (0.2**2 + 0.01**2)
    assert (event.joint, event.what) == ("hip", "sticks")
    assert event.t == pytest.approx(np.pi * np.sqrt(inertia / stiffness), rel=1e-2)
    assert found.q[-1, 1] == pytest.approx(2.0 * (0.01 - 0.0099) / 0.2, rel=1e-2)
    assert np.abs(found.q[-1] - found.q[2]).max() < 1e-9


@pytest.mark.slow
def test_a_ball_joint_breaks_loose_at_its_break_away_moment(hung: Callable[..., Mechanism]) -> None:
    """A drive moves 1 kg sideways while 3 kg load the joint: the joint breaks loose at three
    friction arms, in any direction.
    """
    m, speed, arm = hung(0.01, aside=0.0, more=WEIGHT), 0.01, 0.01
    way = lambda t: np.stack((speed * t, np.full(len(t), speed), np.zeros(len(t))))[..., None]  # noqa: E731
    motion = prescribed_motion(
        m, way, np.linspace(0.0, 4.0, 41), np.zeros(4), [0.0, 0.0, 0.0, speed]
    )
    assert [(event.joint, event.what) for event in motion.events] == [("hip", "breaks loose")]
    assert motion.events[0].t == pytest.approx(3.0 * arm / speed, rel=1e-6)
    before = motion.t < motion.events[0].t
    assert np.abs(motion.q[before, :3]).max() < 1e-9
    assert np.abs(motion.q[-1, :3]).max() > 1e-3


@pytest.mark.slow
def test_a_swinging_ball_joint_comes_to_rest_with_energy_in_balance(
    hung: Callable[..., Mechanism],
) -> None:
    m, t = hung(0.0101), np.linspace(0.0, 10.0, 101)
    motion = let_go(m, [1.0, -0.7, 2.0], t)
    (event,) = motion.events
    assert (event.joint, event.what) == ("hip", "sticks")
    after = t > event.t
    assert np.abs(motion.q[after] - motion.q[-1]).max() < 1e-9
    assert np.abs(motion.dq[after]).max() == 0.0
    energy = mechanical_energy(m, motion.q, motion.dq)
    kinetic = energy[0] - mechanical_energy(m, motion.q[:1], np.zeros((1, 3)))[0]
    assert np.abs(energy - energy[0] + motion.rubbed).max() < 1e-8 * kinetic
