"""Linear recursions of first order with varying factors, in blocks of samples."""

import numpy as np

from stribeck.ident.arrays import Array


def recursion(factor: Array, push: Array) -> Array:
    """Return z with ``z[k] = factor[k] * z[k - 1] + push[k]``, beginning from
    zero, along the last axis.

    The samples are cut into as many blocks as a block has samples. All blocks advance together,
    each from zero; then the end of each block is carried to the next. Time grows with the root of
    the number of samples, apart from arithmetic on arrays.

    Parameters
    ----------
    factor : ndarray, shape (..., M)
        Factors from -1 to 1.
    push : ndarray, shape (..., M)

    Returns
    -------
    ndarray, shape (..., M)
    """
    shape = np.broadcast_shapes(factor.shape, push.shape)
    factor = factor.reshape((1,) * (len(shape) - factor.ndim) + factor.shape)
    count = shape[-1]
    long = max(1, int(np.ceil(np.sqrt(count))))
    blocks = -(-count // long)
    lead = shape[:-1]

    def in_blocks(values: Array, filling: float) -> Array:
        full = np.full((*values.shape[:-1], blocks * long), filling)
        full[..., :count] = values
        # (long, ..., blocks)
        return np.ascontiguousarray(
            np.moveaxis(full.reshape(*values.shape[:-1], blocks, long), -1, 0)
        )

    a, b = in_blocks(factor, 1.0), in_blocks(push, 0.0)
    own, kept = np.empty((long, *lead, blocks)), np.empty((long, *factor.shape[:-1], blocks))
    own[0], kept[0] = b[0], a[0]
    for k in range(1, long):
        np.multiply(a[k], own[k - 1], out=own[k])
        own[k] += b[k]
        np.multiply(a[k], kept[k - 1], out=kept[k])
    begin = np.zeros((*lead, blocks))
    for block in range(1, blocks):
        begin[..., block] = (
            kept[-1][..., block - 1] * begin[..., block - 1] + own[-1][..., block - 1]
        )
    whole = own + kept * begin
    return np.asarray(np.moveaxis(whole, 0, -1).reshape(*lead, blocks * long)[..., :count])
