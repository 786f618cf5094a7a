r"""Tests whether residuals vary with a variable, by their cumulated sum over the variable.

If a law is right, the sum of the residuals up to a value x of a variable fluctuates about zero.
If it is wrong, neighbouring residuals have the same sign and the sum grows. The statistic is
that of Cramér and von Mises,

.. math:: T = \sum_x \Bigl(\sum_{x_i \le x} e_i\Bigr)^2 = e^T K e

of whitened residuals e. It is most sensitive to slow waves, and insensitive to waves with more than
about two periods over the range, whatever their size; `waves` weights the first waves equally
instead. The p value is computed in one of two ways:

- `ratio_p`, for independent residuals: :math:`T / e^T e` of normal noise, projected like the
  residuals of the fit, is a ratio of quadratic forms whose distribution is computed (Imhof), as in
  the test of Durbin and Watson. Nothing is estimated, so the p value is right for few round trips,
  too.
- `flipped_p`, for residuals that share errors within a round trip or a pass: the signs of whole
  round trips are drawn at random (wild cluster bootstrap), after the adaptation of the fit to each
  round trip is subtracted.

References
----------
Imhof, Biometrika 48 (1961) 419; Su and Wei, JASA 86 (1991) 420; Lin, Wei and Ying, Biometrics 58
(2002) 1; Cameron, Gelbach and Miller, Rev. Econ. Stat. 90 (2008) 414.
"""

import numpy as np
from scipy.integrate import trapezoid

from stribeck.ident.arrays import Array, Groups
from stribeck.ident.fit.group_sums import group_sum
from stribeck.ident.fit.residuals.white_residuals import Residuals

WAVES = 5  # half periods of the fastest wave over the range of a variable
PLACES = 32  # most values of the variable at which cumulated sums are evaluated
_FLIPS = 9999  # number of random sign vectors
_LEVERAGE = 0.9  # largest leverage of a round trip for which its residual is corrected
# log u in Imhof's integral over u, for eigenvalues up to 1
_LOG_U = np.linspace(-25.0, 18.0, 2000)
_ROUND_OFF = 1e-10
_AT_ONCE = 2**22  # most signs in memory


def cells(x: Array) -> Groups:
    """Return the index of each value among at most `PLACES` ranges of a variable, filled
    about evenly, shape (N,).
    """
    levels = np.unique(x)
    if len(levels) > PLACES:
        levels = np.unique(np.quantile(x, np.arange(1, PLACES + 1) / PLACES))
    return np.asarray(np.searchsorted(levels, x))


def reached(cell: Groups) -> Array:
    """Return the coefficients of cumulated sums: of the rows up to each of `cells` except the
    last, shape (cells - 1, N).
    """
    return np.tril(np.ones((int(cell.max()) + 1,) * 2))[:-1, cell]


def waves(x: Array) -> Array:
    """Return the coefficients of cosine sums over the ranks of a variable, shape (k, N):
    all waves have equal weight.
    """
    rank = np.unique(x, return_inverse=True)[1]
    return np.cos(np.pi * np.arange(1, WAVES + 1)[:, None] * (rank + 0.5) / (rank.max() + 1.0))


def ratio_p(rows: Residuals, sums: Array) -> float:
    """Return the probability that, for independent noise, the squared `sums` (k, N) are as
    large against all squares.
    """
    fitted = np.linalg.svd(rows.columns, full_matrices=False)[0][
        :, : np.linalg.matrix_rank(rows.columns)
    ]
    residual = rows.white - fitted @ (fitted.T @ rows.white)
    whole, spare = float(residual @ residual), len(residual) - fitted.shape[1]
    if whole == 0.0 or spare < 1:
        return 1.0
    seen = sums @ fitted
    eigen = np.sort(np.linalg.eigvalsh(sums @ sums.T - seen @ seen.T))[::-1][:spare]
    part = float(np.sum((sums @ residual) ** 2)) / whole
    return positive_p(
        np.append(eigen - part, -part), np.append(np.ones(len(eigen)), spare - len(eigen))
    )


def positive_p(weights: Array, times: Array) -> float:
    """Return the probability that a weighted sum of squared standard normals is positive,
    `times` each weight (Imhof).
    """
    size = np.abs(weights).max(initial=0.0)
    keep = np.abs(weights) > _ROUND_OFF * size
    weights, times = weights[keep] / max(size, 1e-300), times[keep]
    if not (weights > 0.0).any() or not (weights < 0.0).any():
        return float((weights > 0.0).any())
    scaled = weights[:, None] * np.exp(_LOG_U)
    angle, shrinks = 0.5 * times @ np.arctan(scaled), 0.25 * times @ np.log1p(scaled**2)
    return float(
        np.clip(0.5 + trapezoid(np.sin(angle) * np.exp(-shrinks), _LOG_U) / np.pi, 0.0, 1.0)
    )


def flipped_p(rows: Residuals, cell: Groups, turn: Array | None = None) -> float:
    """Return the probability of as large cumulated sums over `cells` of a variable with
    random signs of round trips.

    `turn` multiplies the residuals before the sums, shape (N,); default 1.
    """
    places, groups = int(cell.max()) + 1, int(rows.group.max()) + 1
    weight = np.ones(len(cell)) if turn is None else turn
    own = np.bincount(
        rows.group * places + cell, weight * rows.white, minlength=groups * places
    ).reshape(groups, places)
    # (p, places)
    columns = np.array(
        [np.bincount(cell, weight * column, minlength=places) for column in rows.columns.T]
    )
    # (G, p); effect of each round trip on the fit
    pull = group_sum(rows.columns * rows.white[:, None], rows.group)
    taken = group_sum(
        np.einsum("np,pq,nq->n", rows.columns, rows.inverse, rows.columns), rows.group
    )
    adapted = own - pull @ rows.inverse @ columns
    part = np.cumsum(adapted, axis=1)[:, :-1] / np.sqrt(1.0 - np.minimum(taken, _LEVERAGE))[:, None]
    found = float(np.sum(np.cumsum(own.sum(axis=0))[:-1] ** 2))
    random, block = np.random.default_rng(0), max(1, _AT_ONCE // groups)
    more = sum(
        int(
            np.count_nonzero(
                np.sum(
                    (random.choice([-1.0, 1.0], (min(block, _FLIPS - k), groups)) @ part) ** 2,
                    axis=1,
                )
                >= found * (1.0 - _ROUND_OFF)
            )
        )
        for k in range(0, _FLIPS, block)
    )
    return (1 + more) / (_FLIPS + 1)
