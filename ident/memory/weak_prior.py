r"""Weak prior for coefficients of sines and cosines of the position: gravity, and waves of torque.

Over a small range of positions, an offset and a gravity many times too large nearly cancel each
other, and their sum is wrong beyond the range. So such a coefficient x is taken to be of the size
of the torque: to the squares of the residuals r adds

.. math:: \kappa \frac{\overline{r^2}}{\overline{\tau^2}} x^2 .

Residuals are correlated over time. The factor :math:`\kappa` is the variance of the coefficient
between blocks of the motion over the variance that independent residuals would give it, so the
prior has the weight of one measurement with the torque's deviation.
"""

import numpy as np

from stribeck.ident.arrays import Array, Groups
from stribeck.ident.fit.cluster_covariance import cluster_covariance

# rms change of the prediction by the prior, relative to the residuals, up to which it is left out
_TRIFLE = 0.02
_RIDGE = 1e-10  # on the scaled normal equations


def weak_prior(
    jacobian: Array,
    residual: Array,
    group: Groups,
    values: Array,
    waving: np.ndarray,
    torque: float,
) -> Array:
    """Return the factors of the squares of the coefficients, shape (p,); zeros if they
    hardly change the prediction.

    Parameters
    ----------
    jacobian : ndarray, shape (N, p)
        Derivatives of the prediction by all coefficients.
    residual : ndarray, shape (N,)
        Torque minus prediction [N·m or N].
    group : ndarray of int, shape (N,)
        Blocks of the motion.
    values : ndarray, shape (p,)
        Coefficients without the prior.
    waving : ndarray of bool, shape (p,)
        Those that belong to a sine or cosine.
    torque : float
        Root mean square of the torque [N·m or N].
    """
    out = np.zeros(len(values))
    if not waving.any() or not torque > 0.0:
        return out
    size = np.sqrt(np.sum(jacobian**2, axis=0))
    size[size == 0.0] = 1.0
    scaled = jacobian / size
    gram = scaled.T @ scaled + _RIDGE * np.eye(len(values))
    square = float(np.mean(residual**2))
    alone = square * np.diag(np.linalg.inv(gram))[waving]
    between = np.diag(cluster_covariance(scaled, residual, group).covariance)[waving]
    out[waving] = np.maximum(1.0, between / np.maximum(alone, 1e-300)) * square / torque**2
    change = scaled @ np.linalg.solve(gram + np.diag(out / size**2), out / size * values)
    return out if float(np.mean(change**2)) > _TRIFLE**2 * square else np.zeros(len(values))
