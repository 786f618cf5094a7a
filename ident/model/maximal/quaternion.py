"""Unit quaternions Lambda = (l0, l1, l2, l3), scalar first, from link axes to base axes (P1)."""

import numpy as np

from stribeck.ident.arrays import Array


def rotation(quaternion: Array) -> Array:
    """Return the rotation matrix E R^T from link axes to base axes, shape (..., 3, 3)."""
    return np.asarray(base_rates(quaternion) @ link_rates(quaternion).swapaxes(-1, -2))


def link_rates(quaternion: Array) -> Array:
    """Return R of omega = 2 R Lambda' in link axes, shape (..., 3, 4)."""
    a, b, c, d = np.moveaxis(quaternion, -1, 0)
    return np.stack(
        [np.stack(row, axis=-1) for row in ((-b, a, d, -c), (-c, -d, a, b), (-d, c, -b, a))],
        axis=-2,
    )


def base_rates(quaternion: Array) -> Array:
    """Return E of omega = 2 E Lambda' in base axes, shape (..., 3, 4)."""
    a, b, c, d = np.moveaxis(quaternion, -1, 0)
    return np.stack(
        [np.stack(row, axis=-1) for row in ((-b, a, -d, c), (-c, d, a, -b), (-d, -c, b, a))],
        axis=-2,
    )


def product(first: Array, second: Array) -> Array:
    """Return the quaternion product, shape (N, 4): the rotation `second`, given in the axes
    of `first`, then `first`.
    """
    scalar = first[:, :1] * second[:, :1] - np.sum(
        first[:, 1:] * second[:, 1:], axis=1, keepdims=True
    )
    vector = (
        first[:, :1] * second[:, 1:]
        + second[:, :1] * first[:, 1:]
        + np.cross(first[:, 1:], second[:, 1:])
    )
    return np.concatenate((scalar, vector), axis=1)


def turned(quaternion: Array, vector: Array) -> Array:
    """Convert a vector, (3,) or (N, 3), from link axes to base axes, (N, 3): v + 2
    l0 (l x v) + 2 l x (l x v).
    """
    twice = 2.0 * np.cross(quaternion[:, 1:], vector)
    return np.asarray(vector + quaternion[:, :1] * twice + np.cross(quaternion[:, 1:], twice))
