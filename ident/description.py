"""Rigid-body models from files: URDF, MJCF, arm file or mechanism TOML to a `Mechanism`.

URDF and MJCF go through MuJoCo's compiler without their meshes. Its kinematics at q = 0 gives axes,
anchors, centres of mass and inertia frames in base axes: that is the mechanism in natural coordinates.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ident.armfile import ArmFile, Tool, check_against_model, load_arm, read_toml
from ident.errors import InputError, ModelError
from ident.mechanism import Bearing, Mechanism
from ident.mechanismfile import mechanism_from_table
from ident.resources import find

if TYPE_CHECKING:
    import mujoco

_log = logging.getLogger(__name__)
_NO_MASS = 1e-14        # kg; what a link without mass is compiled with


def load_mechanism(model: str | Path | ArmFile, gravity: ArrayLike | None = None) -> Mechanism:
    """Rigid-body model of an arm or mechanism.

    Parameters
    ----------
    model : str, Path or ArmFile
        URDF, MJCF, arm file, mechanism TOML, or the name of a built-in arm or mechanism.
    gravity : array_like, shape (3,), optional
        Overrides the gravity of the file [m/s²].

    Returns
    -------
    Mechanism

    Raises
    ------
    InputError
        If the file is missing or malformed, or gravity is no vector.
    ModelError
        If it has a floating, ball or closed-loop joint, or no moving joint; names the joint.
    """
    if gravity is not None and (np.shape(gravity) != (3,) or not np.isfinite(gravity).all()):
        raise InputError(f"gravity = {gravity!r}, three finite numbers [m/s²] are needed")
    if isinstance(model, ArmFile):
        return _from_arm(model, gravity)
    path = find(model)
    if path.suffix.lower() == ".toml":
        table = read_toml(path)
        if isinstance(table.get("joints"), list):
            return mechanism_from_table(table, path, gravity)
        return _from_arm(load_arm(path), gravity)
    spec = model_spec(path)
    return _from_compiled(spec.compile(), path.stem, spec.option.gravity if gravity is None else gravity)


def model_spec(path: Path) -> "mujoco.MjSpec":
    """MuJoCo specification of a URDF or MJCF file, without geometry and meshes.

    Raises
    ------
    InputError
        If MuJoCo cannot read or compile the file; gives MuJoCo's reason.
    ModelError
        If it has a floating, ball or closed-loop joint, or no moving joint; names the joint.
    """
    import mujoco

    try:
        spec = mujoco.MjSpec.from_file(str(path))
    except (ValueError, mujoco.FatalError) as error:
        raise InputError(f"{path}: not a usable URDF or MJCF model: {_one_line(error)}") from error
    _refuse_unsupported(spec, path.stem)
    if "<robot" not in path.read_text(encoding="utf-8", errors="replace"):     # a link of a URDF has what it states
        _inertia_of_geoms(spec)
    for part in (*spec.geoms, *spec.meshes):
        spec.delete(part)
    if any(body.joints and body.mass <= 0.0 for body in spec.bodies):    # MuJoCo refuses what is only warned of here
        spec.compiler.boundmass = spec.compiler.boundinertia = _NO_MASS
    try:
        spec.copy().compile()
    except (ValueError, mujoco.FatalError) as error:
        raise InputError(f"{path}: not a usable URDF or MJCF model: {_one_line(error)}") from error
    return spec


def _inertia_of_geoms(spec: "mujoco.MjSpec") -> None:
    """Write the inertia that an MJCF leaves to its geoms into the bodies, so that it survives them."""
    import mujoco

    bodies = spec.bodies[1:]
    if all(body.explicitinertial or not body.geoms for body in bodies):
        return
    whole = spec.copy()
    whole.compiler.fusestatic = False
    try:
        model = whole.compile()
    except (ValueError, mujoco.FatalError):
        return                          # meshes that are missing
    for k, body in enumerate(bodies, start=1):
        body.mass, body.ipos, body.iquat = model.body_mass[k], model.body_ipos[k], model.body_iquat[k]
        body.inertia, body.fullinertia[:] = model.body_inertia[k], np.nan
        body.explicitinertial = True


def add_point_mass(spec: "mujoco.MjSpec", body: str, mass: float, com: Sequence[float]) -> None:
    """Attach a point mass [kg] to a body, at com in the body's own frame [m]."""
    if mass > 0.0:
        spec.body(body).add_body(name=f"{body} payload", mass=mass, ipos=list(com), inertia=[1e-9] * 3,
                                 explicitinertial=True)


def _from_arm(arm: ArmFile, gravity: ArrayLike | None) -> Mechanism:
    bearings = {name: joint.bearing for name, joint in arm.joints.items()}
    mechanism = mechanism_of(arm.model, arm.name, arm.gravity if gravity is None else gravity, arm.tool, bearings)
    check_against_model(arm, mechanism)
    return mechanism


def mechanism_of(model: Path, name: str, gravity: ArrayLike, tool: Tool | None = None,
                 bearings: Mapping[str, Bearing | None] | None = None) -> Mechanism:
    """Mechanism of a URDF or MJCF file with what an arm file adds: gravity, tool, bearings.

    Parameters
    ----------
    model : Path
        URDF or MJCF.
    name : str
        What messages call it.
    gravity : array_like, shape (3,)
        Gravitational acceleration in base axes [m/s²].
    tool : Tool, optional
        Point mass on the last link.
    bearings : mapping of str to Bearing, optional
        Bearings by joint name.
    """
    spec = model_spec(model)
    if tool is not None:
        add_point_mass(spec, last_link(spec), tool.mass, tool.com)
    mechanism = _from_compiled(spec.compile(), name, gravity)
    known = bearings or {}
    return replace(mechanism, bearings=tuple(known.get(joint) for joint in mechanism.names))


def last_link(spec: "mujoco.MjSpec") -> str:
    """Body that the last joint carries."""
    model = spec.copy().compile()
    return str(model.body(int(model.jnt_bodyid[-1])).name)


def _from_compiled(model: "mujoco.MjModel", name: str, gravity: ArrayLike) -> Mechanism:
    """Natural coordinates of a compiled model: its kinematics at q = 0."""
    import mujoco

    data = mujoco.MjData(model)
    data.qpos[:] = 0.0
    mujoco.mj_kinematics(model, data)
    n = model.njnt
    owner = np.full(model.nbody, -1)      # joint that carries each body; fixed bodies join their parent's
    parent = [-1] * n
    for body in range(1, model.nbody):
        owner[body] = owner[model.body_parentid[body]]
        for j in range(int(model.body_jntadr[body]), int(model.body_jntadr[body]) + int(model.body_jntnum[body])):
            parent[j] = int(owner[body])
            owner[body] = j
    anchor = data.xanchor.copy()
    mass, first, second = np.zeros(n), np.zeros((n, 3)), np.zeros((n, 3, 3))
    for body in range(1, model.nbody):
        j = owner[body]
        if j < 0:
            continue
        c = data.xipos[body] - anchor[j]
        frame = data.ximat[body].reshape(3, 3)
        mass[j] += model.body_mass[body]
        first[j] += model.body_mass[body] * c
        second[j] += (frame * model.body_inertia[body]) @ frame.T + model.body_mass[body] * _about(c)
    com = first / np.where(mass > 0.0, mass, 1.0)[:, None]
    inertia = np.array([second[j] - mass[j] * _about(com[j]) for j in range(n)])
    names = tuple(str(model.joint(j).name) for j in range(n))
    empty = [names[j] for j in sorted(set(owner[owner >= 0])) if mass[j] <= len(owner) * _NO_MASS]
    if empty:
        _log.warning("%s: links of joints %s have no mass, so that their loads come out too small",
                     name, ", ".join(empty))
    origin = np.array([anchor[j] - (anchor[parent[j]] if parent[j] >= 0 else 0.0) for j in range(n)])
    position = np.where(model.jnt_limited.astype(bool)[:, None], model.jnt_range, [-np.inf, np.inf])
    return Mechanism(name, names, tuple(parent), model.jnt_type == mujoco.mjtJoint.mjJNT_SLIDE,
                     data.xaxis.copy(), origin, mass, com, inertia,
                     np.asarray(gravity, dtype=float), position, (None,) * n)


def _refuse_unsupported(spec: "mujoco.MjSpec", name: str) -> None:
    import mujoco

    kinds = {int(mujoco.mjtJoint.mjJNT_FREE): "floating", int(mujoco.mjtJoint.mjJNT_BALL): "ball"}
    if not spec.joints:
        raise ModelError(f"{name}: the model has no moving joint")
    for j, joint in enumerate(spec.joints):
        if int(joint.type) in kinds:
            raise ModelError(f"{name}: joint {joint.name or j} is a {kinds[int(joint.type)]} joint; "
                             "only revolute and prismatic joints of a mounted arm are supported")
        if not joint.name:
            raise ModelError(f"{name}: joint number {j} has no name; every moving joint needs one")
    if spec.equalities:
        raise ModelError(f"{name}: the model couples joints or bodies by {len(spec.equalities)} equality constraint(s) "
                         "(mimic, connect or weld); an open tree is needed here")


def _about(c: np.ndarray) -> np.ndarray:
    """Inertia of a unit point mass at c about the origin."""
    return np.asarray(np.dot(c, c) * np.eye(3) - np.outer(c, c))


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
