"""What all plausible laws together say: a mixture of normal distributions, one a law and value of its nonlinear parameters."""

from collections.abc import Callable, Mapping, Sequence
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

LOW = 0.3               # of the fastest speed: an excess that fades above it is rather curvature of the viscous part;
_LEVELS = 0.25          # and one that fades above this, and may be none, leaves no level that is Coulomb friction of other laws
_BEYOND = 1.5           # standard deviations by which an excess exceeds zero; one that is cut at zero has about one;
_DOUBT = 2.5            # and by which one is beyond doubt
_SPEEDS = 24            # at which curves are compared
_STEPS, _FAR = 48, 9.0   # bisections for a quantile, and standard deviations within which it is sought
_NOTHING = 1e-6         # part of the greatest weight below which a component is left out of quantiles


@dataclass(frozen=True)
class Normals:
    """A quantity, or one at several places, under a mixture.

    Attributes
    ----------
    weight : ndarray, shape (K,)
        Add up to 1.
    mean, deviation : ndarray, shape (K, ...)
        Of each of the normal distributions.
    """

    weight: Array
    mean: Array
    deviation: Array

    def quantile(self, level: float) -> Array:
        """The value below which this part of the mixture lies, shape (...)."""
        weight, mean, deviation = self._that_count
        low, high = (mean - _FAR * deviation).min(axis=0), (mean + _FAR * deviation).max(axis=0)
        return _bisected(low, high, lambda at: np.tensordot(weight, ndtr((at - mean) / deviation), axes=1) < level)

    def reach(self, centre: Array, level: float) -> Array:
        """How far from a centre to both sides this part of the mixture lies, shape (...)."""
        weight, mean, deviation = self._that_count
        apart = mean - centre

        def less(at: Array) -> NDArray[np.bool_]:
            inside = ndtr((at - apart) / deviation) - ndtr((-at - apart) / deviation)
            return np.asarray(np.tensordot(weight, inside, axes=1) < level)

        return _bisected(np.zeros(apart.shape[1:]), (np.abs(apart) + _FAR * deviation).max(axis=0), less)

    @property
    def _that_count(self) -> tuple[Array, Array, Array]:
        """Weights, means and deviations without components of next to no weight."""
        keep = self.weight > _NOTHING * self.weight.max()
        return self.weight[keep] / self.weight[keep].sum(), self.mean[keep], np.maximum(self.deviation[keep], 1e-300)


def _bisected(low: Array, high: Array, less: Callable[[Array], NDArray[np.bool_]]) -> Array:
    """Where a rising function, of which `less` says whether it is still below what is sought, passes it, shape (...)."""
    for _ in range(_STEPS):
        middle = (low + high) / 2.0
        below = less(middle)
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray((low + high) / 2.0)


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
        return float(sum(weight[_fades(one, LOW) & _exceeds(one, _BEYOND)].sum()
                         for one, weight in zip(self.evidences, self.weights, strict=True) if one.law.knee))

    @cached_property
    def rising_share(self) -> float:
        """Of laws whose friction never falls with speed."""
        return sum(share for one, share in zip(self.evidences, self.shares, strict=True) if not one.law.knee)

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

    def friction(self, law: str = "") -> Normals:
        """Friction at the speeds under all laws, or under one."""
        chosen = [k for k, one in enumerate(self.evidences) if law in ("", one.law.name)]
        means, deviations = [], []
        for one in (self.evidences[k] for k in chosen):
            columns = one.law.columns(self.speeds, self.load, one.grid, one.data.components)
            p = columns.shape[-1]
            columns = np.broadcast_to(columns, (len(one.log), *columns.shape[-2:]))         # (K, speeds, p)
            means.append(np.einsum("ksi,ki->ks", columns, one.mean[:, :p]))
            variance = np.einsum("ksi,kij,ksj->ks", columns, one.covariance[:, :p, :p], columns, optimize=True)
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
        """Of a law's friction from what is expected, in standard deviations of that, root mean square over the speeds."""
        expected, deviation = self.expected
        data = self.evidences[0].data
        own = law.torque(self.speeds, {name: values[name] for name in law.parameters(data.load is not None, data.components)},
                         self.load)
        return float(np.sqrt(np.mean(((own - expected) / np.maximum(deviation, 1e-300)) ** 2)))

    def parameter(self, name: str, law: str = "") -> Normals | None:
        """A linear parameter under the laws that have it, or under one law; None where none has.

        Levels below an excess that fades only at high speed count where the excess is beyond doubt: elsewhere they are what the
        excess is not, which the data leave open.
        """
        weight, mean, variance = [np.empty(0)], [np.empty(0)], [np.empty(0)]
        for one, own in zip(self.evidences, self.weights, strict=True):
            names = linear_names(one.data, one.law)
            if name in names and law in ("", one.law.name):
                i, rows = names.index(name), _fades(one, _LEVELS) | _exceeds(one, _DOUBT) if one.law.knee else slice(None)
                weight.append(own[rows])
                mean.append(one.mean[rows, i])
                variance.append(one.covariance[rows, i, i])
        total = np.concatenate(weight)
        if total.sum() <= 0.0:
            return None
        return Normals(total / total.sum(), np.concatenate(mean), np.sqrt(np.maximum(0.0, np.concatenate(variance))))


def _fades(one: Evidence, low: float) -> NDArray[np.bool_]:
    """At which values of its nonlinear parameters a law's excess fades below this part of the fastest speed, shape (K,)."""
    return np.asarray(one.grid[one.law.knee] <= low * np.abs(one.data.w).max())


def _exceeds(one: Evidence, deviations: float) -> NDArray[np.bool_]:
    """At which values static friction is more than Coulomb friction by so many deviations, at the middle load, shape (K,)."""
    load = np.atleast_1d(np.median(one.data.load, axis=0)) if one.data.load is not None else np.ones(1)
    direction = np.zeros(one.mean.shape[1])
    for i, name in enumerate(linear_names(one.data, one.law)):
        sign = float(name.startswith(STATIC.name)) - float(name.startswith(COULOMB.name))
        part = next((k for k, component in enumerate(one.data.components) if name.endswith(f"_{component}")), 0)
        direction[i] = sign * (load[part] if "_coefficient" in name else 1.0)
    excess = one.mean @ direction
    variance = np.einsum("i,kij,j->k", direction, one.covariance, direction)
    return np.asarray(excess > deviations * np.sqrt(np.maximum(0.0, variance)))
