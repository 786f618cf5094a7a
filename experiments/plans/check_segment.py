"""Checks of one segment: limits of position, speed, acceleration, torque rate and time, and
overrun after a silent computer.
"""

from dataclasses import dataclass

import numpy as np

from stribeck.drivers.wire.axis import BRAKE_CLOSES
from stribeck.experiments.errors import PlanError
from stribeck.experiments.plans.margins import SILENT_CYCLES, run_on
from stribeck.experiments.plans.motion_profile import motion_profile, ramp_time
from stribeck.experiments.plans.plan import Segment
from stribeck.ident.arm.arm_file import Limits
from stribeck.ident.arrays import Array
from stribeck.ident.errors import unknown_name
from stribeck.ident.log.run import TO_START
from stribeck.ident.model.mechanism import Mechanism

# shortest time from zero to the torque limit in a ramp [s], so that the torque can be monitored
_RAMP_LEAST = 2.0
_LONGEST = 3600.0  # longest time of a segment [s]


@dataclass(frozen=True)
class Bounds:
    """Limits that every segment of a plan must keep.

    Attributes
    ----------
    mechanism : Mechanism
        Names and units of the joints.
    limits : Limits
        Limits of position, velocity, acceleration and torque.
    silent : float
        Time that drives keep moving after the computer stops sending, see `silence` [s].
    """

    mechanism: Mechanism
    limits: Limits
    silent: float

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all joints."""
        return self.mechanism.names

    def unit(self, j: int) -> str:
        """Unit of a joint's position."""
        return self.mechanism.position_unit(j)


def check_segment(segment: Segment, start: Array, bounds: Bounds) -> float:
    """Refuse a segment that exceeds a limit.

    Returns
    -------
    float
        Smallest clearance of its ends to a position limit [rad or m].

    Raises
    ------
    PlanError
        If a check fails; the message names segment, joint, value and limit.
    """
    room = _check_positions(segment, start, bounds)
    if (segment.kind == "ramp") != (segment.rate is not None):
        raise PlanError(
            f"segment {segment.id} is a {segment.kind}: a ramp needs a rate, other segments have "
            "none"
        )
    if (segment.kind == "wave") != (segment.wave is not None):
        raise PlanError(
            f"segment {segment.id} is a {segment.kind}: a wave needs harmonics (wave), other "
            "segments have none"
        )
    if segment.kind == "move":
        _check_rest(segment)
    if segment.kind == "ramp":
        _check_ramp(segment, start, bounds)
    elif segment.kind not in ("move", "wave"):  # `check_wave` checks waves
        _check_joints(segment, start, bounds)
        _check_speeds(segment, start, bounds)
    _check_time(segment, start, bounds)
    check_silence(segment, start, bounds)
    return room


def _check_positions(segment: Segment, start: Array, bounds: Bounds) -> float:
    """Refuse ends outside position limits; return the smallest clearance to a limit [rad or m]."""
    position, room = bounds.limits.position, np.inf
    for end in (start, np.array(segment.target)):
        gap = np.minimum(end - position[:, 0], position[:, 1] - end)
        worst = int(np.argmin(gap))
        if gap[worst] < 0.0:
            (low, high), unit = position[worst], bounds.unit(worst)
            raise PlanError(
                f"segment {segment.id} takes {bounds.names[worst]} to {end[worst]:.3f} {unit}, "
                f"outside its limits [{low:g}, {high:g}]"
            )
        room = min(room, float(gap[worst]))
    return room


def _check_rest(segment: Segment) -> None:
    """Refuse a rest of negative time after a move."""
    if segment.dwell is not None and not segment.dwell >= 0.0:
        raise PlanError(
            f"segment {segment.id}: dwell = {segment.dwell:g} s; a rest takes 0 s or more"
        )


def _check_ramp(segment: Segment, start: Array, bounds: Bounds) -> None:
    """Refuse a ramp without joint or direction, with too high a rate, or
    whose target is not its start.
    """
    names = bounds.names
    if segment.joint not in names:
        raise PlanError(f"segment {segment.id}: {unknown_name('joint', str(segment.joint), names)}")
    if not segment.rate or not (segment.dwell or 0.0) > 0.0 or tuple(start) != segment.target:
        raise PlanError(
            f"segment {segment.id}: a ramp of {segment.joint} needs a rate other than 0, a dwell "
            "above 0 s and a "
            f"target equal to its start; found {segment.rate}, {segment.dwell}, {segment.target}"
        )
    j = names.index(segment.joint)
    fastest, unit = float(bounds.limits.torque[j]) / _RAMP_LEAST, bounds.mechanism.unit(j)
    if abs(segment.rate) > fastest:
        raise PlanError(
            f"segment {segment.id}: the torque of {segment.joint} grows by {abs(segment.rate):g} "
            f"{unit}/s, limit "
            f"{fastest:g} {unit}/s (joints.{segment.joint}.torque divided by {_RAMP_LEAST:g} s)"
        )


def _check_joints(segment: Segment, start: Array, bounds: Bounds) -> None:
    """Refuse strokes, sweeps and swings with unknown joints, even numbers of passes,
    or motion of other joints.
    """
    names = bounds.names
    if segment.joint not in names:
        raise PlanError(f"segment {segment.id}: {unknown_name('joint', str(segment.joint), names)}")
    if (segment.kind == "swing") != (segment.swings is not None):
        raise PlanError(
            f"segment {segment.id} is a {segment.kind}: a swing needs swings, other segments have "
            "none"
        )
    if segment.swings and (
        len(segment.swings) != len(names)
        or any(passes < 1 or passes % 2 == 0 for passes in segment.swings)
    ):
        raise PlanError(
            f"segment {segment.id}: swings = {list(segment.swings)}; each of the {len(names)} "
            "joints needs an odd number of passes"
        )
    moving = [names[j] for j in _moving(segment, start)]
    if segment.joint not in moving or (segment.kind == "stroke" and len(moving) > 1):
        alone = " alone" if segment.kind == "stroke" else ""
        raise PlanError(
            f"segment {segment.id} is a {segment.kind} of {segment.joint}{alone}, but it moves "
            f"{', '.join(moving) or 'nothing'}"
        )


def _moving(segment: Segment, start: Array) -> list[int]:
    """Joints that a segment moves."""
    return [int(j) for j in np.flatnonzero(np.abs(np.array(segment.target) - start) > 0.0)]


def _check_speeds(segment: Segment, start: Array, bounds: Bounds) -> None:
    """Refuse speeds above their limits, and swings that turn back with too much acceleration."""
    names, limits, speeds = bounds.names, bounds.limits, segment.speeds(start, bounds.names)
    for j in _moving(segment, start):
        if not 0.0 < speeds[j] <= limits.velocity[j]:
            raise PlanError(
                f"segment {segment.id} moves {names[j]} at {speeds[j]:.6g} {bounds.unit(j)}/s, "
                f"limit {limits.velocity[j]:g} {bounds.unit(j)}/s"
            )
    if segment.swings is None:
        return
    duration = motion_profile(start, segment, names, limits).duration
    turning = np.pi * np.array(segment.swings) / duration * speeds
    worst = int(np.argmax(turning / limits.acceleration))
    if turning[worst] > limits.acceleration[worst]:
        raise PlanError(
            f"segment {segment.id} accelerates {names[worst]} by {turning[worst]:.4g} "
            f"{bounds.unit(worst)}/s², limit {limits.acceleration[worst]:g} {bounds.unit(worst)}/s²"
        )


def _check_time(segment: Segment, start: Array, bounds: Bounds) -> None:
    """Refuse a segment that takes too long, for example because its speed or rate was
    typed with too many zeros.
    """
    time = motion_profile(start, segment, bounds.names, bounds.limits).duration + ramp_time(
        segment, bounds.names, bounds.limits
    )
    if time > _LONGEST:
        raise PlanError(
            f"segment {segment.id} takes {time:.3g} s, at most {_LONGEST:g} s are allowed; raise "
            f"its {'rate' if segment.kind == 'ramp' else 'speed'}"
        )


def check_silence(segment: Segment, start: Array, bounds: Bounds) -> None:
    """Refuse a motion that would pass a position limit if the computer stops
    sending during the motion.
    """
    limits, silent = bounds.limits, bounds.silent
    if segment.kind in ("ramp", "wave") or not silent:
        return
    target = np.array(segment.target)
    speed = np.abs(target - start) * motion_profile(start, segment, bounds.names, limits).fastest
    needed = run_on(speed, limits.acceleration, silent)
    low, high = limits.position.T
    # swings return
    for begin, end in ((start, target), (target, start))[: 1 + (segment.kind == "swing")]:
        gap = np.where(end > begin, high - end, np.where(end < begin, end - low, np.inf))
        worst = int(np.argmax(needed - gap))
        if needed[worst] - gap[worst] > 1e-9:
            way, unit = (
                f"segment {segment.id}" if segment.id != TO_START else "the path to the start",
                bounds.unit(worst),
            )
            raise PlanError(
                f"{way} takes {bounds.names[worst]} at {speed[worst]:.3g} {unit}/s to "
                f"{gap[worst]:.3g} {unit} before its limit, but {needed[worst]:.3g} {unit} are "
                "needed to stop: if the computer stops sending, the drive keeps moving for "
                f"{silent:.3g} s (driver.watchdog plus {SILENT_CYCLES} cycles, and "
                f"{BRAKE_CLOSES:g} s for the brake if the drive loses power)"
            )
