r"""Dry friction of one step, for simulators that take torques only.

A step with friction :math:`f` gives the velocities :math:`v = \dot q + h M^{-1} (\tau - f)`.
Friction stops a joint if its limit allows; else it has its limit, against the motion:

.. math:: v_j = 0 \text{ and } |f_j| \le F_j, \quad\text{or}\quad f_j = F_j \operatorname{sgn} v_j

These conditions have one solution, the minimum of a quadratic function within a box.
"""

import numpy as np
from numpy.typing import ArrayLike

from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError

_TURNS = 20  # changes of the set of held joints, before sweeps over single joints
_SWEEPS = 1000
_SYMMETRIC = 1e-6  # of the greatest entry: difference between the triangles of a mass matrix
_SAME = 1e-12  # of the greatest limit: change in a sweep that ends the sweeps


def stopping_torque(
    mass: ArrayLike, dq: ArrayLike, torque: ArrayLike, limit: ArrayLike, dt: float
) -> Array:
    """Friction torque of every joint over one step, with which joints
    stick, break loose and reverse.

    Parameters
    ----------
    mass : array_like, shape (n, n)
        Mass matrix with rotors; with ``dt`` times the damping on its diagonal, where the simulator
        integrates damping implicitly.
    dq : array_like, shape (n,)
        Velocities before the step [rad/s or m/s].
    torque : array_like, shape (n,)
        All torques without dry friction: drives, gravity, Coriolis and centrifugal
        torques, damping [N·m or N].
    limit : array_like, shape (n,)
        Limits of dry friction, such as `FrictionLimits.frictionloss`; 0 for joints without
        friction, inf for locked joints [N·m or N].
    dt : float
        Step of the simulation [s].

    Returns
    -------
    ndarray, shape (n,)
        Torque to subtract from the torque of the drives [N·m or N].

    Raises
    ------
    InputError
        If shapes differ, the step or a limit is not positive, or the mass matrix is not
        symmetric and positive definite.

    Examples
    --------
    >>> from stribeck import stopping_torque
    >>> stopping_torque([[0.5]], [0.0], [0.9], [1.0], 0.001)        # held
    array([0.9])
    >>> stopping_torque([[0.5]], [0.0], [1.2], [1.0], 0.001)        # breaks loose
    array([1.])
    >>> stopping_torque([[0.5]], [-0.0005], [0.0], [1.0], 0.001)    # stops in this step
    array([-0.25])
    """
    mass, dq, torque, limit = (
        np.asarray(value, dtype=float) for value in (mass, dq, torque, limit)
    )
    shapes = {value.shape for value in (dq, torque, limit)}
    if len(shapes) > 1 or dq.ndim != 1 or mass.shape != 2 * dq.shape:
        raise InputError(
            f"mass, dq, torque and limit have shapes {mass.shape}, {dq.shape}, {torque.shape} and "
            f"{limit.shape}; (n, n) and three times (n,) are needed"
        )
    if not (dt > 0.0 and np.all(limit >= 0.0)):
        raise InputError(
            f"dt = {dt:g} s, least limit = {limit.min():g}; the step must be positive, and limits "
            "must not be negative"
        )
    _check_mass(mass)
    mobility = dt * np.linalg.inv(mass)  # velocity per torque
    own = np.diag(mobility)
    free = dq + mobility @ torque
    friction = np.zeros(len(dq))
    side = np.full(len(dq), 2.0)
    for _ in range(_TURNS):  # which joints slide, and where to
        # that would stop each joint alone
        needed = friction + (free - mobility @ friction) / own
        before, side = side, np.sign(needed) * (np.abs(needed) > limit)
        if np.array_equal(side, before):
            return friction
        held = side == 0.0
        friction = side * np.where(held, 0.0, limit)
        friction[held] = np.linalg.solve(
            mobility[np.ix_(held, held)], (free - mobility @ friction)[held]
        )
    friction = np.clip(friction, -limit, limit)
    for _ in range(_SWEEPS):  # the sets go round in a circle
        change = 0.0
        for j in range(len(friction)):
            new = np.clip(
                friction[j] + (free[j] - mobility[j] @ friction) / own[j], -limit[j], limit[j]
            )
            change, friction[j] = max(change, abs(new - friction[j])), new
        if change <= _SAME * limit.max():
            break
    return friction


def _check_mass(mass: Array) -> None:
    """Raise InputError if a matrix of shape (n, n) is no mass matrix."""
    if not (np.abs(mass - mass.T) <= _SYMMETRIC * np.abs(mass).max(initial=0.0)).all():
        raise InputError(
            "mass is not a mass matrix: it is not symmetric or not finite; of an upper triangle "
            "such as that of pinocchio.crba, pass np.triu(mass) + np.triu(mass, 1).T"
        )
    try:
        np.linalg.cholesky(mass)
    except np.linalg.LinAlgError:
        raise InputError(
            "mass is not a mass matrix: it is not positive definite; a mass matrix with the "
            "inertia of every joint is needed"
        ) from None
