"""Friction of a closed chain's joints without a drive in exports, as MuJoCo finds it."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import mujoco
import pandas as pd
import pytest

from stribeck import Calibration
from stribeck.ident.arm.arm_tables import Tool
from stribeck.ident.arm.built_in import data_dir
from stribeck.ident.calibration.calibration_content import Model
from stribeck.ident.fit.inertia.passive_friction import PassiveFriction, RubbingJoints
from stribeck.ident.whole_files import file_sha256
from tests.ident.export.conftest import known, made_joint, plainly
from tests.places import TEST_ARMS

PRR = data_dir() / "arms" / "planar-3-prr" / "planar-3-prr.mechanism.toml"
SLIDERS, PINS = ("slider1", "slider2", "slider3"), ("link1", "link2", "link3")
MACHINES = {
    "mechanism file": (PRR, SLIDERS, PINS),
    "MJCF": (TEST_ARMS / "five-bar.xml", ("left", "right"), ("left elbow", "right elbow")),
}


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., Calibration]:
    """Makes a calibration of a machine whose pins rub as they are told."""

    def make(machine: str, **friction: float) -> Calibration:
        source, drives, pins = MACHINES[machine]
        shutil.copy(source, tmp_path)
        found = {name: known(value) for name, value in friction.items() if name == "coulomb"}
        stated = {name: value for name, value in friction.items() if name != "coulomb"}
        model = Model(
            source.name,
            file_sha256(source),
            (0.0, -9.81, 0.0),
            Tool(),
            drives=drives * (source.suffix == ".xml"),
            passive=PassiveFriction({"pins": RubbingJoints(pins, "radial", found, stated)}),
        )
        joints = {name: made_joint("coulomb-viscous", "none", k) for k, name in enumerate(drives)}
        return Calibration(
            source.stem,
            datetime(2026, 11, 21, tzinfo=UTC),
            "made up",
            "drive",
            (),
            model,
            {},
            joints,
            tmp_path,
        )

    return make


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("coefficient", [0.0, 0.003])
def test_an_mjcf_has_what_is_constant_and_viscous_in_pins(
    machine: str, coefficient: float, made: Callable[..., Calibration], tmp_path: Path
) -> None:
    calibration = made(machine, coulomb=0.02, viscous=0.3, coulomb_coefficient=coefficient)
    found = plainly(calibration, "mjcf")
    model = mujoco.MjModel.from_xml_string(found.text)
    for name in MACHINES[machine][2]:
        dof = model.joint(name).dofadr[0]
        assert (model.dof_frictionloss[dof], model.dof_damping[dof]) == (
            pytest.approx(0.02),
            pytest.approx(0.3),
        )
        assert model.dof_solimp[dof, 0] == pytest.approx(0.9999)
    said = " ".join(found.losses)
    assert (
        "MJCF keeps constant and viscous friction of joints without a drive; lost: growth with "
        "load (pins)" in said
    ) == (coefficient > 0.0)
    assert "is not in MJCF" not in said
    assert "keep the MJCF's own friction" not in said


def test_a_file_without_these_joints_says_that_they_are_lost(
    made: Callable[..., Calibration], tmp_path: Path
) -> None:
    calibration = made("MJCF", coulomb=0.02)
    text = (
        (TEST_ARMS / "five-bar.xml")
        .read_text(encoding="utf-8")
        .replace('<joint name="left elbow"/>', "<joint/>")
    )
    (tmp_path / "other.xml").write_text(text, encoding="utf-8")
    found = plainly(calibration, "mjcf", tmp_path / "other.xml")
    assert (
        "friction of joints without a drive, pins (model.passive), is not in MJCF" in found.losses
    )
    assert mujoco.MjModel.from_xml_string(found.text).joint("right elbow").frictionloss[
        0
    ] == pytest.approx(0.02)


def test_balls_are_lost_and_numbers_have_all(
    made: Callable[..., Calibration], tmp_path: Path
) -> None:
    calibration = made("MJCF", coulomb=0.02, viscous=0.3, coulomb_coefficient=0.004)
    rows = pd.read_csv(StringIO(plainly(calibration, "csv").text))
    pins = rows[rows.joint == "passive pins"].set_index("parameter")
    assert pins["value"].to_dict() == {
        "viscous": 0.3,
        "coulomb_coefficient": 0.004,
        "coulomb": 0.02,
    }
    assert pins["verdict"].to_dict() == {
        "viscous": "stated",
        "coulomb_coefficient": "stated",
        "coulomb": "identified",
    }
    ros = plainly(calibration, "ros2")
    assert 'passive: ["left elbow", "right elbow"]' in ros.text
    assert not any("without a drive" in loss for loss in ros.losses)
    balls = PassiveFriction(
        {"balls": RubbingJoints(("ball",), "radial", {}, {"friction_arm": 0.005})}
    )
    calibration = replace(calibration, model=replace(calibration.model, passive=balls))
    assert (
        "friction of joints without a drive, balls (model.passive), is not in MJCF"
        in plainly(calibration, "mjcf").losses
    )
    assert "friction_arm: 0.005" in plainly(calibration, "ros2").text
