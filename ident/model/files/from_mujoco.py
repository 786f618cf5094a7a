"""Conversion of a compiled MuJoCo model to natural coordinates: the kinematics at q = 0 gives
all vectors in base axes.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stribeck.ident.arrays import Array
from stribeck.ident.errors import ModelError
from stribeck.ident.laws.coulomb_viscous import COULOMB_VISCOUS
from stribeck.ident.model.chains.rounded_axes import ROUNDED, without_rounding
from stribeck.ident.model.files.link_inertia import NO_MASS, second_moment
from stribeck.ident.model.files.mimic_joints import leaders_of
from stribeck.ident.model.files.mujoco_bodies import unfused
from stribeck.ident.model.files.mujoco_loops import (
    close_at_zero,
    closures_of,
    driven,
    loop_constraints,
)
from stribeck.ident.model.files.stated_loops import StatedChain, closures_of_tables
from stribeck.ident.model.joint_parts import Closure, Follower, JointFriction, Spring
from stribeck.ident.model.mechanism import Mechanism

if TYPE_CHECKING:
    import mujoco

_log = logging.getLogger(__name__)
NOTHING = StatedChain()
_TURN, _DEGREES = 2.0 * np.pi, 360.0  # one turn in rad and in degrees
_SAID = 2e-6  # rad; a larger correction of an axis is logged
_TENDON_FORCES = ("stiffness", "stiffnesspoly", "damping", "dampingpoly")


@dataclass(frozen=True)
class LinkFrame:
    """Where a link of a mechanism is in the MuJoCo model that it was read from.

    Attributes
    ----------
    body : int
        Body that the joint moves, by its number in the model; the world is 0.
    fixed : tuple of int
        Bodies fixed to it, whose mass the link includes.
    origin : ndarray, shape (3,)
        Joint origin in axes of the body [m].
    turn : ndarray, shape (3, 3)
        Axes of the body at q = 0, in base axes.
    """

    body: int
    fixed: tuple[int, ...]
    origin: Array
    turn: Array


def natural_coordinates(
    spec: "mujoco.MjSpec",
    name: str,
    gravity: ArrayLike,
    impossible: Mapping[str, Array],
    stated: StatedChain = NOTHING,
    root: str = "",
) -> Mechanism:
    """Return the mechanism of a MuJoCo specification, from its kinematics at q = 0.

    The zero posture of a closed chain is the posture in which its loops close with all drives at
    zero. Positions of joints without a drive count from this posture.

    Parameters
    ----------
    spec, impossible
        As returned by `read_model`.
    name : str
        Name of the model in messages.
    gravity : array_like, shape (3,)
        Gravitational acceleration in base axes [m/s²].
    stated : StatedChain
        Drives and further loops of a closed chain.
    root : str
        Link of a URDF that is the ground.

    Raises
    ------
    ModelError
        If a joint with a drive sits on a follower, if a loop does not close, if the drives of a
        closed chain are unknown, or if a closed chain has joints that follow other joints.
    InputError
        If a loop of the arm file does not fit the model.
    """
    import mujoco

    model = unfused(spec)
    leaders = leaders_of(model, name)
    of_file, drives = loop_constraints(model), list(range(model.njnt))
    if of_file or stated.loops:
        _refuse_followers(model, leaders, name)
        drives = driven(model, name, stated)
    data = _at_zero(model, drives, name)
    owner, parent = _carriers(model)
    closures = (
        *closures_of(model, data, owner, name),
        *closures_of_tables(stated, model, data, owner, root),
    )
    mass, com, inertia = _links(model, data, owner, impossible)
    names = [str(model.joint(j).name) for j in range(model.njnt)]
    _warn_of_links(
        name,
        {names[j]: (mass[j], inertia[j]) for j in sorted(set(owner[owner >= 0]))},
        model.nbody * NO_MASS,
    )
    axis, slides = data.xaxis.copy(), model.jnt_type == mujoco.mjtJoint.mjJNT_SLIDE
    if closures:
        axis, closures = _without_rounding(axis, slides, closures, name)
    origin = data.xanchor - np.where(parent[:, None] >= 0, data.xanchor[parent], 0.0)
    position = np.where(model.jnt_limited.astype(bool)[:, None], model.jnt_range, [-np.inf, np.inf])
    _warn_of_units(
        name,
        {names[j]: position[j] for j in np.flatnonzero(~slides & model.jnt_limited.astype(bool))},
        bool(spec.compiler.degree),
    )
    position = position - data.qpos[:, None]
    own = [j for j in range(model.njnt) if j not in leaders]
    for j in own:
        if parent[j] in leaders:
            raise ModelError(
                f"{name}: joint {names[j]} has a drive and sits on joint {names[parent[j]]}, which "
                "follows another joint; such linkages are not supported"
            )
    _warn_of_forces(name, model, own, owner, closed=bool(closures))
    springs = {} if closures else _springs(model, own)
    place = {-1: -1, **{j: k for k, j in enumerate([*own, *leaders])}}
    followers = tuple(
        Follower(
            names[j],
            place[leader],
            ratio,
            shift,
            place[parent[j]],
            bool(slides[j]),
            axis[j],
            origin[j],
            float(mass[j]),
            com[j],
            inertia[j],
        )
        for j, (leader, ratio, shift) in leaders.items()
    )
    return Mechanism(
        name,
        tuple(names[j] for j in own),
        tuple(place[parent[j]] for j in own),
        slides[own],
        axis[own],
        origin[own],
        mass[own],
        com[own],
        inertia[own],
        np.asarray(gravity, dtype=float),
        position[own],
        (None,) * len(own),
        closures,
        tuple(j for j in own if j not in drives),
        springs,
        _friction(model, own, leaders, springs),
        _rotors(model, own, leaders),
        followers=followers,
    )


def link_frames(
    spec: "mujoco.MjSpec", name: str, stated: StatedChain = NOTHING
) -> dict[str, LinkFrame]:
    """Return where the links of an MJCF are in its bodies, by the joint that carries each link.

    Of several joints between two bodies, the last carries the link. Parameters and errors as
    in `natural_coordinates`.
    """
    model = unfused(spec)
    closed = bool(loop_constraints(model) or stated.loops)
    data = _at_zero(model, driven(model, name, stated) if closed else range(model.njnt), name)
    owner, _ = _carriers(model)
    frames = {}
    for body in np.flatnonzero(model.body_jntnum > 0).tolist():
        j, turn = int(owner[body]), data.xmat[body].reshape(3, 3).copy()
        fixed = tuple(int(one) for one in np.flatnonzero(owner == j) if one != body)
        frames[str(model.joint(j).name)] = LinkFrame(
            body, fixed, turn.T @ (data.xanchor[j] - data.xpos[body]), turn
        )
    return frames


def _at_zero(model: "mujoco.MjModel", drives: Sequence[int], name: str) -> "mujoco.MjData":
    """Return the kinematics with all drives at zero, in which the loops are closed and all
    other joints are at zero.
    """
    import mujoco

    data = mujoco.MjData(model)
    data.qpos[:] = 0.0
    if loop_constraints(model):
        close_at_zero(model, data, drives, name)
    mujoco.mj_kinematics(model, data)
    return data


def _without_rounding(
    axis: Array, slides: NDArray[np.bool_], closures: Sequence[Closure], name: str
) -> tuple[Array, tuple[Closure, ...]]:
    """Axes of the joints and pins of a closed chain, corrected for the rounding of
    their digits in the file.
    """
    pins = [k for k, closure in enumerate(closures) if closure.kind == "pin"]
    stated = np.vstack((axis, *(closures[k].axis for k in pins)))
    found = without_rounding(stated, np.concatenate((slides, np.zeros(len(pins), dtype=bool))))
    if (turned := float(np.linalg.norm(found - stated, axis=1).max())) > _SAID:
        _log.warning(
            "%s: axes that are parallel or perpendicular within %g rad are made exactly so; the "
            "largest correction is %.2g rad",
            name,
            ROUNDED,
            turned,
        )
    of_pins = dict(zip(pins, found[len(axis) :], strict=True))
    return found[: len(axis)], tuple(
        replace(closure, axis=of_pins.get(k, closure.axis)) for k, closure in enumerate(closures)
    )


def _refuse_followers(
    model: "mujoco.MjModel", leaders: Mapping[int, tuple[int, float, float]], name: str
) -> None:
    if not leaders:
        return
    joint, (leader, *_) = next(iter(leaders.items()))
    does = "is held" if leader < 0 else f"follows {model.joint(leader).name}"
    raise ModelError(
        f"{name}: joint {model.joint(joint).name} {does} by a joint equality or mimic; models "
        "with loops do not "
        "support this. Remove the joint (the body of a held joint is then fixed), close the loop "
        "through the "
        'linkage that moves the joint, or set active="false"'
    )


def _springs(model: "mujoco.MjModel", own: Sequence[int]) -> dict[int, Spring]:
    """Linear springs of the joints with a drive whose rest position is zero."""
    return {
        k: Spring(float(model.jnt_stiffness[j]), float(model.dof_damping[j]))
        for k, j in enumerate(own)
        if model.jnt_stiffness[j] > 0.0 and not _odd_spring(model, j)
    }


def _friction(
    model: "mujoco.MjModel",
    own: Sequence[int],
    leaders: Mapping[int, tuple[int, float, float]],
    springs: Mapping[int, Spring],
) -> dict[int, JointFriction]:
    """Coulomb and viscous friction of joints from ``frictionloss`` and
    ``damping`` (URDF ``dynamics``).

    The damping of a joint with a spring belongs to the spring (`_springs`).
    """
    coulomb = _with_followers(model.dof_frictionloss, own, leaders, 1)
    viscous = _with_followers(model.dof_damping, own, leaders, 2)
    viscous[list(springs)] = 0.0
    return {
        k: JointFriction(
            COULOMB_VISCOUS.name,
            "none",
            {"coulomb": float(coulomb[k]), "viscous": float(viscous[k])},
        )
        for k in np.flatnonzero((coulomb > 0.0) | (viscous > 0.0)).tolist()
    }


def _rotors(
    model: "mujoco.MjModel", own: Sequence[int], leaders: Mapping[int, tuple[int, float, float]]
) -> Array | None:
    """Rotor inertia of the joints from ``armature``, in the form of
    `Mechanism.rotors`; None if there is none.
    """
    armature = _with_followers(model.dof_armature, own, leaders, 2)
    return np.diag(armature) if armature.any() else None


def _with_followers(
    values: Array, own: Sequence[int], leaders: Mapping[int, tuple[int, float, float]], power: int
) -> Array:
    """Joint values plus the values of each joint's followers times |ratio|**power, so that the
    mechanical power is equal.
    """
    out = np.array(values[list(own)], dtype=float)
    for follower, (leader, ratio, _) in leaders.items():
        if leader >= 0:
            out[own.index(leader)] += abs(ratio) ** power * values[follower]
    return out


def _odd_spring(model: "mujoco.MjModel", j: int) -> bool:
    """Return True if a joint has a spring that `Spring` cannot represent."""
    return _set(model, "jnt_stiffnesspoly", j) or bool(
        model.jnt_stiffness[j] > 0.0
        and (model.qpos_spring[j] != 0.0 or _set(model, "dof_dampingpoly", j))
    )


def _set(model: "mujoco.MjModel", field: str, k: int) -> bool:
    """Return True if element k of a field is not zero; models of MuJoCo before 3.7
    lack the polynomial fields.
    """
    return hasattr(model, field) and bool(np.any(getattr(model, field)[k]))


def _warn_of_forces(
    name: str, model: "mujoco.MjModel", own: Sequence[int], owner: NDArray[np.int_], closed: bool
) -> None:
    """Warn about springs, dampers and gravity compensation of the file that the mechanism
    lacks or uses only in part.
    """
    joint = [str(model.joint(j).name) for j in range(model.njnt)]
    odd = [
        joint[j]
        for j in range(model.njnt)
        if _odd_spring(model, j) or (model.jnt_stiffness[j] > 0.0 and j not in own)
    ]
    springs = [joint[own[k]] for k in _springs(model, own)]
    lifted = sorted(
        {int(owner[body]) for body in np.flatnonzero(model.body_gravcomp) if owner[body] >= 0}
    )
    tendons = [
        str(model.tendon(k).name or k)
        for k in range(model.ntendon)
        if any(_set(model, f"tendon_{force}", k) for force in _TENDON_FORCES)
    ]
    for named, text in (
        (
            [*springs, *odd] * closed,
            "the springs of joints %s are left out: springs of closed chains are not supported",
        ),
        (
            springs * (not closed),
            "joints %s have springs: driving torques, simulation and postures at rest include "
            "them; loads, identification and feed-forward leave them out",
        ),
        (
            odd * (not closed),
            "the springs of joints %s are left out: a spring must be linear, rest at zero and "
            "belong to a joint that follows no other joint",
        ),
        (
            [joint[j] for j in lifted],
            "gravcomp of the links of joints %s is left out: the links keep their full weight",
        ),
        (
            [joint[j] for j in own if _set(model, "dof_dampingpoly", j) and joint[j] not in odd],
            "damping of joints %s is not proportional to velocity; only its proportional part is "
            "used",
        ),
        (tendons, "springs and dampers of tendons %s are left out"),
    ):
        if named:
            _log.warning(f"%s: {text}", name, ", ".join(named))


def _warn_of_units(name: str, ranges: Mapping[str, Array], degrees: bool) -> None:
    """Warn about hinges whose ranges look as if degrees were read as
    radians, or radians as degrees.
    """
    if degrees:
        doubtful = {
            joint: ends
            for joint, ends in ranges.items()
            if 0.0 < np.ptp(ends) < np.radians(2.0 * np.pi)
        }
        what = (
            "are narrower than 0.11 rad, as if radians were read as degrees: angles of an MJCF "
            "are degrees unless its "
            'compiler has angle="radian"'
        )
    else:
        doubtful = {
            joint: ends
            for joint, ends in ranges.items()
            if 2.0 * _TURN < np.abs(ends).max() <= _DEGREES
        }
        what = (
            "exceed two turns, as if degrees were read as radians: angles of a URDF are radians, "
            "and so are angles of an "
            'MJCF whose compiler has angle="radian"'
        )
    if doubtful:
        said = ", ".join(
            f"{joint} ({low:.4g} to {high:.4g} rad)" for joint, (low, high) in doubtful.items()
        )
        _log.warning("%s: the ranges of joints %s %s; check the model's unit", name, said, what)


def _carriers(model: "mujoco.MjModel") -> tuple[NDArray[np.int_], NDArray[np.int_]]:
    """Return the joint that carries each body and the joint that carries
    each joint; -1 is the ground.

    The joint that carries a fixed body is the joint of its parent body.
    """
    owner, parent = np.full(model.nbody, -1), np.full(model.njnt, -1)
    for body in range(1, model.nbody):
        owner[body] = owner[model.body_parentid[body]]
        for j in range(
            int(model.body_jntadr[body]),
            int(model.body_jntadr[body]) + int(model.body_jntnum[body]),
        ):
            parent[j], owner[body] = owner[body], j
    return owner, parent


def _links(
    model: "mujoco.MjModel",
    data: "mujoco.MjData",
    owner: NDArray[np.int_],
    impossible: Mapping[str, Array],
) -> tuple[Array, Array, Array]:
    """Mass of the link of each joint, its centre of mass from the joint, and its inertia about
    that centre, in base axes.
    """
    n = model.njnt
    mass, first, second = np.zeros(n), np.zeros((n, 3)), np.zeros((n, 3, 3))
    for body in np.flatnonzero(owner >= 0):
        j = owner[body]
        c = data.xipos[body] - data.xanchor[j]
        frame, link = data.ximat[body].reshape(3, 3), data.xmat[body].reshape(3, 3)
        mass[j] += model.body_mass[body]
        first[j] += model.body_mass[body] * c
        second[j] += (frame * model.body_inertia[body]) @ frame.T + model.body_mass[body] * _about(
            c
        )
        second[j] += link @ impossible.get(model.body(body).name, np.zeros((3, 3))) @ link.T
    com = first / np.where(mass > 0.0, mass, 1.0)[:, None]
    return mass, com, np.array([second[j] - mass[j] * _about(com[j]) for j in range(n)])


def _warn_of_links(name: str, links: Mapping[str, tuple[float, Array]], nothing: float) -> None:
    """Warn about joints whose links have no mass, no inertia, or an impossible inertia."""
    moments = {joint: second_moment(inertia)[0] for joint, (_, inertia) in links.items()}
    empty = [joint for joint, (mass, _) in links.items() if mass <= nothing]
    points = [
        joint
        for joint, moment in moments.items()
        if joint not in empty and np.abs(moment).max() <= nothing
    ]
    wrong = [
        joint
        for joint, moment in moments.items()
        if joint not in (*empty, *points) and moment[0] < -1e-6 * np.abs(moment).max()
    ]
    for joints, text in (
        (empty, "no mass, so computed loads are too small"),
        (points, "mass but no inertia; they count as point masses at their centres of mass"),
        (wrong, "an inertia that no rigid body can have; it is used as stated"),
    ):
        if joints:
            _log.warning("%s: links of joints %s have %s", name, ", ".join(joints), text)


def _about(c: np.ndarray) -> np.ndarray:
    """Inertia of a unit point mass at c about the origin."""
    return np.asarray(np.dot(c, c) * np.eye(3) - np.outer(c, c))
