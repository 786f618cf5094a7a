"""Recorded motion as the observer takes it: stretches without gaps, with measured
velocities and temperatures.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.log.run import Run, read_signal

_GAP = 5.0  # periods; a longer gap begins a new motion


@dataclass(frozen=True)
class RecordedMotion:
    """Samples without gaps.

    Attributes
    ----------
    first : int
        Row of the first sample in the run.
    t : ndarray, shape (N,)
        [s].
    q, dq, tau : ndarray, shape (N, n)
        Measured positions, velocities and torques.
    temperature : ndarray, shape (N, n), or None
        Temperatures, and states of joints that friction heats; None if friction of
        no joint depends on them.
    """

    first: int
    t: Array
    q: Array
    dq: Array
    tau: Array
    temperature: Array | None


def measured_velocity(run: Run) -> Array:
    """Return the recorded velocities, shape (N, n), or differences of positions
    where none were recorded.
    """
    dq, slopes = read_signal(run, "dq", run.rows), np.gradient(run.signals["q"], run.t, axis=0)
    if dq is None:
        return slopes
    return np.where(np.isfinite(dq).all(axis=0), dq, slopes)


def recorded_motions(
    run: Run, calibration: Calibration, rows: int | None = None
) -> Iterator[RecordedMotion]:
    """Yield the stretches of a run, or of its first rows."""
    run = run if rows is None else run.between(0, rows)
    t = run.t
    if len(t) < 2:
        return
    dq = measured_velocity(run)
    heat = _temperatures(run, calibration, dq)
    step = np.diff(t)
    for a, b in pairwise(
        [0, *(np.flatnonzero(step > _GAP * np.median(step)) + 1).tolist(), len(t)]
    ):
        part = slice(a, b)
        yield RecordedMotion(
            a,
            t[part],
            run.signals["q"][part],
            dq[part],
            run.signals["tau"][part],
            None if heat is None else heat[part],
        )


def _temperatures(run: Run, calibration: Calibration, dq: Array) -> Array | None:
    """Return the temperature, or the state of self-heating, of each joint."""
    dependent = [
        joint.temperature for joint in calibration.joints.values() if joint.temperature is not None
    ]
    if not dependent:
        return None
    told = run.signals.get("temperature")
    sensed = np.full(dq.shape, np.nan) if told is None else told
    if all(one.heating is None for one in dependent):
        return sensed
    state = calibration.self_heating(run.t, run.signals["q"], dq)
    return np.where(np.isnan(state), sensed, state)
