"""The inertia of links that was identified, written into a URDF."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from stribeck.ident.arm.load_mechanism import mechanism_of
from stribeck.ident.arrays import Array
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.export.descriptions.xml_markup import (
    Change,
    Element,
    child_added,
    elements,
    spliced,
)
from stribeck.ident.model.mechanism import Mechanism


def bare_arm(calibration: Calibration) -> Mechanism:
    """Return the calibration's model without tools, with the identified inertia if there is one."""
    path = calibration.folder / Path(calibration.model.file).name
    return calibration.with_inertia(
        mechanism_of(
            path, calibration.arm, calibration.model.gravity, stated=calibration.model.stated_chain
        )
    )


def with_inertia(text: str, arm: Mechanism) -> str:
    """Return a URDF with an ``<inertial>`` for each moving link, which
    includes the links fixed to it.
    """
    found = elements(text)
    joints = [one for one in found if one.tag == "joint" and one.path == ("robot",)]
    links = {
        one.attributes.get("name", ""): one
        for one in found
        if one.tag == "link" and one.path == ("robot",)
    }
    turned, moving, fixed = _orientations(found, joints), dict[str, int](), set[str]()
    for joint in joints:
        child, name = _of(found, joint, "child"), joint.attributes.get("name", "")
        if name in arm.tree.names:
            moving[child] = arm.tree.names.index(name)
        else:
            fixed.add(child)
    carried = {child for child in fixed if _carrier(found, joints, child, moving)}

    def changes() -> Iterator[Change]:
        for name, link in links.items():
            inertial = next(
                (
                    one
                    for one in found
                    if one.tag == "inertial"
                    and one.parent is not None
                    and one.parent.begin == link.begin
                ),
                None,
            )
            if name in moving:
                new = _inertial(arm.tree, moving[name], turned[name])
                yield (
                    child_added(text, link, new)
                    if inertial is None
                    else (inertial.begin, inertial.end, new)
                )
            elif name in carried and inertial is not None:
                yield inertial.begin, inertial.end, ""

    return spliced(text, list(changes()))


def _inertial(tree: Mechanism, j: int, axes: Array) -> str:
    """Return the ``<inertial>`` element of a link, in axes of the link."""
    com, inertia = axes.T @ tree.com[j], axes.T @ tree.inertia[j] @ axes
    moments = " ".join(
        f'i{a}{b}="{inertia["xyz".index(a), "xyz".index(b)]:.10g}"'
        for a, b in ("xx", "xy", "xz", "yy", "yz", "zz")
    )
    return (
        f'<inertial><origin xyz="{" ".join(f"{x:.10g}" for x in com)}" rpy="0 0 0"/><mass '
        f'value="{tree.mass[j]:.10g}"/>'
        f"<inertia {moments}/></inertial>"
    )


def _orientations(found: list[Element], joints: list[Element]) -> dict[str, Array]:
    """Return the axes of each link at q = 0, in axes of the root."""
    before = {
        _of(found, joint, "child"): (_of(found, joint, "parent"), _turn(found, joint))
        for joint in joints
    }

    def axes(link: str) -> Array:
        if link not in before:
            return np.eye(3)
        parent, turn = before[link]
        return axes(parent) @ turn

    return {link: axes(link) for link in before}


def _carrier(
    found: list[Element], joints: list[Element], link: str, moving: dict[str, int]
) -> bool:
    """Return whether a link is a moving link, or fixed to one."""
    before = {_of(found, joint, "child"): _of(found, joint, "parent") for joint in joints}
    while link in before and link not in moving:
        link = before[link]
    return link in moving


def _turn(found: list[Element], joint: Element) -> Array:
    """Rotation of a joint's frame in its parent's: about x, then y, then z of the parent."""
    origin = next(
        (
            one
            for one in found
            if one.tag == "origin" and one.parent is not None and one.parent.begin == joint.begin
        ),
        None,
    )
    angles = [
        float(part) for part in (origin.attributes.get("rpy", "") if origin else "").split()
    ] or [0.0] * 3
    (cx, cy, cz), (sx, sy, sz) = np.cos(angles), np.sin(angles)
    return np.array(
        [
            [cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx],
            [sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx],
            [-sy, cy * sx, cy * cx],
        ]
    )


def _of(found: list[Element], joint: Element, tag: str) -> str:
    """Link that is a joint's parent or child."""
    return next(
        (
            one.attributes.get("link", "")
            for one in found
            if one.tag == tag and one.parent is not None and one.parent.begin == joint.begin
        ),
        "",
    )
