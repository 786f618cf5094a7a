"""Simulation of a real arm's motion in MuJoCo: with published friction, with stribeck's
friction, and without friction.

The judge uses only the numbers of a calibration from stribeck.
"""

import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping

import mujoco
import numpy as np

from benchmarks.real_logs import LOGS, z1_log
from stribeck.ident.arrays import Array
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.export.formats import export
from stribeck.mujoco import attach

_STEP = 0.001  # s
_JOINTS = 6  # the gripper is not judged


def z1_position_errors(
    whole: Calibration, second_half: Calibration
) -> Iterator[tuple[str, float, float]]:
    """Name of a simulation, and its root mean square errors over the whole log
    and its first half [mrad].
    """
    yield "no friction", *_errors({})
    yield "authors' z1.xml", *_errors(None)
    pushed = [
        {name: offset for name, (_, _, offset) in _values(made).items()}
        for made in (whole, second_half)
    ]
    yield (
        "authors' z1.xml with stribeck's torque offset",
        _errors(None, pushed[0])[0],
        _errors(None, pushed[1])[1],
    )
    for offsets, word in ((None, ""), (pushed, " with torque offset")):
        found = [
            _errors(_values(made), offsets[k] if offsets else None)[k]
            for k, made in enumerate((whole, second_half))
        ]
        yield f"stribeck, Coulomb-viscous{word}", found[0], found[1]


def exported_position_errors(
    whole: Calibration, second_half: Calibration
) -> Iterator[tuple[str, float, float]]:
    """The same for `export --to mjcf --into z1.xml`, with nothing added, and for
    `stribeck.mujoco.attach`.
    """
    models = [
        _bare(export(made, "mjcf", LOGS / "z1" / "z1.xml").text) for made in (whole, second_half)
    ]
    found = [_position_errors(model)[k] for k, model in enumerate(models)]
    yield (
        "stribeck, Coulomb-viscous, `--directional none`, its exported MJCF alone",
        found[0],
        found[1],
    )
    found = [
        _position_errors(_model(None), made.with_offset())[k]
        for k, made in enumerate((whole, second_half))
    ]
    yield (
        "stribeck, Coulomb-viscous, `--directional none`, `stribeck.mujoco.attach`",
        found[0],
        found[1],
    )


def exported_errors_of_first_half(second_half: Calibration) -> tuple[float, float]:
    """Errors over the first half of the log with the exported MJCF alone, and with
    `stribeck.mujoco.attach` [mrad].
    """
    log = z1_log()
    rows = len(log["time"])
    half = {
        key: values[: rows // 2] if len(values) == rows else values for key, values in log.items()
    }
    exported = _bare(export(second_half, "mjcf", LOGS / "z1" / "z1.xml").text)
    return _error(exported, half), _error(_model(None), half, second_half.with_offset())


def _values(made: Calibration) -> dict[str, tuple[float, float, float]]:
    """Coulomb and viscous friction and torque offset of each joint."""
    return {
        name: (joint.values["coulomb"], joint.values["viscous"], joint.with_offset().offset)
        for name, joint in made.joints.items()
    }


def _errors(
    friction: Mapping[str, tuple[float, float, float]] | None,
    offset: Mapping[str, float] | None = None,
) -> tuple[float, float]:
    """Error over the log and over its first half; None for friction keeps
    the friction of the model.
    """
    push = [offset[f"joint{k + 1}"] for k in range(_JOINTS)] if offset else None
    return _position_errors(_model(friction), push=push)


def _position_errors(
    model: mujoco.MjModel, attached: Calibration | None = None, push: list[float] | None = None
) -> tuple[float, float]:
    """Error of the simulated motion over the log and over its first half [mrad]."""
    log = z1_log()
    q, measured = _simulated(model, log, attached, push), log["dof_pos"]
    half = len(q) // 2
    return _distance(q, measured), _distance(q[:half], measured[:half])


def _error(
    model: mujoco.MjModel, log: Mapping[str, Array], attached: Calibration | None = None
) -> float:
    """Error of the simulated motion over a log [mrad]."""
    return _distance(_simulated(model, log, attached, None), log["dof_pos"])


def _distance(q: Array, measured: Array) -> float:
    """Mean over the joints of the root mean square distance of positions [mrad]."""
    off = (q - measured)[:, :_JOINTS]
    return 1e3 * float(np.sqrt((off**2).mean(axis=0)).mean())


def _model(friction: Mapping[str, tuple[float, float, float]] | None) -> mujoco.MjModel:
    """The authors' arm, with other friction if given."""
    root = ET.parse(LOGS / "z1" / "z1.xml").getroot()
    if friction is not None:
        for joint in root.iter("joint"):
            if "name" in joint.attrib:
                coulomb, viscous, _ = friction.get(joint.attrib["name"], (0.0, 0.0, 0.0))
                joint.attrib |= {"frictionloss": repr(coulomb), "damping": repr(viscous)}
    return _bare(ET.tostring(root, encoding="unicode"))


def _bare(text: str) -> mujoco.MjModel:
    """The model of an MJCF without meshes, which are not available."""
    root = ET.fromstring(text)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in ("geom", "asset", "contact", "sensor", "keyframe"):
                parent.remove(child)
    model = mujoco.MjModel.from_xml_string(ET.tostring(root, encoding="unicode"))
    model.opt.timestep = _STEP
    return model


def _simulated(
    model: mujoco.MjModel,
    log: Mapping[str, Array],
    attached: Calibration | None,
    offset: list[float] | None,
) -> Array:
    """Simulated positions at the samples of the log, with its set-points and gains."""
    data = mujoco.MjData(model)
    n, t = model.nq, log["time"] - log["time"][0]
    data.qpos[:], data.qvel[:] = log["dof_pos"][0, :n], log["dof_vel"][0, :n]
    push = np.zeros(n) if offset is None else np.append(offset, np.zeros(n - len(offset)))
    q = np.empty((len(t), n))
    friction = None if attached is None else attach(model, data, attached)
    for k in range(len(t)):
        q[k] = data.qpos
        until = t[k + 1] if k + 1 < len(t) else t[k]
        while data.time < until - _STEP / 2.0:
            pd = log["kp"][:n] * (log["des_dof_pos"][k, :n] - data.qpos) + log["kd"][:n] * (
                log["des_dof_vel"][k, :n] - data.qvel
            )
            data.qfrc_applied[:n] += pd - push
            if friction is not None:
                friction.update()
            mujoco.mj_step(model, data)
            data.qfrc_applied[:n] -= pd - push
    return q
