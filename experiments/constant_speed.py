"""One joint at a time, back and forth at constant speeds, the others held (Eqs. 48-51): the way of the paper.

In every posture each joint makes round trips at speeds spread evenly in the logarithm, in random order. At the start,
every few postures and at the end a reference round trip at home shows drift.
"""

import numpy as np
from numpy.typing import NDArray

from experiments.campaign import REFERENCE, Writer, campaign
from experiments.clearance import ways_are_clear
from experiments.design import Array, ConstantSpeed, Design
from experiments.plan import Plan
from ident.armfile import ArmFile

METHOD = "constant-speed round trips, one joint at a time"


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
    postures, ways = design.choose_postures(lambda candidates: _ways(design, candidates), rng)

    def round_trip(writer: Writer, j: int, posture: int, speed: float, reference: bool = False) -> None:
        way = np.zeros(design.mechanism.n)
        way[j] = np.sign(ways[posture, j]) * design.stroke_length(j, speed)
        writer.round_trip(way, j, speed, posture, reference)

    def measure(writer: Writer, number: int) -> None:
        speeds = design.speeds(number)
        for j in rng.permutation(design.active):
            for speed in rng.permutation(speeds[:, j]):
                round_trip(writer, int(j), number, float(speed))

    def refer(writer: Writer) -> None:
        for j in design.active:
            round_trip(writer, j, 0, float(design.at_level(REFERENCE)[j]), reference=True)

    return campaign(design, METHOD, seed, postures, measure, refer)


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
            good &= ways_are_clear(design.arm, design.mechanism, candidates, target)
            ways[good, j] = sign * longest
            fits[:, j] |= good
    return ways, fits
