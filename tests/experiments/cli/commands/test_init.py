"""``stribeck init``: an arm file that loads, with the model's limits, and with
every missing value marked.
"""

import re
import shlex
import shutil
import tomllib
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

from stribeck.experiments.arm_files.fixed_joints import with_fixed_joints
from stribeck.experiments.arm_files.init_arm import arm_text
from stribeck.ident.arm.arm_file import check_against_model, load_arm
from stribeck.ident.arm.built_in import data_dir
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.errors import InputError
from stribeck.ident.model.dynamics import inverse_dynamics

LAB6 = data_dir() / "arms" / "lab6" / "lab6.urdf"
PUBLIC = (
    "ur_description/urdf/ur5_robot.urdf",
    "panda_description/urdf/panda.urdf",
    "kinova_description/robots/kinova.urdf",
)
ARM_XML = """<mujoco model="two"><compiler angle="radian"/><option gravity="0 0 -1.6"/><worldbody>
  <body><joint name="turn it" range="-1.23456789 2"/><geom size="0.1"/>
    <body pos="0 0 1"><joint name="slide" type="slide" actuatorfrcrange="-40 40"/><geom size="0.1"/></body></body>
</worldbody></mujoco>"""

BALL = (
    "<mujoco><worldbody><body><joint name='b' type='ball'/><geom "
    "size='1'/></body></worldbody></mujoco>"
)


@pytest.fixture
def lab6(tmp_path: Path) -> Path:
    (tmp_path / "model").mkdir()
    return Path(shutil.copy(LAB6, tmp_path / "model"))


def filled(text: str) -> str:
    """Return the text with needed values filled in as a user would."""
    text = re.sub(r"^# acceleration =.*$", "acceleration = 4.0", text, flags=re.MULTILINE)
    text = re.sub(r"^# position =.*$", "position = [-3.0, 3.0]", text, flags=re.MULTILINE)
    return re.sub(r"^# (velocity|torque) =.*$", r"\1 = 10.0", text, flags=re.MULTILINE)


def test_limits_of_the_model_are_taken_over(lab6: Path) -> None:
    table = tomllib.loads(arm_text(lab6))
    assert table["joints"]["j1"] == {"position": [-2.9, 2.9], "velocity": 1.8, "torque": 150.0}
    assert list(table["joints"]) == ["default", *(f"j{k}" for k in range(1, 7))]
    assert table["model"] == "lab6.urdf"


def test_plan_of_a_model_refers_to_init(cli: Callable[..., Any], lab6: Path) -> None:
    refused = cli("plan", lab6)
    assert refused.code == 2
    assert f"stribeck init {lab6} writes an arm file" in refused.err


@pytest.mark.slow
def test_the_file_loads_and_the_next_step_names_what_is_needed(
    cli: Callable[..., Any], lab6: Path
) -> None:
    outcome = cli("init", lab6)
    assert outcome.code == 0, outcome.err
    target = lab6.with_suffix(".toml")
    arm = load_arm(target)
    check_against_model(arm, load_mechanism(arm))
    accelerations = [f"joints.j{k}.acceleration" for k in range(1, 7)]
    assert "needed    acceleration of every joint: the file says where" in outcome.out
    assert f"stribeck plan {target}" in outcome.out
    for command in (("plan", target), ("run", target, "-o", "new")):
        refused = cli(*command)
        assert refused.code == 2
        assert len(refused.err.splitlines()) == 1
        assert all(key in refused.err for key in accelerations)


@pytest.mark.slow
def test_the_filled_in_file_gives_a_plan(cli: Callable[..., Any], lab6: Path) -> None:
    assert cli("init", lab6).code == 0
    target = lab6.with_suffix(".toml")
    target.write_text(filled(target.read_text(encoding="utf-8")), encoding="utf-8")
    outcome = cli("plan", target, "--joints", "j6", "--method", "single")
    assert outcome.code == 0, outcome.err
    assert "of robot time" in outcome.out


def test_every_commented_key_exists(lab6: Path) -> None:
    """With all commented keys active, the file is still a valid arm file."""
    text = re.sub(
        r"^# (temperature|gear_ratio) =", r"\1 = 50.0", filled(arm_text(lab6)), flags=re.MULTILINE
    )
    text = re.sub(r"^# rotor_inertia =", "rotor_inertia = 1e-4", text, flags=re.MULTILINE)
    text = re.sub(r"^# (direction|tool|workspace) =", r"\1 =", text, flags=re.MULTILINE)
    path = lab6.with_suffix(".toml")
    path.write_text(text, encoding="utf-8")
    arm = load_arm(path)
    assert arm.joints["j3"].rotor_inertia == 1e-4
    assert arm.joints["j3"].direction == -1
    assert arm.workspace.box is not None
    assert arm.limits(load_mechanism(arm)).missing(tuple(arm.joints)) == []


def test_every_needed_key_states_unit_and_source(lab6: Path) -> None:
    for line in arm_text(lab6).splitlines():
        if re.match(r"# (acceleration|velocity|torque|position) =", line):
            assert re.search(r"# needed, \S+: .{15}", line), line


def test_an_mjcf_with_a_slide_and_odd_names(tmp_path: Path) -> None:
    (tmp_path / "two arms.xml").write_text(ARM_XML, encoding="utf-8")
    text = arm_text(tmp_path / "two arms.xml")
    table = tomllib.loads(text)
    assert table["name"] == "two_arms"
    assert table["gravity"] == [0.0, 0.0, -1.6]
    assert table["joints"]["turn it"]["position"] == [-1.2345, 2.0], "rounded inwards"
    assert table["joints"]["slide"] == {"torque": 40.0}
    slide = text[text.index("[joints.slide]") :]
    assert "needed, [lower, upper] m" in slide
    assert "needed, m/s²" in slide
    (tmp_path / "two.toml").write_text(text, encoding="utf-8")
    arm = load_arm(tmp_path / "two.toml")
    assert (
        arm.limits(load_mechanism(arm)).missing(("turn it", "slide"))[0] == "joints.slide.position"
    )


@pytest.mark.parametrize("model", PUBLIC)
def test_public_arms(tmp_path: Path, model: str) -> None:
    try:
        robots = Path(
            str(
                distribution("example-robot-data").locate_file(
                    "cmeel.prefix/share/example-robot-data/robots"
                )
            )
        )
    except PackageNotFoundError:
        pytest.skip("the package example-robot-data has the URDFs")
    source = Path(shutil.copy(robots / model, tmp_path))
    path = source.with_suffix(".toml")
    path.write_text(filled(arm_text(source)), encoding="utf-8")
    arm = load_arm(path)
    mechanism = load_mechanism(arm)
    check_against_model(arm, mechanism)
    assert tuple(arm.joints) == mechanism.names
    assert arm.limits(mechanism).missing(mechanism.names) == []
    np.testing.assert_allclose(
        arm.limits(mechanism).position[np.isfinite(mechanism.position)],
        mechanism.position[np.isfinite(mechanism.position)],
        atol=1e-4,
    )


def test_model_is_copied_to_another_folder(
    cli: Callable[..., Any], lab6: Path, tmp_path: Path
) -> None:
    assert cli("init", lab6, "-o", tmp_path / "new" / "arm.toml").code == 0
    assert (tmp_path / "new" / "lab6.urdf").read_bytes() == lab6.read_bytes()
    assert (
        load_arm(tmp_path / "new" / "arm.toml").model == (tmp_path / "new" / "lab6.urdf").resolve()
    )


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("nosuch.urdf", None, "nosuch.urdf: no such file"),
        ("arm.toml", "schema = 1", "this is a TOML file"),
        ("bad.urdf", "<robot", "bad.urdf"),
        ("ball.xml", BALL, "joint b is a ball joint"),
    ],
)
def test_invalid_models(tmp_path: Path, name: str, text: str | None, words: str) -> None:
    if text is not None:
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=words):
        arm_text(tmp_path / name)


def test_no_file_is_overwritten(cli: Callable[..., Any], lab6: Path, tmp_path: Path) -> None:
    lab6.with_suffix(".toml").write_text("precious", encoding="utf-8")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "lab6.urdf").write_text("precious", encoding="utf-8")
    for arguments in ((), ("-o", tmp_path / "full" / "arm.toml")):
        outcome = cli("init", lab6, *arguments)
        assert outcome.code == 2
        assert "exists; choose another --out" in outcome.err
    assert not (tmp_path / "full" / "arm.toml").exists()
    assert (tmp_path / "full" / "lab6.urdf").read_text(encoding="utf-8") == "precious"


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace("<robot", "<!-- limits -- by hand -->\n<robot", 1),
        lambda text: text.replace('<robot name="', '<robot note="&#0;" name="', 1),
    ],
)
def test_imperfect_xml_is_read_as_by_mujoco(cli, tmp_path, damage):
    model = tmp_path / "odd.urdf"
    model.write_text(damage(LAB6.read_text(encoding="utf-8")), encoding="utf-8")
    outcome = cli("init", model)
    assert outcome.code == 0, outcome.err
    assert model.with_suffix(".toml").is_file()


GRIPPER = """<!-- as delivered -->
<robot name="g"><link name="base"/>
  <link name="arm"><inertial><origin xyz="0 0 0.2"/><mass value="2"/>
    <inertia ixx="0.02" iyy="0.02" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="left"><inertial><origin xyz="0 0.02 0"/><mass value="0.3"/>
    <inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="right"><inertial><origin xyz="0 -0.02 0"/><mass value="0.2"/>
    <inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="50" velocity="2"/></joint>
  <joint type="prismatic" name="finger"><parent link="arm"/><child link="left"/><origin xyz="0 0.01 0.4"/><axis xyz="0 1 0"/>
    <limit lower="0" upper="0.04" effort="20" velocity="0.1"/></joint>
  <joint name="other" type='prismatic'><parent link="arm"/><child link="right"/><origin xyz="0 -0.01 0.4"/><axis xyz="0 -1 0"/>
    <limit lower="0" upper="0.04" effort="20" velocity="0.1"/>
    <mimic joint="finger"/></joint>
</robot>
"""


class TestFixedJoints:
    """A gripper with fingers that no bus controls."""

    @pytest.mark.parametrize("kind", ["urdf", "xml"])
    def test_other_joints_keep_their_mass_and_are_fixed(self, cli, tmp_path, kind):
        model = tmp_path / f"g.{kind}"
        (tmp_path / "g.urdf").write_text(GRIPPER, encoding="utf-8")
        if kind == "xml":
            model.write_text(
                mujoco.MjSpec.from_file(str(tmp_path / "g.urdf")).to_xml(), encoding="utf-8"
            )
        before = model.read_bytes()
        outcome = cli("init", model, "--joints", "shoulder", "--out", "cell/arm.toml")
        assert outcome.code == 0, outcome.err
        assert "1 joint, shoulder" in outcome.out
        assert (
            f"fixed     {'finger, other' if kind == 'urdf' else 'finger'}: in cell/arm.{kind}"
            in outcome.out
        )
        assert model.read_bytes() == before
        text = Path("cell/arm.toml").read_text(encoding="utf-8")
        assert (
            tomllib.loads(text)["simulation"]["joints"].keys()
            == tomllib.loads(text)["joints"].keys()
            == {"shoulder"}
        )
        Path("cell/arm.toml").write_text(filled(text), encoding="utf-8")
        mechanism = load_mechanism(load_arm(Path("cell/arm.toml")))
        assert mechanism.names == ("shoulder",)
        torque = inverse_dynamics(mechanism, [[0.7]], [[0.0]], [[1.0]])[0, 0]
        import pinocchio as pin

        whole = pin.buildModelFromUrdf(str(tmp_path / "g.urdf"))
        moved = pin.rnea(
            whole,
            pin.Data(whole),
            np.array([0.7, 0.0, 0.0]),
            np.zeros(3),
            np.array([1.0, 0.0, 0.0]),
        )
        assert torque == pytest.approx(
            moved[whole.joints[whole.getJointId("shoulder")].idx_v], rel=1e-6
        )

    def test_rest_of_the_urdf_does_not_change(self, tmp_path):
        (tmp_path / "g.urdf").write_text(
            GRIPPER.replace("\n", "\r\n"), encoding="utf-8", newline=""
        )
        content, fixed = with_fixed_joints(tmp_path / "g.urdf", ("shoulder",))
        wanted = GRIPPER.replace('type="prismatic" name="finger"', 'type="fixed" name="finger"')
        wanted = wanted.replace("type='prismatic'", 'type="fixed"').replace(
            '<mimic joint="finger"/>', ""
        )
        assert content == wanted.replace("\n", "\r\n").encode()
        assert fixed == ("finger", "other")
        assert with_fixed_joints(tmp_path / "g.urdf", ("shoulder", "finger")) == (
            (tmp_path / "g.urdf").read_bytes(),
            (),
        )

    @pytest.mark.parametrize(
        ("joints", "out", "words"),
        [
            ("shoulder,elbow", "cell/arm.toml", "unknown joint 'elbow'"),
            ("shoulder,elbow", None, "unknown joint 'elbow'"),
            ("shoulder,other", "cell/arm.toml", "joint other follows finger; give finger instead"),
            ("shoulder", None, "choose another name, for example --out g-arm.toml"),
        ],
    )
    def test_invalid_joints_are_refused_and_nothing_is_written(
        self, cli, tmp_path, joints, out, words
    ):
        (tmp_path / "g.urdf").write_text(GRIPPER, encoding="utf-8")
        outcome = cli(
            "init", tmp_path / "g.urdf", "--joints", joints, *(("--out", out) if out else ())
        )
        assert outcome.code == 2
        assert words in outcome.err
        assert not Path("cell").exists()
        assert not (tmp_path / "g.toml").exists()

    def test_copy_beside_the_model_has_the_name_of_the_arm_file(self, cli, tmp_path):
        """So that meshes are found where they are."""
        (tmp_path / "g.urdf").write_text(GRIPPER, encoding="utf-8")
        outcome = cli(
            "init", tmp_path / "g.urdf", "--joints", "shoulder", "--out", tmp_path / "arm1.toml"
        )
        assert outcome.code == 0, outcome.err
        assert load_arm(tmp_path / "arm1.toml").model == (tmp_path / "arm1.urdf").resolve()
        assert (tmp_path / "g.urdf").read_text(encoding="utf-8") == GRIPPER

    def test_mjcf_joint_that_carries_joints_cannot_be_fixed(self, cli, tmp_path):
        (tmp_path / "two.xml").write_text(ARM_XML, encoding="utf-8")
        outcome = cli("init", tmp_path / "two.xml", "--joints", "slide", "--out", "cell/arm.toml")
        assert outcome.code == 2
        assert "joint slide has a drive and sits on joint turn it" in outcome.err
        assert list(Path("cell").iterdir()) == []


def test_meshes_that_are_not_copied_are_named(cli, lab6, tmp_path):
    """Meshes of a URDF are searched in the package that contains the URDF."""
    triangles = b"".join(
        np.array([0, 0, 1, *corners], dtype="<f4").tobytes() + b"\0\0"
        for corners in (
            (0, 0, 0, 1, 0, 0, 0, 1, 0),
            (0, 0, 0, 0, 1, 0, 0, 0, 1),
            (0, 0, 0, 0, 0, 1, 1, 0, 0),
            (1, 0, 0, 0, 0, 1, 0, 1, 0),
        )
    )
    for folder in ("meshes", "urdf"):
        (lab6.parent / "lab" / folder).mkdir(parents=True)
    lab6 = lab6.rename(lab6.parent / "lab" / "urdf" / lab6.name)
    (lab6.parents[1] / "meshes" / "part.stl").write_bytes(
        bytes(80) + (4).to_bytes(4, "little") + triangles
    )
    shape = (
        "<collision><geometry><mesh "
        'filename="package://lab/meshes/part.stl"/></geometry></collision>'
    )
    text = lab6.read_text(encoding="utf-8")
    at = text.index("</link>", text.index('<link name="', text.index("<link") + 1))
    lab6.write_text(text[:at] + shape + text[at:], encoding="utf-8")
    there, away = cli("init", lab6), cli("init", lab6, "--out", "cell/arm.toml")
    assert (there.code, away.code) == (0, 0), there.err + away.err
    assert "cannot be read" not in there.out
    assert re.search(r"meshes    of body \S+ cannot be read from cell/", away.out)


@pytest.mark.parametrize("place", [".", "/"])
def test_a_folder_is_no_model(cli, place):
    outcome = cli("init", place)
    assert (outcome.code, "a folder, but a file is needed" in outcome.err) == (2, True)


def test_model_in_several_files_is_refused_early(cli, tmp_path):
    (tmp_path / "part.xml").write_text("<mujoco/>", encoding="utf-8")
    (tmp_path / "whole.xml").write_text(
        ARM_XML.replace("<worldbody>", '<include file="part.xml"/><worldbody>'), encoding="utf-8"
    )
    refused = cli("init", tmp_path / "whole.xml")
    assert refused.code == 2
    assert "mj_saveLastXML" in refused.err
    assert not (tmp_path / "whole.toml").exists()


def test_an_arm_file_ends_in_toml(cli, lab6, tmp_path):
    refused = cli("init", lab6, "-o", tmp_path / "arm")
    assert (refused.code, "ends in .toml" in refused.err) == (2, True)
    assert not (tmp_path / "arm").exists()


def test_values_that_no_model_states_are_needed_once(lab6: Path) -> None:
    """These values stand in ``[joints.default]``; the table of a joint has values
    that differ between joints.
    """
    text = arm_text(lab6)
    assert text.count("# acceleration =") == 1
    path = lab6.with_suffix(".toml")
    path.write_text(text.replace("# acceleration =", "acceleration = 4.0 #"), encoding="utf-8")
    arm = load_arm(path)
    assert arm.limits(load_mechanism(arm)).missing(tuple(arm.joints)) == []


def test_mjcf_without_velocities_needs_one_velocity(tmp_path: Path) -> None:
    (tmp_path / "pair.xml").write_text(
        ARM_XML.replace('type="slide"', 'range="-1 1"'), encoding="utf-8"
    )
    text = arm_text(tmp_path / "pair.xml")
    assert [text.count(f"# {key} =") for key in ("velocity", "acceleration", "torque")] == [1, 1, 1]
    assert text.index("# velocity =") < text.index("[joints.slide]")
    (tmp_path / "pair.toml").write_text(filled(text), encoding="utf-8")
    arm = load_arm(tmp_path / "pair.toml")
    limits = arm.limits(load_mechanism(arm))
    assert limits.torque.tolist() == [10.0, 40.0], "slide states its own"


def test_turning_and_sliding_joints_share_nothing(tmp_path: Path) -> None:
    """One number would mean rad for one joint and m for the other."""
    (tmp_path / "two.xml").write_text(ARM_XML, encoding="utf-8")
    assert "[joints.default]" not in arm_text(tmp_path / "two.xml")


def test_a_joint_named_default_is_refused(cli, lab6):
    lab6.write_text(lab6.read_text(encoding="utf-8").replace('"j3"', '"default"'), encoding="utf-8")
    refused = cli("init", lab6)
    assert refused.code == 2
    assert "the model has a joint named default" in refused.err
    assert not lab6.with_suffix(".toml").exists()


class TestNames:
    """The arm and the folders of its commands have the requested name."""

    @pytest.mark.parametrize(
        ("options", "file", "name"),
        [
            ((), "lab6.toml", "lab6"),
            (("--name", "left-arm"), "left-arm.toml", "left-arm"),
            (("--out", "{model}/cell/my_arm.toml"), "cell/my_arm.toml", "my_arm"),
            (("--out", "{model}/cell/my arm.toml"), "cell/my arm.toml", "my_arm"),
            (
                ("--out", "{model}/cell/my_arm.toml", "--name", "left-arm"),
                "cell/my_arm.toml",
                "left-arm",
            ),
        ],
    )
    def test_file_and_arm(self, cli, lab6, options, file, name):
        outcome = cli("init", lab6, *(option.format(model=lab6.parent) for option in options))
        assert outcome.code == 0, outcome.err
        assert load_arm(lab6.parent / file).name == name

    @pytest.mark.usefixtures("small_plans")
    @pytest.mark.slow
    def test_simulated_arm_of_the_new_file_can_be_calibrated(self, cli, make_arm):
        """Only the needed values are filled in; the true friction is the guess in the file. The
        folder of the results does not collide with that of the model.
        """
        assert cli("init", make_arm().model, "--out", "my_arm/my_arm.toml").code == 0
        target = Path("my_arm/my_arm.toml")
        text = re.sub(r"^rate = .*$", "rate = 50.0", target.read_text(encoding="utf-8"), flags=re.M)
        target.write_text(filled(text), encoding="utf-8")
        outcome = cli("calibrate", target, "--joints", "turn")
        assert outcome.code == 0, outcome.err
        (joint,) = Calibration.load(Path("calibration-my_arm")).joints.values()
        truth = tomllib.loads(target.read_text(encoding="utf-8"))["simulation"]["joints"]["turn"]
        assert joint.values["coulomb"] == pytest.approx(truth["coulomb"], rel=0.05)

    @pytest.mark.parametrize("name", ["my arm", "", "a/b"])
    def test_name_that_is_no_file_name_is_refused(self, cli, lab6, name):
        refused = cli("init", lab6, "--name", name)
        assert (refused.code, "it may hold letters, digits" in refused.err) == (2, True)

    @pytest.mark.slow
    def test_next_command_of_init_works(self, cli, lab6):
        """This holds for names with blanks, too."""
        outcome = cli("init", lab6, "--out", "my cell/my arm.toml")
        Path("my cell/my arm.toml").write_text(
            filled(Path("my cell/my arm.toml").read_text(encoding="utf-8")), encoding="utf-8"
        )
        line = outcome.out[outcome.out.rindex("stribeck ") + len("stribeck ") :].strip()
        made = cli(*shlex.split(line), "--joints", "j6", "--method", "single")
        assert made.code == 0, made.err
