"""Torque that swings after a start and fades: what a joint carries swings on a spring, its own or that of a link."""

from collections.abc import Sequence

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.log.finding import Finding

_OVER = 0.5             # of the torque's step, and
_CLEAR = 4.0            # standard deviations of its noise, that it has to go beyond its level, on either side
_EXTREMES = 4           # in turn above and below it


def swing_after(t: Array, torque: Array, step: float, noise: float) -> float:
    """Frequency [Hz] at which torque swings about a level that it comes to; 0 where it does not swing.

    Parameters
    ----------
    t : ndarray, shape (N,)
        Time from a start on [s].
    torque : ndarray, shape (N,)
        Torque less its level [N·m or N].
    step : float
        By how much the start changes the level [N·m or N].
    noise : float
        Standard deviation of the torque's noise [N·m or N].
    """
    from scipy.signal import find_peaks  # takes a while to load

    beyond = max(_OVER * abs(step), _CLEAR * noise)
    found = sorted((int(k), sign) for sign in (1.0, -1.0) for k in find_peaks(sign * torque, height=beyond, prominence=beyond)[0])
    turns = [k for place, (k, sign) in enumerate(found) if place == 0 or sign != found[place - 1][1]]
    if len(turns) < _EXTREMES:
        return 0.0
    return float(0.5 / np.median(np.diff(t[turns])))


def swinging_starts(name: str, hertz: Sequence[float], starts: int) -> list[Finding]:
    """What to say of a joint whose torque swings after most of its starts."""
    often = f"{np.median(hertz):.2g} Hz after {len(hertz)} of {starts}"
    return [Finding(name, "ringing", f"the torque of {name} swings at about {often} "
                    "starts and fades: the joint, or a link that it carries, is elastic. Round trips use what comes after "
                    "the swing; lower accelerations swing less")]
