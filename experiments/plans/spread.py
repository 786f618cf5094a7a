"""Choice of postures by the range of joint loads that they cover."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stribeck.ident.arrays import Array
from stribeck.ident.model.loads import joint_loads
from stribeck.ident.model.mechanism import Mechanism

_NARROW = 0.02  # span over greatest value of a load that hardly varies
_ROUNDOFF = 1e-9  # N·m or N; a load below it is roundoff, and another on each processor
_ASIDE = 0.2  # rad or m along the stroke, where loads are evaluated a second time


def spread_score(
    mechanism: Mechanism,
    joints: Sequence[int],
    candidates: Array,
    ways: Array,
    sets: NDArray[np.int_],
) -> Array:
    """Score of sets of postures by the spread of each joint's loads and gravity
    slope, shape (len(sets),).
    """
    score = np.zeros(len(sets))
    for j in joints:
        near, far = candidates.copy(), candidates.copy()
        far[:, j] += _ASIDE * np.sign(ways[:, j])
        ends = [joint_loads(mechanism, near), joint_loads(mechanism, far)]
        features = [
            np.array([loads.torque[:, j] for loads in ends]),
            np.array([loads.bending[:, j] for loads in ends]),
        ]
        if mechanism.bearings[j] is not None:
            features.append(np.array([loads.normal[:, j] for loads in ends]))
        features = [
            feature
            for feature in features
            if np.ptp(feature) > feature.max() / 3.0 and feature.max() > _ROUNDOFF
        ]
        slope = (ends[1].tau[:, j] - ends[0].tau[:, j]) * np.sign(ways[:, j])
        if (
            np.ptp(slope)
            > 0.05 * np.abs(np.array([loads.tau[:, j] for loads in ends])).max()
            > _ROUNDOFF
        ):
            features.append(slope[None, :])
        for feature in features:
            centred = feature - feature.mean()
            mean, square = (part.mean(axis=0)[sets].mean(axis=1) for part in (centred, centred**2))
            score += np.log((square - mean**2) / np.ptp(feature) ** 2 + 1e-3)
    return score


def most_different(mechanism: Mechanism, postures: Array, count: int) -> NDArray[np.int_]:
    """Choose `count` of the postures, (K, n), whose loads at rest differ most; return
    their indices, shape (count,).

    The choice begins with the first posture. Each further posture is the one farthest from all
    chosen ones, measured in loads over their ranges.
    """
    features = np.hstack(
        [np.abs(joint_loads(mechanism, postures).tau), _carried(mechanism, postures)]
    )
    features = features / np.maximum(np.ptp(features, axis=0), 1e-9)
    taken, near = [0], np.linalg.norm(features - features[0], axis=1)
    while len(taken) < min(count, len(postures)):
        taken.append(int(np.argmax(near)))
        near = np.minimum(near, np.linalg.norm(features - features[taken[-1]], axis=1))
    return np.array(taken)


def widest(mechanism: Mechanism, postures: Array, count: int) -> NDArray[np.int_]:
    """Choose `count` of the postures, (K, n), that maximise the range of every joint's
    load over its greatest value.

    The choice is greedy. If no posture widens a range, the first remaining posture is taken.
    """
    load = _carried(mechanism, postures)
    taken, low, high = [0], load[0], load[0]
    while len(taken) < min(count, len(postures)):
        spans = 1.0 - np.minimum(low, load) / np.maximum(np.maximum(high, load), 1e-9)
        gain = np.log(spans + _NARROW).sum(axis=1)
        gain[taken] = -np.inf
        taken.append(int(np.argmax(gain)))
        low, high = np.minimum(low, load[taken[-1]]), np.maximum(high, load[taken[-1]])
    return np.array(taken)


def _carried(mechanism: Mechanism, postures: Array) -> Array:
    """Load of each joint at rest, (K, n): normal load if the bearing is
    known, else transmitted torque.
    """
    loads = joint_loads(mechanism, postures)
    normal = np.array([bearing is not None for bearing in mechanism.bearings]) & np.isfinite(
        loads.normal
    ).all(axis=0)
    return np.where(normal, loads.normal, loads.torque)
