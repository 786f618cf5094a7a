"""Whether a joint swings about its set-points: the mark of a velocity loop that is unstable, in simulation and on hardware."""

from collections import deque

import numpy as np

from stribeck.drivers.arm import Array

_TIME = 0.5             # s that are looked back on
_CHANGES = 6            # of sign of the velocity error in that time, from which a joint swings
_SIZE = 0.05            # part of the velocity limit that an error must have to count: not noise, nor stick-slip at low speed
_LASTING = 0.7          # a swing does not die away: rms of its last third over that of its first


class Swings:
    """Velocity errors of the last half second.

    Parameters
    ----------
    rate : float
        Samples a second.
    velocity : ndarray, shape (n,)
        Velocity limits [rad/s or m/s].
    """

    def __init__(self, rate: float, velocity: Array) -> None:
        self._rate, self._least = rate, _SIZE * velocity
        self._errors: deque[Array] = deque(maxlen=max(4 * _CHANGES, round(_TIME * rate)))

    def add(self, error: Array) -> None:
        """Take what the joints' velocities exceed their set-points by, shape (n,)."""
        self._errors.append(error)

    def clear(self) -> None:
        """Begin anew."""
        self._errors.clear()

    def frequency(self) -> Array:
        """How often a second each joint swings, shape (n,); 0 where it does not."""
        errors = np.nan_to_num(np.array(self._errors))
        found = np.zeros(len(self._least))
        for j, least in enumerate(self._least):
            rows = np.flatnonzero(np.abs(errors[:, j]) > least) if len(errors) else np.empty(0, dtype=int)
            turns = rows[1:][np.diff(np.sign(errors[rows, j])) != 0.0]
            part = len(errors) // 3
            if len(turns) >= _CHANGES and np.linalg.norm(errors[-part:, j]) >= _LASTING * np.linalg.norm(errors[:part, j]):
                found[j] = 0.5 * self._rate * (len(turns) - 1) / (turns[-1] - turns[0])
        return found
