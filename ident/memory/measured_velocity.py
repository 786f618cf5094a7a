"""Check of a recorded velocity against the derivative of the position: sign, unit, and
the lag of a slow filter.
"""

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError
from stribeck.ident.log.motion.low_pass import SETTLING, low_pass

_SLOW = 10.0  # Hz; frequencies that are compared
_ALIKE = 0.7, 1.4  # allowed velocity over derivative of the position
_SHOWN = 0.8  # least correlation from which a factor counts
_LATE = 1.5  # samples; a velocity that lags more is filtered


def filtered_velocity(t: Array, q: Array, dq: Array) -> bool:
    """Return whether a recorded velocity lags the derivative of the position, or is
    none: the position tells more.

    Parameters
    ----------
    t, q, dq : ndarray, shape (N,)
        Time, position and recorded velocity of one recording [s, rad or m, and per s].

    Raises
    ------
    InputError
        If the velocity is not the derivative of the position: another sign or unit, or
        zero while the joint moves.
    """
    dt = float(t[-1] - t[0]) / max(1, len(t) - 1)
    edge = int(np.ceil(SETTLING / _SLOW / dt))
    if len(t) < 4 * edge or not np.ptp(q) > 0.0:
        return False
    even = np.linspace(t[0], t[-1], len(t))
    smooth = low_pass(np.interp(even, t, q), _SLOW * dt)
    slope = np.gradient(smooth, dt)[edge:-edge]
    told = low_pass(np.interp(even, t, dq), _SLOW * dt)[edge:-edge]
    change = np.gradient(slope, dt)
    size = float(np.sqrt(np.mean(slope**2)))
    factor, late = np.linalg.lstsq(np.column_stack((slope, -change)), told, rcond=None)[0].tolist()
    left = float(np.sqrt(np.mean((told - factor * slope + late * change) ** 2)))
    if float(np.ptp(dq)) == 0.0 or (not _ALIKE[0] <= factor <= _ALIKE[1] and left < _SHOWN * size):
        raise InputError(
            f"velocity is {factor:.3g} times the derivative of the position; it must be "
            f"{_ALIKE[0]:g} to {_ALIKE[1]:g} times. Check its sign and unit, or leave it out: then "
            "the position is differentiated"
        )
    return late / factor > _LATE * dt
