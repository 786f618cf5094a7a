r"""Bias compensation for position noise in the regression columns (errors in
variables), by simulated noise.

The columns Y and the model's torque are computed from measured positions, so both contain position
noise. Least squares takes this noise for motion. With Y = Y_0 + dY (the joint's own acceleration is
one of the columns) and a model torque with error d,

.. math:: E[Y^T r] = Y_0^T Y_0\, y - E[dY^T d], \qquad E[Y^T Y] = Y_0^T Y_0 + E[dY^T dY]

A direction whose column is hardly more than noise can get any value. Noise of the same size is
therefore added to the positions and filtered like them; the changes of the columns estimate both
expectations. The expectations are subtracted from the sums of products before the other parameters
of a joint are eliminated, because the column of its own acceleration contains the same noise and
absorbs most of it. The compensated least squares estimate has a sandwich covariance:

.. math:: y = G^{-1} (Y^T r + E[dY^T d]), \quad G = Y^T Y - E[dY^T dY], \qquad \mathrm{cov}\, y = G^{-1} (Y^T Y)\, G^{-1}

References
----------
Cook and Stefanski, J. American Statistical Association 89 (1994) 1314 (added noise); Stoica and
Soederstroem, Int. J. Control 36 (1982) 449 (bias-compensated least squares).
"""

import numpy as np

from stribeck.ident.arrays import Array

# of the greatest eigenvalue; smaller eigenvalues mean linearly dependent columns
_RANK = 1e-12


def compensated(matrix: Array, noise: Array, moment: Array) -> tuple[Array, Array]:
    """Return information matrix and moment of least squares, compensated for noise in the columns.

    Parameters
    ----------
    matrix : ndarray, shape (k, k)
        Y'Y.
    noise : ndarray, shape (k, k)
        Noise part of Y'Y: the expectation of dY'dY.
    moment : ndarray, shape (k,)
        Y'r, already compensated by E[dY'd].
    """
    size = np.diag(matrix)
    scale = np.where(size > _RANK * size.max(), 1.0 / np.sqrt(np.maximum(size, 1e-300)), 0.0)
    values, vectors = np.linalg.eigh(matrix * np.outer(scale, scale))
    told = values > _RANK * values[-1]
    root = np.divide(
        vectors[:, told] * np.sqrt(values[told]),
        scale[:, None],
        where=scale[:, None] > 0.0,
        # matrix = root root'
        out=np.zeros((len(scale), int(told.sum()))),
    )
    inverse = scale[:, None] * vectors[:, told] / np.sqrt(values[told])
    # noise share of each direction
    noisy, turn = np.linalg.eigh(inverse.T @ noise @ inverse)
    left, root, inverse = np.clip(1.0 - noisy, 0.0, 1.0), root @ turn, inverse @ turn
    return np.asarray(root * left**2 @ root.T), np.asarray(root @ (left * (inverse.T @ moment)))
