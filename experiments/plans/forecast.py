"""Forecast of a plan: its expected loads and points, and the expected
interval of every parameter.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import pandas as pd

from stribeck.experiments.errors import PlanError
from stribeck.experiments.plans.constant_speed_options import Trip
from stribeck.experiments.plans.motion_profile import (
    ACCELERATION_SHARE,
    corner_points,
    motion_profile,
    rest_after,
)
from stribeck.experiments.plans.plan import Plan
from stribeck.experiments.plans.speeds_and_postures import Design
from stribeck.ident.arrays import Array
from stribeck.ident.fit.information import (
    Expectation,
    ExpectedPrecision,
    expectation,
    expected_precision,
)
from stribeck.ident.laws.parameter import WEAK
from stribeck.ident.log.reduction.position_bins import bins_of
from stribeck.ident.model.dynamics import inverse_dynamics
from stribeck.ident.model.loads import joint_loads
from stribeck.ident.model.mechanism import Mechanism

FRICTION = 0.05  # of the torque limit: expected Coulomb friction of a joint
_STEP = 1e-3  # s; time step for the derivative of gravity torque


@dataclass(frozen=True)
class Ways:
    """Forward strokes of K round trips, on which the joints keep constant speeds.

    Attributes
    ----------
    start, way : ndarray, shape (K, n)
        Start posture of each stroke, and the displacement from it [rad or m].
    time, ramp : ndarray, shape (K,)
        Time of the stroke at constant speed, and time of a ramp [s]; their sum
        is the time of the motion.
    t : ndarray, shape (K,)
        Time at which the arm reverses [s].
    reference : ndarray of bool, shape (K,)
        True for reference round trips.
    """

    start: Array
    way: Array
    time: Array
    ramp: Array
    t: Array
    reference: np.ndarray

    @classmethod
    def together(cls, ways: "Sequence[Ways]") -> "Ways":
        """Concatenate several sets of strokes."""
        return cls(
            *(np.concatenate([getattr(way, field.name) for way in ways]) for field in fields(cls))
        )


def way_of(trip: Trip, postures: Array, design: Design) -> Ways:
    """Return the forward stroke of a round trip; `postures` has shape (K, n)."""
    time = np.array([abs(trip.way[trip.leader]) / trip.speed])
    ramp = (np.abs(trip.way) / time / (ACCELERATION_SHARE * design.limits.acceleration)).max(
        keepdims=True
    )
    return Ways(
        postures[trip.posture][None],
        trip.way[None],
        time,
        ramp,
        np.zeros(1),
        np.zeros(1, dtype=bool),
    )


def ways_of(plan: Plan, design: Design) -> Ways:
    """Return the forward strokes of a plan's round trips."""
    rows: list[tuple[object, ...]] = []
    t = 0.0
    for start, segment in plan.legs():
        motion = motion_profile(start, segment, plan.names, design.limits)
        t += motion.duration + rest_after(segment)
        if segment.kind != "move" and segment.mirror_of is None:
            rows.append(
                (
                    start,
                    np.array(segment.target) - start,
                    1.0 / motion.fastest,
                    motion.knots[1],
                    t,
                    segment.reference,
                )
            )
    return Ways(*(np.array(column) for column in zip(*rows, strict=True)))


def points_ahead(ways: Ways, design: Design, resting: bool = False) -> pd.DataFrame:
    """Return the expected points of round trips, in the format of a run's points.

    Column `ripple` is the part of the motor ripple that averaging over the window leaves. Loads are
    those at constant speeds, or those at rest if `resting` is True.
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
        places += (
            0.5 + used / abs(ways.way[k, j]) * ((np.arange(count) + 0.5) / count - 0.5)
        ).tolist()
    j, k, place, width = np.array(joints), np.array(trips), np.array(places), np.array(widths)
    q, dq = ways.start[k] + place[:, None] * ways.way[k], ways.way[k] / ways.time[k, None]
    row = np.arange(len(k))
    loads = joint_loads(mechanism, q, np.zeros_like(dq) if resting else dq)
    later, sooner = (
        inverse_dynamics(mechanism, q + sign * _STEP * dq, dq)[row, j] for sign in (1.0, -1.0)
    )
    periods = window[k, j] / turn[j]
    whole = geared[j] & (periods >= 1.0)
    table = {
        "joint": np.array(mechanism.names)[j],
        "segment": k,
        "speed": speed[k, j],
        "position": q[row, j],
        "gravity": loads.tau[row, j],
        "gravity_rate": np.sign(dq[row, j]) * (later - sooner) / (2.0 * _STEP),
        **{
            load: loads.get(load)[row, j]
            for load in ("torque", "bending", "radial", "axial", "normal")
        },
        "n": 2.0 * design.arm.driver.rate * width / speed[k, j],
        "t": ways.t[k],
        "reference": ways.reference[k],
        "ripple": np.where(whole, 0.0, 1.0 / np.maximum(1.0, np.pi * periods)),
        "run": "planned",
    }
    return pd.DataFrame(table)


def expectations(
    ways: Ways, design: Design, earlier: Mapping[str, Expectation] | None = None
) -> dict[str, Expectation]:
    """Return the expected friction of every moving joint, from an earlier fit or from its
    limits and reachable speeds.

    Candidate loads are those that vary with posture. A load that varies only with speed cannot be
    separated from other effects of speed.
    """
    found = {}
    for name, own in points_ahead(ways, design, resting=True).groupby("joint", sort=False):
        j = design.mechanism.names.index(str(name))
        found[str(name)] = (earlier or {}).get(str(name)) or expectation(
            FRICTION * float(design.limits.torque[j]), design.velocity_scale(j), own
        )
    return found


def forecast(plan: Plan, design: Design, earlier: Mapping[str, Expectation] | None = None) -> Plan:
    """Return the plan with the expected precision of every joint."""
    ways = ways_of(plan, design)
    points, thought = points_ahead(ways, design), expectations(ways, design, earlier)
    return replace(
        plan,
        predicted=tuple(
            prediction
            for name, own in points.groupby("joint", sort=False)
            for prediction in expected_precision(own, thought[str(name)])
        ),
    )


def richest(predicted: Sequence[ExpectedPrecision]) -> dict[str, ExpectedPrecision]:
    """Return the expected precision of each joint for the load model
    that is hardest to identify.
    """
    return {
        prediction.joint: prediction
        for prediction in sorted(predicted, key=lambda one: (len(one.parameters), one.friction))
    }


def check_separable(plan: Plan) -> None:
    """Refuse a plan whose round trips cannot separate Coulomb from viscous friction,
    which every law contains.

    Raises
    ------
    PlanError
        The message names the joint, the parameters and their expected intervals.
    """
    for told in plan.predicted:
        lost = {
            name: width
            for name, width in told.parameters.items()
            if width > WEAK and name in ("coulomb", "viscous")
        }
        if told.load == "none" and lost:
            said = " and ".join(f"{name} ± {100.0 * width:.0f} %" for name, width in lost.items())
            raise PlanError(
                f"{told.round_trips} round trips of {told.joint} cannot separate its friction "
                f"parameters: expected 95 % interval of {said}, at most ± {100.0 * WEAK:.0f} % is "
                f"allowed; allow a wider range of speeds (joints.{told.joint}.velocity and "
                "position), or more round trips (--target, --budget)"
            )


def load_spread(plan: Plan, mechanism: Mechanism) -> dict[str, dict[str, tuple[float, float]]]:
    """Return the range of every load over each joint's strokes and ramps: joint ->
    load -> (least, greatest).
    """
    spread: dict[str, dict[str, tuple[float, float]]] = {}
    for j, name in enumerate(mechanism.names):
        legs = [
            corner_points(start, segment) if segment.wave else np.array([start, segment.target])
            for start, segment in plan.legs()
            if segment.kind != "move" and (segment.moving(start)[j] or segment.joint == name)
        ]
        if legs:
            points = np.concatenate([np.vstack((leg, (leg[1:] + leg[:-1]) / 2.0)) for leg in legs])
            loads = joint_loads(mechanism, points)
            kinds = ["torque", "bending", "radial", "axial"] + (
                ["normal"] if mechanism.bearings[j] else []
            )
            spread[name] = {
                kind: (float(loads.get(kind)[:, j].min()), float(loads.get(kind)[:, j].max()))
                for kind in kinds
            }
    return spread
