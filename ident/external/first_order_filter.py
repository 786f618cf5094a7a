"""Filter of first order, exact between samples, and increments of the integrals that it takes."""

import numpy as np

from stribeck.ident.arrays import Array

# a longer block with time steps that differ less, relatively, is filtered as a whole
_SHORT, _EVEN = 100, 1e-6


def lagged(gain: Array, h: Array, values: Array, state: Array) -> Array:
    """Return values behind the filter of first order, shape (N, ..., n) as `values`.

    Parameters
    ----------
    gain : ndarray, shape (n,)
        K of each joint [1/s].
    h : ndarray, shape (N, 1)
        Time steps [s].
    values : ndarray, shape (N, ..., n)
        Mean of the signals in each step.
    state : ndarray, shape (..., n)
        Filtered values before the first step.
    """
    from scipy.signal import lfilter  # takes a while to load

    if len(h) > _SHORT and np.ptp(h) < _EVEN * h[0, 0]:
        keep = np.exp(-gain * h.mean())
        return np.stack(
            [
                lfilter(
                    [1.0 - kept],
                    [1.0, -kept],
                    values[..., j],
                    axis=0,
                    zi=kept * state[None, ..., j],
                )[0]
                for j, kept in enumerate(keep.tolist())
            ],
            axis=-1,
        )
    keep, out = np.exp(-gain * h), np.empty(values.shape)
    for k, (kept, new) in enumerate(zip(keep, values, strict=True)):
        state = out[k] = kept * state + (1.0 - kept) * new
    return out


def means(values: Array) -> Array:
    """Return the mean of each value and the next."""
    return 0.5 * (values[1:] + values[:-1])


def increments(at: Array, time: Array, values: Array) -> Array:
    """Return the increments of integrals, shape (m, n), between successive
    times `at`, shape (N + 1, n).
    """
    return np.diff(
        np.column_stack(
            [np.interp(own, time, column) for own, column in zip(at.T, values.T, strict=True)]
        ),
        axis=0,
    )
