"""The validation motion: all joints oscillate simultaneously, each with its own
period, in several places.

The motion is never played backwards, so that it has no round trips to fit. Speeds rise from rest
to a peak and fall again, joints turn back at different times, and accelerations and couplings
resemble ordinary motion.
"""

from dataclasses import replace

import numpy as np

from stribeck.experiments.errors import PlanError
from stribeck.experiments.plans.check_plan import checked
from stribeck.experiments.plans.clear.clearance import in_reach, ways_are_clear
from stribeck.experiments.plans.constant_speed_options import ConstantSpeed
from stribeck.experiments.plans.margins import (
    MAX_GRAVITY_SHARE,
    PLANNED_SHARE,
    gravity_share,
    motions_share,
)
from stribeck.experiments.plans.motion_profile import (
    ACCELERATION_SHARE,
    corner_points,
    motion_profile,
    with_robot_time,
)
from stribeck.experiments.plans.plan import Plan, Segment, rounded
from stribeck.experiments.plans.speeds_and_postures import Design
from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.arrays import Array
from stribeck.ident.log.run import VALIDATION, arm_sha256

METHOD = "validation motion"
# number of swings, and of speed levels; every joint uses each level in one swing
SWINGS = 6
_DURATION = 10.0  # duration of a swing [s]
_PASSES = (3, 5, 7)  # numbers of passes of a joint, drawn at random
_ROOM = (0.6, 1.0)  # range of a random factor on the longest stroke of a joint
_TRIES = 200  # number of places and directions tried for a swing
_SHRINKING = 25  # number of tries after which swings of a closed chain are halved


def plan_validation(arm: ArmFile, joints: tuple[str, ...] | None = None, seed: int = 0) -> Plan:
    """Make the plan of the validation motion of some or all joints, checked against all limits.

    The same seed gives other random numbers than in a campaign.

    Parameters and errors as in `one_joint_at_a_time.plan_constant_speed`.
    """
    design = Design.of(arm, joints, ConstantSpeed())
    rng = np.random.default_rng((seed, SWINGS))
    home = arm.home(design.mechanism)
    segments = [_move(home, 0)]
    levels = np.array([rng.permutation(SWINGS) for _ in home]).T / (SWINGS - 1)
    for number, level in enumerate(levels, start=1):
        start, swing = _free_swing(design, home, level, number, rng)
        if not _straight(design, np.array(segments[-1].target), start):
            segments.append(_move(home, 0))
        segments += [_move(start, number), swing]
    segments.append(_move(home, 0))
    plan = Plan(
        arm.name,
        arm_sha256(arm),
        METHOD,
        seed,
        design.mechanism.names,
        tuple(home.tolist()),
        tuple(replace(segment, id=number) for number, segment in enumerate(segments)),
        purpose=VALIDATION,
    )
    return with_robot_time(checked(plan, arm, design.mechanism), design.limits)


def _move(target: Array, posture: int) -> Segment:
    return Segment(0, "move", tuple(target.tolist()), posture)


def _free_swing(
    design: Design, home: Array, level: Array, number: int, rng: np.random.Generator
) -> tuple[Array, Segment]:
    """Draw a start that is reachable from home and a swing from it, with joint j at its speed
    level, that can return home.
    """
    active, (low, high) = list(design.active), design.room
    speeds, way = np.diagonal(design.at_level(level)), np.zeros(len(home))
    chain = design.mechanism.chain is not None
    for attempt in range(_TRIES):
        passes = rng.choice(_PASSES, len(home))
        beat = np.pi * passes / _DURATION
        speed = np.minimum(speeds, ACCELERATION_SHARE * design.limits.acceleration / beat)
        way[active] = np.minimum(2.0 * speed / beat, rng.uniform(*_ROOM) * design.longest)[active]
        if chain:  # independent swings of its joints soon leave the reach
            way *= 0.5 ** (attempt // _SHRINKING)
        way = rounded(way)
        place = np.where(way > 0.0, rng.uniform(low, high - way), home)
        if chain:
            place = in_reach(design.arm, design.mechanism, home, place[None], rng)[0]
        place = np.where(way > 0.0, rounded(place), home)
        turned = rng.random(len(home)) < 0.5
        start, target = np.where(turned, place + way, place), np.where(turned, place, place + way)
        leader = active[0]
        swing = Segment(
            0,
            "swing",
            tuple(target.tolist()),
            number,
            design.mechanism.names[leader],
            round(float(way[leader] * beat[leader] / 2.0), 6),
            swings=tuple(passes.tolist()),
        )
        bends = corner_points(start, swing)
        if (
            (
                gravity_share(design.mechanism, design.limits, np.array([start, target]))
                <= MAX_GRAVITY_SHARE
            ).all()
            and _straight(design, home, start)
            and _straight(design, target, home)
            and ways_are_clear(design.arm, design.mechanism, bends[:-1], bends[1:]).all()
            and (not chain or _leaves_torque(design, start, swing))
        ):
            return start, swing
    raise PlanError(
        f"{design.arm.path}: none of {_TRIES} random postures leaves room for swings; widen the "
        "limits or the workspace box"
    )


def _leaves_torque(design: Design, start: Array, swing: Segment) -> bool:
    """Whether weight and inertia leave the drives torque for friction; inertia of a closed
    chain grows near its reach.
    """
    motion = motion_profile(start, swing, design.mechanism.names, design.limits)
    share = motions_share(
        design.mechanism, design.limits, [(start, np.array(swing.target), motion)]
    )
    return bool((share <= PLANNED_SHARE).all())


def _straight(design: Design, start: Array, target: Array) -> bool:
    """Whether the straight path is clear."""
    return bool(ways_are_clear(design.arm, design.mechanism, start[None], target[None])[0])
