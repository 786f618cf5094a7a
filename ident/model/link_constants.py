"""Constants of joints and their links, each in axes of its own, the third along its joint; `recursion` runs on them."""

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
        Own axes at q = 0, in axes of the link before.
    shift : ndarray, shape (6, 6)
        Takes a wrench, turned by the joint, to the origin and axes of the link before.
    place : int
        Which child of the link before it is.
    mass : float
    h_cross : ndarray, shape (3, 3)
        ``[m c]x``.
    K : ndarray, shape (children + 4, 3)
        Rows: origins of the links that this one carries, m c, second moments about the origin (3).
    """

    turn: Array
    shift: Array
    place: int
    mass: float
    h_cross: Array
    K: Array


def link_constants(parent: Sequence[int], E: Array, origin: Array, mass: Array, com: Array,
                   inertia: Array) -> tuple[LinkConstants, ...]:
    """Of every link of a tree.

    Parameters
    ----------
    parent : sequence of int
        Link that carries each link; negative for the ground.
    E : ndarray, shape (n, 3, 3)
        Own axes of each link, see `own_axes`.
    origin, com : ndarray, shape (n, 3)
        Origin of each joint from its parent's, and centre of mass of each link from its joint [m].
    mass : ndarray, shape (n,)
        [kg].
    inertia : ndarray, shape (n, 3, 3)
        About the centre of mass [kg·m²].
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
    """Axes of each link, the third along its joint, in natural coordinates, shape (n, 3, 3)."""
    first = np.cross(third, np.eye(3)[np.argmin(np.abs(third), axis=1)])
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    return np.stack((first, np.cross(third, first), third), axis=2)


def _cross_matrix(v: Array) -> Array:
    x, y, z = v
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
