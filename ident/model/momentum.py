r"""Generalised momentum of a tree and the part of its rate that is no joint
torque, batched over samples.

With the linear momentum l and the angular momentum k of the subtree about the joint
origin, the velocity v of this origin, the angular velocity w of the link and the joint
axis n, a revolute joint has

.. math:: p = n \cdot k, \qquad
          \frac{\partial T}{\partial q} = k \cdot (w \times n) + l \cdot (v \times n),

and a prismatic joint :math:`p = n \cdot l` and :math:`\partial T/\partial q = l \cdot (w \times
n)`. A turn of the joint moves its subtree as one body, which changes the kinetic energy as the
opposite turn of the parent's velocity would. In free motion :math:`\dot p = \tau + \partial
T/\partial q - g`, and :math:`\partial T/\partial q = C^T \dot q`.

References
----------
De Luca and Mattone, IEEE ICRA (2005) 999, Eqs. 9-12.
"""

import numpy as np
from numpy.typing import ArrayLike

from stribeck.ident.arrays import Array, cross
from stribeck.ident.errors import ModelError
from stribeck.ident.model.dynamics import kinematics, led, with_followers
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.model.recursion import blocks, refuse_closures


def momentum(mechanism: Mechanism, q: ArrayLike, dq: ArrayLike) -> tuple[Array, Array]:
    r"""Return the generalised momentum of links and rotors, and its rate without joint torques.

    Parameters
    ----------
    mechanism : Mechanism
        The tree, with its rotors.
    q, dq : array_like, shape (N, n)
        Joint positions and velocities.

    Returns
    -------
    p : ndarray, shape (N, n)
        M dq [kg·m²/s or kg·m/s].
    drift : ndarray, shape (N, n)
        :math:`C^T \dot q - g` [N·m or N].

    Raises
    ------
    InputError
        If a shape does not fit the mechanism or a value is not finite.
    ModelError
        If the mechanism is a closed chain.
    """
    if mechanism.chain is not None:
        raise ModelError(
            f"{mechanism.name} is a closed chain; momentum of its driven joints is known for "
            "trees only"
        )
    refuse_closures(mechanism)
    tree, q, rate, _ = with_followers(mechanism, q, dq)
    assert rate is not None
    p, drift = np.empty((2, tree.n, len(q)))
    for rows in blocks(len(q)):
        p[:, rows], drift[:, rows] = _of_tree(tree, q[rows], rate[rows])
    p, drift = led(mechanism, p).T, led(mechanism, drift).T
    return (p if mechanism.rotors is None else p + rate[:, : mechanism.n] @ mechanism.rotors), drift


def _of_tree(tree: Mechanism, q: Array, dq: Array) -> tuple[Array, Array]:
    """Return momentum and drift of the joints of a tree without rotors, shape (n, N) each."""
    pose = kinematics(tree, q, dq)
    n, w, v = (values.swapaxes(0, 1) for values in (pose.axis, pose.w, pose.v))
    # (n, N, ...)
    rotation, origin = pose.rotation.swapaxes(0, 1), pose.origin.swapaxes(0, 1)
    carried, slides, mass = (
        tree.carries.astype(float),
        tree.prismatic[:, None],
        tree.mass[:, None, None],
    )

    def summed(each: Array) -> Array:
        """Sum over the links that each joint carries."""
        return np.asarray((carried @ each.reshape(tree.n, -1)).reshape(each.shape))

    com = (rotation @ tree.com[:, None, :, None])[..., 0]
    # linear momentum of each link
    own = mass * (v + cross(w, com))
    spin = (rotation @ (tree.inertia[:, None] @ (rotation.swapaxes(2, 3) @ w[..., None])))[..., 0]
    centre = origin + com
    linear = summed(own)
    # about each joint's origin
    angular = summed(spin + cross(centre, own)) - cross(origin, linear)
    about = cross(w, n)
    p = np.where(slides, _dot(n, linear), _dot(n, angular))
    turned = _dot(linear, cross(v, n)) + _dot(angular, about)
    weight = summed(np.broadcast_to(mass * tree.gravity, own.shape))
    moment = summed(cross(centre, mass * tree.gravity)) - cross(origin, weight)
    pulled = np.where(slides, _dot(n, weight), _dot(n, moment))  # -g
    return p, np.where(slides, _dot(linear, about), turned) + pulled


def _dot(a: Array, b: Array) -> Array:
    return np.asarray(np.einsum("jnc,jnc->jn", a, b))
