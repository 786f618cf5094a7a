r"""Round trips of a run as Points: strokes paired with those that retrace them (Eqs. 48-51).

At equal position, forward and backward, the half difference of the torques is friction (the *odd* part) and
the half sum is the rigid body's torque and offset (the *even* part):

.. math:: F = (\tau_+ - \tau_-) / 2, \qquad \tau_g = (\tau_+ + \tau_-) / 2

The way back retraces a stroke with time reversed, the other joints too: gravity, inertia and Coriolis and centrifugal
forces are then the same both times, and friction of every joint that moves shows at once. What the two ways differ by,
as tracking lags, is corrected with the model's difference.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ident.dynamics import inverse_dynamics
from ident.loads import JointLoads, joint_loads
from ident.mechanism import Array, Mechanism
from ident.regression import Groups, group_index
from ident.run import Run
from ident.strokes import HELD, Stroke, find_strokes, motor_revolution

SAME_SPEED = 0.05      # speeds of a stroke and its reverse may differ by this fraction
_MIRRORED = 0.02       # part of its own way by which another joint may miss its place on the way back
_KNOTS = 33            # of the rigid-body torque along a stroke
_BINS = 5              # most bins of a round trip
_EQUAL_GRAVITY = 0.005  # strokes at different places pair if gravity differs by less than this part of friction

COLUMNS = ("joint", "segment", "posture", "speed", "position", "odd", "even", "gravity", "gravity_rate", "torque",
           "bending", "radial", "axial", "normal", "n", "std", "t", "temperature", "reference", "run")


@dataclass(frozen=True)
class Reduction:
    """Points of a run, and what was left out.

    Attributes
    ----------
    points : DataFrame
        One row per round trip and bin; columns `COLUMNS`. `odd`, `even` in N·m (N), `gravity` is what the model expects
        of `even`, `gravity_rate` its dtau_rigid/dt on the forward stroke, `n` samples, `std` their scatter, `t` mid time [s].
    left_out : tuple of (str, int, str)
        Joint, segment and reason for every stroke that gives no point.
    strokes : tuple of Stroke
        All stretches at constant speed, whether or not they found a partner.
    q, dq : ndarray, shape (N, n)
        Positions of all joints at the points, and their velocities on the forward stroke.
    """

    points: pd.DataFrame
    left_out: tuple[tuple[str, int, str], ...] = field(default=())
    strokes: tuple[Stroke, ...] = field(default=())
    q: Array = field(default_factory=lambda: np.empty((0, 0)))
    dq: Array = field(default_factory=lambda: np.empty((0, 0)))


def reduce_run(run: Run, mechanism: Mechanism) -> Reduction:
    """Points of a run: find strokes, pair them, take half differences and half sums, add the model's loads.

    Parameters
    ----------
    run : Run
        With signals q and tau.
    mechanism : Mechanism
        Rigid-body model with joints in the run's order.

    Returns
    -------
    Reduction
    """
    plan = run.record.get("plan") or {}
    planned = {segment["id"]: segment for segment in plan.get("segments", ())}
    partner = {id_: segment["mirror_of"] for id_, segment in planned.items() if segment.get("mirror_of") is not None}
    partner |= {there: back for back, there in partner.items()}
    q, tau = run.signals["q"], run.signals["tau"]
    rows: list[dict[str, object]] = []
    left_out: list[tuple[str, int, str]] = []
    bins: list[_Bin] = []
    moves = frozenset(id_ for id_, entry in planned.items() if entry.get("kind") == "move")
    found = find_strokes(run.t, q, run.segment, moves)
    for joint, name in enumerate(run.names):
        strokes = [stroke for stroke in found if stroke.joint == joint]
        steady = {stroke.segment for stroke in strokes}
        left_out += [(name, segment, "no stretch at constant speed") for segment in _measuring(plan, name, joint) - steady
                     if (run.segment == segment).any()]
        turn = motor_revolution(run.arm.joint(name).gear_ratio)
        pairs, single = pair_strokes(strokes, mechanism, joint, tau, partner)
        left_out += [(name, stroke.segment, "no way back at the same place and speed") for stroke in single]
        for forward, backward in pairs:
            bins += list(_bins(q, forward, backward, joint, turn))
    centre = np.array([bin_.centre for bin_ in bins]).reshape(-1, mechanism.n)
    rate = np.array([(bin_.forward.rate - bin_.backward.rate) / 2.0 for bin_ in bins]).reshape(centre.shape)
    loads, rigid = joint_loads(mechanism, centre, rate), _rigid_along(mechanism, bins)
    for k, (bin_, trip) in enumerate(zip(bins, _name_trips(bins), strict=True)):
        rows.append(_point(run, bin_, trip, loads, rigid, k, planned))
    points = pd.DataFrame(rows, columns=list(COLUMNS)) if rows else pd.DataFrame(columns=list(COLUMNS))
    return Reduction(points, tuple(left_out), tuple(found), centre, rate)


def round_trips(points: pd.DataFrame) -> Groups:
    """Which round trip each of one joint's points belongs to: 0, 1, 2, ..."""
    return group_index((points["run"].astype(str) + "#" + points["segment"].astype(str)).to_numpy())


def _measuring(plan: Mapping[str, Any], name: str, joint: int) -> set[int]:
    """Planned segments in which a joint moves at constant speed."""
    found, where = set(), plan.get("start")
    for segment in plan.get("segments", ()):
        there = segment.get("target")
        moves = where is not None and there is not None and where[joint] != there[joint]
        if segment.get("joint") == name or (segment.get("kind") == "sweep" and moves):
            found.add(segment["id"])
        where = there
    return found


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
    for a, forward in enumerate(strokes):
        for b, backward in enumerate(strokes):
            if forward.direction < 0 or backward.direction > 0:
                continue
            if partner and partner.get(forward.segment, -1) != backward.segment:
                continue
            if abs(np.log(forward.speed / backward.speed)) > SAME_SPEED:
                continue
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


def _same_places(a: Stroke, b: Stroke, joint: int) -> bool:
    """Whether the other joints are where they were, at both ends of what the strokes share, or at the middles of both."""
    ends = np.array([max(a.low, b.low), min(a.high, b.high)])
    where = (ends, ends) if ends[0] < ends[1] else tuple(np.full(1, (stroke.low + stroke.high) / 2.0) for stroke in (a, b))
    apart = np.abs(a.at(where[0]) - b.at(where[1])).max(axis=0)
    apart[joint] = 0.0
    return bool((apart <= HELD + _MIRRORED * np.abs(a.rate) * a.duration).all())


def _overlap(a: Stroke, b: Stroke) -> float:
    return min(a.high, b.high) - max(a.low, b.low)


@dataclass(frozen=True)
class _Bin:
    """The same stretch of position on the way there and back; rows of its samples."""

    forward: Stroke
    backward: Stroke
    rows: tuple[np.ndarray, np.ndarray]
    centre: Array


def bins_of(width: float, turn: float) -> tuple[int, float]:
    """How many bins a way gets, and how much of it they use: whole motor revolutions, where it holds one."""
    if turn > 0.0 and width >= turn:
        count = int(min(_BINS, width // turn))
        return count, count * turn * (width // turn // count)
    return (1 if turn > 0.0 else _BINS - 1), width


def _bins(q: Array, forward: Stroke, backward: Stroke, joint: int, turn: float) -> Iterator[_Bin]:
    low, high = max(forward.low, backward.low), min(forward.high, backward.high)
    width = high - low
    if width <= 0.0:                 # strokes apart from each other, where gravity does not matter
        rows = tuple(np.arange(stroke.rows.start, stroke.rows.stop) for stroke in (forward, backward))
        yield _Bin(forward, backward, (rows[0], rows[1]), q[rows[0]].mean(axis=0))
        return
    count, used = bins_of(width, turn)
    low, width = low + (width - used) / 2.0, used
    edges = low + width * np.linspace(0.0, 1.0, count + 1)
    place = [np.searchsorted(edges, q[stroke.rows, joint], "right") - 1 for stroke in (forward, backward)]
    for k in range(count):
        inside = [stroke.rows.start + np.flatnonzero(where == k)
                  for stroke, where in zip((forward, backward), place, strict=True)]
        if min(len(rows) for rows in inside) < 3:
            continue
        centre = q[np.concatenate(inside)].mean(axis=0)
        centre[joint] = (edges[k] + edges[k + 1]) / 2.0
        yield _Bin(forward, backward, (inside[0], inside[1]), centre)


def _rigid_along(mechanism: Mechanism, bins: list[_Bin]) -> dict[tuple[int, int], tuple[Array, Array]]:
    """The model's torque of the moving joint along every stroke: joint, first row -> positions, torques."""
    strokes = {stroke.key: stroke for bin_ in bins for stroke in (bin_.forward, bin_.backward)}
    if not strokes:
        return {}
    x = {key: np.linspace(stroke.low, stroke.high, _KNOTS) for key, stroke in strokes.items()}
    q = np.vstack([stroke.at(x[key]) for key, stroke in strokes.items()])
    dq = np.repeat([stroke.rate for stroke in strokes.values()], _KNOTS, axis=0)
    tau = inverse_dynamics(mechanism, q, dq).reshape(len(strokes), _KNOTS, -1)
    return {key: (x[key], tau[k, :, stroke.joint]) for k, (key, stroke) in enumerate(strokes.items())}


def _point(run: Run, bin_: _Bin, trip: int, loads: JointLoads, rigid: dict[tuple[int, int], tuple[Array, Array]], k: int,
           planned: dict[int, dict[str, object]]) -> dict[str, object]:
    """One row of the Points table."""
    q, tau, joint = run.signals["q"], run.signals["tau"], bin_.forward.joint
    torque, model, scatter = np.zeros(2), np.zeros(2), np.zeros(2)
    for way, (rows, stroke) in enumerate(zip(bin_.rows, (bin_.forward, bin_.backward), strict=True)):
        expected = np.interp(q[rows, joint], *rigid[stroke.key])
        torque[way], model[way], scatter[way] = tau[rows, joint].mean(), expected.mean(), (tau[rows, joint] - expected).var()
    x, along = rigid[bin_.forward.key]
    near = np.clip(bin_.centre[joint] + np.array([-1.0, 1.0]) * (x[1] - x[0]), x[0], x[-1])
    slope = float(np.diff(np.interp(near, x, along))[0] / np.ptp(near)) if np.ptp(near) > 0.0 else 0.0
    first = bin_.forward if bin_.forward.rows.start < bin_.backward.rows.start else bin_.backward
    both = np.concatenate(bin_.rows)
    segment = planned.get(first.segment, {})
    speed = (bin_.forward.speed + bin_.backward.speed) / 2.0
    temperature = run.signals.get("temperature")
    return {
        "joint": run.names[joint], "segment": trip, "posture": segment.get("posture", 0),
        "speed": speed, "position": bin_.centre[joint],
        "odd": float(torque[0] - torque[1] - model[0] + model[1]) / 2.0, "even": float(torque.mean()),
        "gravity": float(model.mean()), "gravity_rate": slope * speed,
        **{load: loads.get(load)[k, joint] for load in ("torque", "bending", "radial", "axial", "normal")},
        "n": len(both), "std": float(np.sqrt(np.mean(scatter))), "t": float(run.t[both].mean()),
        "temperature": np.nan if temperature is None else float(temperature[both, joint].mean()),
        "reference": bool(segment.get("reference", False)), "run": run.label,
    }


def _name_trips(bins: list[_Bin]) -> list[int]:
    """What names each bin's round trip: the segment of its first stroke; its first row where that names several."""
    first = [min((bin_.forward, bin_.backward), key=lambda stroke: stroke.rows.start) for bin_ in bins]
    owners: dict[tuple[int, int], set[int]] = {}
    for stroke in first:
        owners.setdefault((stroke.joint, stroke.segment), set()).add(stroke.rows.start)
    taken = {segment for (_, segment), rows in owners.items() if len(rows) == 1}
    names = []
    for stroke in first:
        name = stroke.segment
        if len(owners[stroke.joint, stroke.segment]) > 1:
            name = stroke.rows.start
            while name in taken:
                name += 1
        names.append(name)
    return names
