"""URDF, MJCF and SDF: friction is written, the rest of the file is unchanged, and MuJoCo moves
with the stated friction.
"""

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest

from stribeck import Calibration, load_mechanism
from stribeck.ident.errors import InputError
from stribeck.ident.export.approximation import approximate
from stribeck.ident.export.descriptions.robot_descriptions import HARD
from stribeck.ident.model.dynamics import inverse_dynamics
from tests.ident.export.conftest import made_joint, plainly, resistance, without_comment

ARM_SDF = """<?xml version='1.0'?>
<!-- by hand -->
<sdf version="1.7">
  <world name="lab"><joint name="j1"/>
    <model name='lab6'>
      <joint type='revolute'   name='j1'>  <!-- shoulder > base -->
        <parent>base</parent>
        <child>link1</child>
        <axis>
          <xyz>0 0 1</xyz>
          <dynamics><friction>  9 </friction> <spring_stiffness>0</spring_stiffness></dynamics>
        </axis>
      </joint>
      <joint name="j2" type="revolute"><axis><xyz>0 1 0</xyz><dynamics>
        <damping/><friction>0</friction></dynamics></axis></joint>
      <joint name="j3" type="revolute"><axis>\t<xyz>0 1 0</xyz>\t</axis></joint>
    </model>
  </world>
</sdf>
"""
ARM_XML = """<mujoco model="lab6">
  <!-- frictionloss="7" in a comment -->
  <default><joint damping="3"/><default class="big"><joint armature='0.1'/></default></default>
  <worldbody>
    <body name="a"><joint class="big" name="j1" axis="0 0 1"
            range="-2 2"   frictionloss='0.5'/><geom type="sphere" size="0.1"/>
      <body name="b" pos="0 0 0.3"><joint axis='0 1 0' name='j2' /><geom size="0.1" mass="2"/>
        <body><joint name="j3" axis="0 1 0" solimpfriction="0.5 0.6"></joint><geom size="0.1" pos="0 0 .3" mass="1"/></body>
      </body>
    </body>
  </worldbody>
  <equality><joint name="j2" joint1="j3" active="false"/></equality>
  <sensor><jointpos joint="j1"/></sensor>
</mujoco>
"""


@pytest.fixture
def three(make_calibration: Callable[..., Calibration]) -> Calibration:
    """j1, j2 and j3 of lab6."""
    return make_calibration(
        joints={f"j{k}": made_joint("stribeck", "torque", k) for k in (1, 2, 3)}
    )


def saved(text: str, folder: Path, name: str) -> Path:
    (folder / name).write_text(text, encoding="utf-8", newline="")
    return folder / name


def read_back(text: str, target: str) -> dict[str, tuple[float, float]]:
    """Friction and damping by joint, as an XML parser finds them."""
    root, found = ET.fromstring(text), {}
    for joint in root.iter("joint"):
        name = str(joint.get("name"))
        if target == "urdf" and (entry := joint.find("dynamics")) is not None:
            found[name] = float(entry.get("friction", "nan")), float(entry.get("damping", "nan"))
        if target == "sdf" and joint.find("axis/dynamics") is not None:
            found[name] = tuple(
                float(joint.findtext(f"axis/dynamics/{key}", "nan"))
                for key in ("friction", "damping")
            )
        if target == "mjcf" and joint.get("solimpfriction"):
            found[name] = float(joint.get("frictionloss", "0")), float(joint.get("damping", "0"))
    return found


# values


@pytest.mark.parametrize("target", ["urdf", "mjcf", "sdf"])
def test_values_are_read_back(calibration: Calibration, target: str) -> None:
    found = read_back(plainly(calibration, target).text, target)
    for name, joint in calibration.joints.items():
        near = approximate(joint)
        assert found[name] == pytest.approx((near.friction, near.damping), rel=1e-5), name
    assert target == "urdf" or found.keys() == calibration.joints.keys(), (
        "joints that were not calibrated stay as they were"
    )


# what MuJoCo makes of them


def sdf_in_mujoco(text: str) -> mujoco.MjModel:
    """Links, joints and dynamics of an SDF whose frames are all parallel, built by hand."""
    (tree,), spec = ET.fromstring(text).findall("model"), mujoco.MjSpec()
    bodies, dynamics = {"world": spec.worldbody}, {}
    links = {link.get("name"): link for link in tree.findall("link")}

    def numbers(element: ET.Element, path: str) -> list[float]:
        return [float(part) for part in element.findtext(path, "").split()]

    for joint in tree.findall("joint"):
        link, parent = links[joint.findtext("child")], joint.findtext("parent", "")
        assert link.find("pose").get("relative_to", "world") == parent
        inertia = [
            float(link.findtext(f"inertial/inertia/i{key}", ""))
            for key in ("xx", "yy", "zz", "xy", "xz", "yz")
        ]
        body = bodies[parent].add_body(
            pos=numbers(link, "pose")[:3],
            mass=numbers(link, "inertial/mass")[0],
            ipos=numbers(link, "inertial/pose")[:3],
            fullinertia=inertia,
            explicitinertial=True,
        )
        kind = (
            mujoco.mjtJoint.mjJNT_SLIDE
            if joint.get("type") == "prismatic"
            else mujoco.mjtJoint.mjJNT_HINGE
        )
        made = body.add_joint(name=joint.get("name"), type=kind, axis=numbers(joint, "axis/xyz"))
        if joint.find("axis/dynamics") is not None:
            made.frictionloss = numbers(joint, "axis/dynamics/friction")[0]
            dynamics[made.name] = numbers(joint, "axis/dynamics/damping")[0]
        bodies[str(link.get("name"))] = body
    spec.compiler.boundinertia = spec.compiler.boundmass = 1e-14
    model = spec.compile()
    for name, damping in dynamics.items():
        model.dof_damping[model.joint(name).dofadr[0]] = damping
    return model


@pytest.mark.parametrize("target", ["urdf", "mjcf", "sdf"])
def test_a_slide_at_constant_speed_shows_the_stated_friction(
    calibration: Calibration, tmp_path: Path, target: str
) -> None:
    """From the slowest to the fastest calibrated speed, both ways; URDF and SDF cannot ask
    MuJoCo for hard friction.
    """
    text = plainly(calibration, target).text
    if target == "sdf":
        model = sdf_in_mujoco(text)
    else:
        spec = mujoco.MjSpec.from_string(
            re.sub(r"<(visual|collision)\b.*?</\1>", "", text, flags=re.DOTALL)
        )
        model = spec.compile()
    if target != "mjcf":
        model.dof_solimp[:] = HARD
    model.opt.disableflags |= (
        mujoco.mjtDisableBit.mjDSBL_LIMIT | mujoco.mjtDisableBit.mjDSBL_EQUALITY
    )
    for name, joint in calibration.joints.items():
        near = approximate(joint)
        for w in (0.01, -0.01, 0.2, -1.5):
            stated = np.sign(w) * near.friction + near.damping * w
            assert resistance(model, name, w) == pytest.approx(stated, rel=1e-4)


@pytest.mark.parametrize("arm", ["lab6", "ur5"])
def test_a_simulated_slide_keeps_its_speed_under_the_stated_friction(
    make_calibration: Callable[..., Calibration], arm: str
) -> None:
    """Forward in time: the torque that the calibration's approximation says holds 0.05 rad/s;
    a little less slows down.
    """
    made = make_calibration(arm)
    model = mujoco.MjModel.from_xml_string(plainly(made, "mjcf").text)
    model.opt.gravity[:] = 0.0
    last = list(made.joints)[-1]
    near, dof = approximate(made.joints[last]), model.joint(last).dofadr[0]
    speeds = {}
    for part in (1.0, 0.99):
        data = mujoco.MjData(model)
        data.qvel[dof] = 0.05
        data.qfrc_applied[dof] = part * (near.friction + 0.05 * near.damping)
        mujoco.mj_step(model, data, 25)
        speeds[part] = data.qvel[dof]
    assert speeds[1.0] == pytest.approx(0.05, rel=1e-2)
    assert speeds[0.99] < 0.95 * speeds[1.0]


def test_the_sdf_is_the_same_arm(calibration: Calibration) -> None:
    """Gravity torques of links and joints written out against those of
    the model that MuJoCo reads.
    """
    mechanism = load_mechanism(calibration.folder / calibration.model.file).tree
    model = sdf_in_mujoco(plainly(calibration, "sdf").text)
    model.opt.gravity[:] = mechanism.gravity
    for state in np.random.default_rng(0).normal(size=(5, 3, mechanism.n)):
        data = mujoco.MjData(model)
        order = [model.joint(name).id for name in mechanism.names]
        data.qpos[order], data.qvel[order], data.qacc[order] = state
        model.dof_frictionloss[:] = model.dof_damping[:] = 0.0
        mujoco.mj_inverse(model, data)
        np.testing.assert_allclose(
            data.qfrc_inverse[order],
            inverse_dynamics(mechanism, *state[:, None])[0],
            rtol=0,
            atol=1e-6,
        )


# what stays


def test_the_rest_of_a_urdf_stays(calibration: Calibration) -> None:
    before = (calibration.folder / calibration.model.file).read_bytes().decode()
    after = plainly(calibration, "urdf").text
    strip = re.compile(r"\s*<dynamics [^>]*/>")
    assert strip.sub("", without_comment(after)) == strip.sub("", before)
    assert "<dynamics" in after


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_the_rest_of_an_sdf_stays(three: Calibration, tmp_path: Path, newline: str) -> None:
    before = ARM_SDF.replace("\n", newline)
    after = plainly(three, "sdf", saved(before, tmp_path, "arm.sdf")).text
    near = {name: approximate(joint) for name, joint in three.joints.items()}
    loss, damp = (
        {name: f"<{key}>{getattr(one, key):.6g}</{key}>" for name, one in near.items()}
        for key in ("friction", "damping")
    )
    spring = "<spring_stiffness>0</spring_stiffness>"
    expected = (
        before.replace(f"<friction>  9 </friction> {spring}", f"{loss['j1']} {spring}{damp['j1']}")
        .replace("<damping/><friction>0</friction>", damp["j2"] + loss["j2"])
        .replace(
            "\t<xyz>0 1 0</xyz>\t",
            f"\t<xyz>0 1 0</xyz>\t<dynamics>{damp['j3']}{loss['j3']}</dynamics>\t",
        )
    )
    assert without_comment(after) == expected
    assert after.count(newline) == after.count("\n")


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_the_rest_of_an_mjcf_stays(three: Calibration, tmp_path: Path, newline: str) -> None:
    """Joints of defaults, equalities and sensors are no joints of the arm."""
    before = ARM_XML.replace("\n", newline)
    after = plainly(three, "mjcf", saved(before, tmp_path, "arm.xml")).text
    near = {name: approximate(joint) for name, joint in three.joints.items()}
    loss, damp = (
        {name: f"{getattr(one, key):.6g}" for name, one in near.items()}
        for key in ("friction", "damping")
    )
    hard = 'solimpfriction="0.9999 0.9999 0.001 0.5 2.0"'
    expected = (
        before.replace(
            "frictionloss='0.5'", f'frictionloss="{loss["j1"]}" damping="{damp["j1"]}" {hard}'
        )
        .replace(
            "name='j2' />",
            f'name=\'j2\' frictionloss="{loss["j2"]}" damping="{damp["j2"]}" {hard} />',
        )
        .replace(
            'solimpfriction="0.5 0.6"', f'{hard} frictionloss="{loss["j3"]}" damping="{damp["j3"]}"'
        )
    )
    assert without_comment(after) == expected
    assert mujoco.MjModel.from_xml_string(after).dof_frictionloss[0] == pytest.approx(
        near["j1"].friction, rel=1e-5
    )


def test_a_loss_names_friction_that_a_file_states_for_uncalibrated_joints(
    three: Calibration, tmp_path: Path
) -> None:
    only = replace(three, joints={"j2": three.joints["j2"]})
    urdf = (
        (three.folder / three.model.file)
        .read_text(encoding="utf-8")
        .replace(
            '<joint name="j3" type="revolute">',
            '<joint name="j3" type="revolute"><dynamics damping="0.5" friction="0.0"/>',
        )
    )
    said = {
        target: " ".join(plainly(only, target, saved(text, tmp_path, name)).losses)
        for target, name, text in (
            ("urdf", "arm.urdf", urdf),
            ("sdf", "arm.sdf", ARM_SDF),
            ("mjcf", "arm.xml", ARM_XML),
        )
    }
    assert "not calibrated keep the URDF's own friction: j3 (damping 0.5)" in said["urdf"]
    assert "not calibrated keep the SDF's own friction: j1 (friction 9)" in said["sdf"]
    assert (
        "not calibrated keep the MJCF's own friction: j1 (frictionloss 0.5, damping 3), j3 "
        "(damping 3)" in said["mjcf"]
    )
    assert "own friction" not in " ".join(
        plainly(three, "mjcf", saved(ARM_XML, tmp_path, "all.xml")).losses
    )


def test_missing_rotor_inertia_is_a_loss(three: Calibration, tmp_path: Path) -> None:
    """Of the joints for which neither the calibration nor the file holds it."""
    stated = plainly(three, "mjcf", saved(ARM_XML, tmp_path, "arm.xml"))
    silent = plainly(
        three, "mjcf", saved(ARM_XML.replace(" armature='0.1'", ""), tmp_path, "silent.xml")
    )
    said = [
        [loss.split(" is ")[0] for loss in made.losses if "armature" in loss]
        for made in (stated, silent)
    ]
    assert said == [["armature of j2, j3"], ["armature of j1, j2, j3"]]
    assert "armature of j1, j2, j3" in " ".join(plainly(three, "mjcf").losses)


def test_the_comment_is_that_of_the_last_calibration(three: Calibration, tmp_path: Path) -> None:
    made = [replace(three, serial="A-1", note=note) for note in ("new", "--\n---> regreased")]
    first = saved(
        plainly(made[0], "mjcf", saved(ARM_XML, tmp_path, "arm.xml")).text, tmp_path, "first.xml"
    )
    second = plainly(made[1], "mjcf", first).text
    ET.fromstring(second)
    assert re.findall("<!-- (Joint friction.*) -->", second) == [
        f"Joint friction of lab6, serial number A-1, calibrated {three.created.isoformat()}; "
        "note: - - - - -> regreased"
    ]


def test_an_export_of_an_export_changes_nothing(three: Calibration, tmp_path: Path) -> None:
    for target, name, text in (("sdf", "arm.sdf", ARM_SDF), ("mjcf", "arm.xml", ARM_XML)):
        once = plainly(three, target, saved(text, tmp_path, name)).text
        assert plainly(three, target, saved(once, tmp_path, name)).text == once


def test_attributes_that_only_look_alike_stay(
    make_calibration: Callable[..., Calibration], tmp_path: Path
) -> None:
    made = make_calibration(
        joints={"a": made_joint("coulomb-viscous", "none", 0, coulomb=2.0, viscous=1.0)}
    )
    text = """<robot name="r" note=' damping="9"'><joint name="a"><dynamics note=' damping="9"' x_damping="8"
      damping = '7'/></joint><transmission><joint name="a"/></transmission></robot>"""
    after = plainly(made, "urdf", saved(text, tmp_path, "r.urdf")).text
    assert without_comment(after) == text.replace("damping = '7'/>", 'damping = "1" friction="2"/>')


# what is refused


@pytest.mark.parametrize(
    ("target", "name", "text", "words"),
    [
        ("urdf", "nosuch.urdf", None, "nosuch.urdf: no such file"),
        (
            "urdf",
            "arm.xml",
            ARM_XML,
            r"arm.xml: the root element is <mujoco>, but <robot> is needed",
        ),
        ("mjcf", "arm.sdf", ARM_SDF, r"arm.sdf: the root element is <sdf>, but <mujoco> is needed"),
        ("sdf", "arm.sdf", "<sdf", "arm.sdf: not well-formed XML"),
        (
            "sdf",
            "arm.sdf",
            ARM_SDF.replace("'j1'", "'j7'"),
            r"arm.sdf: unknown joint 'j1'.*valid: j7, j2, j3",
        ),
        ("sdf", "arm.sdf", ARM_SDF.replace('"j3"', '"j2"'), "two joints are called j2"),
        (
            "sdf",
            "arm.sdf",
            ARM_SDF.replace("<axis>\t<xyz>0 1 0</xyz>\t</axis>", ""),
            "joint j3 has no <axis>",
        ),
        ("json", "arm.sdf", ARM_SDF, "the format json is a file of numbers"),
    ],
)
def test_unsuitable_files_are_refused(
    three: Calibration, tmp_path: Path, target: str, name: str, text: str | None, words: str
) -> None:
    if text is not None:
        saved(text, tmp_path, name)
    with pytest.raises(InputError, match=words) as caught:
        plainly(three, target, tmp_path / name)
    assert "\n" not in str(caught.value)


def test_a_missing_model_is_refused(three: Calibration) -> None:
    (three.folder / three.model.file).unlink()
    for target in ("urdf", "mjcf", "sdf"):
        with pytest.raises(InputError, match="the calibration's model is missing"):
            plainly(three, target)


def test_names_with_xml_characters(
    make_calibration: Callable[..., Calibration], tmp_path: Path
) -> None:
    """A joint may be called anything."""
    made = make_calibration()
    text = (
        (made.folder / "lab6.urdf")
        .read_text(encoding="utf-8")
        .replace('"j1"', '"a &lt;b&gt; &quot;c&quot;"')
    )
    saved(text, made.folder, "lab6.urdf")
    made = replace(made, joints={'a <b> "c"': made.joints["j1"]})
    for target in ("urdf", "mjcf", "sdf"):
        assert 'a <b> "c"' in read_back(plainly(made, target).text, target)


def test_friction_of_mujocos_default_yields_at_slow_speed(
    make_calibration: Callable[..., Calibration],
) -> None:
    """Why the exported MJCF states solimpfriction."""
    made = make_calibration(
        joints={"j6": made_joint("coulomb-viscous", "none", 0, coulomb=1.0, viscous=0.5)}
    )
    model = mujoco.MjModel.from_xml_string(plainly(made, "mjcf").text)
    assert resistance(model, "j6", 0.01) == pytest.approx(1.005, rel=1e-4)
    model.dof_solimp[:] = 0.9, 0.95, 0.001, 0.5, 2.0
    assert resistance(model, "j6", 0.01) < 0.2
