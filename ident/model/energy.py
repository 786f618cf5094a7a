"""Mechanical energy of a mechanism: kinetic energy, potential energy of
gravity, and spring energy.
"""

import numpy as np
from numpy.typing import ArrayLike

from stribeck.ident.arrays import Array, cross
from stribeck.ident.model.dynamics import kinematics, rotor_torque, with_followers
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.model.recursion import batch


def mechanical_energy(mechanism: Mechanism, q: ArrayLike, dq: ArrayLike) -> Array:
    r"""Compute the mechanical energy of a tree or closed chain, shape (N,) [J].

    .. math:: E = \sum_j \tfrac12 (m_j \dot c_j^2 + \omega_j \cdot J_j \omega_j) - m_j\, g \cdot c_j + \tfrac12 K_j q_j^2
              + \tfrac12 \dot q \cdot A \dot q

    Potential energy is zero at the base origin, spring energy at zero deflection. A is the
    rotors' part of the mass matrix.

    Parameters
    ----------
    mechanism : Mechanism
    q, dq : array_like, shape (N, n)
        Positions and velocities of all joints.
    """
    q, dq = batch("q", q, mechanism), batch("dq", dq, mechanism)
    tree, all_q, all_dq, _ = with_followers(mechanism, q, dq)
    pose = kinematics(tree, all_q, all_dq)
    arm = np.asarray((pose.rotation @ tree.com[:, :, None])[..., 0])
    # angular velocity in link axes
    own = np.asarray((pose.rotation.swapaxes(2, 3) @ pose.w[..., None])[..., 0])
    moving = np.sum((pose.v + cross(pose.w, arm)) ** 2, axis=2) @ tree.mass + np.einsum(
        "nji,jik,njk->n", own, tree.inertia, own
    )
    weights = np.einsum("nji,j,i->n", pose.origin + arm, tree.mass, tree.gravity)
    springs = sum(
        (spring.stiffness * q[:, j] ** 2 for j, spring in mechanism.springs.items()),
        np.zeros(len(q)),
    )
    turning = np.sum(dq * rotor_torque(mechanism, dq), axis=1)
    return np.asarray(0.5 * (moving + springs + turning) - weights)
