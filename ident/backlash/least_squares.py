"""Linear least squares from products of columns, the target's last."""

import numpy as np

from stribeck.ident.arrays import Array

_RIDGE = 1e-9


def solved(products: Array) -> tuple[float, Array]:
    """Return sum of squares and coefficients, shape (p,), of products of shape (p + 1, p + 1)."""
    scale = np.sqrt(np.maximum(np.diag(products)[:-1], 1e-300))
    A, y = products[:-1, :-1] / np.outer(scale, scale), products[:-1, -1] / scale
    beta = np.linalg.solve(A + _RIDGE * np.eye(len(A)), y)
    return float(products[-1, -1] - 2.0 * beta @ y + beta @ A @ beta), beta / scale


def left_out_errors(sums: Array, counts: np.ndarray) -> Array:
    """Return the mean square error of each block when it is left out, shape (G,).

    Parameters
    ----------
    sums : ndarray, shape (G, p + 1, p + 1)
        Products of each block.
    counts : ndarray of int, shape (G,)
        Rows of each block.
    """
    total, found = sums.sum(axis=0), []
    for own, count in zip(sums, counts, strict=True):
        beta = np.append(solved(total - own)[1], -1.0)
        found.append(max(float(beta @ own @ beta) / count, 1e-300))
    return np.array(found)
