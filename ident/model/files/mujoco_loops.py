"""Loops that an MJCF closes by equality constraints: their driven joints, their closed
posture, and their closures.

A ``connect`` is a spherical closure. Two ``connect`` constraints between the same links, at
different points, make a pin. Three ``connect`` constraints whose points are not on one line make a
rigid closure. A ``weld`` is a rigid closure.
"""

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stribeck.ident.arrays import Array
from stribeck.ident.errors import ModelError, unknown_name
from stribeck.ident.model.chains.rounded_axes import ROUNDED
from stribeck.ident.model.files.mujoco_bodies import unfused
from stribeck.ident.model.files.stated_loops import StatedChain
from stribeck.ident.model.joint_parts import Closure

if TYPE_CHECKING:
    import mujoco

_log = logging.getLogger(__name__)
# m or rad; step of a drive on its way to the posture in which the loops are closed
_TRAVEL = 0.02
# m or rad; no machine with closed loops moves a drive farther, and the way would take hours
_FAR = 1e3
CLOSED = 1e-12  # m; a gap below this value counts as closed
_ROUNDING = 1e-15  # m or rad; a smaller Newton correction changes nothing
_NEWTON = 12  # most Newton corrections; three suffice from one step to the next
_FREE = (
    *((name, False, axis) for name, axis in zip("xyz", np.eye(3), strict=True)),
    *(
        (name, True, axis)
        for name, axis in zip(("yaw", "pitch", "roll"), np.eye(3)[::-1], strict=True)
    ),
)
# singular values below this fraction of the greatest singular value count as zero
_IDLE = 1e-9
_ONE_POINT = 1e-9  # m; points closer than this count as one point


def loop_constraints(model: "mujoco.MjModel") -> list[int]:
    """Numbers of the active constraints of a model that close loops."""
    import mujoco

    closing = int(mujoco.mjtEq.mjEQ_CONNECT), int(mujoco.mjtEq.mjEQ_WELD)
    return [e for e in range(model.neq) if model.eq_active0[e] and int(model.eq_type[e]) in closing]


def has_loops(spec: "mujoco.MjSpec") -> bool:
    """Return True if a specification has active constraints that close loops."""
    import mujoco

    closing = int(mujoco.mjtEq.mjEQ_CONNECT), int(mujoco.mjtEq.mjEQ_WELD)
    return any(one.active and int(one.type) in closing for one in spec.equalities)


def split_joints(spec: "mujoco.MjSpec", name: str) -> None:
    """Replace the ball joints of a specification with loops by hinges, and free
    joints by slides and hinges.

    A ball joint becomes three hinges about x, y and z (``NAME.1`` to ``NAME.3``). It becomes two
    hinges if its link could otherwise spin idly about itself, such as a rod between two balls. The
    free joint of a body that loops tie to other bodies becomes three slides (``NAME.x``,
    ``NAME.y``, ``NAME.z``) and three hinges (``NAME.yaw``, ``NAME.pitch``, ``NAME.roll``); other
    free joints stay. A joint without a name gets the name of its body. Friction of a ball acts
    about the momentary rotation axis, which hinges cannot represent: the friction is left out, and
    a log warning names the joint.

    Parameters
    ----------
    spec : MjSpec
        Specification without geometry.
    name : str
        Name of the model in messages.

    Raises
    ------
    ModelError
        If a ball joint has an actuator, or if another joint of the same body
        comes after a ball joint.
    """
    import mujoco

    model = unfused(spec)
    data = mujoco.MjData(model)
    _take_constraints(model)
    mujoco.mj_fwdPosition(model, data)
    parts = {
        ball: [(str(1 + k), True, axis) for k, axis in enumerate(axes)]
        for ball, axes in _axes_of_balls(model, constraint_jacobian(model, data)).items()
    }
    parts |= {free: list(_FREE) for free in _floating(model)}
    for body in spec.bodies:
        if (
            len(body.joints) == 1
            and not body.joints[0].name
            and body.name not in (joint.name for joint in spec.joints)
        ):
            body.joints[0].name = body.name
    if rubbing := [
        model.joint(j).name or spec.joints[j].name
        for j in parts
        if _rubs(model, int(model.jnt_dofadr[j]))
    ]:
        _log.warning(
            "%s: friction and damping of ball and free joints are left out: %s",
            name,
            ", ".join(rubbing),
        )
    joints = [
        (body, joint, len(body.joints) - 1 - k)
        for body in spec.bodies
        for k, joint in enumerate(body.joints)
    ]
    for j, (body, joint, behind) in enumerate(joints):  # in MuJoCo's order of joints
        if j in parts:
            called = joint.name or body.name
            _refuse_ball(
                f"{name}: ball joint {called}",
                any(one.target == joint.name for one in spec.actuators),
                behind > 0,
            )
            for part in (
                *(one for one in spec.sensors if one.objname and one.objname == joint.name),
                *spec.keys,
                joint,
            ):
                spec.delete(part)
            for suffix, turns, axis in parts[j]:
                body.add_joint(
                    name=f"{called}.{suffix}",
                    axis=axis,
                    pos=model.jnt_pos[j],
                    type=mujoco.mjtJoint.mjJNT_HINGE if turns else mujoco.mjtJoint.mjJNT_SLIDE,
                    limited=mujoco.mjtLimited.mjLIMITED_FALSE,
                    stiffness=0.0,
                    ref=0.0,
                    damping=0.0,
                    frictionloss=0.0,
                    armature=0.0,
                )


def _rubs(model: "mujoco.MjModel", dof: int) -> bool:
    return bool(model.dof_frictionloss[dof] > 0.0 or model.dof_damping[dof] > 0.0)


def _refuse_ball(called: str, has_actuator: bool, is_followed: bool) -> None:
    """Refuse a ball joint that hinges cannot replace: new hinges come after the
    other joints of the body.
    """
    if has_actuator:
        raise ModelError(
            f"{called} has an actuator, but a drive moves only a hinge or a slide: write the ball "
            "as three hinges"
        )
    if is_followed:
        raise ModelError(
            f"{called} comes before another joint of the same body; write the ball as three "
            "hinges, or give the other joint a body of its own"
        )


def _floating(model: "mujoco.MjModel") -> list[int]:
    """Free joints of floating bodies that a loop ties to the ground or to a body
    that does not float along.
    """
    import mujoco

    tied = [_bodies(model, e) for e in loop_constraints(model)]
    return [
        j
        for j in np.flatnonzero(model.jnt_type == int(mujoco.mjtJoint.mjJNT_FREE)).tolist()
        if any(
            len({_hangs_on(model, end, int(model.jnt_bodyid[j])) for end in ends}) > 1
            for ends in tied
        )
    ]


def _axes_of_balls(model: "mujoco.MjModel", J: Array) -> dict[int, Array]:
    """Axes of the hinges that replace each ball joint.

    An idle motion turns only balls while nothing else moves, for example a rod that spins between
    two balls. For each idle motion, one ball gives up one axis. A ball that would give up more than
    one axis hangs freely and keeps all three.
    """
    import mujoco

    balls = np.flatnonzero(model.jnt_type == int(mujoco.mjtJoint.mjJNT_BALL)).tolist()
    if not balls:
        return {}
    given_up = {ball: np.zeros((0, 3)) for ball in balls}
    columns = J[
        :,
        [
            dof
            for ball in balls
            for dof in range(model.jnt_dofadr[ball], model.jnt_dofadr[ball] + 3)
        ],
    ]
    _, values, directions = np.linalg.svd(columns)
    idle = directions[int((values > _IDLE * values.max(initial=0.0)).sum()) :].T.reshape(
        len(balls), 3, -1
    )
    while idle.shape[2]:
        most = int(np.argmax(np.linalg.norm(idle, axis=(1, 2))))
        along = np.linalg.svd(idle[most])[0][:, 0]
        given_up[balls[most]] = np.vstack((given_up[balls[most]], along))
        idle = idle @ np.linalg.svd((along @ idle[most])[None])[2][1:].T
    return {
        ball: np.linalg.svd(gone)[2][1:] if len(gone) == 1 else np.eye(3)
        for ball, gone in given_up.items()
    }


def _hangs_on(model: "mujoco.MjModel", body: int, ancestor: int) -> bool:
    """Return True if a body is the ancestor itself or is carried by the ancestor."""
    while body > ancestor:
        body = int(model.body_parentid[body])
    return body == ancestor


def driven(model: "mujoco.MjModel", name: str, stated: StatedChain) -> list[int]:
    """Return the joints that have a drive: the joints that the arm file states and, if
    `StatedChain` says so, actuated joints.

    If the arm file states no joints, the joints with an actuator have drives.

    Raises
    ------
    ModelError
        If the model lacks a stated joint, or if no joint is stated and none has an actuator.
        Messages call the model `name`.
    """
    import mujoco

    names = [str(model.joint(j).name) for j in range(model.njnt)]
    for one in stated.drives:
        if one not in names:
            raise ModelError(
                f"{stated.source}: [joints.{one}]: {unknown_name('joint', one, names)}"
            )
    of_joints = int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT)
    found = {names.index(one) for one in stated.drives}
    if stated.more or not found:
        found |= {
            int(model.actuator_trnid[a, 0])
            for a in range(model.nu)
            if int(model.actuator_trntype[a]) in of_joints
        }
    if not found:
        raise ModelError(
            f"{name}: the model has closed loops, but nothing says which of its joints have drives "
            f"({', '.join(names)}): give each driven joint an <actuator> in the MJCF, or a table "
            "[joints.NAME] in the arm file; stribeck init --joints NAME,NAME writes these tables"
        )
    return sorted(found)


def close_by_constraints(
    model: "mujoco.MjModel", data: "mujoco.MjData", drives: NDArray[np.int_], q: Array
) -> float:
    """Move the drives to q and close the loops with the other joints; return the largest
    remaining gap [m or rad].

    The drives move in a straight line from the posture of the model file. Velocities are zero. The
    model has hinges and slides only, and its Jacobian is dense.
    """
    import mujoco

    others = np.setdiff1d(np.arange(model.nv), drives)
    data.qpos[:], data.qvel[:] = model.qpos0, 0.0
    start = data.qpos[drives].copy()
    if (way := np.abs(q - start).max(initial=0.0)) > _FAR:
        return float(np.inf)
    steps = 1 + int(way / _TRAVEL)
    for part in np.linspace(0.0, 1.0, steps + 1):
        # on the way, one more correction would do
        enough = CLOSED if part == 1.0 else np.sqrt(CLOSED)
        data.qpos[drives] = start + part * (q - start)
        for _ in range(_NEWTON + 1):
            mujoco.mj_fwdPosition(model, data)
            open_by = data.efc_pos[: data.ne]
            if np.abs(open_by).max(initial=0.0) < enough:
                break
            back = np.linalg.lstsq(
                constraint_jacobian(model, data)[:, others], open_by, rcond=1e-12
            )[0]
            # the gap is as small as rounding allows
            if np.abs(back).max(initial=0.0) < _ROUNDING:
                break
            data.qpos[others] -= np.clip(back, -0.5, 0.5)
        if np.abs(open_by).max(initial=0.0) > ROUNDED:
            break
    return float(np.abs(open_by).max(initial=0.0))


def constraint_jacobian(model: "mujoco.MjModel", data: "mujoco.MjData") -> Array:
    """Jacobian of the equality constraints, shape (rows, nv), after ``mj_fwdPosition``."""
    return np.asarray(data.efc_J.reshape(-1, model.nv)[: data.ne])


def _take_constraints(model: "mujoco.MjModel") -> None:
    """Enable equality constraints even if the model's options disable them,
    and make the Jacobian dense.
    """
    import mujoco

    model.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    model.opt.disableflags &= ~int(
        mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_EQUALITY
    )


def close_at_zero(
    model: "mujoco.MjModel", data: "mujoco.MjData", drives: Sequence[int], name: str
) -> None:
    """Close the loops of a model with all drives at zero; gaps from rounded
    digits in the file may remain.

    Raises
    ------
    ModelError
        If the loops do not close; names the constraint with the largest gap.
    """
    _take_constraints(model)
    places = np.array(drives, dtype=int)
    if close_by_constraints(model, data, places, np.zeros(len(places))) < ROUNDED:
        return
    worst = int(np.argmax(np.abs(data.efc_pos[: data.ne])))
    drawn = [str(model.joint(j).name) for j in drives if model.qpos0[j] != 0.0]
    way = f"the search starts where the file puts {', '.join(drawn)} (ref); " if drawn else ""
    raise ModelError(
        f"{name}: the loops do not close with all drives at zero: "
        f"{_called(model, int(data.efc_id[worst]))} stays open by "
        f"{abs(float(data.efc_pos[worst])):.2g} (m or rad); {way}correct anchors, sites, axes or "
        "relpose, or disable the "
        'constraint with active="false"'
    )


def closures_of(
    model: "mujoco.MjModel", data: "mujoco.MjData", owner: NDArray[np.int_], name: str
) -> tuple[Closure, ...]:
    """Return the closures of the loops in the posture of `data`.

    Parameters
    ----------
    model, data : MjModel, MjData
        Model and data after ``mj_kinematics`` in a posture in which the loops are
        closed, except for rounding.
    owner : ndarray of int, shape (bodies,)
        Joint that carries each body; -1 is the ground.
    name : str
        Name of the model in messages.

    Raises
    ------
    ModelError
        If a constraint ties a link to itself.
    """
    import mujoco

    names: list[str] = []
    held: dict[tuple[int, int], list[tuple[int, Array]]] = {}
    rigid: list[tuple[int, tuple[int, int], Array]] = []
    for e in loop_constraints(model):
        links, point = _links(model, e, owner), _points(model, data, e)
        if links[0] == links[1]:
            raise ModelError(
                f"{name}: {_called(model, e)} ties a link to itself; remove the constraint"
            )
        if model.eq_type[e] == mujoco.mjtEq.mjEQ_WELD and model.eq_data[e, 10] > 0.0:
            rigid.append((e, links, point))
        else:
            same = links if links in held or links[::-1] not in held else links[::-1]
            held.setdefault(same, []).append((e, point if same == links else point[::-1]))

    def closure(e: int, kind: str, links: tuple[int, int], point: Array, axis: Array) -> Closure:
        called = _name(model, e)
        names.append(called if called not in names else f"{called} ({e})")
        from_joints = point.mean(axis=0) - np.array(
            [data.xanchor[j] if j >= 0 else np.zeros(3) for j in links]
        )
        return Closure(names[-1], kind, links, from_joints, axis)  # type: ignore[arg-type]  # a valid kind of closure

    found = {
        e: closure(e, "rigid", links, point, np.array([0.0, 0.0, 1.0])) for e, links, point in rigid
    }
    for links, points in held.items():
        first, begin = points[0]
        away = np.array([point[0] - begin[0] for _, point in points])
        lengths = np.linalg.norm(away, axis=1)
        far = away[int(np.argmax(lengths))]
        axis = far / lengths.max() if lengths.max() > _ONE_POINT else np.array([0.0, 0.0, 1.0])
        beside = np.linalg.norm(away - np.outer(away @ axis, axis), axis=1).max()
        kind = (
            "rigid" if beside > _ONE_POINT else "pin" if lengths.max() > _ONE_POINT else "spherical"
        )
        found[first] = closure(first, kind, links, begin, axis)
    return tuple(found[e] for e in sorted(found))


def _ends(model: "mujoco.MjModel", e: int) -> tuple[tuple[int, int], bool]:
    """Bodies or sites that a constraint holds together, and whether they are sites."""
    import mujoco

    return (int(model.eq_obj1id[e]), int(model.eq_obj2id[e])), bool(
        model.eq_objtype[e] == mujoco.mjtObj.mjOBJ_SITE
    )


def _bodies(model: "mujoco.MjModel", e: int) -> tuple[int, int]:
    ends, sites = _ends(model, e)
    a, b = (int(model.site_bodyid[end]) if sites else end for end in ends)
    return a, b


def _links(model: "mujoco.MjModel", e: int, owner: NDArray[np.int_]) -> tuple[int, int]:
    a, b = (int(owner[body]) for body in _bodies(model, e))
    return a, b


def _points(model: "mujoco.MjModel", data: "mujoco.MjData", e: int) -> Array:
    """Position of a constraint's point on each of its two bodies, shape (2, 3), in base axes."""
    import mujoco

    ends, sites = _ends(model, e)
    if sites:
        return np.array([data.site_xpos[end] for end in ends])
    place = model.eq_data[e, :6].reshape(2, 3)
    # the anchor, on the second body, stands first
    if model.eq_type[e] == mujoco.mjtEq.mjEQ_WELD:
        place = place[::-1]
    return np.array(
        [
            data.xpos[end] + data.xmat[end].reshape(3, 3) @ at
            for end, at in zip(ends, place, strict=True)
        ]
    )


def _name(model: "mujoco.MjModel", e: int) -> str:
    """Name of a constraint, or the names of its two bodies or sites if
    the constraint has no name.
    """
    ends, sites = _ends(model, e)
    called = [(model.site(end) if sites else model.body(end)).name or str(end) for end in ends]
    return str(model.equality(e).name) or "-".join(called)


def _called(model: "mujoco.MjModel", e: int) -> str:
    """Type and name of a constraint for messages."""
    import mujoco

    return f"the {mujoco.mjtEq(model.eq_type[e]).name[5:].lower()} {_name(model, e)!r}"
