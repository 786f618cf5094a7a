"""Torque signals that lag the motion: a joint cannot leave its rest position before the torque overcomes friction.

Starts after which the torque swings do not show the lag.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.ndimage import maximum_filter1d, minimum_filter1d

from stribeck.ident.arrays import Array
from stribeck.ident.log.finding import Finding
from stribeck.ident.log.health.swinging_starts import swing_after, swinging_starts
from stribeck.ident.log.parts import parts_with_strokes
from stribeck.ident.log.run import Run
from stribeck.ident.log.strokes import Stroke, resolution_of

LATE = 0.025            # s; a larger lag is reported,
_PERIODS = 2.0          # if it is also more than this many periods
_RESTS = 0.12           # s of rest before a start,
_BEFORE = 0.5           # first part of the rest, for the torque level at rest
_LEVEL = 0.5            # s after the beginning of a stroke; its second half gives the level of sliding
_PART = 0.7             # part of the torque step that ends the lag
_CLEAR = 5.0            # smallest torque step, in standard deviations of the torque
_AHEAD = 0.3            # s; longest ramp before the constant speed of a stroke
_LATEST = 0.4           # s; a later torque change comes from gravity along the stroke
_GROUPS = 4             # groups of strokes by speed; a lag must show in all groups
_STARTS = 4             # smallest number of starts in each group
_MOST = 0.9             # quantile of the lags: noise and a slow loop make the torque seem early, never late


def late_torques(run: Run, strokes: Sequence[Stroke]) -> list[Finding]:
    """Findings about joints whose torque lags their motion, or swings, at the beginning of strokes.

    Parameters
    ----------
    run : Run
        Run with signals q and tau.
    strokes : sequence of Stroke
        Strokes in the run.
    """
    period, findings = run.period, list[Finding]()
    for name, lags, hertz in _starts(run, strokes):
        if _rings(lags, hertz):
            findings += swinging_starts(name, hertz, len(hertz) + len(lags))
        lag = common_lag(lags) if len(lags) >= _GROUPS * _STARTS else 0.0
        if lag > max(LATE, _PERIODS * period):
            findings.append(Finding(
                name, "late torque", f"torque of {name} lags the motion by {1e3 * lag:.0f} ms, in {len(lags)} starts from rest. "
                "Along a stroke, the torque belongs to an earlier position: the slope of gravity looks like viscous friction. "
                "Log torque and position of the same instant, or filter the torque less"))
    return findings


def ringing_joints(run: Run, strokes: Sequence[Stroke]) -> dict[str, float]:
    """Joints whose torque swings after most starts, with the median frequency [Hz]."""
    return {name: float(np.median(hertz)) for name, lags, hertz in _starts(run, strokes) if _rings(lags, hertz)}


def _starts(run: Run, strokes: Sequence[Stroke]) -> Iterator[tuple[str, Array, list[float]]]:
    """Yield name, lags and swing frequencies of the starts of each joint, except joints that share a motor."""
    if not strokes:                             # a table of friction has neither strokes nor samples
        return
    coupled = run.arm.transmission_of(run.names)        # the torque of a shared motor depends on other joints' motion
    joints = [joint for joint in range(len(run.names)) if coupled is None or not coupled.motors_of(joint)]
    found = {joint: (list[Array](), list[float]()) for joint in joints}
    for part, here in parts_with_strokes(run, strokes):
        for joint, (lags, hertz) in found.items():
            own = [stroke for stroke in here if stroke.joint == joint]
            some, swings = lags_of_starts(part.t, part.signals["q"][:, joint], part.signals["tau"][:, joint], own)
            lags.append(some)
            hertz += swings
    for joint, (lags, hertz) in found.items():
        yield run.names[joint], np.concatenate(lags), hertz


def _rings(lags: Array, hertz: Sequence[float]) -> bool:
    return len(hertz) >= max(_STARTS, len(lags))


def common_lag(lags: Array) -> float:
    """Lag [s] that strokes of all speeds share, from speeds and lags of starts, shape (S, 2).

    Two effects look like a lag but depend on speed: viscous friction rises with the ramp of fast strokes, and a joint creeps
    before it slides, longer for slow strokes.
    """
    groups = np.array_split(lags[np.argsort(lags[:, 0]), 1], _GROUPS)
    return min(float(np.quantile(group, _MOST)) for group in groups)


def lags_of_starts(t: Array, x: Array, tau: Array, strokes: Sequence[Stroke]) -> tuple[Array, list[float]]:
    """Speed and lag [s] of one joint's strokes that begin from rest, shape (S, 2), and frequencies [Hz] of swinging starts.

    The lag is the time from the first motion until the torque has reached `_PART` of its step from rest to sliding.
    """
    window = max(3, round(_RESTS / float(np.median(np.diff(t)))))
    up_to = (window - 1) // 2                                               # the window ends at its row
    span = maximum_filter1d(x, window, origin=up_to) - minimum_filter1d(x, window, origin=up_to)
    resting = np.flatnonzero(span <= 2.0 * resolution_of(x))
    found, swings = [], []
    for stroke in strokes:
        first, k = stroke.rows.start, int(np.searchsorted(resting, stroke.rows.start))
        if k == 0 or resting[k - 1] < window:
            continue
        last = int(resting[k - 1])
        rest = slice(last - window + 1, last + 1)
        begun = first + int(np.searchsorted(t[stroke.rows], t[first] + _LEVEL))
        slides = tau[(first + begun) // 2:begun]
        if len(slides) < 2:
            continue
        level, low = float(np.median(slides)), float(np.median(tau[rest][:round(_BEFORE * window)]))
        step, noise = stroke.direction * (level - low), float(np.std(slides))
        ahead = max(last, int(np.searchsorted(t, t[first] - _AHEAD)))
        if hertz := swing_after(t[ahead:begun], tau[ahead:begun] - level, step, noise):
            swings.append(hertz)
            continue
        if step < _CLEAR * noise:
            continue
        risen = np.flatnonzero(stroke.direction * (tau[rest.start:begun] - low) > _PART * step)
        if len(risen) and (lag := t[rest.start + risen[0]] - t[last]) < _LATEST:
            found.append((stroke.speed, lag))
    return np.array(found).reshape(-1, 2), swings
