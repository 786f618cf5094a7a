r"""Two-stage least squares: information of points about some unknowns, with the
commanded motion as instruments.

With columns X of the measured motion, columns Z of the commanded motion
(`commanded_motion`) and weights W,

.. math:: \hat X = Z (Z^T W Z)^{-1} Z^T W X, \qquad X = \hat X + V

only :math:`\hat X` is used. The control loop feeds noise of positions and unmodelled torque into V
alone, so no bias must be compensated. Other unknowns are eliminated as in least squares.

References
----------
Janot, Vandanjon and Gautier, IEEE Trans. Control Syst. Technol. 22 (2014) 132 (IDIM-IV).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.fit.law_on_points import jacobian, predicted
from stribeck.ident.fit.noise import Noise
from stribeck.ident.fit.points import FitPoints
from stribeck.ident.fit.variable_projection import whitened, whitened_rows
from stribeck.ident.laws.law import Law

# singular value, for columns of unit length, below which instruments do not determine a column
_RANK = 1e-9
# singular value, for columns of unit length, that counts as zero in the elimination
_OWN_RANK = 1e-12


@dataclass(frozen=True)
class Instrumented:
    """Information of the points of one joint about k unknowns, by instruments.

    Attributes
    ----------
    matrix : ndarray, shape (k, k)
        Information matrix.
    moment : ndarray, shape (k,)
        Information matrix times the estimate.
    scores : ndarray, shape (G, k)
        Contribution of each pass to the moment, by instruments.
    plain : ndarray, shape (G, k)
        The same contribution by least squares.
    left : ndarray, shape (G, k, k)
        Sums of products, over each pass, of the columns that instruments explain and
        of the remaining columns.
    """

    matrix: Array
    moment: Array
    scores: Array
    plain: Array
    left: Array


def instrumented(
    points: FitPoints,
    law: Law,
    noise: Noise,
    values: Mapping[str, float],
    told: Array,
    known: Array,
    asked: Sequence[int],
    own: Sequence[int],
) -> Instrumented:
    """Two-stage least squares about a fit; `plain` is not filled.

    Parameters
    ----------
    points : FitPoints
        Points of the fit, with all nuisance columns.
    law, noise, values
        Law, noise and parameter values of the fit.
    told : ndarray, shape (N, p)
        Instruments of the columns of `jacobian`.
    known : ndarray, shape (p + 1, p + 1)
        Prior information: sums of products of the columns and, last, the residual.
    asked, own : sequence of int
        Columns of the unknowns, and columns of other parameters of the joint.
    """
    X, e = jacobian(points, law, values), points.tau - predicted(points, law, values)
    goal, means = (np.vstack(whitened_rows(points, rows, noise)) for rows in (X, told))
    size = np.linalg.norm(means, axis=0)
    scale = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0.0)
    followed = told * scale @ np.linalg.lstsq(means * scale, goal, rcond=_RANK)[0]
    gram = whitened(points, np.column_stack((followed, e)), noise).sum(axis=0) + known
    T, k = without(gram[:-1, :-1], asked, own), len(asked)
    sums = whitened(points, np.column_stack((followed @ T, (X - followed) @ T, e)), noise)
    at_values = np.array(list(values.values()))[list(asked)]
    matrix = T.T @ gram[:-1, :-1] @ T
    return Instrumented(
        matrix,
        T.T @ gram[:-1, -1] + matrix @ at_values,
        sums[:, :k, -1],
        np.zeros((len(sums), k)),
        sums[:, :k, k:-1],
    )


def without(gram: Array, asked: Sequence[int], own: Sequence[int]) -> Array:
    """Return the residuals of some columns after least squares over other columns, as
    combinations T, shape (p, k).

    `gram` is X'X of the columns X. The residuals are X T, and T' X'X T is the Schur complement.

    Parameters
    ----------
    gram : ndarray, shape (p, p)
        Sums of products of the columns.
    asked : sequence of int, length k
        Columns whose residuals are returned.
    own : sequence of int
        Columns that explain them.
    """
    inner = gram[np.ix_(own, own)]
    scale = 1.0 / np.sqrt(np.maximum(np.diag(inner), 1e-300))
    left = np.zeros((len(gram), len(asked)))
    left[asked] = np.eye(len(asked))
    left[own] = (
        -scale[:, None]
        * np.linalg.lstsq(
            inner * np.outer(scale, scale),
            scale[:, None] * gram[np.ix_(own, asked)],
            rcond=_OWN_RANK,
        )[0]
    )
    return left
