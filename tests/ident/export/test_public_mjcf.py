"""MJCF arms that others published, as they are: friction goes in, MuJoCo moves as stated, all
else stays and is read back.
"""

import re
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import mujoco
import numpy as np
import pytest

from stribeck import Calibration, load_mechanism
from stribeck.ident.export.approximation import approximate
from stribeck.ident.laws.law_table import LAWS
from tests.ident.export.conftest import made_joint, plainly, resistance, without_comment

try:
    ASSETS = Path(str(distribution("gymnasium").locate_file("gymnasium/envs/mujoco/assets")))
except PackageNotFoundError:
    pytest.skip("the package gymnasium has the MJCFs", allow_module_level=True)

ARMS = {  # arms, each beside what it pushes or reaches for
    "pusher_v5.xml": (
        "r_shoulder_pan_joint",
        "r_shoulder_lift_joint",
        "r_upper_arm_roll_joint",
        "r_elbow_flex_joint",
        "r_forearm_roll_joint",
        "r_wrist_flex_joint",
        "r_wrist_roll_joint",
    ),
    "reacher.xml": ("joint0", "joint1"),
}
OURS = re.compile(r"""\s+(frictionloss|damping|solimpfriction)=("[^"]*"|'[^']*')""")


@pytest.fixture(params=ARMS)
def arm(request: pytest.FixtureRequest) -> Path:
    return ASSETS / str(request.param)


@pytest.fixture
def made(make_calibration: Callable[..., Calibration], arm: Path) -> Calibration:
    """All joints of the arm but the last, in laws of every kind."""
    return make_calibration(
        joints={
            name: made_joint(tuple(LAWS)[k % len(LAWS)], "none" if k % 2 else "torque", k)
            for k, name in enumerate(ARMS[arm.name][:-1])
        }
    )


def test_values_come_back_and_the_rest_stays(made: Calibration, arm: Path) -> None:
    before, after = arm.read_text(encoding="utf-8"), plainly(made, "mjcf", arm).text
    old, new = mujoco.MjModel.from_xml_string(before), mujoco.MjModel.from_xml_string(after)
    dofs = [old.joint(name).dofadr[0] for name in made.joints]
    near = [approximate(joint) for joint in made.joints.values()]
    np.testing.assert_allclose(
        new.dof_frictionloss[dofs], [one.friction for one in near], rtol=1e-5
    )
    np.testing.assert_allclose(new.dof_damping[dofs], [one.damping for one in near], rtol=1e-5)
    others = np.setdiff1d(np.arange(old.nv), dofs)
    assert others.size
    for key in ("dof_frictionloss", "dof_damping", "dof_solimp"):
        np.testing.assert_array_equal(getattr(new, key)[others], getattr(old, key)[others])
    for key in (
        "body_mass",
        "body_inertia",
        "body_pos",
        "jnt_range",
        "dof_armature",
        "geom_size",
        "actuator_gear",
    ):
        np.testing.assert_array_equal(getattr(new, key), getattr(old, key))
    assert OURS.sub("", without_comment(after)) == OURS.sub("", before)


def test_a_slide_at_constant_speed_shows_the_stated_friction(made: Calibration, arm: Path) -> None:
    model = mujoco.MjModel.from_xml_string(plainly(made, "mjcf", arm).text)
    model.opt.disableflags |= (
        mujoco.mjtDisableBit.mjDSBL_LIMIT | mujoco.mjtDisableBit.mjDSBL_CONTACT
    )
    for name, joint in made.joints.items():
        near = approximate(joint)
        for w in (0.01, -0.01, 0.2, -1.5):
            assert resistance(model, name, w) == pytest.approx(
                np.sign(w) * near.friction + near.damping * w, rel=1e-4
            )


def test_the_model_is_an_arm_of_ours_too(arm: Path) -> None:
    """What was exported to can be planned with: the same file is read as a model."""
    mechanism = load_mechanism(arm)
    assert set(ARMS[arm.name]) <= set(mechanism.names)
