r"""Least squares on clustered data: noise model, whitening, covariance and intervals.

Residuals of one round trip share a level of their own, often proportional to friction. The noise model is
therefore a variance within round trips and one between them; whitening by it makes least squares nearly
efficient, and the covariance leaves out one round trip at a time, so that intervals stay honest where the
noise model is wrong.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from ident.mechanism import Array

Groups = NDArray[np.int_]
AVERAGE = True
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


def product_sums(rows: Array, group: Groups, count: Array | None = None) -> tuple[Array, Array]:
    """Sums of rows over each group, and of their products about its mean.

    Parameters
    ----------
    rows : ndarray, shape (K, N, q)
    group : ndarray of int, shape (N,)
    count : ndarray, shape (N,), optional
        How often each row counts; default once.

    Returns
    -------
    sums : ndarray, shape (K, G, q)
    squares : ndarray, shape (K, G, q, q)
    """
    order = np.argsort(group, kind="stable")
    rows, group = rows[:, order], group[order]
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    weight = np.ones(len(group)) if count is None else count[order]
    sums = np.add.reduceat(rows * weight[:, None], starts, axis=1)
    K, G, q = sums.shape
    if G == len(group):
        return sums, np.zeros((K, G, q, q))
    about = (rows - (sums / np.add.reduceat(weight, starts)[:, None])[:, group]) * np.sqrt(weight)[:, None]
    if len(group) % G == 0 and (np.diff(starts) == len(group) // G).all():
        blocks = about.reshape(K, G, -1, q)
        return sums, np.swapaxes(blocks, -1, -2) @ blocks
    upper = np.triu_indices(q)
    half = np.add.reduceat(about[..., upper[0]] * about[..., upper[1]], starts, axis=1)
    squares = np.empty((K, G, q, q))
    squares[..., upper[0], upper[1]] = squares[..., upper[1], upper[0]] = half
    return sums, squares


@dataclass(frozen=True)
class Noise:
    """Standard deviations of residuals: of a point within its round trip, and of a round trip's level.

    Attributes
    ----------
    within : float
        The same for all points.
    between : ndarray, shape (N,)
        Level of each point's round trip; shape (G,) where only sums over round trips are used.
    proportional : bool
        Whether the level scales with friction.
    """

    within: float
    between: Array
    proportional: bool

    def of_points(self, group: Groups) -> "Noise":
        """The same for points, of a noise model with a level for each round trip."""
        return replace(self, between=self.between[group])

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
    sums, count = group_sum(residual, group), np.bincount(group).astype(float)
    about = group_sum((residual - (sums / count)[group]) ** 2, group)
    return noise_of_sums(sums, about, group_sum(level, group), count, parameters).of_points(group)


def noise_of_sums(residual: Array, about: Array, level: Array, count: Array, parameters: int) -> Noise:
    """Noise model, with a level for each round trip, from sums over round trips.

    Parameters
    ----------
    residual, level : ndarray, shape (G,)
        Sums of the residuals, and of the friction they belong to.
    about : ndarray, shape (G,)
        Sums of squares of the residuals about their mean.
    count : ndarray, shape (G,)
        How many points they are.
    parameters : int
        How many parameters were fitted.
    """
    mean, size, spare = residual / count, np.abs(level / count), float(count.sum()) - len(count)
    floor = _FLOOR * max(float(size.max()), 1e-12)
    within = float(np.sqrt(max(0.0, about.sum()) / spare)) if spare > 0.0 else 0.0
    inflate = len(count) / max(1, len(count) - parameters)
    excess = mean**2 * inflate - within**2 / count
    options = []
    for proportional, scale in ((False, np.ones(len(count))), (True, np.maximum(size, 0.05 * size.max() + floor))):
        between = np.sqrt(max(0.0, float(np.mean(excess / scale**2)))) * scale
        variance = between**2 + within**2 / count + floor**2
        misfit = float(np.sum(np.log(variance) + mean**2 * inflate / variance))
        options.append((misfit, proportional, between))
    if AVERAGE:
        odds = np.exp(-0.5 * (options[1][0] - options[0][0])) if options[1][0]-options[0][0] < 1400 else 0.
        share = odds / (1.0 + odds) if np.isfinite(odds) else 1.0
        between = np.sqrt((1-share)*options[0][2]**2 + share*options[1][2]**2)
        proportional = share > 0.5
    else:
        _, proportional, between = min(options, key=lambda option: option[0])
    return Noise(max(within, floor, 0.05 * float(np.median(between))), between, proportional)


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
    rows = np.column_stack((jacobian, residual))
    sums, about = product_sums(rows[None], group)
    count = np.bincount(group)[:, None, None]
    return left_out(about[0] + sums[0][:, :, None] * sums[0][:, None, :] / count)


def left_out(sums: Array) -> Intervals:
    """The same from the sums of products of each group, residual last, shape (G, p + 1, p + 1)."""
    groups, p = len(sums), sums.shape[-1] - 1
    scale = np.sqrt(np.diagonal(sums.sum(axis=0))[:p])
    scale[scale == 0.0] = 1.0
    gram, gradient = sums[:, :p, :p] / np.outer(scale, scale), sums[:, :p, p] / scale
    total = gram.sum(axis=0)
    without = np.linalg.pinv(total - gram, rcond=1e-10, hermitian=True)
    change = np.einsum("gij,gj->gi", without, gradient)
    change -= change.mean(axis=0)
    covariance = (groups - 1) / groups * change.T @ change
    weighted = without @ gram                                   # what each group's rows weigh in each parameter's change
    own = np.einsum("gki,gki->gk", weighted, without)
    inverse = np.linalg.pinv(total, rcond=1e-12, hermitian=True)
    # spread = diag(own) - weighted @ inverse @ weighted' for each parameter; its trace and sum of squares
    inner = np.einsum("gki,ij,gkj->gk", weighted, inverse, weighted)
    trace = (own - inner).sum(axis=0)
    moment = np.einsum("gki,gkj->kij", weighted, weighted) @ inverse
    square = (own**2 - 2.0 * own * inner).sum(axis=0) + np.einsum("kij,kji->k", moment, moment)
    freedom = np.divide(trace**2, square, out=np.ones(p), where=square > 0.0)
    return Intervals(covariance / np.outer(scale, scale), np.maximum(1.0, freedom))
