"""The points of one joint, as fits take them: velocity, friction torque, load, round trips, and what is fitted along.

Friction is odd in velocity, so that both directions fold onto positive speeds; points of a round trip that are nearly alike are
averaged where there are very many, with their scatter kept. Points whose windows scatter very differently are weighted.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from stribeck.ident.arrays import Array, Groups

_MANY = 4096            # points from which alike ones of a round trip are averaged
_ALIKE = (0.01, 0.005)  # by which these differ in the logarithm of speed, and in load as a part of its range


def as_they_are(values: Array) -> Array:
    """The view of points that are samples themselves."""
    return values


@dataclass(frozen=True)
class FitPoints:
    """Points of one joint.

    Attributes
    ----------
    w : ndarray, shape (M,)
        Signed velocity of the samples, which are the points themselves unless `view` says otherwise.
    tau : ndarray, shape (N,)
        Friction torque of the points.
    load : ndarray, shape (M,) or (M, m), optional
        Load that coefficients multiply; a column for each of `components` where there are any.
    group : ndarray of int, shape (N,)
        Round trips 0 ... G-1.
    nuisance : mapping of str to ndarray, shape (N,)
        Further columns that explain part of the torque, fitted along: name -> column.
    prior : mapping of str to float
        What is known of nuisance parameters beforehand: standard deviation about zero.
    prismatic : bool
        Whether the joint slides; decides the units.
    view : callable
        Linear map of values of the samples (M, ...) to values of the points (N, ...): the torque of a law is seen
        through the same filter as the measured torque.
    count : ndarray, shape (N,), optional
        How many samples each point is the mean of, or is worth (`worth`); default one.
    spread : ndarray, shape (G,), optional
        Sum of squares of the samples' torque about their point, of each round trip; default none.
    weight : ndarray, shape (G,), optional
        How much each round trip counts, as the inverse of a variance; default one.
    time : ndarray, shape (G,), optional
        When each round trip was; default one after the other as they are numbered.
    run : ndarray of int, shape (G,), optional
        In which run, in their order; time begins anew in each. Default all in one.
    components : tuple of str
        Components of the load that have coefficients of their own.
    """

    w: Array
    tau: Array
    load: Array | None
    group: Groups
    nuisance: Mapping[str, Array] = field(default_factory=dict)
    prior: Mapping[str, float] = field(default_factory=dict)
    prismatic: bool = False
    view: Callable[[Array], Array] = as_they_are
    count: Array | None = None
    spread: Array | None = None
    weight: Array | None = None
    time: Array | None = None
    run: Groups | None = None
    components: tuple[str, ...] = ()

    @property
    def groups(self) -> int:
        """Number of round trips."""
        return int(self.group.max()) + 1

    @property
    def sign(self) -> Array | None:
        """Direction of motion at the points; none where a point is no sample."""
        return np.sign(self.w) if self.view is as_they_are else None

    @property
    def direction(self) -> Array:
        """Direction of motion as the points see it, from -1 to 1, shape (N,)."""
        return self.view(np.sign(self.w))

    @property
    def speed(self) -> Array:
        """Speed as the points see it, shape (N,)."""
        return np.maximum(self.view(np.abs(self.w)), np.abs(self.w).min())      # filters overshoot

    @cached_property
    def samples(self) -> Array:
        """How many samples each round trip holds, shape (G,)."""
        return np.bincount(self.group, self.count).astype(float)

    def folded(self) -> "FitPoints":
        """The same with the points of each round trip beside each other, and samples of both directions as one.

        Friction is odd in velocity; what a round trip has of its own is a level of friction, thus odd as well.
        """
        order, view = np.argsort(self.group, kind="stable"), self.view
        if view is not as_they_are:
            return replace(self, tau=self.tau[order], group=self.group[order], view=lambda values: view(values)[order],
                           nuisance={name: column[order] for name, column in self.nuisance.items()})
        sign = np.sign(self.w[order])
        return replace(self, w=np.abs(self.w[order]), tau=sign * self.tau[order], group=self.group[order],
                       count=None if self.count is None else self.count[order],
                       load=None if self.load is None else self.load[order],
                       nuisance={name: sign * column[order] for name, column in self.nuisance.items()})

    def condensed(self) -> "FitPoints":
        """Folded, with points of a round trip that are nearly alike averaged where there are very many."""
        data = self.folded()
        if len(self.tau) <= _MANY or self.view is not as_they_are or self.count is not None:
            return data
        cell = np.floor(np.log(data.w) / _ALIKE[0]).astype(np.int64)
        key = data.group * (int(np.ptp(cell)) + 1) + (cell - cell.min())
        for load in () if data.load is None else np.atleast_2d(data.load.T):
            if np.ptp(load) > 0.0:
                part = (load - load.min()) / (_ALIKE[1] * np.ptp(load))
                key = key * round(1.0 + 1.0 / _ALIKE[1]) + part.astype(np.int64)
        order = np.argsort(key, kind="stable") if np.any(np.diff(key) < 0) else slice(None)
        starts = np.flatnonzero(np.diff(key[order], prepend=key[order][0] - 1))
        if len(starts) > len(key) // 2:
            return data
        count = np.diff(starts, append=len(key)).astype(float)

        def mean(values: Array) -> Array:
            return np.asarray((np.add.reduceat(values[order], starts).T / count).T)

        tau, group = mean(data.tau), data.group[starts]
        apart = np.add.reduceat((data.tau[order] - np.repeat(tau, count.astype(int))) ** 2, starts)
        return replace(data, w=mean(data.w), tau=tau, load=None if data.load is None else mean(data.load), group=group,
                       nuisance={name: mean(column) for name, column in data.nuisance.items()}, count=count,
                       spread=np.bincount(group, apart).astype(float))


_UNLIKE = 0.5           # deviation of the scatter's logarithm within round trips from which it weighs points,
_FLOOR = 0.01           # and its least value, as a part of the median


def worth(std: Array, group: Groups) -> Array | None:
    """How much each point counts within its round trip, by the scatter of its window, shape (N,); None where all are much alike.

    The inverse of the variance, with mean 1 over each round trip: what a round trip counts is told by its level. Where scatter
    differs by less than `_UNLIKE` its own uncertainty, and ripple in it, would spoil as much as weights could mend.
    """
    level = np.log(np.maximum(std, _FLOOR * max(float(np.median(std)), 1e-300)))
    samples = np.bincount(group)
    about = level - (np.bincount(group, level) / samples)[group]
    if float(np.sqrt(np.mean(about**2))) < _UNLIKE:
        return None
    weight = np.exp(-2.0 * about)
    return np.asarray(weight / (np.bincount(group, weight) / samples)[group])
