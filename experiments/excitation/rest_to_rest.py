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
    """Motion along some directions of joint space, by numbers x of shape (directions, m).

    Attributes
    ----------
    start : ndarray, shape (n,)
        Where all joints are at both ends [rad or m].
    directions : ndarray, shape (n, d)
        Those that each joint has alone, or in which several go together.
    reach : ndarray, shape (3, d)
        Half of the range, velocity and acceleration in each: no harmonic alone goes farther at x = 1 [rad or m, per s, s²].
    period : float
        [s].
    periods, harmonics : int
        How many periods follow each other, and harmonics of the series, at least 3.
    """

    start: Array
    directions: Array
    reach: Array
    period: float
    periods: int
    harmonics: int

    @property
    def size(self) -> int:
        """Free numbers of each direction, m."""
        return 2 * (self.harmonics - 1)

    @property
    def frequencies(self) -> Array:
        """Of the harmonics, shape (H,) [rad/s]."""
        return np.asarray(2.0 * np.pi / self.period * np.arange(1, self.harmonics + 1))

    @cached_property
    def _free(self) -> tuple[Array, Array]:
        """From free numbers to u and to v, shape (directions, H, H - 1) each [rad/s or m/s]."""
        w, (way, speed, harder) = self.frequencies, self.reach
        size = np.minimum.reduce([way[:, None] * w, np.broadcast_to(speed[:, None], (len(way), len(w))), harder[:, None] / w])
        u, v = (size[..., None] * np.array([np.linalg.svd(row[None])[2][1:].T for row in size * ends])
                for ends in (np.ones_like(w), w))
        return u, v

    def harmonic_motion(self, x: Array) -> Harmonics:
        """As a plan states it; joints that do not move have zeros."""
        half, parts = self.harmonics - 1, []
        for free, own in zip(self._free, (x[:, :half], x[:, half:]), strict=True):
            whole = self.directions @ (np.einsum("dhm,dm->dh", free, own) / self.frequencies)
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
    """A series at even times: positions, velocities, accelerations are linear in x by `bases`, shape (directions, N, m) each."""

    series: RestToRest
    t: Array
    dt: float
    bases: Sequence[Array]

    def course(self, x: Array) -> Course:
        """The motion of all joints."""
        series = self.series
        parts = [(series.directions @ (basis @ x[..., None])[..., 0]).T for basis in self.bases]
        return Course(series.start + parts[0], parts[1], parts[2], self.dt, series.periods)

    def slope(self, by_sample: tuple[Array, Array, Array]) -> Array:
        """Slope by x of what has these slopes by q, dq and ddq of every sample (N, n); shape (directions, m)."""
        along = self.series.directions.T
        return np.asarray(sum(((along @ part.T)[:, None] @ basis)[:, 0]
                              for part, basis in zip(by_sample, self.bases, strict=True)))
