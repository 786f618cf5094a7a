"""Reader of URDF and MJCF files through MuJoCo's compiler, without meshes."""

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError, ModelError, no_text
from stribeck.ident.model.files.link_inertia import (
    allow_no_mass,
    make_inertias_possible,
    stated_inertia,
    write_inertia_of_geoms,
)
from stribeck.ident.model.files.mimic_joints import leaders_of
from stribeck.ident.model.files.model_checks import (
    refuse_joints,
    refuse_masses,
    refuse_unknown_ends,
    refuse_urdf_joints,
)
from stribeck.ident.model.files.mujoco_loops import has_loops, split_joints
from stribeck.ident.model.files.mujoco_parsing import (
    one_line,
    parsed_spec,
    refuse_foreign_includes,
    warnings_logged,
    why_not_xml,
)

if TYPE_CHECKING:
    import mujoco


def model_spec(path: Path) -> "mujoco.MjSpec":
    """Return the MuJoCo specification of a URDF or MJCF file, without geometry and meshes.

    MuJoCo refuses an inertia that no rigid body can have; the nearest possible inertia replaces it.

    Raises
    ------
    InputError
        If MuJoCo cannot read or compile the file; gives MuJoCo's reason.
    ModelError
        If the model has a floating, planar, ball or closed-loop joint, or no
        moving joint; names the joint.
    """
    return read_model(path)[0]


def read_model(path: Path) -> tuple["mujoco.MjSpec", dict[str, Array]]:
    """Return the specification of `model_spec`, and stated minus used inertia of each
    changed link, in link axes.
    """
    import mujoco

    text = path.read_text(encoding="utf-8", errors="replace")
    if "\0" in text:
        raise no_text(path)
    urdf = "<robot" in text
    refuse_foreign_includes(path, text, {path.resolve()})
    impossible: dict[str, Array] = {}
    if urdf:
        refuse_urdf_joints(text, path.stem)
    try:
        with warnings_logged(path):
            spec = parsed_spec(path, text)
            spec.modelname = path.stem  # the name in the file may not be valid text
            refuse_unknown_ends(spec, path.stem)
            loops = has_loops(spec)
            if not loops:
                refuse_joints(spec, path.stem)
            refuse_masses(spec, path.stem)
            # kept as a gravity that can be overridden
            if spec.option.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY:
                spec.option.gravity = np.zeros(3)
                spec.option.disableflags ^= int(mujoco.mjtDisableBit.mjDSBL_GRAVITY)
            # a link of a URDF keeps its stated inertia, even an impossible one
            if urdf:
                impossible = make_inertias_possible(spec)
            else:
                write_inertia_of_geoms(spec, path.stem)
            for part in (*spec.geoms, *spec.meshes):
                spec.delete(part)
            # a copy drops sensors, pairs and tuples that refer to deleted parts
            spec = spec.copy()
            if loops:
                split_joints(spec, path.stem)
                refuse_joints(spec, path.stem)
            if any(
                body.joints and (body.mass <= 0.0 or not stated_inertia(body).any())
                for body in spec.bodies
            ):
                allow_no_mass(spec)
            leaders_of(spec.copy().compile(), path.stem)
    except ModelError:
        raise
    except (ValueError, mujoco.FatalError) as error:
        raise InputError(
            f"{path}: not a usable URDF or MJCF model: {why_not_xml(text) or one_line(error)}"
        ) from error
    return spec, impossible


def root_link(path: Path) -> str:
    """Return the name of the URDF link that is the ground; empty for other files."""
    try:
        robot = ET.fromstring(path.read_bytes())
    except ET.ParseError:  # MuJoCo also reads files that are not well-formed XML
        return ""
    carried = {
        str(child.get("link"))
        for joint in robot.findall("joint")
        for child in joint.findall("child")
    }
    return next(
        (
            str(link.get("name"))
            for link in robot.findall("link")
            if link.get("name") not in carried
        ),
        "",
    )
