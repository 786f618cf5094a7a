"""URDF and MJCF through MuJoCo's compiler, without their meshes."""

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError, ModelError, no_text
from stribeck.ident.model.files.link_inertia import allow_no_mass, make_inertias_possible, stated_inertia, write_inertia_of_geoms
from stribeck.ident.model.files.mimic_joints import leaders_of
from stribeck.ident.model.files.model_checks import refuse_joints, refuse_masses, refuse_unknown_ends, refuse_urdf_joints
from stribeck.ident.model.files.mujoco_loops import has_loops, split_joints
from stribeck.ident.model.files.mujoco_parsing import one_line, parsed_spec, refuse_foreign_includes, warnings_logged, why_not_xml

if TYPE_CHECKING:
    import mujoco


def model_spec(path: Path) -> "mujoco.MjSpec":
    """MuJoCo specification of a URDF or MJCF file, without geometry and meshes.

    Inertias that no body can have, which MuJoCo refuses, are the nearest possible ones.

    Raises
    ------
    InputError
        If MuJoCo cannot read or compile the file; gives MuJoCo's reason.
    ModelError
        If it has a floating, planar, ball or closed-loop joint, or no moving joint; names the joint.
    """
    return read_model(path)[0]


def read_model(path: Path) -> tuple["mujoco.MjSpec", dict[str, Array]]:
    """Specification as `model_spec` says, and what the stated inertias of links exceed it by, in link axes."""
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
            spec.modelname = path.stem          # its own may be no text
            refuse_unknown_ends(spec, path.stem)
            loops = has_loops(spec)
            if not loops:
                refuse_joints(spec, path.stem)
            refuse_masses(spec, path.stem)
            if spec.option.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY:      # kept as a gravity that can be overridden
                spec.option.gravity = np.zeros(3)
                spec.option.disableflags ^= int(mujoco.mjtDisableBit.mjDSBL_GRAVITY)
            if urdf:                    # a link of a URDF has what it states, possible or not
                impossible = make_inertias_possible(spec)
            else:
                write_inertia_of_geoms(spec, path.stem)
            for part in (*spec.geoms, *spec.meshes):
                spec.delete(part)
            spec = spec.copy()          # which sheds what refers to them: sensors, pairs, tuples
            if loops:
                split_joints(spec, path.stem)
                refuse_joints(spec, path.stem)
            if any(body.joints and (body.mass <= 0.0 or not stated_inertia(body).any()) for body in spec.bodies):
                allow_no_mass(spec)
            leaders_of(spec.copy().compile(), path.stem)
    except ModelError:
        raise
    except (ValueError, mujoco.FatalError) as error:
        raise InputError(f"{path}: not a usable URDF or MJCF model: {why_not_xml(text) or one_line(error)}") from error
    return spec, impossible


def root_link(path: Path) -> str:
    """The link of a URDF that is the ground; empty for other files."""
    try:
        robot = ET.fromstring(path.read_bytes())
    except ET.ParseError:               # MuJoCo reads more than is XML
        return ""
    carried = {str(child.get("link")) for joint in robot.findall("joint") for child in joint.findall("child")}
    return next((str(link.get("name")) for link in robot.findall("link") if link.get("name") not in carried), "")
