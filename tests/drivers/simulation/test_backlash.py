"""Play of simulated joints: the gap holds nothing, the flanks carry the link, and
the second encoder sees it.
"""

import dataclasses

import numpy as np
import pytest

from stribeck.drivers.arm import Command
from stribeck.drivers.simulation.simulated_arm import SimulatedArm
from stribeck.ident.arm.arm_file import load_arm
from stribeck.ident.errors import InputError
from tests.geared_joint import geared_joint

KNOBS = {
    "stiffness": 2e4,
    "stiffness_damping": 20.0,
    "backlash": 3e-3,
    "link_friction": 1.0,
    "link_encoder_step": 0.0,
}
MODEL = """<mujoco><worldbody><body><joint name="turn" type="hinge" axis="0 0 1"/>
<geom type="box" size=".5 .05 .05" pos=".3 0 0" mass="4"/></body></worldbody></mujoco>"""


def made(folder, gravity: float = 0.0, **knobs) -> SimulatedArm:
    return SimulatedArm(
        load_arm(
            geared_joint(folder, {"coulomb": 3.0} | KNOBS | knobs, gravity=gravity, model=MODEL)
        )
    )


def turned(arm: SimulatedArm, cycles: int, speed: float) -> np.ndarray:
    """Motor, link and torque of a joint that turns, shape (cycles, 3)."""
    rows = []
    for _ in range(cycles):
        sample = arm.step(Command(np.array([speed])))
        rows.append((sample.q[0], sample.q_link[0], sample.tau[0]))
    return np.array(rows)


@pytest.mark.slow
def test_the_motor_crosses_the_gap_without_the_link(tmp_path):
    with made(tmp_path) as arm:
        arm.enable()
        forward, back = turned(arm, 250, 0.02), turned(arm, 250, -0.02)
    # pushed on one flank
    assert forward[-1, 0] - forward[-1, 1] == pytest.approx(1.5e-3 + 1.0 / 2e4, abs=5e-5)
    # and on the other
    assert back[-1, 0] - back[-1, 1] == pytest.approx(-1.5e-3 - 1.0 / 2e4, abs=5e-5)
    inside = np.abs(back[:, 0] - back[:, 1]) < 1.2e-3
    assert inside.sum() > 20
    # in the gap: friction of the motor alone,
    assert back[inside][5:-5, 2] == pytest.approx(-3.0, abs=0.2)
    # in contact: that of the link, too
    assert back[-1, 2] == pytest.approx(-4.0, abs=0.2)


def test_weight_rests_on_a_flank(tmp_path):
    with made(tmp_path, gravity=0.0) as arm:
        assert arm.links()[0] == pytest.approx(0.0)
    arm = load_arm(tmp_path / "turner.toml")
    heavy = SimulatedArm(dataclasses.replace(arm, gravity=(0.0, -9.81, 0.0)))
    torque = 4.0 * 9.81 * 0.3
    with heavy:
        assert heavy.links()[0][0] == pytest.approx(-1.5e-3 - torque / 2e4, rel=1e-3)


def test_without_a_second_encoder_no_link_is_recorded(tmp_path):
    with made(tmp_path, link_encoder_step=None) as arm:
        arm.enable()
        assert arm.step(Command(np.zeros(1))).q_link is None


@pytest.mark.parametrize("knob", ["backlash", "link_friction"])
def test_play_needs_flanks(tmp_path, knob):
    others = dict.fromkeys(("stiffness", "stiffness_damping", "backlash", "link_friction"))
    with pytest.raises(InputError, match=f"{knob}.*state stiffness too"):
        made(tmp_path, **{**others, knob: 1e-3})
