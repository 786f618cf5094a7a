"""Default home posture of an arm: zero, if zero is well within the limits and the drives
can hold the weight there.
"""

from collections.abc import Sequence

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.model.dynamics import inverse_dynamics
from stribeck.ident.model.mechanism import Mechanism

INSIDE = 0.05  # smallest distance of home to a limit, as a part of the range
_CARRIED = 0.6  # largest gravity torque at home, as a part of the torque limit
_POSTURES = 500  # random postures that are tried if gravity needs more


def ready_posture(
    mechanism: Mechanism, position: Array, torque: Array, moving: Sequence[int] | None = None
) -> Array:
    """Return a home posture: zero for joints with zero well within their limits, the middle of
    the range for other joints.

    If gravity needs too much torque there, the nearest of some random postures with less
    gravity torque is returned. For a closed chain the posture is zero, because other
    postures may be out of reach.

    Parameters
    ----------
    position : ndarray, shape (n, 2)
        Position limits [rad or m]; infinite for joints without limits.
    torque : ndarray, shape (n,)
        Torque limits [N·m or N]; nan if unknown.
    moving : sequence of int, optional
        Indices of joints with drives, default all; the other joints are at zero.

    Returns
    -------
    ndarray, shape (n,)
        Home posture, rounded to a thousandth [rad or m].
    """
    if mechanism.chain is not None:
        return np.zeros(mechanism.n)
    low, high = position.T
    span = np.where(np.isfinite(high - low), high - low, 0.0)
    inside = (low + INSIDE * span <= 0.0) & (high - INSIDE * span >= 0.0)
    bounded = np.isfinite(position).all(axis=1)
    middle = np.where(
        bounded, 0.5 * (np.where(bounded, low, 0.0) + np.where(bounded, high, 0.0)), 0.0
    )
    still = np.ones(mechanism.n, dtype=bool)
    still[list(range(mechanism.n) if moving is None else moving)] = False
    home = np.where(inside | still, 0.0, middle).round(3)
    torque = np.where(still, np.nan, torque)
    if _share(mechanism, home[None], torque)[0] <= _CARRIED:
        return home
    begin, end = (
        np.where(bounded, limit, edge)
        for limit, edge in ((low + INSIDE * span, -np.pi), (high - INSIDE * span, np.pi))
    )
    drawn = np.random.default_rng(0).uniform(begin, end, (_POSTURES, mechanism.n)).round(3)
    drawn[:, still] = 0.0
    share = _share(mechanism, drawn, torque)
    carried = share <= max(_CARRIED, float(share.min()))
    away = np.abs(drawn - home).sum(axis=1)
    return np.asarray(drawn[int(np.argmin(np.where(carried, away, np.inf)))])


def _share(mechanism: Mechanism, q: Array, torque: Array) -> Array:
    """Largest ratio of gravity torque to torque limit over the joints, for
    each posture, shape (K,).
    """
    return np.nan_to_num(np.abs(inverse_dynamics(mechanism, q, np.zeros_like(q))) / torque).max(
        axis=1
    )
