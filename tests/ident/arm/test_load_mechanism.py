"""Models by name, arm file or model file: gravity, tool and bearings, and what is refused."""

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from stribeck import load_mechanism
from stribeck.ident.errors import InputError
from tests.model_texts import (
    BODY,
    GRAVITIES,
    LAB6,
    TREE,
    assert_agrees_with_pinocchio,
    mjcf,
    two_links,
    written,
)


@pytest.fixture(scope="module")
def pin() -> ModuleType:
    return pytest.importorskip("pinocchio", reason="Pinocchio (the package pin) judges the models")


@pytest.fixture
def lab6(tmp_path: Path) -> Path:
    """A folder with the lab arm's model."""
    (tmp_path / "lab6.urdf").write_bytes(LAB6.read_bytes())
    return tmp_path


@pytest.mark.parametrize("gravity", GRAVITIES)
def test_lab6_agrees_with_pinocchio(gravity: tuple[float, ...], pin: ModuleType) -> None:
    model = pin.buildModelFromUrdf(str(LAB6))
    model.gravity.linear = np.array(gravity)
    mechanism = load_mechanism("lab6", gravity=gravity)
    assert mechanism.names == ("j1", "j2", "j3", "j4", "j5", "j6")
    assert_agrees_with_pinocchio(mechanism, model, pin)


@pytest.mark.parametrize("gravity", GRAVITIES)
def test_a_tool_is_a_point_mass_on_the_flange(
    lab6: Path, gravity: tuple[float, ...], pin: ModuleType
) -> None:
    arm = written(
        lab6,
        f'schema = 1\nname = "tooled"\nmodel = "lab6.urdf"\ngravity = {list(gravity)}\n'
        "tool = { mass = 2.5, com = [0.03, -0.04, 0.12] }\n",
        "tooled.toml",
    )
    model = pin.buildModelFromUrdf(str(LAB6))
    model.gravity.linear = np.array(gravity)
    tool = pin.Inertia(2.5, np.array([0.03, -0.04, 0.12]), np.zeros((3, 3)))
    model.appendBodyToJoint(model.getJointId("j6"), tool, pin.SE3.Identity())
    mechanism = load_mechanism(arm)
    assert_agrees_with_pinocchio(mechanism, model, pin)
    assert mechanism.name == "tooled"


def test_gravity_argument_overrides_arm_file_which_overrides_model(lab6: Path) -> None:
    arm = written(
        lab6,
        'schema = 1\nname = "wall"\nmodel = "lab6.urdf"\ngravity = [9.81, 0.0, 0.0]\n',
        "wall.toml",
    )
    assert load_mechanism(arm).gravity.tolist() == [9.81, 0.0, 0.0]
    assert load_mechanism(arm, gravity=[0, 1, 2]).gravity.tolist() == [0.0, 1.0, 2.0]
    bare = written(lab6, mjcf(f'<body><joint name="a"/>{BODY}</body>'), "a.xml")
    assert load_mechanism(bare).gravity.tolist() == [1.0, 2.0, -3.0]
    assert load_mechanism(LAB6).gravity.tolist() == [0.0, 0.0, -9.81]


@pytest.mark.parametrize("gravity", [(0.0, -9.81), (0.0, 0.0, np.nan), -9.81])
def test_gravity_that_is_not_a_vector_is_refused(gravity: object) -> None:
    for model in ("lab6", "five-axis-tree", LAB6):
        with pytest.raises(InputError, match="gravity"):
            load_mechanism(model, gravity=gravity)


def test_bearings_come_from_the_arm_file(lab6: Path) -> None:
    arm = written(
        lab6,
        'schema = 1\nname = "b"\nmodel = "lab6.urdf"\n[joints.j3]\n'
        "bearing = { pin_radius = 0.01, friction_arm = 0.02, bending_arm = 0.03 }\n",
        "b.toml",
    )
    bearings = load_mechanism(arm).bearings
    assert [bearing is None for bearing in bearings] == [True, True, False, True, True, True]
    assert (bearings[2].pin_radius, bearings[2].friction_arm, bearings[2].bending_arm) == (
        0.01,
        0.02,
        0.03,
    )


def test_a_joint_table_that_the_model_lacks_is_refused(lab6: Path) -> None:
    """Else the bearing of a misspelt joint would silently go missing."""
    arm = written(
        lab6,
        'schema = 1\nname = "b"\nmodel = "lab6.urdf"\n[joints.j33]\nvelocity = 1.0\n',
        "b.toml",
    )
    with pytest.raises(
        InputError, match=r"b\.toml: \[joints\.j33\].*did you mean 'j3'.*j1, j2, j3, j4, j5, j6"
    ):
        load_mechanism(arm)


def test_a_model_whose_name_is_not_text_is_read(tmp_path: Path) -> None:
    text = LAB6.read_bytes().replace(b'name="lab6"', b'name="la\xee\xec6"', 1)
    (tmp_path / "arm.urdf").write_bytes(text)
    (tmp_path / "arm.toml").write_text(
        'schema = 1\nname = "arm"\nmodel = "arm.urdf"\ntool = { mass = 1.0 }\n', encoding="utf-8"
    )
    assert load_mechanism(tmp_path / "arm.toml").n == 6


def test_a_missing_file_and_an_unknown_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone\.urdf: no such file"):
        load_mechanism(tmp_path / "gone.urdf")
    with pytest.raises(
        InputError, match=r"unknown arm 'lab66'; did you mean 'lab6'\?.*five-axis-tree"
    ):
        load_mechanism("lab66")


def test_a_tool_sits_on_the_last_link_with_a_drive(tmp_path: Path) -> None:
    """Bodies of an MJCF need no names, and a joint that follows another
    is none to mount a tool on.
    """
    text = mjcf(
        f'<body><joint name="a"/>{BODY}</body><body pos="1 0 0"><joint name="b"/>{BODY}</body>',
        '<equality><joint joint1="b" joint2="a"/></equality>',
    )
    written(tmp_path, text, "robot.xml")
    arm = 'schema = 1\nname = "arm"\nmodel = "robot.xml"\n'
    bare = load_mechanism(written(tmp_path, arm, "bare.toml"))
    tooled = load_mechanism(
        written(tmp_path, arm + "tool = { mass = 2.0, com = [0.1, 0.0, 0.0] }\n", "tooled.toml")
    )
    np.testing.assert_allclose(tooled.mass - bare.mass, [2.0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        tooled.mass * tooled.com.T - bare.mass * bare.com.T,
        [[0.2], [0.0], [0.0]],
        rtol=0,
        atol=1e-9,
    )


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("u.toml", TREE.encode("utf-16")),
        ("u.urdf", two_links().encode("utf-16")),
        ("b.toml", bytes(range(256))),
        ("b.urdf", bytes(range(256))),
        ("l.toml", TREE.replace("crane", "Kr\xe4n").encode("latin-1")),
    ],
)
def test_a_file_that_is_not_utf_8_is_refused(name: str, data: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match=rf"{name}: not a UTF-8 text file"):
        load_mechanism(tmp_path / name)
