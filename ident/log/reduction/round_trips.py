r"""Reduction of a run to points: strokes are paired to round trips (Eqs. 48-51).

At each position, half the difference of forward and backward torque is friction (the *odd* part),
and half the sum is the rigid-body torque and offset (the *even* part):

.. math:: F = (\tau_+ - \tau_-) / 2, \qquad \tau_g = (\tau_+ + \tau_-) / 2

On the way back, all joints play the forward motion backwards. Gravity, inertia, Coriolis and
centrifugal torques are then equal in both directions, so the friction of all moving joints is found
simultaneously. Differences between both strokes, such as tracking lags and settling drives, are
corrected with the model.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from stribeck.ident.arrays import Array, Groups, group_index
from stribeck.ident.log.parts import excerpt, parts, rows_of_a_part
from stribeck.ident.log.reduction.position_bins import PositionBin, mean_loads, position_bins
from stribeck.ident.log.reduction.rigid_along_strokes import RigidAlongStrokes
from stribeck.ident.log.reduction.settling import Windows, settling_torque
from stribeck.ident.log.reduction.stroke_pairs import connecting, pair_strokes
from stribeck.ident.log.run import TO_START, Run
from stribeck.ident.log.signal_checks import dead_torques
from stribeck.ident.log.strokes import Grain, Stroke, find_strokes, motor_revolution
from stribeck.ident.model.mechanism import Mechanism

COLUMNS = (
    "joint",
    "segment",
    "posture",
    "speed",
    "position",
    "odd",
    "even",
    "gravity",
    "gravity_rate",
    "torque",
    "bending",
    "radial",
    "axial",
    "normal",
    "n",
    "std",
    "t",
    "temperature",
    "reference",
    "run",
    "width",
)

# part of the usual rate ratio to the fastest drive; a slower joint without a
# drive counts as resting
_RESTS = 0.05
_USUAL = 0.75  # quantile that defines the usual rate ratio


@dataclass(frozen=True)
class Reduction:
    """Points of a run, and excluded strokes.

    Attributes
    ----------
    points : DataFrame
        One row per round trip and bin; columns `COLUMNS`. `odd` and `even` in N·m (N); `gravity` is
        the model's value of `even`; `gravity_rate` is dtau_rigid/dt of the model on the forward
        stroke; `n` is the number of samples, `std` their scatter, `t` the mean time [s], `width`
        the position range of the point [rad or m].
    left_out : tuple of (str, int, str)
        Joint, segment and reason for each stroke without a point.
    strokes : tuple of Stroke
        All strokes, with or without a partner.
    q, dq : ndarray, shape (N, n)
        Positions of all joints at the points [rad or m], and their velocities on the
        forward stroke [rad/s or m/s].
    """

    points: pd.DataFrame
    left_out: tuple[tuple[str, int, str], ...] = field(default=())
    strokes: tuple[Stroke, ...] = field(default=())
    q: Array = field(default_factory=lambda: np.empty((0, 0)))
    dq: Array = field(default_factory=lambda: np.empty((0, 0)))


def reduce_run(run: Run, mechanism: Mechanism) -> Reduction:
    """Reduce a run to points: find strokes, pair them, compute half differences and half
    sums, add the model's loads.

    Parameters
    ----------
    run : Run
        Run with signals q and tau.
    mechanism : Mechanism
        Rigid-body model with joints in the run's order.

    Returns
    -------
    Reduction
    """
    plan = run.record.get("plan") or {}
    planned = {segment["id"]: segment for segment in plan.get("segments", ())}
    partner = {
        id_: segment["mirror_of"]
        for id_, segment in planned.items()
        if segment.get("mirror_of") is not None
    }
    partner |= {there: back for back, there in partner.items()}
    left_out: list[tuple[str, int, str]] = []
    pairs: list[tuple[Stroke, Stroke]] = []
    moves = frozenset(id_ for id_, entry in planned.items() if entry.get("kind") == "move") | (
        {TO_START} if planned else set()
    )
    seen = _seen(run, moves)
    dead = dead_torques(run)
    alone: list[Stroke] = []
    for joint, name in enumerate(run.names):
        if name in dead:
            continue
        strokes = [stroke for stroke in seen.strokes if stroke.joint == joint]
        steady = {stroke.segment for stroke in strokes}
        missing = (_measuring(plan, name, joint) - steady) & seen.segments
        left_out += [(name, segment, "no part at constant speed") for segment in missing]
        paired, single = pair_strokes(strokes, mechanism, joint, seen.torque, partner)
        alone += single
        for forward, backward in paired:
            if mechanism.transmission is not None and (
                motor := mechanism.transmission.standing(forward.rate, joint)
            ):
                left_out += [
                    (
                        name,
                        stroke.segment,
                        f"the motor of {motor} rests during the stroke, so its friction is unknown",
                    )
                    for stroke in (forward, backward)
                ]
            else:
                pairs.append((forward, backward))
    trips = _measured(run, mechanism, pairs)
    left_out += [
        (run.names[stroke.joint], stroke.segment, "too few samples")
        for k, pair in enumerate(pairs)
        if k not in trips.index
        for stroke in pair
    ]
    trips, resting = _sliding(trips, pairs, mechanism)
    left_out += resting
    used = {stroke.key for stroke in seen.strokes} - {stroke.key for stroke in alone}
    moves_between = set() if planned else connecting(seen.strokes, used, seen.q)
    left_out += [
        (run.names[stroke.joint], stroke.segment, "no return stroke at the same position and speed")
        for stroke in alone
        if stroke.key not in moves_between
    ]
    centre, rate = (
        np.array(trips[key].tolist()).reshape(-1, mechanism.n) for key in ("centre", "rate")
    )
    return Reduction(
        _points(run, trips, pairs, planned), tuple(left_out), tuple(seen.strokes), centre, rate
    )


@dataclass(frozen=True)
class _Seen:
    """What the reduction keeps of all samples: strokes, their mean torques by key, positions at
    their ends, and segments.
    """

    strokes: list[Stroke]
    torque: dict[tuple[int, int], float]
    q: dict[int, Array]
    segments: set[int]


def _seen(run: Run, moves: frozenset[int]) -> _Seen:
    """Find the strokes of a run, part by part; rows of strokes count from
    the first row of the run.
    """
    seen, span = _Seen([], {}, {}, set()), np.subtract(*run.range_of("q")[::-1]).tolist()
    grains: list[Grain] = []
    for part in parts(run):
        q, tau, before = part.signals["q"], part.signals["tau"], part.first - run.first
        seen.segments.update(
            part.segment[np.flatnonzero(np.diff(part.segment, append=-2))].tolist()
        )
        seen.q.setdefault(0, q[0].copy())  # a view would hold the whole part
        grains = grains or [Grain.of(part.t, x, way) for x, way in zip(q.T, span, strict=True)]
        for stroke in find_strokes(part.t, q, part.segment, moves, grains):
            moved = stroke.moved(before)
            seen.strokes.append(moved)
            seen.torque[moved.key] = float(np.mean(tau[stroke.rows, stroke.joint]))
            seen.q.update(
                {before + row: q[row].copy() for row in (stroke.rows.start, stroke.rows.stop - 1)}
            )
    return seen


def _measured(
    run: Run, mechanism: Mechanism, pairs: Sequence[tuple[Stroke, Stroke]]
) -> pd.DataFrame:
    """Measure the bins of all pairs of strokes, with the number of their
    pair as index, in its order.
    """
    found = [_bins_of(run, mechanism, pairs, some) for some in _groups(run, pairs)]
    found = [table for table in found if len(table)]
    if not found:
        return pd.DataFrame(columns=[*COLUMNS, "centre", "rate"], index=pd.Index([], dtype=int))
    return pd.concat(found).sort_index(kind="stable")


def _groups(run: Run, pairs: Sequence[tuple[Stroke, Stroke]]) -> Iterator[list[int]]:
    """Yield numbers of pairs whose samples fit into memory together."""
    if run.file is None:
        yield list(range(len(pairs)))
        return
    group, rows = list[int](), 0
    for k in sorted(range(len(pairs)), key=lambda k: min(stroke.rows.start for stroke in pairs[k])):
        group.append(k)
        rows += sum(stroke.rows.stop - stroke.rows.start for stroke in pairs[k])
        if rows > rows_of_a_part(run):
            yield group
            group, rows = [], 0
    if group:
        yield group


def _bins_of(
    run: Run, mechanism: Mechanism, pairs: Sequence[tuple[Stroke, Stroke]], some: Sequence[int]
) -> pd.DataFrame:
    """Measure the bins of some pairs of strokes."""
    part, shift = excerpt(run, [stroke.rows for k in some for stroke in pairs[k]])
    bins: list[PositionBin] = []
    owner: list[int] = []
    for k, (there, back) in zip(some, shift.reshape(-1, 2).tolist(), strict=True):
        forward, backward = pairs[k][0].moved(there), pairs[k][1].moved(back)
        turn = motor_revolution(run.arm.joint(run.names[forward.joint]).ratio)
        bins += list(position_bins(part.signals["q"], forward, backward, forward.joint, turn))
        owner += [k] * (len(bins) - len(owner))
    return _with_torques(
        part, run.duration / (run.rows - 1), bins, mechanism, pd.Index(owner, dtype=int)
    )


def _sliding(
    trips: pd.DataFrame, pairs: Sequence[tuple[Stroke, Stroke]], mechanism: Mechanism
) -> tuple[pd.DataFrame, list[tuple[str, int, str]]]:
    """Bins in which all frictional joints without a drive move, and excluded strokes: a resting
    joint has unknown friction.
    """
    chain = mechanism.chain
    if chain is None or not chain.classes or not len(trips):
        return trips, []
    centre, rate = (
        np.array(trips[key].tolist()).reshape(-1, mechanism.n) for key in ("centre", "rate")
    )
    turns = np.abs(chain.rubbing_rates(mechanism, centre, rate)) / np.abs(rate).max(axis=1)[:, None]
    slides = (turns > _RESTS * np.quantile(turns, _USUAL, axis=0)).all(axis=1)
    resting = dict.fromkeys(trips.index[~slides].difference(trips.index[slides], sort=False))
    why = "a joint without a drive rests during the stroke, so its friction is unknown"
    return trips[slides], [
        (mechanism.names[stroke.joint], stroke.segment, why) for k in resting for stroke in pairs[k]
    ]


def round_trips(points: pd.DataFrame) -> Groups:
    """Round trip of each point of one joint: 0, 1, 2, ..."""
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


def _with_torques(
    run: Run, period: float, bins: Sequence[PositionBin], mechanism: Mechanism, index: pd.Index
) -> pd.DataFrame:
    """Measured values and the model's loads in each bin."""
    if not bins:
        return pd.DataFrame()
    centre = np.array([bin_.centre for bin_ in bins]).reshape(-1, mechanism.n)
    rate = np.array([(bin_.forward.rate - bin_.backward.rate) / 2.0 for bin_ in bins]).reshape(
        centre.shape
    )
    loads = mean_loads(mechanism, bins, centre, rate)
    joint, size = np.array([bin_.forward.joint for bin_ in bins]), len(bins)
    own = np.arange(size), joint
    tau, model, scatter = np.empty((3, 2, size))
    n, t, temperature = np.zeros((3, size))
    strokes = {stroke.key: stroke for bin_ in bins for stroke in (bin_.forward, bin_.backward)}
    number, rigid = (
        {key: k for k, key in enumerate(strokes)},
        RigidAlongStrokes(mechanism, list(strokes.values())),
    )
    for way in (0, 1):
        along = [(bin_.forward, bin_.backward)[way] for bin_ in bins]
        windows = Windows.over(along, [bin_.rows[way] for bin_ in bins], period)
        stroke, rows, of = np.array([number[one.key] for one in along]), windows.rows, windows.of
        measured = run.signals["tau"][rows, joint[of]]
        expected = rigid(stroke[of], run.signals["q"][rows, joint[of]])
        tau[way], model[way] = windows.mean(measured), windows.mean(expected)
        scatter[way] = windows.mean((measured - expected - (tau[way] - model[way])[of]) ** 2)
        n += windows.count
        t += windows.count * windows.mean(run.t[rows])
        if "temperature" in run.signals:
            temperature += windows.count * windows.mean(run.signals["temperature"][rows, joint[of]])
        model[way] += settling_torque(
            run, mechanism, along, windows, np.sqrt(scatter[way] / windows.count)
        )
        if way == 0:
            slope = rigid.slope(stroke, centre[own])
    speed = np.array([(bin_.forward.speed + bin_.backward.speed) / 2.0 for bin_ in bins])
    return pd.DataFrame(
        {
            "joint": [run.names[k] for k in joint],
            "speed": speed,
            "position": centre[own],
            "odd": (tau[0] - tau[1] - model[0] + model[1]) / 2.0,
            "even": tau.mean(axis=0),
            "gravity": model.mean(axis=0),
            "gravity_rate": slope * speed,
            **loads,
            "n": n.astype(int),
            "std": np.sqrt(scatter.mean(axis=0)),
            "t": t / n,
            "temperature": temperature / n if "temperature" in run.signals else np.nan,
            "width": [bin_.width for bin_ in bins],
            "centre": list(centre),
            "rate": list(rate),
        },
        index=index,
    )


def _points(
    run: Run,
    trips: pd.DataFrame,
    pairs: Sequence[tuple[Stroke, Stroke]],
    planned: Mapping[int, Mapping[str, Any]],
) -> pd.DataFrame:
    """Points table: the bins with the names of their round trips, and
    what the plan says of them.
    """
    first = [min(pairs[k], key=lambda stroke: stroke.rows.start) for k in trips.index]
    said = [planned.get(stroke.segment, {}) for stroke in first]
    named = trips.assign(
        segment=_name_trips(first),
        posture=[segment.get("posture", 0) for segment in said],
        reference=[bool(segment.get("reference", False)) for segment in said],
        run=run.label,
    )
    return named[list(COLUMNS)].reset_index(drop=True)


def _name_trips(first: Sequence[Stroke]) -> list[int]:
    """Number of the round trips of bins: segment of the first stroke, or its first row if its
    segment has several round trips.
    """
    strokes = {stroke.key: stroke for stroke in first}
    owners = Counter((stroke.joint, stroke.segment) for stroke in strokes.values())
    taken = {segment for (_, segment), count in owners.items() if count == 1}
    names = {}
    for key, stroke in strokes.items():
        name = stroke.segment
        if owners[stroke.joint, stroke.segment] > 1:
            name = stroke.rows.start
            while name in taken:
                name += 1
        names[key] = name
    return [names[stroke.key] for stroke in first]
