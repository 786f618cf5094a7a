"""Ways from a posture that stay in all limits."""

import numpy as np

from stribeck.experiments.errors import PlanError
from stribeck.experiments.plans.clear.clearance import ways_are_clear
from stribeck.experiments.plans.make_room import free_and_strong
from stribeck.experiments.plans.speeds_and_postures import Array, Design

_SIGNS = 64             # directions that are tried


def free_way(design: Design, start: Array, way: Array, rng: np.random.Generator) -> Array:
    """A way of all joints, shape (n,), each up or down so that it stays in limits and box.

    Raises
    ------
    PlanError
        If no direction is free; names the joint where it is one joint's room.
    """
    low, high = design.room
    up, down = start + way <= high, start - way >= low
    stuck = np.flatnonzero(~(up | down))
    if len(stuck):
        name = design.mechanism.names[stuck[0]]
        raise PlanError(f"{design.arm.path}: joint {name} has no room for a way of {way[stuck[0]]:.3g} from "
                        f"{np.round(start, 3).tolist()}; widen its limits or move the home posture")
    drawn = rng.random((_SIGNS, len(start))) < 0.5
    ways = np.where(up & (drawn | ~down), way, -way)
    begin = np.broadcast_to(start, ways.shape)
    free = (ways_are_clear(design.arm, design.mechanism, begin, start + ways) if design.mechanism.chain is None else
            free_and_strong(design, begin, ways))           # not far from where it is singular drives are soon too weak
    if not free.any():
        raise PlanError(f"{design.arm.path}: every way from {np.round(start, 3).tolist()} that was tried leaves the box; move "
                        "the home posture or widen the box")
    return np.asarray(ways[int(np.argmax(free))])
