"""Play from arrays, on logs of the simulated arm, whose physics are MuJoCo's; and refusals."""

import numpy as np
import pytest

from stribeck import fit_backlash
from stribeck.drivers.arm import Command
from stribeck.drivers.simulation.simulated_arm import SimulatedArm
from stribeck.ident.arm.arm_file import load_arm
from stribeck.ident.errors import InputError
from tests.geared_joint import geared_joint

JOINT = {
    "coulomb": 2.0,
    "stiffness": 2000.0,
    "stiffness_damping": 10.0,
    "link_friction": 1.0,
    "link_encoder_step": 2e-5,
}
SIGNALS = {"torque_noise": 0.05, "encoder_step": 2e-5}
PLAY, STIFFNESS, INERTIA = 4e-3, 2000.0, 0.5


def logged(folder, play: float) -> tuple[np.ndarray, ...]:
    """Time, motor, torque and link of round trips of different sizes and speeds."""
    rows = []
    with SimulatedArm(
        load_arm(geared_joint(folder, JOINT | {"backlash": play}, SIGNALS, rate=100.0))
    ) as arm:
        arm.enable()
        for k in range(16):
            for _ in range((160, 80, 60)[k // 2 % 3]):
                sample = arm.step(Command(np.array([(0.03, 0.06, 0.04)[k // 2 % 3] * (-1.0) ** k])))
                rows.append((sample.t, sample.q[0], sample.tau[0], sample.q_link[0]))
    return tuple(np.array(rows).T)


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    return logged(tmp_path_factory.mktemp("loose"), PLAY)


@pytest.fixture(scope="module")
def found(log):
    t, q, tau, link = log
    return fit_backlash(t, q, tau, np.zeros(len(t)), INERTIA, link, stiffness=STIFFNESS)


class TestLinkPosition:
    @pytest.mark.slow
    def test_play_is_the_truth_of_the_arm(self, found):
        assert found.play == pytest.approx(PLAY, rel=0.1)
        assert found.joint.method == "link position"

    def test_the_lag_changes_sides_with_the_torque(self, found):
        assert found.joint.lag([-1e-9, 1e-9]) == pytest.approx([-PLAY / 2.0, PLAY / 2.0], rel=0.1)

    def test_the_picture_has_the_play(self, found):
        assert found.plot().get_ylabel().startswith("motor minus link")

    @pytest.mark.slow
    def test_an_elastic_joint_has_no_play(self, tmp_path):
        t, q, tau, link = logged(tmp_path, 0.0)
        told = fit_backlash(t, q, tau, np.zeros(len(t)), INERTIA, link, stiffness=STIFFNESS)
        assert told.joint is None
        assert told.reason

    def test_a_loaded_flank_is_named(self, log):
        t, q, tau, link = log
        told = fit_backlash(t, q, tau + 50.0, np.full(len(t), 50.0), INERTIA, link)
        assert "gravity keeps one flank in contact" in told.reason


class TestBadInput:
    def test_lengths(self, log):
        t, q, tau, link = log
        with pytest.raises(InputError, match="link_position"):
            fit_backlash(t, q, tau, np.zeros(len(t)), INERTIA, link[:-1])

    def test_inertia(self, log):
        t, q, tau, _ = log
        with pytest.raises(InputError, match="must be positive"):
            fit_backlash(t, q, tau, np.zeros(len(t)), 0.0)

    def test_stiffness(self, log):
        t, q, tau, _ = log
        with pytest.raises(InputError, match="must be positive"):
            fit_backlash(t, q, tau, np.zeros(len(t)), INERTIA, stiffness=-1.0)
