"""Pairing of strokes to round trips, and detection of motions that only connect round trips."""

from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import groupby

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.log.strokes import REST_TOLERANCE, Stroke
from stribeck.ident.model.loads import joint_loads
from stribeck.ident.model.mechanism import Mechanism

SAME_SPEED = 0.05  # largest relative speed difference of the two strokes of a round trip
# largest position error of another joint on the way back, as a part of its motion
_MIRRORED = 0.02
# largest number of motions between round trips at different positions (by way of home)
_CONNECTING = 2
# part of the first motion; a smaller distance to its start means that the arm has returned
_RETURNED = 0.25
# strokes at different positions pair if gravity differs by a smaller part of friction
_EQUAL_GRAVITY = 0.005


def pair_strokes(
    strokes: list[Stroke],
    mechanism: Mechanism,
    joint: int,
    torques: Mapping[tuple[int, int], float],
    partner: Mapping[int, int] | None = None,
) -> tuple[list[tuple[Stroke, Stroke]], list[Stroke]]:
    """Pair each stroke with the nearest opposite stroke at the same speed, with all
    joints at the same positions.

    Strokes without common positions pair only if the model's gravity is equal at both. If a plan
    names the `partner` of a segment, its strokes pair only with strokes of the partner.

    Returns
    -------
    pairs : list of (forward, backward)
    single : list of Stroke
        Strokes without a partner.
    """
    if not strokes:
        return [], []
    centre = np.array([stroke.at((stroke.low + stroke.high) / 2.0) for stroke in strokes])
    gravity = joint_loads(mechanism, centre).tau[:, joint]
    torque = [torques[stroke.key] for stroke in strokes]
    candidates = []
    for a, b in _opposite(strokes, partner):
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


def connecting(
    strokes: Sequence[Stroke], paired: Set[tuple[int, int]], q: Mapping[int, Array]
) -> set[tuple[int, int]]:
    """Keys of strokes that only move the arm to another position, for logs without a plan: before,
    between and after round trips.

    After a connecting motion, the arm continues from its end. A round trip that could not be
    paired, in contrast, ends at its start.

    Parameters
    ----------
    strokes : sequence of Stroke
        Strokes of all joints; strokes that overlap in time are one motion.
    paired : set of (int, int)
        Keys of strokes that belong to round trips.
    q : mapping of int to ndarray, shape (n,)
        Positions of all joints at the first row of the run, and at the first and
        the last row of each stroke.

    Returns
    -------
    set of (int, int)
        Keys of the connecting strokes.
    """
    motions: list[list[Stroke]] = []
    for stroke in sorted(strokes, key=lambda stroke: stroke.rows.start):
        if motions and stroke.rows.start < max(other.rows.stop for other in motions[-1]):
            motions[-1].append(stroke)
        else:
            motions.append([stroke])
    ends = [
        (motion[0].rows.start, max(stroke.rows.stop for stroke in motion) - 1) for motion in motions
    ]
    on_trips = [any(stroke.key in paired for stroke in motion) for motion in motions]
    found: set[tuple[int, int]] = set()
    for trip, rows in groupby(range(len(motions)), key=lambda k: on_trips[k]):
        chain = list(rows)
        if trip or len(chain) > _CONNECTING or not any(on_trips):
            continue
        (first, turn), last = ends[chain[0]], ends[chain[-1]][1]
        # the last motion may return to home
        after = q[ends[chain[-1] + 1][0]] if chain[-1] + 1 < len(motions) else q[0]
        way, back = (float(np.abs(q[row] - q[first]).max()) for row in (turn, last))
        if (
            back > _RETURNED * way
            and np.abs(after - q[last]).max() < np.abs(after - q[first]).max()
        ):
            found |= {stroke.key for k in chain for stroke in motions[k]}
    return found


def _opposite(
    strokes: list[Stroke], partner: Mapping[int, int] | None
) -> Iterator[tuple[int, int]]:
    """Yield candidate pairs (forward, backward): equal speed, and partner segments
    if the plan names partners.
    """
    direction, segment = np.array([(stroke.direction, stroke.segment) for stroke in strokes]).T
    pace = np.log([stroke.speed for stroke in strokes])
    back = np.flatnonzero(direction < 0)
    for a in np.flatnonzero(direction > 0).tolist():
        alike = np.abs(pace[a] - pace[back]) <= SAME_SPEED
        if partner:
            alike &= segment[back] == partner.get(strokes[a].segment, -1)
        yield from ((a, b) for b in back[alike].tolist())


def _same_places(a: Stroke, b: Stroke, joint: int) -> bool:
    """Whether the other joints have equal positions at both ends of the common range, or at
    the middles of both strokes.
    """
    ends = np.array([max(a.low, b.low), min(a.high, b.high)])
    where = (
        (ends, ends)
        if ends[0] < ends[1]
        else tuple(np.full(1, (stroke.low + stroke.high) / 2.0) for stroke in (a, b))
    )
    apart = np.abs(a.at(where[0]) - b.at(where[1])).max(axis=0)
    apart[joint] = 0.0
    return bool((apart <= REST_TOLERANCE + _MIRRORED * np.abs(a.rate) * a.duration).all())


def _overlap(a: Stroke, b: Stroke) -> float:
    return min(a.high, b.high) - max(a.low, b.low)
