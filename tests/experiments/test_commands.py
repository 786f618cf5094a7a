"""The commands as functions: same results as the command line; what is unknown or
moves hardware is refused.
"""

import json
import shutil
from dataclasses import replace

import pytest

import stribeck
from benchmarks.servo_truth import ServoPendulum
from stribeck.drivers.connect import DRIVERS
from stribeck.drivers.errors import ArmStopped
from stribeck.drivers.simulation.simulated_arm import SimulatedArm
from stribeck.ident.errors import InputError
from tests.places import DATA

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_figures")]

GOLDEN = DATA / "golden"


def test_fit_is_the_command(cli, tmp_path):
    calibration = stribeck.fit(GOLDEN, tmp_path / "one", law="stribeck")
    assert cli("fit", GOLDEN, "--law", "stribeck", "-o", tmp_path / "other").code == 0
    other = stribeck.Calibration.load(tmp_path / "other")
    assert calibration.joints["hinge"].parameters == other.joints["hinge"].parameters
    assert {path.name for path in (tmp_path / "one").iterdir()} == {
        path.name for path in (tmp_path / "other").iterdir()
    }


def test_without_a_folder_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = stribeck.load_run(GOLDEN / "runs" / "constant-speed")
    assert stribeck.fit(run).joints["hinge"].verdict() == "identified"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("small_plans")
def test_calibrate_is_the_command(cli, make_arm, tmp_path):
    arm = make_arm(
        {
            "driver": {"rate": 50.0},
            "joints": {"turn": {"gear_ratio": 400.0, "rotor_inertia": 2.5e-6}},
        }
    )
    calibration = stribeck.calibrate(arm.path, tmp_path / "one", joints=("turn",), seed=3)
    assert (
        cli("calibrate", arm.path, "--joints", "turn", "--seed", "3", "-o", tmp_path / "other").code
        == 0
    )
    assert (
        calibration.joints["turn"].parameters
        == stribeck.Calibration.load(tmp_path / "other").joints["turn"].parameters
    )


def test_hardware_moves_only_with_yes(make_arm, monkeypatch, tmp_path):
    monkeypatch.setitem(DRIVERS, "bench", lambda arm, seed=0: SimulatedArm(arm, seed=seed))
    arm = make_arm({"driver": {"kind": "bench"}})
    with pytest.raises(ArmStopped, match="real hardware and moves only with yes=True"):
        stribeck.calibrate(arm.path, tmp_path / "out", joints=("turn",))


@pytest.mark.parametrize(
    "call",
    [lambda: stribeck.fit(GOLDEN, lod="torque"), lambda: stribeck.calibrate("lab6", "out", sed=1)],
)
def test_an_unknown_option_is_named(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"unknown option '(lod|sed)'.*did you mean '(load|seed)'"):
        call()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_in_use_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("precious", encoding="utf-8")
    with pytest.raises(InputError, match="is not empty"):
        stribeck.fit(GOLDEN, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_validate_compare_and_export_take_files_or_objects(tmp_path):
    calibration = stribeck.Calibration.load(GOLDEN)
    assert not stribeck.compare(GOLDEN, calibration).changed
    run = replace(
        stribeck.load_run(GOLDEN / "runs" / "constant-speed"), sha256="as of another recording"
    )
    assert (
        stribeck.validate(run, GOLDEN)
        .to_dataframe()
        .equals(stribeck.validate(run, calibration).to_dataframe())
    )
    shutil.copytree(GOLDEN, tmp_path / "golden")
    written = stribeck.export(tmp_path / "golden", "json")
    assert (
        json.loads(written.path.read_text(encoding="utf-8"))["joints"]["hinge"]["law"] == "stribeck"
    )
    with pytest.raises(InputError, match="exists"):
        stribeck.export(tmp_path / "golden", "json")


def test_servos_without_torque_are_fitted_by_their_commands(tmp_path):
    """With the files of the command."""
    (tmp_path / "model").mkdir()
    run = ServoPendulum().run(tmp_path / "model", 100.0, False)
    written = stribeck.fit(
        [run], tmp_path / "made", signal="commands", law="coulomb-viscous", load="none"
    )
    assert written.joints["hinge"].servo is not None
    assert {path.name for path in (tmp_path / "made").iterdir()} == {
        "calibration.toml",
        "motion.png",
        "pendulum.urdf",
        "pendulum.calibrated.urdf",
    }
    with pytest.raises(InputError, match="--memory any"):
        stribeck.fit(run, signal="commands", memory="any")
    with pytest.raises(InputError, match="unknown signal"):
        stribeck.fit(run, signal="command")
