"""The low-pass of general motion."""

import numpy as np

from stribeck.ident.arrays import Array

_ORDER = 4              # of the Butterworth filter, run forward and backward
SETTLING = 4.0          # a filter settles over so many periods of its cut-off; that much is cut at both borders


def low_pass(values: Array, cutoff: float) -> Array:
    """Butterworth low-pass forward and backward along the rows: no phase; `cutoff` is a fraction of the sampling rate."""
    if cutoff >= 0.5:
        return values
    from scipy.signal import butter, sosfiltfilt  # takes a while to load

    return np.asarray(sosfiltfilt(butter(_ORDER, cutoff, fs=1.0, output="sos"), values, axis=0))
