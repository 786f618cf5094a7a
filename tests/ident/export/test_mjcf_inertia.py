"""Inertia that was identified, in an exported MJCF: MuJoCo moves the links of the
calibration, and its rotors.
"""

import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import mujoco
import numpy as np
import pytest

from stribeck import Calibration
from stribeck.ident.arm.arm_tables import Tool
from stribeck.ident.calibration.calibration_content import Model
from stribeck.ident.export.descriptions.robot_descriptions import to_mjcf
from stribeck.ident.export.descriptions.sdf import to_sdf
from stribeck.ident.export.result import Export
from stribeck.ident.fit.inertia.identified_inertia import LinkBody
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.log.free_motion import FreeMotion
from stribeck.ident.model.dynamics import inverse_dynamics
from stribeck.ident.model.regressor import inertial_parameters
from stribeck.ident.whole_files import file_sha256
from tests.ident.export.conftest import known, made_joint
from tests.ident.export.test_urdf_inertia import bodies
from tests.places import TEST_ARMS

ARM = """<mujoco><compiler angle="radian" inertiafromgeom="{kind}"/><worldbody>
  <geom type="plane" size="1 1 1"/>
  <body pos="0 0 0.3" euler="0.2 0.1 0.4"><joint name="turn" axis="0 0 1" pos="0.01 0.02 0"/>
    <joint name="tilt" axis="0 1 0" pos="0.05 0 0" armature="0.7"/>
    <geom type="capsule" size="0.04" fromto="0 0 0 0.3 0 0"/>
    <body name="bolted" pos="0.1 0 0" euler="0.5 0 0"><geom type="sphere" size="0.05"/></body>
    <frame pos="0.3 0 0" euler="0 0.3 0"><body name="ram"><joint name="ram" type="slide" axis="1 0 0"/>
      <inertial pos="0.05 0 0" mass="0.8" diaginertia="0.003 0.002 0.002"/><geom type="box" size="0.1 0.02 0.02"/></body></frame>
  </body></worldbody></mujoco>"""


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., Calibration]:
    """Makes a calibration of an MJCF whose links were identified."""

    def make(source: Path, names: tuple[str, ...], **of_chain: tuple[str, ...]) -> Calibration:
        joints = {name: made_joint("coulomb-viscous", "none", k) for k, name in enumerate(names)}
        model = Model(source.name, file_sha256(source), (0.0, 0.0, -9.81), Tool(), **of_chain)
        before = Calibration(
            "arm",
            datetime(2026, 11, 27, tzinfo=UTC),
            "made up",
            "drive",
            (),
            model,
            {},
            joints,
            source.parent,
        )
        tree, found = before.stated_mechanism.link_tree, bodies(before.stated_mechanism.link_tree)
        # between two joints of a body
        links = {
            name: one if mass else LinkBody(0.0, (0.0,) * 3, (0.0,) * 6)
            for (name, one), mass in zip(found.links.items(), tree.mass, strict=True)
        }
        return replace(before, model=replace(model, inertia=replace(found, links=links)))

    return make


def serial(made: Callable[..., Calibration], folder: Path, kind: str = "auto") -> Calibration:
    (folder / "arm.xml").write_text(ARM.format(kind=kind), encoding="utf-8")
    return made(folder / "arm.xml", ("turn", "tilt", "ram"))


@pytest.mark.parametrize("kind", ["auto", "true"])
def test_mujoco_moves_the_identified_links(
    kind: str, made: Callable[..., Calibration], tmp_path: Path
) -> None:
    """Bodies without a name, with geoms, with bodies fixed to them,
    within frames, with two joints.
    """
    calibration = serial(made, tmp_path, kind)
    export = to_mjcf(calibration)
    model = mujoco.MjModel.from_xml_string(export.text)
    data, states = mujoco.MjData(model), np.random.default_rng(0).uniform(-1.0, 1.0, (3, 10, 3))
    expected = inverse_dynamics(calibration.mechanism, *states)
    for q, dq, ddq, torque in zip(*states, expected, strict=True):
        data.qpos[:], data.qvel[:] = q, dq
        mujoco.mj_forward(model, data)
        mass = np.zeros((3, 3))
        mujoco.mj_fullM(model, *((data, mass) if mujoco.__version__ >= "4" else (mass, data.qM)))
        np.testing.assert_allclose(
            (mass - np.diag(model.dof_armature)) @ ddq + data.qfrc_bias,
            torque,
            rtol=1e-6,
            atol=1e-6,
        )
    assert not [loss for loss in export.losses if "masses" in loss]


def test_a_closed_chain_has_the_identified_links(
    made: Callable[..., Calibration], tmp_path: Path
) -> None:
    shutil.copy(TEST_ARMS / "five-bar.xml", tmp_path)
    calibration = made(tmp_path / "five-bar.xml", ("left", "right"), drives=("left", "right"))
    export = to_mjcf(calibration)
    (tmp_path / "five-bar.xml").write_text(export.text, encoding="utf-8")
    again = replace(calibration.model, inertia=None, sha256=file_sha256(tmp_path / "five-bar.xml"))
    found = replace(calibration, model=again).mechanism
    np.testing.assert_allclose(
        inertial_parameters(found), inertial_parameters(calibration.mechanism), atol=1e-8
    )
    assert not [loss for loss in export.losses if "masses" in loss]


def test_bodies_in_another_file_keep_their_masses_and_a_loss_says_so(
    made: Callable[..., Calibration], tmp_path: Path
) -> None:
    whole = ARM.format(kind="auto")
    begin, end = whole.index('    <frame pos="0.3'), whole.index("  </body></worldbody>")
    (tmp_path / "ram.xml").write_text(
        f"<mujocoinclude>{whole[begin:end]}</mujocoinclude>", encoding="utf-8"
    )
    (tmp_path / "arm.xml").write_text(
        whole[:begin] + '<include file="ram.xml"/>' + whole[end:], encoding="utf-8"
    )
    calibration = made(tmp_path / "arm.xml", ("turn", "tilt"))
    said = [loss for loss in to_mjcf(calibration).losses if "the MJCF keeps its own masses" in loss]
    assert len(said) == 1
    assert "URDF" not in said[0]
    assert f"<mass>{calibration.mechanism.mass[2]:.10g}</mass>" in to_sdf(calibration).text


def with_rotors(calibration: Calibration) -> Calibration:
    """The arm file states a rotor of 0.2 kg·m² for j1; the fit found 0.1 for j1 and j2,
    and nothing certain for j3.
    """
    unknown = Parameter(0.1, 1.0, -2.0, 2.0, "kg·m²", "unidentifiable")
    joints = dict(calibration.joints)
    for k, (name, one) in enumerate((("turn", known(0.1)), ("tilt", known(0.1)), ("ram", unknown))):
        free = FreeMotion(0.01, 0.1, 0.1, (0.2, 0.0, 0.0), np.zeros((1, 2))) if k == 0 else None
        joints[name] = replace(joints[name], gravity={"inertia": one}, free_motion=free)
    return replace(calibration, joints=joints, fit={"motion": "model"})


def rotors(export: Export) -> list[float]:
    return mujoco.MjModel.from_xml_string(export.text).dof_armature.round(9).tolist()


def test_rotors_become_armatures(made: Callable[..., Calibration], tmp_path: Path) -> None:
    """A file of the user's keeps the armatures that it states; a loss names
    joints whose rotor is unknown.
    """
    calibration = with_rotors(serial(made, tmp_path))
    export = to_mjcf(calibration)
    assert rotors(export) == [0.3, 0.1, 0.0]
    assert [loss.split(" is ")[0] for loss in export.losses if "armature" in loss] == [
        "armature of ram"
    ]
    shutil.copy(tmp_path / "arm.xml", tmp_path / "mine.xml")
    assert rotors(to_mjcf(calibration, tmp_path / "mine.xml")) == [0.3, 0.7, 0.0]
    assert not any(
        rotors(
            to_mjcf(
                replace(
                    calibration,
                    fit={},
                    joints={
                        name: replace(one, free_motion=None)
                        for name, one in calibration.joints.items()
                    },
                )
            )
        )[::2]
    )
