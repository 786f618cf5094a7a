"""Constants of joints and links for `recursion`. Each link has its own axes, whose third axis is the joint axis."""

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
        Matrix that moves a wrench, already turned by the joint angle, to the origin and own axes of the parent link.
    place : int
        Number of this link among the children of its parent.
    mass : float
        Link mass [kg].
    h_cross : ndarray, shape (3, 3)
        ``[m c]x``, the matrix of the vector product with the first moment m c.
    K : ndarray, shape (children + 4, 3)
        Rows: origins of the child links, the first moment m c, and the second moments about the origin (3 rows).
    """

    turn: Array
    shift: Array
    place: int
    mass: float
    h_cross: Array
    K: Array


def link_constants(parent: Sequence[int], E: Array, origin: Array, mass: Array, com: Array,
                   inertia: Array) -> tuple[LinkConstants, ...]:
    """Return the constants of every link of a tree.

    Parameters
    ----------
    parent : sequence of int
        Parent link of each link; negative for the ground.
    E : ndarray, shape (n, 3, 3)
        Own axes of each link, see `own_axes`.
    origin, com : ndarray, shape (n, 3)
        Origin of each joint from the origin of its parent, and centre of mass of each link from the joint origin [m].
    mass : ndarray, shape (n,)
        Link masses [kg].
    inertia : ndarray, shape (n, 3, 3)
        Link inertias about the centres of mass [kg·m²].
    """
    links = []
    for j, p in enumerate(parent):
        before = np.eye(3) if p < 0 else E[p]
        turn, r = before.T @ E[j], before.T @ origin[j]
        shift = np.block([[turn, np.zeros((3, 3))], [_cross_matrix(r) @ turn, turn]])
        h = mass[j] * com[j]
        second = 0.5 * np.trace(inertia[j]) * np.eye(3) - inertia[j] + np.outer(h, com[j])
        carried = [origin[k] for k in range(len(parent)) if parent[k] == j]
        place = sum(parent[k] == p for k in range(j))
        links.append(LinkConstants(turn, shift, place, float(mass[j]), _cross_matrix(E[j].T @ h),
                           np.vstack([*(vector @ E[j] for vector in carried), h @ E[j], E[j].T @ second @ E[j]])))
    return tuple(links)


def own_axes(third: Array) -> Array:
    """Return axes for each link, in natural coordinates, shape (n, 3, 3); the third axis is parallel to `third`."""
    first = np.cross(third, np.eye(3)[np.argmin(np.abs(third), axis=1)])
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    return np.stack((first, np.cross(third, first), third), axis=2)


def _cross_matrix(v: Array) -> Array:
    x, y, z = v
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
