r"""Dynamics of a tree in natural coordinates, batched over samples (P0, Eqs. 1-22 and 37-39).

The paper sums over subtrees; `recursion` computes the same sums link by link.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from stribeck.ident.arrays import Array, cross
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.model.recursion import (
    batch,
    blocks,
    checked_motion,
    own_wrenches,
    refuse_closures,
    refuse_followers,
)

_MOTIONS = 7  # number of states in which two models are compared


@dataclass(frozen=True)
class Wrenches:
    """Force and moment that each joint transmits to the subtree that it carries, in base axes.

    Attributes
    ----------
    force : ndarray, shape (N, n, 3)
        Force on the subtree [N].
    moment : ndarray, shape (N, n, 3)
        Moment on the subtree about the joint origin [N·m]. The joint origin moves with the link.
    axis : ndarray, shape (N, n, 3)
        Unit vector of each joint axis.
    """

    force: Array
    moment: Array
    axis: Array


@dataclass(frozen=True)
class Kinematics:
    """Motion of every link in base axes (Eqs. 3-10).

    Attributes
    ----------
    rotation : ndarray, shape (N, n, 3, 3)
        Link axes in base axes; the identity at q = 0.
    origin : ndarray, shape (N, n, 3)
        Joint origins [m]. Each origin moves with the joint's link.
    axis : ndarray, shape (N, n, 3)
        Unit vectors of the joint axes.
    w, dw : ndarray, shape (N, n, 3)
        Angular velocity and acceleration [rad/s, rad/s²].
    v, a : ndarray, shape (N, n, 3)
        Velocity and acceleration of the joint origin [m/s, m/s²].
    """

    rotation: Array
    origin: Array
    axis: Array
    w: Array
    dw: Array
    v: Array
    a: Array


def joint_wrenches(
    mechanism: Mechanism,
    q: ArrayLike,
    dq: ArrayLike | None = None,
    ddq: ArrayLike | None = None,
    external: ArrayLike | None = None,
) -> Wrenches:
    """Compute the force and moment that every joint transmits during a motion (Eqs. 37-39).

    Parameters
    ----------
    mechanism : Mechanism
        The tree.
    q, dq, ddq : array_like, shape (N, n)
        Joint positions, velocities and accelerations; velocities and accelerations default to zero.
    external : array_like, shape (N, n, 6), optional
        External force, and moment about the joint origin, on each link in base axes [N, N·m].

    Returns
    -------
    Wrenches
        Forces and moments about the joint origins, and the joint axes, in base axes.

    Raises
    ------
    InputError
        If a shape does not fit the mechanism or a value is not finite.
    ModelError
        If the mechanism has closures or followers.

    References
    ----------
    Guo, Ju and Wang, Aerospace 11 (2024) 368, Eqs. 1-22, 37-39.
    """
    refuse_closures(mechanism)
    samples = len(np.atleast_1d(q))
    force, moment, axis = (np.empty((mechanism.n, 3, samples)) for _ in range(3))
    for own in own_wrenches(mechanism, q, dq, ddq, external):
        force[own.joint, :, own.rows] = own.in_base(own.force)
        moment[own.joint, :, own.rows] = own.in_base(own.moment)
        axis[own.joint, :, own.rows] = own.base[2]
    return Wrenches(*(values.transpose(2, 0, 1) for values in (force, moment, axis)))


def inverse_dynamics(
    mechanism: Mechanism,
    q: ArrayLike,
    dq: ArrayLike | None = None,
    ddq: ArrayLike | None = None,
    external: ArrayLike | None = None,
) -> Array:
    """Compute the joint torques (forces, where prismatic) that move the rigid links, without
    rotors and friction (Eq. 22).

    The torque of a leader includes its followers' torques (virtual work). The torques of the driven
    joints of a closed chain likewise include the other joints' torques. Parameters and errors as in
    `joint_loads`; returns shape (N, n) [N·m or N].
    """
    if mechanism.chain is not None:
        return mechanism.chain.torque(mechanism, q, dq, ddq, external)
    refuse_closures(mechanism)
    tree, q, dq, ddq = with_followers(mechanism, q, dq, ddq)
    tau = np.empty((tree.n, len(q)))
    for own in own_wrenches(tree, q, dq, ddq, external):
        tau[own.joint, own.rows] = own.force[2] if tree.prismatic[own.joint] else own.moment[2]
    return led(mechanism, tau).T


def same_dynamics(one: Mechanism, other: Mechanism) -> bool:
    """Tell whether two models have the same joints and the same motion torques, within
    1e-6 of the greatest torque.

    Two closed chains have the same dynamics if they have the same closures and if their trees,
    without closures, have the same dynamics.
    """
    if one.names != other.names:
        return False
    if one.chain is not None and other.chain is not None:
        chains = one.chain.whole, other.chain.whole
        loops = [
            [
                (one.kind, one.links, *one.points.ravel().tolist(), *one.axis.tolist())
                for one in chain.closures
            ]
            for chain in chains
        ]
        return loops[0] == loops[1] and same_dynamics(
            *(
                replace(chain, closures=(), gravity=driven.gravity)
                for chain, driven in zip(chains, (one, other), strict=True)
            )
        )
    if one.chain is not None or other.chain is not None:
        return False
    q = np.linspace(-1.0, 1.0, _MOTIONS * one.n).reshape(_MOTIONS, -1)
    here, there = (inverse_dynamics(mechanism, q, q[::-1], np.abs(q)) for mechanism in (one, other))
    return bool(np.abs(here - there).max() <= 1e-6 * np.abs(there).max())


def with_followers(
    mechanism: Mechanism, q: ArrayLike, dq: ArrayLike | None = None, ddq: ArrayLike | None = None
) -> tuple[Mechanism, Array, Array | None, Array | None]:
    """Return the tree in which followers (URDF ``mimic``) are joints behind the others, and the
    motion of all its joints.
    """
    q, dq, ddq = checked_motion(mechanism, q, dq, ddq)
    if not mechanism.followers:
        return mechanism, q, dq, ddq
    leader, ratio, shift = (
        np.array([getattr(follower, key) for follower in mechanism.followers])
        for key in ("leader", "ratio", "shift")
    )
    dq, ddq = (
        None if rate is None else np.hstack((rate, ratio * rate[:, leader])) for rate in (dq, ddq)
    )
    return mechanism.tree, np.hstack((q, ratio * q[:, leader] + shift)), dq, ddq


def led(mechanism: Mechanism, tau: Array) -> Array:
    """Return joint torques, shape (n, N), from torques of the tree: a leader's drive moves its
    followers (virtual work).
    """
    out = tau[: mechanism.n]
    for k, follower in enumerate(mechanism.followers):
        out[follower.leader] += follower.ratio * tau[mechanism.n + k]
    return out


def bias_force(
    mechanism: Mechanism,
    q: ArrayLike,
    dq: ArrayLike | None = None,
    external: ArrayLike | None = None,
) -> Array:
    """Compute the joint torques h(q, dq) at zero acceleration: gravity, Coriolis and
    centrifugal (Eq. 22), shape (N, n).
    """
    return inverse_dynamics(mechanism, q, dq, None, external)


def rotor_torque(mechanism: Mechanism, ddq: Array) -> Array:
    """Compute the additional joint torques that accelerate the rotors, shape (N, n) [N·m or N]."""
    return np.zeros_like(ddq) if mechanism.rotors is None else np.asarray(ddq @ mechanism.rotors)


def mass_matrix(mechanism: Mechanism, q: ArrayLike) -> Array:
    """Compute the mass matrix M(q), shape (N, n, n), from the torques of unit accelerations
    without gravity (Eqs. 19-21).
    """
    q, n = batch("q", q, mechanism), mechanism.n
    columns = inverse_dynamics(
        mechanism.weightless, np.repeat(q, n, axis=0), None, np.tile(np.eye(n), (len(q), 1))
    )
    return np.asarray(columns.reshape(len(q), n, n))


def forward_dynamics(
    mechanism: Mechanism,
    q: ArrayLike,
    dq: ArrayLike,
    tau: ArrayLike,
    external: ArrayLike | None = None,
) -> Array:
    """Compute the accelerations, shape (N, n), that joint torques cause: the solution of
    M ddq + h = tau (Eq. 22).

    Parameters and errors as in `joint_loads`; `tau` has shape (N, n) [N·m or N].
    """
    q = batch("q", q, mechanism)
    rest = batch("tau", tau, mechanism, len(q)) - bias_force(mechanism, q, dq, external)
    return np.asarray(np.linalg.solve(mass_matrix(mechanism, q), rest[..., None])[..., 0])


def kinematics(
    mechanism: Mechanism, q: ArrayLike, dq: ArrayLike | None = None, ddq: ArrayLike | None = None
) -> Kinematics:
    """Compute the motion of every link in base axes (Eqs. 3-10). Parameters and
    errors as in `joint_wrenches`.
    """
    refuse_followers(mechanism)
    positions, *rates = checked_motion(mechanism, q, dq, ddq)
    speed, gain = (np.zeros_like(positions) if rate is None else rate for rate in rates)
    parts = [
        _kinematics(mechanism, positions[rows], speed[rows], gain[rows])
        for rows in blocks(len(positions))
    ]
    if len(parts) == 1:
        return Kinematics(*parts[0])
    shapes = ((3, 3), *[(3,)] * 6)
    return Kinematics(
        *(
            np.concatenate([part[k] for part in parts])
            if parts
            else np.zeros((0, mechanism.n, *shape))
            for k, shape in enumerate(shapes)
        )
    )


def _kinematics(m: Mechanism, q: Array, dq: Array, ddq: Array) -> tuple[Array, ...]:
    """Return the fields of `Kinematics`: rotations are multiplied joint by joint, all other
    fields are sums over joints.

    In memory, joints come before samples, so that products of all samples are few and large.
    """
    before, carried = np.array(m.parent) + 1, m.carries.T.astype(float)
    n, samples, slides = m.n, len(q), np.where(m.prismatic, 1.0, 0.0)[:, None]
    q, dq, ddq = q.T, dq.T, ddq.T
    angle, about = ((1.0 - slides) * q)[..., None, None], m.axis_cross[:, None]
    turn = np.sin(angle) * about + (1.0 - np.cos(angle)) * (about @ about)
    turn += np.eye(3)
    base = np.empty((n + 1, samples, 3, 3))  # the ground comes before all links
    base[0] = np.eye(3)
    for j, p in enumerate(before):
        np.matmul(base[p], turn[j], out=base[j + 1])
    parent = base[before].reshape(n, 3 * samples, 3)
    axis, reach = (
        (parent @ vectors[:, :, None]).reshape(n, samples, 3) for vectors in (m.axis, m.origin)
    )

    def summed(each: Array) -> Array:
        """Sum over the joints that carry each link."""
        return np.asarray((carried @ each.reshape(n, -1)).reshape(each.shape))

    step = reach + axis * (slides * q)[..., None]
    if not (dq.any() or ddq.any()):  # as in all searches for postures
        fields = base[1:], summed(step), axis, *np.zeros((4, *axis.shape))
        return tuple(values.swapaxes(0, 1) for values in fields)
    along, turning = axis * (slides * dq)[..., None], axis * ((1.0 - slides) * dq)[..., None]
    w = summed(turning)
    # angular velocity of the parent link
    around = w - turning
    dw = summed(axis * ((1.0 - slides) * ddq)[..., None] + cross(around, turning))
    change = dw - axis * ((1.0 - slides) * ddq)[..., None] - cross(around, turning)
    past = cross(around, step)
    v = summed(past + along)
    a = summed(
        cross(change, step) + cross(around, past + 2.0 * along) + axis * (slides * ddq)[..., None]
    )
    return tuple(values.swapaxes(0, 1) for values in (base[1:], summed(step), axis, w, dw, v, a))


def joint_origins(mechanism: Mechanism, q: ArrayLike) -> Array:
    """Compute positions of all joint and follower origins and the last link's centre of mass,
    shape (N, n + k + 1, 3) [m].

    For the driven joints of a closed chain, the result covers all joints of the chain and the
    centre of mass of its last link.
    """
    if mechanism.chain is not None:
        return joint_origins(
            replace(mechanism.chain.whole, closures=()), mechanism.chain.posture(mechanism, q)
        )
    tree, q, *_ = with_followers(mechanism, q)
    pose = kinematics(tree, q)
    last = mechanism.n - 1
    tip = pose.origin[:, last] + pose.rotation[:, last] @ mechanism.com[-1]
    return np.concatenate((pose.origin, tip[:, None]), axis=1)
