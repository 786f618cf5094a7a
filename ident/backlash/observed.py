r"""What the torque of the motor shows of the gear between motor and link.

The torque T that the link takes behind a gear is a column of the motor's torque,

.. math:: \tau = s T(b, K, f) + \tau_T \dot T + B \ddot q + \tau_f + o

with rotor B, the delay of the signal, and the motor's friction tau_f: a viscous part and two relaxing states (`ident.memory`), so
that presliding and wind-up (b = 0) compete with play on equal terms.
"""

from collections.abc import Iterator

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.backlash.play_data import PlayData
from stribeck.ident.backlash.two_bodies import Passage
from stribeck.ident.memory.states.memories import relaxed

_DISTANCES = np.array([1.0, 8.0, 40.0, 200.0])  # distances of relaxing states over the resolution of the path


class ObservedTorque:
    """Torque of the motor; kinds differ by the distance of the second relaxing state."""

    def __init__(self, data: PlayData) -> None:
        self._data, used = data, data.used
        self.blocks = data.blocks
        velocity, gain = data.motion
        least = max(2.0 * data.resolution, 1e-4 * data.span)
        states = [data.filtered(relaxed(data.path, float(h))[0])[used] for h in least * _DISTANCES]
        self._fixed = np.column_stack([gain[used], velocity[used], np.ones(int(used.sum())), states[0]])
        self._states, self._target = states[1:], data.torque[used]

    def rows(self, passage: Passage) -> Iterator[list[Array]]:
        """Yield the rows of the least squares of each gear: for each kind of friction columns and target, shape (M, p + 1)."""
        torque = self._data.filtered(passage.torque)
        late = np.gradient(torque, self._data.dt, axis=0)[self._data.used]
        for own, delayed in zip(torque[self._data.used].T, late.T, strict=True):
            yield [np.column_stack((own, delayed, self._fixed, state, self._target)) for state in self._states]
