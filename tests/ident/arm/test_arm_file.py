"""The arm file: what it yields, and that every fault is one line with
file, key and what is allowed.
"""

from pathlib import Path

import numpy as np
import pytest

from stribeck.drivers.simulation.truth import read_truth
from stribeck.ident.arm.arm_file import check_against_model, load_arm
from stribeck.ident.arm.built_in import built_in, built_in_arms, data_dir
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import InputError, ModelError
from stribeck.ident.model.dynamics import inverse_dynamics

HEAD = 'schema = 1\nname = "lab6"\nmodel = "lab6.urdf"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the lab arm's model."""
    (tmp_path / "lab6.urdf").write_bytes((data_dir() / "arms" / "lab6" / "lab6.urdf").read_bytes())
    return tmp_path


def written(folder: Path, text: str) -> Path:
    path = folder / "arm.toml"
    path.write_text(text)
    return path


def load_checked(path: Path) -> None:
    arm = load_arm(path)
    check_against_model(arm, load_mechanism(arm))


FULL = (
    HEAD
    + """
gravity = [0.0, 9.81, 0.0]
torque_signal = "commanded"
tool = { mass = 1.5, com = [0.0, 0.01, 0.1] }
workspace = { box = [[-1, 1], [-1.5, 1.5], [0.05, 1]], home = [0, 0.5, 0.9, 0, 0.6, 0] }
[driver]
kind = "canopen"
rate = 500
channel = "can0"
[joints.j2]
position = [-1.0, 1.5]
velocity = 1.25
acceleration = 4
torque = 60.0
temperature = 70.0
direction = -1
zero_offset = 0.1
gear_ratio = 100
rotor_inertia = 1.0e-4
stop = "brake"
following_error = 0.02
bearing = { pin_radius = 0.04, friction_arm = 0.03, bending_arm = 0.08 }
drive = { node = 2, rated_torque = 1.27 }
[simulation]
seed = 3
"""
)


def test_a_full_file_is_read_as_written(folder: Path) -> None:
    arm = load_arm(written(folder, FULL))
    assert (arm.name, arm.model.name, arm.torque_signal) == ("lab6", "lab6.urdf", "commanded")
    assert arm.gravity == (0.0, 9.81, 0.0)
    assert (arm.tool.mass, arm.tool.com) == (1.5, (0.0, 0.01, 0.1))
    assert arm.workspace.box == ((-1, 1), (-1.5, 1.5), (0.05, 1))
    assert (arm.driver.kind, arm.driver.rate, arm.driver.channel) == ("canopen", 500.0, "can0")
    j2 = arm.joint("j2")
    assert (j2.direction, j2.zero_offset, j2.gear_ratio, j2.rotor_inertia, j2.stop) == (
        -1,
        0.1,
        100.0,
        1e-4,
        "brake",
    )
    assert j2.drive == {"node": 2, "rated_torque": 1.27}
    assert j2.bearing.bending_arm == 0.08
    assert arm.simulation == {"seed": 3}


def test_limits_come_from_the_file_then_the_model_then_are_unknown(folder: Path) -> None:
    arm = load_arm(written(folder, FULL))
    mechanism = load_mechanism(arm)
    limits = arm.limits(mechanism)
    assert limits.position[1].tolist() == [-1.0, 1.5]
    assert limits.position[0].tolist() == [-2.9, 2.9]
    rest = np.array(
        [
            limits.velocity,
            limits.acceleration,
            limits.torque,
            limits.temperature,
            limits.following_error,
        ]
    )
    assert rest[:, 1].tolist() == [1.25, 4.0, 60.0, 70.0, 0.02]
    assert np.isnan(rest[:4, 0]).all()
    assert arm.home(mechanism).tolist() == [0.0, 0.5, 0.9, 0.0, 0.6, 0.0]


def test_a_minimal_file_has_the_documented_defaults(folder: Path) -> None:
    arm = load_arm(written(folder, HEAD))
    assert arm.gravity == (0.0, 0.0, -9.81)
    assert (arm.torque_signal, arm.tool.mass, arm.driver.kind) == (
        "motor current",
        0.0,
        "simulated",
    )
    joint = arm.joint("j1")
    assert (
        joint.direction,
        joint.zero_offset,
        joint.gear_ratio,
        joint.ratio,
        joint.rotor_inertia,
    ) == (1, 0.0, None, 1.0, 0.0)
    assert (joint.stop, joint.bearing) == ("hold", None)
    assert arm.home(load_mechanism(arm)).tolist() == [0.0] * 6


def test_a_bare_model_is_an_arm_without_further_data(folder: Path) -> None:
    arm = load_arm(folder / "lab6.urdf")
    assert (arm.name, arm.model) == ("lab6", (folder / "lab6.urdf").resolve())
    assert not arm.joints
    assert np.isnan(arm.limits(load_mechanism(arm)).velocity).all()


@pytest.mark.parametrize("name", sorted(built_in_arms()))
def test_built_in_arms_are_valid(name: str) -> None:
    assert name in built_in()
    arm = load_arm(name)
    mechanism = load_mechanism(arm)
    check_against_model(arm, mechanism)
    assert arm.name == name
    assert np.isfinite(arm.limits(mechanism).position).all()


def test_the_model_may_be_in_another_folder(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("copy")
    (folder / "lab6.urdf").rename(elsewhere / "lab6.urdf")
    arm = load_arm(
        written(folder, HEAD.replace('"lab6.urdf"', '"../models/lab6.urdf"')), model_dir=elsewhere
    )
    assert arm.model == (elsewhere / "lab6.urdf").resolve()


JOINT = "[joints.j1]\n"
BEARING = "bearing = { pin_radius = 0.04, friction_arm = 0.03, bending_arm = 0.08 }"

FAULTS = {  # text of the file, the key that the message names, and what it says of what is allowed
    "unknown key": (HEAD + "gravty = [0, 0, 0]", "gravty", "did you mean 'gravity'"),
    "misspelt needed key": (HEAD.replace("model", "modle"), "modle", "did you mean 'model'"),
    "unknown joint key": (
        HEAD + JOINT + "velocty = 1.0",
        "joints.j1.velocty",
        "did you mean 'velocity'",
    ),
    "unknown tool key": (HEAD + "tool = { weight = 1.0 }", "tool.weight", "valid: mass, com"),
    "unknown workspace key": (
        HEAD + "workspace = { boxes = [] }",
        "workspace.boxes",
        "did you mean 'box'",
    ),
    "misspelt bearing key": (
        HEAD + JOINT + BEARING.replace("bending", "bendin"),
        "joints.j1.bearing.bendin_arm",
        "did you mean 'bending_arm'",
    ),
    "missing bearing key": (
        HEAD + JOINT + BEARING.replace(", bending_arm = 0.08", ""),
        "joints.j1.bearing.bending_arm",
        "missing",
    ),
    "negative bearing": (
        HEAD + JOINT + BEARING.replace("0.03", "-0.03"),
        "joints.j1.bearing",
        "friction_arm = -0.03 m, a positive length",
    ),
    "key that is missing": (HEAD.replace('model = "lab6.urdf"', ""), "model", "missing"),
    "joint that the model lacks": (
        HEAD + "[joints.j7]\nvelocity = 1.0",
        "[joints.j7]",
        "j1, j2, j3, j4, j5, j6",
    ),
    "lower limit outside": (
        HEAD + JOINT + "position = [-4.0, 1.0]",
        "joints.j1.position = [-4, 1]",
        "[-2.9, 2.9]",
    ),
    "upper limit outside": (
        HEAD + JOINT + "position = [-1.0, 2.91]",
        "joints.j1.position = [-1, 2.91]",
        "[-2.9, 2.9]",
    ),
    "limits the wrong way": (
        HEAD + JOINT + "position = [1.0, -1.0]",
        "joints.j1.position",
        "not below",
    ),
    "one limit": (
        HEAD + JOINT + "position = [1.0]",
        "joints.j1.position = [1.0]",
        "more are needed",
    ),
    "newer schema": (
        HEAD.replace("= 1", "= 2", 1),
        "schema 2",
        "newer than the newest that this stribeck reads (1)",
    ),
    "schema that is no number": (HEAD.replace("= 1", '= "one"', 1), "schema = 'one'", "integer"),
    "schema that is missing": (HEAD.replace("schema = 1", ""), "schema", "integer"),
    "missing model": (
        HEAD.replace("lab6.urdf", "gone.urdf"),
        "model = 'gone.urdf'",
        "no such file",
    ),
    "nan": (HEAD + JOINT + "velocity = nan", "joints.j1.velocity = nan", "finite"),
    "nan in a list": (HEAD + "gravity = [0.0, 0.0, nan]", "gravity.2 = nan", "finite"),
    "infinite limit": (
        HEAD + JOINT + "position = [-inf, inf]",
        "joints.j1.position.0 = -inf",
        "finite",
    ),
    "nan temperature": (
        HEAD + JOINT + "temperature = nan",
        "joints.j1.temperature = nan",
        "finite",
    ),
    "no speed": (HEAD + JOINT + "velocity = 0.0", "joints.j1.velocity = 0.0", "greater than 0"),
    "negative acceleration": (
        HEAD + JOINT + "acceleration = -1.0",
        "joints.j1.acceleration = -1.0",
        "greater than 0",
    ),
    "no gear": (HEAD + JOINT + "gear_ratio = 0.0", "joints.j1.gear_ratio = 0.0", "greater than 0"),
    "negative rotor": (
        HEAD + JOINT + "rotor_inertia = -1e-4",
        "joints.j1.rotor_inertia",
        "greater than or equal",
    ),
    "negative tool": (
        HEAD + "tool = { mass = -1.0 }",
        "tool.mass = -1.0",
        "greater than or equal to 0",
    ),
    "no rate": (HEAD + "[driver]\nrate = 0.0", "driver.rate = 0.0", "greater than or equal to 0.1"),
    "word for a number": (
        HEAD + JOINT + 'velocity = "fast"',
        "joints.j1.velocity = 'fast'",
        "number",
    ),
    "unknown direction": (HEAD + JOINT + "direction = 2", "joints.j1.direction = 2", "-1 or 1"),
    "unknown stop": (
        HEAD + JOINT + 'stop = "drop"',
        "joints.j1.stop = 'drop'",
        "'hold' or 'brake'",
    ),
    "unknown signal": (
        HEAD + 'torque_signal = "motor curent"',
        "torque_signal = 'motor curent'",
        "'motor current'",
    ),
    "home for another arm": (HEAD + "workspace = { home = [0, 0] }", "workspace.home", "6 joints"),
    "home outside the limits": (
        HEAD + "workspace = { home = [0, 0, 0, 0, 9, 0] }",
        "workspace.home puts j5 at 9",
        "[-2.1, 2.1]",
    ),
    "box inside out": (
        HEAD + "workspace = { box = [[-1, 1], [1, -1], [0, 1]] }",
        "workspace.box",
        "y range",
    ),
    "name with a blank": (HEAD.replace('"lab6"', '"my arm"'), "name = 'my arm'", "letters, digits"),
    "joints that are no tables": (HEAD + "joints = 3", "joints = 3", "table"),
    "true is no number": (
        HEAD + "[joints.j1]\nvelocity = true",
        "joints.j1.velocity = true",
        "a number is needed",
    ),
    "text is no number": (
        HEAD + "[joints.j1]\nvelocity = '1.5'",
        "joints.j1.velocity = '1.5'",
        "a number is needed",
    ),
    "invalid TOML": (HEAD + "gravity = [0.0, 0.0", "not a TOML file", "Unclosed array"),
    "a mechanism": ('schema = 1\nname = "x"\n[[joints]]\nname = "a"', "mechanism", "[joints.NAME]"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_message_about_a_fault_is_one_line_with_file_key_and_allowed_values(
    fault: str, folder: Path
) -> None:
    text, key, allowed = FAULTS[fault]
    path = written(folder, text)
    with pytest.raises(InputError) as caught:
        load_checked(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert key in message.removeprefix(str(path))
    assert allowed in message
    assert "\n" not in message
    assert "pydantic" not in message.lower()


def test_the_file_without_faults_is_valid(folder: Path) -> None:
    load_checked(written(folder, HEAD + JOINT + "position = [-2.9, 2.9]\n" + BEARING))
    load_checked(written(folder, FULL))


def test_a_file_that_is_not_text_is_refused(folder: Path) -> None:
    path = folder / "arm.toml"
    path.write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(InputError, match=r"arm\.toml: not a UTF-8 text file"):
        load_arm(path)


def test_a_missing_arm_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone\.toml: no such file"):
        load_arm(tmp_path / "gone.toml")
    with pytest.raises(InputError, match=r"unknown arm 'lab5'.*valid: .*lab6"):
        load_arm("lab5")


def load_with_truth(path: Path) -> None:
    arm = load_arm(path)
    read_truth(arm, load_mechanism(arm).names)


class TestDefault:
    """``[joints.default]``: stated once, it holds for every joint that does not state its own."""

    SHARED = (
        HEAD
        + """
[joints.default]
velocity = 1.5
acceleration = 4.0
torque = 60.0
stop = "brake"
bearing = { pin_radius = 0.04, friction_arm = 0.03, bending_arm = 0.08 }
drive = { rated_torque = 1.27, position_counts = 4096 }
[joints.j2]
acceleration = 2.0
drive = { node = 2, rated_torque = 2.5 }
[simulation.joints.default]
coulomb = 1.0
viscous = 2.0
[simulation.joints.j2]
coulomb = 3.0
"""
    )

    def test_default_keys_hold_for_joints_that_do_not_state_them(self, folder: Path) -> None:
        arm = load_arm(written(folder, self.SHARED))
        mechanism = load_mechanism(arm)
        limits = arm.limits(mechanism)
        assert limits.missing(mechanism.names) == []
        np.testing.assert_array_equal(limits.acceleration, [4.0, 2.0, 4.0, 4.0, 4.0, 4.0])
        np.testing.assert_array_equal(limits.velocity, 1.5)
        assert [arm.joint(name).stop for name in mechanism.names] == ["brake"] * 6
        assert all(
            bearing is not None and bearing.pin_radius == 0.04 for bearing in mechanism.bearings
        )
        assert set(arm.joints) == {"j2"}

    def test_drive_keys_are_merged_one_by_one(self, folder: Path) -> None:
        """Key by key: node ids differ where counts do not."""
        arm = load_arm(written(folder, self.SHARED))
        assert arm.joint("j2").drive == {"node": 2, "rated_torque": 2.5, "position_counts": 4096}
        assert arm.joint("j3").drive == {"rated_torque": 1.27, "position_counts": 4096}

    def test_the_simulated_arm_uses_default_keys(self, folder: Path) -> None:
        arm = load_arm(written(folder, self.SHARED))
        truth = read_truth(arm, load_mechanism(arm).names)
        np.testing.assert_array_equal(truth.column("coulomb"), [1.0, 3.0, 1.0, 1.0, 1.0, 1.0])
        np.testing.assert_array_equal(truth.column("viscous"), 2.0)

    @pytest.mark.parametrize(
        ("old", "new", "words"),
        [
            (
                "velocity = 1.5",
                "zero_offset = 0.1",
                r"joints\.default\.zero_offset: this key tells how one drive is mounted and "
                r"cannot be shared",
            ),
            (
                "velocity = 1.5",
                "direction = -1",
                r"joints\.default\.direction: this key tells how one drive is mounted and cannot "
                r"be shared",
            ),
            ("velocity = 1.5", "velocitty = 1.5", r"joints\.default\.velocitty: unknown key"),
            ("velocity = 1.5", "velocity = -1.5", r"joints\.default\.velocity = -1\.5"),
            (
                "velocity = 1.5",
                "position = [-2.5, 2.5]",
                r"joints\.default\.position = \[-2\.5, 2\.5\], which also holds for j2, exceeds "
                r"the model's range \[-2, 2\]",
            ),
            (
                "[joints.default]",
                "[joints.default]\n[joints.default]",
                r"the file already has a table \[joints\.default\]: write these keys there",
            ),
            ("coulomb = 1.0", "coulom = 1.0", r"joints\.default\.coulom: unknown key"),
        ],
    )
    def test_the_message_names_the_table_with_the_fault(
        self, folder: Path, old: str, new: str, words: str
    ) -> None:
        path = written(folder, self.SHARED.replace(old, new))
        with pytest.raises(InputError, match=words):
            load_with_truth(path)

    @pytest.mark.parametrize(
        "table",
        ["[joints.default]\nvelocity = 1.5\n", "[simulation.joints.default]\ncoulomb = 1.0\n"],
    )
    def test_a_joint_named_default_is_refused(self, folder: Path, table: str) -> None:
        model = folder / "lab6.urdf"
        model.write_text(
            model.read_text(encoding="utf-8").replace('"j3"', '"default"'), encoding="utf-8"
        )
        arm = load_arm(written(folder, HEAD))
        assert "default" in load_mechanism(arm).names, "without such a table nothing is ambiguous"
        arm = load_arm(written(folder, HEAD + table))
        with pytest.raises(InputError, match="the model has a joint named default"):
            read_truth(arm, load_mechanism(arm).names)

    @pytest.mark.parametrize(
        "key", ["velocity = 1.0", "gear_ratio = 50.0", "position = [-0.1, 0.1]"]
    )
    def test_a_default_for_both_revolute_and_prismatic_joints_is_refused(
        self, folder: Path, key: str
    ) -> None:
        model = folder / "lab6.urdf"
        model.write_text(
            model.read_text(encoding="utf-8").replace(
                'name="j3" type="revolute"', 'name="j3" type="prismatic"'
            ),
            encoding="utf-8",
        )
        with pytest.raises(
            InputError,
            match=r"has one unit for revolute joints and another for the prismatic joint j3",
        ):
            load_mechanism(load_arm(written(folder, HEAD + f"[joints.default]\n{key}\n")))
        both = load_arm(written(folder, HEAD + "[joints.default]\ntemperature = 70.0\n"))
        np.testing.assert_array_equal(both.limits(load_mechanism(both)).temperature, 70.0)


def test_an_arm_may_be_an_open_mechanism(tmp_path: Path) -> None:
    """With a tool on its last link, whose weight the joints carry; joints without a drive that
    no loop holds are refused.
    """
    text = (data_dir() / "mechanisms" / "five-axis-tree.toml").read_text(encoding="utf-8")
    (tmp_path / "tree.mechanism.toml").write_text(text, encoding="utf-8")
    head = 'schema = 1\nname = "tree"\nmodel = "tree.mechanism.toml"\ngravity = [0.0, -9.8, 0.0]\n'
    plain = load_mechanism(load_arm(written(tmp_path, head)))
    tool = load_mechanism(
        load_arm(written(tmp_path, head + "tool = { mass = 2.0, com = [0.1, 0.2, 0.3] }\n"))
    )
    q = np.zeros((1, plain.n))
    more = inverse_dynamics(tool, q) - inverse_dynamics(plain, q)
    # joint 5 sits on joint 4
    reach = tool.origin[[3, 4]].sum(axis=0) + np.array([0.1, 0.2, 0.3])
    assert more[0, 3] == pytest.approx(2.0 * 9.8 * (reach - tool.origin[3])[0])
    assert more[0, 4] == pytest.approx(2.0 * 9.8 * 0.1)
    ddq = np.eye(plain.n)[[4]]
    swung = inverse_dynamics(tool.weightless, q, None, ddq) - inverse_dynamics(
        plain.weightless, q, None, ddq
    )
    assert swung[0, 4] == pytest.approx(2.0 * (0.1**2 + 0.2**2))
    (tmp_path / "tree.mechanism.toml").write_text(
        text.replace('type = "revolute"', 'type = "revolute"\npassive = true', 1), encoding="utf-8"
    )
    with pytest.raises(ModelError, match="no loop determines its motion"):
        load_mechanism(load_arm(written(tmp_path, head)))
