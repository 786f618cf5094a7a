"""Round trips: strokes paired with those that retrace them; and motions that only lead from one place of them to another."""

from collections.abc import Mapping, Sequence, Set
from itertools import groupby

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.log.strokes import REST_TOLERANCE, Stroke
from stribeck.ident.model.loads import joint_loads
from stribeck.ident.model.mechanism import Mechanism

SAME_SPEED = 0.05      # speeds of a stroke and its reverse may differ by this fraction
_MIRRORED = 0.02       # part of its own way by which another joint may miss its place on the way back
_CONNECTING = 2         # motions at most that lead from one place of round trips to another, as by way of home
_RETURNED = 0.25        # part of its first motion's way within which an arm is back where it was
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


def connecting(strokes: Sequence[Stroke], paired: Set[tuple[int, int]], q: Array) -> set[tuple[int, int]]:
    """Strokes of motions that only lead to another place, in a log of which no plan tells them: before, between and after trips.

    After such motions the arm goes on from where they end; a way there and back that gave no round trip ends where it began.

    Parameters
    ----------
    strokes : sequence of Stroke
        Of all joints; those that overlap in time are one motion.
    paired : set of (int, int)
        Keys of strokes that belong to round trips.
    q : ndarray, shape (N, n)
        Positions of all joints.

    Returns
    -------
    set of (int, int)
        Their keys.
    """
    motions: list[list[Stroke]] = []
    for stroke in sorted(strokes, key=lambda stroke: stroke.rows.start):
        if motions and stroke.rows.start < max(other.rows.stop for other in motions[-1]):
            motions[-1].append(stroke)
        else:
            motions.append([stroke])
    ends = [(motion[0].rows.start, max(stroke.rows.stop for stroke in motion) - 1) for motion in motions]
    on_trips = [any(stroke.key in paired for stroke in motion) for motion in motions]
    found: set[tuple[int, int]] = set()
    for trip, rows in groupby(range(len(motions)), key=lambda k: on_trips[k]):
        chain = list(rows)
        if trip or len(chain) > _CONNECTING or not any(on_trips):
            continue
        (first, turn), last = ends[chain[0]], ends[chain[-1]][1]
        after = q[ends[chain[-1] + 1][0]] if chain[-1] + 1 < len(motions) else q[0]       # the last motion may lead home
        way, back = (float(np.abs(q[row] - q[first]).max()) for row in (turn, last))
        if back > _RETURNED * way and np.abs(after - q[last]).max() < np.abs(after - q[first]).max():
            found |= {stroke.key for k in chain for stroke in motions[k]}
    return found


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
