"""Round trips: strokes paired with those that retrace them."""

from collections.abc import Mapping

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.log.strokes import REST_TOLERANCE, Stroke
from stribeck.ident.model.loads import joint_loads
from stribeck.ident.model.mechanism import Mechanism

SAME_SPEED = 0.05      # speeds of a stroke and its reverse may differ by this fraction
_MIRRORED = 0.02       # part of its own way by which another joint may miss its place on the way back
_EQUAL_GRAVITY = 0.005  # strokes at different places pair if gravity differs by less than this part of friction


def pair_strokes(strokes: list[Stroke], mechanism: Mechanism, joint: int, tau: Array,
                 partner: Mapping[int, int] | None = None) -> tuple[list[tuple[Stroke, Stroke]], list[Stroke]]:
    """Round trips: each stroke with the nearest one that retraces it at the same speed, all joints at the same places.

    Strokes that share no stretch of position pair only if the model's gravity is the same at both; strokes of segments
    for which a plan names a `partner` pair only with the partner's.

    Returns
    -------
    pairs : list of (forward, backward)
    single : list of Stroke
        Those without a partner.
    """
    if not strokes:
        return [], []
    centre = np.array([stroke.at((stroke.low + stroke.high) / 2.0) for stroke in strokes])
    gravity = joint_loads(mechanism, centre).tau[:, joint]
    torque = [float(np.mean(tau[stroke.rows, joint])) for stroke in strokes]
    candidates = []
    for a, b in np.argwhere(_opposite(strokes, partner)).tolist():
        forward, backward = strokes[a], strokes[b]
        if not _same_places(forward, backward, joint):
            continue
        shared = _overlap(forward, backward)
        together = shared >= 0.5 * min(forward.high - forward.low, backward.high - backward.low)
        friction = abs(torque[a] - torque[b]) / 2.0
        if together or abs(gravity[a] - gravity[b]) < _EQUAL_GRAVITY * friction:
            apart = abs(forward.rows.start - backward.rows.start)
            candidates.append((not together, apart, a, b))
    pairs, used = [], set()
    for _, _, a, b in sorted(candidates):
        if a not in used and b not in used:
            used |= {a, b}
            pairs.append((strokes[a], strokes[b]))
    pairs.sort(key=lambda pair: min(pair[0].rows.start, pair[1].rows.start))
    return pairs, [stroke for k, stroke in enumerate(strokes) if k not in used]


def _opposite(strokes: list[Stroke], partner: Mapping[int, int] | None) -> np.ndarray:
    """Which strokes, forward, go with which, backward: at the same speed and, where a plan names partners, with its partner's."""
    direction, segment = np.array([(stroke.direction, stroke.segment) for stroke in strokes]).T
    pace = np.log([stroke.speed for stroke in strokes])
    pairs = (direction[:, None] > 0) & (direction < 0) & (np.abs(pace[:, None] - pace) <= SAME_SPEED)
    if partner:
        pairs &= np.array([partner.get(stroke.segment, -1) for stroke in strokes])[:, None] == segment
    return np.asarray(pairs)


def _same_places(a: Stroke, b: Stroke, joint: int) -> bool:
    """Whether the other joints are where they were, at both ends of what the strokes share, or at the middles of both."""
    ends = np.array([max(a.low, b.low), min(a.high, b.high)])
    where = (ends, ends) if ends[0] < ends[1] else tuple(np.full(1, (stroke.low + stroke.high) / 2.0) for stroke in (a, b))
    apart = np.abs(a.at(where[0]) - b.at(where[1])).max(axis=0)
    apart[joint] = 0.0
    return bool((apart <= REST_TOLERANCE + _MIRRORED * np.abs(a.rate) * a.duration).all())


def _overlap(a: Stroke, b: Stroke) -> float:
    return min(a.high, b.high) - max(a.low, b.low)
