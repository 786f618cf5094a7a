"""Torque oscillations after a start, which fade: the load of an elastic joint, or of an
elastic link, oscillates.
"""

from collections.abc import Sequence

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.log.finding import Finding

_OVER = 0.5  # part of the torque step, and
# standard deviations of its noise; an extreme must deviate from the level by both
_CLEAR = 4.0
_EXTREMES = 4  # smallest number of extremes, alternately above and below the level


def swing_after(t: Array, torque: Array, step: float, noise: float) -> float:
    """Frequency [Hz] at which the torque swings about its final level; 0 if it does not swing.

    Parameters
    ----------
    t : ndarray, shape (N,)
        Time after a start [s].
    torque : ndarray, shape (N,)
        Torque less its level [N·m or N].
    step : float
        Change of the torque level by the start [N·m or N].
    noise : float
        Standard deviation of the torque's noise [N·m or N].
    """
    from scipy.signal import find_peaks  # loads slowly

    beyond = max(_OVER * abs(step), _CLEAR * noise)
    found = sorted(
        (int(k), sign)
        for sign in (1.0, -1.0)
        for k in find_peaks(sign * torque, height=beyond, prominence=beyond)[0]
    )
    turns = [
        k for place, (k, sign) in enumerate(found) if place == 0 or sign != found[place - 1][1]
    ]
    if len(turns) < _EXTREMES:
        return 0.0
    return float(0.5 / np.median(np.diff(t[turns])))


def swinging_starts(name: str, hertz: Sequence[float], starts: int) -> list[Finding]:
    """Finding about a joint whose torque swings after most of its starts."""
    often = f"{np.median(hertz):.2g} Hz after {len(hertz)} of {starts}"
    return [
        Finding(
            name,
            "ringing",
            f"the torque of {name} oscillates at about {often} starts, and the oscillation decays: "
            "the joint, or a link behind it, is elastic. Round trips use the samples after the "
            "oscillation; lower accelerations reduce it",
        )
    ]
