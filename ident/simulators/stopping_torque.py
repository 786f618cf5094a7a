r"""Dry friction of one step, for simulators that take torques only.

A step with friction :math:`f` gives the velocities :math:`v = \dot q + h M^{-1} (\tau - f)`. Friction stops a joint if its limit
allows; else it has its limit, against the motion:

.. math:: v_j = 0 \text{ and } |f_j| \le F_j, \quad\text{or}\quad f_j = F_j \operatorname{sgn} v_j

These conditions have one solution, the minimum of a quadratic function within a box.
"""

import numpy as np
from numpy.typing import ArrayLike

from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError

_TURNS = 20             # changes of the set of held joints, before sweeps over single joints
_SWEEPS = 1000
_SAME = 1e-12           # of the greatest limit: change in a sweep that ends the sweeps


def stopping_torque(mass: ArrayLike, dq: ArrayLike, torque: ArrayLike, limit: ArrayLike, dt: float) -> Array:
    """Friction torque of every joint over one step, with which joints stick, break loose and reverse.

    Parameters
    ----------
    mass : array_like, shape (n, n)
        Mass matrix with rotors; with ``dt`` times the damping on its diagonal, where the simulator integrates damping implicitly.
    dq : array_like, shape (n,)
        Velocities before the step [rad/s or m/s].
    torque : array_like, shape (n,)
        All torques without dry friction: drives, gravity, Coriolis and centrifugal torques, damping [N·m or N].
    limit : array_like, shape (n,)
        Limits of dry friction, such as `FrictionLimits.frictionloss`; 0 for joints without friction [N·m or N].
    dt : float
        Step of the simulation [s].

    Returns
    -------
    ndarray, shape (n,)
        Torque to subtract from the torque of the drives [N·m or N].

    Raises
    ------
    InputError
        If shapes differ, or the step, a limit or the mass matrix is not positive.

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
    mass, dq, torque, limit = (np.asarray(value, dtype=float) for value in (mass, dq, torque, limit))
    shapes = {value.shape for value in (dq, torque, limit)}
    if len(shapes) > 1 or mass.shape != 2 * dq.shape:
        raise InputError(f"mass, dq, torque and limit have shapes {mass.shape}, {dq.shape}, {torque.shape} and {limit.shape}; "
                         "(n, n) and three times (n,) are needed")
    if not (dt > 0.0 and np.all(limit >= 0.0)):
        raise InputError(f"dt = {dt:g} s, least limit = {limit.min():g}; the step must be positive, and limits must not be "
                         "negative")
    mobility = dt * np.linalg.inv(mass)         # velocity per torque
    own = np.diag(mobility)
    if not np.all(own > 0.0):
        raise InputError("mass is not a mass matrix: its inverse has a diagonal that is not positive; a mass matrix is needed")
    free = dq + mobility @ torque
    friction = np.zeros(len(dq))
    side = np.full(len(dq), 2.0)
    for _ in range(_TURNS):                     # which joints slide, and where to
        needed = friction + (free - mobility @ friction) / own      # that would stop each joint alone
        before, side = side, np.sign(needed) * (np.abs(needed) > limit)
        if np.array_equal(side, before):
            return friction
        friction = side * limit
        held = side == 0.0
        friction[held] = np.linalg.solve(mobility[np.ix_(held, held)], (free - mobility @ friction)[held])
    friction = np.clip(friction, -limit, limit)
    for _ in range(_SWEEPS):                    # the sets go round in a circle
        change = 0.0
        for j in range(len(friction)):
            new = np.clip(friction[j] + (free[j] - mobility[j] @ friction) / own[j], -limit[j], limit[j])
            change, friction[j] = max(change, abs(new - friction[j])), new
        if change <= _SAME * limit.max():
            break
    return friction
