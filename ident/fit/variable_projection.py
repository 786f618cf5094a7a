r"""Variable projection: global search of nonlinear parameters, with the best linear
parameters at each value.

Least squares needs the points only as sums of products over each round trip. Let the columns be
those of the linear parameters, followed by the torque. The rows a of a round trip of n points give

.. math:: m = \sum a, \qquad D = \sum (a - m/n) (a - m/n)^T, \qquad
          W = \frac{D}{\sigma^2} + \frac{m m^T}{n^2 \sigma_l^2}

where W is the sum of products of the whitened rows, for noise \sigma of points about their
mean and \sigma_l of means.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from stribeck.ident.arrays import Array
from stribeck.ident.fit.group_sums import product_sums, sums_about_means, symmetric_inverse
from stribeck.ident.fit.law_on_points import (
    jacobian,
    law_columns,
    linear_names,
    parameter_names,
    predicted,
    prior_squares,
    prior_sums,
)
from stribeck.ident.fit.noise import WHITE, Noise, noise_of_sums
from stribeck.ident.fit.points import FitPoints
from stribeck.ident.fit.search_range import search_axes
from stribeck.ident.laws.law import Law


@dataclass(frozen=True)
class Optimum:
    """Least squares at each of K values of the nonlinear parameters.

    Attributes
    ----------
    beta : ndarray, shape (K, p)
        Linear parameters of the law, none negative, then of the nuisance columns.
    misfit : ndarray, shape (K,)
        Sum of squared whitened residuals.
    variance : ndarray, shape (K, p)
        Variance of the linear parameters under the noise model; zero for
        parameters at their bound, zero.
    """

    beta: Array
    misfit: Array
    variance: Array


@dataclass(frozen=True)
class Start:
    """The best point of a grid.

    Attributes
    ----------
    at : dict of str to float
        Its nonlinear parameters.
    noise, left : Noise
        Noise model of the search, and noise model of the residuals.
    """

    at: dict[str, float]
    noise: Noise
    left: Noise


# nonlinear parameters from which a grid is thin, so that several starts are refined,
_THIN = 3
# number of starts, and number of best grid points among which they are chosen
_BEGIN, _TRIED = 4, 400
_APART = 0.6  # least distance of starts in the logarithm


@dataclass(frozen=True)
class Moments:
    """Sums of products of a law's columns and the torque, at K values of its nonlinear parameters.

    Attributes
    ----------
    grid : mapping of str to ndarray, shape (K,)
        The nonlinear parameters; K = 1 where the law has none.
    sums : ndarray, shape (K, G, p + 1)
        Sums over each round trip of the columns of linear parameters, nuisance
        parameters, and the torque: m above.
    squares : ndarray, shape (K, p + 1, p + 1)
        Sums of products about the means, over all round trips: the sum of D above.
    """

    data: FitPoints
    law: Law
    grid: Mapping[str, Array]
    sums: Array
    squares: Array

    @classmethod
    def of(cls, data: FitPoints, law: Law, grid: Mapping[str, Array]) -> "Moments":
        """Compute the sums for the points of a joint."""
        size = len(next(iter(grid.values()))) if grid else 1
        columns = len(linear_names(data, law)) + 1
        sums, squares, done = (
            np.empty((size, data.groups, columns)),
            np.empty((size, columns, columns)),
            0,
        )
        for rows in row_blocks(data, law, grid):
            part = slice(done, done := done + len(rows))
            sums[part], about = _about_means(data, rows)
            squares[part] = np.swapaxes(about, -1, -2) @ about
        squares[:, -1, -1] += weighted_spread(data).sum()
        return cls(data, law, grid, sums, squares)

    def total(self, noise: Noise) -> Array:
        """Return the sums of products of whitened rows, plus the
        priors, shape (K, p + 1, p + 1).
        """
        weighted = self.sums / variance_of_sums(self.data, noise)[:, None]
        return np.asarray(
            self.squares / noise.within**2
            + np.swapaxes(self.sums, -1, -2) @ weighted
            + prior_squares(self.data, self.law)
        )

    def solve(self, noise: Noise) -> Optimum:
        """Solve least squares at every point of the grid."""
        return least_squares(self.total(noise), len(self.data.nuisance))

    @cached_property
    def start(self) -> "Start":
        """The best point of the grid, first with white noise, then with the
        noise model of the residuals.
        """
        optimum = self.solve(WHITE)
        k = int(np.argmin(optimum.misfit))
        noise = self.noise(k, optimum.beta[k], WHITE)
        optimum = self.solve(noise)
        k = int(np.argmin(optimum.misfit))
        return Start(
            {name: float(values[k]) for name, values in self.grid.items()},
            noise,
            self.noise(k, optimum.beta[k], noise),
        )

    @property
    def starts(self) -> list[dict[str, float]]:
        """Points of the grid from which to refine: the best; for thin grids, also further
        good points at some distance.
        """
        begin = [self.start.at]
        if len(self.law.nonlinear) >= _THIN:
            place = np.log(np.column_stack([self.grid[name] for name in self.law.nonlinear]))
            for k in np.argsort(self.solve(self.start.noise).misfit)[:_TRIED]:
                others = np.log([list(at.values()) for at in begin])
                if len(begin) < _BEGIN and np.abs(place[k] - others).max(axis=1).min() > _APART:
                    begin.append({name: float(values[k]) for name, values in self.grid.items()})
        return begin

    def noise(self, k: int, beta: Array, known: Noise) -> Noise:
        """Return the noise model of the residuals at point k of the grid, with `beta`
        from the noise model `known`.
        """
        e = np.append(-beta, 1.0)
        root = (
            1.0 if self.data.weight is None else np.sqrt(self.data.weight / self.data.weight.mean())
        )
        residual, about = root * (self.sums[k] @ e), float(e @ self.squares[k] @ e)
        return noise_of_sums(
            residual,
            about,
            self.sums[k, :, :-1] @ beta,
            self.data.samples,
            self._leverage(k, known),
        )

    def _leverage(self, k: int, noise: Noise) -> Array:
        """Return the leverage of the level of each round trip on its own prediction, shape (G,).

        The sum is the number of parameters that the levels determine; the other parameters are
        determined within round trips. Nonlinear parameters are added in proportion.
        """
        sums = self.sums[k, :, :-1]
        weighted = sums / variance_of_sums(self.data, noise)[:, None]
        between = sums.T @ weighted
        total = (
            self.squares[k, :-1, :-1] / noise.within**2
            + between
            + prior_squares(self.data, self.law)[:-1, :-1]
        )
        scale = np.sqrt(np.maximum(np.diag(total), 1e-300))
        inverse = symmetric_inverse(total / np.outer(scale, scale), 1e-12)
        # m' total^-1 m / variance, each group's own
        own = np.einsum("gi,ij,gj->g", sums / scale, inverse, weighted / scale)
        return np.asarray(own * (len(scale) + len(self.law.nonlinear)) / len(scale))


_AT_ONCE = 2**18  # most numbers in memory while sums are computed


def row_blocks(data: FitPoints, law: Law, grid: Mapping[str, Array]) -> Iterator[Array]:
    """Yield the columns of linear and nuisance parameters, then the torque, for parts
    of the grid: (K, N, p + 1).
    """
    size = len(next(iter(grid.values()))) if grid else 1
    rest = np.column_stack((*data.nuisance.values(), data.tau))
    step = max(
        1, _AT_ONCE // (max(len(data.w), len(data.tau)) * (len(linear_names(data, law)) + 1))
    )
    for k in range(0, size, step):
        own = law_columns(data, law, {name: values[k : k + step] for name, values in grid.items()})
        yield np.concatenate((own, np.broadcast_to(rest, (len(own), *rest.shape))), axis=2)


def _about_means(data: FitPoints, rows: Array) -> tuple[Array, Array]:
    """Return the sums of rows over each round trip, and the weighted rows about its mean."""
    sums, about = sums_about_means(rows, data.group, data.count)
    return sums, about if data.weight is None else about * np.sqrt(data.weight)[data.group, None]


def weighted_spread(data: FitPoints) -> Array:
    """Return the weighted sum of squares of the samples' torque about their point, for
    each round trip, shape (G,).
    """
    spread = np.zeros(data.groups) if data.spread is None else data.spread
    return spread if data.weight is None else spread * data.weight


def variance_of_sums(data: FitPoints, noise: Noise) -> Array:
    """Return the noise variance of the sum over each round trip, shape (G,)."""
    variance = data.samples**2 * noise.variance_of_means(data.samples)
    return variance if data.weight is None else variance / data.weight


def whitened_rows(data: FitPoints, rows: Array, noise: Noise) -> tuple[Array, Array]:
    """Return whitened means of rows (..., N, q) over each round trip, and whitened rows about them:
    (..., G, q), (..., N, q).
    """
    sums, about = _about_means(data, rows)
    return sums / np.sqrt(variance_of_sums(data, noise))[:, None], about / noise.within


def whitened(data: FitPoints, rows: Array, noise: Noise) -> Array:
    """Return the sums of products of whitened rows over each round trip, W above; rows (..., N,
    q), shape (..., G, q, q).
    """
    means, about = whitened_rows(data, rows, noise)
    squares = product_sums(about, data.group)
    squares[..., -1, -1] += weighted_spread(data) / noise.within**2
    return np.asarray(squares + means[..., :, None] * means[..., None, :])


def least_squares(total: Array, free: int) -> Optimum:
    """Solve least squares from sums of products (K, p + 1, p + 1); all but the last `free`
    parameters are nonnegative.

    The parameter of a column that is zero is zero.
    """
    p = total.shape[-1] - 1
    square = np.diagonal(total[:, :p, :p], axis1=1, axis2=2)  # (K, p)
    absent, scale = square == 0.0, np.sqrt(np.maximum(square, 1e-300))
    gram = total[:, :p, :p] / (scale[:, :, None] * scale[:, None, :]) + 1e-14 * np.eye(p)
    right = total[:, :p, p] / scale
    inverse = symmetric_inverse(gram, 1e-13)
    # normal equations, one solution a grid point k
    beta = np.einsum("kij,kj->ki", inverse, right)
    # some are fixed at zero
    if (k := np.flatnonzero((beta[:, : p - free] < 0.0).any(axis=1))).size:
        beta[k], inverse[k] = _bounded(gram[k], right[k], beta[k], free)
    beta[absent] = 0.0
    # |y - A beta|^2 of each grid point, expanded: y'y - 2 beta' A'y + beta' A'A
    # beta, of scaled columns
    misfit = (
        total[:, p, p]
        - 2.0 * np.einsum("ki,ki->k", beta, right)
        + np.einsum("ki,kij,kj->k", beta, gram, beta)
    )
    variance = np.maximum(0.0, np.diagonal(inverse, axis1=1, axis2=2)) / scale**2
    return Optimum(beta / scale, misfit, variance)


def _bounded(gram: Array, right: Array, beta: Array, free: int) -> tuple[Array, Array]:
    """Return the minima of x' gram x - 2 right' x, (K, p), with x >= 0 except for the last
    `free`, and the inverses there.

    Negative parameters of the unbounded minima `beta` are fixed at zero, until none is
    negative. That is the minimum if the slope of no fixed parameter is negative; the few
    others are solved one by one.
    """
    bounded = np.arange(right.shape[1]) < right.shape[1] - free
    held = bounded & (beta < 0.0)
    while True:
        beta, inverse = _with_held(gram, right, held)
        negative = bounded & (beta < 0.0)
        if not negative.any():
            break
        held |= negative
    slope = np.einsum("kij,kj->ki", gram, beta) - right
    wrong = np.flatnonzero(
        (held & (slope < -_FLAT * np.abs(right).max(axis=1, keepdims=True))).any(axis=1)
    )
    for k in wrong:
        beta[k] = _nonnegative(gram[k], right[k], free)
    held[wrong] = bounded & (beta[wrong] <= 0.0)
    inverse[wrong] = _with_held(gram[wrong], right[wrong], held[wrong])[1]
    return beta, inverse


def _with_held(gram: Array, right: Array, held: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Return minima with the parameters `held`, (K, p), at zero, and
    the inverses for the others.
    """
    left = ~held
    others = left[:, :, None] & left[:, None, :]
    inverse = symmetric_inverse(np.where(others, gram, np.eye(right.shape[1])), 1e-13) * others
    return np.einsum("kij,kj->ki", inverse, right), inverse


def _nonnegative(gram: Array, right: Array, free: int) -> Array:
    """Return the minimum of x' gram x - 2 right' x with x >= 0 except for the last `free`."""
    value, vectors = np.linalg.eigh(gram)
    root = np.sqrt(np.maximum(value, 1e-14 * value[-1]))
    A, b = root[:, None] * vectors.T, (vectors.T @ right) / root
    bounded = len(right) - free
    split, _ = nnls(np.hstack((A, -A[:, bounded:])), b, maxiter=_MOST_SWAPS * A.shape[1])
    return np.append(split[:bounded], split[bounded : len(right)] - split[len(right) :])


_FLAT = 1e-12  # slope, in parts of the greatest gradient, that counts as none
_MOST_SWAPS = 100  # most iterations of nonnegative least squares, per column
_STEPS, _HALVINGS = 20, 6  # most steps of the refinement, and most halvings of a step
_FINE = 1e-7  # least step, in the logarithm


def polish(data: FitPoints, law: Law, noise: Noise, start: Mapping[str, float]) -> Moments:
    """Refine nonlinear parameters to the optimum by a quasi-Newton method (BFGS), started with
    the Gauss-Newton Hessian.
    """
    limits = np.array([values[[0, -1]] for values in search_axes(data, law).values()]).reshape(
        -1, 2
    )
    best = Moments.of(data, law, {name: np.array([value]) for name, value in start.items()})
    optimum, step, slope, inverse = (
        best.solve(noise),
        np.zeros(len(start)),
        np.zeros(len(start)),
        np.eye(len(start)),
    )
    for _ in range(_STEPS if law.nonlinear else 0):
        at = np.array([values[0] for values in best.grid.values()])
        values = dict(
            zip(parameter_names(data, law), map(float, (*optimum.beta[0], *at)), strict=True)
        )
        was, (slope, gauss) = slope, _slope(data, law, noise, values)
        turn = step @ (slope - was)
        # update of the inverse Hessian (BFGS) from the step just made
        if turn > 0.0:
            left = np.eye(len(at)) - np.outer(step, slope - was) / turn
            inverse = left @ inverse @ left.T + np.outer(step, step) / turn
        else:
            # the first step, or curvature that is not convex
            inverse = gauss
        full = np.clip(-inverse @ slope, -1.0, 1.0)
        # the longest of the halved steps that lowers the misfit
        for halving in range(_HALVINGS):
            there = np.clip(at * np.exp(full / 2.0**halving), *limits.T)
            step = np.log(there / at)
            if np.abs(step).max() < _FINE:
                return best
            tried = Moments.of(data, law, dict(zip(start, there[:, None], strict=True)))
            found = tried.solve(noise)
            if found.misfit[0] < optimum.misfit[0]:
                break
        else:
            return best
        best, optimum = tried, found
    return best


def _slope(
    data: FitPoints, law: Law, noise: Noise, values: Mapping[str, float]
) -> tuple[Array, Array]:
    """Return gradient and inverse Gauss-Newton Hessian of half the misfit, over the
    logarithms of nonlinear parameters.
    """
    names = tuple(values)
    sums, about = _about_means(data, _jacobian_rows(data, law, values))
    total = (
        about.T @ about / noise.within**2
        + sums.T @ (sums / variance_of_sums(data, noise)[:, None])
        + prior_sums(data, names, values).sum(axis=0)
    )
    free = [k for k, name in enumerate(names) if name in data.nuisance or values[name] > 0.0]
    own = slice(len(free) - len(law.nonlinear), None)
    scale = np.sqrt(np.maximum(np.diag(total)[free], 1e-300))
    inverse = symmetric_inverse(total[np.ix_(free, free)] / np.outer(scale, scale), 1e-12)
    return -total[free, -1][own], (inverse / np.outer(scale, scale))[own, own]


def residual_sums(data: FitPoints, law: Law, noise: Noise, values: Mapping[str, float]) -> Array:
    """Return the sums of products of the whitened rows of `jacobian` and the residual (last), per
    group, then of the priors.

    Shape (G + P, p + 1, p + 1).
    """
    return np.concatenate(
        (
            whitened(data, _jacobian_rows(data, law, values), noise),
            prior_sums(data, tuple(values), values),
        )
    )


def level_rows(data: FitPoints, law: Law, noise: Noise, values: Mapping[str, float]) -> list[Array]:
    """Return whitened means of the rows of `jacobian` and the residual (last) over round trips,
    by time; (G, p + 1) a run.
    """
    rows, _ = whitened_rows(data, _jacobian_rows(data, law, values), noise)
    time = np.arange(len(rows)) if data.time is None else data.time
    run = np.zeros(len(rows), dtype=int) if data.run is None else data.run
    order = np.lexsort((time, run))
    return np.split(rows[order], np.flatnonzero(np.diff(run[order])) + 1)


def rows_in_passes(
    data: FitPoints, law: Law, noise: Noise, values: Mapping[str, float]
) -> list[Array]:
    """Return whitened rows of `jacobian` and the residual (last) about the mean of each pass, in
    order; (n, p + 1) a pass.
    """
    _, about = _about_means(data, _jacobian_rows(data, law, values))
    return np.split(about / noise.within, np.cumsum(np.bincount(data.group))[:-1])


def _jacobian_rows(data: FitPoints, law: Law, values: Mapping[str, float]) -> Array:
    return np.column_stack((jacobian(data, law, values), data.tau - predicted(data, law, values)))
