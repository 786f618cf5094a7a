r"""From a recorded run to Points: strokes found in what was measured, paired into round trips (Eqs. 48-51).

At equal position, forward and backward, the half difference of the torques is friction (the *odd* part) and
the half sum is the rigid body's torque and offset (the *even* part):

.. math:: F = (\tau_+ - \tau_-) / 2, \qquad \tau_g = (\tau_+ + \tau_-) / 2

A stroke is a stretch over which a joint moves at constant speed while the others hold or move at constant speeds of
their own. It is recognised by the time that the joint takes for equal steps of position, never by what was commanded.
Its way back retraces it with time reversed, the other joints too: gravity, inertia and Coriolis and centrifugal forces
are then the same both times, and friction of every joint that moves shows at once. What the two ways differ by, as
tracking lags, is corrected with the model's difference.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ident.dynamics import inverse_dynamics
from ident.loads import JointLoads, joint_loads
from ident.mechanism import Array, Mechanism
from ident.regression import Groups, group_index
from ident.run import Run

STEADY = 0.04          # a cell's speed may differ from the stroke's by this fraction
SAME_SPEED = 0.05      # speeds of a stroke and its reverse may differ by this fraction
HELD = 0.01            # the other joints keep this near rest or a constant speed, and the same places both ways [rad or m]
_MIRRORED = 0.02       # part of its own way by which another joint may miss its place on the way back
_KNOTS = 33            # of the rigid-body torque along a stroke
_CELLS = (8, 96)      # least and most position cells of a motion
_SAMPLES = 40          # a cell is so many encoder steps, or lasts so many samples where steps are coarser
_LEAST_CELLS = 3       # cells of a steady stretch
_LEAST_ROWS = 8
_BINS = 5              # most bins of a round trip
_MIN_GEAR = 20.0       # gear ratio from which bins are whole motor revolutions
_EQUAL_GRAVITY = 0.005  # strokes at different places pair if gravity differs by less than this part of friction

COLUMNS = ("joint", "segment", "posture", "speed", "position", "odd", "even", "gravity", "gravity_rate", "torque",
           "bending", "radial", "axial", "normal", "n", "std", "t", "temperature", "reference", "run")


@dataclass(frozen=True)
class Stroke:
    """One joint, one direction, constant speed.

    Attributes
    ----------
    joint : int
        Which joint.
    segment : int
        Segment of the plan in which it was found.
    rows : slice
        Its samples.
    direction : int
        +1 or -1.
    speed : float
        Mean speed [rad/s or m/s].
    low, high : float
        Positions between which the speed is constant [rad or m].
    start, rate : ndarray, shape (n,)
        Where all joints are at its first row, and their constant speeds [rad or m, and per s].
    duration : float
        Time from its first row to its last [s].
    """

    joint: int
    segment: int
    rows: slice
    direction: int
    speed: float
    low: float
    high: float
    start: Array
    rate: Array
    duration: float

    @property
    def key(self) -> tuple[int, int]:
        """What tells it from the others of a run: joint and first row."""
        return self.joint, self.rows.start

    def at(self, position: ArrayLike) -> Array:
        """Positions of all joints where the stroke's own passes `position`, shape (N, n)."""
        since = (np.asarray(position, dtype=float) - self.start[self.joint]) / self.rate[self.joint]
        return np.asarray(self.start + since[..., None] * self.rate)


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
    planned = {segment["id"]: segment for segment in (run.record.get("plan") or {}).get("segments", ())}
    q, tau = run.signals["q"], run.signals["tau"]
    rows: list[dict[str, object]] = []
    left_out: list[tuple[str, int, str]] = []
    bins: list[_Bin] = []
    found = find_strokes(run.t, q, run.segment)
    for joint, name in enumerate(run.names):
        strokes = [stroke for stroke in found if stroke.joint == joint]
        left_out += [(name, segment, "no stretch at constant speed") for segment, plan in planned.items()
                     if (plan.get("joint") == name or plan.get("kind") == "sweep")
                     and segment not in {stroke.segment for stroke in strokes} and (run.segment == segment).any()]
        turn = motor_revolution(run.arm.joint(name).gear_ratio)
        pairs, single = pair_strokes(strokes, mechanism, joint, tau)
        left_out += [(name, stroke.segment, "no way back at the same place and speed") for stroke in single
                     if planned.get(stroke.segment, {}).get("kind") != "move"]
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


def find_strokes(t: Array, q: Array, segment: np.ndarray) -> list[Stroke]:
    """Stretches at constant speed of each joint with the others held or at constant speeds too, joint by joint."""
    steady = [list(_stretches(t, q[:, joint], segment)) for joint in range(q.shape[1])]
    found = []
    for joint, stretches in enumerate(steady):
        for part, sign in stretches:
            common = _together(t, q, part, [steady[other] for other in range(q.shape[1]) if other != joint])
            if common is not None:
                found.append(_stroke(t, q, segment, joint, common, sign))
    return found


def _stretches(t: Array, x: Array, segment: np.ndarray) -> Iterator[tuple[slice, int]]:
    """Rows over which a joint moves at constant speed, and which way."""
    resolution = encoder_step(x)
    least = max(20.0 * resolution, float(np.ptp(x)) / 400.0)
    for rows in motions(x, segment, least):
        sign = 1 if x[rows.stop - 1] > x[rows.start] else -1
        for first, last in _steady(t[rows], sign * x[rows], resolution):
            yield slice(rows.start + first, rows.start + last), sign


def _together(t: Array, q: Array, part: slice, others: list[list[tuple[slice, int]]]) -> slice | None:
    """The longest part of a stretch in which the other joints hold or keep their speeds too."""
    for _ in range(2):
        some = slice(part.start, part.stop, max(1, (part.stop - part.start) // 50))
        start, rate = _line(t[some] - t[part.start], q[some])
        off = np.abs(q[some] - start - (t[some] - t[part.start])[:, None] * rate).max(axis=0)
        if (off <= HELD / 2.0).all():
            return part
        for stretches in others:
            shared = [slice(max(part.start, other.start), min(part.stop, other.stop)) for other, _ in stretches
                      if other.start < part.stop and part.start < other.stop]
            if shared:
                part = max(shared, key=lambda rows: rows.stop - rows.start)
        if part.stop - part.start < _LEAST_ROWS:
            break
    return None


def _stroke(t: Array, q: Array, segment: np.ndarray, joint: int, rows: slice, sign: int) -> Stroke:
    some = slice(rows.start, rows.stop, max(1, (rows.stop - rows.start) // 50))
    start, rate = _line(t[some] - t[rows.start], q[some])
    x, since = q[rows, joint], t[rows] - t[rows.start]
    rate[joint] = _slope(since, x)
    start[joint] = x.mean() - rate[joint] * since.mean()
    ends = x[0], x[-1]
    return Stroke(joint, int(segment[rows.start]), rows, sign, abs(float(rate[joint])), min(ends), max(ends), start, rate,
                  float(since[-1]))


def pair_strokes(strokes: list[Stroke], mechanism: Mechanism, joint: int,
                 tau: Array) -> tuple[list[tuple[Stroke, Stroke]], list[Stroke]]:
    """Round trips: each stroke with the nearest one that retraces it at the same speed, all joints at the same places.

    Strokes that share no stretch of position pair only if the model's gravity is the same at both.

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


def motions(x: Array, segment: np.ndarray, least: float) -> Iterator[slice]:
    """Stretches of at least `least` within a segment over which x moves one way."""
    edges = np.concatenate(([0], np.flatnonzero(np.diff(segment)) + 1, [len(x)]))
    high, low = np.maximum.reduceat(x, edges[:-1]), np.minimum.reduceat(x, edges[:-1])
    for k in np.flatnonzero(high - low > least):
        start, stop = int(edges[k]), int(edges[k + 1])
        if abs(x[stop - 1] - x[start]) > (high[k] - low[k]) - least:
            yield slice(start, stop)
            continue
        turns = [start, *(start + turn for turn in _turning_points(x[start:stop], least)), stop - 1]
        for first, last in pairwise(turns):
            if abs(x[last] - x[first]) > least:
                yield slice(first, last + 1)


def _turning_points(x: Array, least: float) -> list[int]:
    """Rows at which x turns back by more than `least`."""
    turns, extreme, sign = [], 0, 0
    stride = max(1, len(x) // 20000)
    coarse = x[::stride].tolist()
    for k, value in enumerate(coarse):
        ahead = value - coarse[extreme]
        if sign == 0:
            if abs(ahead) > least:
                sign, extreme = (1 if ahead > 0 else -1), k
        elif sign * ahead >= 0.0:
            extreme = k
        elif -sign * ahead > least:
            turns.append(extreme * stride)
            sign, extreme = -sign, k
    return turns


def _steady(t: Array, x: Array, resolution: float) -> Iterator[tuple[int, int]]:
    """Row ranges of a rising x over which equal steps of position take equal times."""
    rising = np.maximum.accumulate(x)
    edges = _cell_edges(x, resolution)
    cells = len(edges) - 1
    if cells < _LEAST_CELLS:
        return
    passed = np.interp(edges, rising, t)
    pace = np.log(np.maximum(np.diff(passed), 1e-9))         # log of the time that each cell takes
    rows = np.searchsorted(rising, edges)
    cut = np.concatenate(([0], np.flatnonzero(np.abs(np.diff(pace)) > 2.0 * STEADY) + 1, [cells]))
    for first, last in pairwise(cut):
        for _ in range(4):                                     # shrink to the longest part near its own median
            if last - first < _LEAST_CELLS:
                break
            near = np.abs(pace[first:last] - np.median(pace[first:last])) < STEADY
            if near.all():
                break
            start, length = _longest(near)
            first, last = first + start, first + start + length
        first, last = first + 1, last - 1                      # edge cells hold the end of a ramp
        if last - first >= max(1, _LEAST_CELLS - 2) and rows[last] - rows[first] >= _LEAST_ROWS:
            yield int(rows[first]), int(rows[last])


def _cell_edges(rising: Array, resolution: float) -> Array:
    """Edges of equal cells, large enough that encoder steps, noise and sampling hardly shift when they are passed.

    They lie half-way between steps of the encoder, so that each is passed at the instant of a step.
    """
    low, high = rising[0], rising[-1]
    cell = 8.0 * max(resolution, 8.0 * position_noise(rising, resolution))
    chord = min(_SAMPLES, len(rising) // 4)
    fastest = float(np.max(rising[chord:] - rising[:-chord])) / chord if chord else 0.0     # way a sample
    cell = max(cell, _SAMPLES * min(resolution, fastest))       # an edge is passed between two samples, or two steps
    cells = np.clip((high - low) / cell, *_CELLS)
    steps = max(1.0, np.ceil((high - low) / (cells * resolution)))
    return np.asarray(np.arange(low + 0.5 * resolution, high, steps * resolution))


def position_noise(rising: Array, resolution: float) -> float:
    """Standard deviation of the position's noise, if it is more than what encoder steps make; else 0."""
    if len(rising) < 4:
        return 0.0
    noise = float(np.median(np.abs(np.diff(rising, 3)))) / 0.6745 / np.sqrt(20.0)     # ramps leave no third difference
    return noise if noise > 2.0 * resolution else 0.0


def _line(t: Array, q: Array) -> tuple[Array, Array]:
    """Least-squares straight line q = start + rate t of every joint, each shape (n,)."""
    rate = (t - t.mean()) @ (q - q.mean(axis=0)) / np.sum((t - t.mean()) ** 2)
    return q.mean(axis=0) - rate * t.mean(), rate


def _slope(t: Array, x: Array) -> float:
    """Least-squares rate of x."""
    t = t - t.mean()
    return float(t @ x / (t @ t))


def _longest(mask: np.ndarray) -> tuple[int, int]:
    """Start and length of the longest run of True."""
    padded = np.concatenate(([0], mask.astype(int), [0]))
    starts, stops = np.flatnonzero(np.diff(padded) == 1), np.flatnonzero(np.diff(padded) == -1)
    if len(starts) == 0:
        return 0, 0
    k = int(np.argmax(stops - starts))
    return int(starts[k]), int(stops[k] - starts[k])


def encoder_step(x: Array) -> float:
    """Smallest step that the position takes."""
    steps = np.abs(np.diff(x[:200_000]))
    least = 1e-7 * float(np.ptp(x))                # finer steps are noise, or rounding of a computed position
    steps = steps[steps > least]
    return float(steps.min()) if len(steps) else max(least, 1e-12)


def _overlap(a: Stroke, b: Stroke) -> float:
    return min(a.high, b.high) - max(a.low, b.low)


def motor_revolution(gear_ratio: float) -> float:
    """One motor revolution at the joint, over which ripple averages out; 0 where there is no gear to speak of."""
    return 2.0 * np.pi / gear_ratio if gear_ratio >= _MIN_GEAR else 0.0


@dataclass(frozen=True)
class _Bin:
    """The same stretch of position on the way there and back; rows of its samples."""

    forward: Stroke
    backward: Stroke
    rows: tuple[np.ndarray, np.ndarray]
    centre: Array


def _bins(q: Array, forward: Stroke, backward: Stroke, joint: int, turn: float) -> Iterator[_Bin]:
    low, high = max(forward.low, backward.low), min(forward.high, backward.high)
    width = high - low
    if width <= 0.0:                 # strokes apart from each other, where gravity does not matter
        rows = tuple(np.arange(stroke.rows.start, stroke.rows.stop) for stroke in (forward, backward))
        yield _Bin(forward, backward, (rows[0], rows[1]), q[rows[0]].mean(axis=0))
        return
    if turn > 0.0 and width >= turn:
        count = int(min(_BINS, width // turn))
        used = count * turn * (width // turn // count)
        low, width = low + (width - used) / 2.0, used
    else:
        count = 1 if turn > 0.0 else _BINS - 1
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
