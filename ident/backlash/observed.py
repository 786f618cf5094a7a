r"""What the samples of a joint show of the gear between motor and link: the link's lag, or the torque that the link takes.

With the position of the link, the gap between motor and link is measured, :math:`q - x = d_0 + e(b, K, f)`. Without it, the
torque T that the link takes is a column of the motor's torque,

.. math:: \tau = s T(b, K, f) + \tau_T \dot T + B \ddot q + \tau_f + o

with rotor B, the delay of the signal, and the motor's friction tau_f: a viscous part and two relaxing states (`ident.memory`), so
that presliding and wind-up (b = 0) compete with play on equal terms.

The gap alone does not tell play from wind-up: a link with friction winds up a soft gear by f / K in each direction, as if it
had a play of 2 f / K. The torque tells both apart, because it rises during wind-up. Both are used if the link is measured.
"""

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from stribeck.ident.arrays import Array, Groups
from stribeck.ident.backlash.play_data import PlayData
from stribeck.ident.backlash.two_bodies import Passage
from stribeck.ident.memory.states.memories import relaxed

_DISTANCES = np.array([1.0, 8.0, 40.0, 200.0])  # distances of relaxing states over the resolution of the path


class Observed(Protocol):
    """Signals that depend on the gear.

    Attributes
    ----------
    blocks : ndarray of int, shape (R,)
        Block of each row.
    """

    blocks: Groups

    def rows(self, passage: Passage) -> Iterator[list[Array]]:
        """Yield the rows of the least squares of each gear: for each kind of friction columns and target, shape (R, p + 1)."""


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
        """See `Observed`."""
        torque = self._data.filtered(passage.torque)
        late = np.gradient(torque, self._data.dt, axis=0)[self._data.used]
        for own, delayed in zip(torque[self._data.used].T, late.T, strict=True):
            yield [np.column_stack((own, delayed, self._fixed, state, self._target)) for state in self._states]


class ObservedBoth:
    """Motor minus link, with one offset, above the torque of the motor; each over its least error among the first gears."""

    def __init__(self, data: PlayData) -> None:
        self._data, self._target, self._torque = data, data.difference[data.used], ObservedTorque(data)
        self.blocks = np.concatenate((data.blocks, data.blocks))
        self._deviations: tuple[float, float] | None = None

    def rows(self, passage: Passage) -> Iterator[list[Array]]:
        """See `Observed`."""
        left = self._target[:, None] - self._data.filtered(passage.gap)[self._data.used]
        if self._deviations is None:
            least = min(_error(kind) for kinds in self._torque.rows(passage) for kind in kinds)
            self._deviations = max(float(left.std(axis=0).min()), self._data.step / np.sqrt(12.0), 1e-12), max(least, 1e-12)
        gap, torque = self._deviations
        for own, kinds in zip(left.T, self._torque.rows(passage), strict=True):
            yield [_stacked(own / gap, kind / torque) for kind in kinds]


def observed(data: PlayData) -> Observed:
    """Return both signals if the position of the link is known, else the torque."""
    return ObservedBoth(data) if data.measures_link else ObservedTorque(data)


def _error(rows: Array) -> float:
    """Return the root mean square residual of rows of least squares."""
    size = np.sqrt(np.mean(rows[:, :-1] ** 2, axis=0)) + 1e-300
    A = (rows[:, :-1] / size).T @ np.column_stack((rows[:, :-1] / size, rows[:, -1]))
    beta = np.linalg.lstsq(A[:, :-1], A[:, -1], rcond=1e-10)[0]
    return float(np.sqrt(max(0.0, np.mean(rows[:, -1] ** 2) - beta @ A[:, -1] / len(rows))))


def _stacked(gap: Array, torque: Array) -> Array:
    """Return rows of the gap, with an offset, above rows of the torque, shape (2 M, p + 2)."""
    many, columns = torque.shape
    out = np.zeros((2 * many, columns + 1))
    out[:many, 0], out[:many, -1], out[many:, 1:] = 1.0, gap, torque
    return out
