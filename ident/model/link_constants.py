"""Constants of joints and links for `recursion`. Each link has its own axes, whose
third axis is the joint axis.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stribeck.ident.arrays import Array


@dataclass(frozen=True)
class LinkConstants:
    """Constants of a joint and its link.

    Attributes
    ----------
    turn : ndarray, shape (3, 3)
        The link's own axes at q = 0, written in the own axes of the parent link.
    shift : ndarray, shape (6, 6)
        Matrix that moves a wrench, already turned by the joint angle, to the origin and
        own axes of the parent link.
    place : int
        Number of this link among the children of its parent.
    mass : float
        Link mass [kg].
    h_cross : ndarray, shape (3, 3)
        ``[m c]x``, the matrix of the vector product with the first moment m c.
    K : ndarray, shape (children + 4, 3)
        Rows: origins of the child links, the first moment m c, and the second moments
        about the origin (3 rows).
    """

    turn: Array
    shift: Array
    place: int
    mass: float
    h_cross: Array
    K: Array


def link_constants(
    parent: Sequence[int], E: Array, origin: Array, mass: Array, com: Array, inertia: Array
) -> tuple[LinkConstants, ...]:
    """Return the constants of every link of a tree.

    Parameters
    ----------
    parent : sequence of int
        Parent link of each link; negative for the ground.
    E : ndarray, shape (n, 3, 3)
        Own axes of each link, see `own_axes`.
    origin, com : ndarray, shape (n, 3)
        Origin of each joint from the origin of its parent, and centre of mass of each link
        from the joint origin [m].
    mass : ndarray, shape (n,)
        Link masses [kg].
    inertia : ndarray, shape (n, 3, 3)
        Link inertias about the centres of mass [kg·m²].
    """
    n = len(parent)
    before = np.array([np.eye(3) if p < 0 else E[p] for p in parent]).swapaxes(1, 2)
    turn = before @ E
    shift = np.zeros((n, 6, 6))
    shift[:, :3, :3] = shift[:, 3:, 3:] = turn
    shift[:, 3:, :3] = _cross_matrix((before @ origin[..., None])[..., 0]) @ turn
    h = mass[:, None] * com
    second = (
        0.5 * np.trace(inertia, axis1=1, axis2=2)[:, None, None] * np.eye(3)
        - inertia
        + h[:, :, None] * com[:, None]
    )
    own, square = (h[:, None] @ E)[:, 0], E.swapaxes(1, 2) @ second @ E
    h_cross, children = (
        _cross_matrix(own),
        [[k for k in range(n) if parent[k] == j] for j in range(n)],
    )
    place = [sum(parent[k] == p for k in range(j)) for j, p in enumerate(parent)]
    return tuple(
        LinkConstants(
            turn[j],
            shift[j],
            place[j],
            float(mass[j]),
            h_cross[j],
            np.concatenate((origin[children[j]].reshape(-1, 3) @ E[j], own[j, None], square[j])),
        )
        for j in range(n)
    )


def own_axes(third: Array) -> Array:
    """Return axes for each link, in natural coordinates, shape (n, 3, 3); the third
    axis is parallel to `third`.
    """
    first = np.cross(third, np.eye(3)[np.argmin(np.abs(third), axis=1)])
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    return np.stack((first, np.cross(third, first), third), axis=2)


def _cross_matrix(v: Array) -> Array:
    """Return matrices of the vector products with vectors (n, 3), shape (n, 3, 3)."""
    out = np.zeros((len(v), 3, 3))
    out[:, 2, 1], out[:, 0, 2], out[:, 1, 0] = v.T
    return out - out.swapaxes(1, 2)
