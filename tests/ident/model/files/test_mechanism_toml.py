"""Mechanism files in natural coordinates: what they state, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

from stribeck import load_mechanism
from stribeck.ident.errors import InputError
from tests.model_texts import TREE, written

LOOP = (
    '{ type = "pin", axis = [0.0, 0.0, 1.0], a = { link = "END", point = [0.0, 0.0, 0.0] }, '
    'b = { link = "mast", point = [0.5, 0.0, 1.0] } }'
)
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


def test_a_mechanism_file_is_read_as_written(tmp_path: Path) -> None:
    crane = load_mechanism(written(tmp_path, TREE, "crane.toml"))
    assert (crane.name, crane.names, crane.parent) == ("crane", ("mast", "trolley"), (-1, 0))
    assert crane.prismatic.tolist() == [False, True]
    assert crane.axis.tolist() == [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    assert crane.inertia[0].tolist() == [[0.3, 0.01, 0.02], [0.01, 0.3, 0.03], [0.02, 0.03, 0.1]]
    assert crane.gravity.tolist() == [0.0, 0.0, -10.0]
    assert crane.position.tolist() == [[-np.inf, np.inf]] * 2
    assert crane.bearings[0] is None
    assert crane.bearings[1].bending_arm == 0.2
    assert (
        load_mechanism(written(tmp_path, TREE, "crane.toml"), gravity=(0, 0, -1.6)).gravity[2]
        == -1.6
    )


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            'parent = "mast"',
            'parent = "boom"',
            r"parent 'boom' of joint 'trolley' is neither 'ground' nor .*\(mast\)",
        ),
        ('parent = "ground"', 'parent = "trolley"', r"parent 'trolley' of joint 'mast'"),
        ('name = "trolley"', 'name = "mast"', r"the name 'mast' is taken already"),
        (
            "axis = [1.0, 0.0, 0.0]",
            "axis = [0.0, 0.0, 0.0]",
            r"axis of joint 'trolley' has length 0",
        ),
        ("mass = 2.0", "mass = nan", r"joints\.1\.mass = nan"),
        ("mass = 2.0", "mass = -2.0", r"joints\.1\.mass = -2\.0: .*greater than or equal to 0"),
        ("mass = 2.0\n", "", r"joints\.1\.mass is missing"),
        ("mass = 2.0", "masss = 2.0", r"joints\.1\.masss.*did you mean 'mass'"),
        (
            "friction_arm",
            "friction_amr",
            r"joints\.1\.bearing\.friction_amr.*did you mean 'friction_arm'",
        ),
        ("friction_arm = 0.05", "friction_arm = 0.0", r"friction_arm = 0 m, a positive length"),
        ("com = [0.0, 0.0, -0.2]", "com = [0.0, 0.0]", r"joints\.1\.com"),
        ("[0.0, 0.0, -10.0]", "[0.0, 0.0, inf]", r"gravity\.2 = inf"),
        (
            '"prismatic"',
            '"sliding"',
            r"joints\.1\.type = 'sliding': .*'revolute', 'prismatic', 'universal'",
        ),
        ("schema = 1", "schema = 2", r"schema 2 is newer"),
        ('name = "crane"', 'name = "crane"\nloops = [{ type = "pin" }]', r"loops\.0\.a is missing"),
        ('name = "crane"', 'name = " "', r"name = ' ': a name is needed"),
        ('name = "mast"', 'name = ""', r"joints\.0\.name = '': a name is needed"),
        (
            'name = "mast"',
            'name = "ground"',
            r"the name 'ground' is taken already; .* other than 'ground'",
        ),
        (
            "mass = 2.0",
            "mass = 2.0\nposition = [0.4, -0.4]",
            r"trolley\.position = \[0\.4, -0\.4\]: the lower limit must come first",
        ),
        (
            "mass = 2.0",
            "mass = 2.0\nposition = [0.4, 0.4]",
            r"the lower limit must come first and be below the upper limit",
        ),
        (
            "[0.1, 0.1, 0.1, 0.0",
            "[0.1, 0.1, -0.1, 0.0",
            r"trolley\.inertia = \[0\.1, 0\.1, -0\.1, .*no rigid body has this inertia",
        ),
        (
            "[0.1, 0.1, 0.1, 0.0",
            "[0.1, 0.1, 0.21, 0.0",
            r"no rigid body has this inertia.* sum of the other two",
        ),
        ("[0.1, 0.1, 0.1, 0.0", "[0.1, 0.1, 0.1, 0.11", r"no rigid body has this inertia"),
        (
            "mass = 2.0",
            "mass = 2.0\nspring = { stiffness = 4.0 }\npassive = false",
            r"passive = false: .*spring.*always passive",
        ),
        (
            'name = "crane"',
            f'name = "crane"\nloops = [{LOOP}]'.replace("END", "mast"),
            r"loops\[0\] ties 'mast' to itself",
        ),
        (
            'name = "crane"',
            f'name = "crane"\nloops = [{LOOP}, {LOOP}]'.replace("END", "trolley"),
            r"loops\[1\] is named 'trolley",
        ),
        (
            'name = "crane"',
            f'name = "crane"\nloops = [{LOOP.replace("pin", "rigid")}]'.replace("END", "trolley"),
            r"loops\[0\]\.axis: only a pin has an axis",
        ),
        (
            '"prismatic"\naxis = [1.0, 0.0, 0.0]',
            '"universal"\npassive = false',
            r"passive = false: .*several axes.*always passive",
        ),
    ],
)
def test_a_faulty_mechanism_file_is_refused_with_its_key(
    old: str, new: str, said: str, tmp_path: Path
) -> None:
    path = written(tmp_path, TREE.replace(old, new, 1), "crane.toml")
    with pytest.raises(InputError, match=said) as caught:
        load_mechanism(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "axes", "name", "said"),
    [
        ("universal", "axes = [[0.0, 0.0, 1.0], [0.0, 0.0, -2.0]]", "leg", "may not be parallel"),
        ("universal", "axes = [[0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]", "leg", "has length 0"),
        (
            "spherical",
            "axes = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [1.0, 0.0, 3.0]]",
            "leg",
            "may not lie in one plane",
        ),
        (
            "planar",
            "axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 1.0]]",
            "leg",
            "a rotation axis normal to both",
        ),
        (
            "planar",
            "axes = [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]",
            "leg",
            "not parallel",
        ),
        (
            "free",
            "axes = [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [1, 0, 0], [0, 1, 0], [0, "
            "0, 1]]",
            "leg",
            "the three sliding axes may not lie in one plane",
        ),
        (
            "universal",
            "",
            "hip.2",
            r"two axes are named 'hip\.2': one of joint 'hip\.2' and one of joint 'hip'",
        ),
        ("spherical", "", "hip", "the name 'hip' is taken already"),
    ],
)
def test_wrong_axes_and_names_of_joints_are_refused(
    kind: str, axes: str, name: str, said: str, tmp_path: Path
) -> None:
    text = COMPOSITE.replace("KIND", kind).replace("AXES", axes).replace("NAME", name)
    with pytest.raises(InputError, match=said):
        load_mechanism(written(tmp_path, text, "one.toml"))


def test_a_planar_joint_may_move_in_a_vertical_plane(tmp_path: Path) -> None:
    axes = "axes = [[1.0, 0.0, 0.0], [0.0, 0.0, 2.0], [0.0, -1.0, 0.0]]"
    text = COMPOSITE.replace("KIND", "planar").replace("AXES", axes).replace("NAME", "leg")
    mechanism = load_mechanism(written(tmp_path, text, "one.toml"))
    assert mechanism.axis[:3].tolist() == [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]


def test_a_mechanism_without_joints_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="joints"):
        load_mechanism(
            written(tmp_path, 'schema = 1\nname = "nothing"\njoints = []\n', "nothing.toml")
        )
