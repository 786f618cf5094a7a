"""Followers: joints that another joint moves (URDF ``mimic``, MJCF joint equality), their leaders,
and how to fix followers.
"""

import logging
from typing import TYPE_CHECKING

import numpy as np

from stribeck.ident.errors import ModelError
from stribeck.ident.model.files.mujoco_bodies import unfused

if TYPE_CHECKING:
    import mujoco

_log = logging.getLogger(__name__)


def leaders_of(model: "mujoco.MjModel", name: str) -> dict[int, tuple[int, float, float]]:
    """Return leader, ratio and shift of each follower: q = ratio q_leader + shift; a held joint
    has leader -1 and ratio 0.

    Raises
    ------
    ModelError
        If the model has an equality constraint that is neither joint, connect nor weld, or if
        joints follow in a circle.
    """
    import mujoco

    closing = int(mujoco.mjtEq.mjEQ_CONNECT), int(mujoco.mjtEq.mjEQ_WELD)

    direct: dict[int, tuple[int, float, float]] = {}
    for e in np.flatnonzero(model.eq_active0):
        if int(model.eq_type[e]) in closing:
            continue
        if model.eq_type[e] != mujoco.mjtEq.mjEQ_JOINT:
            kind = mujoco.mjtEq(model.eq_type[e]).name[5:].lower()
            raise ModelError(
                f"{name}: the model has an equality constraint of type {kind}; "
                "only connect, weld and joint are supported: remove the constraint, or set "
                'active="false"'
            )
        joint, leader, law = int(model.eq_obj1id[e]), int(model.eq_obj2id[e]), model.eq_data[e]
        if law[2:5].any() or joint in direct:
            raise ModelError(
                f"{name}: joint {model.joint(joint).name} must follow one joint at one constant "
                "ratio; found a second equality or a polynomial"
            )
        ratio, there = (0.0, 0.0) if leader < 0 else (float(law[1]), float(model.qpos0[leader]))
        direct[joint] = leader, ratio, float(model.qpos0[joint] + law[0] - ratio * there)
    found = {}
    for joint, (leader, ratio, shift) in direct.items():
        for _ in direct:
            if leader in direct:
                leader, further, there = direct[leader]
                ratio, shift = ratio * further, ratio * there + shift
        if leader in direct:
            raise ModelError(
                f"{name}: joint {model.joint(joint).name} follows itself, directly or through "
                "other joints; let it follow another joint"
            )
        found[joint] = leader, ratio, shift
    if len(found) == model.njnt:
        raise ModelError(f"{name}: the model has no moving joint; at least one is needed")
    return found


def hold_followers(spec: "mujoco.MjSpec") -> None:
    """Fix each follower at its position for a leader at zero.

    Raises
    ------
    ModelError
        If a follower shares its body with another joint.
    """
    import mujoco

    model = unfused(spec)
    leaders = leaders_of(model, spec.modelname)
    data = mujoco.MjData(model)
    data.qpos[:] = 0.0
    for joint, (_, _, shift) in leaders.items():
        data.qpos[joint] = shift
    mujoco.mj_kinematics(model, data)
    inverse, place, turn = np.empty(4), np.empty(3), np.empty(4)
    for child in dict.fromkeys(int(model.jnt_bodyid[joint]) for joint in leaders):
        parent, body = int(model.body_parentid[child]), spec.bodies[child]
        first, count = int(model.body_jntadr[child]), int(model.body_jntnum[child])
        if moving := [joint for joint in range(first, first + count) if joint not in leaders]:
            joint = next(joint for joint in range(first, first + count) if joint not in moving)
            raise ModelError(
                f"{spec.modelname}: joint {model.joint(joint).name} shares its body with another "
                "joint and cannot be fixed; give the joint a body of its own"
            )
        mujoco.mju_negQuat(inverse, data.xquat[parent])
        mujoco.mju_rotVecQuat(place, data.xpos[child] - data.xpos[parent], inverse)
        mujoco.mju_mulQuat(turn, inverse, data.xquat[child])
        body.pos, body.quat, body.alt.type = place, turn, mujoco.mjtOrientation.mjORIENTATION_QUAT
        for held in list(body.joints):
            spec.delete(held)
    for part in (*spec.equalities, *spec.keys):
        spec.delete(part)
    if leaders:
        _log.warning(
            "%s: joints %s follow other joints; each is fixed at its position for a leader at zero",
            spec.modelname,
            ", ".join(model.joint(joint).name for joint in leaders),
        )


def last_link(spec: "mujoco.MjSpec") -> "mujoco.MjsBody":
    """Body carried by the last joint with a drive."""
    model = unfused(spec)
    driven = np.setdiff1d(np.arange(model.njnt), list(leaders_of(model, spec.modelname)))
    return spec.bodies[int(model.jnt_bodyid[driven[-1]])]
