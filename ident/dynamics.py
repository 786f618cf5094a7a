r"""Dynamics of a tree in natural coordinates, batched over samples (P0, Eqs. 1-22 and 37-39).

The paper sums over subtrees; here the same sums are taken link by link: one sweep outwards gives the motion of every
link, one inwards the wrench that every joint transmits. Each link is written in axes of its own, the third along its
joint, so that a joint is a turn in the plane, all else is a constant matrix, and radial, axial and bending parts can
be read off. Arrays are components first, ``(3, N)``, in blocks that stay in the cache.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from ident.errors import InputError, ModelError
from ident.mechanism import Array, Mechanism

_BLOCK = 4096
_W, _DW, _A, _BASE = 0, 1, 2, slice(3, 6)       # vectors of a link's motion: w, dw, a less gravity, the base axes


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


@dataclass(frozen=True)
class OwnWrench:
    """What one joint transmits over some samples, in the joint's own axes, of which the third is the joint axis.

    Attributes
    ----------
    rows : slice
        The samples.
    joint : int
        The joint.
    force, moment : ndarray, shape (3, N)
        On the subtree, about the joint origin [N, N·m].
    base : ndarray, shape (3, 3, N)
        ``base[:, i]`` is base axis i in the joint's own axes.
    """

    rows: slice
    joint: int
    force: Array
    moment: Array
    base: Array

    def in_base(self, vector: Array) -> Array:
        """A vector given in the joint's own axes, shape (3, N), in base axes."""
        return np.asarray(self.base[0] * vector[0] + self.base[1] * vector[1] + self.base[2] * vector[2])


@dataclass(frozen=True)
class Kinematics:
    """Motion of every link in base axes (Eqs. 3-10).

    Attributes
    ----------
    rotation : ndarray, shape (N, n, 3, 3)
        Link axes in base axes; the identity at q = 0.
    origin : ndarray, shape (N, n, 3)
        Joint origins, which move with their links [m].
    axis : ndarray, shape (N, n, 3)
        Joint axes.
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


def joint_wrenches(mechanism: Mechanism, q: ArrayLike, dq: ArrayLike | None = None, ddq: ArrayLike | None = None,
                   external: ArrayLike | None = None) -> Wrenches:
    """Force and moment that every joint transmits during a motion (Eqs. 37-39).

    Parameters
    ----------
    mechanism : Mechanism
        The tree.
    q, dq, ddq : array_like, shape (N, n)
        Joint positions, velocities and accelerations; velocities and accelerations default to zero.
    external : array_like, shape (N, n, 6), optional
        Force and moment about the joint origin that act on each link from outside, in base axes [N, N·m].

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
    samples = len(np.atleast_1d(q))
    force, moment, axis = (np.empty((mechanism.n, 3, samples)) for _ in range(3))
    for own in own_wrenches(mechanism, q, dq, ddq, external):
        force[own.joint, :, own.rows] = own.in_base(own.force)
        moment[own.joint, :, own.rows] = own.in_base(own.moment)
        axis[own.joint, :, own.rows] = own.base[2]
    return Wrenches(*(values.transpose(2, 0, 1) for values in (force, moment, axis)))


def inverse_dynamics(mechanism: Mechanism, q: ArrayLike, dq: ArrayLike | None = None, ddq: ArrayLike | None = None,
                     external: ArrayLike | None = None) -> Array:
    """Torque (force, where prismatic) that the joints give to the rigid links, without rotors and friction (Eq. 22).

    Parameters and errors as in `joint_wrenches`; returns shape (N, n) [N·m or N].
    """
    tree, q, dq, ddq = with_followers(mechanism, q, dq, ddq)
    tau = np.empty((tree.n, len(q)))
    for own in own_wrenches(tree, q, dq, ddq, external):
        tau[own.joint, own.rows] = own.force[2] if tree.prismatic[own.joint] else own.moment[2]
    return led(mechanism, tau).T


def with_followers(mechanism: Mechanism, q: ArrayLike, dq: ArrayLike | None = None,
                   ddq: ArrayLike | None = None) -> tuple[Mechanism, Array, Array | None, Array | None]:
    """The tree that has followers (URDF ``mimic``) as joints of their own, behind the others, and their motion."""
    q, dq, ddq = _motion(mechanism, q, dq, ddq)
    if not mechanism.followers:
        return mechanism, q, dq, ddq
    leader, ratio, shift = (np.array([getattr(follower, key) for follower in mechanism.followers])
                            for key in ("leader", "ratio", "shift"))
    dq, ddq = (None if rate is None else np.hstack((rate, ratio * rate[:, leader])) for rate in (dq, ddq))
    return mechanism.tree, np.hstack((q, ratio * q[:, leader] + shift)), dq, ddq


def led(mechanism: Mechanism, tau: Array) -> Array:
    """Torques of the joints, shape (n, N), from those of the tree: a leader's drive moves its followers (virtual work)."""
    out = tau[: mechanism.n]
    for k, follower in enumerate(mechanism.followers):
        out[follower.leader] += follower.ratio * tau[mechanism.n + k]
    return out


def bias_force(mechanism: Mechanism, q: ArrayLike, dq: ArrayLike | None = None, external: ArrayLike | None = None) -> Array:
    """Joint torques h(q, dq) without acceleration: gravity, Coriolis and centrifugal (Eq. 22), shape (N, n)."""
    return inverse_dynamics(mechanism, q, dq, None, external)


def mass_matrix(mechanism: Mechanism, q: ArrayLike) -> Array:
    """Mass matrix M(q), shape (N, n, n): the torques of unit accelerations without gravity (Eqs. 19-21)."""
    q, n = batch("q", q, mechanism), mechanism.n
    weightless = replace(mechanism, gravity=np.zeros(3))
    columns = inverse_dynamics(weightless, np.repeat(q, n, axis=0), None, np.tile(np.eye(n), (len(q), 1)))
    return np.asarray(columns.reshape(len(q), n, n))


def forward_dynamics(mechanism: Mechanism, q: ArrayLike, dq: ArrayLike, tau: ArrayLike,
                     external: ArrayLike | None = None) -> Array:
    """Accelerations under joint torques: solves M ddq + h = tau (Eq. 22), shape (N, n).

    Parameters and errors as in `joint_wrenches`; `tau` has shape (N, n) [N·m or N].
    """
    q = batch("q", q, mechanism)
    rest = batch("tau", tau, mechanism, len(q)) - bias_force(mechanism, q, dq, external)
    return np.asarray(np.linalg.solve(mass_matrix(mechanism, q), rest[..., None])[..., 0])


def kinematics(mechanism: Mechanism, q: ArrayLike, dq: ArrayLike | None = None, ddq: ArrayLike | None = None) -> Kinematics:
    """Motion of every link in base axes (Eqs. 3-10). Parameters and errors as in `joint_wrenches`."""
    _open(mechanism)
    q, dq, ddq = _motion(mechanism, q, dq, ddq)
    weightless, links, n = replace(mechanism, gravity=np.zeros(3)), _links(mechanism), mechanism.n
    rotation = np.empty((len(q), n, 3, 3))
    origin, axis, w, dw, v, a = (np.empty((len(q), n, 3)) for _ in range(6))
    frames = _own_axes(mechanism)
    for rows in _blocks(len(q)):
        sweep = _Sweep(weightless, links, q[rows], None if dq is None else dq[rows], None if ddq is None else ddq[rows])
        sweep.outwards()
        for j, p in enumerate(mechanism.parent):
            X = sweep.motion[j].transpose(2, 1, 0)                      # (N, vectors, 3)
            base = X[:, -3:]                                            # own axes -> base axes
            rotation[rows, j] = base @ frames[j].T
            axis[rows, j] = base[:, :, 2]
            reach = mechanism.origin[j] if p < 0 else rotation[rows, p] @ mechanism.origin[j]
            slide = axis[rows, j] * q[rows, j, None] if mechanism.prismatic[j] else 0.0
            step = np.broadcast_to(reach + slide, (len(base), 3))
            origin[rows, j] = step + (0.0 if p < 0 else origin[rows, p])
            w[rows, j], dw[rows, j], a[rows, j] = ((np.einsum("nij,nj->ni", base, X[:, k]) for k in (_W, _DW, _A))
                                                   if sweep.moving else np.zeros((3, len(base), 3)))
            before = np.zeros((2, len(base), 3)) if p < 0 else (v[rows, p], w[rows, p])
            v[rows, j] = before[0] + np.cross(before[1], step)
            if mechanism.prismatic[j] and dq is not None:
                v[rows, j] += axis[rows, j] * dq[rows, j, None]
    return Kinematics(rotation, origin, axis, w, dw, v, a)


def joint_origins(mechanism: Mechanism, q: ArrayLike) -> Array:
    """Positions of the origins of joints and followers and of the last link's centre of mass, shape (N, n + k + 1, 3) [m]."""
    tree, q, *_ = with_followers(mechanism, q)
    pose = kinematics(tree, q)
    last = mechanism.n - 1
    tip = pose.origin[:, last] + pose.rotation[:, last] @ mechanism.com[-1]
    return np.concatenate((pose.origin, tip[:, None]), axis=1)


def own_wrenches(mechanism: Mechanism, q: ArrayLike, dq: ArrayLike | None = None, ddq: ArrayLike | None = None,
                 external: ArrayLike | None = None) -> Iterator[OwnWrench]:
    """What every joint transmits, block by block, in its own axes; parameters and errors as in `joint_wrenches`.

    The arrays are work space: use them before the next are asked for.
    """
    _open(mechanism)
    q, dq, ddq = _motion(mechanism, q, dq, ddq)
    if external is not None:
        external = np.asarray(external, dtype=float)
        if external.shape != (*q.shape, 6):
            raise InputError(f"external has shape {external.shape}, {(*q.shape, 6)} is needed: force and moment on every link")
    return _sweeps(mechanism, q, dq, ddq, external)


def _sweeps(m: Mechanism, q: Array, dq: Array | None, ddq: Array | None, external: Array | None) -> Iterator[OwnWrench]:
    links = _links(m)
    for rows in _blocks(len(q)):
        sweep = _Sweep(m, links, q[rows], None if dq is None else dq[rows], None if ddq is None else ddq[rows])
        sweep.outwards()
        for joint, wrench in sweep.inwards(None if external is None else external[rows]):
            yield OwnWrench(rows, joint, wrench[0], wrench[1], sweep.motion[joint][:, -3:])


class _Sweep:
    """One sweep outwards and one inwards over a block of samples."""

    def __init__(self, m: Mechanism, links: "list[_Link]", q: Array, dq: Array | None, ddq: Array | None) -> None:
        self.m, self.links, self.size = m, links, len(q)
        self.q = np.ascontiguousarray(q.T)
        self.sin, self.cos = np.sin(self.q), np.cos(self.q)
        self.moving = dq is not None or ddq is not None
        self.dq, self.ddq = (np.zeros_like(self.q) if rate is None else np.ascontiguousarray(rate.T) for rate in (dq, ddq))
        self.motion: list[Array] = []       # of each link: (3, vectors, N), in its own axes
        self.wrench: list[Array] = []       # that each link takes for its own motion: force and moment, (2, 3, N)

    def outwards(self) -> None:
        """Motion of every link, and the wrench that its own mass takes for it."""
        ground = np.zeros((3, 6 if self.moving else 4, self.size))
        ground[:, -4] = -self.m.gravity[:, None]
        ground[:, -3:] = np.eye(3)[:, :, None]
        carried: list[Array] = []           # acceleration of the origin of each joint, in axes of the link before it
        for j, (p, link) in enumerate(zip(self.m.parent, self.links, strict=True)):
            before = ground if p < 0 else self.motion[p]
            X = _times(link.turn.T, before)
            if p >= 0 and self.moving:
                np.matmul(link.turn.T, carried[p][link.place] + before[:, _A], out=X[:, _A])
            if not self.m.prismatic[j]:
                _turn(X, self.cos[j], self.sin[j])
            wrench = np.empty((2, 3, self.size))
            if self.moving:
                A = self._move(j, X)
                AK = _times(link.K, A)                                      # (children + 4, 3, N)
                h, S = AK[-4], AK[-3:]
                np.multiply(X[:, _A], link.mass, out=wrench[0])
                wrench[0] += h
                np.matmul(link.h_cross, X[:, _A], out=wrench[1])
                wrench[1, 0] += S[1, 2] - S[2, 1]
                wrench[1, 1] += S[2, 0] - S[0, 2]
                wrench[1, 2] += S[0, 1] - S[1, 0]
                carried.append(AK[:-4])
            else:
                np.multiply(X[:, 0], link.mass, out=wrench[0])
                np.matmul(link.h_cross, X[:, 0], out=wrench[1])
            self.motion.append(X)
            self.wrench.append(wrench)

    def _move(self, j: int, X: Array) -> Array:
        """Add the joint's own motion; gives ``[dw]x + [w]x²``, columns first, which takes points to accelerations."""
        q, dq, ddq = self.q[j], self.dq[j], self.ddq[j]
        w, dw, a = X[:, _W], X[:, _DW], X[:, _A]
        if not self.m.prismatic[j]:
            dw[0] += w[1] * dq
            dw[1] -= w[0] * dq
            dw[2] += ddq
            w[2] += dq
        xx, yy, zz = w * w
        xy, xz, yz = w[0] * w[1], w[0] * w[2], w[1] * w[2]
        A = np.empty((3, 3, self.size))
        np.negative(yy + zz, out=A[0, 0])
        np.negative(xx + zz, out=A[1, 1])
        np.negative(xx + yy, out=A[2, 2])
        np.subtract(xy, dw[2], out=A[1, 0])
        np.add(xy, dw[2], out=A[0, 1])
        np.add(xz, dw[1], out=A[2, 0])
        np.subtract(xz, dw[1], out=A[0, 2])
        np.subtract(yz, dw[0], out=A[2, 1])
        np.add(yz, dw[0], out=A[1, 2])
        if self.m.prismatic[j]:
            a += A[2] * q
            a[0] += 2.0 * w[1] * dq
            a[1] -= 2.0 * w[0] * dq
            a[2] += ddq
        return A

    def inwards(self, external: Array | None = None) -> Iterator[tuple[int, Array]]:
        """Every joint, from the tips to the ground, with the wrench that it transmits, (2, 3, N)."""
        for j in reversed(range(self.m.n)):
            wrench, p = self.wrench[j], self.m.parent[j]
            if external is not None:
                base = self.motion[j][:, -3:]
                for part in (0, 1):
                    wrench[part] -= np.einsum("kin,ni->kn", base, external[:, j, 3 * part: 3 * part + 3])
            yield j, wrench
            if p < 0:
                continue
            if self.m.prismatic[j]:
                wrench = wrench.copy()
                wrench[1, 0] -= self.q[j] * wrench[0, 1]
                wrench[1, 1] += self.q[j] * wrench[0, 0]
            else:
                turned = np.empty_like(wrench)
                x, y, c, s = wrench[:, 0], wrench[:, 1], self.cos[j], self.sin[j]
                np.multiply(x, c, out=turned[:, 0])
                turned[:, 0] -= y * s
                np.multiply(y, c, out=turned[:, 1])
                turned[:, 1] += x * s
                turned[:, 2] = wrench[:, 2]
                wrench = turned
            self.wrench[p] += (self.links[j].shift @ wrench.reshape(6, -1)).reshape(2, 3, -1)


@dataclass(frozen=True)
class _Link:
    """Constants of a joint and its link.

    Attributes
    ----------
    turn : ndarray, shape (3, 3)
        Own axes at q = 0, in axes of the link before.
    shift : ndarray, shape (6, 6)
        Takes a wrench, turned by the joint, to the origin and axes of the link before.
    place : int
        Which child of the link before it is.
    mass : float
    h_cross : ndarray, shape (3, 3)
        ``[m c]x``.
    K : ndarray, shape (children + 4, 3)
        Rows: origins of the links that this one carries, m c, second moments about the origin (3).
    """

    turn: Array
    shift: Array
    place: int
    mass: float
    h_cross: Array
    K: Array


def _links(m: Mechanism) -> list[_Link]:
    E = _own_axes(m)
    links = []
    for j, p in enumerate(m.parent):
        before = np.eye(3) if p < 0 else E[p]
        turn, r = before.T @ E[j], before.T @ m.origin[j]
        shift = np.block([[turn, np.zeros((3, 3))], [_cross_matrix(r) @ turn, turn]])
        h = m.mass[j] * m.com[j]
        second = 0.5 * np.trace(m.inertia[j]) * np.eye(3) - m.inertia[j] + np.outer(h, m.com[j])
        carried = [m.origin[k] for k in range(m.n) if m.parent[k] == j]
        place = sum(m.parent[k] == p for k in range(j))
        links.append(_Link(turn, shift, place, float(m.mass[j]), _cross_matrix(E[j].T @ h),
                           np.vstack([*(vector @ E[j] for vector in carried), h @ E[j], E[j].T @ second @ E[j]])))
    return links


def _own_axes(m: Mechanism) -> Array:
    """Axes of each link, the third along its joint, in natural coordinates, shape (n, 3, 3)."""
    third = m.axis
    first = np.cross(third, np.eye(3)[np.argmin(np.abs(third), axis=1)])
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    return np.stack((first, np.cross(third, first), third), axis=2)


def _times(matrix: Array, vectors: Array) -> Array:
    """A constant matrix (k, 3) times components-first vectors (3, m, N)."""
    return np.asarray((matrix @ vectors.reshape(3, -1)).reshape(len(matrix), *vectors.shape[1:]))


def _turn(X: Array, c: Array, s: Array) -> None:
    """Write vectors (3, m, N) in axes turned about the third, in place."""
    left, right = X[0] * s, X[1] * s
    X[0] *= c
    X[0] += right
    X[1] *= c
    X[1] -= left


def _cross_matrix(v: Array) -> Array:
    x, y, z = v
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def _blocks(samples: int) -> Iterator[slice]:
    return (slice(start, start + _BLOCK) for start in range(0, samples, _BLOCK))


def _open(m: Mechanism) -> None:
    if m.followers:
        raise ModelError(f"{m.name}: {m.followers[0].name} follows {m.names[m.followers[0].leader]}; take mechanism.tree and "
                         "with_followers, which have it as a joint")


def _motion(m: Mechanism, q: ArrayLike, dq: ArrayLike | None,
            ddq: ArrayLike | None) -> tuple[Array, Array | None, Array | None]:
    q = batch("q", q, m)
    return (q, None if dq is None else batch("dq", dq, m, len(q)), None if ddq is None else batch("ddq", ddq, m, len(q)))


def batch(name: str, value: ArrayLike, mechanism: Mechanism, samples: int | None = None) -> Array:
    """Joint values as finite float (N, n).

    Raises
    ------
    InputError
        If the shape does not fit the mechanism or a value is not finite; names joint and row.
    """
    array = np.asarray(value, dtype=float)
    wanted = ("N" if samples is None else samples, mechanism.n)
    if array.ndim != 2 or array.shape[1] != mechanism.n or (samples is not None and len(array) != samples):
        raise InputError(f"{name} has shape {array.shape}, {mechanism.name} needs ({wanted[0]}, {wanted[1]}) "
                         f"with columns {', '.join(mechanism.names)}")
    if not np.isfinite(array).all():
        row, column = np.argwhere(~np.isfinite(array))[0]
        raise InputError(f"{name} of joint {mechanism.names[column]} is not a number in row {row}")
    return array
