"""Mixture of all laws: one normal distribution for each law and value of its nonlinear parameters,
weighted by plausibility.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize.elementwise import find_root
from scipy.special import ndtr

from stribeck.ident.arrays import Array
from stribeck.ident.fit.choice.plausibility import Evidence
from stribeck.ident.fit.law_on_points import columns_at, linear_names
from stribeck.ident.laws.law import Law
from stribeck.ident.laws.quantity import COULOMB, STATIC

# part of the fastest speed: a low-speed excess that fades above is curvature of the viscous part;
LOW = 0.3
# above this part, the level below an uncertain excess is not comparable with
# other laws' Coulomb friction
_LEVELS = 0.25
# standard deviations by which an excess must exceed zero (a prior cut at zero
# alone gives about one),
_BEYOND = 1.5
_DOUBT = 2.5  # and by which it is beyond doubt
_SPEEDS = 24  # number of speeds at which curves are compared
_FAR = 9.0  # standard deviations within which a quantile is sought
# part of the greatest weight below which a component is left out of quantiles
_NOTHING = 1e-6


@dataclass(frozen=True)
class Normals:
    """Distribution of one or several quantities: a mixture of normal distributions.

    Attributes
    ----------
    weight : ndarray, shape (K,)
        Weights, with sum 1.
    mean, deviation : ndarray, shape (K, ...)
        Mean and standard deviation of each normal distribution.
    """

    weight: Array
    mean: Array
    deviation: Array

    def quantiles(self, levels: Sequence[float]) -> Array:
        """Return the quantiles of the mixture at L levels, shape (L, ...)."""
        weight, mean, deviation = self._that_count
        low, high = (mean - _FAR * deviation).min(axis=0), (mean + _FAR * deviation).max(axis=0)
        shape = len(levels), *low.shape
        each = np.broadcast_to(np.reshape(levels, (-1, *np.ones(low.ndim, dtype=int))), shape)

        def above(at: Array, level: Array, mean: Array, deviation: Array) -> Array:
            return np.asarray(weight @ ndtr((at - mean) / deviation) - level[0])

        return _root(
            np.broadcast_to(low, shape),
            np.broadcast_to(high, shape),
            above,
            each[None],
            *(np.broadcast_to(value[:, None], (len(value), *shape)) for value in (mean, deviation)),
        )

    def reach(self, centre: Array, level: float) -> Array:
        """Return the half width about a centre that contains this part of
        the mixture, shape (...).
        """
        weight, mean, deviation = self._that_count
        apart = mean - centre

        def above(at: Array, apart: Array, deviation: Array) -> Array:
            return np.asarray(
                weight @ (ndtr((at - apart) / deviation) - ndtr((-at - apart) / deviation)) - level
            )

        return _root(
            np.zeros(apart.shape[1:]),
            (np.abs(apart) + _FAR * deviation).max(axis=0),
            above,
            apart,
            deviation,
        )

    @property
    def _that_count(self) -> tuple[Array, Array, Array]:
        """Weights, means and deviations without components of negligible weight."""
        keep = self.weight > _NOTHING * self.weight.max()
        return (
            self.weight[keep] / self.weight[keep].sum(),
            self.mean[keep],
            np.maximum(self.deviation[keep], 1e-300),
        )


def _root(low: Array, high: Array, above: Callable[..., Array], *values: Array) -> Array:
    """Return the root of a rising function from low to high, shape (...); without a change of
    sign, the end nearer to zero.

    ``above(at, *values)`` has the shape of `at`, (M,); `values` have shape
    (K, ...) and here (K, M).
    """
    shape, flat = low.shape, [value.reshape(len(value), -1) for value in values]
    ends = low.ravel(), high.ravel()
    every = np.arange(len(ends[0]))

    def at_some(at: Array, some: NDArray[np.int_]) -> Array:
        return above(at, *(value[:, some] for value in flat))

    found = find_root(at_some, ends, args=(every,))
    nearest = np.where(at_some(ends[1], every) < 0.0, ends[1], ends[0])
    return np.asarray(np.where(found.success, found.x, nearest)).reshape(shape)


@dataclass(frozen=True)
class Mixture:
    """Laws for the same points, each at all values of its nonlinear parameters.

    Attributes
    ----------
    evidences : sequence of Evidence
        Evidence of each law.
    """

    evidences: Sequence[Evidence]

    @cached_property
    def weights(self) -> list[Array]:
        """Weight of each law at each value of its nonlinear parameters, shape (K,) a law;
        the sum over all laws is 1.

        A priori, laws with a Stribeck effect together weigh as much as laws without one, laws of
        the same kind are equally likely, and so are all values of a law.
        """
        falling = np.array([bool(one.law.knee) for one in self.evidences])
        log = [
            one.log - np.log(float((falling == falls).sum()))
            for one, falls in zip(self.evidences, falling.tolist(), strict=True)
        ]
        top = max(float(part.max()) for part in log)
        total = sum(float(np.exp(part - top).sum()) for part in log)
        return [np.exp(part - top) / total for part in log]

    @cached_property
    def shares(self) -> list[float]:
        """Plausibility of each law, with sum 1."""
        return [float(part.sum()) for part in self.weights]

    @cached_property
    def stribeck_share(self) -> float:
        """Plausibility of a Stribeck effect: weight of laws at values with a low-speed
        excess that fades with speed.
        """
        return float(
            sum(
                weight[_fades(one, LOW) & _exceeds(one, _BEYOND)].sum()
                for one, weight in zip(self.evidences, self.weights, strict=True)
                if one.law.knee
            )
        )

    @cached_property
    def rising_share(self) -> float:
        """Plausibility of the laws whose friction never falls with speed."""
        return sum(
            share
            for one, share in zip(self.evidences, self.shares, strict=True)
            if not one.law.knee
        )

    @cached_property
    def speeds(self) -> Array:
        """Speeds at which curves are compared, over the measured range."""
        speed = np.abs(self.evidences[0].data.w)
        return np.geomspace(float(speed.min()), float(speed.max()), _SPEEDS)

    @cached_property
    def load(self) -> Array | None:
        """Median of the measured loads, at each of the speeds."""
        load = self.evidences[0].data.load
        return (
            None
            if load is None
            else np.broadcast_to(np.median(load, axis=0), (_SPEEDS, *load.shape[1:]))
        )

    def friction(self, law: str = "") -> Normals:
        """Return the distribution of friction at the speeds, under all laws or under one law."""
        chosen = [k for k, one in enumerate(self.evidences) if law in ("", one.law.name)]
        means, deviations = [], []
        for one in (self.evidences[k] for k in chosen):
            columns = columns_at(one.data, one.law, self.speeds, self.load, one.grid)
            p = columns.shape[-1]
            # (K, speeds, p)
            columns = np.broadcast_to(columns, (len(one.log), *columns.shape[-2:]))
            means.append(np.einsum("ksi,ki->ks", columns, one.mean[:, :p]))
            variance = np.einsum(
                "ksi,kij,ksj->ks", columns, one.covariance[:, :p, :p], columns, optimize=True
            )
            deviations.append(np.sqrt(np.maximum(0.0, variance)))
        weight = np.concatenate([self.weights[k] for k in chosen])
        return Normals(weight / weight.sum(), np.concatenate(means), np.concatenate(deviations))

    @cached_property
    def expected(self) -> tuple[Array, Array]:
        """Mean and standard deviation of friction at the speeds."""
        each = self.friction()
        expected = each.weight @ each.mean
        return expected, np.sqrt(each.weight @ (each.deviation**2 + (each.mean - expected) ** 2))

    def distance(self, law: Law, values: Mapping[str, float]) -> float:
        """Return the RMS distance of a law's friction from the expectation over the
        speeds, in standard deviations.
        """
        expected, deviation = self.expected
        data = self.evidences[0].data
        own = law.torque(
            self.speeds,
            {name: values[name] for name in law.parameters(data.load is not None, data.components)},
            self.load,
        )
        return float(np.sqrt(np.mean(((own - expected) / np.maximum(deviation, 1e-300)) ** 2)))

    def parameter(self, name: str, law: str = "") -> Normals | None:
        """Return the distribution of a linear parameter under the laws that have it, or under one
        law; None if no law has it.

        If the low-speed excess of a law fades only at high speed, its levels count only if
        the excess is beyond doubt. Otherwise the data do not determine how friction
        divides into level and excess.
        """
        weight, mean, variance = [np.empty(0)], [np.empty(0)], [np.empty(0)]
        for one, own in zip(self.evidences, self.weights, strict=True):
            names = linear_names(one.data, one.law)
            if name in names and law in ("", one.law.name):
                i, rows = (
                    names.index(name),
                    _fades(one, _LEVELS) | _exceeds(one, _DOUBT) if one.law.knee else slice(None),
                )
                weight.append(own[rows])
                mean.append(one.mean[rows, i])
                variance.append(one.covariance[rows, i, i])
        total = np.concatenate(weight)
        if total.sum() <= 0.0:
            return None
        return Normals(
            total / total.sum(),
            np.concatenate(mean),
            np.sqrt(np.maximum(0.0, np.concatenate(variance))),
        )


def _fades(one: Evidence, low: float) -> NDArray[np.bool_]:
    """Return for which values of the nonlinear parameters the excess fades below this part of the
    fastest speed, shape (K,).
    """
    return np.asarray(one.grid[one.law.knee] <= low * np.abs(one.data.w).max())


def _exceeds(one: Evidence, deviations: float) -> NDArray[np.bool_]:
    """Return whether static exceeds Coulomb friction by this many deviations at the median load,
    for each value, shape (K,).
    """
    load = (
        np.atleast_1d(np.median(one.data.load, axis=0)) if one.data.load is not None else np.ones(1)
    )
    direction = np.zeros(one.mean.shape[1])
    for i, name in enumerate(linear_names(one.data, one.law)):
        sign = float(name.startswith(STATIC.name)) - float(name.startswith(COULOMB.name))
        part = next(
            (
                k
                for k, component in enumerate(one.data.components)
                if name.endswith(f"_{component}")
            ),
            0,
        )
        direction[i] = sign * (load[part] if "_coefficient" in name else 1.0)
    excess = one.mean @ direction
    variance = np.einsum("i,kij,j->k", direction, one.covariance, direction)
    return np.asarray(excess > deviations * np.sqrt(np.maximum(0.0, variance)))
