"""One joint at a time, back and forth at constant speeds, with the other joints held (Eqs.
48-51): the method of the paper.

In every posture each joint makes round trips at logarithmically spaced speeds, in random order.
After earlier runs, the round trips with the most information about uncertain parameters are chosen.
Reference round trips at home, at the start, every few postures and at the end, show drift.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stribeck.experiments.plans.choose_round_trips import JointKnowledge, choose
from stribeck.experiments.plans.constant_speed_options import ConstantSpeed, Goal, Trip
from stribeck.experiments.plans.forecast import Ways, expectations, points_ahead, way_of
from stribeck.experiments.plans.make_room import free_and_strong, places_with_room
from stribeck.experiments.plans.motion_profile import DWELL
from stribeck.experiments.plans.order import REFERENCE, REFERENCES, Visits, in_order
from stribeck.experiments.plans.plan import Plan
from stribeck.experiments.plans.speeds_and_postures import Design
from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.arrays import Array
from stribeck.ident.fit.information import Expectation

METHOD = "constant-speed round trips, one joint at a time"
_SPEEDS = 12  # number of speeds to choose from in every posture


def plan_constant_speed(
    arm: ArmFile,
    joints: tuple[str, ...] | None = None,
    seed: int = 0,
    options: ConstantSpeed | None = None,
    velocity_step: Array | None = None,
    earlier: Mapping[str, Expectation] | None = None,
) -> Plan:
    """Make the plan of a campaign for some or all joints, checked against all limits.

    Parameters
    ----------
    arm : ArmFile
        The arm; every limit of the moving joints must be known.
    joints : tuple of str, optional
        Joints to identify; default all.
    seed : int
        Seed of postures and order.
    options : ConstantSpeed, optional
        Options of the experiment.
    velocity_step : ndarray, shape (n,), optional
        Resolution of the drives' velocity set-points; default: negligible.
    earlier : mapping of str to Expectation, optional
        Knowledge of the joints from earlier runs; default: general expectations.

    Raises
    ------
    PlanError
        If a limit is missing, no posture leaves room for the strokes, or the
        allowed robot time is too short.
    InputError
        If a joint is unknown.
    """
    design = Design.of(arm, joints, options or ConstantSpeed(), velocity_step)
    places = places_with_room(
        design, lambda slower, candidates, asked, _: one_joint_ways(slower, candidates, asked), seed
    )
    design, postures, ways, rng = places.design, places.postures, places.ways, places.rng
    references = [
        one_joint_trip(design, ways, 0, j, float(design.at_level(REFERENCE)[j]))
        for j in design.active
    ]

    grid = [
        one_joint_trip(design, ways, number, int(j), float(speed))
        for number in range(1, len(postures))
        for speeds in [design.speeds(number)]
        for j in rng.permutation(design.active)
        for speed in rng.permutation(speeds[:, j])
    ]

    def chosen(time: float) -> list[Trip]:
        if not earlier or design.options.goal is None:
            return grid
        rng, visits = np.random.default_rng(seed), Visits(design, postures)
        return [
            trip
            for reference in references
            for trip in _chosen(
                design, postures, ways, visits, reference, time / len(references), rng, earlier
            )
        ]

    return replace(
        in_order(design, METHOD, seed, postures, chosen, references, earlier),
        lowered=places.lowered,
    )


def one_joint_trip(design: Design, ways: Array, posture: int, j: int, speed: float) -> Trip:
    """Make a round trip of one joint at constant speed, in the direction of its longest
    stroke `ways`, shape (K, n).
    """
    way, speeds = np.zeros(design.mechanism.n), design.snapped(np.full(design.mechanism.n, speed))
    way[j] = np.sign(ways[posture, j]) * design.stroke_length(j, float(speeds[j]))
    return Trip(posture, way, j, float(speeds[j]))


def _chosen(
    design: Design,
    postures: Array,
    ways: Array,
    visits: Visits,
    reference: Trip,
    time: float,
    rng: np.random.Generator,
    earlier: Mapping[str, Expectation] | None,
) -> list[Trip]:
    """Choose the round trips with the most information about one joint, beside the references."""
    j, name = reference.leader, design.mechanism.names[reference.leader]
    levels = np.linspace(0.0, 1.0, _SPEEDS)
    offers = [
        one_joint_trip(design, ways, k, j, float(speed))
        for k in range(1, len(postures))
        for speed in design.at_level(levels)[:, j]
    ]
    where = np.array([trip.posture for trip in offers])
    every = Ways.together([way_of(trip, postures, design) for trip in offers])
    thought = expectations(every, design, earlier)[name]
    joint = JointKnowledge.of(
        points_ahead(every, design), (len(offers), 1), thought, design.options.goal or Goal()
    )

    def points_of(trip: Trip) -> dict[int, pd.DataFrame]:
        return {j: points_ahead(way_of(trip, postures, design), design)}

    def accept(offer: int, _: dict[int, int]) -> Trip:
        step = (levels[1] - levels[0]) * rng.uniform(-0.5, 0.5)
        speed = design.at_level(float(np.clip(levels[offer % _SPEEDS] + step, 0.0, 1.0)))[j]
        visits.visit(int(where[offer]))
        return one_joint_trip(design, ways, int(where[offer]), j, float(speed))

    cost = 2.0 * (every.time + every.ramp + DWELL)
    joint.take([REFERENCES * told for told in joint.tell(points_of(reference)[j])], REFERENCES)
    return choose(
        {j: joint},
        lambda: cost + visits.cost(where),
        accept,
        points_of,
        time,
        REFERENCES * float(cost.min()),
    )


def one_joint_ways(
    design: Design, candidates: Array, asked: NDArray[np.bool_]
) -> tuple[Array, NDArray[np.bool_]]:
    """Longest stroke of every joint from the requested postures, upward if
    there is room, else downward.
    """
    low, high = design.room
    ways, fits = np.zeros_like(candidates), np.zeros(candidates.shape, dtype=bool)
    for j in design.active:
        longest = design.stroke_length(j, float(design.ends[1][j]))
        ways[:, j] = longest
        for sign in (-1.0, 1.0):
            target = candidates.copy()
            target[:, j] += sign * longest
            good = asked & (target[:, j] >= low[j]) & (target[:, j] <= high[j])
            good[good] = free_and_strong(design, candidates[good], (target - candidates)[good])
            ways[good, j] = sign * longest
            fits[:, j] |= good
    return ways, fits
