"""Largest torques and velocities of the drives as the model file states them."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import numpy as np

from stribeck.ident.model.files.urdf_mjcf import model_spec

if TYPE_CHECKING:
    import mujoco


def rated_torques(model: Path, joints: Iterable[str]) -> dict[str, float]:
    """Return the largest torque that a URDF (``effort``) or MJCF states for each joint [N·m or N].

    In an MJCF the limit is the joint's ``actuatorfrcrange``, an actuator's ``forcerange`` times its
    gear, or a motor's ``ctrlrange`` times gain and gear; the smallest of these limits counts. A
    mechanism file states no torque limits.
    """
    if model.suffix.lower() == ".toml":
        return {}
    compiled = model_spec(model).compile()
    stated: dict[int, list[float]] = {}
    for limited in np.flatnonzero(compiled.jnt_actfrclimited).tolist():
        stated.setdefault(limited, []).append(
            float(np.abs(compiled.jnt_actfrcrange[limited]).min())
        )
    for actuator, joint, gear in _actuators(compiled):
        if compiled.actuator_forcelimited[actuator]:
            stated.setdefault(joint, []).append(
                gear * float(np.abs(compiled.actuator_forcerange[actuator]).min())
            )
        if (
            compiled.actuator_ctrllimited[actuator]
            and not compiled.actuator_biasprm[actuator].any()
        ):
            gain = abs(float(compiled.actuator_gainprm[actuator, 0]))
            stated.setdefault(joint, []).append(
                gear * gain * float(np.abs(compiled.actuator_ctrlrange[actuator]).min())
            )
    found = {
        name: [limit for limit in stated.get(compiled.joint(name).id, ()) if limit > 0.0]
        for name in joints
    }
    return {name: min(limits) for name, limits in found.items() if limits}


def _actuators(compiled: "mujoco.MjModel") -> Iterator[tuple[int, int, float]]:
    """Yield each actuator that acts on one joint with a constant gain, the joint, and the
    magnitude of the gear ratio.
    """
    import mujoco

    for actuator in range(compiled.nu):
        gear = abs(float(compiled.actuator_gear[actuator, 0]))
        if (
            compiled.actuator_trntype[actuator] == mujoco.mjtTrn.mjTRN_JOINT
            and gear > 0.0
            and compiled.actuator_gaintype[actuator] == mujoco.mjtGain.mjGAIN_FIXED
        ):
            yield actuator, int(compiled.actuator_trnid[actuator, 0]), gear


def _servo_velocities(model: Path) -> dict[str, float]:
    """Largest joint velocities that an MJCF's velocity servos accept as set-points; their
    torque is kv (ctrl - gear dq).
    """
    compiled = model_spec(model).compile()
    found: dict[str, float] = {}
    for actuator, joint, gear in _actuators(compiled):
        kv, (_, position, velocity) = (
            float(compiled.actuator_gainprm[actuator, 0]),
            compiled.actuator_biasprm[actuator, :3],
        )
        most = float(np.abs(compiled.actuator_ctrlrange[actuator]).min()) / gear
        if (
            compiled.actuator_ctrllimited[actuator]
            and kv > 0.0
            and position == 0.0
            and velocity == -kv
            and most > 0.0
        ):
            name = compiled.joint(joint).name
            found[name] = min(most, found.get(name, most))
    return found


def rated_velocities(model: Path) -> dict[str, float]:
    """Return the largest velocity of each joint as a URDF or the velocity servos of an
    MJCF state it [rad/s or m/s].
    """
    # comments go first: some contain "--", which XML forbids
    text = re.sub(
        "<!--.*?-->", "", model.read_text(encoding="utf-8", errors="replace"), flags=re.DOTALL
    )
    try:
        root = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError):
        # MuJoCo also reads files that are not well-formed XML
        return {}
    if root.tag != "robot":
        return _servo_velocities(model)
    found = {}
    for joint in root.findall("joint"):
        limit = joint.find("limit")
        try:
            value = float(limit.get("velocity", "nan")) if limit is not None else np.nan
        except ValueError:
            continue
        if np.isfinite(value) and value > 0.0:
            found[str(joint.get("name"))] = value
    return found
