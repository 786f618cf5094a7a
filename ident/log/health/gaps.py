"""Which motions the gaps of a log leave whole."""

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.log.signal_checks import GAP

_LOST = 0.1             # part of its time that may be missing in the log of a motion that is judged


def recorded_whole(t: Array, ends: np.ndarray) -> np.ndarray:
    """Whether the log has what happened between first and last rows, shape (S, 2), and just before and after them."""
    step = np.diff(t)
    gaps = np.concatenate(([0.0], np.cumsum(np.where(step > GAP * np.median(step), step, 0.0))))
    first, last = np.maximum(ends[:, 0] - 1, 0), np.minimum(ends[:, 1] + 1, len(t) - 1)
    return np.asarray(gaps[last] - gaps[first] <= _LOST * (t[last] - t[first]))
