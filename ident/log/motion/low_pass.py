"""Low-pass filter for general motion."""

import numpy as np

from stribeck.ident.arrays import Array

_ORDER = 4  # order of the Butterworth filter, which is run forward and backward
# periods of the cut-off in which the filter settles; this time is cut off at both ends
SETTLING = 4.0


def low_pass(values: Array, cutoff: float) -> Array:
    """Zero-phase Butterworth low-pass (forward and backward) along the rows; `cutoff` is a
    fraction of the sampling rate.
    """
    if cutoff >= 0.5:
        return values
    from scipy.signal import butter, sosfiltfilt  # loads slowly

    return np.asarray(sosfiltfilt(butter(_ORDER, cutoff, fs=1.0, output="sos"), values, axis=0))
