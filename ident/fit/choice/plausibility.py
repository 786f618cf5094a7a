r"""How plausible a law is at each value of its nonlinear parameters, whatever its linear ones are.

For given nonlinear parameters a law is linear, and with Gaussian noise the likelihood of the torques, averaged over what its
linear parameters may be beforehand, has a closed form: the marginal likelihood. It is the density of all torques predicted one
after the other, each by those before it, so it judges prediction, and a law pays for each parameter that the data do not need.

What linear parameters may be beforehand: none is negative, static friction is at least Coulomb friction, and each alone brings no
more than the friction that was met (half a normal distribution). The noise is estimated, too, so that a misfit counts by
Student's distribution.

References
----------
MacKay, Neural Computation 4 (1992) 415; Mendell and Elston, Biometrics 30 (1974) 41, for probabilities of several signs at once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, log_ndtr, logsumexp

from stribeck.ident.arrays import Array
from stribeck.ident.fit.group_sums import symmetric_inverse
from stribeck.ident.fit.law_on_points import linear_names
from stribeck.ident.fit.noise import Noise
from stribeck.ident.fit.points import FitPoints
from stribeck.ident.fit.search_range import search_axes
from stribeck.ident.fit.variable_projection import Moments
from stribeck.ident.laws.law import Law
from stribeck.ident.laws.quantity import COULOMB, STATIC

_EXCESS = 0.5           # static over Coulomb friction, as a part of the friction met: its prior deviation


@dataclass(frozen=True)
class Evidence:
    """A law at K values of its nonlinear parameters.

    Attributes
    ----------
    law : Law
    data : FitPoints
        What it was judged by.
    grid : mapping of str to ndarray, shape (K,)
        The nonlinear parameters.
    volume : ndarray, shape (K,)
        What part of the search each value stands for, in the logarithm.
    log : ndarray, shape (K,)
        Logarithm of the marginal likelihood, up to a constant that is the same for all laws, times this part.
    mean : ndarray, shape (K, p)
        Of the linear parameters, then of the nuisance.
    covariance : ndarray, shape (K, p, p)
        The same.
    """

    law: Law
    data: FitPoints
    grid: Mapping[str, Array]
    volume: Array
    log: Array
    mean: Array
    covariance: Array

    @property
    def total(self) -> float:
        """Logarithm of the law's marginal likelihood."""
        return float(logsumexp(self.log))

    def without(self, rows: NDArray[np.bool_]) -> "Evidence":
        """At the other values."""
        left = ~rows
        return replace(self, grid={name: values[left] for name, values in self.grid.items()}, volume=self.volume[left],
                       log=self.log[left], mean=self.mean[left], covariance=self.covariance[left])

    def joined(self, other: "Evidence") -> "Evidence":
        """At the values of both."""
        return replace(self, grid={name: np.append(values, other.grid[name]) for name, values in self.grid.items()},
                       volume=np.append(self.volume, other.volume), log=np.append(self.log, other.log),
                       mean=np.concatenate((self.mean, other.mean)),
                       covariance=np.concatenate((self.covariance, other.covariance)))


_FINER = {1: 5, 2: 5}   # by the number of axes: into how many parts a cell of the search is divided on each; else 3,
_TOO_MUCH = 0.2         # where one alone holds more than this part of all,
_TIMES = 3              # so often at most
_HOPELESS = 12.0        # by which the logarithm of a law's likelihood is too small for a closer look


@dataclass(frozen=True)
class Judge:
    """What all laws for the same points are judged by.

    Attributes
    ----------
    noise : Noise
        Of round trips.
    misfit : float
        Sum of squared whitened residuals of a law that fits well.
    freedom : float
        Degrees of freedom of the noise.
    trips : float
        How many independent round trips the points are worth.
    """

    noise: Noise
    misfit: float
    freedom: float
    trips: float

    def weigh(self, wholes: Sequence[Moments], best: float = -np.inf) -> list[Evidence]:
        """Evidence of laws over the grids of their search; a closer look at those that are not far less plausible than the best.

        `best` is the logarithm of the likelihood of a law that is known already.
        """
        rough = [self.at(whole, np.full(len(whole.sums), -np.log(len(whole.sums)))) for whole in wholes]
        best = max(best, *(one.total for one in rough))
        return [self._closer(one) if one.total > best - _HOPELESS else one for one in rough]

    def _closer(self, rough: Evidence) -> Evidence:
        """With cells divided where a single one holds much: the posterior may be narrower than the grid."""
        law, data = rough.law, rough.data
        if not law.nonlinear:
            return rough
        step = np.array([np.log(axis[1] / axis[0]) for axis in search_axes(data, law).values()])
        finer = _FINER.get(len(step), 3)
        for _ in range(_TIMES):
            share = np.exp(rough.log - rough.total)
            k = int(np.argmax(share))
            if share[k] < _TOO_MUCH:
                break
            at = np.log(np.column_stack([rough.grid[name] for name in law.nonlinear]))
            inside = (np.abs(at - at[k]) < 1.5 * step).all(axis=1)          # finest cells: it, and those beside it
            part = step[None] * ((np.arange(finer) - (finer - 1) / 2.0) / finer)[:, None]
            moved = np.stack(np.meshgrid(*part.T, indexing="ij"), axis=-1).reshape(-1, len(step))
            there = np.exp((at[inside][:, None] + moved).reshape(-1, len(step)))
            volume = np.repeat(rough.volume[inside], len(moved)) - np.log(len(moved))
            close = self.at(Moments.of(data, law, dict(zip(law.nonlinear, there.T, strict=True))), volume)
            rough, step = rough.without(inside).joined(close), step / finer
        return rough

    def at(self, whole: Moments, volume: Array) -> Evidence:
        """At values of the nonlinear parameters that stand for parts of what was searched, in the logarithm, shape (K,) each."""
        data, law = whole.data, whole.law
        names, free = linear_names(data, law), len(data.nuisance)
        p, steps = len(names), _steps(data, law)
        total = steps.T @ whole.total(self.noise) @ steps
        deviation = _prior_deviations(whole) * np.append(_parts(names[: p - free]), np.ones(free))
        # in units of the deviations beforehand: x ~ N(0, 1), cut at zero but for the nuisance
        gram = total[:, :p, :p] * deviation[:, :, None] * deviation[:, None, :] + np.eye(p)
        right = total[:, :p, p] * deviation
        covariance = symmetric_inverse(gram, 1e-14)
        mean = np.einsum("kij,kj->ki", covariance, right)
        misfit = total[:, p, p] - np.einsum("ki,ki->k", mean, right)
        inside, mean, covariance = _signed(mean, covariance, p - free)
        student = -0.5 * (self.trips + 1.0) * np.log1p(np.maximum(1e-9 - self.freedom, misfit - self.misfit) / self.freedom)
        log = student - 0.5 * np.linalg.slogdet(gram)[1] + inside + (p - free) * np.log(2.0) + volume
        own = steps[:p, :p] * deviation[:, None, :]
        return Evidence(law, data, whole.grid, volume, log, np.einsum("kij,kj->ki", own, mean),
                        own @ covariance @ np.swapaxes(own, -1, -2))


def _steps(data: FitPoints, law: Law) -> Array:
    """Parameters from those in which static friction is what it is more than Coulomb friction; the torque is last."""
    names = linear_names(data, law)
    steps = np.eye(len(names) + 1)
    for row, name in enumerate(names):
        if name.startswith(STATIC.name) and (level := COULOMB.name + name.removeprefix(STATIC.name)) in names:
            steps[row, names.index(level)] = 1.0
    return steps


def _parts(names: tuple[str, ...]) -> Array:
    """Prior deviations of the law's linear parameters, as parts of the friction that was met, shape (p,)."""
    return np.array([_EXCESS if name.startswith(STATIC.name) else 1.0 for name in names])


def _prior_deviations(whole: Moments) -> Array:
    """Values of each linear parameter that alone bring the friction that was met, shape (K, p)."""
    data, law = whole.data, whole.law
    met = float(np.abs(np.bincount(data.group, data.tau if data.count is None else data.count * data.tau) / data.samples).max())
    speed = np.array([np.abs(data.w).min(), np.abs(data.w).max()])
    load = None if data.load is None else np.broadcast_to(data.load.max(axis=0), (2, *data.load.shape[1:]))
    columns = law.columns(speed, load, whole.grid, data.components)
    most = np.abs(columns.reshape(-1, 2, columns.shape[-1])).max(axis=1)
    most = np.broadcast_to(most, (len(whole.sums), most.shape[1]))
    beside = np.array([np.abs(column).max() for column in data.nuisance.values()])
    return met / np.maximum(np.column_stack((most, np.tile(beside, (len(most), 1)))), 1e-12)


def _signed(mean: Array, covariance: Array, signed: int) -> tuple[Array, Array, Array]:
    """Probability that the first `signed` of normal variables are positive, in the logarithm, and their moments if they are.

    One variable after the other is cut at zero, which moves those that are correlated with it (Mendell and Elston).
    """
    mean, covariance, log = mean.copy(), covariance.copy(), np.zeros(len(mean))
    for i in range(signed):
        deviation = np.sqrt(np.maximum(covariance[:, i, i], 1e-300))
        at = mean[:, i] / deviation
        log += log_ndtr(at)
        ratio = np.sqrt(2.0 / np.pi) / np.maximum(erfcx(-at / np.sqrt(2.0)), 1e-300)          # density over probability
        along = covariance[:, :, i] / deviation[:, None]
        mean += along * ratio[:, None]
        covariance -= along[:, :, None] * along[:, None, :] * np.clip(ratio * (ratio + at), 0.0, 1.0 - 1e-9)[:, None, None]
    return log, mean, covariance
