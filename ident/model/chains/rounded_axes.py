"""Axes of a closed chain whose file has rounded them: parallel to a few digits, so that planar loops would not close."""

import numpy as np
from numpy.typing import NDArray

from stribeck.ident.arrays import Array, cross

ROUNDED = 1e-4          # rad; axes that differ by less are meant to be parallel, or normal to each other


def without_rounding(axis: Array, prismatic: NDArray[np.bool_]) -> Array:
    """Axes that are meant to be parallel as parallel ones, their mean, and slides across several of these as normal to them.

    Parameters
    ----------
    axis : ndarray, shape (n, 3)
        Unit vectors.
    prismatic : ndarray of bool, shape (n,)
        Which of them slide.

    Returns
    -------
    ndarray, shape (n, 3)
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
