"""Loader of rigid-body models: a URDF, MJCF, arm file or mechanism file gives a `Mechanism`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from stribeck.ident.arm.arm_file import ArmFile, check_against_model, load_arm
from stribeck.ident.arm.arm_tables import Tool
from stribeck.ident.arm.built_in import find_model
from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError, ModelError, about_file
from stribeck.ident.model.driven.driven_joints import driven_joints
from stribeck.ident.model.driven.passive_joints import check_classes
from stribeck.ident.model.files.from_mujoco import link_frames, natural_coordinates
from stribeck.ident.model.files.link_inertia import add_point_mass
from stribeck.ident.model.files.mechanism_toml import is_mechanism, mechanism_from_table
from stribeck.ident.model.files.mimic_joints import last_link
from stribeck.ident.model.files.mujoco_loops import has_loops
from stribeck.ident.model.files.stated_loops import StatedChain
from stribeck.ident.model.files.urdf_mjcf import read_model, root_link
from stribeck.ident.model.joint_parts import Bearing
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.toml_tables import read_toml


def load_mechanism(
    model: str | Path | ArmFile, gravity: ArrayLike | None = None, tool: Tool | None = None
) -> Mechanism:
    """Return the rigid-body model of an arm or mechanism.

    Fixed joints are fused. A joint that another joint moves (URDF ``mimic``, MJCF joint equality),
    such as the second finger of a gripper, becomes a `Follower` and has no column of its own: the
    drive of its leader carries its loads. The stiffness and damping of an MJCF joint become a
    spring across the drive (`Mechanism.springs`). Friction, damping and armatures in the file, also
    those of followers, act in driving torques and `simulate` only (`Mechanism.friction`,
    `Mechanism.rotors`); identification ignores them, because stribeck identifies friction.

    Parameters
    ----------
    model : str, Path or ArmFile
        URDF, MJCF, arm file, mechanism TOML, or the name of a built-in arm or mechanism. A
        mechanism file or MJCF with loops gives all its joints. An arm file whose model has loops
        gives the driven joints only (`driven_joints`): the joints with a table in the arm file, or
        the joints with an actuator in the MJCF. A name shared by a built-in arm and its mechanism
        means the mechanism.
    gravity : array_like, shape (3,), optional
        Gravity in axes of the model's root, instead of the gravity in the file [m/s²]; for an
        arm on a wall or a ceiling.
    tool : Tool, optional
        Mass on the last link of an arm, in addition to the tool in the arm file;
        mechanism files have no tool.

    Returns
    -------
    Mechanism

    Raises
    ------
    InputError
        If the file is missing or malformed, or if gravity is not a vector of three finite numbers.
    ModelError
        If the model has a floating or planar joint, a ball joint outside loops, or no moving joint;
        names the joint. If the loops do not close with the drives at zero, or if it is unknown
        which joints of the loops have drives.

    Warns
    -----
    Log warnings name joints whose links have no mass, no inertia or an impossible
    inertia; springs, also springs that cannot be represented; gravity compensation
    (``gravcomp``); and springs of tendons.

    Examples
    --------
    >>> from stribeck import load_mechanism
    >>> load_mechanism("lab6").names
    ('j1', 'j2', 'j3', 'j4', 'j5', 'j6')
    """
    if gravity is not None and (np.shape(gravity) != (3,) or not np.isfinite(gravity).all()):
        raise InputError(f"gravity = {gravity!r}; needed are three finite numbers [m/s²]")
    if isinstance(model, ArmFile):
        return _from_arm(model, gravity, tool)
    path = find_model(model)
    if path.suffix.lower() == ".toml":
        table = read_toml(path)
        if is_mechanism(table):
            return mechanism_from_table(table, path, gravity)
        return _from_arm(load_arm(path), gravity, tool)
    return _of_file(path, path.stem, gravity, (tool,), StatedChain(source=str(path)))


def _from_arm(arm: ArmFile, gravity: ArrayLike | None, tool: Tool | None) -> Mechanism:
    if arm.loops and arm.model.suffix.lower() == ".toml":
        raise InputError(
            f"{arm.path}: loops: the model is a mechanism file, which states its own loops; write "
            f"the loops into {arm.model.name}"
        )
    mechanism = mechanism_of(
        arm.model,
        arm.name,
        arm.gravity if gravity is None else gravity,
        (arm.tool, tool),
        stated=arm.stated_chain,
    )
    check_against_model(arm, mechanism)
    if arm.transmission and mechanism.chain is not None:
        raise InputError(
            f"{arm.path}: [transmission]: {arm.name} is a closed chain, in which each drive moves "
            "one joint; remove this table"
        )
    if arm.passive:
        mechanism = _with_passive(arm, mechanism)
    rotors = arm.rotor_inertia(mechanism.names)
    # the model's rotors count if the arm file states none
    if mechanism.rotors is not None:
        rotors += mechanism.rotors * (np.diag(rotors) == 0.0)
    own = (arm.joint(name).bearing for name in mechanism.names)
    return replace(
        mechanism,
        bearings=tuple(
            stated or known for stated, known in zip(own, mechanism.bearings, strict=True)
        ),
        transmission=arm.transmission_of(mechanism.names),
        rotors=rotors if rotors.any() else None,
    )


def tool_frame(arm: ArmFile, mechanism: Mechanism) -> tuple[Array, Array]:
    """Return the frame that a tool's centre of mass is stated in, that of an open chain's last
    link at q = 0: its axes as columns, shape (3, 3), and its origin from the joint's origin,
    shape (3,) [m], both in base axes.
    """
    if arm.model.suffix.lower() == ".toml":  # mechanism files state everything in base axes
        return np.eye(3), np.zeros(3)
    frame = link_frames(read_model(arm.model)[0], arm.name)[mechanism.names[-1]]
    return frame.turn, -frame.turn @ frame.origin


def _with_passive(arm: ArmFile, mechanism: Mechanism) -> Mechanism:
    """Add the arm file's classes of passive joints to the driven joints of a closed chain."""
    if mechanism.chain is None:
        raise InputError(
            f"{arm.path}: [passive]: {arm.name} has no closed chain and therefore no passive "
            "joints; remove this table"
        )
    classes = [table.of(name) for name, table in arm.passive.items()]
    with about_file(f"{arm.path}: [passive]"):
        check_classes(mechanism.chain.whole, classes)
    return replace(mechanism, chain=mechanism.chain.with_classes(classes))


def mechanism_of(
    model: Path,
    name: str,
    gravity: ArrayLike | None,
    tools: Sequence[Tool | None] = (),
    bearings: Mapping[str, Bearing | None] | None = None,
    stated: StatedChain | None = None,
) -> Mechanism:
    """Return the mechanism of an arm's model file with the arm file's gravity, tool,
    bearings, drives and loops.

    Parameters
    ----------
    model : Path
        URDF, MJCF, or mechanism TOML; a model with loops gives its driven joints.
    name : str
        Name of the arm in messages.
    gravity : array_like, shape (3,), optional
        Gravitational acceleration in base axes [m/s²]; default is the gravity of the model file.
    tools : sequence of Tool or None
        Point masses on the last link; a closed chain may have none.
    bearings : mapping of str to Bearing, optional
        Bearings by joint name; default are the bearings of a mechanism TOML. A
        URDF or MJCF has no bearings.
    stated : StatedChain, optional
        Joints of a URDF or MJCF with loops that have drives, and further loops.

    Raises
    ------
    InputError, ModelError
        See `load_mechanism`.
    """
    if model.suffix.lower() == ".toml":
        mechanism = _driven(model, name, gravity, tools)
    else:
        mechanism = _of_file(model, name, gravity, tools, stated or StatedChain(source=str(model)))
        if mechanism.closures:
            mechanism = driven_joints(mechanism)
    known = bearings or dict(zip(mechanism.names, mechanism.bearings, strict=True))
    return replace(mechanism, bearings=tuple(known.get(joint) for joint in mechanism.names))


def _of_file(
    model: Path,
    name: str,
    gravity: ArrayLike | None,
    tools: Sequence[Tool | None],
    stated: StatedChain,
) -> Mechanism:
    """Return the mechanism of a URDF or MJCF; a model with loops gives all its joints."""
    try:
        return _read(model, name, gravity, tools, stated)
    except ModelError as error:
        # the message begins with the name of the mechanism, or of the file at fault
        if str(model) in str(error) or stated.source in str(error):
            raise
        raise ModelError(f"{model}: {str(error).removeprefix(f'{name}: ')}") from error


def _read(
    model: Path,
    name: str,
    gravity: ArrayLike | None,
    tools: Sequence[Tool | None],
    stated: StatedChain,
) -> Mechanism:
    spec, impossible = read_model(model)
    carried = [tool for tool in tools if tool is not None and tool.mass > 0.0]
    if carried and not (stated.loops or has_loops(spec)):
        for tool in carried:
            add_point_mass(last_link(spec), tool.mass, tool.com)
        carried = []
    mechanism = natural_coordinates(
        spec,
        name,
        spec.option.gravity if gravity is None else gravity,
        impossible,
        stated,
        root_link(model),
    )
    if carried:
        raise _no_last_link(model)
    return mechanism


def _no_last_link(model: Path) -> InputError:
    return InputError(
        f"{model}: a tool needs a last link, and a closed chain has none; add the tool's mass to "
        "the link that carries it"
    )


def _driven(
    model: Path, name: str, gravity: ArrayLike | None, tools: Sequence[Tool | None]
) -> Mechanism:
    """Return the mechanism of the driven joints of a mechanism file.

    Raises
    ------
    InputError
        If a closed chain has a tool, or if its drives do not determine its posture.
    ModelError
        If a joint outside loops has no drive.
    """
    table = read_toml(model)
    if not is_mechanism(table):
        raise InputError(
            f"{model}: this is an arm file, not a model; the model of an arm must be a URDF, an "
            "MJCF or a mechanism file with [[joints]]"
        )
    mechanism = replace(mechanism_from_table(table, model, gravity), name=name)
    carried = [tool for tool in tools if tool is not None and tool.mass > 0.0]
    if mechanism.closures and carried:
        raise _no_last_link(model)
    if mechanism.closures:
        return driven_joints(mechanism)
    if mechanism.passive:
        raise ModelError(
            f"{model}: joint {mechanism.names[mechanism.passive[0]]} has no drive, and no loop "
            "determines its motion; give the joint a drive, or close a loop through it"
        )
    for tool in carried:
        mechanism = _with_tool(mechanism, tool)
    return mechanism


def _with_tool(mechanism: Mechanism, tool: Tool) -> Mechanism:
    """Return an open chain with a point mass added to its last link."""
    mass, com, inertia = mechanism.mass.copy(), mechanism.com.copy(), mechanism.inertia.copy()
    mass[-1] += tool.mass
    com[-1] += tool.mass / mass[-1] * (np.array(tool.com) - com[-1])
    for m, away in (
        (mechanism.mass[-1], mechanism.com[-1] - com[-1]),
        (tool.mass, np.array(tool.com) - com[-1]),
    ):
        inertia[-1] += m * (away @ away * np.eye(3) - np.outer(away, away))
    return replace(mechanism, mass=mass, com=com, inertia=inertia)
