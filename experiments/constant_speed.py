"""One joint at a time, back and forth at constant speeds, the others held (Eqs. 48-51): the way of the paper.

In every posture each joint makes round trips at speeds spread evenly in the logarithm, in random order. At the start,
every few postures and at the end a reference round trip at home shows drift.
"""

import numpy as np
from numpy.typing import NDArray

from experiments.design import Array, ConstantSpeed, Design, Writer
from experiments.plan import Plan, box_is_clear, check_plan, with_robot_time
from ident.armfile import ArmFile
from ident.run import arm_sha256

METHOD = "constant-speed round trips, one joint at a time"
_REFERENCE = 0.35       # level of the reference speed between the fastest and the slowest


def plan_constant_speed(arm: ArmFile, joints: tuple[str, ...] | None = None, seed: int = 0,
                        options: ConstantSpeed | None = None) -> Plan:
    """Plan of a campaign for some or all joints, checked against all limits.

    Parameters
    ----------
    arm : ArmFile
        The arm; every limit of the moving joints must be known.
    joints : tuple of str, optional
        Which joints to identify; default all.
    seed : int
        Seed of postures and order.
    options : ConstantSpeed, optional
        Numbers of the experiment.

    Raises
    ------
    PlanError
        If a limit is missing or no posture leaves room for the strokes.
    InputError
        If a joint is unknown.
    """
    design = Design.of(arm, joints, options or ConstantSpeed())
    rng = np.random.default_rng(seed)
    mechanism, writer = design.mechanism, Writer(design.mechanism.names)
    postures, ways = design.choose_postures(lambda candidates: _ways(design, candidates), rng)

    def round_trip(j: int, posture: int, speed: float, reference: bool = False) -> None:
        way = np.zeros(mechanism.n)
        way[j] = np.sign(ways[posture, j]) * design.stroke_length(j, speed)
        writer.round_trip(way, j, speed, posture, reference)

    def references() -> None:
        writer.move(postures[0], 0)
        for j in design.active:
            round_trip(j, 0, float(design.at_level(_REFERENCE)[j]), reference=True)

    for number in range(1, len(postures)):
        if (number - 1) % design.options.reference_every == 0:
            references()
        target = postures[number]
        if not box_is_clear(arm, mechanism, writer.position[None], target[None])[0]:
            writer.move(postures[0], 0)             # every posture can be reached from home
        writer.move(target, number)
        speeds = design.speeds(number)
        for j in rng.permutation(design.active):
            for speed in rng.permutation(speeds[:, j]):
                round_trip(int(j), number, float(speed))
    references()
    plan = Plan(arm.name, arm_sha256(arm), METHOD, seed, mechanism.names, tuple(postures[0].tolist()), tuple(writer.segments))
    check_plan(plan, arm, mechanism)
    return with_robot_time(plan, arm)


def _ways(design: Design, candidates: Array) -> tuple[Array, NDArray[np.bool_]]:
    """The longest stroke of every joint, up where there is room, else down."""
    low, high = design.room
    ways, fits = np.zeros_like(candidates), np.zeros(candidates.shape, dtype=bool)
    for j in design.active:
        longest = design.stroke_length(j, float(design.ends[1][j]))
        ways[:, j] = longest
        for sign in (-1.0, 1.0):
            target = candidates.copy()
            target[:, j] += sign * longest
            good = (target[:, j] >= low[j]) & (target[:, j] <= high[j])
            good &= box_is_clear(design.arm, design.mechanism, candidates, target)
            ways[good, j] = sign * longest
            fits[:, j] |= good
    return ways, fits
