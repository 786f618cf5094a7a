"""Closeness of a closed chain's motion to singular postures: a cost with gradient, defined for
unreachable postures, too.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stribeck.ident.arrays import Array
from stribeck.ident.fit.arm.motion_information import Course
from stribeck.ident.model.mechanism import Chain

_MORE = 0.02  # additional margin of the design
# of the reachable part of the way from q = 0: unreachable postures are drawn back to it
_BACK = 0.9
_LEAST = 1e-3  # least reachable part of the way
# times the position limits; the way to a farther posture is followed only up to there
_FAR = 10.0
_STEP = 1e-6  # rad or m; step of finite differences


@dataclass(frozen=True)
class Reach:
    """Reachable postures of a closed chain, and their margin to singular postures.

    Attributes
    ----------
    chain : Chain
        The closed chain.
    home : ndarray, shape (n,)
        Home posture, which has margin 1.
    least : float
        Least allowed margin to singular postures.
    limits : ndarray, shape (n,)
        Largest distance of the position limits from q = 0 [rad or m].
    """

    chain: Chain
    home: Array
    least: float
    limits: Array

    @cached_property
    def _best(self) -> float:
        return float(self.chain.farthest(self.home[None])[1][0])

    def margins(self, q: Array) -> tuple[Array, Array]:
        """Return margins to singular postures at postures (N, n), and the reachable part of the
        way from q = 0, (N,) each.

        For unreachable postures, the margin decreases further, below zero, with
        the missing part of the way.
        """
        near = 1.0 / np.maximum(1.0, np.max(np.abs(q) / self.limits, axis=1) / _FAR)
        part, condition = self.chain.farthest(q * near[:, None])
        part = np.maximum(part * near, _LEAST)
        return self._best / condition + 1.0 - 1.0 / part, part

    def drawn_back(self, course: Course) -> tuple[Course, NDArray[np.bool_]]:
        """Return the motion with unreachable postures drawn back towards q = 0, and a mask of
        reachable postures, shape (N,).

        A chain that continues from the previous postures may lose a posture when its
        neighbours are drawn back, so the result is tested again until all of its postures are
        reached; q = 0 always is.
        """
        q, inside = course.q, np.ones(len(course.q), dtype=bool)
        while (out := (part := self.margins(q)[1]) < 1.0).any():
            q, inside = q * np.where(out, _BACK * part, 1.0)[:, None], inside & ~out
        return replace(course, q=q), inside

    def cost(self, q: Array) -> tuple[float, Array]:
        """Return the cost of margins to singular postures below the allowed
        margin, and its gradient (N, n).
        """
        wanted, slope = self.least + _MORE, np.zeros_like(q)
        margin, part = self.margins(q)
        over = np.maximum(0.0, wanted - margin)
        out = part < 1.0
        slope[out] = (
            2.0 * (over / part / np.maximum(np.sum(q * q, axis=1), _STEP))[out, None] * q[out]
        )
        rows = np.flatnonzero((over > 0.0) & ~out)
        for j in range(q.shape[1]) if len(rows) else ():
            moved = q[rows].copy()
            moved[:, j] += _STEP
            moved_over = np.maximum(0.0, wanted - self.margins(moved)[0])
            slope[rows, j] = (moved_over**2 - over[rows] ** 2) / _STEP
        return float(np.sum(over**2)), slope
