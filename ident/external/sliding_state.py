"""Whether a joint slides: it has moved in one direction for long enough, and far enough, that its
friction is that of sliding.
"""

import numpy as np
from numpy.typing import NDArray

from stribeck.ident.arrays import Array

_NOW = 1e-12  # s; a sample that turns back does not slide


class SlidingState:
    """State of one joint since its last rest or reversal.

    Parameters
    ----------
    slowest : float
        Speed below which the joint rests [rad/s or m/s].
    settling : float
        Time after which it slides [s].
    distance : float
        Distance after which it slides [rad or m].
    """

    def __init__(self, slowest: float, settling: float, distance: float) -> None:
        self._slowest, self._settling, self._distance = slowest, max(settling, _NOW), distance
        self._direction = self._since = self._turned = 0.0

    def take(self, dt: Array, q: Array, dq: Array) -> NDArray[np.bool_]:
        """Take the next samples and return at which of them the joint slides, shape (N,)."""
        direction = np.where(np.abs(dq) >= self._slowest, np.sign(dq), 0.0)
        turns = (direction == 0.0) | (
            direction != np.concatenate(([self._direction], direction[:-1]))
        )
        last, time = np.maximum.accumulate(np.where(turns, np.arange(len(q)), -1)), np.cumsum(dt)
        since = np.where(last < 0, self._since + time, time - time[last])
        turned = np.where(last < 0, self._turned, q[last])
        self._direction, self._since, self._turned = (
            float(direction[-1]),
            float(since[-1]),
            float(turned[-1]),
        )
        return np.asarray(
            (direction != 0.0) & (since >= self._settling) & (np.abs(q - turned) >= self._distance)
        )
