r"""Least squares on clustered data: noise model, whitening, covariance and intervals.

Residuals of one round trip share a level of their own, often proportional to friction. The noise model is
therefore a variance of points about the mean of their round trip and one of these means; whitening by it makes
least squares nearly efficient, and the covariance leaves out one round trip at a time, so that intervals stay
honest where the noise model is wrong.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from ident.mechanism import Array

Groups = NDArray[np.int_]
_FLOOR = 1e-6          # least noise, as a fraction of the signal
_LEFT = 0.05           # least part of a level's variance that is left in its residual
_DENSE = 10**6         # round trips times points up to which a membership matrix is the fastest way to sum
_LONG = 8              # points a round trip from which products are summed one round trip at a time


def symmetric_inverse(gram: Array, least: float) -> Array:
    """Pseudo-inverse of symmetric matrices (..., p, p) without eigenvalues up to `least` of the greatest."""
    values, vectors = np.linalg.eigh(gram)
    big = np.abs(values) > least * np.abs(values).max(axis=-1, keepdims=True, initial=0.0)
    inverse = np.divide(1.0, values, out=np.zeros_like(values), where=big)
    return np.asarray((vectors * inverse[..., None, :]) @ vectors.swapaxes(-1, -2))


def group_index(group: NDArray[np.generic]) -> Groups:
    """Round-trip labels as 0, 1, 2, ... in order of first appearance."""
    if group.dtype.kind in "iuf" and (np.diff(group) >= 0).all():
        return np.asarray(np.cumsum(np.diff(group, prepend=group[:1]) > 0))
    _, first, inverse = np.unique(group, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[inverse])


def first_of_groups(values: Array, group: Groups) -> Array:
    """The first value of each group, shape (G,)."""
    return np.asarray(values[np.unique(group, return_index=True)[1]])


def group_sum(values: Array, group: Groups) -> Array:
    """Sum over the rows of each group, shape (G, ...)."""
    groups = int(group.max()) + 1
    if groups * len(group) <= _DENSE:
        members = (np.arange(groups)[:, None] == group).astype(float)
        return np.asarray(np.tensordot(members, values, axes=(1, 0)))
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(groups))
    return np.asarray(np.add.reduceat(values[order], starts, axis=0))


def sums_about_means(rows: Array, group: Groups, count: Array | None = None) -> tuple[Array, Array]:
    """Sums of rows over each group, and the rows less the mean of their group.

    Parameters
    ----------
    rows : ndarray, shape (..., N, q)
    group : ndarray of int, shape (N,)
        In ascending order.
    count : ndarray, shape (N,), optional
        How many samples each row is the mean of; default one.

    Returns
    -------
    sums : ndarray, shape (..., G, q)
    about : ndarray, shape (..., N, q)
        Times the root of `count`, so that its products sum up to those of the samples.
    """
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    size = np.diff(starts, append=len(group))
    if count is None:
        sums = np.add.reduceat(rows, starts, axis=-2)
        return sums, rows - np.repeat(sums / size[:, None], size, axis=-2)
    sums = np.add.reduceat(rows * count[:, None], starts, axis=-2)
    mean = sums / np.add.reduceat(count, starts)[:, None]
    return sums, (rows - np.repeat(mean, size, axis=-2)) * np.sqrt(count)[:, None]


def product_sums(rows: Array, group: Groups) -> Array:
    """Sums of products of rows over each group, shape (..., G, q, q); groups in ascending order."""
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    size, q = np.diff(starts, append=len(group)), rows.shape[-1]
    if (size == size[0]).all():
        blocks = rows.reshape(*rows.shape[:-2], len(size), size[0], q)
        return np.asarray(np.swapaxes(blocks, -1, -2) @ blocks)
    if len(group) > _LONG * len(size):
        parts = np.split(rows, starts[1:], axis=-2)
        return np.stack([np.swapaxes(part, -1, -2) @ part for part in parts], axis=-3)
    return np.asarray(np.add.reduceat(rows[..., :, None] * rows[..., None, :], starts, axis=-3))


@dataclass(frozen=True)
class Noise:
    """Standard deviations of residuals: of points about the mean of their round trip, and of these means.

    Attributes
    ----------
    within : float
        Of a point about the mean of its round trip; the same for all.
    level : ndarray, shape (N,), optional
        Of the mean of each point's round trip; shape (G,) where only sums over round trips are used. Default that of points
        that share nothing.
    sign : ndarray, shape (N,), optional
        In which direction the level pushes each point; default the same.
    """

    within: float
    level: Array | None = None
    sign: Array | None = None

    def of_points(self, group: Groups, sign: Array | None = None) -> "Noise":
        """The same for points, of a noise model with a level for each round trip."""
        return replace(self, level=None if self.level is None else self.level[group], sign=sign)

    def variance_of_means(self, count: Array) -> Array:
        """Of the mean of each round trip, of so many points, shape (G,), where there is a level for each."""
        return np.asarray(self.within**2 / count if self.level is None else self.level**2)

    def whiten(self, values: Array, group: Groups) -> Array:
        """Rows transformed so that their noise is white with unit variance; values (N, ...)."""
        if self.sign is not None:
            values = values * self.sign.reshape(-1, *[1] * (values.ndim - 1))
        if self.level is None:
            return np.asarray(values / self.within)
        count = np.bincount(group)
        keep = self.within / (np.sqrt(count)[group] * self.level)
        mean = group_sum(values, group) / count.reshape(-1, *[1] * (values.ndim - 1))
        share = (1.0 - keep).reshape(-1, *[1] * (values.ndim - 1))
        return np.asarray((values - share * mean[group]) / self.within)


WHITE = Noise(1.0)      # whitening by it changes nothing


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
    about = float(np.sum((residual - (sums / count)[group]) ** 2))
    part = np.full(len(count), parameters / len(count))
    return noise_of_sums(sums, about, group_sum(level, group), count, part).of_points(group)


def noise_of_sums(residual: Array, about: float, level: Array, count: Array, leverage: Array) -> Noise:
    """Noise model, with a level for each round trip, from sums over round trips.

    The levels' deviation is the same for all, or proportional to friction, or what points that share nothing leave of a mean;
    their variances are averaged, each weighted by how likely it makes the residuals.

    Parameters
    ----------
    residual, level : ndarray, shape (G,)
        Sums of the residuals, and of the friction they belong to.
    about : float
        Sum of squares of the residuals about the mean of their round trip.
    count : ndarray, shape (G,)
        How many points they are.
    leverage : ndarray, shape (G,)
        How much each group's level determines its own prediction; their sum is the number of parameters that levels determine.
        What is left of a level's deviation has that much less variance, which matters where few round trips tell of high speeds.
    """
    left = np.maximum(_LEFT, 1.0 - leverage)
    mean, size, spare = residual / count, np.abs(level / count), float(count.sum()) - len(count)
    floor = _FLOOR * max(float(size.max()), 1e-12)
    within = float(np.sqrt(max(0.0, about) / spare)) if spare > 0.0 else 0.0
    likely, variances = [], []
    for shape in (np.ones(len(count)), np.maximum(size, 0.05 * size.max() + floor), 1.0 / np.sqrt(count)):
        variance = np.sum((mean / shape) ** 2) / left.sum() * shape**2 + floor**2
        likely.append(-0.5 * float(np.sum(left * np.log(variance) + mean**2 / variance)))
        variances.append(variance)
    variance = np.average(variances, axis=0, weights=np.exp(np.array(likely) - max(likely)))
    return Noise(max(within, floor, 0.05 * float(np.median(np.sqrt(variance)))), np.sqrt(variance))


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
        return np.asarray(stdtrit(self.freedom, 0.5 + level / 2.0) * self.std_error)


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
    order = np.argsort(group, kind="stable")
    return left_out(product_sums(rows[order], group[order]))


def left_out(sums: Array) -> Intervals:
    """The same from the sums of products of each group, residual last, shape (G, p + 1, p + 1)."""
    groups, p = len(sums), sums.shape[-1] - 1
    scale = np.sqrt(np.diagonal(sums.sum(axis=0))[:p])
    scale[scale == 0.0] = 1.0
    gram, gradient = sums[:, :p, :p] / np.outer(scale, scale), sums[:, :p, p] / scale
    total = gram.sum(axis=0)
    without = symmetric_inverse(total - gram, 1e-10)
    change = np.einsum("gij,gj->gi", without, gradient)
    change -= change.mean(axis=0)
    covariance = (groups - 1) / groups * change.T @ change
    weighted = without @ gram                                   # what each group's rows weigh in each parameter's change
    own = np.einsum("gki,gki->gk", weighted, without)
    inverse = symmetric_inverse(total, 1e-12)
    # spread = diag(own) - weighted @ inverse @ weighted' for each parameter; its trace and sum of squares
    inner = np.einsum("gki,ij,gkj->gk", weighted, inverse, weighted)
    trace = (own - inner).sum(axis=0)
    moment = np.einsum("gki,gkj->kij", weighted, weighted) @ inverse
    square = (own**2 - 2.0 * own * inner).sum(axis=0) + np.einsum("kij,kji->k", moment, moment)
    freedom = np.divide(trace**2, square, out=np.ones(p), where=square > 0.0)
    return Intervals(covariance / np.outer(scale, scale), np.maximum(1.0, freedom))
