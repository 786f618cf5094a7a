"""URDF and MJCF that are read, however they are written, and those that are refused."""

from pathlib import Path

import numpy as np
import pytest

from stribeck import load_mechanism
from stribeck.ident.errors import InputError, ModelError
from stribeck.ident.model.dynamics import inverse_dynamics
from stribeck.ident.model.files.collision_model import collision_model
from stribeck.ident.model.files.urdf_mjcf import model_spec
from tests.model_texts import BODY, CHAIN, FOLLOW, INERTIAL, mjcf, two_links, written

CRANK = f'<body name="crank"><joint name="crank"/>{BODY}</body>'


def test_missing_meshes_do_not_matter(tmp_path: Path) -> None:
    mesh = (
        '<visual><geometry><mesh filename="package://nowhere/v.stl"/></geometry></visual>'
        '<collision><geometry><mesh filename="package://nowhere/c.dae"/></geometry></collision>'
    )
    bare = load_mechanism(written(tmp_path, two_links()))
    dressed = load_mechanism(written(tmp_path, two_links(first=INERTIAL + mesh)))
    q = np.random.default_rng(0).normal(size=(5, 2))
    np.testing.assert_array_equal(inverse_dynamics(dressed, q), inverse_dynamics(bare, q))


def test_references_to_deleted_shapes_are_deleted(tmp_path: Path) -> None:
    """Sensors, pairs and tuples of geoms are no part of the mechanism, and do not
    keep it from being compiled.
    """
    bodies = (
        '<body><joint name="a"/><geom name="g" size="0.1"/><body pos="0 0 0.5"><joint name="b" '
        'axis="0 1 0"/><geom name="h" size="0.1"/></body></body>'
    )
    more = (
        '<sensor><distance geom1="g" geom2="h" cutoff="1"/></sensor><contact><pair geom1="g" '
        'geom2="h"/></contact>'
        '<custom><tuple name="t"><element objtype="geom" objname="g"/></tuple></custom>'
    )
    path = written(tmp_path, mjcf(bodies, more), "a.xml")
    assert load_mechanism(path).names == ("a", "b")
    assert model_spec(path).compile().njnt == 2
    assert collision_model(path)[0].ngeom == 2


def test_gravity_disabled_in_an_mjcf_is_zero_unless_another_is_given(tmp_path: Path) -> None:
    text = mjcf(
        f'<body><joint name="a" axis="0 1 0"/>{BODY}</body>',
        '<option><flag gravity="disable"/></option>',
    )
    path = written(tmp_path, text, "a.xml")
    assert load_mechanism(path).gravity.tolist() == [0.0, 0.0, 0.0]
    assert load_mechanism(path, gravity=[0, 0, -1]).gravity.tolist() == [0.0, 0.0, -1.0]


def test_the_file_ending_may_be_in_capitals(tmp_path: Path) -> None:
    assert load_mechanism(written(tmp_path, two_links(), "ROBOT.URDF")).names == (
        "shoulder",
        "elbow",
    )


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.urdf", two_links(kind="floating"), r"joint elbow is a floating joint"),
        (
            "a.xml",
            mjcf(f'<body><joint name="wrist" type="ball"/>{BODY}</body>'),
            r"joint wrist is a ball joint",
        ),
        (
            "a.xml",
            mjcf(f'<body><freejoint name="drone"/>{BODY}</body>'),
            r"joint drone is a floating joint",
        ),
        ("a.xml", mjcf(f"<body><joint/>{BODY}</body>"), r"joint number 0 has no name"),
        (
            "a.urdf",
            two_links(kind="planar"),
            r"joint elbow is a planar joint; only revolute, continuous and prismatic",
        ),
        ("a.urdf", two_links(kind="screw"), r"joint elbow is a screw joint"),
        (
            "a.urdf",
            two_links(more='<mimic joint="sholder"/>'),
            r"elbow mimics unknown joint 'sholder'; did you mean 'shoulder'",
        ),
        (
            "a.xml",
            mjcf(CHAIN, FOLLOW.format("")),
            r"joint c has a drive and sits on joint b, which follows another joint",
        ),
        (
            "a.xml",
            mjcf(CHAIN, FOLLOW.format('polycoef="0 1 0.3 0 0"')),
            r"joint b must follow one joint at one constant ratio",
        ),
        (
            "a.xml",
            mjcf(CHAIN, FOLLOW.format('/><joint joint1="a" joint2="b"')),
            r"joint [ab] follows itself",
        ),
        (
            "a.xml",
            mjcf(CRANK, '<equality><connect body1="crank" anchor="0 0 0"/></equality>'),
            r"nothing says which of its joints have drives \(crank\)",
        ),
        (
            "a.xml",
            mjcf(
                CHAIN,
                '<equality><joint joint1="b" joint2="a"/><connect body1="loop" body2="world" '
                'anchor="0 0 0" '
                'active="false"/><connect body1="loop" body2="world" anchor="0 0 0"/></equality>',
            ).replace("<body>", ('<body name="loop">'), 1),
            r"joint b follows a by a joint equality or mimic; models with loops do not support "
            r"this",
        ),
        ("a.urdf", two_links(more='<mimic joint="elbow"/>'), r"joint elbow follows itself"),
        ("a.urdf", two_links().replace('"elbow"', '"shoulder"'), r"two joints are called shoulder"),
        (
            "a.urdf",
            two_links(second=INERTIAL.replace('mass value="1"', 'mass value="-0.4"'), kind="fixed"),
            r"body lower has a mass of -0\.4 kg",
        ),
        (
            "a.urdf",
            two_links(first=INERTIAL.replace('mass value="1"', 'mass value="-0.4"')),
            r"body upper has a mass of -0\.4 kg",
        ),
        (
            "a.xml",
            mjcf(CHAIN).replace(
                "</body>",
                '<body><inertial pos="0 0 0" mass="-1" diaginertia="1 1 1"/></body></body>',
                1,
            ),
            r"a nameless body on the body of joint c has a mass of -1 kg",
        ),
        ("a.urdf", '<robot name="r"><link name="base"/></robot>', r"no moving joint"),
    ],
)
def test_an_unsupported_model_is_refused_by_name(
    name: str, text: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(ModelError, match=said) as caught:
        load_mechanism(written(tmp_path, text, name))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.urdf", "hello"),
        ("a.urdf", '<robot name="r"><link'),
        ("a.urdf", ""),
        (
            "a.xml",
            '<mujoco><worldbody><body><joint name="a" typ="hinge"/></body></worldbody></mujoco>',
        ),
    ],
)
def test_the_message_about_an_unreadable_model_is_one_line_with_its_file(
    name: str, text: str, tmp_path: Path
) -> None:
    path = written(tmp_path, text, name)
    with pytest.raises(InputError) as caught:
        load_mechanism(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "element",
    [
        '<include file="../secret.xml"/>',
        '<include file="&#46;&#46;/secret.xml"/>',
        '<include a=">" file="../secret.xml"/>',
        "<include\n file = '../secret.xml'></include>",
        '<include file="inner.xml"/>',
    ],
)
def test_an_include_from_outside_the_folder_is_refused(element: str, tmp_path: Path) -> None:
    """However it is written, and where an included file includes it."""
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "secret.xml").write_text(
        "<mujoco><worldbody><body><joint name='a'/><geom size='1'/></body></worldbody></mujoco>"
    )
    (folder / "inner.xml").write_text('<mujoco><include file="../secret.xml"/></mujoco>')
    (folder / "arm.xml").write_text(f"<mujoco>{element}</mujoco>")
    with pytest.raises(InputError, match="outside its folder"):
        load_mechanism(folder / "arm.xml")


def test_warnings_of_mujoco_go_to_the_log(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """MuJoCo would print them and start a log file of its own in the working directory."""
    monkeypatch.chdir(tmp_path)
    load_mechanism(
        written(tmp_path, two_links().replace('lower="-1" upper="1"', 'lower="0" upper="0"'))
    )
    assert "equal lower and upper limits" in caplog.text
    assert capfd.readouterr() == ("", "")
    assert [path.name for path in tmp_path.iterdir()] == ["robot.urdf"]
