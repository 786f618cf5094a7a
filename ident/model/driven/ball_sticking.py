r"""Conditions for spherical and universal joints of the tree to stop, stick and break
loose: Coulomb's law in space.

A joint at rest holds any moment up to its sliding friction, :math:`|M| \le K |R|`. The friction
moment of a turning joint opposes the relative angular velocity (P4, Eqs. 3-5).
"""

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.model.driven.motion_equations import CREEP, Forces
from stribeck.ident.model.dynamics import kinematics
from stribeck.ident.model.mechanism import Mechanism

# values of `way` (0: sticks); a ball with undetermined static friction creeps
TURNS, CREEPS = 1.0, 2.0
# rad/s at which a decelerating joint has stopped: friction is still 0.9994 of its level
_STOPPED = 30.0 * CREEP


def beyond(m: Mechanism, balls: tuple[int, ...], forces: Forces) -> Array:
    """Compute by how much the moment on each ball at rest exceeds its greatest static
    friction, shape (N, b) [N·m].

    Parameters
    ----------
    m : Mechanism
    balls : tuple of int
        Indices into the mechanism's `balls`.
    forces : Forces
        Forces in N states.
    """
    axes = kinematics(m, forces.q).axis
    return np.stack(
        [
            np.linalg.norm(_moment(axes[:, list(joints)], forces.lacking[:, list(joints)]), axis=1)
            - arm * np.linalg.norm(forces.loads.force[:, joints[-1]], axis=1)
            for joints, arm in _of(m, balls)
        ],
        axis=1,
    )


def left_of_speed(m: Mechanism, balls: tuple[int, ...], forces: Forces) -> Array:
    """Return a value that is negative for balls that decelerate and have stopped, shape (N, b);
    parameters as in `beyond`.
    """
    axes, found = kinematics(m, forces.q).axis, []
    for joints, _ in _of(m, balls):
        w, gain = (
            np.einsum("njk,nj->nk", axes[:, list(joints)], rate[:, list(joints)])
            for rate in (forces.dq, forces.ddq)
        )
        speed = np.linalg.norm(w, axis=1)
        along = np.where(
            speed > 0.0,
            np.sum(w * gain, axis=1) / np.maximum(speed, 1e-300),
            np.linalg.norm(gain, axis=1),
        )
        found.append(np.maximum(speed - _STOPPED, along))
    return np.stack(found, axis=1)


def _of(m: Mechanism, balls: tuple[int, ...]) -> list[tuple[tuple[int, ...], float]]:
    return [(m.balls[k].joints, m.balls[k].friction_arm) for k in balls]


def _moment(axes: Array, torque: Array) -> Array:
    """Return the moment, (N, 3), with given torques, (N, k), about the
    axes of a joint, (N, k, 3).
    """
    return np.asarray((np.linalg.pinv(axes) @ torque[..., None])[..., 0])
