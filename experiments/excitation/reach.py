"""How near a motion of a closed chain comes to singular postures: a cost with slopes, also of places out of its reach."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stribeck.ident.arrays import Array
from stribeck.ident.fit.arm.motion_information import Course
from stribeck.ident.model.mechanism import Chain

_MORE = 0.02            # of margin that the design keeps more than it must
_BACK = 0.9             # of the part of the way from q = 0 that is in reach, to which a place beyond it is drawn back
_LEAST = 1e-3           # part of that way, at least
_STEP = 1e-6            # rad or m, for slopes


@dataclass(frozen=True)
class Reach:
    """What is in reach of a closed chain.

    Attributes
    ----------
    chain : Chain
        The chain.
    home : ndarray, shape (n,)
        Where its margin is 1.
    least : float
        Margin to singular postures that is kept.
    """

    chain: Chain
    home: Array
    least: float

    @cached_property
    def _best(self) -> float:
        return float(self.chain.farthest(self.home[None])[1][0])

    def margins(self, q: Array) -> tuple[Array, Array]:
        """Margins to singular postures at places (N, n), and which part of the way there from q = 0 is in reach, (N,) each.

        Beyond the reach the margin falls on below zero by what is missing of the way.
        """
        part, condition = self.chain.farthest(q)
        part = np.maximum(part, _LEAST)
        return self._best / condition + 1.0 - 1.0 / part, part

    def drawn_back(self, course: Course) -> tuple[Course, NDArray[np.bool_]]:
        """The motion with places out of reach drawn back towards q = 0, and which were in reach, shape (N,)."""
        part = self.margins(course.q)[1]
        inside = part >= 1.0
        return replace(course, q=course.q * np.where(inside, 1.0, _BACK * part)[:, None]), inside

    def cost(self, q: Array) -> tuple[float, Array]:
        """Cost of coming nearer to singular postures than is allowed, and its slope (N, n)."""
        wanted, slope = self.least + _MORE, np.zeros_like(q)
        margin, part = self.margins(q)
        over = np.maximum(0.0, wanted - margin)
        out = part < 1.0
        slope[out] = 2.0 * (over / part / np.maximum(np.sum(q * q, axis=1), _STEP))[out, None] * q[out]
        rows = np.flatnonzero((over > 0.0) & ~out)
        for j in range(q.shape[1]) if len(rows) else ():
            moved = q[rows].copy()
            moved[:, j] += _STEP
            slope[rows, j] = (np.maximum(0.0, wanted - self.margins(moved)[0]) ** 2 - over[rows] ** 2) / _STEP
        return float(np.sum(over**2)), slope
