"""Search for strokes of all joints, from a posture, that keep all limits."""

import numpy as np

from stribeck.experiments.errors import PlanError
from stribeck.experiments.plans.clear.clearance import ways_are_clear
from stribeck.experiments.plans.make_room import free_and_strong
from stribeck.experiments.plans.speeds_and_postures import Design
from stribeck.ident.arrays import Array

_SIGNS = 64  # number of directions tried


def free_way(design: Design, start: Array, way: Array, rng: np.random.Generator) -> Array:
    """Return a stroke of all joints, shape (n,), with signs such that it stays in limits and box.

    Raises
    ------
    PlanError
        If no combination of signs is clear; the message names the joint if one joint lacks room.
    """
    low, high = design.room
    up, down = start + way <= high, start - way >= low
    stuck = np.flatnonzero(~(up | down))
    if len(stuck):
        name = design.mechanism.names[stuck[0]]
        raise PlanError(
            f"{design.arm.path}: joint {name} has no room to move {way[stuck[0]]:.3g} from "
            f"{np.round(start, 3).tolist()}; widen its limits or move the home posture"
        )
    drawn = rng.random((_SIGNS, len(start))) < 0.5
    ways = np.where(up & (drawn | ~down), way, -way)
    begin = np.broadcast_to(start, ways.shape)
    free = (
        ways_are_clear(design.arm, design.mechanism, begin, start + ways)
        if design.mechanism.chain is None
        # near a singular posture drives are too weak
        else free_and_strong(design, begin, ways)
    )
    if not free.any():
        raise PlanError(
            f"{design.arm.path}: no stroke from {np.round(start, 3).tolist()} in {_SIGNS} tried "
            "directions is clear; move the home posture or widen the workspace box"
        )
    return np.asarray(ways[int(np.argmax(free))])
