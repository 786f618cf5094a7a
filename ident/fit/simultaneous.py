r"""Width of a simultaneous band: it contains the whole true curve in 95 % of the cases.

A confidence interval at one state has a half width of `t` standard errors. A band that contains the
truth at every speed and load simultaneously is wider. Its half width is the 95 % quantile of

.. math:: \max_x \frac{|g_x^T (\hat\theta - \theta)|}{\sqrt{g_x^T \Sigma g_x}} = R \, \max_x |u_x^T v|

where v is a random direction in the p whitened parameters, u_x the direction of the derivatives at
state x, and :math:`R^2 / p` has Fisher's distribution with p degrees of freedom and those of the
noise estimate. Directions v are drawn; R is integrated. With a maximum over all directions u this
would be Scheffé's band, which holds for any states and is wider.

References
----------
Scheffé, The Analysis of Variance (1959); Liu, Simultaneous Inference in
Regression (2010), section 2.
"""

import numpy as np
from scipy.optimize import brentq
from scipy.special import fdtr

from stribeck.ident.arrays import Array

COVERS = 0.95
_DIRECTIONS = 4000


def simultaneous_factor(slopes: Array, covariance: Array, freedom: float) -> float:
    """Return the half width, in standard errors, of a band that contains a curve at
    all states simultaneously.

    Parameters
    ----------
    slopes : ndarray, shape (N, p)
        Derivatives of the curve by its parameters, at N states.
    covariance : ndarray, shape (p, p)
        Covariance of the parameters.
    freedom : float
        Degrees of freedom of the noise estimate.
    """
    value, vectors = np.linalg.eigh(covariance)
    white = slopes @ (vectors * np.sqrt(np.maximum(value, 0.0)))
    size = np.linalg.norm(white, axis=1)
    white = white[size > 0.0] / size[size > 0.0, None]
    if not len(white):
        return 0.0
    p = white.shape[1]
    direction = np.random.default_rng(0).standard_normal((_DIRECTIONS, p))
    direction /= np.linalg.norm(direction, axis=1)[:, None]
    most = np.abs(direction @ white.T).max(axis=1)

    def beyond(factor: float) -> float:
        return float(np.mean(fdtr(p, freedom, (factor / most) ** 2 / p))) - COVERS

    return float(brentq(beyond, 0.5, 1e3))
