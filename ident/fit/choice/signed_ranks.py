"""Comparison of two fits by the signed ranks of their errors on the same left-out blocks."""

import numpy as np

from stribeck.ident.arrays import Array


def excess_ranks(one: Array, other: Array) -> float:
    """Return by how many standard errors the errors `one` are smaller than `other`.

    Errors of blocks differ by orders of magnitude. So the signed ranks of the differences of their
    logarithms are compared (Wilcoxon's test), with ties as half.

    Parameters
    ----------
    one, other : ndarray, shape (B,)
        Mean square errors of the same blocks, positive.
    """
    better = np.log(other / one)
    count = len(better)
    ranks = np.argsort(np.argsort(np.abs(better))) + 1.0
    deviation = np.sqrt(count * (count + 1) * (2 * count + 1) / 24.0)
    return float(np.sum(ranks * np.sign(better)) / 2.0 / deviation)
