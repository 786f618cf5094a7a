"""Travel of drives: the range between their limits, in a closed chain also bounded by its reach."""

import numpy as np

from stribeck.experiments.plans.clear.clearance import singular_margins
from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.arrays import Array
from stribeck.ident.model.mechanism import Mechanism

_DIRECTIONS = 8  # number of random directions
# first checked fraction of a path to the limits, and number of checked places
_NEAR, _PLACES = 1e-3, 40


def travel_in_reach(arm: ArmFile, mechanism: Mechanism, position: Array) -> Array:
    """Travel of each drive between its limits `position`, shape (n, 2): shape (n,) [rad or m].

    In a closed chain, the travel is what straight paths from home reach while they keep the
    margin to singular postures. The paths move each drive alone, all drives together, and the
    drives in some random directions.
    """
    if mechanism.chain is None:
        return np.asarray(np.ptp(position, axis=1))
    home, n = arm.home(mechanism), mechanism.n
    drawn = np.random.default_rng(0).uniform(-1.0, 1.0, (_DIRECTIONS, n))
    ways = np.vstack((np.eye(n), np.ones(n), drawn))
    ways = np.vstack((ways, -ways))
    ways *= np.where(ways > 0.0, position[:, 1] - home, home - position[:, 0])
    parts = np.concatenate(([0.0], np.geomspace(_NEAR, 1.0, _PLACES)))
    ends = home + parts[:, None, None] * ways
    flat = ends.reshape(-1, n)
    margin = singular_margins(arm, mechanism, flat, flat)
    kept = np.logical_and.accumulate(
        (np.asarray(margin) >= arm.workspace.singular_margin).reshape(ends.shape[:2]), axis=0
    )
    return np.asarray(np.ptp(np.where(kept[..., None], ends, home), axis=(0, 1)))
