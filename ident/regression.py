r"""Least squares on clustered data: noise model, whitening, covariance and intervals.

Residuals of one round trip share a level of their own, often proportional to friction. The noise model is
therefore a variance within round trips and one between them; whitening by it makes least squares nearly
efficient, and the covariance leaves out one round trip at a time, so that intervals stay honest where the
noise model is wrong.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from ident.mechanism import Array

Groups = NDArray[np.int_]
_FLOOR = 1e-6          # least noise, as a fraction of the signal
_DENSE = 10**6         # round trips times points up to which a membership matrix is the fastest way to sum


def group_index(group: NDArray[np.generic]) -> Groups:
    """Round-trip labels as 0, 1, 2, ... in order of first appearance."""
    _, first, inverse = np.unique(group, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[inverse])


def group_sum(values: Array, group: Groups) -> Array:
    """Sum over the rows of each group, shape (G, ...)."""
    groups = int(group.max()) + 1
    if groups * len(group) <= _DENSE:
        members = (np.arange(groups)[:, None] == group).astype(float)
        return np.asarray(np.tensordot(members, values, axes=(1, 0)))
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(groups))
    return np.asarray(np.add.reduceat(values[order], starts, axis=0))


@dataclass(frozen=True)
class Noise:
    """Standard deviations of residuals: of a point within its round trip, and of a round trip's level.

    Attributes
    ----------
    within : float
        The same for all points.
    between : ndarray, shape (N,)
        Level of each point's round trip.
    proportional : bool
        Whether the level scales with friction.
    """

    within: float
    between: Array
    proportional: bool

    def whiten(self, values: Array, group: Groups) -> Array:
        """Rows transformed so that their noise is white with unit variance; values (N, ...)."""
        count = np.bincount(group)[group]
        keep = self.within / np.sqrt(self.within**2 + count * self.between**2)
        mean = group_sum(values, group) / np.bincount(group).reshape(-1, *[1] * (values.ndim - 1))
        share = (1.0 - keep).reshape(-1, *[1] * (values.ndim - 1))
        return np.asarray((values - share * mean[group]) / self.within)


def white_noise(samples: int) -> Noise:
    """Unit white noise: whitening by it changes nothing."""
    return Noise(1.0, np.zeros(samples), False)


def estimate_noise(residual: Array, level: Array, group: Groups, parameters: int) -> Noise:
    """Noise model from the residuals of a first fit.

    Parameters
    ----------
    residual, level : ndarray, shape (N,)
        Residuals, and the friction they belong to.
    group : ndarray of int, shape (N,)
        Round trips.
    parameters : int
        How many parameters were fitted.
    """
    count = np.bincount(group)
    floor = _FLOOR * max(float(np.abs(level).max()), 1e-12)
    mean = group_sum(residual, group) / count
    spare = max(1, len(residual) - len(count))
    within = float(np.sqrt(np.sum((residual - mean[group]) ** 2) / spare)) if len(residual) > len(count) else 0.0
    size = np.abs(group_sum(level, group) / count)
    inflate = len(count) / max(1, len(count) - parameters)
    excess = mean**2 * inflate - within**2 / count
    options = []
    for proportional, scale in ((False, np.ones(len(count))), (True, np.maximum(size, 0.05 * size.max() + floor))):
        between = np.sqrt(max(0.0, float(np.mean(excess / scale**2)))) * scale
        variance = between**2 + within**2 / count + floor**2
        misfit = float(np.sum(np.log(variance) + mean**2 * inflate / variance))
        options.append((misfit, proportional, between))
    _, proportional, between = min(options, key=lambda option: option[0])
    return Noise(max(within, floor, 0.05 * float(np.median(between))), between[group], proportional)


@dataclass(frozen=True)
class Intervals:
    """Covariance of a least-squares estimate and what follows from it.

    Attributes
    ----------
    covariance : ndarray, shape (p, p)
    freedom : ndarray, shape (p,)
        Degrees of freedom of each parameter's variance.
    """

    covariance: Array
    freedom: Array

    @property
    def std_error(self) -> Array:
        """Standard errors, shape (p,)."""
        return np.asarray(np.sqrt(np.maximum(0.0, np.diag(self.covariance))))

    def half_width(self, level: float = 0.95) -> Array:
        """Half width of each parameter's interval, shape (p,)."""
        return np.asarray(student.ppf(0.5 + level / 2.0, self.freedom) * self.std_error)


def cluster_covariance(jacobian: Array, residual: Array, group: Groups) -> Intervals:
    r"""Covariance that leaves out one group at a time (CR3), with Satterthwaite degrees of freedom.

    Parameters
    ----------
    jacobian : ndarray, shape (N, p)
        Of the whitened prediction.
    residual : ndarray, shape (N,)
        Whitened.
    group : ndarray of int, shape (N,)
        Groups 0 ... G-1.

    References
    ----------
    MacKinnon and White, J. Econometrics 29 (1985) 305; Bell and McCaffrey, Survey Methodology 28 (2002) 169.
    """
    groups, p = int(group.max()) + 1, jacobian.shape[1]
    scale = np.sqrt(np.sum(jacobian**2, axis=0))
    scale[scale == 0.0] = 1.0
    J = jacobian / scale
    total = J.T @ J
    gram = group_sum(J[:, :, None] * J[:, None, :], group)
    gradient = group_sum(J * residual[:, None], group)
    without = np.linalg.pinv(total - gram, rcond=1e-10, hermitian=True)
    change = np.einsum("gij,gj->gi", without, gradient)
    change -= change.mean(axis=0)
    covariance = (groups - 1) / groups * change.T @ change
    weighted = without @ gram                                   # what each group's rows weigh in each parameter's change
    own = np.einsum("gki,gki->kg", weighted, without)
    inverse = np.linalg.pinv(total, rcond=1e-12, hermitian=True)
    freedom = np.empty(p)
    for k in range(p):
        spread = np.diag(own[k]) - weighted[:, k] @ inverse @ weighted[:, k].T
        square = float(np.sum(spread**2))
        freedom[k] = np.trace(spread) ** 2 / square if square > 0.0 else 1.0
    return Intervals(covariance / np.outer(scale, scale), np.maximum(1.0, freedom))
