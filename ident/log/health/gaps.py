"""Selection of motions that are not interrupted by gaps of the log."""

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.log.signal_checks import GAP

_LOST = 0.1  # largest part of the time of a motion that may be missing


def recorded_whole(t: Array, ends: np.ndarray) -> np.ndarray:
    """Whether the log is complete between the rows `ends`, shape (S, 2), and one row
    before and after, shape (S,).
    """
    step = np.diff(t)
    gaps = np.concatenate(([0.0], np.cumsum(np.where(step > GAP * np.median(step), step, 0.0))))
    first, last = np.maximum(ends[:, 0] - 1, 0), np.minimum(ends[:, 1] + 1, len(t) - 1)
    return np.asarray(gaps[last] - gaps[first] <= _LOST * (t[last] - t[first]))
