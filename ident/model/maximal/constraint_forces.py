r"""Dynamics in maximal coordinates: every body has a position and a quaternion, and joint
forces are multipliers (P1).

This module checks the recursion in `ident/model/dynamics.py` independently: it uses none of the
recursion's kinematics or dynamics. The paper's Eqs. 65-66 mix body moments with quaternion
rows; the consistent form is

.. math:: \begin{bmatrix} M & \Phi_q^T \\ \Phi_q & 0 \end{bmatrix}
          \begin{bmatrix} \ddot q \\ \lambda \end{bmatrix} = \begin{bmatrix} Q \\ \zeta \end{bmatrix}, \quad
          M_i = \operatorname{diag}(m 1, 4 R^T J R), \quad
          Q_i = \begin{bmatrix} m g \\ -2 R^T (\omega \times J \omega) \end{bmatrix}, \quad
          \zeta = -(\Phi_q \dot q)_q \dot q

with :math:`\omega = 2 R(\Lambda) \dot\Lambda` in link axes. Use this module for hundreds of
samples, not for hundreds of thousands: the dense system of one sample has 13 n rows.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError, ModelError, unknown_name
from stribeck.ident.model.maximal.bodies import (
    Bodies,
    ConstraintSet,
    JointRows,
    accelerated,
    chosen,
    constrained,
    constraint_jacobian,
    joint_values,
    solved,
)
from stribeck.ident.model.maximal.quaternion import link_rates
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.model.recursion import single

# mass or principal inertia, as a fraction of the largest, that counts as zero
_NOTHING = 1e-12
# singular value of the constraint Jacobian, as a fraction of the largest, that counts as zero
_DEPENDENT = 1e-9


@dataclass(frozen=True)
class MaximalDynamics:
    """Solution of the constrained system.

    Attributes
    ----------
    bodies : Bodies
        Motion of the bodies.
    ddq : ndarray, shape (N, n)
        Joint accelerations [rad/s² or m/s²].
    tau : ndarray, shape (N, n)
        Torque or force of the drives [N·m or N].
    multipliers : ndarray, shape (N, n, 6)
        lambda_i1 .. lambda_i6 of each joint. Revolute: joint force in base axes [N], two couples
        across the axis [N·m], norm of the quaternion. Prismatic: two forces across the axis [N],
        three couples [N·m], norm.
    force, moment : ndarray, shape (N, n, 3)
        Force of the joint on its body, and moment about the joint origin, from constraint and drive
        together. The joint origin moves with the body; base axes [N, N·m].
    """

    bodies: Bodies
    ddq: Array
    tau: Array
    multipliers: Array
    force: Array
    moment: Array


@dataclass(frozen=True)
class ConstraintRank:
    """Number of independent constraints of a set in one posture.

    Attributes
    ----------
    rank, rows : int
        Number of independent rows and of all rows.
    joints : tuple of str
        Joints whose constraints are linearly dependent or zero: the left null
        space lies on their rows.
    singular_values : ndarray, shape (rows,)
        Singular values of the constraint Jacobian, largest first.
    """

    rank: int
    rows: int
    joints: tuple[str, ...]
    singular_values: Array

    def __str__(self) -> str:
        if self.rank == self.rows:
            return f"rank {self.rank} of {self.rows}"
        return (
            f"rank {self.rank} of {self.rows}: constraints of joints {', '.join(self.joints)} are "
            "dependent, their multipliers are not unique"
        )


def maximal_dynamics(
    mechanism: Mechanism,
    q: ArrayLike,
    dq: ArrayLike | None = None,
    *,
    ddq: ArrayLike | None = None,
    tau: ArrayLike | None = None,
) -> MaximalDynamics:
    """Compute accelerations and multipliers for prescribed joint accelerations
    or for given drive torques.

    Springs and friction of the mechanism are not applied.

    Parameters
    ----------
    mechanism : Mechanism
        The tree; every link needs mass and inertia.
    q, dq : array_like, shape (N, n)
        Joint positions and velocities [rad or m, per s]; velocities default to zero.
    ddq : array_like, shape (N, n), optional
        Prescribed joint accelerations, as further constraints; the multipliers of these
        constraints are the drive torques.
    tau : array_like, shape (N, n), optional
        Drive torques or forces [N·m or N]. Exactly one of `ddq` and `tau` is needed.

    Returns
    -------
    MaximalDynamics

    Raises
    ------
    InputError
        If a shape does not fit, a value is not finite, or not exactly one of
        `ddq` and `tau` is given.
    ModelError
        If a link has no mass or no inertia, which makes M singular, or the mechanism
        has closures or followers.

    References
    ----------
    Cheng et al., Machines 10 (2022) 499, Eqs. 1, 65, 66, in the consistent form above.
    """
    if (ddq is None) == (tau is None):
        raise InputError(
            "exactly one of ddq (prescribed accelerations) and tau (drive torques) is needed"
        )
    _refuse_massless(mechanism)
    bodies, rows = constrained(mechanism, q, dq)
    samples, n = len(bodies.position), mechanism.n
    wanted, drive = (
        joint_values("ddq", ddq, mechanism, samples),
        joint_values("tau", tau, mechanism, samples),
    )
    M, Q = _mass_and_force(mechanism, bodies)
    Q = Q + np.einsum("ijk,ij->ik", rows.jacobian[:, 6 * n :], drive)
    bound = 6 * n if ddq is None else 7 * n  # rows that are constraints
    Phi, zeta = rows.jacobian[:, :bound], rows.right(wanted)[:, :bound]
    kkt = np.block([[M, Phi.swapaxes(1, 2)], [Phi, np.zeros((samples, bound, bound))]])
    solution = solved(kkt, np.concatenate((Q, zeta), axis=1))
    second, multipliers = solution[:, : 7 * n], solution[:, 7 * n : 13 * n].reshape(samples, n, 6)
    if ddq is not None:
        drive = -solution[:, 13 * n :]
    force, moment = _joint_wrenches(mechanism, bodies, rows, multipliers, drive)
    return MaximalDynamics(
        accelerated(bodies, second),
        rows.joint_accelerations(second),
        drive,
        multipliers,
        force,
        moment,
    )


def constraint_rank(
    mechanism: Mechanism, q: ArrayLike, constraints: ConstraintSet = "dot"
) -> ConstraintRank:
    """Compute the rank of the constraint Jacobian in one posture, and the joints
    that cause a rank deficiency.

    Parameters
    ----------
    mechanism : Mechanism
        The tree.
    q : array_like, shape (n,)
        Posture [rad or m].
    constraints : {"dot", "projected"}
        "dot": two products t_k(parent).p(body) = 0 keep the axis p of a hinge. "projected": the
        paper's set, the difference of p(parent) and p(body) projected on x and y of the base. A
        horizontal axis reduces the rank of this set.

    Returns
    -------
    ConstraintRank

    Raises
    ------
    InputError
        If the posture does not fit, or `constraints` is unknown.
    ModelError
        If a mechanism with prismatic joints is given with "projected", which the paper defines for
        hinges only, or if the mechanism has closures or followers.

    References
    ----------
    Cheng et al., Machines 10 (2022) 499, Eq. 25.
    """
    if constraints not in ("dot", "projected"):
        raise unknown_name("constraint set", constraints, ("dot", "projected"))
    if constraints == "projected" and mechanism.prismatic.any():
        sliding = ", ".join(chosen(mechanism, mechanism.prismatic))
        raise ModelError(
            f"{mechanism.name}: projected constraints are defined for hinges only, but {sliding} "
            "slides"
        )
    left, singular, _ = np.linalg.svd(
        constraint_jacobian(mechanism, single("q", q, mechanism), constraints)[0]
    )
    rank = int(np.sum(singular > _DEPENDENT * singular[0]))
    share = np.sum(left[:, rank:] ** 2, axis=1).reshape(mechanism.n, 6).max(axis=1)
    return ConstraintRank(rank, len(singular), chosen(mechanism, share > _DEPENDENT), singular)


def _mass_and_force(m: Mechanism, bodies: Bodies) -> tuple[Array, Array]:
    """Return M, shape (N, 7 n, 7 n), and Q without the drives, shape (N, 7 n)."""
    samples = len(bodies.position)
    M, Q = np.zeros((samples, 7 * m.n, 7 * m.n)), np.empty((samples, m.n, 7))
    # link axes
    w = np.einsum("ijba,ijb->ija", bodies.rotation, bodies.angular_velocity)
    for i in range(m.n):
        R, x, turn = (
            link_rates(bodies.quaternion[:, i]),
            slice(7 * i, 7 * i + 3),
            slice(7 * i + 3, 7 * i + 7),
        )
        M[:, x, x] = m.mass[i] * np.eye(3)
        M[:, turn, turn] = 4.0 * R.swapaxes(1, 2) @ m.inertia[i] @ R
        Q[:, i, :3] = m.mass[i] * m.gravity
        Q[:, i, 3:] = -2.0 * np.einsum("iab,ia->ib", R, np.cross(w[:, i], w[:, i] @ m.inertia[i]))
    return M, Q.reshape(samples, 7 * m.n)


def _joint_wrenches(
    m: Mechanism, bodies: Bodies, rows: JointRows, multipliers: Array, drive: Array
) -> tuple[Array, Array]:
    """Return the force of each joint on its own body, and the moment about the joint
    origin, shape (N, n, 3) each.
    """
    own = np.stack([rows.gradient[:, j, :, j] for j in range(m.n)], axis=1)
    wrench = np.einsum(
        "ijk,ijkc->ijc", np.concatenate((-multipliers[:, :, :5], drive[:, :, None]), axis=2), own
    )
    force = wrench[:, :, :3]
    return force, wrench[:, :, 3:] + np.cross(
        np.einsum("ijab,jb->ija", bodies.rotation, m.com), force
    )


def _refuse_massless(m: Mechanism) -> None:
    spectrum = np.linalg.eigvalsh(m.inertia)
    for what, missing in (
        ("mass", m.mass <= _NOTHING * m.mass.max()),
        ("inertia about some axis", spectrum[:, 0] <= _NOTHING * spectrum[:, 2]),
    ):
        if missing.any():
            raise ModelError(
                f"{m.name}: link {', '.join(chosen(m, missing))} has no {what}, which makes the "
                "mass matrix M of "
                "the maximal coordinates singular; give every link a mass and an inertia"
            )
