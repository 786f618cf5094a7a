r"""Reduction of a run to points: strokes are paired to round trips (Eqs. 48-51).

At each position, half the difference of forward and backward torque is friction (the *odd* part), and half the sum is the
rigid-body torque and offset (the *even* part):

.. math:: F = (\tau_+ - \tau_-) / 2, \qquad \tau_g = (\tau_+ + \tau_-) / 2

On the way back, all joints play the forward motion backwards. Gravity, inertia, Coriolis and centrifugal torques are then equal
in both directions, so the friction of all moving joints is found simultaneously. Differences between both strokes, such as
tracking lags and settling drives, are corrected with the model.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from stribeck.ident.arrays import Array, Groups, group_index
from stribeck.ident.log.reduction.position_bins import PositionBin, mean_loads, position_bins
from stribeck.ident.log.reduction.rigid_along_strokes import RigidAlongStrokes
from stribeck.ident.log.reduction.settling import Windows, settling_torque
from stribeck.ident.log.reduction.stroke_pairs import connecting, pair_strokes
from stribeck.ident.log.run import TO_START, Run
from stribeck.ident.log.signal_checks import dead_torques
from stribeck.ident.log.strokes import Stroke, find_strokes, motor_revolution
from stribeck.ident.model.mechanism import Mechanism

COLUMNS = ("joint", "segment", "posture", "speed", "position", "odd", "even", "gravity", "gravity_rate", "torque",
           "bending", "radial", "axial", "normal", "n", "std", "t", "temperature", "reference", "run",
           "width")

_RESTS = 0.05           # part of the usual rate ratio to the fastest drive; a slower joint without a drive counts as resting
_USUAL = 0.75           # quantile that defines the usual rate ratio


@dataclass(frozen=True)
class Reduction:
    """Points of a run, and excluded strokes.

    Attributes
    ----------
    points : DataFrame
        One row per round trip and bin; columns `COLUMNS`. `odd` and `even` in N·m (N); `gravity` is the model's value of
        `even`; `gravity_rate` is dtau_rigid/dt of the model on the forward stroke; `n` is the number of samples, `std` their
        scatter, `t` the mean time [s], `width` the position range of the point [rad or m].
    left_out : tuple of (str, int, str)
        Joint, segment and reason for each stroke without a point.
    strokes : tuple of Stroke
        All strokes, with or without a partner.
    q, dq : ndarray, shape (N, n)
        Positions of all joints at the points [rad or m], and their velocities on the forward stroke [rad/s or m/s].
    """

    points: pd.DataFrame
    left_out: tuple[tuple[str, int, str], ...] = field(default=())
    strokes: tuple[Stroke, ...] = field(default=())
    q: Array = field(default_factory=lambda: np.empty((0, 0)))
    dq: Array = field(default_factory=lambda: np.empty((0, 0)))


def reduce_run(run: Run, mechanism: Mechanism) -> Reduction:
    """Reduce a run to points: find strokes, pair them, compute half differences and half sums, add the model's loads.

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
    partner = {id_: segment["mirror_of"] for id_, segment in planned.items() if segment.get("mirror_of") is not None}
    partner |= {there: back for back, there in partner.items()}
    q, tau = run.signals["q"], run.signals["tau"]
    left_out: list[tuple[str, int, str]] = []
    bins: list[PositionBin] = []
    moves = frozenset(id_ for id_, entry in planned.items() if entry.get("kind") == "move") | ({TO_START} if planned else set())
    found = find_strokes(run.t, q, run.segment, moves)
    recorded = set(run.segment[np.flatnonzero(np.diff(run.segment, append=-2))].tolist())
    dead = dead_torques(run)
    alone: list[Stroke] = []
    for joint, name in enumerate(run.names):
        if name in dead:
            continue
        strokes = [stroke for stroke in found if stroke.joint == joint]
        steady = {stroke.segment for stroke in strokes}
        missing = (_measuring(plan, name, joint) - steady) & recorded
        left_out += [(name, segment, "no part at constant speed") for segment in missing]
        turn = motor_revolution(run.arm.joint(name).ratio)
        pairs, single = pair_strokes(strokes, mechanism, joint, tau, partner)
        alone += single
        for forward, backward in pairs:
            if mechanism.transmission is not None and (motor := mechanism.transmission.standing(forward.rate, joint)):
                left_out += [(name, stroke.segment, f"the motor of {motor} rests during the stroke, so its friction is unknown")
                             for stroke in (forward, backward)]
                continue
            found_bins = list(position_bins(q, forward, backward, joint, turn))
            bins += found_bins
            if not found_bins:
                left_out += [(name, stroke.segment, "too few samples") for stroke in (forward, backward)]
    bins, resting = _sliding(bins, mechanism)
    left_out += resting
    paired = {stroke.key for stroke in found} - {stroke.key for stroke in alone}
    moves_between = set() if planned else connecting(found, paired, q)
    left_out += [(run.names[stroke.joint], stroke.segment, "no return stroke at the same position and speed")
                 for stroke in alone if stroke.key not in moves_between]
    centre = np.array([bin_.centre for bin_ in bins]).reshape(-1, mechanism.n)
    rate = np.array([(bin_.forward.rate - bin_.backward.rate) / 2.0 for bin_ in bins]).reshape(centre.shape)
    points = _points(run, bins, centre, mean_loads(mechanism, bins, centre, rate), mechanism, planned)
    return Reduction(points, tuple(left_out), tuple(found), centre, rate)


def _sliding(bins: Sequence[PositionBin], mechanism: Mechanism) -> tuple[list[PositionBin], list[tuple[str, int, str]]]:
    """Bins in which all frictional joints without a drive move, and excluded strokes: a resting joint has unknown friction."""
    chain = mechanism.chain
    if chain is None or not chain.classes or not bins:
        return list(bins), []
    centre = np.array([bin_.centre for bin_ in bins]).reshape(-1, mechanism.n)
    rate = np.array([(bin_.forward.rate - bin_.backward.rate) / 2.0 for bin_ in bins]).reshape(centre.shape)
    turns = np.abs(chain.rubbing_rates(mechanism, centre, rate)) / np.abs(rate).max(axis=1)[:, None]
    slides = (turns > _RESTS * np.quantile(turns, _USUAL, axis=0)).all(axis=1)
    kept = {stroke.key for bin_, good in zip(bins, slides, strict=True) if good for stroke in (bin_.forward, bin_.backward)}
    resting = {stroke.key: stroke for bin_, good in zip(bins, slides, strict=True) if not good
               for stroke in (bin_.forward, bin_.backward) if stroke.key not in kept}
    why = "a joint without a drive rests during the stroke, so its friction is unknown"
    return ([bin_ for bin_, good in zip(bins, slides, strict=True) if good],
            [(mechanism.names[stroke.joint], stroke.segment, why) for stroke in resting.values()])


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


def _points(run: Run, bins: Sequence[PositionBin], centre: Array, loads: Mapping[str, Array], mechanism: Mechanism,
            planned: Mapping[int, Mapping[str, Any]]) -> pd.DataFrame:
    """Points table with one row for each bin."""
    if not bins:
        return pd.DataFrame(columns=list(COLUMNS))
    joint, size = np.array([bin_.forward.joint for bin_ in bins]), len(bins)
    own = np.arange(size), joint
    tau, model, scatter = np.empty((3, 2, size))
    n, t, temperature = np.zeros((3, size))
    strokes = {stroke.key: stroke for bin_ in bins for stroke in (bin_.forward, bin_.backward)}
    number, rigid = {key: k for k, key in enumerate(strokes)}, RigidAlongStrokes(mechanism, list(strokes.values()))
    period = float(np.ptp(run.t)) / (len(run.t) - 1)
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
        model[way] += settling_torque(run, mechanism, along, windows, np.sqrt(scatter[way] / windows.count))
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
        "reference": [bool(segment.get("reference", False)) for segment in first], "run": run.label,
        "width": [bin_.width for bin_ in bins]}, columns=list(COLUMNS))


def _name_trips(bins: Sequence[PositionBin]) -> list[int]:
    """Number of each bin's round trip: segment of its first stroke, or its first row if the segment has several round trips."""
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
