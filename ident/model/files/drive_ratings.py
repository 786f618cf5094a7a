"""What a model states of its drives: largest torques and velocities."""

import re
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from stribeck.ident.model.files.urdf_mjcf import model_spec


def rated_torques(model: Path, joints: Iterable[str]) -> dict[str, float]:
    """Largest torque of each joint that a URDF (effort) or MJCF (actuatorfrcrange) states [N·m or N]."""
    compiled = model_spec(model).compile()
    found = {}
    for name in joints:
        joint = compiled.joint(name).id
        limit = float(np.abs(compiled.jnt_actfrcrange[joint]).min())
        if compiled.jnt_actfrclimited[joint] and limit > 0.0:
            found[name] = limit
    return found


def rated_velocities(model: Path) -> dict[str, float]:
    """Largest velocity of each joint that a URDF states [rad/s or m/s]; an MJCF knows none."""
    text = re.sub("<!--.*?-->", "", model.read_text(encoding="utf-8", errors="replace"), flags=re.DOTALL)    # some hold "--"
    try:
        root = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError):        # MuJoCo reads more than is XML
        return {}
    found = {}
    for joint in root.findall("joint") if root.tag == "robot" else ():
        limit = joint.find("limit")
        try:
            value = float(limit.get("velocity", "nan")) if limit is not None else np.nan
        except ValueError:
            continue
        if np.isfinite(value) and value > 0.0:
            found[str(joint.get("name"))] = value
    return found
