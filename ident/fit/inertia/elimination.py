"""Least squares over what is not asked for, from sums of products."""

from collections.abc import Sequence

import numpy as np

from stribeck.ident.arrays import Array

_RANK = 1e-12           # of columns of unit length: singular values below, over the greatest, are none


def without(gram: Array, asked: Sequence[int], own: Sequence[int]) -> Array:
    """Combinations of columns that are left of some after least squares over others, shape (p, k).

    With columns X of which `gram` is X'X, X T is what is left: T' X'X T is the Schur complement.

    Parameters
    ----------
    gram : ndarray, shape (p, p)
        Sums of products of the columns.
    asked : sequence of int, length k
        Which are asked for.
    own : sequence of int
        Which are fitted along.
    """
    inner = gram[np.ix_(own, own)]
    scale = 1.0 / np.sqrt(np.maximum(np.diag(inner), 1e-300))
    left = np.zeros((len(gram), len(asked)))
    left[asked] = np.eye(len(asked))
    left[own] = -scale[:, None] * np.linalg.lstsq(inner * np.outer(scale, scale), scale[:, None] * gram[np.ix_(own, asked)],
                                                  rcond=_RANK)[0]
    return left
