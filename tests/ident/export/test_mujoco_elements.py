"""MuJoCo's own elements for friction: MuJoCo moves an exported arm, and its friction
is compared with the law.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest

from stribeck import Calibration
from stribeck.ident.calibration.joint_calibration import JointCalibration
from stribeck.ident.errors import InputError
from stribeck.ident.export.descriptions.mujoco_joint import mujoco_joint
from stribeck.ident.export.formats import export
from stribeck.ident.laws.law_table import LAWS
from stribeck.ident.memory.joint_memory import JointMemory
from stribeck.ident.ripple.wave import COGGING, FRICTION, Wave
from stribeck.mujoco import attach
from tests.ident.export.conftest import known, made_joint

DT = 0.001
MOTOR = """<mujoco><worldbody><body><joint name="j1" axis="0 0 1"/>
<geom type="sphere" size=".1"/></body></worldbody><actuator><motor joint="j1"/></actuator></mujoco>"""


def exact(values: dict[str, float], **changes: object) -> JointCalibration:
    law = "stribeck" if "static" in values else "coulomb-viscous"
    return replace(made_joint(law, "none", 0, **values), **changes)


def friction_in(model: mujoco.MjModel, speed: float) -> np.ndarray:
    """Torque that each joint resists with at a constant speed, without gravity,
    after the bristles are bent.
    """
    model.opt.gravity[:], model.opt.timestep = 0.0, DT
    model.jnt_limited[:] = 0
    data = mujoco.MjData(model)
    for _ in range(round(max(0.05, 0.01 / abs(speed)) / DT)):
        data.qpos[:], data.qvel[:] = 0.0, speed
        mujoco.mj_step(model, data)
    data.qpos[:], data.qvel[:] = 0.0, speed
    mujoco.mj_forward(model, data)
    bristles = data.qfrc_actuator.copy()
    data.qacc[:] = 0.0
    mujoco.mj_inverse(model, data)
    return np.asarray(data.qfrc_inverse - data.qfrc_bias - bristles)


@pytest.mark.parametrize(
    "laws", [list(LAWS)[k : k + 6] for k in range(0, len(LAWS), 6)], ids=lambda laws: laws[0]
)
def test_sliding_friction_is_that_of_the_law_within_the_stated_error(
    make_calibration: Callable[..., Calibration], laws: list[str]
) -> None:
    joints = {f"j{k + 1}": made_joint(law, "none", k) for k, law in enumerate(laws)}
    found = export(make_calibration(joints=joints), "mjcf")
    stated = {name: mujoco_joint(name, joint, 1.0).worst for name, joint in joints.items()}
    model = mujoco.MjModel.from_xml_string(found.text)
    for speed in (0.02, 0.1, 1.2, -0.4):
        felt = friction_in(model, speed)
        for k, (name, joint) in enumerate(joints.items()):
            expected = float(joint.torque([speed])[0])
            assert abs(felt[k] - expected) < 1.01 * stated[name] + 2e-3 * abs(expected)
    said = "".join(one for one in found.losses if one.startswith("rms error"))
    for name, joint in joints.items():
        if joint.law in (
            "coulomb-viscous",
            "stribeck",
            "quadratic",
            "loaded-viscous",
            "stribeck-loaded-viscous",
        ):
            assert stated[name] < 1e-6
            assert name not in said


@pytest.mark.parametrize("dt", [0.001, 0.002, 0.005])
def test_a_joint_holds_its_static_friction(
    make_calibration: Callable[..., Calibration], tmp_path: Path, dt: float
) -> None:
    """With and without a Stribeck effect; a joint whose friction is `frictionloss` would creep."""
    falling = exact({"coulomb": 6.0, "static": 8.2, "stribeck_velocity": 0.05, "viscous": 11.0})
    joints = {
        f"j{k}": exact({"coulomb": 8.2, "viscous": 11.0}) if k % 2 else falling for k in range(1, 7)
    }
    made, own = make_calibration(joints=joints), tmp_path / "own.xml"
    text = export(made, "mjcf", plain=True).text.replace(
        "<joint name", '<joint armature="0.1" name'
    )
    own.write_text(
        text.replace("<worldbody>", f'<option timestep="{dt}"/><worldbody>'), encoding="utf-8"
    )
    model = mujoco.MjModel.from_xml_string(export(made, "mjcf", own).text)
    model.opt.gravity[:] = 0.0
    assert model.opt.timestep == dt
    assert model.opt.integrator == mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    for part, moves in ((0.9, False), (1.1, True)):
        data = mujoco.MjData(model)
        for k in range(round(10.0 / dt)):
            data.qfrc_applied[:] = part * 8.2 * min(1.0, dt * k)  # within one second
            mujoco.mj_step(model, data)
            if k == round(2.0 / dt):
                start = data.qpos.copy()
        assert bool((np.abs(data.qpos - start) > 0.1).all()) is moves
        assert moves or np.abs(data.qpos - start).max() < 1e-6
        assert moves or np.abs(start).max() < 2e-3


@pytest.mark.parametrize("place", ["joint", "default"])
def test_a_limit_of_the_motors_does_not_limit_friction(
    make_calibration: Callable[..., Calibration], tmp_path: Path, place: str
) -> None:
    """A saturated motor turns the joint against friction, and a light joint
    that is kicked comes to rest.
    """
    own = tmp_path / "own.xml"
    limit = 'actuatorfrcrange="-5 5"'
    text = MOTOR.replace(
        '<joint name="j1"', f'<joint name="j1" armature="0.05" {limit if place == "joint" else ""}'
    )
    text = text.replace('size=".1"', 'size=".01"').replace(
        "<mujoco>",
        '<mujoco><option timestep="0.005"/>'
        + (f"<default><joint {limit}/></default>" if place == "default" else ""),
    )
    own.write_text(text.replace("<motor", '<motor forcerange="-5 5"'), encoding="utf-8")
    made = make_calibration(joints={"j1": exact({"coulomb": 2.0, "viscous": 2.4})})
    found = export(made, "mjcf", own)
    assert "limit the motors by their own forcerange: j1" in "".join(found.losses)
    model = mujoco.MjModel.from_xml_string(found.text)
    model.opt.gravity[:] = 0.0
    for torque, speed in ((9.0, (5.0 - 2.0) / 2.4), (0.0, 0.0)):
        data = mujoco.MjData(model)
        data.qvel[0], data.ctrl[0] = 2.0, torque
        mujoco.mj_step(model, data, 800)
        assert data.qvel[0] == pytest.approx(speed, abs=1e-6)


@pytest.mark.parametrize("dt", [0.0005, 0.002])
def test_a_sliding_joint_is_as_heavy_as_said(
    make_calibration: Callable[..., Calibration], dt: float
) -> None:
    """A torque above friction accelerates it less than its inertia would;
    the export names the part.
    """
    rubs, inertia = exact({"coulomb": 2.0, "viscous": 0.0}), 0.1
    made = mujoco_joint("j1", rubs, inertia, dt)
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{dt}" gravity="0 0 0" '
        'integrator="implicitfast"/><worldbody><body>'
        f'<joint name="j1" armature="{inertia}"/><inertial pos="0 0 0" mass="1" diaginertia="1e-9 '
        '1e-9 1e-9"/></body></worldbody>'
        f"<actuator>{''.join(made.actuators)}</actuator></mujoco>"
    )
    data = mujoco.MjData(model)
    data.qvel[0], data.qfrc_applied[0] = 1.0, 2.0
    mujoco.mj_step(model, data, round(0.2 / dt))  # the bristle is bent
    begun, data.qfrc_applied[0] = data.qvel[0], 6.0
    mujoco.mj_step(model, data, round(0.1 / dt))
    assert made.heavier > 0.03
    assert (6.0 - 2.0) * 0.1 / (data.qvel[0] - begun) == pytest.approx(
        (1.0 + made.heavier) * inertia, rel=1e-3
    )
    assert re.search(
        r"as if their inertia were greater: j1 by \d+ %",
        " ".join(export(make_calibration(joints={"j1": rubs}), "mjcf").losses),
    )


def test_a_torque_offset_is_felt_everywhere(
    make_calibration: Callable[..., Calibration], tmp_path: Path
) -> None:
    offset = known(0.4, "N·m", 0.02)
    joint = exact({"coulomb": 0.0, "viscous": 0.0}, gravity={"offset": offset})
    joint = replace(
        joint,
        parameters={name: replace(entry, value=1e-9) for name, entry in joint.parameters.items()},
    )
    made = make_calibration(joints={"j1": joint})
    (tmp_path / "own.xml").write_text(MOTOR, encoding="utf-8")
    models = [
        mujoco.MjModel.from_xml_path(str(tmp_path / "own.xml")),
        mujoco.MjModel.from_xml_string(export(made, "mjcf", tmp_path / "own.xml").text),
    ]
    felt = []
    for model in models:
        data = mujoco.MjData(model)
        for q in (0.2, 2.0):
            data.qpos[0] = q
            mujoco.mj_forward(model, data)
            felt.append(float(data.qfrc_actuator[0]))
    assert felt == pytest.approx([0.0, 0.0, -0.4, -0.4], abs=1e-5)  # the drive must add 0.4
    # controllers find the inputs they know
    assert models[1].nu == models[0].nu == 1


def test_cogging_is_kept_and_friction_ripple_is_said_to_be_lost(
    make_calibration: Callable[..., Calibration],
) -> None:
    waves = [
        Wave(order, kind, "known", amplitude, 0.0, 0.0, 1.0, phase, 0.0, 0.0, "N·m", "identified")
        for order, kind, amplitude, phase in (
            (12.0, COGGING, 0.2, 0.3),
            (5.0, COGGING, 0.1, 2.0),
            (7.0, FRICTION, 0.4, 0.0),
        )
    ]
    joint = exact({"coulomb": 1e-9, "viscous": 1e-9}, ripple=tuple(waves))
    found = export(make_calibration(joints={"j1": joint}), "mjcf")
    model = mujoco.MjModel.from_xml_string(found.text)
    data = mujoco.MjData(model)
    for q in (0.0, 0.1, 0.7):
        data.qpos[0] = q
        mujoco.mj_forward(model, data)
        expected = 0.2 * np.sin(12.0 * q + 0.3) + 0.1 * np.sin(5.0 * q + 2.0)
        assert -data.qfrc_actuator[0] == pytest.approx(expected, abs=1e-6)
    assert any(
        "leaves out the torque that ripples with position: j1" in one for one in found.losses
    )
    without = export(
        make_calibration(joints={"j1": replace(joint, ripple=tuple(waves[:2]))}, seed=1), "mjcf"
    )
    assert not any("ripples" in one for one in without.losses)


def test_a_bristle_that_was_identified_is_the_bristle_of_the_file(
    make_calibration: Callable[..., Calibration],
) -> None:
    lugre = JointMemory(
        "lugre",
        {
            "bristle_stiffness": known(3000.0, "N·m/rad", 10.0),
            "bristle_damping": known(12.0, "N·m·s/rad", 1.0),
        },
        1e-3,
        0.0,
        0.0,
    )
    relaxing = JointMemory(
        "relaxing", {"presliding_distance": known(0.002, "rad", 1e-4)}, 2e-3, 0.0, 0.0
    )
    slip = JointMemory(
        "maxwell-slip", {"share_1": known(0.5, "1", 0.1)}, 2e-3, 0.0, 0.0, (1e-3, 2e-3)
    )
    values = {"coulomb": 3.0, "viscous": 1.0}
    found = export(
        make_calibration(
            joints={
                "j1": exact(values, memory=lugre),
                "j2": exact(values, memory=relaxing),
                "j3": exact(values, memory=slip),
            }
        ),
        "mjcf",
    )
    assert 'lugre="3000 12 3 3 1"' in found.text
    assert 'lugre="1500 ' in found.text
    assert any("without memory of reversals: j3 maxwell-slip" in one for one in found.losses)
    mujoco.MjModel.from_xml_string(found.text)


@pytest.mark.slow
def test_public_arms_keep_their_own_law(calibration: Calibration) -> None:
    """lab6 and two public arms: the exported model loads, and moves with finite speeds;
    attach replaces what it holds.
    """
    model = mujoco.MjModel.from_xml_string(export(calibration, "mjcf").text)
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 500)
    assert np.isfinite(data.qpos).all()
    mujoco.mj_resetData(model, data)
    with attach(model, data, calibration) as friction:
        friction.step(500)
        assert np.isfinite(data.qpos).all()
        assert friction.names == tuple(calibration.joints)
        assert np.isfinite(friction.torque).all()


def test_what_is_lost_is_said(
    make_calibration: Callable[..., Calibration], monkeypatch: pytest.MonkeyPatch
) -> None:
    lugre = JointMemory(
        "lugre",
        {
            "bristle_stiffness": known(3000.0, "N·m/rad", 10.0),
            "bristle_damping": known(2.0, "N·m·s/rad", 0.1),
        },
        1e-3,
        0.0,
        0.0,
    )
    made = make_calibration(
        joints={
            "j6": made_joint("stribeck", "torque", 0),
            "j2": exact({"coulomb": 1.0, "viscous": 2.0}),
            "j3": exact({"coulomb": 1.0, "viscous": 2.0}, memory=lugre),
        }
    )
    said = export(made, "mjcf").losses
    assert said[0].startswith("MJCF has friction in elements that MuJoCo reads since version 4")
    assert "MJCF loses growth with load (j6)" in said
    assert any(
        one.startswith("rms error of this friction over the calibrated range: j6")
        and "j2" not in one
        for one in said
    )
    assert any("yields by up to 0.4 mrad" in one and one.endswith(": j6, j2") for one in said)
    assert any("implicitfast" in one for one in said)
    assert (
        "bristles are damped for time steps of 2 ms; for longer ones, --into an MJCF with its "
        "timestep" in said
    )
    assert any(
        one.endswith("creep under load; they hold with at most 0.33 ms (j3)") for one in said
    )
    plain = export(made, "mjcf", plain=True)
    assert "dcmotor" not in plain.text
    with pytest.raises(InputError, match=r"--plain: the format csv has no other form"):
        export(made, "csv", plain=True)
    monkeypatch.setattr(mujoco, "__version__", "3.9.1")
    old = export(made, "mjcf")
    assert "dcmotor" not in old.text
    assert old.losses[-1].startswith("MuJoCo 4 holds friction that falls with speed")
