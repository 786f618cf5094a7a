"""From the knob of a simulated joint to the play in its calibration, with a
second encoder and without.
"""

import pytest

import stribeck
from tests.geared_joint import geared_joint

pytestmark = pytest.mark.slow

JOINT = {
    "coulomb": 3.0,
    "viscous": 2.0,
    "stiffness": 8000.0,
    "stiffness_damping": 10.0,
    "link_friction": 1.0,
}
SIGNALS = {"torque_noise": 0.05, "encoder_step": 1e-5}
PLAY = 2e-3
TRIPS = ("--experiment", "presliding", "--amplitudes", "0.005,0.01,0.02,0.04", "--places", "1")


@pytest.fixture
def recorded(cli, tmp_path):
    """Return a function that records small round trips of a joint with these
    knobs, and returns the folder.
    """

    def record(**knobs):
        cli(
            "run",
            geared_joint(tmp_path, JOINT | knobs, SIGNALS, rate=125.0, velocity=1.0),
            *TRIPS,
            "-o",
            tmp_path / "trips",
        )
        return tmp_path / "trips"

    return record


def test_with_the_position_of_the_link(recorded, cli, tmp_path):
    trips = recorded(backlash=PLAY, link_encoder_step=1e-5)
    options = ("--law", "coulomb-viscous", "--memory", "none", "--backlash", "auto")
    told = cli("fit", trips, "-o", tmp_path / "fitted", *options)
    found = (
        stribeck.Calibration.load(tmp_path / "fitted" / "calibration.toml").joints["turn"].backlash
    )
    assert found.method == "link position"
    assert found.play.value == pytest.approx(PLAY, rel=0.05)
    assert found.play.low < PLAY < found.play.high
    assert found.play.verdict == "identified"
    assert found.stiffness.value == pytest.approx(8000.0, rel=0.1)
    assert "turn: play" in told.out + told.err
    assert "play is the width at zero torque" in (tmp_path / "fitted" / "report.html").read_text(
        encoding="utf-8"
    )


def test_from_the_torque_of_the_motor_alone(recorded):
    trips = recorded(backlash=PLAY)
    options = {"law": "coulomb-viscous", "memory": "none"}
    # not sought unless asked
    assert stribeck.fit(trips, **options).joints["turn"].backlash is None
    found = stribeck.fit(trips, backlash="any", **options).joints["turn"].backlash
    assert found.method == "torque"
    assert found.play.value == pytest.approx(PLAY, rel=0.1)
