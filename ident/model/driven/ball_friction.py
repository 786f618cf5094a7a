r"""Friction of spherical and universal joints of the tree, and of spherical
cut joints (P4, Eqs. 3-5).
"""

from collections.abc import Collection

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.model.dynamics import Kinematics
from stribeck.ident.model.mechanism import Mechanism


def ball_moment(friction_arm: float, force: Array, w: Array, creep: float = 0.0) -> Array:
    r"""Compute the friction moment of a spherical joint (P4, Eqs. 3-5).

    .. math:: M_f = -K |R| \, \omega / \sqrt{|\omega|^2 + \omega_c^2}

    Parameters
    ----------
    friction_arm : float
        K, friction coefficient times radius of the ball [m].
    force : ndarray, shape (N, 3)
        Resultant reaction R [N].
    w : ndarray, shape (N, 3)
        Angular velocity of one part relative to the other part [rad/s].
    creep : float
        omega_c, speed below which the moment decreases with the speed [rad/s]; 0 gives the paper's
        law, with no moment at rest.

    Returns
    -------
    ndarray, shape (N, 3)
        Friction moment on the part with relative angular velocity w; zero at rest [N·m].
    """
    speed = np.sqrt(np.sum(w * w, axis=1, keepdims=True) + creep**2)
    direction = np.divide(w, speed, out=np.zeros_like(w), where=speed > 0.0)
    return np.asarray(-friction_arm * np.linalg.norm(force, axis=1, keepdims=True) * direction)


def tree_balls(
    m: Mechanism, pose: Kinematics, force: Array, creep: float = 0.0, held: Collection[int] = ()
) -> Array:
    """Compute friction of the tree's spherical and universal joints about each of their revolute
    axes, shape (N, n) [N·m].

    Parameters
    ----------
    m : Mechanism
        Mechanism with `balls`.
    pose : Kinematics
        Pose and velocities of the links.
    force : ndarray, shape (N, n, 3)
        Force that each joint transmits [N].
    creep : float
        As in `ball_moment`.
    held : collection of int
        Joints that stick. The result is zero for them: it does not include their static friction.
    """
    friction = np.zeros(pose.origin.shape[:2])
    for ball in m.balls:
        if ball.friction_arm and ball.joints[0] not in held:
            before = m.parent[ball.joints[0]]
            w = pose.w[:, ball.joints[-1]] - (pose.w[:, before] if before >= 0 else 0.0)
            moment = ball_moment(ball.friction_arm, force[:, ball.joints[-1]], w, creep)
            for j in ball.joints:
                friction[:, j] = -np.einsum("ni,ni->n", pose.axis[:, j], moment)
    return friction


def cut_balls(
    m: Mechanism, pose: Kinematics, force: Array, creep: float = 0.0
) -> tuple[Array, Array]:
    """Compute friction of spherical cut joints: wrenches on the links, (N, n, 6), and
    dissipated power, (N,) [W].

    `force` is the force at the closures, shape (N, closures, 3) [N]; other
    parameters as in `tree_balls`.
    """
    out, power = np.zeros((*pose.origin.shape[:2], 6)), np.zeros(len(pose.origin))
    for k, closure in enumerate(m.closures):
        if closure.friction_arm:
            a, b = (
                (pose.w[:, link] if link >= 0 else np.zeros_like(pose.w[:, 0]))
                for link in closure.links
            )
            moment = ball_moment(closure.friction_arm, force[:, k], a - b, creep)
            power -= np.einsum("ni,ni->n", moment, a - b)
            for link, sign in zip(closure.links, (1.0, -1.0), strict=True):
                if link >= 0:
                    out[:, link, 3:] += sign * moment
    return out, power


def balls_rub(m: Mechanism) -> bool:
    """Tell whether a spherical or universal joint, or a spherical closure, has friction."""
    return any(ball.friction_arm for ball in m.balls) or any(
        closure.friction_arm for closure in m.closures
    )
