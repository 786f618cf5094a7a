"""Made-up calibrations of lab6 and of two public arms."""

import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import mujoco
import numpy as np
import pytest

from stribeck import Calibration, load_mechanism
from stribeck.ident.arm.arm_tables import Tool
from stribeck.ident.arm.built_in import data_dir
from stribeck.ident.calibration.calibration_content import Model
from stribeck.ident.calibration.joint_calibration import JointCalibration
from stribeck.ident.export.formats import export
from stribeck.ident.export.result import Export
from stribeck.ident.laws.law_table import LAWS, unit
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.model.joint_parts import Bearing
from stribeck.ident.model.loads import LOADS
from stribeck.ident.whole_files import file_sha256

PUBLIC = {"ur5": "ur_description/urdf/ur5_robot.urdf", "panda": "panda_description/urdf/panda.urdf"}
ARMS = ("lab6", *PUBLIC)
# seeds of `make_calibration` by which the joints of the three arms have all laws and all loads
EVERY_LAW = {"lab6": 7, "ur5": 11, "panda": 3}
_SCALE = {
    "stribeck_velocity": 0.05,
    "tanh_velocity": 0.002,
    "coulomb_coefficient": 0.1,
    "static_coefficient": 0.1,
}


def plainly(calibration: Calibration, target: str, into: Path | None = None) -> Export:
    """Export; an MJCF gets constant and viscous friction only (its other
    form has tests of its own).
    """
    return export(calibration, target, into, plain=target == "mjcf")


def without_comment(text: str) -> str:
    """The text of an export without its comment about the calibration."""
    return re.sub(r"<!-- Joint friction of .*? -->\r?\n", "", text, count=1)


def model_of(arm: str) -> Path:
    """The URDF of lab6 or of a public arm."""
    if arm not in PUBLIC:
        return data_dir() / "arms" / arm / f"{arm}.urdf"
    try:
        found = distribution("example-robot-data").locate_file(
            "cmeel.prefix/share/example-robot-data/robots"
        )
    except PackageNotFoundError:
        pytest.skip("the package example-robot-data has the URDFs")
    return Path(str(found)) / PUBLIC[arm]


def known(value: float, unit: str = "N·m", error: float = 0.01) -> Parameter:
    return Parameter(value, error, value - 2.0 * error, value + 2.0 * error, unit, "identified")


def made_joint(law: str, load: str, seed: int, **given: float) -> JointCalibration:
    """Made-up friction; static friction exceeds Coulomb friction."""
    rng = np.random.default_rng(seed)
    values = {
        name: float(rng.uniform(0.5, 2.0)) * _SCALE.get(name, 1.0)
        for name in LAWS[law].parameters(load != "none")
    }
    if "static" in values:
        values["static"] += values["coulomb"]
    parameters = {
        name: known(value, unit(name), 0.01 * value) for name, value in (values | given).items()
    }
    return JointCalibration(
        law,
        load,
        parameters,
        {},
        Bearing(*rng.uniform(0.02, 0.2, 3)),
        0.05,
        (0.01, 1.5),
        None if load == "none" else (2.0, 20.0),
        None,
        None,
        tuple(parameters),
        np.eye(len(parameters)),
        2.0,
    )


def resistance(model: mujoco.MjModel, name: str, w: float) -> float:
    """Torque beyond gravity and Coriolis that MuJoCo needs to keep a joint at a constant
    speed, the others at rest.
    """
    data = mujoco.MjData(model)
    dof = model.joint(name).dofadr[0]
    data.qpos[:] = np.clip(0.1, *model.jnt_range.T) * (model.jnt_limited > 0) * 0.5
    data.qvel[dof] = w
    mujoco.mj_forward(model, data)
    data.qacc[:] = 0.0
    mujoco.mj_inverse(model, data)
    return float(data.qfrc_inverse[dof] - data.qfrc_bias[dof])


@pytest.fixture
def make_calibration(tmp_path: Path) -> Callable[..., Calibration]:
    """Makes a calibration of an arm beside a copy of its model: every law and load in turn, or
    the joints that are given.
    """

    def make(
        arm: str = "lab6",
        joints: Mapping[str, JointCalibration] | None = None,
        seed: int = 0,
        tool: Tool | None = None,
    ) -> Calibration:
        source, folder = model_of(arm), tmp_path / f"calibration-{arm}-{seed}"
        folder.mkdir(exist_ok=True)
        shutil.copy(source, folder)
        if joints is None:
            kinds = [(law, load) for load in (*LOADS, "none") for law in LAWS]
            order = np.random.default_rng(seed).permutation(len(kinds))
            names = load_mechanism(source).names
            joints = {
                name: made_joint(*kinds[order[k % len(kinds)]], seed=100 * seed + k)
                for k, name in enumerate(names)
            }
        model = Model(source.name, file_sha256(source), (0.0, 0.0, -9.81), tool or Tool())
        return Calibration(
            arm,
            datetime(2026, 11, 21, 10, 0, tzinfo=UTC),
            "made up",
            "drive",
            (),
            model,
            {},
            joints,
            folder,
        )

    return make


@pytest.fixture(params=ARMS)
def calibration(
    request: pytest.FixtureRequest, make_calibration: Callable[..., Calibration]
) -> Calibration:
    """Of lab6 and of two public arms."""
    made = make_calibration(request.param)
    # one joint was not calibrated
    return replace(made, joints=dict(list(made.joints.items())[:-1]))
