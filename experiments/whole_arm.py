"""The whole arm at once: all joints at constant speeds along a straight way, which is retraced with time reversed.

Gravity, inertia, Coriolis and centrifugal forces are the same on the way back, so that the half difference of the torques
at mirrored places is the friction of every joint at once: as many round trips as one joint needs serve them all.
"""

import numpy as np
from numpy.typing import NDArray

from experiments.campaign import REFERENCE, Writer, campaign
from experiments.clearance import ways_are_clear
from experiments.design import Array, ConstantSpeed, Design
from experiments.plan import RAMP, Plan
from ident.armfile import ArmFile

METHOD = "time-reversed whole-arm round trips"
WHOLE_ARM = ConstantSpeed(longest_stroke=8.0)
_SIGNS = 4              # directions that are tried from every posture
_LEVELS = 8             # speeds at which a way is checked before its posture is taken


def plan_whole_arm(arm: ArmFile, joints: tuple[str, ...] | None = None, seed: int = 0,
                   options: ConstantSpeed | None = None) -> Plan:
    """Plan of a campaign in which all joints move at once, checked against all limits.

    Parameters, returns and errors as in `experiments.constant_speed.plan_constant_speed`.
    """
    design = Design.of(arm, joints, options or WHOLE_ARM)
    rng = np.random.default_rng(seed)
    postures, ways = design.choose_postures(lambda candidates: _ways(design, candidates, rng), rng)
    leader = design.active[0]

    def round_trip(writer: Writer, posture: int, speeds: Array, reference: bool = False) -> None:
        way, speeds = sweep(design, speeds)
        writer.round_trip(np.sign(ways[posture]) * way, leader, float(speeds[leader]), posture, reference)

    def measure(writer: Writer, number: int) -> None:
        for speeds in rng.permutation(design.speeds(number)):
            round_trip(writer, number, speeds)

    def refer(writer: Writer) -> None:
        round_trip(writer, 0, design.at_level(REFERENCE), reference=True)

    return campaign(design, METHOD, seed, postures, measure, refer)


def sweep(design: Design, speeds: Array) -> tuple[Array, Array]:
    """Ways of all joints, shape (n,), on which each keeps its speed for its own window at least; and the speeds.

    All start and stop together. A joint that has no room for the time that the slowest needs goes slower.
    """
    active = list(design.active)
    ramp = float(np.max(speeds[active] / (RAMP * design.limits.acceleration[active])))
    window = max((design.window(j, float(speeds[j])) + 0.25 * design.turn(j)) / speeds[j] for j in active)
    duration = ramp + design.options.settle_time + window
    way = np.zeros_like(speeds)
    way[active] = np.minimum(speeds * duration, design.longest)[active]
    return way, way / duration


def _ways(design: Design, candidates: Array, rng: np.random.Generator) -> tuple[Array, NDArray[np.bool_]]:
    """The longest ways from every posture, in directions drawn at random until one is free at all speeds."""
    (low, high), active = design.room, list(design.active)
    levels = np.array([sweep(design, speeds)[0] for speeds in design.at_level(np.linspace(0.0, 1.0, _LEVELS))])
    longest = levels.max(axis=0)
    up, down = candidates + longest <= high, candidates - longest >= low
    ways, free = np.tile(longest, (len(candidates), 1)), np.zeros(len(candidates), dtype=bool)
    for _ in range(_SIGNS):
        drawn = rng.random(candidates.shape) < 0.5
        sign = np.where(up & (drawn | ~down), 1.0, -1.0)
        rows = np.flatnonzero(~free & (up | down)[:, active].all(axis=1))
        for way in levels:
            ends = candidates[rows] + sign[rows] * way
            rows = rows[ways_are_clear(design.arm, design.mechanism, candidates[rows], ends)]
        ways[rows], free[rows] = sign[rows] * longest, True
    some = (up | down) & ~(up | down)[:, active].all(axis=1)[:, None]       # who is to blame where it is not the box
    return ways, free[:, None] | some
