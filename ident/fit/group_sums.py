"""Sums over the rows of each group."""

import numpy as np

from stribeck.ident.arrays import Array, Groups

_DENSE = 10**6  # round trips times points up to which a membership matrix sums fastest
# rows per round trip, of all stacks, from which products are summed one round trip at a time
_LONG = 8


def symmetric_inverse(gram: Array, least: float) -> Array:
    """Return the pseudo-inverse of symmetric matrices (..., p, p), without eigenvalues up to
    `least` times the greatest.
    """
    values, vectors = np.linalg.eigh(gram)
    big = np.abs(values) > least * np.abs(values).max(axis=-1, keepdims=True, initial=0.0)
    inverse = np.divide(1.0, values, out=np.zeros_like(values), where=big)
    return np.asarray((vectors * inverse[..., None, :]) @ vectors.swapaxes(-1, -2))


def group_sum(values: Array, group: Groups) -> Array:
    """Sum over the rows of each group, shape (G, ...)."""
    groups = int(group.max()) + 1
    if groups * len(group) <= _DENSE:
        members = (np.arange(groups)[:, None] == group).astype(float)
        return np.asarray(np.tensordot(members, values, axes=(1, 0)))
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(groups))
    return np.asarray(np.add.reduceat(values[order], starts, axis=0))


def sums_about_means(rows: Array, group: Groups, count: Array | None = None) -> tuple[Array, Array]:
    """Return the sums of rows over each group, and the rows minus the mean of their group.

    Parameters
    ----------
    rows : ndarray, shape (..., N, q)
    group : ndarray of int, shape (N,)
        In ascending order.
    count : ndarray, shape (N,), optional
        How many samples each row is the mean of; default one.

    Returns
    -------
    sums : ndarray, shape (..., G, q)
    about : ndarray, shape (..., N, q)
        Rows minus mean, times the root of `count`, so that sums of their products
        equal those of the samples.
    """
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    size = np.diff(starts, append=len(group))
    if count is None:
        sums = np.add.reduceat(rows, starts, axis=-2)
        return sums, rows - np.repeat(sums / size[:, None], size, axis=-2)
    sums = np.add.reduceat(rows * count[:, None], starts, axis=-2)
    mean = sums / np.add.reduceat(count, starts)[:, None]
    return sums, (rows - np.repeat(mean, size, axis=-2)) * np.sqrt(count)[:, None]


def product_sums(rows: Array, group: Groups) -> Array:
    """Sums of products of rows over each group, shape (..., G, q, q); groups in ascending order."""
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    size, q = np.diff(starts, append=len(group)), rows.shape[-1]
    if (size == size[0]).all():
        blocks = rows.reshape(*rows.shape[:-2], len(size), size[0], q)
        return np.asarray(np.swapaxes(blocks, -1, -2) @ blocks)
    if rows.size > _LONG * len(size) * q:
        parts = np.split(rows, starts[1:], axis=-2)
        return np.stack([np.swapaxes(part, -1, -2) @ part for part in parts], axis=-3)
    return np.asarray(np.add.reduceat(rows[..., :, None] * rows[..., None, :], starts, axis=-3))
