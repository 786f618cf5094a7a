r"""Motion and wrenches of a tree in natural coordinates, batched over samples.

One recursion from the base outwards gives the motion of every link, one back inwards the wrench that
each joint transmits (Eqs. 19-22 of P0 in recursive form). Arrays are components first, ``(3, N)``, in
blocks that stay in the cache.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ident.errors import InputError
from ident.mechanism import Array, Mechanism

_BLOCK = 4096


@dataclass(frozen=True)
class Wrenches:
    """What each joint transmits to the subtree that it carries, in base axes.

    Attributes
    ----------
    force : ndarray, shape (N, n, 3)
        Force on the subtree [N].
    moment : ndarray, shape (N, n, 3)
        Moment on the subtree about the joint origin, which moves with the link [N·m].
    axis : ndarray, shape (N, n, 3)
        Unit vector of each joint axis.
    """

    force: Array
    moment: Array
    axis: Array


def joint_wrenches(mechanism: Mechanism, q: ArrayLike, dq: ArrayLike | None = None,
                   ddq: ArrayLike | None = None) -> Wrenches:
    """Force and moment that every joint transmits during a motion.

    Parameters
    ----------
    mechanism : Mechanism
        The tree.
    q, dq, ddq : array_like, shape (N, n)
        Joint positions, velocities and accelerations; velocities and accelerations default to zero.

    Returns
    -------
    Wrenches
        Forces and moments about the joint origins, and the joint axes, in base axes.

    Raises
    ------
    InputError
        If a shape does not fit the mechanism or a value is not finite.

    References
    ----------
    Guo, Ju and Wang, Aerospace 11 (2024) 368, Eqs. 1-22, 37-39.
    """
    q = _batch("q", q, mechanism)
    dq = None if dq is None else _batch("dq", dq, mechanism, len(q))
    ddq = None if ddq is None else _batch("ddq", ddq, mechanism, len(q))
    out = Wrenches(*(np.empty((len(q), mechanism.n, 3)) for _ in range(3)))
    for block in _blocks(len(q)):
        force, moment, axis = _recursion(mechanism, q[block], None if dq is None else dq[block],
                                         None if ddq is None else ddq[block])
        for joint in range(mechanism.n):
            out.force[block, joint] = force[joint].T
            out.moment[block, joint] = moment[joint].T
            out.axis[block, joint] = axis[joint].T
    return out


def inverse_dynamics(mechanism: Mechanism, q: ArrayLike, dq: ArrayLike | None = None,
                     ddq: ArrayLike | None = None) -> Array:
    """Torque (force, where prismatic) that the drives give to the rigid links, without rotors and friction.

    Parameters and errors as in `joint_wrenches`; returns shape (N, n) [N·m or N].
    """
    wrenches = joint_wrenches(mechanism, q, dq, ddq)
    screw = np.where(mechanism.prismatic[:, None], wrenches.force, wrenches.moment)
    return np.asarray(np.sum(screw * wrenches.axis, axis=2))


def joint_origins(mechanism: Mechanism, q: ArrayLike) -> Array:
    """Positions of the joint origins and of the last link's centre of mass, shape (N, n + 1, 3) [m]."""
    q = _batch("q", q, mechanism)
    rotation: list[Array] = []
    position: list[Array] = []
    points = np.empty((len(q), mechanism.n + 1, 3))
    for joint, parent in enumerate(mechanism.parent):
        R_p, o_p = (np.eye(3)[:, :, None], np.zeros((3, 1))) if parent < 0 else (rotation[parent], position[parent])
        R, o = _pose(mechanism, joint, q[:, joint], R_p, o_p)
        rotation.append(R)
        position.append(o)
        points[:, joint] = o.T
    points[:, -1] = (position[-1] + _rotate(rotation[-1], mechanism.com[-1])).T
    return points


def _recursion(m: Mechanism, q: Array, dq: Array | None,
               ddq: Array | None) -> tuple[list[Array], list[Array], list[Array]]:
    """Newton-Euler over one block: force, moment and axis of each joint, each ``(3, N)``."""
    moving = dq is not None or ddq is not None
    zero = np.zeros((3, 1))
    R: list[Array] = []       # link axes
    r: list[Array] = []       # parent's origin -> own origin
    n: list[Array] = []       # joint axis
    w: list[Array] = []       # angular velocity
    dw: list[Array] = []      # angular acceleration
    a: list[Array] = []       # acceleration of the origin, less gravity
    for j, p in enumerate(m.parent):
        R_p = np.eye(3)[:, :, None] if p < 0 else R[p]
        w_p, dw_p = (zero, zero) if p < 0 else (w[p], dw[p])
        a_p = -m.gravity[:, None] if p < 0 else a[p]
        R_j, r_j = _pose(m, j, q[:, j], R_p, zero)
        n_j = _rotate(R_p, m.axis[j])
        n_j = np.broadcast_to(n_j, (3, len(q)))
        if moving:
            a_j = a_p + _cross(dw_p, r_j) + _cross(w_p, _cross(w_p, r_j))
            rate = None if dq is None else n_j * dq[:, j]
            w_j, dw_j = w_p, dw_p
            if m.prismatic[j]:
                if rate is not None:
                    a_j = a_j + 2.0 * _cross(w_p, rate)
                if ddq is not None:
                    a_j = a_j + n_j * ddq[:, j]
            else:
                if rate is not None:
                    w_j = w_p + rate
                    dw_j = dw_j + _cross(w_p, rate)
                if ddq is not None:
                    dw_j = dw_j + n_j * ddq[:, j]
        else:
            a_j, w_j, dw_j = a_p, zero, zero
        for values, value in zip((R, r, n, w, dw, a), (R_j, r_j, n_j, w_j, dw_j, a_j), strict=True):
            values.append(value)

    force: list[Array] = [zero] * m.n
    moment: list[Array] = [zero] * m.n
    for j in reversed(range(m.n)):
        c = _rotate(R[j], m.com[j])
        a_c = a[j]
        if moving:
            a_c = a_c + _cross(dw[j], c) + _cross(w[j], _cross(w[j], c))
        f = m.mass[j] * a_c
        t = _cross(c, f)
        if moving:
            w_l, dw_l = _unrotate(R[j], w[j]), _unrotate(R[j], dw[j])
            t = t + _rotate(R[j], m.inertia[j] @ dw_l + _cross(w_l, m.inertia[j] @ w_l))
        force[j] = force[j] + f
        moment[j] = moment[j] + t
        p = m.parent[j]
        if p >= 0:
            force[p] = force[p] + force[j]
            moment[p] = moment[p] + moment[j] + _cross(r[j], force[j])
    return force, moment, n


def _pose(m: Mechanism, j: int, q: Array, R_p: Array, o_p: Array) -> tuple[Array, Array]:
    """Rotation and origin of link j from those of its parent (Eq. 3)."""
    o = o_p + _rotate(R_p, m.origin[j])
    if m.prismatic[j]:
        return np.broadcast_to(R_p, (3, 3, len(q))), o + _rotate(R_p, m.axis[j]) * q
    x, y, z = m.axis[j]
    skew = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    first = np.tensordot(skew, R_p, axes=(0, 1)).transpose(1, 0, 2)            # R_p [n]x
    second = np.tensordot(skew @ skew, R_p, axes=(0, 1)).transpose(1, 0, 2)    # R_p [n]x^2
    return R_p + first * np.sin(q) + second * (1.0 - np.cos(q)), np.broadcast_to(o, (3, len(q)))


def _rotate(R: Array, v: Array) -> Array:
    """R v for R (3, 3, N) and v (3,) or (3, N)."""
    v = v if v.ndim == 2 else v[:, None]
    return np.asarray(R[:, 0] * v[0] + R[:, 1] * v[1] + R[:, 2] * v[2])


def _unrotate(R: Array, v: Array) -> Array:
    """R^T v for R (3, 3, N) and v (3, N)."""
    return np.asarray(R[0] * v[0] + R[1] * v[1] + R[2] * v[2])


def _cross(a: Array, b: Array) -> Array:
    """Cross product of (3, N) arrays; np.cross costs several times as much."""
    return np.stack((a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]))


def _blocks(samples: int) -> Iterator[slice]:
    return (slice(start, start + _BLOCK) for start in range(0, samples, _BLOCK))


def _batch(name: str, value: ArrayLike, mechanism: Mechanism, samples: int | None = None) -> Array:
    """Joint values as finite float (N, n)."""
    array = np.asarray(value, dtype=float)
    wanted = ("N" if samples is None else samples, mechanism.n)
    if array.ndim != 2 or array.shape[1] != mechanism.n or (samples is not None and len(array) != samples):
        raise InputError(f"{name} has shape {array.shape}, {mechanism.name} needs ({wanted[0]}, {wanted[1]}) "
                         f"with columns {', '.join(mechanism.names)}")
    if not np.isfinite(array).all():
        row, column = np.argwhere(~np.isfinite(array))[0]
        raise InputError(f"{name} of joint {mechanism.names[column]} is not a number in row {row}")
    return array
