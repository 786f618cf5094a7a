"""Blocks for MotionSolve and Adams: their numbers, put into the published formula, are the
friction of the calibration.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from stribeck import Calibration, joint_loads, load_mechanism
from stribeck.ident.calibration.joint_calibration import JointCalibration
from stribeck.ident.errors import InputError
from stribeck.ident.export.formats import export
from stribeck.ident.laws.law_table import LAWS
from tests.ident.export.conftest import known, made_joint

FIELDS = {
    "mu_static": "MU_STATIC",
    "mu_dynamic": "MU_DYNAMIC",
    "torque_preload": "FRICTION_TORQUE_PRELOAD",
    "friction_arm": "FRICTION_ARM",
    "bending_reaction_arm": "BENDING_REACTION_ARM",
    "pin_radius": "PIN_RADIUS",
    "stiction_trans_vel": "STICTION_TRANSITION_VELOCITY",
}


def blocks(made: Calibration, target: str) -> dict[str, dict[str, float]]:
    """Numbers of each joint, by MotionSolve's names."""
    text = export(made, target).text
    if target == "motionsolve":
        return {
            one.get("label", ""): {name: float(one.get(name, "nan")) for name in FIELDS}
            for one in ElementTree.fromstring(f"<Model>{text}</Model>").iter("Force_JointFriction")
        }
    names = re.findall(r"^! (\w+): viscous", text, flags=re.MULTILINE)
    statements = re.split(r"^FRICTION/\d+$", text, flags=re.MULTILINE)[1:]
    found = [dict(re.findall(r"^, (\w+) = (\S+)$", one, flags=re.MULTILINE)) for one in statements]
    return {
        name: {key: float(one.get(word, "nan")) for key, word in FIELDS.items()}
        for name, one in zip(names, found, strict=True)
    }


@pytest.mark.parametrize("target", ["motionsolve", "adams"])
def test_the_published_formula_gives_the_friction_of_fast_motion(
    make_calibration: Callable[..., Calibration], target: str
) -> None:
    """Friction = mu (R_p radial + R_p / R_b bending + R_n axial) +
    preload, from the loads of lab6.
    """
    joints = {f"j{k}": made_joint("stribeck", "normal", k) for k in (1, 2, 3)}
    made = make_calibration(joints=joints)
    q, fast = np.random.default_rng(0).normal(size=(20, 6)), np.full(20, 1.0)
    mechanism = replace(
        made.mechanism,
        bearings=tuple(joints[name].bearing if name in joints else None for name in made.names),
    )
    loads = joint_loads(mechanism, q)
    found = blocks(made, target)
    assert list(found) == list(joints)
    for j, (name, one) in enumerate(found.items()):
        normal = (
            one["pin_radius"] * loads.radial[:, j]
            + one["pin_radius"] / one["bending_reaction_arm"] * loads.bending[:, j]
            + one["friction_arm"] * loads.axial[:, j]
        )
        joint = joints[name]
        dry = joint.torque(fast, loads.normal[:, j]) - joint.values["viscous"] * fast
        np.testing.assert_allclose(
            one["mu_dynamic"] * normal + one["torque_preload"], dry, rtol=1e-4
        )
        assert one["mu_static"] == pytest.approx(joint.values["static_coefficient"], rel=1e-4)
        assert one["stiction_trans_vel"] == pytest.approx(
            joint.values["stribeck_velocity"] * one["pin_radius"], rel=1e-4
        )


@pytest.mark.parametrize("target", ["motionsolve", "adams"])
def test_constant_friction_is_a_preload_torque(
    make_calibration: Callable[..., Calibration], target: str
) -> None:
    joint = made_joint("coulomb-viscous", "none", 0)
    one = blocks(make_calibration(joints={"j2": joint}), target)["j2"]
    assert (one["mu_static"], one["mu_dynamic"]) == (0.0, 0.0)
    assert one["torque_preload"] == pytest.approx(joint.values["coulomb"], rel=1e-4)


@pytest.mark.parametrize("target", ["motionsolve", "adams"])
def test_friction_that_no_bearing_has_is_refused_by_name(
    make_calibration: Callable[..., Calibration], target: str
) -> None:
    torque = made_joint("stribeck", "torque", 0)
    with pytest.raises(
        InputError,
        match=r"no joint of this calibration has such friction: j1 \(it grows with the load "
        r"torque\); "
        "state the bearings in the arm file and fit with --load normal",
    ):
        export(make_calibration(joints={"j1": torque}), target)
    mixed = make_calibration(
        joints={"j1": torque, "j2": made_joint("stribeck", "normal", 1)}, seed=1
    )
    assert list(blocks(mixed, target)) == ["j2"]
    assert (
        "leaves out joints whose friction a bearing does not have: j1 (it grows with the load "
        "torque)" in export(mixed, target).losses[0]
    )


def test_sliding_joints_are_left_out(make_calibration: Callable[..., Calibration]) -> None:
    names = load_mechanism("lab6").names
    made = make_calibration(
        joints={name: made_joint("stribeck", "normal", k) for k, name in enumerate(names)}
    )
    slides = np.arange(len(names)) == 1
    vars(made)["mechanism"] = replace(made.mechanism, prismatic=slides)
    assert list(blocks(made, "motionsolve")) == [
        name for name, slide in zip(names, slides, strict=True) if not slide
    ]
    assert "j2 (it slides)" in export(made, "motionsolve").losses[0]


@pytest.mark.parametrize("law", LAWS)
def test_the_error_of_each_joint_is_that_of_the_block_with_its_damper(
    make_calibration: Callable[..., Calibration], law: str
) -> None:
    joint: JointCalibration = made_joint(law, "normal", 3)
    made = make_calibration(joints={"j1": joint})
    found, one = export(made, "motionsolve"), blocks(made, "motionsolve")["j1"]
    viscous = float(re.search(r"j1: viscous (\S+) N m s/rad", found.text)[1])
    rms, worst = map(
        float, re.search(r"j1 (\S+) \(worst (\S+)\) N·m", " ".join(found.losses)).groups()
    )
    w, load = np.geomspace(*joint.velocity_range, 200), np.linspace(*joint.load_range, 21)
    w, load = np.tile(w, 21), np.repeat(load, 200)
    off = one["torque_preload"] + one["mu_dynamic"] * load + viscous * w - joint.torque(w, load)
    assert rms == pytest.approx(np.sqrt(np.mean(off**2)), rel=0.06, abs=2e-3)
    assert worst == pytest.approx(np.abs(off).max(), rel=0.06, abs=2e-3)


def test_directions_that_differ_are_lost(make_calibration: Callable[..., Calibration]) -> None:
    joint = replace(
        made_joint("stribeck", "none", 0),
        directional="viscous",
        gravity={"viscous_difference": known(0.2)},
    )
    assert any(
        "leaves out the difference between the directions (j4)" in loss
        for loss in export(make_calibration(joints={"j4": joint}), "adams").losses
    )
