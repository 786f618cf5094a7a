"""What older releases of MuJoCo misread, corrected to what the current one reads."""

import dataclasses
from pathlib import Path

import mujoco
import numpy as np
import pytest

from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import InputError
from stribeck.ident.model.files import older_mujoco
from stribeck.ident.model.files.older_mujoco import correct_model, mujoco_release
from stribeck.ident.model.mechanism import Mechanism
from tests.places import TEST_ARMS

GRIPPER = (TEST_ARMS / "gripper.urdf").read_text(encoding="utf-8")

current = pytest.mark.skipif(
    mujoco_release() < (3, 14), reason="what is right is read by a MuJoCo that needs no correction"
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "gripper.urdf").write_text(GRIPPER, encoding="utf-8")
    return tmp_path / "gripper.urdf"


@pytest.fixture
def older(monkeypatch: pytest.MonkeyPatch) -> None:
    """Corrections are made, whatever MuJoCo is installed."""
    monkeypatch.setattr(older_mujoco, "mujoco_release", lambda: (3, 5))


def assert_same(one: Mechanism, other: Mechanism) -> None:
    for field in ("mass", "com", "inertia", "origin", "axis"):
        np.testing.assert_allclose(getattr(one, field), getattr(other, field), rtol=0, atol=1e-14)
    for follower, twin in zip(one.followers, other.followers, strict=True):
        for field in dataclasses.fields(follower):
            value, expected = getattr(follower, field.name), getattr(twin, field.name)
            if isinstance(expected, str):
                assert value == expected
            else:
                np.testing.assert_allclose(value, expected, rtol=0, atol=1e-14)


def test_the_release_has_two_numbers() -> None:
    assert mujoco_release() >= (3, 5)
    assert mujoco.__version__.startswith("{}.{}.".format(*mujoco_release()))


def test_a_correctly_read_model_is_unchanged(path: Path, request: pytest.FixtureRequest) -> None:
    right = load_mechanism(path)
    request.getfixturevalue("older")
    assert_same(load_mechanism(path), right)


@current
def test_inertias_and_mimics_that_mujoco_misread_are_corrected(older: None) -> None:
    right = mujoco.MjSpec.from_string(GRIPPER)
    right.compiler.fusestatic = False
    expected = right.compile()
    spec = mujoco.MjSpec.from_string(GRIPPER)
    for equality in spec.equalities:
        spec.delete(equality)
    for body in spec.bodies[1:]:
        body.iquat = [1.0, 0.0, 0.0, 0.0]
    correct_model(spec, GRIPPER)
    model = spec.compile()
    assert [
        model.joint(int(model.eq_obj1id[0])).name,
        model.joint(int(model.eq_obj2id[0])).name,
    ] == ["right", "left"]
    np.testing.assert_array_equal(model.eq_data, expected.eq_data)
    one, other = mujoco.MjData(model), mujoco.MjData(expected)
    q = np.random.default_rng(0).normal(size=(2, 3))
    for which, data in ((model, one), (expected, other)):
        data.qpos[:], data.qvel[:] = q
        which.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
        mujoco.mj_inverse(which, data)
    np.testing.assert_allclose(one.qfrc_inverse, other.qfrc_inverse, rtol=0, atol=1e-12)


def test_a_mimic_without_a_name_is_refused(path: Path, older: None) -> None:
    path.write_text(GRIPPER.replace('mimic joint="left"', "mimic"), encoding="utf-8")
    with pytest.raises(InputError, match=r"gripper\.urdf: not a usable URDF or MJCF model"):
        load_mechanism(path)


@current
def test_models_of_current_releases_are_unchanged() -> None:
    spec, untouched = mujoco.MjSpec.from_string(GRIPPER), mujoco.MjSpec.from_string(GRIPPER)
    correct_model(spec, GRIPPER)
    assert spec.compiler.fusestatic == untouched.compiler.fusestatic
    np.testing.assert_array_equal(spec.body("palm").fullinertia, untouched.body("palm").fullinertia)
