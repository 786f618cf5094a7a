"""Checks of a wave: rest at both ends, and limits of position, speed and acceleration."""

import numpy as np

from stribeck.experiments.errors import PlanError
from stribeck.experiments.plans.check_segment import Bounds
from stribeck.experiments.plans.margins import SILENT_CYCLES, run_on
from stribeck.experiments.plans.motion_profile import Wave, motion_profile
from stribeck.experiments.plans.plan import Segment
from stribeck.ident.arrays import Array

_CLOSE = 32  # times checked per period of the highest harmonic
_AT_REST = 1e-3  # speed at both ends that counts as rest, as a part of the velocity limit


def check_wave(segment: Segment, start: Array, bounds: Bounds) -> float:
    """Refuse a wave that exceeds a limit, or would pass one if the computer stops sending.

    Returns
    -------
    float
        Smallest clearance to a position limit [rad or m].

    Raises
    ------
    PlanError
        If a check fails; the message names segment, joint, value and limit.
    """
    _check_ends(segment, start)
    motion = motion_profile(start, segment, bounds.names, bounds.limits)
    assert isinstance(motion, Wave)
    t = motion.close(_CLOSE)
    s, ds = motion(t)
    limits, (low, high), speed = bounds.limits, bounds.limits.position.T, motion.fastest
    gap = np.minimum(start + s - low, high - start - s).min(axis=0)
    needed = run_on(speed, limits.acceleration, bounds.silent) * segment.moving(start)
    _refuse(
        segment, bounds, "comes nearer to a position limit than", needed - gap, -gap, -needed, ""
    )
    begins = np.abs(motion(np.array([1e-6 * motion.period]))[1][0])
    still = _AT_REST * limits.velocity
    _refuse(segment, bounds, "begins at a speed of", begins - still, begins, still, "/s")
    _refuse(
        segment,
        bounds,
        "has a speed of",
        np.abs(ds).max(axis=0) - limits.velocity,
        speed,
        limits.velocity,
        "/s",
    )
    hardest = np.abs(motion.accelerations(t)).max(axis=0)
    _refuse(
        segment,
        bounds,
        "has an acceleration of",
        hardest - limits.acceleration,
        hardest,
        limits.acceleration,
        "/s²",
    )
    return float(gap.min())


def _refuse(
    segment: Segment,
    bounds: Bounds,
    does: str,
    excess: Array,
    found: Array,
    allowed: Array,
    per: str,
) -> None:
    j = int(np.argmax(excess))
    if excess[j] <= 1e-9:
        return
    unit = bounds.unit(j) + per
    if does.endswith("than"):
        raise PlanError(
            f"segment {segment.id} {does} allowed: {bounds.names[j]} keeps {-found[j]:.3g} {unit}, "
            f"but {-allowed[j]:.3g} {unit} are needed"
            + (
                f": if the computer stops sending, the drive keeps moving for {bounds.silent:.3g} "
                f"s (driver.watchdog plus {SILENT_CYCLES} cycles)"
                if allowed[j]
                else ""
            )
        )
    raise PlanError(
        f"segment {segment.id} {does} {found[j]:.4g} {unit} at {bounds.names[j]}, limit "
        f"{allowed[j]:.4g} {unit}"
    )


def check_harmonics(segment: Segment, n: int) -> None:
    """Refuse harmonics whose size does not fit n joints."""
    wave = segment.wave
    if wave is None:
        return
    sizes = {len(row) for row in (*wave.sines, *wave.cosines)}
    if len(wave.sines) != n or len(wave.cosines) != n or len(sizes) != 1 or 0 in sizes:
        raise PlanError(
            f"segment {segment.id}: wave.sines and wave.cosines need a row for each of the {n} "
            "joints, and all rows the same number of harmonics"
        )
    if not wave.period > 0.0 or wave.periods < 1:
        raise PlanError(
            f"segment {segment.id}: wave.period = {wave.period:g} s and wave.periods = "
            f"{wave.periods}; needed are a period above 0 s and at least 1 period"
        )


def _check_ends(segment: Segment, start: Array) -> None:
    """Refuse a target that is not the start, and a wave that moves no joint."""
    if tuple(start) != segment.target:
        raise PlanError(f"segment {segment.id} is a wave; its target must equal its start")
    if not segment.moving(start).any():
        raise PlanError(f"segment {segment.id} is a wave, but moves no joint")
