r"""Fourier series that begin and end at rest, where the arm starts.

.. math:: q(t) = q_0 + \sum_k \frac{u_k}{k \omega} \sin k \omega t + \frac{v_k}{k \omega} (\cos k \omega t - 1),
          \qquad \sum_k u_k = 0, \quad \sum_k k v_k = 0

so that speed and acceleration vanish at the ends of every period. What is left free of u and v are the numbers x that a design
may choose, in units of each joint's velocity.

References
----------
Swevers et al., IEEE Trans. Robotics and Automation 13 (1997) 730; Park, Robotica 24 (2006) 625 (boundary conditions).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stribeck.experiments.plans.plan import Harmonics
from stribeck.ident.arrays import Array
from stribeck.ident.fit.inertia.motion_information import Course

_DIGITS = 9             # of amplitudes in a plan


@dataclass(frozen=True)
class RestToRest:
    """Motion of some joints, by numbers x of shape (joints, m).

    Attributes
    ----------
    start : ndarray, shape (n,)
        Where all joints are at both ends [rad or m].
    active : tuple of int
        Joints that move.
    velocity : ndarray, shape (n,)
        Units of x [rad/s or m/s].
    period : float
        [s].
    periods, harmonics : int
        How many periods follow each other, and harmonics of the series, at least 3.
    """

    start: Array
    active: tuple[int, ...]
    velocity: Array
    period: float
    periods: int
    harmonics: int

    @property
    def size(self) -> int:
        """Free numbers of each joint, m."""
        return 2 * (self.harmonics - 1)

    @cached_property
    def _free(self) -> tuple[Array, Array]:
        """From free numbers to u and to v, shape (H, H - 1) each."""
        k = np.arange(1.0, self.harmonics + 1.0)
        return tuple(np.asarray(np.linalg.svd(row[None])[2][1:].T) for row in (np.ones_like(k), k))    # type: ignore[return-value]

    def _amplitudes(self, x: Array) -> tuple[Array, Array]:
        """u and v of the active joints, shape (joints, H) each [rad/s or m/s]."""
        half, (of_u, of_v), scale = self.harmonics - 1, self._free, self.velocity[list(self.active), None]
        return scale * (x[:, :half] @ of_u.T), scale * (x[:, half:] @ of_v.T)

    def harmonic_motion(self, x: Array) -> Harmonics:
        """As a plan states it; joints that do not move have zeros."""
        w = 2.0 * np.pi / self.period * np.arange(1, self.harmonics + 1)
        parts = []
        for amplitude in self._amplitudes(x):
            whole = np.zeros((len(self.start), self.harmonics))
            whole[list(self.active)] = amplitude / w
            parts.append(tuple(tuple(row) for row in whole.round(_DIGITS).tolist()))
        return Harmonics(self.period, self.periods, *parts)

    def sampled(self, rate: float, phase: float = 0.5) -> "Sampled":
        """Its samples of one period at about a rate [Hz], the first after a part of the time between two."""
        count = max(4 * self.harmonics, round(rate * self.period))
        t = self.period / count * (np.arange(count) + phase)
        w = 2.0 * np.pi / self.period * np.arange(1, self.harmonics + 1)
        s, c, (of_u, of_v) = np.sin(np.outer(t, w)), np.cos(np.outer(t, w)), self._free
        return Sampled(self, t, self.period / count, (
            np.hstack((s / w @ of_u, (c - 1.0) / w @ of_v)), np.hstack((c @ of_u, -s @ of_v)),
            np.hstack((-(s * w) @ of_u, -(c * w) @ of_v))))


@dataclass(frozen=True)
class Sampled:
    """A series at even times: positions, velocities and accelerations are linear in x by `bases`, shape (N, m) each."""

    series: RestToRest
    t: Array
    dt: float
    bases: tuple[Array, Array, Array]

    def course(self, x: Array) -> Course:
        """The motion of all joints."""
        series, columns = self.series, list(self.series.active)
        parts = []
        for basis in self.bases:
            whole = np.zeros((len(self.t), len(series.start)))
            whole[:, columns] = basis @ (x * series.velocity[columns, None]).T
            parts.append(whole)
        return Course(series.start + parts[0], parts[1], parts[2], self.dt, series.periods)

    def slope(self, by_sample: tuple[Array, Array, Array]) -> Array:
        """Slope by x of what has these slopes by q, dq and ddq of every sample (N, n); shape (joints, m)."""
        columns = list(self.series.active)
        total = sum((part[:, columns].T @ basis for part, basis in zip(by_sample, self.bases, strict=True)),
                    np.zeros((len(columns), self.series.size)))
        return np.asarray(total * self.series.velocity[columns, None])
