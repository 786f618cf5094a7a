"""What all plausible laws together say: a mixture of normal distributions, one a law and value of its nonlinear parameters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from stribeck.ident.arrays import Array
from stribeck.ident.fit.choice.plausibility import Evidence
from stribeck.ident.fit.law_on_points import linear_names
from stribeck.ident.laws.law import Law
from stribeck.ident.laws.quantity import COULOMB, STATIC

LOW = 0.25              # of the fastest speed: an excess that fades above it is rather curvature of the viscous part
_BEYOND = 1.5           # standard deviations by which an excess exceeds zero; one that is cut at zero has about one
_SPEEDS = 24            # at which curves are compared
_STEPS = 48             # bisections for a quantile


@dataclass(frozen=True)
class Normals:
    """A quantity under a mixture, shape (K,) each: weights that add up to 1, means and standard deviations."""

    weight: Array
    mean: Array
    deviation: Array

    def quantile(self, level: float) -> float:
        """The value below which this part of the mixture lies."""
        low, high = (float(end) for end in ((self.mean - 9.0 * self.deviation).min(), (self.mean + 9.0 * self.deviation).max()))
        for _ in range(_STEPS):
            middle = (low + high) / 2.0
            below = float(self.weight @ ndtr((middle - self.mean) / np.maximum(self.deviation, 1e-300)))
            low, high = (middle, high) if below < level else (low, middle)
        return (low + high) / 2.0


@dataclass(frozen=True)
class Mixture:
    """Laws for the same points, each at all values of its nonlinear parameters.

    Attributes
    ----------
    evidences : sequence of Evidence
        A law each.
    """

    evidences: Sequence[Evidence]

    @cached_property
    def weights(self) -> list[Array]:
        """Of each law at each value, shape (K,); together they add up to 1.

        Laws whose friction falls from a level at low speed weigh as much beforehand as those without, laws of a kind alike, and
        values of a law alike.
        """
        falling = np.array([bool(one.law.knee) for one in self.evidences])
        log = [one.log - np.log(float((falling == falls).sum()))
               for one, falls in zip(self.evidences, falling.tolist(), strict=True)]
        top = max(float(part.max()) for part in log)
        total = sum(float(np.exp(part - top).sum()) for part in log)
        return [np.exp(part - top) / total for part in log]

    @cached_property
    def shares(self) -> list[float]:
        """Of each law."""
        return [float(part.sum()) for part in self.weights]

    @cached_property
    def stribeck_share(self) -> float:
        """Of laws at values with which friction has an excess at low speed that fades with speed."""
        return float(sum(weight[_fades(one) & _exceeds(one)].sum()
                         for one, weight in zip(self.evidences, self.weights, strict=True) if one.law.knee))

    @cached_property
    def speeds(self) -> Array:
        """Speeds at which curves are compared, over the measured range."""
        speed = np.abs(self.evidences[0].data.w)
        return np.geomspace(float(speed.min()), float(speed.max()), _SPEEDS)

    @cached_property
    def load(self) -> Array | None:
        """The middle one of the loads that were met, at each of the speeds."""
        load = self.evidences[0].data.load
        return None if load is None else np.broadcast_to(np.median(load, axis=0), (_SPEEDS, *load.shape[1:]))

    @cached_property
    def curves(self) -> tuple[Array, Array, Array]:
        """Weights (K,), means and standard deviations (K, speeds) of friction, over all laws."""
        means, deviations = [], []
        for one in self.evidences:
            data, law = one.data, one.law
            columns = law.columns(self.speeds, self.load, one.grid, data.components)          # (K, speeds, p) or (speeds, p)
            p = columns.shape[-1]
            columns = np.broadcast_to(columns, (len(one.log), *columns.shape[-2:]))
            means.append(np.einsum("ksi,ki->ks", columns, one.mean[:, :p]))
            variance = np.einsum("ksi,kij,ksj->ks", columns, one.covariance[:, :p, :p], columns, optimize=True)
            deviations.append(np.sqrt(np.maximum(0.0, variance)))
        return np.concatenate(self.weights), np.concatenate(means), np.concatenate(deviations)

    @cached_property
    def expected(self) -> tuple[Array, Array]:
        """Mean and standard deviation of friction at the speeds."""
        weight, mean, deviation = self.curves
        expected = weight @ mean
        return expected, np.sqrt(weight @ (deviation**2 + (mean - expected) ** 2))

    def distance(self, law: Law, values: Mapping[str, float]) -> float:
        """Of a law's friction from what is expected, in standard deviations of that, root mean square over the speeds."""
        expected, deviation = self.expected
        data = self.evidences[0].data
        own = law.torque(self.speeds, {name: values[name] for name in law.parameters(data.load is not None, data.components)},
                         self.load)
        return float(np.sqrt(np.mean(((own - expected) / np.maximum(deviation, 1e-300)) ** 2)))

    def parameter(self, name: str, law: str = "") -> Normals | None:
        """A linear parameter under the laws that have it, or under one law; None where none has.

        Levels of a law that falls up to high speeds are not those of others: it counts where it falls at low speed.
        """
        parts = []
        for one, weight in zip(self.evidences, self.weights, strict=True):
            names = linear_names(one.data, one.law)
            if name in names and law in ("", one.law.name):
                i, rows = names.index(name), _fades(one) if one.law.knee else slice(None)
                parts.append((weight[rows], one.mean[rows, i], np.sqrt(np.maximum(0.0, one.covariance[rows, i, i]))))
        weight, mean, deviation = (np.concatenate([np.empty(0), *part]) for part in zip(*parts, strict=True)) if parts else 3 * (
            np.empty(0),)
        return Normals(weight / weight.sum(), mean, deviation) if weight.sum() > 0.0 else None


def _fades(one: Evidence) -> NDArray[np.bool_]:
    """At which values of its nonlinear parameters a law's excess fades at low speed, shape (K,)."""
    return np.asarray(one.grid[one.law.knee] <= LOW * np.abs(one.data.w).max())


def _exceeds(one: Evidence) -> NDArray[np.bool_]:
    """At which values static friction is more than Coulomb friction beyond doubt, at the middle load, shape (K,)."""
    load = np.atleast_1d(np.median(one.data.load, axis=0)) if one.data.load is not None else np.ones(1)
    direction = np.zeros(one.mean.shape[1])
    for i, name in enumerate(linear_names(one.data, one.law)):
        sign = float(name.startswith(STATIC.name)) - float(name.startswith(COULOMB.name))
        part = next((k for k, component in enumerate(one.data.components) if name.endswith(f"_{component}")), 0)
        direction[i] = sign * (load[part] if "_coefficient" in name else 1.0)
    excess = one.mean @ direction
    return np.asarray(excess > _BEYOND * np.sqrt(np.maximum(0.0, np.einsum("i,kij,j->k", direction, one.covariance, direction))))
