"""Samples of one joint for fitting friction with memory, and the levels of
a friction law along them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from stribeck.ident.arrays import Array, Groups
from stribeck.ident.laws.law import Law
from stribeck.ident.memory.states.path import Path

DIFFERENCE = "viscous_difference"
INERTIA = "inertia"
GRAVITY = "gravity_sin", "gravity_cos"
# least speed at which laws are evaluated, as they are zero at rest [rad/s or m/s]
STILL = 1e-9
_SMALL = 1e-5  # relative step of derivatives by nonlinear parameters


@dataclass(frozen=True)
class MemoryData:
    """Motion and torque of one joint, including reversals.

    Attributes
    ----------
    path : Path
        Displacements.
    velocity : ndarray, shape (M,)
        Velocity [rad/s or m/s].
    torque : ndarray, shape (M,)
        Measured torque without the known rigid-body torque [N·m or N].
    load : ndarray, shape (M,), optional
        Load.
    beside : dict of str to ndarray, shape (M,)
        Columns fitted together with friction: offset, inertia, gravity.
    used : ndarray of bool, shape (M,)
        Samples that are compared; the others only move the states.
    prismatic : bool
        Whether the joint slides.
    time, position : ndarray, shape (M,)
        Time, even within each section [s], and position [rad or m].
    along : dict of str to ndarray, shape (M,)
        Columns that add to the dry level of friction: waves with the position.
    signal : tuple of str
        "delay", "lag", both or none: how the torque signal follows the torque, see `torque_signal`.
    waving : tuple of str
        Names of the columns that are sines and cosines of the position: gravity and waves.
    positive : tuple of str
        Names of the columns whose coefficients are not negative: inertia.
    """

    path: Path
    velocity: Array
    torque: Array
    load: Array | None
    beside: Mapping[str, Array]
    used: np.ndarray
    prismatic: bool = False
    time: Array = field(default_factory=lambda: np.zeros(0))
    position: Array = field(default_factory=lambda: np.zeros(0))
    along: Mapping[str, Array] = field(default_factory=dict)
    signal: tuple[str, ...] = ()
    waving: tuple[str, ...] = ()
    positive: tuple[str, ...] = ()

    @property
    def signed(self) -> tuple[str, ...]:
        """Names of the parameters that may be negative: coefficients of the columns."""
        return (*self.beside, *self.along)

    @property
    def period(self) -> float:
        """Time between samples [s]."""
        return float(np.median(np.diff(self.time))) if len(self.time) > 1 else 0.0

    def at(
        self, rows: np.ndarray, path: Path | None = None, used: np.ndarray | None = None
    ) -> "MemoryData":
        """Return some samples, with their path if it is that of these samples only."""

        def own(columns: Mapping[str, Array]) -> dict[str, Array]:
            return {name: column[rows] for name, column in columns.items()}

        return MemoryData(
            self.path if path is None else path,
            self.velocity[rows],
            self.torque[rows],
            None if self.load is None else self.load[rows],
            own(self.beside),
            self.used[rows] if used is None else used,
            self.prismatic,
            self.time[rows],
            self.position[rows],
            own(self.along),
            self.signal,
            self.waving,
            self.positive,
        )

    @cached_property
    def speed(self) -> Array:
        """Speed, at least a value that laws do not take for rest, shape (M,) [rad/s or m/s]."""
        return np.maximum(np.abs(self.velocity), STILL)

    def from_distance(self, distance: float) -> "MemoryData":
        """Return the samples without those before each section's path is as long as a
        distance: their state is unknown.
        """
        travelled = np.cumsum(self.path.length)
        section = np.searchsorted(self.path.begins, np.arange(len(travelled)), side="right") - 1
        known = travelled - (travelled - self.path.length)[self.path.begins][section] > distance
        return replace(self, used=self.used & known)

    def thinned(self, most: int) -> "MemoryData":
        """Return the samples, or every n-th of them with the same path if
        there are more than `most`.
        """
        every = len(self.velocity) // most
        if every < 2:
            return self
        rows = np.concatenate(
            [
                np.arange(begin, end, every)
                for begin, end in pairwise((*self.path.begins, len(self.velocity)))
            ]
        )
        position = np.cumsum(self.path.step)[rows]
        step = np.diff(position, prepend=position[:1])
        begins = np.searchsorted(rows, self.path.begins)
        step[begins] = 0.0
        return self.at(rows, Path(step, begins, self.path.sliding, self.path.since))

    @cached_property
    def groups(self) -> Groups:
        """Block of each compared sample, 0 ... G-1."""
        return np.asarray(np.unique(self.path.blocks[self.used], return_inverse=True)[1])

    @cached_property
    def quarters(self) -> Groups:
        """Quarter of the compared samples of each of them, 0 ... 3, in the order of time."""
        count = int(self.used.sum())
        return np.asarray(np.arange(count) * 4 // max(1, count))


@dataclass(frozen=True)
class Levels:
    """Dry and viscous part of a law along the samples.

    Attributes
    ----------
    dry : ndarray, shape (M,)
        Dry level, positive.
    dry_slopes : ndarray, shape (p, M)
        Derivatives by the parameters of the law, and by the coefficients of the columns along it.
    viscous : ndarray, shape (M,)
        Viscous part, signed.
    viscous_slopes : ndarray, shape (p, M)
        Derivatives by the same parameters.
    """

    dry: Array
    dry_slopes: Array
    viscous: Array
    viscous_slopes: Array

    @classmethod
    def of(cls, data: MemoryData, law: Law, values: Mapping[str, float]) -> "Levels":
        """Return the levels of a law with these parameter values."""
        names, columns = columns_of(data, law, values)
        dry = np.array([not name.startswith("viscous") for name in names])
        at = np.array([values[name] for name in names])
        by_dry, by_all = columns[dry], columns
        waves = np.stack(list(data.along.values())) if data.along else by_all[:0]
        level, sign = (
            at[dry] @ by_dry + np.array([values[name] for name in data.along]) @ waves,
            np.sign(data.velocity),
        )
        viscous = at[~dry] @ columns[~dry]
        dry_slopes, viscous_slopes = [], []
        for name in law.nonlinear:
            step = _SMALL * values[name]
            change = [
                columns_of(data, law, {**values, name: values[name] + side})[1]
                for side in (step, -step)
            ]
            slope = (change[0] - change[1]) / (2.0 * step)
            dry_slopes.append(at[dry] @ slope[dry])
            viscous_slopes.append(sign * (at[~dry] @ slope[~dry]))
        return cls(
            level,
            np.stack([*(by_all * dry[:, None]), *dry_slopes, *waves]),
            sign * viscous,
            np.stack([*(sign * by_all * ~dry[:, None]), *viscous_slopes, *(0.0 * waves)]),
        )


def columns_of(
    data: MemoryData, law: Law, values: Mapping[str, float]
) -> tuple[tuple[str, ...], Array]:
    """Return names and columns of the linear parameters of a law at
    positive speed, shape (p, M).
    """
    names = law.linear + (law.with_load if data.load is not None else ())
    return names, law.columns(
        data.speed, data.load, {name: values[name] for name in law.nonlinear}
    ).T
