r"""Plausibility of a law at each value of its nonlinear parameters: the marginal likelihood
over its linear parameters.

For given nonlinear parameters a law is linear. With Gaussian noise, the likelihood of the torques,
averaged over the prior of the linear parameters, has a closed form: the marginal likelihood. It
equals the density of all torques, each predicted from those before it. So it judges prediction, and
penalises each parameter that the data do not need.

Prior of the linear parameters: none is negative, static friction is at least Coulomb friction, and
each is half normal with a deviation at which it alone gives the measured friction. The noise is
estimated, too, so the misfit enters through Student's distribution.

References
----------
MacKay, Neural Computation 4 (1992) 415; Mendell and Elston, Biometrics 30 (1974) 41, for
probabilities of several signs at once.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, log_ndtr, logsumexp

from stribeck.ident.arrays import Array
from stribeck.ident.fit.group_sums import symmetric_inverse
from stribeck.ident.fit.law_on_points import columns_at, linear_names
from stribeck.ident.fit.noise import Noise
from stribeck.ident.fit.points import FitPoints
from stribeck.ident.fit.search_range import search_axes
from stribeck.ident.fit.variable_projection import Moments
from stribeck.ident.laws.law import Law
from stribeck.ident.laws.quantity import COULOMB, STATIC

# prior deviation of static minus Coulomb friction, as a part of the measured friction
_EXCESS = 0.5


@dataclass(frozen=True)
class Evidence:
    """A law at K values of its nonlinear parameters.

    Attributes
    ----------
    law : Law
    data : FitPoints
        Points for which the law was weighed.
    grid : mapping of str to ndarray, shape (K,)
        The nonlinear parameters.
    volume : ndarray, shape (K,)
        Logarithm of the part of the search range that each value represents.
    log : ndarray, shape (K,)
        Logarithm of marginal likelihood times this part, up to a constant that
        is the same for all laws.
    mean : ndarray, shape (K, p)
        Mean of the linear parameters, then of the nuisance parameters.
    covariance : ndarray, shape (K, p, p)
        Covariance of the same.
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
        """Return the evidence at the other values."""
        left = ~rows
        return replace(
            self,
            grid={name: values[left] for name, values in self.grid.items()},
            volume=self.volume[left],
            log=self.log[left],
            mean=self.mean[left],
            covariance=self.covariance[left],
        )

    def joined(self, other: "Evidence") -> "Evidence":
        """Return the evidence at the values of both."""
        return replace(
            self,
            grid={name: np.append(values, other.grid[name]) for name, values in self.grid.items()},
            volume=np.append(self.volume, other.volume),
            log=np.append(self.log, other.log),
            mean=np.concatenate((self.mean, other.mean)),
            covariance=np.concatenate((self.covariance, other.covariance)),
        )


# number of axes -> parts into which a cell of the search is divided on each axis; else 3
_FINER = {1: 5, 2: 5}
_TOO_MUCH = 0.2  # share of a single cell from which it is divided,
_TIMES = 3  # at most so often
_HOPELESS = 12.0  # difference to the best log likelihood from which a law is not refined


@dataclass(frozen=True)
class Judge:
    """Common noise model by which all laws for the same points are weighed.

    Attributes
    ----------
    noise : Noise
        Noise of round trips.
    misfit : float
        Sum of squared whitened residuals of a law that fits well.
    freedom : float
        Degrees of freedom of the noise estimate.
    trips : float
        Effective number of independent round trips.
    """

    noise: Noise
    misfit: float
    freedom: float
    trips: float

    def weigh(self, wholes: Iterable[Moments], best: float = -np.inf) -> list[Evidence]:
        """Return the evidence of laws over their search grids, refined for laws that are not
        hopeless against the best.

        `best` is the log likelihood of the best law that is known already.
        """
        # keeps no reference to sums, which may be large
        rough = list(map(self._over_grid, wholes))
        best = max(best, *(one.total for one in rough))
        return [self._closer(one) if one.total > best - _HOPELESS else one for one in rough]

    def _over_grid(self, whole: Moments) -> Evidence:
        return self.at(whole, np.full(len(whole.sums), -np.log(len(whole.sums))))

    def _closer(self, rough: Evidence) -> Evidence:
        """Divide cells that hold a large share, because the posterior may
        be narrower than the grid.
        """
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
            # finest cells: this cell and its neighbours
            inside = (np.abs(at - at[k]) < 1.5 * step).all(axis=1)
            part = step[None] * ((np.arange(finer) - (finer - 1) / 2.0) / finer)[:, None]
            moved = np.stack(np.meshgrid(*part.T, indexing="ij"), axis=-1).reshape(-1, len(step))
            there = np.exp((at[inside][:, None] + moved).reshape(-1, len(step)))
            volume = np.repeat(rough.volume[inside], len(moved)) - np.log(len(moved))
            close = self.at(
                Moments.of(data, law, dict(zip(law.nonlinear, there.T, strict=True))), volume
            )
            rough, step = rough.without(inside).joined(close), step / finer
        return rough

    def at(self, whole: Moments, volume: Array) -> Evidence:
        """Return the evidence at values of the nonlinear parameters; `volume`: log of the part
        that each represents, (K,).
        """
        data, law = whole.data, whole.law
        names, free = linear_names(data, law), len(data.nuisance)
        p, steps = len(names), _steps(data, law)
        total = steps.T @ whole.total(self.noise) @ steps
        deviation = _prior_deviations(whole) * np.append(_parts(names[: p - free]), np.ones(free))
        # in units of the prior deviations: x ~ N(0, 1), cut at zero except for nuisance parameters
        gram = total[:, :p, :p] * deviation[:, :, None] * deviation[:, None, :] + np.eye(p)
        right = total[:, :p, p] * deviation
        # a column of zeros with a prior would outweigh all others
        size = np.sqrt(np.diagonal(gram, axis1=1, axis2=2))
        both = size[:, :, None] * size[:, None, :]
        covariance = symmetric_inverse(gram / both, 1e-14) / both
        mean = np.einsum("kij,kj->ki", covariance, right)
        misfit = total[:, p, p] - np.einsum("ki,ki->k", mean, right)
        inside, mean, covariance = _signed(mean, covariance, p - free)
        rise = np.maximum(1e-9 - self.freedom, misfit - self.misfit)
        student = -0.5 * (self.trips + 1.0) * np.log1p(rise / self.freedom)
        log = (
            student - 0.5 * np.linalg.slogdet(gram)[1] + inside + (p - free) * np.log(2.0) + volume
        )
        own = steps[:p, :p] * deviation[:, None, :]
        return Evidence(
            law,
            data,
            whole.grid,
            volume,
            log,
            np.einsum("kij,kj->ki", own, mean),
            own @ covariance @ np.swapaxes(own, -1, -2),
        )


def _steps(data: FitPoints, law: Law) -> Array:
    """Return the matrix from parameters with static minus Coulomb friction to parameters with
    static friction; torque last.
    """
    names = linear_names(data, law)
    steps = np.eye(len(names) + 1)
    for row, name in enumerate(names):
        if (
            name.startswith(STATIC.name)
            and (level := COULOMB.name + name.removeprefix(STATIC.name)) in names
        ):
            steps[row, names.index(level)] = 1.0
    return steps


def _parts(names: tuple[str, ...]) -> Array:
    """Return the prior deviations of the law's linear parameters, as parts of the
    measured friction, shape (p,).
    """
    return np.array([_EXCESS if name.startswith(STATIC.name) else 1.0 for name in names])


def _prior_deviations(whole: Moments) -> Array:
    """Return the value of each linear parameter that alone gives the
    measured friction, shape (K, p).
    """
    data, law = whole.data, whole.law
    torque = data.tau if data.count is None else data.count * data.tau
    met = float(np.abs(np.bincount(data.group, torque) / data.samples).max())
    speed = np.array([np.abs(data.w).min(), np.abs(data.w).max()])
    load = (
        None
        if data.load is None
        else np.broadcast_to(data.load.max(axis=0), (2, *data.load.shape[1:]))
    )
    columns = columns_at(data, law, speed, load, whole.grid)
    most = np.abs(columns.reshape(-1, 2, columns.shape[-1])).max(axis=1)
    most = np.broadcast_to(most, (len(whole.sums), most.shape[1]))
    beside = np.array([np.abs(column).max() for column in data.nuisance.values()])
    return met / np.maximum(np.column_stack((most, np.tile(beside, (len(most), 1)))), 1e-12)


def _signed(mean: Array, covariance: Array, signed: int) -> tuple[Array, Array, Array]:
    """Return the log probability that the first `signed` normal variables are positive, and the
    moments given that they are.

    Variables are cut at zero one after the other; each cut changes the variables correlated
    with it (Mendell and Elston).
    """
    mean, covariance, log = mean.copy(), covariance.copy(), np.zeros(len(mean))
    for i in range(signed):
        deviation = np.sqrt(np.maximum(covariance[:, i, i], 1e-300))
        at = mean[:, i] / deviation
        log += log_ndtr(at)
        # density over probability
        ratio = np.sqrt(2.0 / np.pi) / np.maximum(erfcx(-at / np.sqrt(2.0)), 1e-300)
        along = covariance[:, :, i] / deviation[:, None]
        mean += along * ratio[:, None]
        known = np.clip(ratio * (ratio + at), 0.0, 1.0 - 1e-9)
        covariance -= along[:, :, None] * along[:, None, :] * known[:, None, None]
    return log, mean, covariance
