"""Correction of rounded joint axes of a closed chain: planar loops do not close if axes are
parallel to a few digits only.
"""

import numpy as np
from numpy.typing import NDArray

from stribeck.ident.arrays import Array, cross

# rad; axes within this angle of parallel (or of normal) are taken as parallel (or normal)
ROUNDED = 1e-4


def without_rounding(axis: Array, prismatic: NDArray[np.bool_]) -> Array:
    """Return axes in which nearly parallel axes equal their mean, and slides nearly normal to such
    revolute axes are normal.

    Parameters
    ----------
    axis : ndarray, shape (n, 3)
        Unit vectors.
    prismatic : ndarray of bool, shape (n,)
        True for prismatic joints.

    Returns
    -------
    ndarray, shape (n, 3)
        Corrected unit vectors.
    """
    out, left = axis.copy(), np.ones(len(axis), dtype=bool)
    for j in range(len(axis)):
        alike = left & (np.linalg.norm(cross(axis, axis[j]), axis=1) < ROUNDED)
        if not left[j] or alike.sum() < 2:
            continue
        left &= ~alike
        sense = np.sign(axis @ axis[j])[:, None]
        mean = (sense * axis)[alike].sum(axis=0)
        mean /= np.linalg.norm(mean)
        out[alike] = (sense * mean)[alike]
        if (alike & ~prismatic).sum() > 1:
            across = prismatic & (np.abs(axis @ mean) < ROUNDED)
            out[across] -= (out[across] @ mean)[:, None] * mean
    return np.asarray(out / np.linalg.norm(out, axis=1, keepdims=True))
