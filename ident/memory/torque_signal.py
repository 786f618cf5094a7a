r"""Torque signal behind the torque: a drive reports torque late, or through a filter.

.. math:: y(t) = x(t - d) \quad \text{(delay } d\text{)}, \qquad T \dot y + y = x \quad \text{(lag with time constant } T\text{)}
"""

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from stribeck.ident.arrays import Array

DELAY, LAG = "delay", "lag"
LIMITS = {DELAY: (0.0, 0.05), LAG: (0.0, 0.1)}  # s
_LEAST = 1e-6  # s; a shorter lag is none


def as_reported(
    t: Array, begins: np.ndarray, values: Mapping[str, float], rows: Array
) -> tuple[Array, Array]:
    """Return signals as a drive reports them, and the derivatives of the
    first one by delay and lag.

    Parameters
    ----------
    t : ndarray, shape (M,)
        Time; even within each section [s].
    begins : ndarray of int, shape (B,)
        First sample of each section.
    values : mapping of str to float
        Delay, lag, or both [s].
    rows : ndarray, shape (p, M)
        Signals.

    Returns
    -------
    reported : ndarray, shape (p, M)
    slopes : ndarray, shape (1 or 2, M)
        Derivatives of the first signal, in the order delay, lag, as far as they are in `values`.
    """
    out, slopes = (
        np.empty_like(rows),
        np.zeros((len([key for key in (DELAY, LAG) if key in values]), len(t))),
    )
    for a, b in pairwise((*begins.tolist(), len(t))):
        own = rows[:, a:b]
        dt = float(t[b - 1] - t[a]) / max(1, b - a - 1) or 1.0
        if LAG in values:
            own, slopes[-1, a:b] = _lagged(own, dt, max(values[LAG], _LEAST))
        if DELAY in values:
            own = _delayed(own, values[DELAY] / dt)
            slopes[0, a:b] = -np.gradient(own[0], dt) if b - a > 1 else 0.0
            if LAG in values:
                slopes[-1, a:b] = _delayed(slopes[-1:, a:b], values[DELAY] / dt)[0]
        out[:, a:b] = own
    return out, slopes


def _delayed(rows: Array, samples: float) -> Array:
    """Return rows that are late by a number of samples, with linear
    interpolation; the ends repeat.
    """
    whole = int(np.floor(samples))
    at, part = np.arange(rows.shape[1]) - whole, samples - whole
    last = rows.shape[1] - 1
    return np.asarray(
        (1.0 - part) * rows[:, np.clip(at, 0, last)] + part * rows[:, np.clip(at - 1, 0, last)]
    )


def _lagged(rows: Array, dt: float, constant: float) -> tuple[Array, Array]:
    """Return rows behind a filter of first order, which begins settled, and the
    derivative of the first one.
    """
    from scipy.signal import lfilter  # loads slowly

    kept = float(np.exp(-dt / constant))
    # exact for straight lines between the samples
    now = 1.0 - (1.0 - kept) * constant / dt

    def filtered(values: Array) -> Array:
        return np.asarray(
            lfilter(
                [now, 1.0 - kept - now],
                [1.0, -kept],
                values,
                axis=1,
                zi=(1.0 - now) * values[:, :1],
            )[0]
        )

    out = filtered(rows)
    change = (out[:1] - rows[:1]) / constant
    change[:, 0] = 0.0
    return out, filtered(change)[0]
