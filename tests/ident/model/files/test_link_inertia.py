"""Mass and inertia of links: stated, of geoms, impossible, none."""

import logging
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from stribeck import joint_loads, load_mechanism
from stribeck.ident.model.dynamics import joint_wrenches
from tests.model_texts import (
    BODY,
    INERTIAL,
    MJCF_BODIES,
    WORKSHOP,
    assert_agrees_with_pinocchio,
    mjcf,
    two_links,
    written,
)

LOST = (
    '<asset><mesh name="m" file="nowhere.stl"/><mesh name="v" vertex="0 0 0 1 0 0 0 1 0 0 0 '
    '1"/></asset>'
)
TWO = (
    '<geom type="mesh" mesh="m" mass="0"/><body><joint name="a"/>{}<body name="tool" pos="0.5 0 0">'
    '<geom type="box" size="0.1 0.1 0.1" mass="5"/>{}</body></body>'
)


def link(inertia: str) -> str:
    keys = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
    terms = " ".join(f'{key}="{value}"' for key, value in zip(keys, inertia.split(), strict=True))
    return (
        '<inertial><origin xyz="0.1 0 0" rpy="0.3 0.2 0.1"/><mass value="1"/><inertia '
        f"{terms}/></inertial>"
    )


@pytest.mark.parametrize(
    ("link", "tool", "mass", "named"),
    [
        (BODY, "", 6.0, []),
        (
            BODY,
            '<geom type="mesh" mesh="m" density="0"/><geom type="mesh" mesh="v" mass="2"/>',
            8.0,
            [],
        ),
        (BODY + '<geom type="mesh" mesh="m"/>', "", 6.0, []),
        (BODY, '<geom type="mesh" mesh="m"/>', 6.0, ["body tool"]),
        ('<geom type="mesh" mesh="m"/>', "", 5.0, ["the body of joint a"]),
    ],
)
def test_a_missing_mesh_does_not_change_other_masses(
    link: str,
    tool: str,
    mass: float,
    named: list[str],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    mechanism = load_mechanism(written(tmp_path, mjcf(TWO.format(link, tool), LOST), "a.xml"))
    np.testing.assert_allclose(mechanism.mass, [mass], rtol=0, atol=1e-9)
    said = [message for message in caplog.messages if "meshes that cannot be read (m)" in message]
    assert [
        name
        for name in ("body tool", "the body of joint a")
        if any(name in message for message in said)
    ] == named
    assert len(said) == len(caplog.messages) == len(named)


def test_a_readable_mesh_has_mass_for_every_file_ending_of_the_model(tmp_path: Path) -> None:
    written(
        tmp_path,
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n",
        "corner.obj",
    )
    text = mjcf(
        '<body><joint name="a"/><geom type="mesh" mesh="corner"/></body>',
        '<asset><mesh file="corner.obj"/><mesh name="m" file="nowhere.stl"/></asset>',
    )
    for name in ("a.xml", "a.XML", "a.mjcf"):
        np.testing.assert_allclose(
            load_mechanism(written(tmp_path, text, name)).mass, [1000.0 / 6.0], rtol=1e-6
        )


def test_a_link_without_mass_does_not_change_other_links(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    body = '<body><joint name="a"/><body><joint name="b"/><geom size="0.1" mass="2"/></body></body>'
    np.testing.assert_allclose(
        load_mechanism(written(tmp_path, mjcf(body), "a.xml")).mass, [0.0, 2.0], atol=1e-9
    )
    (warning,) = caplog.messages
    assert "links of joints a have no mass" in warning


def test_inertiafromgeom_overrides_stated_inertia(tmp_path: Path) -> None:
    text = mjcf(f'<body><joint name="a"/>{BODY}<geom size="0.1" mass="3"/></body>')
    assert load_mechanism(written(tmp_path, text, "a.xml")).mass.tolist() == [1.0]
    forced = text.replace('angle="radian"', 'angle="radian" inertiafromgeom="true"')
    assert load_mechanism(written(tmp_path, forced, "b.xml")).mass.tolist() == pytest.approx([3.0])


def test_collision_shapes_give_a_urdf_link_no_mass(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A URDF link without <inertial> has none; a density that nobody stated
    must not appear in the loads.
    """
    box = '<collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision>'
    mechanism = load_mechanism(written(tmp_path, two_links(second=box)))
    assert mechanism.mass[1] < 1e-9
    assert "elbow" in caplog.text


@pytest.mark.parametrize(
    ("first", "second", "named"),
    [(INERTIAL, "", ["elbow"]), ("", INERTIAL, ["shoulder"]), ("", "", ["shoulder", "elbow"])],
)
def test_a_warning_names_the_joint_of_a_link_without_mass(
    first: str, second: str, named: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    mechanism = load_mechanism(written(tmp_path, two_links(first, second)))
    assert mechanism.names == ("shoulder", "elbow")
    (warning,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    message = warning.getMessage()
    assert "mass" in message
    assert [name for name in mechanism.names if name in message] == named


def test_links_with_mass_cause_no_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    load_mechanism(written(tmp_path, WORKSHOP))
    load_mechanism(written(tmp_path, mjcf(MJCF_BODIES["two joints on a body"]), "robot.xml"))
    load_mechanism("lab6")
    assert not caplog.records


def test_a_massless_link_carries_the_weight_of_later_links(tmp_path: Path) -> None:
    mechanism = load_mechanism(written(tmp_path, two_links(first="")))
    force = joint_wrenches(mechanism, np.zeros((1, 2))).force[0]
    np.testing.assert_allclose(force, [[0.0, 0.0, 9.81], [0.0, 0.0, 9.81]], atol=1e-9)


@pytest.mark.parametrize(
    ("inertia", "said"),
    [
        ("0 0 0 0 0 0", "mass but no inertia"),
        ("1 1 3 0 0 0", "an inertia that no rigid body can have"),
        ("1 -1 3 0.1 0 0", "an inertia that no rigid body can have"),
        ("0 0 0 0.01 0 0", "an inertia that no rigid body can have"),
    ],
)
def test_an_impossible_inertia_causes_a_warning_and_is_used_as_stated(
    inertia: str, said: str, tmp_path: Path, pin: ModuleType, caplog: pytest.LogCaptureFixture
) -> None:
    path = written(tmp_path, two_links(second=link(inertia)))
    mechanism = load_mechanism(path)
    (record,) = caplog.records
    assert f"joints elbow have {said}" in record.getMessage()
    assert_agrees_with_pinocchio(mechanism, pin.buildModelFromUrdf(str(path)), pin)


def test_the_inertia_of_a_thin_rod_is_possible(
    tmp_path: Path, pin: ModuleType, caplog: pytest.LogCaptureFixture
) -> None:
    path = written(
        tmp_path, two_links(first=link("0.2 0.2 0 0 0 0"), second=link("0 0.1 0.1 0 0 0"))
    )
    assert_agrees_with_pinocchio(load_mechanism(path), pin.buildModelFromUrdf(str(path)), pin)
    assert not caplog.records


def test_an_impossible_inertia_of_the_fixed_base_causes_no_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    odd, plain = (
        two_links().replace('<link name="base"/>', f'<link name="base">{inertial}</link>')
        for inertial in (link("1 -1 3 0.1 0 0"), "")
    )
    q = np.random.default_rng(0).normal(size=(5, 2))
    np.testing.assert_array_equal(
        joint_loads(load_mechanism(written(tmp_path, odd)), q).tau,
        joint_loads(load_mechanism(written(tmp_path, plain)), q).tau,
    )
    assert not caplog.records


def test_a_link_without_mass_in_the_middle_of_a_chain_causes_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A frame on a fixed joint needs no mass; a link that a joint moves does."""
    text = re.sub(
        r'<link name="(rail|carriage|gripper)">.*?</link>',
        r'<link name="\1"/>',
        WORKSHOP,
        flags=re.DOTALL,
    )
    mechanism = load_mechanism(written(tmp_path, text))
    (record,) = caplog.records
    assert "joints slide have no mass" in record.getMessage()
    assert mechanism.mass[mechanism.names.index("slide")] < 1e-9
