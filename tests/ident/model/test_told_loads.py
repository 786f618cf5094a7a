"""Loads that base parameters determine, in arms where one sees it."""

from pathlib import Path

import pytest

from stribeck.ident.arm.arm_file import load_arm
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.model.told_loads import told_loads

BODY = '<inertial pos="{com}" mass="2" diaginertia="0.1 0.1 0.1"/>'


@pytest.mark.parametrize(
    ("joint", "com", "told", "hidden"),
    [
        # a lift: its force tells its mass, so the load along the guide; how far the mass is off
        # the guide, no force tells
        ('type="slide" axis="0 0 1"', "0.1 0 0", ("torque", "axial"), ("bending",)),
        # a slide across gravity: its inertia tells its mass, and the mass the weight on the guide
        ('type="slide" axis="1 0 0"', "0 0 0", ("torque", "axial", "radial"), ("bending",)),
        # a wheel on a vertical shaft: torque tells the inertia only, not the weight on its bearing
        ('axis="0 0 1"', "0 0 0", ("torque",), ("axial",)),
        # a pendulum: torque tells the first moment and the inertia, not the mass
        ('axis="0 1 0"', "0 0 -0.3", ("torque",), ("radial",)),
    ],
)
def test_single_joints(
    tmp_path: Path, joint: str, com: str, told: tuple[str, ...], hidden: tuple[str, ...]
) -> None:
    path = tmp_path / "one.xml"
    path.write_text(
        '<mujoco><worldbody><body><joint name="one" '
        f"{joint}/>{BODY.format(com=com)}</body></worldbody></mujoco>",
        encoding="utf-8",
    )
    found = told_loads(load_mechanism(path))
    assert all(found[kind] == ("one",) for kind in told), found
    assert all(found[kind] == () for kind in hidden), found


def test_lab6() -> None:
    found = told_loads(load_mechanism(load_arm("lab6")))
    assert found["torque"] == tuple(f"j{k}" for k in range(1, 7))
    assert not any(found[kind] for kind in ("bending", "radial", "axial"))
