"""Calibration of an MJCF with loops, as written for simulation and control."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

from stribeck import Calibration, joint_loads, load_mechanism
from stribeck.experiments.arm_files.assumed_arm import assumed_arm
from stribeck.experiments.methods.whole_arm import WHOLE_ARM
from stribeck.experiments.motions.simulated_friction import moving
from stribeck.experiments.plans.speeds_and_postures import Design
from stribeck.ident.arm.arm_file import load_arm
from stribeck.ident.arm.arm_tables import JointTable
from stribeck.ident.model.driven.driven_joints import driven_joints
from tests.looped_urdf import LOOPS, machine
from tests.model_texts import written
from tests.places import TEST_ARMS
from tests.recorded import Few, Recorded
from tests.true_friction import friction_errors

# the law of the truth; a small campaign does not choose it safely
LAW = "--law", "stribeck", "--load", "torque"
DRIVES, PASSIVE = ("left", "right"), ("left elbow", "right elbow")


@pytest.fixture(scope="module")
def five_bar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The arm file and its model in a new folder."""
    folder = tmp_path_factory.mktemp("five-bar")
    shutil.copy(TEST_ARMS / "five-bar.xml", folder)
    text = (TEST_ARMS / "five-bar.toml").read_text(encoding="utf-8")
    path = folder / "five-bar.toml"
    path.write_text(text.replace("rate = 250.0", "rate = 80.0"), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def calibrated(five_bar: Path, recorded: Recorded) -> Path:
    return recorded.command("calibrate", five_bar, "--seed", "0", *LAW, few=Few(2, 4)).folder


def test_torque_follows_from_the_geometry() -> None:
    """Judged by MuJoCo's gravity energy of the unchanged file: virtual work
    with numerical derivatives.
    """
    model = mujoco.MjModel.from_xml_path(str(TEST_ARMS / "five-bar.xml"))
    data, names = (
        mujoco.MjData(model),
        [mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, j) for j in range(4)],
    )
    driven = load_mechanism(load_arm(TEST_ARMS / "five-bar.toml"))
    q, step = np.array([0.15, -0.25]), 1e-5

    def energy(drives: np.ndarray) -> float:
        whole = driven.chain.whole
        posture = dict(zip(whole.names, driven.chain.posture(driven, drives[None])[0], strict=True))
        data.qpos[:] = [posture[name] for name in names]
        mujoco.mj_fwdPosition(model, data)
        assert np.abs(data.efc_pos[: data.ne]).max() < 1e-9  # MuJoCo's loop is closed
        mujoco.mj_energyPos(model, data)
        return float(data.energy[0])

    wanted = [(energy(q + step * e) - energy(q - step * e)) / (2.0 * step) for e in np.eye(2)]
    np.testing.assert_allclose(joint_loads(driven, q[None]).tau[0], wanted, rtol=0, atol=1e-7)


@pytest.mark.slow
def test_friction_within_three_percent(five_bar: Path, calibrated: Path) -> None:
    errors = friction_errors(load_arm(five_bar), calibrated)
    assert set(errors) == set(DRIVES)
    assert max(errors.values()) < 0.03, errors


@pytest.mark.slow
def test_the_calibration_has_the_drives_and_the_export_has_the_loops(
    calibrated: Path, cli: Callable[..., Any]
) -> None:
    calibration = Calibration.load(calibrated)
    assert calibration.model.drives == calibration.names == DRIVES
    assert cli("fit", calibrated, *LAW, "--out", "again").code == 0
    assert (
        Calibration.load(Path("again")).joints["left"].values == calibration.joints["left"].values
    )
    exported, stated = (
        load_mechanism(path)
        for path in (calibrated / "five-bar.calibrated.xml", TEST_ARMS / "five-bar.xml")
    )
    assert exported.passive == stated.passive
    text = (calibrated / "five-bar.calibrated.xml").read_text(encoding="utf-8")
    assert text.count("frictionloss") == 3  # the default and two drives
    outcome = cli("export", calibrated / "calibration.toml", "--to", "mjcf", "--out", "machine.xml")
    assert (
        "keep the MJCF's own friction: left elbow (damping 0.01), right elbow (damping 0.01)"
        in outcome.out
    )


@pytest.mark.slow
def test_what_pins_rub_is_simulated_once(calibrated: Path) -> None:
    """By the MJCF, or with a calibration of the drives, which feel the pins, in theirs; rotors
    are the arm file's there.
    """
    model = TEST_ARMS / "five-bar.xml"
    of_model = moving(load_mechanism(model))
    assert of_model.source == dict.fromkeys((*DRIVES, *PASSIVE), "model")
    assert of_model.friction["left elbow"].parameters == {"coulomb": 0.0, "viscous": 0.01}
    for mechanism in (load_mechanism(model), load_mechanism(model.with_suffix(".toml"))):
        found = moving(mechanism, Calibration.load(calibrated))
        assert found.source == dict.fromkeys(DRIVES, "calibration")
        assert set(found.friction) == set(DRIVES)


@pytest.mark.slow
def test_commands_without_motion(five_bar: Path, cli: Callable[..., Any]) -> None:
    outcome = cli("check", five_bar)
    assert outcome.code == 0
    assert "2 joints" in outcome.out
    outcome = cli("loads", five_bar.with_suffix(".xml"), "--q", "0.1,0.2")
    assert outcome.code == 0
    assert all(name in outcome.out for name in (*DRIVES, *PASSIVE, "tip hinge", "loops closed"))
    outcome = cli("loads", five_bar, "--q", "2.0,-2.0")
    assert outcome.code == 2
    assert "is not reached" in outcome.err


def test_init_leaves_passive_joints_out(
    five_bar: Path, tmp_path: Path, cli: Callable[..., Any]
) -> None:
    model = Path(shutil.copy(five_bar.with_suffix(".xml"), tmp_path / "mine.xml"))
    outcome = cli("init", model)
    assert outcome.code == 0
    assert "2 joints, left, right" in outcome.out
    assert "passive   left elbow, right elbow: loops move them" in outcome.out
    assert set(load_arm(model.with_suffix(".toml")).joints) == set(DRIVES)
    assert "tool" not in model.with_suffix(".toml").read_text(encoding="utf-8")


@pytest.mark.slow
def test_init_takes_the_drives_by_option_without_actuators(
    five_bar: Path, tmp_path: Path, cli: Callable[..., Any]
) -> None:
    text = five_bar.with_suffix(".xml").read_text(encoding="utf-8")
    model = tmp_path / "mine.xml"
    model.write_text(
        text[: text.index("<actuator>")] + text[text.index("</actuator>") + 11 :], encoding="utf-8"
    )
    outcome = cli("init", model)
    assert outcome.code == 2
    assert "stribeck init --joints NAME,NAME writes these tables" in outcome.err
    assert cli("init", model, "--joints", "left,right elbow").code == 0
    assert load_mechanism(model.with_suffix(".toml")).names == ("left", "right elbow")
    model = Path(shutil.copy(five_bar.with_suffix(".xml"), tmp_path / "other.xml"))
    # regardless of actuators
    assert cli("init", model, "--joints", "left,right elbow").code == 0
    assert load_mechanism(model.with_suffix(".toml")).names == ("left", "right elbow")


@pytest.mark.slow
def test_calibration_and_export_contain_the_loops_of_a_urdf(
    tmp_path: Path, cli: Callable[..., Any]
) -> None:
    arm, w = machine(tmp_path, LOOPS["pin"]), np.geomspace(0.01, 1.0, 12)
    rows = [f"{v},{0.3 * np.sign(v) + 0.4 * v + 1e-3 * (-1) ** k}" for k, v in enumerate((*w, *-w))]
    table = written(tmp_path, "\n".join(["speed,torque", *rows]), "table.csv")
    columns = ("--column", "torque.drive=torque[N·m]", "--column", "speed=speed[rad/s]")
    assert (
        cli("fit", "--table", table, "--arm", arm, *columns, "--out", "fitted", "--json").code == 0
    )
    calibration = Calibration.load("fitted")
    assert (calibration.names, calibration.model.drives) == (("drive",), ("drive",))
    assert calibration.model.loops == load_arm(arm).loops
    assert (
        cli("export", "fitted/calibration.toml", "--to", "mjcf", "--out", "machine.xml").code == 0
    )
    read, q = driven_joints(load_mechanism("machine.xml")), np.array([[0.2]])
    assert read.names == ("drive",)
    # rounded
    np.testing.assert_allclose(
        joint_loads(read, q).tau, joint_loads(calibration.mechanism, q).tau, rtol=1e-4
    )
    assert cli("export", "fitted/calibration.toml", "--to", "sdf").code == 2


@pytest.mark.slow
def test_a_model_without_limits_gets_limits_within_reach(five_bar: Path, tmp_path: Path) -> None:
    text = five_bar.with_suffix(".xml").read_text(encoding="utf-8")
    model = tmp_path / "mine.xml"
    model.write_text(
        text.replace('range="-70 70" ', "").replace(' range="-150 150"', ""), encoding="utf-8"
    )
    arm = assumed_arm(model, tmp_path / "out")
    assumed = load_mechanism(arm)
    for (low, high), (begin, end) in zip(
        arm.limits(assumed).position, assumed.chain.reach(assumed), strict=True
    ):
        assert begin < low < -0.3
        assert 0.3 < high < end


@pytest.mark.slow
def test_limits_beyond_reach_do_not_raise_the_lowest_speed() -> None:
    """Ripple of unknown period is averaged over a part of the travel, which ends at
    the reach of the machine.
    """
    arm = load_arm("three-loop-chain")
    sensible = Design.of(arm, None, WHOLE_ARM)
    joint, (name,) = arm.joint("1''"), sensible.mechanism.names
    wide = {name: JointTable(**{**vars(joint), "position": (-12.0, 12.0)})}
    sloppy = Design.of(replace(arm, joints=wide), None, WHOLE_ARM)
    assert sloppy.travel == pytest.approx(sensible.travel, rel=0.05)
    assert sloppy.ends[0][0] == pytest.approx(sensible.ends[0][0], rel=0.2)
    assert sensible.travel[0] == pytest.approx(np.ptp(sensible.limits.position[0]))
