r"""Fourier series of joint positions that begin and end at rest in the start posture.

.. math:: q(t) = q_0 + \sum_k \frac{u_k}{k \omega} \sin k \omega t + \frac{v_k}{k \omega} (\cos k \omega t - 1),
          \qquad \sum_k u_k = 0, \quad \sum_k k v_k = 0

so speed and acceleration vanish at the ends of every period. The free coordinates x of u and v are
the design variables. Their unit is the amplitude that the limits allow for one harmonic alone.

References
----------
Swevers et al., IEEE Trans. Robotics and Automation 13 (1997) 730; Park, Robotica 24 (2006)
625 (boundary conditions).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stribeck.experiments.plans.plan import Harmonics
from stribeck.ident.arrays import Array
from stribeck.ident.fit.arm.motion_information import Course

_DIGITS = 9  # of amplitudes in a plan


@dataclass(frozen=True)
class RestToRest:
    """Motion along some directions of joint space, with design variables x
    of shape (directions, m).

    Attributes
    ----------
    start : ndarray, shape (n,)
        Posture at both ends [rad or m].
    directions : ndarray, shape (n, d)
        Directions of joint space: single joints, or combinations of joints.
    reach : ndarray, shape (3, d)
        Half the range, velocity and acceleration of each direction [rad or m, per s, per s²]; one
        harmonic with x = 1 stays within these limits.
    period : float
        Period [s].
    periods, harmonics : int
        Number of consecutive periods; number of harmonics, at least 3.
    """

    start: Array
    directions: Array
    reach: Array
    period: float
    periods: int
    harmonics: int

    @property
    def size(self) -> int:
        """Number of design variables of each direction, m."""
        return 2 * (self.harmonics - 1)

    @property
    def frequencies(self) -> Array:
        """Angular frequencies of the harmonics, shape (H,) [rad/s]."""
        return np.asarray(2.0 * np.pi / self.period * np.arange(1, self.harmonics + 1))

    @cached_property
    def _free(self) -> tuple[Array, Array]:
        """Matrices from design variables to u and to v, shape (directions, H, H
        - 1) each [rad/s or m/s].
        """
        w, (way, speed, harder) = self.frequencies, self.reach
        size = np.minimum.reduce(
            [
                way[:, None] * w,
                np.broadcast_to(speed[:, None], (len(way), len(w))),
                harder[:, None] / w,
            ]
        )
        u, v = (
            size[..., None] * np.array([np.linalg.svd(row[None])[2][1:].T for row in size * ends])
            for ends in (np.ones_like(w), w)
        )
        return u, v

    def harmonic_motion(self, x: Array) -> Harmonics:
        """Return the amplitudes as a plan states them; joints that do not move have zeros."""
        half, parts = self.harmonics - 1, []
        for free, own in zip(self._free, (x[:, :half], x[:, half:]), strict=True):
            whole = self.directions @ (np.einsum("dhm,dm->dh", free, own) / self.frequencies)
            parts.append(tuple(tuple(row) for row in whole.round(_DIGITS).tolist()))
        return Harmonics(self.period, self.periods, *parts)

    def sampled(self, rate: float, phase: float = 0.5) -> "Sampled":
        """Sample one period at about `rate` [Hz]; `phase` is the time of the first
        sample in sampling intervals.
        """
        count = max(4 * self.harmonics, round(rate * self.period))
        t: Array = np.asarray(self.period / count * (np.arange(count) + phase), dtype=np.float64)
        w, (u, v) = self.frequencies, self._free
        s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
        return Sampled(
            self,
            t,
            self.period / count,
            (
                np.concatenate((s / w @ u, (c - 1.0) / w @ v), axis=2),
                np.concatenate((c @ u, -s @ v), axis=2),
                np.concatenate((-(s * w) @ u, -(c * w) @ v), axis=2),
            ),
        )


@dataclass(frozen=True)
class Sampled:
    """Samples of a series at even times; positions, velocities and accelerations are linear in x.

    `bases` holds the three matrices of this linear relation, shape (directions, N, m) each.
    """

    series: RestToRest
    t: Array
    dt: float
    bases: Sequence[Array]

    def course(self, x: Array) -> Course:
        """Return the motion of all joints for design variables x."""
        series = self.series
        parts = [(series.directions @ (basis @ x[..., None])[..., 0]).T for basis in self.bases]
        return Course(series.start + parts[0], parts[1], parts[2], self.dt, series.periods)

    def slope(self, by_sample: tuple[Array, Array, Array]) -> Array:
        """Return the gradient by x, shape (directions, m), from derivatives by q, dq and ddq of
        every sample, (N, n) each.
        """
        along = self.series.directions.T
        return np.asarray(
            sum(
                ((along @ part.T)[:, None] @ basis)[:, 0]
                for part, basis in zip(by_sample, self.bases, strict=True)
            )
        )
