"""Points of one joint for fits: velocity, friction torque, load, round trips, and nuisance columns.

Friction is odd in velocity, so both directions fold onto positive speeds. Nearly equal points of
a round trip are averaged if there are very many; their scatter is kept. Points with very
different scatter are weighted.

A point of general motion is a filtered mean of many samples. A law is a curve over speed and
linear in the load: it is computed at nodes that are one hundredth of the speed apart, and
interpolated linearly between nodes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array, diags_array, hstack

from stribeck.ident.arrays import Array, Groups

# prefix of nuisance columns for the uncertainty of the model; they have no unit
DOUBT = "model_"
# number of points from which nearly equal points of a round trip are averaged
_MANY = 4096
# largest differences of points that count as equal: in the logarithm of
# speed, in load over its range
_ALIKE = (0.01, 0.005)


# whether friction levels that grow with a load have a constant part, too
CONSTANT = ("fit", "none")


@dataclass(frozen=True)
class Growth:
    """How friction grows with a load, as far as the user says.

    Attributes
    ----------
    load : str
        The load; with "auto" it is sought.
    constant : bool
        Whether a level that grows with a load has a constant part, too.
    """

    load: str = "auto"
    constant: bool = True


ANY = Growth()


@dataclass(frozen=True)
class FitPoints:
    """Points of one joint.

    Attributes
    ----------
    w : ndarray, shape (M,)
        Signed velocity of the samples; without `seen`, the samples are the points.
    tau : ndarray, shape (N,)
        Friction torque of the points.
    load : ndarray, shape (M,) or (M, m), optional
        Load that coefficients multiply; with `components`, a column for each.
    group : ndarray of int, shape (N,)
        Round trips 0 ... G-1.
    nuisance : mapping of str to ndarray, shape (N,)
        Nuisance columns, which explain part of the torque and are fitted, too: name -> column.
    prior : mapping of str to float
        Priors of nuisance parameters: standard deviation about zero.
    prismatic : bool
        Whether the joint slides; decides the units.
    seen : csr_array, shape (N, M), optional
        Filter from samples to points: the torque of a law passes the same
        filter as the measured torque.
    count : ndarray, shape (N,), optional
        Number of samples in each point's mean, or weight of each point (`worth`); default one.
    spread : ndarray, shape (G,), optional
        Sum of squares of the samples' torque about their point, for each round trip; default zero.
    weight : ndarray, shape (G,), optional
        Weight of each round trip, as an inverse variance; default one.
    time : ndarray, shape (G,), optional
        Time of each round trip; default in the order of their numbers.
    run : ndarray of int, shape (G,), optional
        Run of each round trip, in the order of runs; time starts again in
        each run. Default: one run.
    components : tuple of str
        Load components with their own coefficients.
    constant : bool
        Whether a level of friction that grows with a load has a constant part, too.
    """

    w: Array
    tau: Array
    load: Array | None
    group: Groups
    nuisance: Mapping[str, Array] = field(default_factory=dict)
    prior: Mapping[str, float] = field(default_factory=dict)
    prismatic: bool = False
    seen: csr_array | None = None
    count: Array | None = None
    spread: Array | None = None
    weight: Array | None = None
    time: Array | None = None
    run: Groups | None = None
    components: tuple[str, ...] = ()
    constant: bool = True

    @property
    def groups(self) -> int:
        """Number of round trips."""
        return int(self.group.max()) + 1

    @property
    def sign(self) -> Array | None:
        """Direction of motion at the points; None if points are filtered means of samples."""
        return np.sign(self.w) if self.seen is None else None

    @property
    def direction(self) -> Array:
        """Filtered direction of motion at the points, from -1 to 1, shape (N,)."""
        return self.view(np.sign(self.w))

    @property
    def speed(self) -> Array:
        """Filtered speed at the points, shape (N,)."""
        return np.maximum(self.view(np.abs(self.w)), np.abs(self.w).min())  # filters overshoot

    @cached_property
    def samples(self) -> Array:
        """Number of samples of each round trip, shape (G,)."""
        return np.bincount(self.group, self.count).astype(float)

    def view(self, values: Array) -> Array:
        """Filter values of the samples (M, ...) to values of the points (N, ...)."""
        return values if self.seen is None else np.asarray(self.seen @ values)

    def folded(self) -> "FitPoints":
        """Return the points sorted by round trip, with both directions
        folded onto positive velocity.

        Friction is odd in velocity; the error that a round trip shares is a level
        of friction, thus odd, too.
        """
        order = np.argsort(self.group, kind="stable")
        if self.seen is not None:
            return replace(
                self,
                tau=self.tau[order],
                group=self.group[order],
                seen=self.seen[order],
                count=None if self.count is None else self.count[order],
                nuisance={name: column[order] for name, column in self.nuisance.items()},
            )
        sign = np.sign(self.w[order])
        return replace(
            self,
            w=np.abs(self.w[order]),
            tau=sign * self.tau[order],
            group=self.group[order],
            count=None if self.count is None else self.count[order],
            load=None if self.load is None else self.load[order],
            nuisance={name: sign * column[order] for name, column in self.nuisance.items()},
        )

    def condensed(self) -> "FitPoints":
        """Return folded points; nearly equal points of a round trip are averaged if there are
        many, samples put on nodes.
        """
        data = self.folded()
        if self.seen is not None:
            return data.at_nodes()
        if len(self.tau) <= _MANY or self.count is not None:
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
        return replace(
            data,
            w=mean(data.w),
            tau=tau,
            load=None if data.load is None else mean(data.load),
            group=group,
            nuisance={name: mean(column) for name, column in data.nuisance.items()},
            count=count,
            spread=np.bincount(group, apart).astype(float),
        )

    def at_nodes(self) -> "FitPoints":
        """Return filtered points with the many samples replaced by a few
        velocities and loads (nodes).
        """
        if self.seen is None or self.components:
            return self
        speed = np.abs(self.w)
        low, high = float(speed.min()), float(speed.max())
        steps = max(1, int(np.ceil(np.log(high / low) / _ALIKE[0]))) if low > 0.0 else len(speed)
        if 4 * steps > len(speed):
            return self
        nodes = np.geomspace(low, high, steps + 1)
        k = np.clip(np.searchsorted(nodes, speed, side="right") - 1, 0, steps - 1)
        part = (
            np.clip((speed - nodes[k]) / np.diff(nodes)[k], 0.0, 1.0)
            if high > low
            else np.zeros(len(speed))
        )
        column = k + np.where(self.w < 0.0, steps + 1, 0)
        between = csr_array(
            (
                np.column_stack((1.0 - part, part)).ravel(),
                np.column_stack((column, column + 1)).ravel(),
                2 * np.arange(len(speed) + 1),
            ),
            shape=(len(speed), 2 * len(nodes)),
        )
        w = np.append(nodes, -nodes)
        if self.load is None:
            return replace(self, w=w, seen=csr_array(self.seen @ between))
        least, most = float(self.load.min()), float(self.load.max())
        pressed = (self.load - least) / (most - least) if most > least else np.zeros(len(speed))
        seen = hstack(
            [self.seen @ diags_array(share) @ between for share in (1.0 - pressed, pressed)],
            format="csr",
        )
        return replace(
            self, w=np.tile(w, 2), load=np.repeat((least, most), len(w)), seen=csr_array(seen)
        )


# deviation of the scatter's logarithm within round trips from which points are weighted,
_UNLIKE = 0.5
_FLOOR = 0.01  # and least scatter, as a part of the median


def worth(std: Array, group: Groups) -> Array | None:
    """Return the weight of each point within its round trip, from the scatter of its samples, shape
    (N,); None if all are alike.

    The weight is the inverse variance, with mean 1 over each round trip: the weight of a round trip
    follows from its level. If scatter differs by less than `_UNLIKE`, weights do more harm
    (uncertainty of the scatter, ripple) than good.
    """
    level = np.log(np.maximum(std, _FLOOR * max(float(np.median(std)), 1e-300)))
    samples = np.bincount(group)
    about = level - (np.bincount(group, level) / samples)[group]
    if float(np.sqrt(np.mean(about**2))) < _UNLIKE:
        return None
    weight = np.exp(-2.0 * about)
    return np.asarray(weight / (np.bincount(group, weight) / samples)[group])
