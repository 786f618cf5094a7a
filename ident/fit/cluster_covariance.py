"""Covariance and intervals of least squares on clustered data."""

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from stribeck.ident.arrays import Array, Groups
from stribeck.ident.fit.group_sums import product_sums, symmetric_inverse


@dataclass(frozen=True)
class Intervals:
    """Covariance of a least-squares estimate, with standard errors and intervals.

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
        """Return the half width of each parameter's interval, shape (p,)."""
        return np.asarray(stdtrit(self.freedom, 0.5 + level / 2.0) * self.std_error)


def cluster_covariance(jacobian: Array, residual: Array, group: Groups) -> Intervals:
    r"""Return the covariance from leaving out one group at a time (CR3), with
    Satterthwaite degrees of freedom.

    Parameters
    ----------
    jacobian : ndarray, shape (N, p)
        Jacobian of the whitened prediction.
    residual : ndarray, shape (N,)
        Whitened residuals.
    group : ndarray of int, shape (N,)
        Groups 0 ... G-1.

    References
    ----------
    MacKinnon and White, J. Econometrics 29 (1985) 305; Bell and McCaffrey, Survey
    Methodology 28 (2002) 169.
    """
    rows = np.column_stack((jacobian, residual))
    order = np.argsort(group, kind="stable")
    return left_out(product_sums(rows[order], group[order]))


def left_out(sums: Array) -> Intervals:
    """Return `cluster_covariance` from the sums of products of each group, residual
    last, shape (G, p + 1, p + 1).
    """
    groups, p = len(sums), sums.shape[-1] - 1
    scale = np.sqrt(np.diagonal(sums.sum(axis=0))[:p])
    scale[scale == 0.0] = 1.0
    gram, gradient = sums[:, :p, :p] / np.outer(scale, scale), sums[:, :p, p] / scale
    total = gram.sum(axis=0)
    without = symmetric_inverse(total - gram, 1e-10)
    # change of the estimate when group g is left out
    change = np.einsum("gij,gj->gi", without, gradient)
    change -= change.mean(axis=0)
    covariance = (groups - 1) / groups * change.T @ change
    # weight of each group's rows in the change of each parameter
    weighted = without @ gram
    # diagonal of without' gram without, parameter k
    own = np.einsum("gki,gki->gk", weighted, without)
    inverse = symmetric_inverse(total, 1e-12)
    # spread = diag(own) - weighted @ inverse @ weighted' for each parameter; its trace and sum of
    # squares w' total^-1 w: part that the common fit removes
    inner = np.einsum("gki,ij,gkj->gk", weighted, inverse, weighted)
    trace = (own - inner).sum(axis=0)
    # sum over groups, for the cross terms of squares
    moment = np.einsum("gki,gkj->kij", weighted, weighted) @ inverse
    square = (own**2 - 2.0 * own * inner).sum(axis=0) + np.einsum("kij,kji->k", moment, moment)
    freedom = np.divide(trace**2, square, out=np.ones(p), where=square > 0.0)
    return Intervals(covariance / np.outer(scale, scale), np.maximum(1.0, freedom))
