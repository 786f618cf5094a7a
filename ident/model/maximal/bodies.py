r"""Bodies as positions and quaternions, joints as constraints between them (P1).

Every joint has six rows: five constraints of the joint and the unit norm of the body's quaternion.
Two products :math:`t_k(parent) \cdot p(body) = 0` keep the axis p of a hinge. The module also has
the paper's own set of constraints for comparison: it projects the axes on x and y of the base, so a
horizontal axis loses one of its two rows. Constraints are written parent minus body, so the
multipliers are the forces and moments that the parent exerts on the body.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stribeck.ident.arrays import Array
from stribeck.ident.errors import ModelError
from stribeck.ident.model.maximal.quaternion import base_rates, product, rotation, turned
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.model.recursion import batch, refuse_followers

ConstraintSet = Literal["dot", "projected"]


@dataclass(frozen=True)
class Bodies:
    """State and acceleration of every body.

    Attributes
    ----------
    position : ndarray, shape (N, n, 3)
        Centres of mass in base axes [m].
    quaternion : ndarray, shape (N, n, 4)
        Lambda = (l0, l1, l2, l3), scalar first, from link axes to base axes.
    velocity, acceleration : ndarray, shape (N, n, 3)
        Velocity and acceleration of the centres of mass, base axes [m/s, m/s²].
    angular_velocity, angular_acceleration : ndarray, shape (N, n, 3)
        Angular velocity and acceleration of the bodies, base axes [rad/s, rad/s²].
    """

    position: Array
    quaternion: Array
    velocity: Array
    angular_velocity: Array
    acceleration: Array
    angular_acceleration: Array

    @cached_property
    def rotation(self) -> Array:
        """Rotation matrices from link axes to base axes, shape (N, n, 3, 3)."""
        return rotation(self.quaternion)


def body_motion(
    mechanism: Mechanism, q: ArrayLike, dq: ArrayLike | None = None, ddq: ArrayLike | None = None
) -> Bodies:
    r"""Compute the motion of all bodies for a given joint motion from the constraint
    equations; masses are not used.

    .. math:: \begin{bmatrix} \Phi_q \\ D \end{bmatrix} \ddot q =
              \begin{bmatrix} \zeta \\ \ddot\theta - \dot D \dot q \end{bmatrix}

    Parameters
    ----------
    mechanism : Mechanism
        The tree.
    q, dq, ddq : array_like, shape (N, n)
        Joint positions, velocities and accelerations (theta above) [rad or m, per s, per s²]; the
        last two default to zero.

    Returns
    -------
    Bodies

    Raises
    ------
    InputError
        If a shape does not fit the mechanism or a value is not finite.
    ModelError
        If the mechanism has closures or followers.

    References
    ----------
    Cheng et al., Machines 10 (2022) 499, Eqs. 25, 65.
    """
    bodies, rows = constrained(mechanism, q, dq)
    wanted = joint_values("ddq", ddq, mechanism, len(bodies.position))
    return accelerated(bodies, solved(rows.jacobian, rows.right(wanted)))


@dataclass(frozen=True)
class JointRows:
    """Five constraints and the coordinate of each joint: gradient, Jacobian, and velocity
    terms of the accelerations.

    `gradient` (N, n, 6, n, 6) multiplies velocities and angular velocities of the bodies, base
    axes. `jacobian` (N, 7 n, 7 n) multiplies velocities and quaternion rates. It has 6 n rows
    Phi_q, where the sixth row of each body is the unit norm, and n rows D. `bias` (N, 7 n) holds
    the velocity terms Phi_q' qd and D' qd.
    """

    gradient: Array
    jacobian: Array
    bias: Array

    def right(self, ddq: Array) -> Array:
        """Return the right-hand side: zeta, then joint accelerations
        minus D' qd, shape (N, 7 n).
        """
        return np.asarray(np.pad(ddq, ((0, 0), (6 * ddq.shape[1], 0))) - self.bias)

    def joint_accelerations(self, second: Array) -> Array:
        """Return the joint accelerations, shape (N, n), for second derivatives of all
        coordinates, shape (N, 7 n).
        """
        n = second.shape[1] // 7
        return np.asarray(
            np.einsum("ijk,ik->ij", self.jacobian[:, 6 * n :], second) + self.bias[:, 6 * n :]
        )


def constrained(m: Mechanism, q: ArrayLike, dq: ArrayLike | None) -> tuple[Bodies, JointRows]:
    """Return the constraint rows, and the bodies with velocities that
    solve [Phi_q; D] qd = [0; dq].
    """
    bodies = _placed(m, batch("q", q, m))
    samples = len(bodies.position)
    gradient = _gradients(m, bodies)[0]
    jacobian = _jacobian(bodies, gradient)
    right = np.pad(joint_values("dq", dq, m, samples), ((0, 0), (6 * m.n, 0)))
    v, w = _twists(bodies, solved(jacobian, right))
    bodies = replace(bodies, velocity=v, angular_velocity=w)
    bias = np.einsum("ijkbc,ibc->ijk", _gradients(m, bodies)[1], np.concatenate((v, w), axis=2))
    norm = 0.25 * np.sum(w**2, axis=2)  # |Lambda'|²
    constraints = np.concatenate((bias[:, :, :5], norm[:, :, None]), axis=2).reshape(
        samples, 6 * m.n
    )
    return bodies, JointRows(
        gradient, jacobian, np.concatenate((constraints, bias[:, :, 5]), axis=1)
    )


def constraint_jacobian(m: Mechanism, q: ArrayLike, kind: ConstraintSet = "dot") -> Array:
    """Return Phi_q, which multiplies velocities and quaternion rates, shape (N, 6 n, 7 n)."""
    bodies = _placed(m, batch("q", q, m))
    return _jacobian(bodies, _gradients(m, bodies, kind)[0])[:, : 6 * m.n]


def _placed(m: Mechanism, q: Array) -> Bodies:
    """Return the bodies at rest, with positions and quaternions for the joint positions."""
    refuse_followers(m)
    if m.closures:
        raise ModelError(
            f"{m.name}: maximal coordinates need a tree, but cut joints close loops: "
            f"{', '.join(closure.name for closure in m.closures)}"
        )
    samples = len(q)
    x, quaternion, rest = (
        np.empty((samples, m.n, 3)),
        np.empty((samples, m.n, 4)),
        np.zeros((samples, m.n, 3)),
    )
    origin = np.empty_like(x)
    ground = np.tile([1.0, 0.0, 0.0, 0.0], (samples, 1))
    for j, p in enumerate(m.parent):
        above, o = (ground, np.zeros(3)) if p < 0 else (quaternion[:, p], origin[:, p])
        angle, slide = (
            (rest[:, j, :1], q[:, j, None]) if m.prismatic[j] else (q[:, j, None], rest[:, j, :1])
        )
        origin[:, j] = o + turned(above, m.origin[j] + slide * m.axis[j])
        quaternion[:, j] = product(
            above, np.hstack((np.cos(angle / 2), np.sin(angle / 2) * m.axis[j]))
        )
        x[:, j] = origin[:, j] + turned(quaternion[:, j], m.com[j])
    return Bodies(x, quaternion, rest, rest, rest, rest)


def _gradients(m: Mechanism, bodies: Bodies, kind: ConstraintSet = "dot") -> Array:
    """Compute the gradients of `JointRows` and their time derivatives, shape (2, N, n, 6, n, 6).

    Every vector is stacked with its time derivative, shape (2, N, 3), so one
    formula gives Phi_q and Phi_q'.
    """

    def carried(vector: Array, body: int) -> Array:
        """Return a vector fixed to a body, given in link axes, in base axes with its time
        derivative; the ground is at rest.
        """
        if body < 0:
            return np.stack((np.tile(vector, (samples, 1)), np.zeros((samples, 3))))
        there = bodies.rotation[:, body] @ vector
        return np.stack((there, np.cross(bodies.angular_velocity[:, body], there)))

    def end(body: int) -> Array:
        return (
            np.zeros((2, samples, 3))
            if body < 0
            else np.stack((bodies.position[:, body], bodies.velocity[:, body]))
        )

    samples, none = len(bodies.position), np.zeros((2, len(bodies.position), 3))
    G = np.zeros((2, samples, m.n, 6, m.n, 6))
    for j, p in enumerate(m.parent):
        arm_p, arm_j = (
            carried(m.origin[j] - (m.com[p] if p >= 0 else 0.0), p),
            carried(-m.com[j], j),
        )
        # from the joint's origin on the parent to that on the body
        gap = end(j) + arm_j - end(p) - arm_p
        n_p, n_j = carried(m.axis[j], p), carried(m.axis[j], j)
        t_p, t_j = ([carried(t, body) for t in _perpendicular(m.axis[j])] for body in (p, j))
        base = [carried(e, -1) for e in np.eye(3)]
        # force direction, moments on parent and body
        rows: list[tuple[Array, Array, Array]]
        if m.prismatic[j]:
            # u(parent).gap
            along = [(u, _cross(u, arm_p + gap), _cross(arm_j, u)) for u in (*t_p, n_p)]
            turns = [
                (none, _cross(a, b), _cross(b, a))
                for a, b in ((t_p[0], n_j), (t_p[1], n_j), (t_p[0], t_j[1]))
            ]
            rows = [*along[:2], *turns, along[2]]
        else:
            # gap
            rows = [(e, _cross(e, arm_p), _cross(arm_j, e)) for e in base]
            if kind == "dot":
                # t_k(parent).p(body)
                rows += [(none, _cross(t, n_j), _cross(n_j, t)) for t in t_p]
            else:
                # e_k.(p(body) - p(parent))
                rows += [(none, _cross(e, n_p), _cross(n_j, e)) for e in base[:2]]
            rows.append((none, -n_p, n_p))
        for k, (force, on_parent, on_body) in enumerate(rows):
            sign = -1.0 if k < 5 else 1.0  # constraints are written parent minus body
            G[:, :, j, k, j] = sign * np.concatenate((force, on_body), axis=2)
            if p >= 0:
                G[:, :, j, k, p] = sign * np.concatenate((-force, on_parent), axis=2)
    return G


def _jacobian(bodies: Bodies, G: Array) -> Array:
    """`jacobian` of `JointRows`: w = 2 E(Lambda) Lambda'."""
    samples, n = G.shape[:2]
    turning = 2.0 * np.einsum("ijkbc,ibcd->ijkbd", G[..., 3:], base_rates(bodies.quaternion))
    rows = np.concatenate((G[..., :3], turning), axis=-1)
    coordinates = rows[:, :, 5].copy()
    rows[:, :, 5] = 0.0
    for i in range(n):
        rows[:, i, 5, i, 3:] = bodies.quaternion[:, i]
    return np.concatenate(
        (rows.reshape(samples, 6 * n, 7 * n), coordinates.reshape(samples, n, 7 * n)), axis=1
    )


def _twists(bodies: Bodies, coordinates: Array) -> tuple[Array, Array]:
    """Convert derivatives of all coordinates, first or second, to derivatives of position and
    angle, shape (N, n, 3) each.
    """
    each = coordinates.reshape(*bodies.quaternion.shape[:2], 7)
    return each[:, :, :3], 2.0 * np.einsum(
        "ijab,ijb->ija", base_rates(bodies.quaternion), each[:, :, 3:]
    )


def accelerated(bodies: Bodies, second: Array) -> Bodies:
    """Return the bodies with accelerations from second derivatives of all
    coordinates, shape (N, 7 n).
    """
    a, dw = _twists(bodies, second)
    return replace(bodies, acceleration=a, angular_acceleration=dw)


def _perpendicular(n: Array) -> Array:
    """Return two unit vectors t_k normal to n, shape (2, 3)."""
    e = np.eye(3)[np.argmin(np.abs(n))]
    t = (e - n * (n @ e)) / np.linalg.norm(e - n * (n @ e))
    return np.stack((t, np.cross(n, t)))


def _cross(a: Array, b: Array) -> Array:
    """Return the cross product of two vectors, each stacked with its time derivative."""
    return np.stack((np.cross(a[0], b[0]), np.cross(a[1], b[0]) + np.cross(a[0], b[1])))


def solved(matrices: Array, vectors: Array) -> Array:
    """Solve one linear system for each sample, shape (N, k)."""
    return np.asarray(np.linalg.solve(matrices, vectors[:, :, None])[:, :, 0], dtype=float)


def chosen(m: Mechanism, which: NDArray[np.bool_]) -> tuple[str, ...]:
    """Return the names of the joints for which `which`, shape (n,), is true."""
    return tuple(name for name, wanted in zip(m.names, which, strict=True) if wanted)


def joint_values(name: str, values: ArrayLike | None, m: Mechanism, samples: int) -> Array:
    """Return joint values as a finite array, shape (N, n); zeros for None."""
    return np.zeros((samples, m.n)) if values is None else batch(name, values, m, samples)
