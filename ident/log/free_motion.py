"""What motion without contact shows of a joint beside friction: noise of the signals, and
torque that is not explained.
"""

from dataclasses import dataclass

import numpy as np

from stribeck.ident.arrays import Array


@dataclass(frozen=True)
class FreeMotion:
    """Noise of one joint's signals, and its torque in free motion that
    neither model nor law explains.

    Attributes
    ----------
    period : float
        Sampling period [s].
    torque_noise : float
        Standard deviation of the white noise of the torque signal [N·m or N].
    velocity_noise : float
        Standard deviation of the white noise of the velocity signal [rad/s or m/s].
    rotors : tuple of float
        Row of the inertia that rotors add to the links, a column for each joint
        of the arm [kg·m² or kg].
    unexplained : ndarray, shape (m, 2)
        Speeds [rad/s or m/s], and a bound of the unexplained torque near each of them, behind the
        observer's filter [N·m or N].
    """

    period: float
    torque_noise: float
    velocity_noise: float
    rotors: tuple[float, ...]
    unexplained: Array

    def bound(self, speed: Array) -> Array:
        """Return the bound of the unexplained torque at speeds [N·m or N]; beyond
        the table that of its end.
        """
        return np.interp(speed, *self.unexplained.T)


def white_noise(signal: Array) -> float:
    """Return the standard deviation of a signal's white noise; smooth motion
    leaves no third difference.
    """
    if len(signal) < 4:
        return 0.0
    return float(np.median(np.abs(np.diff(signal, 3)))) / 0.6745 / float(np.sqrt(20.0))
