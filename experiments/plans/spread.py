"""How well a set of postures spreads the loads of joints: what postures are chosen by."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stribeck.ident.arrays import Array
from stribeck.ident.model.loads import joint_loads
from stribeck.ident.model.mechanism import Mechanism

_ASIDE = 0.2            # rad or m from a posture at which loads are taken once more


def spread_score(mechanism: Mechanism, joints: Sequence[int], candidates: Array, ways: Array, sets: NDArray[np.int_]) -> Array:
    """How well sets of postures spread each joint's loads and the slope of its gravity torque, shape (len(sets),)."""
    score = np.zeros(len(sets))
    if mechanism.chain is not None:         # what is in no set may be out of reach
        rows, where = np.unique(sets, return_inverse=True)
        candidates, ways, sets = candidates[rows], ways[rows], where.reshape(sets.shape)
    for j in joints:
        near, far = candidates.copy(), candidates.copy()
        if mechanism.chain is None:         # a closed chain's joint may not come so far alone
            far[:, j] += _ASIDE * np.sign(ways[:, j])
        ends = [joint_loads(mechanism, near), joint_loads(mechanism, far)]
        features = [np.array([loads.torque[:, j] for loads in ends]), np.array([loads.bending[:, j] for loads in ends])]
        if mechanism.bearings[j] is not None:
            features.append(np.array([loads.normal[:, j] for loads in ends]))
        features = [feature for feature in features if np.ptp(feature) > feature.max() / 3.0]
        slope = (ends[1].tau[:, j] - ends[0].tau[:, j]) * np.sign(ways[:, j])
        if np.ptp(slope) > 0.05 * np.abs(np.array([loads.tau[:, j] for loads in ends])).max() > 1e-9:
            features.append(slope[None, :])
        for feature in features:
            centred = feature - feature.mean()
            mean, square = (part.mean(axis=0)[sets].mean(axis=1) for part in (centred, centred**2))
            score += np.log((square - mean**2) / np.ptp(feature) ** 2 + 1e-3)
    return score
