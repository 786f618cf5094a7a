"""Types of arrays, and labels of groups of rows."""

import numpy as np
from numpy.typing import NDArray

Groups = NDArray[np.int_]

Array = NDArray[np.float64]


def group_index(group: NDArray[np.generic]) -> Groups:
    """Round-trip labels as 0, 1, 2, ... in order of first appearance."""
    if group.dtype.kind in "iuf" and (np.diff(group) >= 0).all():
        return np.asarray(np.cumsum(np.diff(group, prepend=group[:1]) > 0))
    _, first, inverse = np.unique(group, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[inverse])


def first_of_groups(values: Array, group: Groups) -> Array:
    """The first value of each group, shape (G,)."""
    return np.asarray(values[np.unique(group, return_index=True)[1]])


def cross(a: Array, b: Array) -> Array:
    """Cross products over last axes of three; of few vectors in a fifth of the time of ``np.cross``."""
    out = np.empty(np.broadcast_shapes(a.shape, b.shape))
    (ax, ay, az), (bx, by, bz) = ((one[..., 0], one[..., 1], one[..., 2]) for one in (a, b))
    out[..., 0], out[..., 1], out[..., 2] = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    return out
