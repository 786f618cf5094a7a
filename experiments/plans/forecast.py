"""What a plan will tell: loads and points that it will give, and the interval of every parameter that they allow."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import pandas as pd

from stribeck.experiments.errors import PlanError
from stribeck.experiments.plans.motion_profile import ACCELERATION_SHARE, DWELL, corner_points, motion_profile
from stribeck.experiments.plans.plan import Plan
from stribeck.experiments.plans.speeds_and_postures import Array, Design, Trip
from stribeck.ident.fit.information import Expectation, ExpectedPrecision, expectation, expected_precision
from stribeck.ident.laws.parameter import WEAK
from stribeck.ident.log.reduction.position_bins import bins_of
from stribeck.ident.model.dynamics import inverse_dynamics
from stribeck.ident.model.loads import joint_loads
from stribeck.ident.model.mechanism import Mechanism

FRICTION = 0.05         # part of the torque limit: expected Coulomb friction of a joint
_STEP = 1e-3            # s; over which the slope of gravity is taken


@dataclass(frozen=True)
class Ways:
    """Forward motions of many round trips; the joints keep constant speeds on them.

    Attributes
    ----------
    start, way : ndarray, shape (K, n)
        Start position of each motion, and the travel from there [rad or m].
    time, ramp : ndarray, shape (K,)
        Time of the travel at constant speeds, and time of a ramp [s]; the motion takes the sum of both.
    t : ndarray, shape (K,)
        When the arm turns back [s].
    reference : ndarray of bool, shape (K,)
        Whether the round trip is a reference.
    """

    start: Array
    way: Array
    time: Array
    ramp: Array
    t: Array
    reference: np.ndarray

    @classmethod
    def together(cls, ways: "Sequence[Ways]") -> "Ways":
        """Several, one after the other."""
        return cls(*(np.concatenate([getattr(way, field.name) for way in ways]) for field in fields(cls)))


def way_of(trip: Trip, postures: Array, design: Design) -> Ways:
    """The way of a round trip from one of some postures, shape (K, n)."""
    time = np.array([abs(trip.way[trip.leader]) / trip.speed])
    ramp = (np.abs(trip.way) / time / (ACCELERATION_SHARE * design.limits.acceleration)).max(keepdims=True)
    return Ways(postures[trip.posture][None], trip.way[None], time, ramp, np.zeros(1), np.zeros(1, dtype=bool))


def ways_of(plan: Plan, design: Design) -> Ways:
    """The round trips of a plan."""
    rows: list[tuple[object, ...]] = []
    t = 0.0
    for start, segment in plan.legs():
        motion = motion_profile(start, segment, plan.names, design.limits)
        t += motion.duration + DWELL
        if segment.kind != "move" and segment.mirror_of is None:
            rows.append((start, np.array(segment.target) - start, 1.0 / motion.fastest, motion.knots[1], t, segment.reference))
    return Ways(*(np.array(column) for column in zip(*rows, strict=True)))


def points_ahead(ways: Ways, design: Design, resting: bool = False) -> pd.DataFrame:
    """Points that round trips will give: as those of a run, with `ripple`, the part of it that their window leaves.

    Loads are those of motion at constant speeds, or of an arm that is `resting`.
    """
    mechanism, settle = design.mechanism, design.options.settle_time
    speed = np.abs(ways.way) / ways.time[:, None]
    window = np.maximum(0.0, speed * (ways.time - ways.ramp - settle)[:, None])
    turn = np.array([design.turn(j) for j in range(mechanism.n)])
    geared = np.array([design.geared(j) for j in range(mechanism.n)])
    joints, trips, places, widths = [], [], [], []
    for k, j in zip(*np.nonzero(window > 0.0), strict=True):
        samples = float(window[k, j] / speed[k, j]) * design.arm.driver.rate
        count, used = bins_of(float(window[k, j]), float(turn[j]) if geared[j] else 0.0, samples)
        joints += [j] * count
        trips += [k] * count
        widths += [used / count] * count
        places += (0.5 + used / abs(ways.way[k, j]) * ((np.arange(count) + 0.5) / count - 0.5)).tolist()
    j, k, place, width = np.array(joints), np.array(trips), np.array(places), np.array(widths)
    q, dq = ways.start[k] + place[:, None] * ways.way[k], ways.way[k] / ways.time[k, None]
    row = np.arange(len(k))
    loads = joint_loads(mechanism, q, np.zeros_like(dq) if resting else dq)
    later, sooner = (inverse_dynamics(mechanism, q + sign * _STEP * dq, dq)[row, j] for sign in (1.0, -1.0))
    periods = window[k, j] / turn[j]
    whole = geared[j] & (periods >= 1.0)
    table = {"joint": np.array(mechanism.names)[j], "segment": k, "speed": speed[k, j], "position": q[row, j],
             "gravity": loads.tau[row, j], "gravity_rate": np.sign(dq[row, j]) * (later - sooner) / (2.0 * _STEP),
             **{load: loads.get(load)[row, j] for load in ("torque", "bending", "radial", "axial", "normal")},
             "n": 2.0 * design.arm.driver.rate * width / speed[k, j], "t": ways.t[k], "reference": ways.reference[k],
             "ripple": np.where(whole, 0.0, 1.0 / np.maximum(1.0, np.pi * periods)), "run": "planned"}
    return pd.DataFrame(table)


def expectations(ways: Ways, design: Design, earlier: Mapping[str, Expectation] | None = None) -> dict[str, Expectation]:
    """What is thought of every joint that moves: from an earlier fit, else from its limits and the speeds it has room for.

    Loads are candidates that the postures vary: those that only speed varies cannot be told from what else speed does.
    """
    found = {}
    for name, own in points_ahead(ways, design, resting=True).groupby("joint", sort=False):
        j = design.mechanism.names.index(str(name))
        found[str(name)] = (earlier or {}).get(str(name)) or expectation(
            FRICTION * float(design.limits.torque[j]), design.velocity_scale(j), own)
    return found


def forecast(plan: Plan, design: Design, earlier: Mapping[str, Expectation] | None = None) -> Plan:
    """Return the plan with the precision that is expected for every joint."""
    ways = ways_of(plan, design)
    points, thought = points_ahead(ways, design), expectations(ways, design, earlier)
    return replace(plan, predicted=tuple(prediction for name, own in points.groupby("joint", sort=False)
                                         for prediction in expected_precision(own, thought[str(name)])))


def richest(predicted: Sequence[ExpectedPrecision]) -> dict[str, ExpectedPrecision]:
    """Return the expected precision of each joint if friction grows with the load that is determined worst."""
    return {prediction.joint: prediction for prediction in sorted(predicted, key=lambda one: (len(one.parameters), one.friction))}


def check_separable(plan: Plan) -> None:
    """Refuse a plan whose round trips cannot tell Coulomb from viscous friction, the least that every law holds.

    Raises
    ------
    PlanError
        Names joint and parameters, and what the plan would leave them.
    """
    for told in plan.predicted:
        lost = {name: width for name, width in told.parameters.items() if width > WEAK and name in ("coulomb", "viscous")}
        if told.load == "none" and lost:
            said = " and ".join(f"{name} (within {100.0 * width:.0f} %)" for name, width in lost.items())
            raise PlanError(f"{told.round_trips} round trips of {told.joint} cannot separate its parameters: {said}, at most "
                            f"{100.0 * WEAK:.0f} % is allowed; widen the range of speeds (joints.{told.joint}.velocity and "
                            "position), or add round trips (--target, --budget)")


def load_spread(plan: Plan, mechanism: Mechanism) -> dict[str, dict[str, tuple[float, float]]]:
    """Least and greatest value of every load over each joint's strokes and ramps: joint -> load -> (low, high)."""
    spread: dict[str, dict[str, tuple[float, float]]] = {}
    for j, name in enumerate(mechanism.names):
        legs = [corner_points(start, segment) if segment.wave else np.array([start, segment.target]) for start, segment
                in plan.legs() if segment.kind != "move" and (segment.moving(start)[j] or segment.joint == name)]
        if legs:
            points = np.concatenate([np.vstack((leg, (leg[1:] + leg[:-1]) / 2.0)) for leg in legs])
            loads = joint_loads(mechanism, points)
            kinds = ["torque", "bending", "radial", "axial"] + (["normal"] if mechanism.bearings[j] else [])
            spread[name] = {kind: (float(loads.get(kind)[:, j].min()), float(loads.get(kind)[:, j].max())) for kind in kinds}
    return spread
