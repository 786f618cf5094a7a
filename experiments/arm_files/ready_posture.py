"""A home posture for an arm of which nobody stated one: zero, as far as joints have room there and can carry the arm."""

from collections.abc import Sequence

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.model.dynamics import inverse_dynamics
from stribeck.ident.model.mechanism import Mechanism

INSIDE = 0.05           # part of a joint's range by which zero is inside it, to be its home
_CARRIED = 0.6          # of the torque limit that the arm's weight may ask at home
_POSTURES = 500         # random ones that are looked at where it asks more


def ready_posture(mechanism: Mechanism, position: Array, torque: Array, moving: Sequence[int] | None = None) -> Array:
    """Zero where that is well inside a joint's limits, else their middle; and less far stretched where the weight is too much.

    Zero for a closed chain: other postures may be out of reach.

    Parameters
    ----------
    position : ndarray, shape (n, 2)
        Limits; joints may have none (infinite).
    torque : ndarray, shape (n,)
        Largest torques; nan where they are not known.
    moving : sequence of int, optional
        Joints that drives move, default all; the others stand at zero.

    Returns
    -------
    ndarray, shape (n,)
        Rounded to a thousandth [rad or m].
    """
    if mechanism.chain is not None:
        return np.zeros(mechanism.n)
    low, high = position.T
    span = np.where(np.isfinite(high - low), high - low, 0.0)
    inside = (low + INSIDE * span <= 0.0) & (high - INSIDE * span >= 0.0)
    bounded = np.isfinite(position).all(axis=1)
    middle = np.where(bounded, 0.5 * (np.where(bounded, low, 0.0) + np.where(bounded, high, 0.0)), 0.0)
    still = np.ones(mechanism.n, dtype=bool)
    still[list(range(mechanism.n) if moving is None else moving)] = False
    home = np.where(inside | still, 0.0, middle).round(3)
    torque = np.where(still, np.nan, torque)
    if _share(mechanism, home[None], torque)[0] <= _CARRIED:
        return home
    begin, end = (np.where(bounded, limit, edge)
                  for limit, edge in ((low + INSIDE * span, -np.pi), (high - INSIDE * span, np.pi)))
    drawn = np.random.default_rng(0).uniform(begin, end, (_POSTURES, mechanism.n)).round(3)
    drawn[:, still] = 0.0
    share = _share(mechanism, drawn, torque)
    carried = share <= max(_CARRIED, float(share.min()))
    away = np.abs(drawn - home).sum(axis=1)
    return np.asarray(drawn[int(np.argmin(np.where(carried, away, np.inf)))])


def _share(mechanism: Mechanism, q: Array, torque: Array) -> Array:
    """Weight as a part of the torque limits, of the joint of which it asks most, shape (K,)."""
    return np.nan_to_num(np.abs(inverse_dynamics(mechanism, q, np.zeros_like(q))) / torque).max(axis=1)
