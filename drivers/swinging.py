"""Detects joints that swing about their set-points, the sign of an unstable velocity loop, in
simulation and on hardware.
"""

from collections import deque

import numpy as np

from stribeck.drivers.arm import Array

_TIME = 0.5  # s, length of the window
_CHANGES = 6  # sign changes of the velocity error in the window from which a joint swings
# part of the velocity limit from which an error counts: above noise and stick-slip at low speed
_SIZE = 0.05
# least ratio of the rms in the last third of the window to the rms in the
# first: a swing does not decay
_LASTING = 0.7


class Swings:
    """Velocity errors of the last half second.

    Parameters
    ----------
    rate : float
        Samples per second [Hz].
    velocity : ndarray, shape (n,)
        Velocity limits [rad/s or m/s].
    """

    def __init__(self, rate: float, velocity: Array) -> None:
        self._rate, self._least = rate, _SIZE * velocity
        self._errors: deque[Array] = deque(maxlen=max(4 * _CHANGES, round(_TIME * rate)))

    def add(self, error: Array) -> None:
        """Take the velocity errors (velocity minus set-point) of one cycle, shape (n,)."""
        self._errors.append(error)

    def clear(self) -> None:
        """Forget all velocity errors."""
        self._errors.clear()

    def frequency(self) -> Array:
        """Return the frequency at which each joint swings [Hz], shape (n,); 0 for
        joints that do not swing.
        """
        errors = np.nan_to_num(np.array(self._errors))
        found = np.zeros(len(self._least))
        for j, least in enumerate(self._least):
            rows = (
                np.flatnonzero(np.abs(errors[:, j]) > least)
                if len(errors)
                else np.empty(0, dtype=int)
            )
            turns = rows[1:][np.diff(np.sign(errors[rows, j])) != 0.0]
            part = len(errors) // 3
            if len(turns) >= _CHANGES and np.linalg.norm(
                errors[-part:, j]
            ) >= _LASTING * np.linalg.norm(errors[:part, j]):
                found[j] = 0.5 * self._rate * (len(turns) - 1) / (turns[-1] - turns[0])
        return found
