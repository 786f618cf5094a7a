"""Torque that comes after the motion it drives: a joint cannot leave its rest before its friction is overcome.

Where it swings after a start, nothing tells when it came.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.ndimage import maximum_filter1d, minimum_filter1d

from stribeck.ident.arrays import Array
from stribeck.ident.log.finding import Finding
from stribeck.ident.log.health.swinging_starts import swing_after, swinging_starts
from stribeck.ident.log.run import Run
from stribeck.ident.log.strokes import Stroke, resolution_of

LATE = 0.025            # s; a torque that late is worth a word,
_PERIODS = 2.0          # if it is so many periods too
_RESTS = 0.12           # s for which a joint rests before it starts,
_BEFORE = 0.5           # the torque's level in rest being that of this first part of it
_LEVEL = 0.5            # s from a stroke's beginning, over whose second half the torque has come
_PART = 0.7             # of its step, by when it must have come
_CLEAR = 5.0            # standard deviations of the torque that a step must have
_AHEAD = 0.3            # s before a stroke at constant speed, in which it ramps up at the earliest
_LATEST = 0.4           # s; what comes later is gravity that changes along the way
_GROUPS = 4             # of strokes by their speed; a lag shows in all of them
_STARTS = 4             # least starts of each
_MOST = 0.9             # quantile of the starts' lags: noise and a loop that winds up slowly make a torque seem early, never late


def late_torques(run: Run, strokes: Sequence[Stroke]) -> list[Finding]:
    """Joints whose torque lags their motion, by how the torque rises where strokes begin, or swings there.

    Parameters
    ----------
    run : Run
        With signals q and tau.
    strokes : sequence of Stroke
        What was found in it.
    """
    period, findings = float(np.median(np.diff(run.t))), list[Finding]()
    for name, lags, hertz in _starts(run, strokes):
        if _rings(lags, hertz):
            findings += swinging_starts(name, hertz, len(hertz) + len(lags))
        lag = common_lag(lags) if len(lags) >= _GROUPS * _STARTS else 0.0
        if lag > max(LATE, _PERIODS * period):
            findings.append(Finding(
                name, "late torque", f"torque of {name} comes {1e3 * lag:.0f} ms after the motion that it drives, in {len(lags)} "
                "starts from rest; along a stroke it is that of another place, so gravity's slope passes for viscous friction. "
                "Log torque and position of the same instant, or a torque that is filtered less"))
    return findings


def ringing_joints(run: Run, strokes: Sequence[Stroke]) -> dict[str, float]:
    """Joints whose torque swings after most of their starts, and at about which frequency [Hz]."""
    return {name: float(np.median(hertz)) for name, lags, hertz in _starts(run, strokes) if _rings(lags, hertz)}


def _starts(run: Run, strokes: Sequence[Stroke]) -> Iterator[tuple[str, Array, list[float]]]:
    """Lags, and frequencies of swings, of the starts of each joint that has motors of its own."""
    coupled = run.arm.transmission_of(run.names)
    for joint, name in enumerate(run.names if strokes else ()):             # a table of friction has neither
        if coupled is not None and coupled.motors_of(joint):        # whose torque goes with other joints' motion, too
            continue
        own = [stroke for stroke in strokes if stroke.joint == joint]
        yield name, *lags_of_starts(run.t, run.signals["q"][:, joint], run.signals["tau"][:, joint], own)


def _rings(lags: Array, hertz: Sequence[float]) -> bool:
    return len(hertz) >= max(_STARTS, len(lags))


def common_lag(lags: Array) -> float:
    """Lag [s] that strokes of all speeds show, of the lags of starts, shape (S, 2).

    What only looks like one depends on speed: viscous friction comes with the ramps of fast strokes, and a joint creeps before it
    slides, over the longer a time the slower the stroke.
    """
    groups = np.array_split(lags[np.argsort(lags[:, 0]), 1], _GROUPS)
    return min(float(np.quantile(group, _MOST)) for group in groups)


def lags_of_starts(t: Array, x: Array, tau: Array, strokes: Sequence[Stroke]) -> tuple[Array, list[float]]:
    """Speed and lag [s] of one joint's strokes that begin from rest, shape (S, 2), and frequencies [Hz] of those that swing then.

    The lag is the time from when the joint leaves its place of rest to when the torque has made most of its way from rest to
    sliding.
    """
    window = max(3, round(_RESTS / float(np.median(np.diff(t)))))
    up_to = (window - 1) // 2                                               # the rows up to each
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
