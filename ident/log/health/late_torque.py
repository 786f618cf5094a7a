"""Torque signals that lag the motion: a joint cannot leave its rest position before the
torque overcomes friction.

Starts after which the torque swings do not show the lag.
"""

from collections.abc import Sequence

import numpy as np
from scipy.ndimage import maximum_filter1d, minimum_filter1d

from stribeck.ident.arrays import Array
from stribeck.ident.log.finding import Finding
from stribeck.ident.log.health.swinging_starts import swing_after, swinging_starts
from stribeck.ident.log.parts import parts_with_strokes
from stribeck.ident.log.run import Run
from stribeck.ident.log.strokes import Stroke, resolution_of

LATE = 0.025  # s; a larger lag is reported,
_PERIODS = 2.0  # if it is also more than this many periods
_RESTS = 0.12  # s of rest before a start,
_BEFORE = 0.5  # first part of the rest, for the torque level at rest
# s after the beginning of a stroke; its second half gives the level of sliding
_LEVEL = 0.5
_PART = 0.7  # part of the torque step that ends the lag
_CLEAR = 5.0  # smallest torque step, in standard deviations of the torque
_AHEAD = 0.3  # s; longest ramp before the constant speed of a stroke
_LATEST = 0.4  # s; a later torque change comes from gravity along the stroke
_GROUPS = 4  # groups of strokes by speed; a lag must show in all groups
_STARTS = 4  # smallest number of starts in each group
# quantile of the lags: noise and a slow loop make the torque seem early, never late
_MOST = 0.9


class Starts:
    """Starts of the joints of a run from rest, except of joints that share a motor, whose torque
    depends on other joints' motion.

    Attributes
    ----------
    lags : dict of str to list of ndarray, shape (S, 2)
        Speed and lag [s] of the starts of each joint, part by part.
    hertz : dict of str to list of float
        Frequencies of swinging starts [Hz].
    """

    def __init__(self, run: Run) -> None:
        coupled = run.arm.transmission_of(run.names)
        names = [
            name
            for joint, name in enumerate(run.names)
            if coupled is None or not coupled.motors_of(joint)
        ]
        self.lags: dict[str, list[Array]] = {name: [np.empty((0, 2))] for name in names}
        self.hertz: dict[str, list[float]] = {name: [] for name in names}

    @classmethod
    def of(cls, run: Run, strokes: Sequence[Stroke]) -> "Starts":
        """All starts of a run."""
        starts = cls(run)
        if strokes:  # a table of friction has neither strokes nor samples
            for part, own in parts_with_strokes(run, strokes):
                starts.add(part, own)
        return starts

    def add(self, part: Run, strokes: Sequence[Stroke]) -> None:
        """Add the starts of a part, with its strokes."""
        for name, lags in self.lags.items():
            joint = part.names.index(name)
            if not (own := [stroke for stroke in strokes if stroke.joint == joint]):
                continue
            some, swings = lags_of_starts(
                part.t, part.signals["q"][:, joint], part.signals["tau"][:, joint], own
            )
            lags.append(some)
            self.hertz[name] += swings

    @property
    def ringing(self) -> dict[str, float]:
        """Joints whose torque swings after most starts, with the median frequency [Hz]."""
        return {
            name: float(np.median(hertz))
            for name, hertz in self.hertz.items()
            if len(hertz) >= max(_STARTS, sum(map(len, self.lags[name])))
        }


def late_torques(period: float, starts: Starts) -> list[Finding]:
    """Findings about joints whose torque lags their motion, or swings, at the beginning of strokes.

    Parameters
    ----------
    period : float
        Sampling period [s].
    starts : Starts
        Starts in the run.
    """
    findings, ringing = list[Finding](), starts.ringing
    for name, found in starts.lags.items():
        lags, hertz = np.concatenate(found), starts.hertz[name]
        if name in ringing:
            findings += swinging_starts(name, hertz, len(hertz) + len(lags))
        lag = common_lag(lags) if len(lags) >= _GROUPS * _STARTS else 0.0
        if lag > max(LATE, _PERIODS * period):
            findings.append(
                Finding(
                    name,
                    "late torque",
                    f"torque of {name} lags the motion by {1e3 * lag:.0f} ms, in {len(lags)} "
                    "starts from rest. Along a stroke, the torque belongs to an earlier position: "
                    "the slope of gravity looks like viscous friction. Log torque and position of "
                    "the same instant, or filter the torque less",
                )
            )
    return findings


def common_lag(lags: Array) -> float:
    """Lag [s] that strokes of all speeds share, from speeds and lags of starts, shape (S, 2).

    Two effects look like a lag but depend on speed: viscous friction rises with the ramp of fast
    strokes, and a joint creeps before it slides, longer for slow strokes.
    """
    groups = np.array_split(lags[np.argsort(lags[:, 0]), 1], _GROUPS)
    return min(float(np.quantile(group, _MOST)) for group in groups)


def lags_of_starts(
    t: Array, x: Array, tau: Array, strokes: Sequence[Stroke]
) -> tuple[Array, list[float]]:
    """Speed and lag [s] of one joint's strokes that begin from rest, shape (S, 2), and
    frequencies [Hz] of swinging starts.

    The lag is the time from the first motion until the torque has reached `_PART` of its
    step from rest to sliding.
    """
    window = max(3, round(_RESTS / float(np.median(np.diff(t)))))
    # the window ends at its row
    up_to = (window - 1) // 2
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
        slides = tau[(first + begun) // 2 : begun]
        if len(slides) < 2:
            continue
        level, low = (
            float(np.median(slides)),
            float(np.median(tau[rest][: round(_BEFORE * window)])),
        )
        step, noise = stroke.direction * (level - low), float(np.std(slides))
        ahead = max(last, int(np.searchsorted(t, t[first] - _AHEAD)))
        if hertz := swing_after(t[ahead:begun], tau[ahead:begun] - level, step, noise):
            swings.append(hertz)
            continue
        if step < _CLEAR * noise:
            continue
        risen = np.flatnonzero(stroke.direction * (tau[rest.start : begun] - low) > _PART * step)
        if len(risen) and (lag := t[rest.start + risen[0]] - t[last]) < _LATEST:
            found.append((stroke.speed, lag))
    return np.array(found).reshape(-1, 2), swings
