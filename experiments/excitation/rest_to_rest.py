r"""Fourier series that begin and end at rest, where the arm starts.

.. math:: q(t) = q_0 + \sum_k \frac{u_k}{k \omega} \sin k \omega t + \frac{v_k}{k \omega} (\cos k \omega t - 1),
          \qquad \sum_k u_k = 0, \quad \sum_k k v_k = 0

so that speed and acceleration vanish at the ends of every period. What is left free of u and v are the numbers x that a design
may choose, in units of what a harmonic may do alone.

References
----------
Swevers et al., IEEE Trans. Robotics and Automation 13 (1997) 730; Park, Robotica 24 (2006) 625 (boundary conditions).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stribeck.experiments.plans.plan import Harmonics
from stribeck.ident.arrays import Array
from stribeck.ident.fit.arm.motion_information import Course

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
    reach : ndarray, shape (3, n)
        Half of the range, velocity and acceleration of each joint: no harmonic alone goes farther at x = 1 [rad or m, per s, s²].
    period : float
        [s].
    periods, harmonics : int
        How many periods follow each other, and harmonics of the series, at least 3.
    """

    start: Array
    active: tuple[int, ...]
    reach: Array
    period: float
    periods: int
    harmonics: int

    @property
    def size(self) -> int:
        """Free numbers of each joint, m."""
        return 2 * (self.harmonics - 1)

    @property
    def frequencies(self) -> Array:
        """Of the harmonics, shape (H,) [rad/s]."""
        return np.asarray(2.0 * np.pi / self.period * np.arange(1, self.harmonics + 1))

    @cached_property
    def _free(self) -> tuple[Array, Array]:
        """From free numbers to u and to v, shape (joints, H, H - 1) each [rad/s or m/s]."""
        w, (way, speed, harder) = self.frequencies, self.reach[:, list(self.active)]
        size = np.minimum.reduce([way[:, None] * w, np.broadcast_to(speed[:, None], (len(way), len(w))), harder[:, None] / w])
        u, v = (size[..., None] * np.array([np.linalg.svd(row[None])[2][1:].T for row in size * ends])
                for ends in (np.ones_like(w), w))
        return u, v

    def harmonic_motion(self, x: Array) -> Harmonics:
        """As a plan states it; joints that do not move have zeros."""
        half, parts = self.harmonics - 1, []
        for free, own in zip(self._free, (x[:, :half], x[:, half:]), strict=True):
            whole = np.zeros((len(self.start), self.harmonics))
            whole[list(self.active)] = np.einsum("jhm,jm->jh", free, own) / self.frequencies
            parts.append(tuple(tuple(row) for row in whole.round(_DIGITS).tolist()))
        return Harmonics(self.period, self.periods, *parts)

    def sampled(self, rate: float, phase: float = 0.5) -> "Sampled":
        """Its samples of one period at about a rate [Hz], the first after a part of the time between two."""
        count = max(4 * self.harmonics, round(rate * self.period))
        t: Array = np.asarray(self.period / count * (np.arange(count) + phase), dtype=np.float64)
        w, (u, v) = self.frequencies, self._free
        s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
        return Sampled(self, t, self.period / count, (
            np.concatenate((s / w @ u, (c - 1.0) / w @ v), axis=2), np.concatenate((c @ u, -s @ v), axis=2),
            np.concatenate((-(s * w) @ u, -(c * w) @ v), axis=2)))


@dataclass(frozen=True)
class Sampled:
    """A series at even times: positions, velocities and accelerations are linear in x by `bases`, shape (joints, N, m) each."""

    series: RestToRest
    t: Array
    dt: float
    bases: Sequence[Array]

    def course(self, x: Array) -> Course:
        """The motion of all joints."""
        series, parts = self.series, []
        for basis in self.bases:
            whole = np.zeros((len(self.t), len(series.start)))
            whole[:, list(series.active)] = (basis @ x[..., None])[..., 0].T
            parts.append(whole)
        return Course(series.start + parts[0], parts[1], parts[2], self.dt, series.periods)

    def slope(self, by_sample: tuple[Array, Array, Array]) -> Array:
        """Slope by x of what has these slopes by q, dq and ddq of every sample (N, n); shape (joints, m)."""
        columns = list(self.series.active)
        return np.asarray(sum((part[:, columns].T[:, None] @ basis)[:, 0]
                              for part, basis in zip(by_sample, self.bases, strict=True)))
