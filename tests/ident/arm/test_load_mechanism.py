"""Models from URDF, MJCF and TOML against what Pinocchio and MuJoCo make of the same files, and what is refused."""

import logging
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from stribeck import joint_loads, load_mechanism
from stribeck.ident.arm.built_in import data_dir
from stribeck.ident.errors import InputError, ModelError
from stribeck.ident.model.driven.driving_torques import driving_torque
from stribeck.ident.model.dynamics import inverse_dynamics, joint_wrenches
from stribeck.ident.model.files.collision_model import collision_model
from stribeck.ident.model.files.mimic_joints import hold_followers
from stribeck.ident.model.files.urdf_mjcf import model_spec
from stribeck.ident.model.mechanism import Spring
from tests.judges import HAND

LAB6 = data_dir() / "arms" / "lab6" / "lab6.urdf"
GRAVITIES = [(0.0, 0.0, -9.81), (0.0, 9.81, 0.0), (3.0, -4.0, -8.0), (0.0, 0.0, 0.0)]

# turned frames, slanted axes, a slide, a fixed joint in the middle and one at the end, a branch, a mounting plate
WORKSHOP = """<?xml version="1.0"?>
<robot name="workshop">
  <link name="world"/>
  <joint name="plate" type="fixed"><parent link="world"/><child link="base"/>
    <origin xyz="0.1 0.2 0.3" rpy="0.3 0.2 -0.4"/></joint>
  <link name="base"><inertial><origin xyz="0 0 0.1"/><mass value="9"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="turn" type="continuous"><parent link="base"/><child link="column"/>
    <origin xyz="0.1 0.05 0.2" rpy="0.1 -0.7 0.4"/><axis xyz="0.2 0.1 1"/></joint>
  <link name="column"><inertial><origin xyz="0.02 0.1 0.05" rpy="0.5 0.1 -0.2"/><mass value="3"/>
    <inertia ixx="0.03" iyy="0.04" izz="0.05" ixy="0.002" ixz="-0.003" iyz="0.004"/></inertial></link>
  <joint name="bracket" type="fixed"><parent link="column"/><child link="rail"/>
    <origin xyz="0.2 -0.1 0.3" rpy="-1.1 0.3 0.9"/></joint>
  <link name="rail"><inertial><origin xyz="0 0.04 -0.05" rpy="0.2 0 0"/><mass value="1.5"/>
    <inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0.001" iyz="0"/></inertial></link>
  <joint name="slide" type="prismatic"><parent link="rail"/><child link="carriage"/>
    <origin xyz="0.05 0 0.1" rpy="0 0.8 0"/><axis xyz="1 0.5 0"/>
    <limit lower="-0.2" upper="0.6" velocity="1" effort="100"/></joint>
  <link name="carriage"><inertial><origin xyz="0.1 0 0"/><mass value="2"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="tip" type="revolute"><parent link="carriage"/><child link="hand"/>
    <origin xyz="0 0.3 0" rpy="0.4 0.4 0.4"/><axis xyz="0 0 -1"/>
    <limit lower="-1" upper="2" velocity="1" effort="100"/></joint>
  <link name="hand"><inertial><origin xyz="0.05 0.02 0.1"/><mass value="0.8"/>
    <inertia ixx="0.002" iyy="0.003" izz="0.002" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="flange" type="fixed"><parent link="hand"/><child link="gripper"/>
    <origin xyz="0 0.1 0.2" rpy="0 1.5 0.5"/></joint>
  <link name="gripper"><inertial><origin xyz="0.01 0 0.03" rpy="1 0 0"/><mass value="0.6"/>
    <inertia ixx="0.001" iyy="0.002" izz="0.002" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="lamp" type="revolute"><parent link="rail"/><child link="shade"/>
    <origin xyz="-0.1 0.2 0"/><axis xyz="0 1 0"/><limit lower="-1.5" upper="1.5" velocity="1" effort="10"/></joint>
  <link name="shade"><inertial><origin xyz="0.2 0 0"/><mass value="0.3"/>
    <inertia ixx="0.001" iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
</robot>
"""
INERTIAL = ('<inertial><origin xyz="0.1 0 0"/><mass value="1"/>'
            '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>')
BODY = '<inertial pos="0 0 0.1" mass="1" diaginertia="1 1 1"/>'


@pytest.fixture(scope="module")
def pin() -> ModuleType:
    return pytest.importorskip("pinocchio", reason="Pinocchio (the package pin) judges the models")


@pytest.fixture(scope="module")
def mujoco() -> ModuleType:
    return pytest.importorskip("mujoco", reason="MuJoCo judges the models")


@pytest.fixture
def lab6(tmp_path: Path) -> Path:
    """A folder with the lab arm's model."""
    (tmp_path / "lab6.urdf").write_bytes(LAB6.read_bytes())
    return tmp_path


def written(folder: Path, text: str, name: str = "robot.urdf") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def two_links(first: str = INERTIAL, second: str = INERTIAL, kind: str = "revolute", more: str = "") -> str:
    limit = '<limit lower="-1" upper="1" velocity="1" effort="1"/>'
    return (f'<robot name="r"><link name="base"/><link name="upper">{first}</link><link name="lower">{second}</link>'
            f'<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>'
            f'<axis xyz="0 1 0"/>{limit}</joint>'
            f'<joint name="elbow" type="{kind}"><parent link="upper"/><child link="lower"/>'
            f'<origin xyz="1 0 0"/><axis xyz="0 1 0"/>{limit}{more}</joint></robot>')


def mjcf(body: str, more: str = "") -> str:
    return (f'<mujoco><compiler angle="radian"/><option gravity="1 2 -3"/><worldbody>{body}</worldbody>{more}</mujoco>')


def assert_agrees_with_pinocchio(mechanism: object, model: object, pin: ModuleType) -> None:
    """Torques and every wrench of random states; Pinocchio may count the joints in another order."""
    rng = np.random.default_rng(0)
    data = model.createData()
    q, dq, ddq = rng.normal(size=(3, 15, mechanism.n))
    tau, ours = inverse_dynamics(mechanism, q, dq, ddq), joint_wrenches(mechanism, q, dq, ddq)
    joints = [model.joints[model.getJointId(name)] for name in mechanism.names]
    assert model.njoints == mechanism.n + 1
    for k in range(len(q)):
        posture, v, a = pin.neutral(model), np.zeros(model.nv), np.zeros(model.nv)
        for j, joint in enumerate(joints):
            posture[joint.idx_q] = q[k, j] if joint.nq == 1 else np.cos(q[k, j])
            if joint.nq == 2:                                    # a continuous joint is cosine and sine
                posture[joint.idx_q + 1] = np.sin(q[k, j])
            v[joint.idx_v], a[joint.idx_v] = dq[k, j], ddq[k, j]
        reference = pin.rnea(model, data, posture, v, a).copy()
        pin.forwardKinematics(model, data, posture)
        for j, joint in enumerate(joints):
            turn, wrench = data.oMi[joint.id].rotation, data.f[joint.id]
            assert tau[k, j] == pytest.approx(reference[joint.idx_v], abs=1e-9)
            np.testing.assert_allclose(ours.force[k, j], turn @ wrench.linear, rtol=0, atol=1e-9)
            np.testing.assert_allclose(ours.moment[k, j], turn @ wrench.angular, rtol=0, atol=1e-9)


@pytest.mark.parametrize("gravity", GRAVITIES)
def test_lab6_agrees_with_pinocchio(gravity: tuple[float, ...], pin: ModuleType) -> None:
    model = pin.buildModelFromUrdf(str(LAB6))
    model.gravity.linear = np.array(gravity)
    mechanism = load_mechanism("lab6", gravity=gravity)
    assert mechanism.names == ("j1", "j2", "j3", "j4", "j5", "j6")
    assert_agrees_with_pinocchio(mechanism, model, pin)


def test_fixed_joints_slides_branches_and_turned_frames_agree_with_pinocchio(tmp_path: Path, pin: ModuleType) -> None:
    path = written(tmp_path, WORKSHOP)
    mechanism = load_mechanism(path, gravity=(3.0, -4.0, -8.0))
    model = pin.buildModelFromUrdf(str(path))
    model.gravity.linear = np.array([3.0, -4.0, -8.0])
    assert set(mechanism.names) == {"turn", "slide", "tip", "lamp"}
    assert_agrees_with_pinocchio(mechanism, model, pin)


def test_joint_ranges_come_from_the_model(tmp_path: Path) -> None:
    mechanism = load_mechanism(written(tmp_path, WORKSHOP))
    ranges = dict(zip(mechanism.names, mechanism.position.tolist(), strict=True))
    assert ranges == {"turn": [-np.inf, np.inf], "slide": [-0.2, 0.6], "tip": [-1.0, 2.0], "lamp": [-1.5, 1.5]}


@pytest.mark.parametrize("gravity", GRAVITIES)
def test_a_tool_is_a_point_mass_on_the_flange(lab6: Path, gravity: tuple[float, ...], pin: ModuleType) -> None:
    arm = written(lab6, f'schema = 1\nname = "tooled"\nmodel = "lab6.urdf"\ngravity = {list(gravity)}\n'
                        "tool = { mass = 2.5, com = [0.03, -0.04, 0.12] }\n", "tooled.toml")
    model = pin.buildModelFromUrdf(str(LAB6))
    model.gravity.linear = np.array(gravity)
    tool = pin.Inertia(2.5, np.array([0.03, -0.04, 0.12]), np.zeros((3, 3)))
    model.appendBodyToJoint(model.getJointId("j6"), tool, pin.SE3.Identity())
    mechanism = load_mechanism(arm)
    assert_agrees_with_pinocchio(mechanism, model, pin)
    assert mechanism.name == "tooled"


def test_gravity_argument_overrides_arm_file_which_overrides_model(lab6: Path) -> None:
    arm = written(lab6, 'schema = 1\nname = "wall"\nmodel = "lab6.urdf"\ngravity = [9.81, 0.0, 0.0]\n', "wall.toml")
    assert load_mechanism(arm).gravity.tolist() == [9.81, 0.0, 0.0]
    assert load_mechanism(arm, gravity=[0, 1, 2]).gravity.tolist() == [0.0, 1.0, 2.0]
    bare = written(lab6, mjcf(f'<body><joint name="a"/>{BODY}</body>'), "a.xml")
    assert load_mechanism(bare).gravity.tolist() == [1.0, 2.0, -3.0]
    assert load_mechanism(LAB6).gravity.tolist() == [0.0, 0.0, -9.81]


@pytest.mark.parametrize("gravity", [(0.0, -9.81), (0.0, 0.0, np.nan), -9.81])
def test_gravity_that_is_no_vector_is_refused(gravity: object) -> None:
    for model in ("lab6", "five-axis-tree", LAB6):
        with pytest.raises(InputError, match="gravity"):
            load_mechanism(model, gravity=gravity)


def test_bearings_come_from_the_arm_file(lab6: Path) -> None:
    arm = written(lab6, 'schema = 1\nname = "b"\nmodel = "lab6.urdf"\n[joints.j3]\n'
                        "bearing = { pin_radius = 0.01, friction_arm = 0.02, bending_arm = 0.03 }\n", "b.toml")
    bearings = load_mechanism(arm).bearings
    assert [bearing is None for bearing in bearings] == [True, True, False, True, True, True]
    assert (bearings[2].pin_radius, bearings[2].friction_arm, bearings[2].bending_arm) == (0.01, 0.02, 0.03)


def test_a_joint_table_that_the_model_lacks_is_refused(lab6: Path) -> None:
    """Else the bearing of a misspelt joint would silently go missing."""
    arm = written(lab6, 'schema = 1\nname = "b"\nmodel = "lab6.urdf"\n[joints.j33]\nvelocity = 1.0\n', "b.toml")
    with pytest.raises(InputError, match=r"b\.toml: \[joints\.j33\].*did you mean 'j3'.*j1, j2, j3, j4, j5, j6"):
        load_mechanism(arm)


MJCF_BODIES = {
    "two joints on a body": """<body name="a" pos="0.1 0.2 0.3" quat="1 1 0 0.3">
        <joint name="a1" pos="0.1 0.2 0.3" axis="1 1 0"/><joint name="a2" type="slide" axis="0 1 1"/>
        <inertial pos="0 0.1 0.1" mass="1" diaginertia="0.1 0.1 0.1" quat="1 0.2 0.3 0"/>
        <body pos="0 0.3 0" euler="1 2 3"><joint name="b" pos="0 0.1 0" axis="0 0 1"/>
        <inertial pos="0.1 0 0.1" mass="2" diaginertia="0.1 0.2 0.25"/></body></body>""",
    "reference angle": """<body><joint name="a" axis="0 1 0" ref="0.7"/>
        <inertial pos="0.3 0 0.1" mass="1" diaginertia="0.1 0.1 0.1"/></body>""",
    "welded child": """<body><joint name="a" axis="0 1 0"/>
        <inertial pos="0.3 0 0.1" mass="1" diaginertia="0.1 0.1 0.1"/>
        <body pos="0.5 0 0" euler="0.3 0.2 0.1">
        <inertial pos="0.1 0.2 0" mass="2" diaginertia="0.1 0.2 0.25"/></body></body>""",
    "mass from geometry": """<body><joint name="a" axis="0 1 0"/>
        <geom type="capsule" size="0.05" fromto="0 0 0 0.4 0 0.2"/>
        <geom type="sphere" size="0.1" pos="0.4 0 0.2" mass="2"/>
        <body pos="0.5 0 0" euler="0.3 0.2 0.1"><joint name="b" axis="1 0 0"/>
        <inertial pos="0.1 0.2 0" mass="2" diaginertia="0.1 0.2 0.25"/>
        <geom type="box" size="0.1 0.1 0.1"/></body></body>""",
}


@pytest.mark.parametrize("kind", MJCF_BODIES)
def test_mjcf_agrees_with_mujoco(kind: str, tmp_path: Path, mujoco: ModuleType) -> None:
    path = written(tmp_path, mjcf(MJCF_BODIES[kind]), "robot.xml")
    mechanism = load_mechanism(path)
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    rng = np.random.default_rng(0)
    q, dq, ddq = rng.normal(size=(3, 10, model.nv))
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    tau = inverse_dynamics(mechanism, q, dq, ddq)
    assert mechanism.names == tuple(model.joint(j).name for j in range(model.njnt))
    for k in range(len(q)):
        data.qpos[:], data.qvel[:], data.qacc[:] = q[k], dq[k], ddq[k]
        mujoco.mj_inverse(model, data)
        np.testing.assert_allclose(tau[k], data.qfrc_inverse, rtol=0, atol=1e-9)


def test_springs_of_an_mjcf_act_across_their_drives(tmp_path: Path, mujoco: ModuleType, caplog: pytest.LogCaptureFixture) -> None:
    text = mjcf(f'<body><joint name="a" stiffness="30" damping="0.4"/>{BODY}<body pos="0.3 0 0.1"><joint name="b" axis="0 1 0" '
                f'damping="0.1" frictionloss="0.2"/>{BODY}<body><joint name="c" type="slide" axis="1 0 0" stiffness="200"/>{BODY}'
                '</body></body></body>')
    path = written(tmp_path, text, "robot.xml")
    mechanism = load_mechanism(path)
    assert mechanism.springs == {0: Spring(30.0, 0.4), 2: Spring(200.0)}
    assert mechanism.passive == ()
    (warning,) = caplog.messages
    assert "joints a, c have springs" in warning
    model = mujoco.MjModel.from_xml_string(text.replace('damping="0.1" frictionloss="0.2"', ""))
    data = mujoco.MjData(model)
    q, dq, ddq = np.random.default_rng(0).normal(size=(3, 5, 3))
    tau = driving_torque(mechanism, q, dq, ddq).tau
    for k in range(5):
        data.qpos[:], data.qvel[:], data.qacc[:] = q[k], dq[k], ddq[k]
        mujoco.mj_inverse(model, data)
        np.testing.assert_allclose(tau[k], data.qfrc_inverse, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("joint", "body", "more", "said"), [
    ('stiffness="30" springref="0.2"', "", "", "springs of joints b are left out"),
    ('stiffness="30 2"', "", "", "springs of joints b are left out"),
    ('stiffness="30" damping="1 2"', "", "", "springs of joints b are left out"),
    ('stiffness="30"', "", '<equality><joint joint1="b" joint2="a"/></equality>', "springs of joints b are left out"),
    ("", 'gravcomp="1"', "", "gravcomp of the links of joints b is left out"),
    ("", "", '<tendon><fixed name="cord" stiffness="5"><joint joint="b" coef="1"/></fixed></tendon>', "tendons cord are left"),
    ("", "", '<tendon><fixed damping="5"><joint joint="b" coef="1"/></fixed></tendon>', "tendons 0 are left out"),
])
def test_forces_of_an_mjcf_that_are_left_out_are_named(joint: str, body: str, more: str, said: str, tmp_path: Path,
                                                       caplog: pytest.LogCaptureFixture) -> None:
    text = mjcf(f'<body><joint name="a"/>{BODY}<body {body}><joint name="b" axis="0 1 0" {joint}/>{BODY}</body></body>', more)
    assert load_mechanism(written(tmp_path, text, "robot.xml")).springs == {}
    (warning,) = caplog.messages
    assert said in warning


def test_missing_meshes_do_not_matter(tmp_path: Path) -> None:
    mesh = '<visual><geometry><mesh filename="package://nowhere/v.stl"/></geometry></visual>' \
           '<collision><geometry><mesh filename="package://nowhere/c.dae"/></geometry></collision>'
    bare = load_mechanism(written(tmp_path, two_links()))
    dressed = load_mechanism(written(tmp_path, two_links(first=INERTIAL + mesh)))
    q = np.random.default_rng(0).normal(size=(5, 2))
    np.testing.assert_array_equal(inverse_dynamics(dressed, q), inverse_dynamics(bare, q))


LOST = '<asset><mesh name="m" file="nowhere.stl"/><mesh name="v" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset>'
TWO = ('<geom type="mesh" mesh="m" mass="0"/><body><joint name="a"/>{}<body name="tool" pos="0.5 0 0">'
       '<geom type="box" size="0.1 0.1 0.1" mass="5"/>{}</body></body>')


@pytest.mark.parametrize(("link", "tool", "mass", "named"), [
    (BODY, "", 6.0, []),
    (BODY, '<geom type="mesh" mesh="m" density="0"/><geom type="mesh" mesh="v" mass="2"/>', 8.0, []),
    (BODY + '<geom type="mesh" mesh="m"/>', "", 6.0, []),
    (BODY, '<geom type="mesh" mesh="m"/>', 6.0, ["body tool"]),
    ('<geom type="mesh" mesh="m"/>', "", 5.0, ["the body of joint a"]),
])
def test_a_missing_mesh_takes_no_other_mass_with_it(link: str, tool: str, mass: float, named: list[str], tmp_path: Path,
                                                    caplog: pytest.LogCaptureFixture) -> None:
    mechanism = load_mechanism(written(tmp_path, mjcf(TWO.format(link, tool), LOST), "a.xml"))
    np.testing.assert_allclose(mechanism.mass, [mass], rtol=0, atol=1e-9)
    said = [message for message in caplog.messages if "meshes that cannot be read (m)" in message]
    assert [name for name in ("body tool", "the body of joint a") if any(name in message for message in said)] == named
    assert len(said) == len(caplog.messages) == len(named)


def test_what_refers_to_shapes_goes_with_them(tmp_path: Path) -> None:
    """Sensors, pairs and tuples of geoms are no part of the mechanism, and do not keep it from being compiled."""
    bodies = ('<body><joint name="a"/><geom name="g" size="0.1"/><body pos="0 0 0.5"><joint name="b" axis="0 1 0"/>'
              '<geom name="h" size="0.1"/></body></body>')
    more = ('<sensor><distance geom1="g" geom2="h" cutoff="1"/></sensor><contact><pair geom1="g" geom2="h"/></contact>'
            '<custom><tuple name="t"><element objtype="geom" objname="g"/></tuple></custom>')
    path = written(tmp_path, mjcf(bodies, more), "a.xml")
    assert load_mechanism(path).names == ("a", "b")
    assert model_spec(path).compile().njnt == 2
    assert collision_model(path)[0].ngeom == 2


def test_a_mesh_that_is_there_has_its_mass_whatever_the_ending_of_the_file(tmp_path: Path) -> None:
    written(tmp_path, "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n", "corner.obj")
    text = mjcf('<body><joint name="a"/><geom type="mesh" mesh="corner"/></body>',
                '<asset><mesh file="corner.obj"/><mesh name="m" file="nowhere.stl"/></asset>')
    for name in ("a.xml", "a.XML", "a.mjcf"):
        np.testing.assert_allclose(load_mechanism(written(tmp_path, text, name)).mass, [1000.0 / 6.0], rtol=1e-6)


def test_a_link_without_mass_takes_none_from_others(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    body = '<body><joint name="a"/><body><joint name="b"/><geom size="0.1" mass="2"/></body></body>'
    np.testing.assert_allclose(load_mechanism(written(tmp_path, mjcf(body), "a.xml")).mass, [0.0, 2.0], atol=1e-9)
    (warning,) = caplog.messages
    assert "links of joints a have no mass" in warning


def test_geoms_overrule_inertias_where_an_mjcf_says_so(tmp_path: Path) -> None:
    text = mjcf(f'<body><joint name="a"/>{BODY}<geom size="0.1" mass="3"/></body>')
    assert load_mechanism(written(tmp_path, text, "a.xml")).mass.tolist() == [1.0]
    forced = text.replace('angle="radian"', 'angle="radian" inertiafromgeom="true"')
    assert load_mechanism(written(tmp_path, forced, "b.xml")).mass.tolist() == pytest.approx([3.0])


def test_gravity_that_an_mjcf_switches_off_is_none_until_another_is_given(tmp_path: Path) -> None:
    text = mjcf(f'<body><joint name="a" axis="0 1 0"/>{BODY}</body>', '<option><flag gravity="disable"/></option>')
    path = written(tmp_path, text, "a.xml")
    assert load_mechanism(path).gravity.tolist() == [0.0, 0.0, 0.0]
    assert load_mechanism(path, gravity=[0, 0, -1]).gravity.tolist() == [0.0, 0.0, -1.0]


def test_a_urdf_may_end_in_capitals(tmp_path: Path) -> None:
    assert load_mechanism(written(tmp_path, two_links(), "ROBOT.URDF")).names == ("shoulder", "elbow")


def test_collision_shapes_give_a_urdf_link_no_mass(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A URDF link without <inertial> has none; a density that nobody stated must not appear in the loads."""
    box = '<collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision>'
    mechanism = load_mechanism(written(tmp_path, two_links(second=box)))
    assert mechanism.mass[1] < 1e-9
    assert "elbow" in caplog.text


@pytest.mark.parametrize(("first", "second", "named"), [(INERTIAL, "", ["elbow"]), ("", INERTIAL, ["shoulder"]),
                                                        ("", "", ["shoulder", "elbow"])])
def test_a_link_without_mass_is_warned_of_by_joint(first: str, second: str, named: list[str], tmp_path: Path,
                                                   caplog: pytest.LogCaptureFixture) -> None:
    mechanism = load_mechanism(written(tmp_path, two_links(first, second)))
    assert mechanism.names == ("shoulder", "elbow")
    (warning,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    message = warning.getMessage()
    assert "mass" in message
    assert [name for name in mechanism.names if name in message] == named


def test_links_with_mass_are_not_warned_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    load_mechanism(written(tmp_path, WORKSHOP))
    load_mechanism(written(tmp_path, mjcf(MJCF_BODIES["two joints on a body"]), "robot.xml"))
    load_mechanism("lab6")
    assert not caplog.records


def test_weights_of_a_massless_link_are_those_beyond_it(tmp_path: Path) -> None:
    mechanism = load_mechanism(written(tmp_path, two_links(first="")))
    force = joint_wrenches(mechanism, np.zeros((1, 2))).force[0]
    np.testing.assert_allclose(force, [[0.0, 0.0, 9.81], [0.0, 0.0, 9.81]], atol=1e-9)


CHAIN = f'<body><joint name="a"/>{BODY}<body><joint name="b"/>{BODY}<body><joint name="c"/>{BODY}</body></body></body>'
FOLLOW = '<equality><joint joint1="b" joint2="a" {}/></equality>'
CRANK = f'<body name="crank"><joint name="crank"/>{BODY}</body>'


@pytest.mark.parametrize(("name", "text", "said"), [
    ("a.urdf", two_links(kind="floating"), r"joint elbow is a floating joint"),
    ("a.xml", mjcf(f'<body><joint name="wrist" type="ball"/>{BODY}</body>'), r"joint wrist is a ball joint"),
    ("a.xml", mjcf(f'<body><freejoint name="drone"/>{BODY}</body>'), r"joint drone is a floating joint"),
    ("a.xml", mjcf(f"<body><joint/>{BODY}</body>"), r"joint number 0 has no name"),
    ("a.urdf", two_links(kind="planar"), r"joint elbow is a planar joint; only revolute, continuous and prismatic"),
    ("a.urdf", two_links(kind="screw"), r"joint elbow is a screw joint"),
    ("a.urdf", two_links(more='<mimic joint="sholder"/>'), r"elbow mimics unknown joint 'sholder'; did you mean 'shoulder'"),
    ("a.xml", mjcf(CHAIN, FOLLOW.format("")), r"joint c sits on joint b, which has no drive"),
    ("a.xml", mjcf(CHAIN, FOLLOW.format('polycoef="0 1 0.3 0 0"')), r"joint b follows others by more than one constant"),
    ("a.xml", mjcf(CHAIN, FOLLOW.format('/><joint joint1="a" joint2="b"')), r"joint [ab] follows itself"),
    ("a.xml", mjcf(CRANK, '<equality><connect body1="crank" anchor="0 0 0"/></equality>'), r"1 equality constraint"),
    ("a.xml", mjcf(CHAIN, '<equality><joint joint1="b" joint2="a"/><connect body1="loop" body2="world" anchor="0 0 0" '
                   'active="false"/><connect body1="loop" body2="world" anchor="0 0 0"/></equality>').replace("<body>", (
                       '<body name="loop">'), 1), r"closes a loop by 1 equality constraint\(s\), such as connect"),
    ("a.urdf", two_links(more='<mimic joint="elbow"/>'), r"joint elbow follows itself"),
    ("a.urdf", two_links().replace('"elbow"', '"shoulder"'), r"two joints are called shoulder"),
    ("a.urdf", two_links(second=INERTIAL.replace('mass value="1"', 'mass value="-0.4"'), kind="fixed"),
     r"body lower has a mass of -0\.4 kg"),
    ("a.urdf", two_links(first=INERTIAL.replace('mass value="1"', 'mass value="-0.4"')), r"body upper has a mass of -0\.4 kg"),
    ("a.xml", mjcf(CHAIN).replace("</body>", '<body><inertial pos="0 0 0" mass="-1" diaginertia="1 1 1"/></body></body>', 1),
     r"a nameless body on the body of joint c has a mass of -1 kg"),
    ("a.urdf", '<robot name="r"><link name="base"/></robot>', r"no moving joint"),
])
def test_what_is_no_open_tree_is_refused_by_name(name: str, text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=said) as caught:
        load_mechanism(written(tmp_path, text, name))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("name", "text"), [("a.urdf", "hello"), ("a.urdf", '<robot name="r"><link'), ("a.urdf", ""),
                                            ("a.xml", '<mujoco><worldbody><body><joint name="a" typ="hinge"/></body>'
                                                      "</worldbody></mujoco>")])
def test_an_unreadable_model_is_one_line_with_its_file(name: str, text: str, tmp_path: Path) -> None:
    path = written(tmp_path, text, name)
    with pytest.raises(InputError) as caught:
        load_mechanism(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("element", ['<include file="../secret.xml"/>', '<include file="&#46;&#46;/secret.xml"/>',
                                     '<include a=">" file="../secret.xml"/>', "<include\n file = '../secret.xml'></include>",
                                     '<include file="inner.xml"/>'])
def test_an_include_from_outside_the_folder_is_refused(element: str, tmp_path: Path) -> None:
    """However it is written, and where an included file includes it."""
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "secret.xml").write_text("<mujoco><worldbody><body><joint name='a'/><geom size='1'/></body></worldbody></mujoco>")
    (folder / "inner.xml").write_text('<mujoco><include file="../secret.xml"/></mujoco>')
    (folder / "arm.xml").write_text(f"<mujoco>{element}</mujoco>")
    with pytest.raises(InputError, match="outside its folder"):
        load_mechanism(folder / "arm.xml")


def test_a_model_whose_name_is_no_text_is_read(tmp_path: Path) -> None:
    text = LAB6.read_bytes().replace(b'name="lab6"', b'name="la\xee\xec6"', 1)
    (tmp_path / "arm.urdf").write_bytes(text)
    (tmp_path / "arm.toml").write_text('schema = 1\nname = "arm"\nmodel = "arm.urdf"\ntool = { mass = 1.0 }\n', encoding="utf-8")
    assert load_mechanism(tmp_path / "arm.toml").n == 6


def test_a_missing_file_and_an_unknown_name_say_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone\.urdf: no such file"):
        load_mechanism(tmp_path / "gone.urdf")
    with pytest.raises(InputError, match=r"unknown arm 'lab66'; did you mean 'lab6'\?.*five-axis-tree"):
        load_mechanism("lab66")


# joints that others move

TIP = """<joint name="tip" type="revolute"><parent link="right finger"/><child link="nail"/><origin xyz="0 0.03 0.2"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="1" velocity="1" effort="1"/>
    <mimic joint="{}" multiplier="{}" offset="{}"/></joint>
  <link name="nail">""" + INERTIAL + "</link></robot>"


def test_a_mimic_joint_loads_its_leader_and_all_that_carry_it(tmp_path: Path, pin: ModuleType) -> None:
    path = written(tmp_path, HAND)
    mechanism = load_mechanism(path, gravity=(3.0, -4.0, -8.0))
    assert mechanism.names == ("wrist", "left")
    model = pin.buildModelFromUrdf(str(path), mimic=True)
    model.gravity.linear = np.array([3.0, -4.0, -8.0])
    data = model.createData()
    q, dq, ddq = np.random.default_rng(0).normal(size=(3, 15, 2))
    loads, held = joint_loads(mechanism, q, dq, ddq), joint_loads(mechanism, q * [1.0, 0.0], dq * [1.0, 0.0], ddq * [1.0, 0.0])
    assert np.abs(loads.bending[:, 0] - held.bending[:, 0]).max() > 0.1       # where the fingers are does matter
    for k in range(len(q)):
        posture = np.array([np.cos(q[k, 0]), np.sin(q[k, 0]), q[k, 1]])
        np.testing.assert_allclose(loads.tau[k], pin.rnea(model, data, posture, dq[k], ddq[k]), rtol=0, atol=1e-9)
        pin.forwardKinematics(model, data, posture)
        for j in range(2):
            turn, wrench = data.oMi[j + 1].rotation, data.f[j + 1]
            np.testing.assert_allclose(loads.force[k, j], turn @ wrench.linear, rtol=0, atol=1e-9)
            np.testing.assert_allclose(loads.moment[k, j], turn @ wrench.angular, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(loads.torque, np.abs(loads.tau))
    np.testing.assert_allclose(inverse_dynamics(mechanism, q, dq, ddq), loads.tau, rtol=0, atol=1e-12)
    with pytest.raises(ModelError, match=r"right follows left; take mechanism\.tree"):     # never without them, unnoticed
        joint_wrenches(mechanism, q)


def test_a_joint_on_the_driving_one_may_follow_it(tmp_path: Path) -> None:
    """An upper and a lower link of 1 kg with their centres 0.1 m out; the elbow, 1 m out, turns twice as far, the other way."""
    path = written(tmp_path, two_links(more='<mimic joint="shoulder" multiplier="-2" offset="0.5"/>'))
    mechanism = load_mechanism(path)
    q = np.linspace(-1.0, 1.0, 5)
    lower = 0.5 - 2.0 * q                              # turns about y: down is positive
    slope = -9.81 * (0.1 * np.cos(q) + np.cos(q) + 0.1 * np.cos(q + lower) * (1.0 - 2.0))
    np.testing.assert_allclose(joint_loads(mechanism, q[:, None]).tau[:, 0], slope, rtol=0, atol=1e-9)


def test_a_follower_of_a_follower_follows_the_first(tmp_path: Path) -> None:
    chain = load_mechanism(written(tmp_path, HAND.replace("</robot>", TIP.format("right", 0.5, -0.2)), "chain.urdf"))
    direct = load_mechanism(written(tmp_path, HAND.replace("</robot>", TIP.format("left", -3.25, -0.05)), "direct.urdf"))
    motion = np.random.default_rng(0).normal(size=(3, 9, 2))
    assert [one.name for one in chain.followers] == ["right", "tip"]
    np.testing.assert_allclose(joint_loads(chain, *motion).tau, joint_loads(direct, *motion).tau, rtol=0, atol=1e-10)


def test_followers_of_an_mjcf_stand_where_mujoco_wants_them(tmp_path: Path, mujoco: ModuleType) -> None:
    """Joint equality counts from the reference positions and may hold a joint at a value."""
    text = mjcf(f'<body><joint name="a" ref="0.4"/>{BODY}<body><joint name="b" axis="0 1 0" ref="-0.3"/>{BODY}</body></body>'
                f'<body><joint name="c" axis="1 0 0"/>{BODY}</body>',
                '<equality><joint joint1="b" joint2="a" polycoef="0.1 -2 0 0 0"/><joint joint1="c" polycoef="0.7 0 0 0 0"/>'
                '<connect body1="body" anchor="0 0 0" active="false"/></equality>').replace("<body>", '<body name="body">', 1)
    path = written(tmp_path, text, "robot.xml")
    mechanism = load_mechanism(path)
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    data.qpos[0] = 1.3
    data.qpos[1:] = [one.ratio * 1.3 + one.shift for one in mechanism.followers]
    mujoco.mj_fwdPosition(model, data)
    assert (mechanism.names, [one.name for one in mechanism.followers], data.ne) == (("a",), ["b", "c"], 2)
    np.testing.assert_allclose(data.efc_pos, 0.0, atol=1e-12)


def test_values_of_followers_are_not_asked_for(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"q has shape \(4, 3\), robot needs \(N, 2\) with columns wrist, left"):
        joint_loads(load_mechanism(written(tmp_path, HAND)), np.zeros((4, 3)))


def test_a_held_follower_stays_where_its_leader_at_zero_puts_it(tmp_path: Path, mujoco: ModuleType) -> None:
    """What the simulated arm moves: its torques are those of the model as long as the gripper rests at zero."""
    path = written(tmp_path, HAND)
    mechanism = load_mechanism(path, gravity=(3.0, -4.0, -8.0))
    spec = model_spec(path)
    hold_followers(spec)
    spec.option.gravity = mechanism.gravity
    model = spec.compile()
    data = mujoco.MjData(model)
    assert tuple(model.joint(j).name for j in range(model.njnt)) == mechanism.names
    q, dq, ddq = np.random.default_rng(0).normal(size=(3, 9, 2)) * [1.0, 0.0]
    tau = joint_loads(mechanism, q, dq, ddq).tau
    for k in range(len(q)):
        data.qpos[:], data.qvel[:], data.qacc[:] = q[k], dq[k], ddq[k]
        mujoco.mj_inverse(model, data)
        assert tau[k, 0] == pytest.approx(data.qfrc_inverse[0], abs=1e-9)


def test_a_follower_that_shares_its_body_cannot_be_held(tmp_path: Path) -> None:
    text = mjcf(f'<body><joint name="a"/><joint name="b" axis="0 1 0"/>{BODY}</body>', FOLLOW.format(""))
    spec = model_spec(written(tmp_path, text, "robot.xml"))
    with pytest.raises(ModelError, match="joint b shares its body"):
        hold_followers(spec)


# how the base stands, and links that are unusual

def test_an_arm_on_a_tilted_plate_is_an_arm_under_tilted_gravity(tmp_path: Path, pin: ModuleType) -> None:
    turn = pin.rpy.rpyToMatrix(0.3, 0.2, -0.4)
    down = np.array([0.0, 0.0, -9.81])
    straight = load_mechanism(written(tmp_path, WORKSHOP.replace('rpy="0.3 0.2 -0.4"', ""), "straight.urdf"), gravity=down)
    tilted = load_mechanism(written(tmp_path, WORKSHOP), gravity=turn @ down)
    upright = load_mechanism(tmp_path / "robot.urdf", gravity=down)
    motion = np.random.default_rng(0).normal(size=(3, 9, 4))
    one, other, wrong = (joint_loads(mechanism, *motion) for mechanism in (straight, tilted, upright))
    for load in ("tau", "torque", "bending", "radial", "axial"):
        np.testing.assert_allclose(getattr(one, load), getattr(other, load), rtol=0, atol=1e-9)
        assert np.abs(getattr(one, load) - getattr(wrong, load)).max() > 0.1
    np.testing.assert_allclose(other.force, one.force @ turn.T, rtol=0, atol=1e-9)


def test_a_body_that_stands_askew_in_an_mjcf_is_an_arm_under_tilted_gravity(tmp_path: Path, mujoco: ModuleType) -> None:
    arm = f'<joint name="a" axis="1 2 0"/>{BODY}<body pos="0 0.3 0"><joint name="b" type="slide"/>{BODY}</body></body>'
    quat, turn = np.array([0.8, 0.2, -0.4, 0.4]), np.empty(9)
    mujoco.mju_quat2Mat(turn, quat)
    straight = load_mechanism(written(tmp_path, mjcf("<body>" + arm), "straight.xml"))
    askew = load_mechanism(written(tmp_path, mjcf('<body pos="1 2 3" quat="0.8 0.2 -0.4 0.4">' + arm), "askew.xml"),
                           gravity=turn.reshape(3, 3) @ straight.gravity)
    motion = np.random.default_rng(0).normal(size=(3, 9, 2))
    one, other = joint_loads(straight, *motion), joint_loads(askew, *motion)
    for load in ("tau", "bending", "radial", "axial"):
        np.testing.assert_allclose(getattr(one, load), getattr(other, load), rtol=0, atol=1e-9)


def link(inertia: str) -> str:
    keys = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
    terms = " ".join(f'{key}="{value}"' for key, value in zip(keys, inertia.split(), strict=True))
    return f'<inertial><origin xyz="0.1 0 0" rpy="0.3 0.2 0.1"/><mass value="1"/><inertia {terms}/></inertial>'


@pytest.mark.parametrize(("inertia", "said"), [
    ("0 0 0 0 0 0", "mass but no inertia"), ("1 1 3 0 0 0", "an inertia that no body has"),
    ("1 -1 3 0.1 0 0", "an inertia that no body has"), ("0 0 0 0.01 0 0", "an inertia that no body has")])
def test_a_link_with_an_odd_inertia_is_warned_of_and_used_as_stated(
        inertia: str, said: str, tmp_path: Path, pin: ModuleType, caplog: pytest.LogCaptureFixture) -> None:
    path = written(tmp_path, two_links(second=link(inertia)))
    mechanism = load_mechanism(path)
    (record,) = caplog.records
    assert f"joints elbow have {said}" in record.getMessage()
    assert_agrees_with_pinocchio(mechanism, pin.buildModelFromUrdf(str(path)), pin)


def test_a_rod_without_thickness_is_not_odd(tmp_path: Path, pin: ModuleType, caplog: pytest.LogCaptureFixture) -> None:
    path = written(tmp_path, two_links(first=link("0.2 0.2 0 0 0 0"), second=link("0 0.1 0.1 0 0 0")))
    assert_agrees_with_pinocchio(load_mechanism(path), pin.buildModelFromUrdf(str(path)), pin)
    assert not caplog.records


def test_what_stands_still_may_be_odd(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    odd, plain = (two_links().replace('<link name="base"/>', f'<link name="base">{inertial}</link>')
                  for inertial in (link("1 -1 3 0.1 0 0"), ""))
    q = np.random.default_rng(0).normal(size=(5, 2))
    np.testing.assert_array_equal(joint_loads(load_mechanism(written(tmp_path, odd)), q).tau,
                                  joint_loads(load_mechanism(written(tmp_path, plain)), q).tau)
    assert not caplog.records


def test_a_link_without_mass_in_the_middle_of_a_chain_is_warned_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A frame on a fixed joint needs no mass; a link that a joint moves does."""
    text = re.sub(r'<link name="(rail|carriage|gripper)">.*?</link>', r'<link name="\1"/>', WORKSHOP, flags=re.DOTALL)
    mechanism = load_mechanism(written(tmp_path, text))
    (record,) = caplog.records
    assert "joints slide have no mass" in record.getMessage()
    assert mechanism.mass[mechanism.names.index("slide")] < 1e-9


def test_remarks_of_mujoco_go_to_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str],
                                         monkeypatch: pytest.MonkeyPatch) -> None:
    """MuJoCo would print them and start a log file of its own in the working directory."""
    monkeypatch.chdir(tmp_path)
    load_mechanism(written(tmp_path, two_links().replace('lower="-1" upper="1"', 'lower="0" upper="0"')))
    assert "equal lower and upper limits" in caplog.text
    assert capfd.readouterr() == ("", "")
    assert [path.name for path in tmp_path.iterdir()] == ["robot.urdf"]


def test_a_tool_sits_on_the_last_link_with_a_drive(tmp_path: Path) -> None:
    """Bodies of an MJCF need no names, and a joint that follows another is none to mount a tool on."""
    text = mjcf(f'<body><joint name="a"/>{BODY}</body><body pos="1 0 0"><joint name="b"/>{BODY}</body>',
                '<equality><joint joint1="b" joint2="a"/></equality>')
    written(tmp_path, text, "robot.xml")
    arm = 'schema = 1\nname = "arm"\nmodel = "robot.xml"\n'
    bare = load_mechanism(written(tmp_path, arm, "bare.toml"))
    tooled = load_mechanism(written(tmp_path, arm + "tool = { mass = 2.0, com = [0.1, 0.0, 0.0] }\n", "tooled.toml"))
    np.testing.assert_allclose(tooled.mass - bare.mass, [2.0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(tooled.mass * tooled.com.T - bare.mass * bare.com.T, [[0.2], [0.0], [0.0]], rtol=0, atol=1e-9)


# mechanism files in natural coordinates

TREE = """
schema = 1
name = "crane"
gravity = [0.0, 0.0, -10.0]
[[joints]]
name = "mast"
parent = "ground"
type = "revolute"
axis = [0.0, 0.0, 2.0]
origin = [0.0, 0.0, 1.0]
mass = 5.0
com = [0.0, 0.0, 0.5]
inertia = [0.3, 0.3, 0.1, 0.01, 0.02, 0.03]
[[joints]]
name = "trolley"
parent = "mast"
type = "prismatic"
axis = [1.0, 0.0, 0.0]
origin = [0.5, 0.0, 1.0]
mass = 2.0
com = [0.0, 0.0, -0.2]
inertia = [0.1, 0.1, 0.1, 0.0, 0.0, 0.0]
bearing = { pin_radius = 0.01, friction_arm = 0.05, bending_arm = 0.2 }
"""


LOOP = ('{ type = "pin", axis = [0.0, 0.0, 1.0], a = { link = "END", point = [0.0, 0.0, 0.0] }, '
        'b = { link = "mast", point = [0.5, 0.0, 1.0] } }')


def test_a_mechanism_file_says_what_it_states(tmp_path: Path) -> None:
    crane = load_mechanism(written(tmp_path, TREE, "crane.toml"))
    assert (crane.name, crane.names, crane.parent) == ("crane", ("mast", "trolley"), (-1, 0))
    assert crane.prismatic.tolist() == [False, True]
    assert crane.axis.tolist() == [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    assert crane.inertia[0].tolist() == [[0.3, 0.01, 0.02], [0.01, 0.3, 0.03], [0.02, 0.03, 0.1]]
    assert crane.gravity.tolist() == [0.0, 0.0, -10.0]
    assert crane.position.tolist() == [[-np.inf, np.inf]] * 2
    assert crane.bearings[0] is None
    assert crane.bearings[1].bending_arm == 0.2
    assert load_mechanism(written(tmp_path, TREE, "crane.toml"), gravity=(0, 0, -1.6)).gravity[2] == -1.6


@pytest.mark.parametrize(("old", "new", "said"), [
    ('parent = "mast"', 'parent = "boom"', r"parent 'boom' of joint 'trolley' is neither 'ground' nor .*\(mast\)"),
    ('parent = "ground"', 'parent = "trolley"', r"parent 'trolley' of joint 'mast'"),
    ('name = "trolley"', 'name = "mast"', r"'mast' is taken twice"),
    ("axis = [1.0, 0.0, 0.0]", "axis = [0.0, 0.0, 0.0]", r"axis of joint 'trolley' has length 0"),
    ("mass = 2.0", "mass = nan", r"joints\.1\.mass = nan"),
    ("mass = 2.0", "mass = -2.0", r"joints\.1\.mass = -2\.0: .*greater than or equal to 0"),
    ("mass = 2.0\n", "", r"joints\.1\.mass is missing"),
    ("mass = 2.0", "masss = 2.0", r"joints\.1\.masss.*did you mean 'mass'"),
    ("friction_arm", "friction_amr", r"joints\.1\.bearing\.friction_amr.*did you mean 'friction_arm'"),
    ("friction_arm = 0.05", "friction_arm = 0.0", r"friction_arm = 0 m, a positive length"),
    ("com = [0.0, 0.0, -0.2]", "com = [0.0, 0.0]", r"joints\.1\.com"),
    ("[0.0, 0.0, -10.0]", "[0.0, 0.0, inf]", r"gravity\.2 = inf"),
    ('"prismatic"', '"sliding"', r"joints\.1\.type = 'sliding': .*'revolute', 'prismatic', 'universal'"),
    ("schema = 1", "schema = 2", r"schema 2 is newer"),
    ('name = "crane"', 'name = "crane"\nloops = [{ type = "pin" }]', r"loops\.0\.a is missing"),
    ('name = "crane"', 'name = " "', r"name = ' ': a name is needed"),
    ('name = "mast"', 'name = ""', r"joints\.0\.name = '': a name is needed"),
    ('name = "mast"', 'name = "ground"', r"'ground' is taken twice"),
    ("mass = 2.0", "mass = 2.0\nposition = [0.4, -0.4]", r"trolley\.position = \[0\.4, -0\.4\]: the lower limit comes first"),
    ("mass = 2.0", "mass = 2.0\nposition = [0.4, 0.4]", r"the lower limit comes first"),
    ("[0.1, 0.1, 0.1, 0.0", "[0.1, 0.1, -0.1, 0.0", r"trolley\.inertia = \[0\.1, 0\.1, -0\.1, .*no body has this"),
    ("[0.1, 0.1, 0.1, 0.0", "[0.1, 0.1, 0.21, 0.0", r"no body has this.* sum of the others"),
    ("[0.1, 0.1, 0.1, 0.0", "[0.1, 0.1, 0.1, 0.11", r"no body has this"),
    ("mass = 2.0", "mass = 2.0\nspring = { stiffness = 4.0 }\npassive = false", r"passive = false: .*spring.*always passive"),
    ('name = "crane"', f'name = "crane"\nloops = [{LOOP}]'.replace("END", "mast"), r"loops\[0\] ties 'mast' to itself"),
    ('name = "crane"', f'name = "crane"\nloops = [{LOOP}, {LOOP}]'.replace("END", "trolley"), r"loops\[1\] is named 'trolley"),
    ('name = "crane"', f'name = "crane"\nloops = [{LOOP.replace("pin", "rigid")}]'.replace("END", "trolley"),
     r"loops\[0\]\.axis: only a pin has one"),
    ('"prismatic"\naxis = [1.0, 0.0, 0.0]', '"universal"\npassive = false', r"passive = false: .*several axes.*always passive"),
])
def test_a_faulty_mechanism_file_is_refused_with_its_key(old: str, new: str, said: str, tmp_path: Path) -> None:
    path = written(tmp_path, TREE.replace(old, new, 1), "crane.toml")
    with pytest.raises(InputError, match=said) as caught:
        load_mechanism(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


COMPOSITE = """schema = 1
name = "one"
[[joints]]
name = "hip"
parent = "ground"
type = "KIND"
origin = [0.0, 0.0, 0.0]
mass = 0.0
AXES
[[joints]]
name = "NAME"
parent = "hip"
type = "prismatic"
axis = [1.0, 0.0, 0.0]
origin = [0.0, 0.0, 0.0]
mass = 0.0
"""


@pytest.mark.parametrize(("kind", "axes", "name", "said"), [
    ("universal", "axes = [[0.0, 0.0, 1.0], [0.0, 0.0, -2.0]]", "leg", "may not be parallel"),
    ("universal", "axes = [[0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]", "leg", "has length 0"),
    ("spherical", "axes = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [1.0, 0.0, 3.0]]", "leg", "may not lie in one plane"),
    ("planar", "axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 1.0]]", "leg", "one normal to both"),
    ("planar", "axes = [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]", "leg", "not parallel"),
    ("free", "axes = [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]", "leg", "first three"),
    ("universal", "", "hip.2", r"'hip\.2' is taken twice: joint 'hip\.2' and joint 'hip'"),
    ("spherical", "", "hip", "'hip' is taken twice"),
])
def test_axes_and_names_of_a_joint_of_several_axes(kind: str, axes: str, name: str, said: str, tmp_path: Path) -> None:
    text = COMPOSITE.replace("KIND", kind).replace("AXES", axes).replace("NAME", name)
    with pytest.raises(InputError, match=said):
        load_mechanism(written(tmp_path, text, "one.toml"))


def test_a_plane_may_stand_upright(tmp_path: Path) -> None:
    axes = "axes = [[1.0, 0.0, 0.0], [0.0, 0.0, 2.0], [0.0, -1.0, 0.0]]"
    text = COMPOSITE.replace("KIND", "planar").replace("AXES", axes).replace("NAME", "leg")
    mechanism = load_mechanism(written(tmp_path, text, "one.toml"))
    assert mechanism.axis[:3].tolist() == [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]


@pytest.mark.parametrize(("name", "data"), [
    ("u.toml", TREE.encode("utf-16")), ("u.urdf", two_links().encode("utf-16")), ("b.toml", bytes(range(256))),
    ("b.urdf", bytes(range(256))), ("l.toml", TREE.replace("crane", "Kr\xe4n").encode("latin-1"))])
def test_what_is_no_text_in_utf_8_is_said(name: str, data: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match=rf"{name}: this is no text in UTF-8"):
        load_mechanism(tmp_path / name)


def test_a_mechanism_without_joints_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="joints"):
        load_mechanism(written(tmp_path, 'schema = 1\nname = "nothing"\njoints = []\n', "nothing.toml"))
