"""Order of a campaign: one posture after the other, with reference round
trips at home that show drift.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np

from stribeck.experiments.errors import TooShort
from stribeck.experiments.plans.check_plan import checked
from stribeck.experiments.plans.clear.clearance import ways_are_clear
from stribeck.experiments.plans.constant_speed_options import Trip
from stribeck.experiments.plans.forecast import forecast
from stribeck.experiments.plans.margins import PLANNED_SHARE, strokes_share
from stribeck.experiments.plans.motion_profile import DWELL, MOVE_SHARE, with_robot_time
from stribeck.experiments.plans.plan import Harmonics, Plan, Segment, rounded
from stribeck.experiments.plans.speeds_and_postures import Design
from stribeck.ident.arrays import Array
from stribeck.ident.fit.information import Expectation
from stribeck.ident.log.run import arm_sha256

REFERENCE = 0.35  # level of the reference speeds: 0 is the fastest, 1 the slowest
REFERENCES = 2  # smallest number of reference round trips: at the start and at the end
_TRIES = 5  # most attempts at a plan within the allowed robot time


class Writer:
    """Collects segments and stores the end position of the last segment."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.segments: list[Segment] = []
        self.position = np.zeros(len(names))

    def move(self, target: Array, posture: int) -> None:
        """Append a move of all joints to a posture."""
        self._add(Segment(len(self.segments), "move", tuple(target.tolist()), posture))

    def round_trip(self, trip: Trip, posture: int, reference: bool = False) -> None:
        """Append a stroke and the same stroke backwards."""
        way, first = rounded(trip.way), len(self.segments)
        there, back = self.position + way, self.position.copy()
        kind: Literal["stroke", "sweep"] = "stroke" if np.count_nonzero(way) == 1 else "sweep"
        name, speed = self.names[trip.leader], round(float(trip.speed), 6)
        self._add(
            Segment(first, kind, tuple(there.tolist()), posture, name, speed, None, reference)
        )
        self._add(
            Segment(first + 1, kind, tuple(back.tolist()), posture, name, speed, first, reference)
        )

    def swing(self, joint: int, way: float, speed: float, passes: int, posture: int) -> None:
        """Append an oscillation of one joint with this highest speed; after an odd number of
        passes it ends `way` away.
        """
        target = self.position.copy()
        target[joint] += rounded(way)
        swings = tuple(passes if j == joint else 1 for j in range(len(self.names)))
        self._add(
            Segment(
                len(self.segments),
                "swing",
                tuple(target.tolist()),
                posture,
                self.names[joint],
                float(f"{speed:.6g}"),
                swings=swings,
            )
        )

    def wave(self, wave: Harmonics, posture: int) -> None:
        """Append a periodic motion, which returns to its start."""
        self._add(
            Segment(len(self.segments), "wave", tuple(self.position.tolist()), posture, wave=wave)
        )

    def _add(self, segment: Segment) -> None:
        self.segments.append(segment)
        self.position = np.array(segment.target)


def in_order(
    design: Design,
    method: str,
    seed: int,
    postures: Array,
    choice: Callable[[float], Sequence[Trip]],
    references: Sequence[Trip],
    earlier: Mapping[str, Expectation] | None = None,
) -> Plan:
    """Make a plan of round trips, posture by posture, checked against all limits.

    Parameters
    ----------
    design : Design
        Limits and options of the strokes.
    method : str
        Name of the method, stored in the plan.
    seed : int
        Seed of the plan.
    postures : ndarray, shape (K, n)
        Home, then the postures for measurement; all are reachable from home.
    choice : callable
        Takes the allowed robot time [s]; returns round trips.
    references : sequence of Trip
        Round trips at home, driven at the start, every few postures and at the end.
    earlier : mapping of str to Expectation, optional
        Knowledge of the joints from earlier runs.

    Raises
    ------
    PlanError
        If the plan exceeds a limit.
    TooShort
        If the plan takes longer than allowed.
    """
    allowed = design.options.goal.time if design.options.goal else np.inf
    time = allowed
    for _ in range(_TRIES):
        plan = _written(design, method, seed, postures, choice(time), references)
        if plan.robot_time <= allowed:
            return forecast(checked(plan, design.arm, design.mechanism), design, earlier)
        time -= max(1.05 * (plan.robot_time - allowed), 0.01 * allowed)
    raise TooShort(
        f"{design.arm.path}: {allowed:.0f} s of robot time are too short; the shortest plan found "
        f"takes {plan.robot_time:.0f} s"
    )


def _written(
    design: Design,
    method: str,
    seed: int,
    postures: Array,
    trips: Sequence[Trip],
    references: Sequence[Trip],
) -> Plan:
    """Write the round trips posture by posture, in the order in which `trips`
    first names the postures.
    """
    home, writer = postures[0], Writer(design.mechanism.names)

    def refer() -> None:
        writer.move(home, 0)
        for trip in references:
            writer.round_trip(trip, 0, reference=True)

    visited = list(dict.fromkeys(trip.posture for trip in trips))
    for number, posture in enumerate(visited):
        if number % design.options.reference_every == 0:
            refer()
        target = postures[posture]
        if not (
            ways_are_clear(design.arm, design.mechanism, writer.position[None], target[None])[0]
            and _light_enough(design, writer.position, target)
        ):
            writer.move(home, 0)
        writer.move(target, number + 1)
        for trip in trips:
            if trip.posture == posture:
                writer.round_trip(trip, number + 1)
    refer()
    plan = Plan(
        design.arm.name,
        arm_sha256(design.arm),
        method,
        seed,
        design.mechanism.names,
        tuple(home.tolist()),
        tuple(writer.segments),
    )
    return with_robot_time(plan, design.limits)


def _light_enough(design: Design, start: Array, target: Array) -> bool:
    """Whether weight and inertia leave the drives enough torque for friction on a move."""
    limits = design.limits
    share = strokes_share(
        design.mechanism, limits, start[None], (target - start)[None], MOVE_SHARE * limits.velocity
    )
    return bool((share <= PLANNED_SHARE).all())


class Visits:
    """Time of the move to each posture; zero once the posture is part of the plan."""

    def __init__(self, design: Design, postures: Array) -> None:
        moving = np.abs(postures - postures[0]) / (MOVE_SHARE * design.limits.velocity)
        self._time = moving.max(axis=1) + DWELL
        self._time[0] = 0.0

    def cost(self, postures: np.ndarray) -> Array:
        """Time of the moves to these postures, shape (O,) [s]."""
        return self._time[postures]

    def visit(self, posture: int) -> None:
        """Mark a posture as part of the plan."""
        self._time[posture] = 0.0
