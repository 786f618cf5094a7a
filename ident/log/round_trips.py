r"""Round trips of a run as Points: strokes paired with those that retrace them (Eqs. 48-51).

At equal position, forward and backward, the half difference of the torques is friction (the *odd* part) and
the half sum is the rigid body's torque and offset (the *even* part):

.. math:: F = (\tau_+ - \tau_-) / 2, \qquad \tau_g = (\tau_+ + \tau_-) / 2

The way back retraces a stroke with time reversed, the other joints too: gravity, inertia and Coriolis and centrifugal
forces are then the same both times, and friction of every joint that moves shows at once. What the two ways differ by,
as tracking lags, is corrected with the model's difference.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from stribeck.ident.arrays import Array, Groups, group_index
from stribeck.ident.log.run import Run
from stribeck.ident.log.signal_checks import dead_torques
from stribeck.ident.log.strokes import REST_TOLERANCE, Stroke, find_strokes, motor_revolution
from stribeck.ident.model.dynamics import inverse_dynamics
from stribeck.ident.model.loads import LOADS, joint_loads
from stribeck.ident.model.mechanism import Mechanism

SAME_SPEED = 0.05      # speeds of a stroke and its reverse may differ by this fraction
_MIRRORED = 0.02       # part of its own way by which another joint may miss its place on the way back
_KNOTS = 17            # of the rigid-body torque along a stroke
_BINS = 5              # most bins of a round trip,
_ENOUGH, _LEAST = 4, 3  # samples that each way should have in a bin, and must have
TO_START = -1          # segment of the way to the start of a plan, and of what is tried of its segments
_PLACES = 8            # in a bin at which loads are taken
_NO_LOAD = 1e-9        # N·m or N; less is rounding
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
    left_out: list[tuple[str, int, str]] = []
    bins: list[_Bin] = []
    moves = frozenset(id_ for id_, entry in planned.items() if entry.get("kind") == "move") | ({TO_START} if planned else set())
    found = find_strokes(run.t, q, run.segment, moves)
    recorded = set(run.segment[np.flatnonzero(np.diff(run.segment, append=-2))].tolist())
    dead = dead_torques(run)
    for joint, name in enumerate(run.names):
        if name in dead:
            continue
        strokes = [stroke for stroke in found if stroke.joint == joint]
        steady = {stroke.segment for stroke in strokes}
        missing = (_measuring(plan, name, joint) - steady) & recorded
        left_out += [(name, segment, "no stretch at constant speed") for segment in missing]
        turn = motor_revolution(run.arm.joint(name).ratio)
        pairs, single = pair_strokes(strokes, mechanism, joint, tau, partner)
        left_out += [(name, stroke.segment, "no way back at the same place and speed") for stroke in single]
        for forward, backward in pairs:
            found_bins = list(_bins(q, forward, backward, joint, turn))
            bins += found_bins
            if not found_bins:
                left_out += [(name, stroke.segment, "too few samples") for stroke in (forward, backward)]
    centre = np.array([bin_.centre for bin_ in bins]).reshape(-1, mechanism.n)
    rate = np.array([(bin_.forward.rate - bin_.backward.rate) / 2.0 for bin_ in bins]).reshape(centre.shape)
    points = _points(run, bins, centre, _mean_loads(mechanism, bins, centre, rate), mechanism, planned)
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


@dataclass(frozen=True)
class _Bin:
    """The same stretch of position on the way there and back; rows of its samples."""

    forward: Stroke
    backward: Stroke
    rows: tuple[np.ndarray, np.ndarray]
    centre: Array
    width: float

    @property
    def first(self) -> Stroke:
        """The way there."""
        return min(self.forward, self.backward, key=lambda stroke: stroke.rows.start)


def bins_of(width: float, turn: float, samples: float) -> tuple[int, float]:
    """How many bins a way with so many samples gets, and how much of it they use: whole motor revolutions, where it holds one."""
    most = max(1, int(samples // _ENOUGH))
    if turn > 0.0 and width >= turn:
        count = int(min(_BINS, most, width // turn))
        return count, count * turn * (width // turn // count)
    return (1 if turn > 0.0 else min(_BINS - 1, most)), width


def _bins(q: Array, forward: Stroke, backward: Stroke, joint: int, turn: float) -> Iterator[_Bin]:
    low, high = max(forward.low, backward.low), min(forward.high, backward.high)
    width = high - low
    if width <= 0.0:                 # strokes apart from each other, where gravity does not matter
        rows = tuple(np.arange(stroke.rows.start, stroke.rows.stop) for stroke in (forward, backward))
        yield _Bin(forward, backward, (rows[0], rows[1]), q[rows[0]].mean(axis=0), forward.high - forward.low)
        return
    middle = (low + high) / 2.0
    samples = min(np.count_nonzero(np.abs(q[stroke.rows, joint] - middle) <= width / 2.0) for stroke in (forward, backward))
    count, used = bins_of(width, turn, float(samples))
    low, width = low + (width - used) / 2.0, used
    edges = low + width * np.linspace(0.0, 1.0, count + 1)
    place = [np.searchsorted(edges, q[stroke.rows, joint], "right") - 1 for stroke in (forward, backward)]
    for k in range(count):
        inside = [stroke.rows.start + np.flatnonzero(where == k)
                  for stroke, where in zip((forward, backward), place, strict=True)]
        if min(len(rows) for rows in inside) < _LEAST:
            continue
        centre = q[np.concatenate(inside)].mean(axis=0)
        centre[joint] = (edges[k] + edges[k + 1]) / 2.0
        yield _Bin(forward, backward, (inside[0], inside[1]), centre, width / count)


def _mean_loads(mechanism: Mechanism, bins: Sequence[_Bin], centre: Array, rate: Array) -> dict[str, Array]:
    """Loads of the moving joint over the way through each bin, shape (N,).

    Friction at one speed is linear in a load, so that its mean over a bin is that at the load's mean. A load's mean is not that
    at the bin's centre: it is curved, and has a kink where a torque changes its sign.
    """
    own = np.arange(len(bins)), np.array([bin_.forward.joint for bin_ in bins], dtype=int)
    width = np.array([bin_.width for bin_ in bins])
    part = (np.arange(_PLACES) + 0.5) / _PLACES - 0.5
    q = centre[:, None] + (part * width[:, None])[:, :, None] * (rate / rate[own][:, None])[:, None]
    loads = joint_loads(mechanism, q.reshape(-1, mechanism.n), np.repeat(rate, _PLACES, axis=0))
    mean = {load: loads.get(load).reshape(q.shape)[own[0], :, own[1]].mean(axis=1) for load in LOADS}
    return {load: np.where(values < _NO_LOAD, 0.0, values) for load, values in mean.items()}


class _Rigid:
    """The model's torque of the moving joint along strokes, shape (S,) of them."""

    def __init__(self, mechanism: Mechanism, strokes: Sequence[Stroke]) -> None:
        self.low, high, joint = np.array([(stroke.low, stroke.high, stroke.joint) for stroke in strokes]).T
        self.step = (high - self.low) / (_KNOTS - 1)
        part = np.linspace(0.0, 1.0, _KNOTS)
        q = np.vstack([stroke.at(stroke.low + part * (stroke.high - stroke.low)) for stroke in strokes])
        dq = np.repeat([stroke.rate for stroke in strokes], _KNOTS, axis=0)
        tau = inverse_dynamics(mechanism, q, dq).reshape(len(strokes), _KNOTS, -1)
        self.spline = CubicSpline(np.arange(_KNOTS), tau[np.arange(len(strokes)), :, joint.astype(int)], axis=1).c

    def __call__(self, stroke: NDArray[np.int_], x: Array) -> Array:
        """At positions x of strokes, each shape (N,); at the ends of a stroke beyond them."""
        knot, since = self._place(stroke, x)
        a, b, c, d = self.spline[:, knot, stroke]
        return np.asarray(((a * since + b) * since + c) * since + d)

    def slope(self, stroke: NDArray[np.int_], x: Array) -> Array:
        """Its derivative over the position."""
        knot, since = self._place(stroke, x)
        a, b, c, _ = self.spline[:, knot, stroke]
        return np.asarray(((3.0 * a * since + 2.0 * b) * since + c) / self.step[stroke])

    def _place(self, stroke: NDArray[np.int_], x: Array) -> tuple[NDArray[np.int_], Array]:
        """Knot before, and how far behind it, in knots."""
        at = np.clip((x - self.low[stroke]) / self.step[stroke], 0.0, _KNOTS - 1.0)
        knot = np.minimum(at.astype(int), _KNOTS - 2)
        return knot, at - knot


def _points(run: Run, bins: Sequence[_Bin], centre: Array, loads: Mapping[str, Array], mechanism: Mechanism,
            planned: Mapping[int, Mapping[str, Any]]) -> pd.DataFrame:
    """The Points table, a row a bin."""
    if not bins:
        return pd.DataFrame(columns=list(COLUMNS))
    joint, size = np.array([bin_.forward.joint for bin_ in bins]), len(bins)
    own = np.arange(size), joint
    tau, model, scatter = np.empty((3, 2, size))
    n, t, temperature = np.zeros((3, size))
    strokes = {stroke.key: stroke for bin_ in bins for stroke in (bin_.forward, bin_.backward)}
    number, rigid = {key: k for k, key in enumerate(strokes)}, _Rigid(mechanism, list(strokes.values()))
    for way in (0, 1):
        stroke = np.array([number[(bin_.forward, bin_.backward)[way].key] for bin_ in bins])
        rows, count = np.concatenate([bin_.rows[way] for bin_ in bins]), np.array([len(bin_.rows[way]) for bin_ in bins])
        of, starts = np.repeat(np.arange(size), count), np.cumsum(count) - count
        measured = run.signals["tau"][rows, joint[of]]
        expected = rigid(stroke[of], run.signals["q"][rows, joint[of]])
        tau[way], model[way] = np.add.reduceat(measured, starts) / count, np.add.reduceat(expected, starts) / count
        off = measured - expected - (tau[way] - model[way])[of]
        scatter[way] = np.add.reduceat(off**2, starts) / count
        n, t = n + count, t + np.add.reduceat(run.t[rows], starts)
        if "temperature" in run.signals:
            temperature += np.add.reduceat(run.signals["temperature"][rows, joint[of]], starts)
        if way == 0:
            slope = rigid.slope(stroke, centre[own])
    first = [planned.get(bin_.first.segment, {}) for bin_ in bins]
    speed = np.array([(bin_.forward.speed + bin_.backward.speed) / 2.0 for bin_ in bins])
    return pd.DataFrame({
        "joint": [run.names[k] for k in joint], "segment": _name_trips(bins),
        "posture": [segment.get("posture", 0) for segment in first], "speed": speed, "position": centre[own],
        "odd": (tau[0] - tau[1] - model[0] + model[1]) / 2.0, "even": tau.mean(axis=0), "gravity": model.mean(axis=0),
        "gravity_rate": slope * speed,
        **loads,
        "n": n.astype(int), "std": np.sqrt(scatter.mean(axis=0)), "t": t / n,
        "temperature": temperature / n if "temperature" in run.signals else np.nan,
        "reference": [bool(segment.get("reference", False)) for segment in first], "run": run.label}, columns=list(COLUMNS))


def _name_trips(bins: Sequence[_Bin]) -> list[int]:
    """What names each bin's round trip: the segment of its first stroke; its first row where that names several."""
    first = {bin_.first.key: bin_.first for bin_ in bins}
    owners = Counter((stroke.joint, stroke.segment) for stroke in first.values())
    taken = {segment for (_, segment), count in owners.items() if count == 1}
    names = {}
    for key, stroke in first.items():
        name = stroke.segment
        if owners[stroke.joint, stroke.segment] > 1:
            name = stroke.rows.start
            while name in taken:
                name += 1
        names[key] = name
    return [names[bin_.first.key] for bin_ in bins]
