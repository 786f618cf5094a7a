r"""What the samples of a joint show of the gear between motor and link: the link's lag, or the torque that the link takes.

With the position of the link, the gap between motor and link is measured, :math:`q - x = d_0 + e(b, K, f)`. Without it, the
torque T that the link takes is a column of the motor's torque,

.. math:: \tau = s T(b, K, f) + \tau_T \dot T + B \ddot q + \tau_f + o

with rotor B, the delay of the signal, and the motor's friction tau_f: a viscous part and two relaxing states (`ident.memory`), so
that presliding and wind-up (b = 0) compete with play on equal terms.
"""

from typing import Protocol

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.backlash.play_data import PlayData
from stribeck.ident.backlash.two_bodies import Passage
from stribeck.ident.memory.memories import relaxed

_DISTANCES = np.array([1.0, 4.0, 16.0, 64.0])   # distances of relaxing states over the resolution of the path


class Observed(Protocol):
    """A signal that depends on the gear."""

    kinds: int

    def rows(self, passage: Passage) -> Array:
        """Return the columns of the least squares for each gear and kind, with the target last, shape (C, H, M, p + 1)."""


class ObservedGap:
    """Measured motor minus link; one kind of column, the offset d_0."""

    kinds = 1

    def __init__(self, data: PlayData) -> None:
        self._data, self._target = data, data.difference[data.used]

    def rows(self, passage: Passage) -> Array:
        """See `Observed`."""
        left = self._target[:, None] - self._data.filtered(passage.gap)[self._data.used]
        return np.stack([np.column_stack((np.ones(len(left)), one))[None] for one in left.T])


class ObservedTorque:
    """Torque of the motor; kinds differ by the distance of the second relaxing state."""

    kinds = len(_DISTANCES) - 1

    def __init__(self, data: PlayData) -> None:
        self._data, used = data, data.used
        velocity, gain = data.motion
        least = max(2.0 * data.resolution, 1e-4 * data.span)
        states = [data.filtered(relaxed(data.path, float(h))[0])[used] for h in least * _DISTANCES]
        self._fixed = np.column_stack([gain[used], velocity[used], np.ones(int(used.sum())), states[0]])
        self._states, self._target = states[1:], data.torque[used]

    def rows(self, passage: Passage) -> Array:
        """See `Observed`."""
        torque = self._data.filtered(passage.torque)
        late = np.gradient(torque, self._data.dt, axis=0)[self._data.used]
        return np.array([[np.column_stack((own, delayed, self._fixed, state, self._target)) for state in self._states]
                         for own, delayed in zip(torque[self._data.used].T, late.T, strict=True)])


def observed(data: PlayData) -> Observed:
    """Return the gap if the position of the link is known, else the torque."""
    return ObservedGap(data) if data.measures_link else ObservedTorque(data)
