r"""Blocks of the equation of motion of a tree, with the names of the paper (P0, Eqs. 16-22).

The moment and the force that joint u exerts on its subtree, about the joint origin and in base
axes, are linear in the accelerations of all joints,

.. math:: \tau_u = \sum_l M_R[u][l]\, n_l\, \ddot q_l + h_R[u], \qquad f_u = \sum_l M_P[u][l]\, n_l\, \ddot q_l + h_P[u]

Their components along the joint axes are M(q) ddq + h(q, dq), where h is the sum of gravity,
centrifugal and Coriolis forces.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from stribeck.ident.arrays import Array
from stribeck.ident.model.dynamics import bias_force, joint_wrenches
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.model.recursion import batch


@dataclass(frozen=True)
class CanonicalBlocks:
    """Blocks of the equation of motion.

    Attributes
    ----------
    M_R, M_P : ndarray, shape (N, n, n, 3)
        ``M_R[:, u, l]``: moment about the origin of joint u that joint u exerts on its subtree, per
        unit acceleration of joint l; ``M_P[:, u, l]``: the force. These are M_R[u][l] n_l and
        M_P[u][l] n_l of the paper.
    h_R, h_P : ndarray, shape (N, n, 3)
        Moment [N·m] and force [N] that joint u exerts on its subtree at zero joint accelerations.
    """

    M_R: Array
    M_P: Array
    h_R: Array
    h_P: Array


@dataclass(frozen=True)
class BiasForces:
    """Joint torques at zero joint accelerations, in three parts; each of shape (N, n) [N·m or N].

    Attributes
    ----------
    gravity : ndarray
        Torques at rest.
    centrifugal : ndarray
        Terms with the square of one joint velocity.
    coriolis : ndarray
        Terms with the product of two joint velocities.
    """

    gravity: Array
    centrifugal: Array
    coriolis: Array


def canonical_blocks(
    mechanism: Mechanism, q: ArrayLike, dq: ArrayLike | None = None
) -> CanonicalBlocks:
    """Compute the blocks of a tree for a batch of states; parameters and
    errors as in `joint_wrenches`.

    References
    ----------
    Guo, Ju and Wang, Aerospace 11 (2024) 368, Eqs. 16-22.
    """
    q, n = batch("q", q, mechanism), mechanism.n
    unit = joint_wrenches(
        mechanism.weightless, np.repeat(q, n, axis=0), None, np.tile(np.eye(n), (len(q), 1))
    )
    bias = joint_wrenches(mechanism, q, dq)
    M_R, M_P = (part.reshape(len(q), n, n, 3).swapaxes(1, 2) for part in (unit.moment, unit.force))
    return CanonicalBlocks(M_R, M_P, bias.moment, bias.force)


def bias_forces(mechanism: Mechanism, q: ArrayLike, dq: ArrayLike) -> BiasForces:
    """Compute the gravity, centrifugal and Coriolis parts of `bias_force`; parameters and
    errors as in `joint_loads`.
    """
    q, dq = batch("q", q, mechanism), batch("dq", dq, mechanism)
    gravity, moving = bias_force(mechanism, q), bias_force(mechanism.weightless, q, dq)
    alone = bias_force(
        mechanism.weightless,
        np.repeat(q, mechanism.n, axis=0),
        (dq[:, :, None] * np.eye(mechanism.n)).reshape(-1, mechanism.n),
    )
    centrifugal = alone.reshape(len(q), mechanism.n, mechanism.n).sum(axis=1)
    return BiasForces(gravity, centrifugal, moving - centrifugal)
