"""Models from URDF, MJCF and TOML against what Pinocchio and MuJoCo make of the same files, and what is refused."""

import logging
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from ident import load_mechanism
from ident.dynamics import inverse_dynamics, joint_wrenches
from ident.errors import InputError, ModelError
from ident.resources import data_dir

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
    assert_agrees_with_pinocchio_within_dot(mechanism, model, pin)
    assert mechanism.name == "tooled"


def assert_agrees_with_pinocchio_within_dot(mechanism: object, model: object, pin: ModuleType) -> None:
    """Static wrenches exactly; a point mass may be a dot of 1e-9 kg·m² in motion."""
    data, q = model.createData(), np.random.default_rng(1).uniform(-2.0, 2.0, (10, 6))
    ddq = np.random.default_rng(2).normal(size=(10, 6))
    ours, still = inverse_dynamics(mechanism, q, None, ddq), inverse_dynamics(mechanism, q)
    for k in range(len(q)):
        np.testing.assert_allclose(still[k], pin.rnea(model, data, q[k], np.zeros(6), np.zeros(6)), rtol=0, atol=1e-9)
        np.testing.assert_allclose(ours[k], pin.rnea(model, data, q[k], np.zeros(6), ddq[k]), rtol=0, atol=1e-7)


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


def test_missing_meshes_do_not_matter(tmp_path: Path) -> None:
    mesh = '<visual><geometry><mesh filename="package://nowhere/v.stl"/></geometry></visual>' \
           '<collision><geometry><mesh filename="package://nowhere/c.dae"/></geometry></collision>'
    bare = load_mechanism(written(tmp_path, two_links()))
    dressed = load_mechanism(written(tmp_path, two_links(first=INERTIAL + mesh)))
    q = np.random.default_rng(0).normal(size=(5, 2))
    np.testing.assert_array_equal(inverse_dynamics(dressed, q), inverse_dynamics(bare, q))


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


CRANK = f'<body name="crank"><joint name="crank"/>{BODY}</body>'


@pytest.mark.parametrize(("name", "text", "said"), [
    ("a.urdf", two_links(kind="floating"), r"joint elbow is a floating joint"),
    ("a.xml", mjcf(f'<body><joint name="wrist" type="ball"/>{BODY}</body>'), r"joint wrist is a ball joint"),
    ("a.xml", mjcf(f'<body><freejoint name="drone"/>{BODY}</body>'), r"joint drone is a floating joint"),
    ("a.xml", mjcf(f"<body><joint/>{BODY}</body>"), r"joint number 0 has no name"),
    ("a.urdf", two_links(more='<mimic joint="shoulder" multiplier="2"/>'), r"1 equality constraint"),
    ("a.xml", mjcf(CRANK, '<equality><connect body1="crank" anchor="0 0 0"/></equality>'), r"1 equality constraint"),
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


def test_a_missing_file_and_an_unknown_name_say_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone\.urdf: no such file"):
        load_mechanism(tmp_path / "gone.urdf")
    with pytest.raises(InputError, match=r"unknown arm 'lab66'; did you mean 'lab6'\?.*five-axis-tree"):
        load_mechanism("lab66")


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
])
def test_a_faulty_mechanism_file_is_refused_with_its_key(old: str, new: str, said: str, tmp_path: Path) -> None:
    path = written(tmp_path, TREE.replace(old, new, 1), "crane.toml")
    with pytest.raises(InputError, match=said) as caught:
        load_mechanism(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_mechanism_without_joints_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="joints"):
        load_mechanism(written(tmp_path, 'schema = 1\nname = "nothing"\njoints = []\n', "nothing.toml"))
