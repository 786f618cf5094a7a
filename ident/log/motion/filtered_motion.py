"""Filtered and differentiated runs, split at gaps, with the model's torques along the motion."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.errors import FitError, InputError
from stribeck.ident.log.motion.low_pass import SETTLING, low_pass
from stribeck.ident.log.motion.position_cutoff import (
    POSITION,
    bandwidth_of,
    has_velocity,
    position_cutoff,
    signal_noise,
)
from stribeck.ident.log.run import Run
from stribeck.ident.log.signal_checks import GAP, check_signals, check_time
from stribeck.ident.model.dynamics import inverse_dynamics, mass_matrix
from stribeck.ident.model.loads import LOADS, joint_loads
from stribeck.ident.model.mechanism import Mechanism

_GAP = 5.0  # periods; a longer gap splits the log
_DIFFERENCES = 3.0  # samples over which an acceleration blurs a sudden change,
_SETTLED = 0.5  # and periods of the cut-off of positions
# periods of the bandwidth; interpolation across a longer gap is wrong, as the motion may change
_HOLE = 0.5
# iterations for deflections, and their bandwidth over the natural frequency of link and spring
_TURNS, _SLOW = 3, 0.5
_TIMES = 3  # draws of position noise
_SAME_RATE = 0.05  # largest relative difference between rates of runs fitted together


@dataclass(frozen=True)
class Stretch:
    """A section of a run without gaps: filtered motion of all joints, and the model's
    torques along this motion.

    Attributes
    ----------
    run : Run
        The run of this section.
    mechanism : Mechanism
        The model.
    t : ndarray, shape (M,)
        Evenly spaced time [s].
    q, dq, ddq, tau : ndarray, shape (M, n)
        Filtered motion [rad or m, and per s and s²], and measured torque [N·m or N].
    rigid, gravity : ndarray, shape (M, n)
        The model's torque without rotor inertia, and its gravity part [N·m or N].
    loads : dict of str to ndarray, shape (M, n)
        The model's loads.
    prismatic : ndarray of bool, shape (n,)
        True for prismatic joints.
    known : ndarray of bool, shape (M, n)
        Whether the log has samples at this time; values in a gap too short to split
        the log were interpolated.
    bandwidth : float
        [Hz].
    links : tuple of ndarray, shape (M, n)
        Position, velocity and acceleration of the links, which the model uses. They equal `q`, `dq`
        and `ddq`, except where the arm file states a stiffness between encoder and link.
    """

    run: Run
    mechanism: Mechanism
    t: Array
    q: Array
    dq: Array
    ddq: Array
    tau: Array
    rigid: Array
    gravity: Array
    loads: dict[str, Array]
    prismatic: np.ndarray
    known: np.ndarray
    bandwidth: float
    links: tuple[Array, Array, Array]

    @classmethod
    def of(
        cls,
        run: Run,
        mechanism: Mechanism,
        bandwidth: float,
        t: Array,
        q: Array,
        dq: Array,
        ddq: Array,
        tau: Array,
        known: np.ndarray,
    ) -> "Stretch":
        """Return the section, with the torques and loads of a model."""
        links = _behind_springs(
            run.compliance(), mechanism, float(t[1] - t[0]), bandwidth, q, dq, ddq
        )
        return cls(
            run,
            mechanism,
            t,
            q,
            dq,
            ddq,
            tau,
            *_by_model(mechanism, *links),
            mechanism.prismatic,
            np.broadcast_to(known[:, None], q.shape),
            bandwidth,
            links,
        )

    def with_model(self, mechanism: Mechanism) -> "Stretch":
        """The same motion with the torques and loads of another model of the arm."""
        links = _behind_springs(
            self.run.compliance(),
            mechanism,
            float(self.t[1] - self.t[0]),
            self.bandwidth,
            self.q,
            self.dq,
            self.ddq,
        )
        rigid, gravity, loads = _by_model(mechanism, *links)
        return replace(
            self, mechanism=mechanism, rigid=rigid, gravity=gravity, loads=loads, links=links
        )


def _behind_springs(
    compliance: Array,
    mechanism: Mechanism,
    dt: float,
    bandwidth: float,
    q: Array,
    dq: Array,
    ddq: Array,
) -> tuple[Array, Array, Array]:
    """Motion of links that stay behind their drives by the torque they take over a stiffness.

    As the drive's motion is slow beside the link's swing on its spring, each turn tells
    the deflection more exactly by the square of the ratio of both; what is faster than
    half the swing is left out.
    """
    links = q, dq, ddq
    if not compliance.any():
        return links
    inertia = np.einsum("jj->j", mass_matrix(mechanism, q.mean(axis=0)[None])[0])
    swing = float(np.min(1.0 / np.sqrt(np.maximum(compliance * inertia, 1e-12)))) / (2.0 * np.pi)
    for _ in range(_TURNS):
        bend = low_pass(
            inverse_dynamics(mechanism, *links) * compliance, min(bandwidth, _SLOW * swing) * dt
        )
        rate = np.gradient(bend, dt, axis=0)
        links = q - bend, dq - rate, ddq - np.gradient(rate, dt, axis=0)
    return links


def _by_model(
    mechanism: Mechanism, q: Array, dq: Array, ddq: Array
) -> tuple[Array, Array, dict[str, Array]]:
    """Torque of a model along a motion, its gravity part, and loads."""
    loads = joint_loads(mechanism, q, dq, ddq)
    return loads.tau, inverse_dynamics(mechanism, q), {load: loads.get(load) for load in LOADS}


@dataclass(frozen=True)
class Log:
    """All sections of one or several runs, with a common sampling period `dt` [s],
    filtered for a `bandwidth` [Hz].

    Before differentiation, positions (or recorded velocities) were filtered
    with their own `cutoff` [Hz].
    """

    stretches: tuple[Stretch, ...]
    dt: float
    bandwidth: float
    cutoff: float

    @property
    def blur(self) -> float:
        """Time by which filtering spreads an event in positions, velocities and
        accelerations, to both sides [s].
        """
        return _DIFFERENCES * self.dt + _SETTLED / self.cutoff

    @cached_property
    def noisier(self) -> tuple["Log", ...]:
        """Copies of the log with additional noise of its positions (or velocities); loads
        and gravity stay the same.
        """
        rng = np.random.default_rng(0)
        return tuple(
            replace(self, stretches=tuple(self._noisier(part, rng) for part in self.stretches))
            for _ in range(_TIMES)
        )

    def _noisier(self, part: Stretch, rng: np.random.Generator) -> Stretch:
        """Return a section with additional noise of its positions (or velocities)."""
        deviation = np.array([signal_noise(part.run, j) for j in range(part.q.shape[1])])
        noise = low_pass(deviation * rng.standard_normal(part.q.shape), self.cutoff * self.dt)
        velocity = noise if has_velocity(part.run) else np.gradient(noise, self.dt, axis=0)
        q = part.q if has_velocity(part.run) else part.q + noise
        echo = q - part.q, velocity, np.gradient(velocity, self.dt, axis=0)
        links = (part.links[0] + echo[0], part.links[1] + echo[1], part.links[2] + echo[2])
        return replace(
            part,
            q=q,
            dq=part.dq + echo[1],
            ddq=part.ddq + echo[2],
            links=links,
            rigid=inverse_dynamics(part.mechanism, *links),
        )


def filtered(
    runs: Sequence[Run], mechanisms: Sequence[Mechanism], bandwidth: float | None = None
) -> Log:
    """Split runs at gaps, filter and differentiate them, and compute the torques
    of the model of each run.

    Positions are filtered; velocities and accelerations are central differences. Recorded
    velocities are used if they were loaded. The bandwidth is `BANDWIDTH`, or lower if coarse or
    noisy positions would disturb velocities and accelerations.

    Raises
    ------
    InputError
        If a position or torque is not a finite number, time does not increase, or
        runs differ in their rates.
    FitError
        If no section is long enough.
    """
    for run in runs:
        check_time(run.t, str(run.path))
        check_signals(run)
    cutoff = position_cutoff(runs) if bandwidth is None else POSITION * bandwidth
    bandwidth = bandwidth or bandwidth_of(cutoff)
    parts = [
        (run, mechanism, found)
        for run, mechanism in zip(runs, mechanisms, strict=True)
        for rows in _without_gaps(run.t)
        if (found := _moved(run, rows, cutoff, bandwidth)) is not None
    ]
    if not parts:
        raise FitError(
            f"no section without gaps is longer than {2.0 * SETTLING / bandwidth:.2g} s, which the "
            "filter needs to settle; record without gaps"
        )
    steps = np.array([found[0][1] - found[0][0] for *_, found in parts])
    dt = float(np.median(steps))
    if np.any(np.abs(steps / dt - 1.0) > _SAME_RATE):
        raise InputError(
            f"the runs have rates of {1.0 / steps.max():.4g} to {1.0 / steps.min():.4g} Hz; fit "
            "only runs of one rate together"
        )
    return Log(
        tuple(Stretch.of(run, mechanism, bandwidth, *found) for run, mechanism, found in parts),
        dt,
        bandwidth,
        cutoff,
    )


def _without_gaps(t: Array) -> list[slice]:
    """Rows of the sections of a log between its gaps."""
    if len(t) < 2:
        return []
    step = np.diff(t)
    edges = [0, *(np.flatnonzero(step > _GAP * np.median(step)) + 1).tolist(), len(t)]
    return [slice(a, b) for a, b in pairwise(edges)]


def _moved(run: Run, rows: slice, cutoff: float, bandwidth: float) -> tuple[Array, ...] | None:
    """Evenly spaced time, filtered position, velocity, acceleration and torque of all joints,
    and mask of known samples.

    None if the section is too short.
    """
    first, last = run.t[rows.start], run.t[rows.stop - 1]
    steps = (
        round((last - first) / float(np.median(np.diff(run.t[rows]))))
        if rows.stop - rows.start > 1
        else 0
    )
    # lost samples do not shift the other samples
    t = np.linspace(first, last, steps + 1)
    if len(t) < 16 or np.ptp(t) <= 2.0 * SETTLING / bandwidth:
        return None
    dt = float(t[1] - t[0])
    recorded = {
        name: np.column_stack(
            [np.interp(t, run.t[rows], column) for column in run.signals[name][rows].T]
        )
        for name in ("q", "dq", "tau")
        if name in run.signals and (name != "dq" or has_velocity(run))
    }
    q = low_pass(recorded["q"], cutoff * dt)
    dq = low_pass(recorded["dq"], cutoff * dt) if "dq" in recorded else np.gradient(q, dt, axis=0)
    return (
        t,
        q,
        dq,
        np.gradient(dq, dt, axis=0),
        recorded["tau"],
        _known(run.t[rows], t, _HOLE / bandwidth),
    )


def _known(stamps: Array, t: Array, longest: float) -> np.ndarray:
    """Mask of times that lie between time stamps at most `longest` [s] or `GAP`
    periods apart, shape (M,).
    """
    step = np.diff(stamps)
    hole = step > max(longest, GAP * float(np.median(step)))
    return np.asarray(~hole[np.clip(np.searchsorted(stamps, t, "right") - 1, 0, len(step) - 1)])
