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


def most_different(mechanism: Mechanism, postures: Array, count: int) -> NDArray[np.int_]:
    """So many of some postures, (K, n), whose loads at rest differ most from each other, one after the other, shape (count,).

    Each posture that is taken is the one farthest from all taken before, in loads over their ranges; the first is the first.
    """
    loads = joint_loads(mechanism, postures)
    own = [loads.radial if bearing is None else loads.normal for bearing in mechanism.bearings]
    features = np.column_stack([loads.torque, *(values[:, j] for j, values in enumerate(own))])
    features = features[:, np.isfinite(features).all(axis=0)]
    features = features / np.maximum(np.ptp(features, axis=0), 1e-9)
    taken, near = [0], np.linalg.norm(features - features[0], axis=1)
    while len(taken) < min(count, len(postures)):
        taken.append(int(np.argmax(near)))
        near = np.minimum(near, np.linalg.norm(features - features[taken[-1]], axis=1))
    return np.array(taken)
