"""Lowering of speeds until strokes have room, for arms without a posture in
which the highest speeds fit.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from stribeck.experiments.errors import NoRoom, PlanError
from stribeck.experiments.plans.clear.clearance import ways_are_clear
from stribeck.experiments.plans.lowered_speed import LoweredSpeed
from stribeck.experiments.plans.margins import PLANNED_SHARE, strokes_share
from stribeck.experiments.plans.motion_profile import MOVE_SHARE
from stribeck.experiments.plans.speeds_and_postures import Design
from stribeck.ident.arrays import Array

WaysFrom = Callable[
    [Design, Array, NDArray[np.bool_], np.random.Generator], tuple[Array, NDArray[np.bool_]]
]
HasRoom = Callable[[Design], bool]
_STEP = 0.85  # ratio of successive highest speeds
# highest over lowest speed: with less, Coulomb, Stribeck and viscous
# friction are hard to tell apart
LEAST_SPREAD = 10.0


@dataclass(frozen=True)
class Places:
    """Postures in which the strokes of a design have room.

    Attributes
    ----------
    design : Design
        The design, with speeds that fit.
    postures, ways : ndarray, shape (K, n)
        Home and the other postures, and the longest stroke of every joint from each.
    rng : Generator
        State of the generator after the choice of postures.
    lowered : tuple of LoweredSpeed
        Joints whose speed was lowered, and joints whose range is too short for all usual speeds.
    """

    design: Design
    postures: Array
    ways: Array
    rng: np.random.Generator
    lowered: tuple[LoweredSpeed, ...] = ()


def places_with_room(design: Design, ways_from: WaysFrom, seed: int) -> Places:
    """Choose postures for the highest speeds that the limits allow, or else for the
    highest speeds that have room.

    The speeds of all joints are lowered by the same factor until strokes have room. Then the speed
    of each joint is raised again, last joint first, if the strokes still have room.

    Parameters
    ----------
    design : Design
        Limits and options of the strokes.
    ways_from : callable
        As in `Design.choose_postures`, with the design as first argument.
    seed : int
        Seed of the choice of postures.

    Raises
    ------
    PlanError
        If even speeds from the lowest to `LEAST_SPREAD` times the lowest have no room.
    """
    try:
        return _places(design, ways_from, seed)
    except NoRoom as error:
        refused = error
    slower, lacking = _slower(design), "slower strokes have no room either"
    for has_room in (
        lambda one: _home_has_room(one, ways_from, seed),
        lambda one: _found(one, ways_from, seed) is not None,
    ):
        # the check at home is fast and usually decides
        if not (highest := _highest(slower, has_room)):
            break
        if found := _found(_raised(highest, has_room), ways_from, seed):
            return replace(
                found,
                lowered=(
                    *found.lowered,
                    *(
                        _lowered(design, found.design, j, refused.lacking)
                        for j in design.active
                        if np.isfinite(found.design.cap[j])
                    ),
                ),
            )
        lacking = "slower strokes have room at home, but in too few other postures"
    raise PlanError(f"{refused}; {lacking}") from refused


def _highest(slower: Sequence[Design], has_room: HasRoom) -> Design | None:
    """First design with room in a list of ever slower designs; None if the last has no room."""
    if not slower or not has_room(slower[-1]):
        return None
    fails, works = -1, len(slower) - 1
    while works - fails > 1:
        middle = (works + fails) // 2
        fails, works = (fails, middle) if has_room(slower[middle]) else (middle, works)
    return slower[works]


def _raised(design: Design, has_room: HasRoom) -> Design:
    """Remove the speed caps of joints that do not limit the room."""
    for j in range(design.mechanism.n - 1, -1, -1):
        cap = design.cap.copy()
        cap[j] = np.inf
        if has_room(freed := replace(design, cap=cap)):
            design = freed
    return design


def _places(design: Design, ways_from: WaysFrom, seed: int) -> Places:
    rng = np.random.default_rng(seed)
    return Places(
        design,
        *design.choose_postures(partial(ways_from, design), rng),
        rng,
        tuple(_within_range(design)),
    )


def _home_has_room(design: Design, ways_from: WaysFrom, seed: int) -> bool:
    """Whether a design's strokes have room from home."""
    try:
        design.check_home(partial(ways_from, design), np.random.default_rng(seed))
    except PlanError:
        return False
    return True


def _found(design: Design, ways_from: WaysFrom, seed: int) -> Places | None:
    """Postures of a design; None if strokes have no room."""
    try:
        return _places(design, ways_from, seed)
    except PlanError:
        return None


def _slower(design: Design) -> list[Design]:
    """Designs with ever lower highest speeds, down to the least range of speeds; empty if the
    range is already smaller.
    """
    top = design.options.fastest * design.limits.velocity
    try:
        slow, _ = replace(design, cap=MOVE_SHARE * design.limits.velocity).ends
    except PlanError:
        return []
    least = np.minimum(top, LEAST_SPREAD * slow)
    count = int(np.ceil(np.log(np.max(top / least)) / -np.log(_STEP)))
    return [replace(design, cap=np.maximum(_STEP**k * top, least)) for k in range(1, count + 1)]


def _within_range(design: Design) -> Iterator[LoweredSpeed]:
    """Joints whose position range is too short for all usual speeds, so that they never
    reach their velocity limit.
    """
    usual, (_, fast) = design.options.fastest * design.limits.velocity, design.ends
    for j in design.active:
        if np.isinf(design.cap[j]) and fast[j] < usual[j] / design.options.spread:
            yield LoweredSpeed(
                design.mechanism.names[j],
                float(usual[j]),
                float(fast[j]),
                "faster strokes cannot reach their speed within the joint's position limits",
            )


def _lowered(design: Design, slower: Design, j: int, lacking: str) -> LoweredSpeed:
    try:
        wanted = float(design.ends[1][j])
    except NoRoom:  # no speed fits before it is lowered
        wanted = float(design.options.fastest * design.limits.velocity[j])
    return LoweredSpeed(design.mechanism.names[j], wanted, float(slower.ends[1][j]), lacking)


def free_and_strong(design: Design, start: Array, way: Array) -> NDArray[np.bool_]:
    """Whether strokes, (K, n), stay clear and leave every drive torque for friction, shape (K,).

    The faster check goes first. In a closed chain the reach is checked first, because
    torques exist only within reach.
    """
    tests = (strong_enough, _clear) if design.mechanism.chain is None else (_clear, strong_enough)
    found = np.ones(len(start), dtype=bool)
    for test in tests:
        left = np.flatnonzero(found)
        found[left] = test(design, start[left], way[left])
    return found


def _clear(design: Design, start: Array, way: Array) -> NDArray[np.bool_]:
    return ways_are_clear(design.arm, design.mechanism, start, start + way)


def strong_enough(design: Design, start: Array, way: Array) -> NDArray[np.bool_]:
    """Whether rigid-body torque leaves every drive torque for friction on strokes at the
    highest speeds, shape (K,).
    """
    share = strokes_share(design.mechanism, design.limits, start, way, design.ends[1])
    return np.asarray((share <= PLANNED_SHARE).all(axis=1))
