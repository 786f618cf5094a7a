"""From the knob of a simulated joint to the play in its calibration, with a
second encoder and without.
"""

from pathlib import Path
from types import SimpleNamespace

import pytest

import stribeck
from stribeck.experiments.cli.app import run
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.identification.find_backlash import NO_BACKLASH, find_backlash
from stribeck.ident.log.campaign_folder import find_runs
from stribeck.ident.log.run import load_run
from tests.experiments.cli.test_cli import change_column
from tests.geared_joint import geared_joint
from tests.short_runs import shortened

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


OPTIONS = {"law": "coulomb-viscous", "memory": "none"}


def round_trips(folder: Path) -> None:
    """Record small round trips of a joint with play and an encoder at its link."""
    knobs = JOINT | {"backlash": PLAY, "link_encoder_step": 1e-5}
    arm = geared_joint(folder, knobs, SIGNALS, rate=100.0, velocity=1.0)
    assert run(["run", str(arm), *TRIPS, "-o", str(folder / "trips")]) == 0


@pytest.fixture
def trips(recorded):
    return recorded.folder(round_trips) / "trips"


@pytest.fixture
def without_link(trips, tmp_path):
    """Less than half of the round trips, without the position of the link."""
    (path,) = find_runs(trips)
    copy = shortened(path, tmp_path / "without-link", 2900)
    change_column(copy, "q_link.turn", None)
    return load_run(copy)


def test_with_the_position_of_the_link(trips, cli, tmp_path):
    options = [word for key, value in OPTIONS.items() for word in (f"--{key}", value)]
    told = cli("fit", trips, "-o", tmp_path / "fitted", *options, "--backlash", "auto")
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


def test_from_the_torque_of_the_motor_alone(without_link):
    found = stribeck.fit(without_link, backlash="any", **OPTIONS).joints["turn"].backlash
    assert found.method == "torque"
    assert found.play.value == pytest.approx(PLAY, rel=0.1)


def test_it_is_sought_in_the_torque_only_if_asked(without_link):
    chosen = SimpleNamespace(runs=(without_link,), small=())
    reduced = SimpleNamespace(
        options=Options(backlash="auto"), mechanism=SimpleNamespace(chain=None)
    )
    assert find_backlash(chosen, reduced, {"turn": None}) == NO_BACKLASH
