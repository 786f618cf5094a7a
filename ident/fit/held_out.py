"""Held-out errors: prediction errors of round trips that were left out of the fit.

A fit without a block of round trips needs no points: the sums of products W (`variable_projection`)
of the block are subtracted from those of all round trips. Nonlinear parameters are searched again
for each block, on the search grid and a finer grid around the optimum of all points.
"""

from collections.abc import Mapping

import numpy as np

from stribeck.ident.arrays import Array, Groups
from stribeck.ident.fit.group_sums import product_sums
from stribeck.ident.fit.law_fit import speed_classes
from stribeck.ident.fit.law_on_points import prior_squares
from stribeck.ident.fit.noise import Noise
from stribeck.ident.fit.points import FitPoints
from stribeck.ident.fit.search_range import grid_near
from stribeck.ident.fit.variable_projection import row_blocks, weighted_spread, whitened_rows
from stribeck.ident.laws.law import Law

# scatter of speed within round trips, in the logarithm, from which a round trip has no single speed
_ONE_SPEED = 0.05


def speed_of_trips(data: FitPoints) -> Groups:
    """Return the index of each round trip among the distinct speeds; its own number if speed
    varies within it, shape (G,).
    """
    if data.seen is None:
        level, count = np.log(data.w), np.ones(len(data.w)) if data.count is None else data.count
        mean = np.bincount(data.group, count * level) / data.samples
        if np.average((level - mean[data.group]) ** 2, weights=count) < _ONE_SPEED**2:
            return speed_classes(np.exp(mean))
    return np.arange(data.groups)


def blocks_of_trips(speed: Groups) -> Groups:
    """Return the block of each round trip: one block per speed, but single round trips at
    slowest and fastest; shape (G,).
    """
    inner = (speed > 0) & (speed < speed.max())
    return np.asarray(
        np.unique(np.where(inner, speed, -1 - np.arange(len(speed))), return_inverse=True)[1]
    )


# on scaled normal equations: without a block, some parameters may be unidentifiable
_RIDGE = 1e-12


def held_out_errors(
    data: FitPoints, law: Law, noise: Noise, whole: Mapping[str, float], block: Groups
) -> tuple[Array, float]:
    """Return the prediction errors of every round trip by a fit without its block; `whole`:
    parameters of the fit to all.

    Returns
    -------
    whitened : ndarray, shape (G,)
        Sum of squared whitened errors of each round trip, as log(1 + sum): the large error of a
        wrong law at one round trip at the end of the range must not dominate all others.
    plain : float
        Root mean square error of the points [N·m].
    """
    # axes: grid point k, round trip g of G, block b of B, point n of N, parameter i of p and the
    # torque as the last q by their blocks
    trips, points = np.argsort(block, kind="stable"), np.argsort(block[data.group], kind="stable")
    b, g, n = np.arange(int(block.max()) + 1), np.arange(len(block)), np.arange(len(data.group))
    apart = weighted_spread(data) / noise.within**2
    least, white, plain = np.full(len(b), np.inf), np.zeros(len(g)), np.zeros(len(g))
    for rows in row_blocks(data, law, grid_near(data, law, whole)):
        # (K, G, q), (K, N, q)
        means, about = whitened_rows(data, rows, noise)
        own = (
            product_sums(means[:, trips], block[trips])
            # (K, B, q, q)
            + product_sums(about[:, points], block[data.group][points])
        )
        own[..., -1, -1] += np.bincount(block, apart)
        p = own.shape[-1] - 1
        # without each block
        total = own.sum(axis=1, keepdims=True) + prior_squares(data, law) - own
        scale = np.sqrt(np.maximum(np.diagonal(total, axis1=2, axis2=3)[..., :p], 1e-300))
        gram = total[..., :p, :p] / (scale[..., :, None] * scale[..., None, :]) + _RIDGE * np.eye(p)
        # (K, B, p)
        beta = np.linalg.solve(gram, (total[..., :p, p] / scale)[..., None])[..., 0] / scale
        # y'y - beta' A'y
        misfit = total[..., p, p] - np.einsum("kbi,kbi->kb", beta, total[..., :p, p])
        k = np.argmin(misfit, axis=0)
        found = misfit[k, b]
        # of round trips
        better, e, k = (
            (found < least)[block],
            np.column_stack((-beta[k, b], np.ones(len(b))))[block],
            k[block],
        )
        least = np.minimum(least, found)
        # of points
        at, error = k[data.group], e[data.group]
        mean, off = (
            np.einsum("gq,gq->g", means[k, g], e),
            np.einsum("nq,nq->n", about[at, n], error),
        )
        # squared whitened error of a trip
        white[better] = (mean**2 + np.bincount(data.group, off**2) + apart)[better]
        # [N·m]^2
        square = np.einsum("nq,nq->n", rows[at, n], error) ** 2
        plain[better] = np.bincount(
            data.group, square if data.count is None else data.count * square
        )[better]
    spread = 0.0 if data.spread is None else float(data.spread.sum())
    return np.log1p(np.maximum(0.0, white)), float(
        np.sqrt((plain.sum() + spread) / data.samples.sum())
    )
