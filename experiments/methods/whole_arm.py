"""The whole arm: all joints move at constant speeds on a straight path; the arm then plays
the same motion backwards.

Gravity, inertia, Coriolis and centrifugal forces are the same on the way back. At each position,
half the difference of forward and backward torque is therefore the friction of every joint, and the
round trips that one joint needs serve all joints. All joints start and stop together. A first
campaign uses several speed levels, with all joints at the same level. After earlier runs, each
joint takes the speed with the most information in the time of a sweep. The lowest such speed covers
one motor revolution in the window, the highest uses the whole room of the joint.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stribeck.experiments.plans.choose_round_trips import JointKnowledge, choose
from stribeck.experiments.plans.constant_speed_options import ConstantSpeed, Goal, Trip
from stribeck.experiments.plans.forecast import Ways, expectations, points_ahead, way_of
from stribeck.experiments.plans.make_room import free_and_strong, places_with_room
from stribeck.experiments.plans.motion_profile import ACCELERATION_SHARE, DWELL
from stribeck.experiments.plans.order import REFERENCE, REFERENCES, Visits, in_order
from stribeck.experiments.plans.plan import Plan
from stribeck.experiments.plans.speeds_and_postures import Design
from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.arrays import Array
from stribeck.ident.fit.information import Expectation

METHOD = "time-reversed whole-arm round trips"
WHOLE_ARM = ConstantSpeed(longest_stroke=8.0)
_SIGNS = 4  # number of directions tried from every posture
_MANY = 128  # number of directions tried from home
# number of speed levels at which a path is checked before its posture is used
_LEVELS = 8
# number of sweep durations to choose from, between the fastest and the slowest sweep
_TIMES = 6
_APART = 0.6  # ratio of the contributions of two joints to the travel of a shared motor
_PARALLEL = 1e-6  # sine of the angle below which two paths count as one
_VARIANTS = 5  # number of speeds of every joint for each duration


def plan_whole_arm(
    arm: ArmFile,
    joints: tuple[str, ...] | None = None,
    seed: int = 0,
    options: ConstantSpeed | None = None,
    velocity_step: Array | None = None,
    earlier: Mapping[str, Expectation] | None = None,
) -> Plan:
    """Make the plan of a campaign in which all joints move simultaneously,
    checked against all limits.

    Parameters, returns and errors as in `one_joint_at_a_time.plan_constant_speed`.
    """
    design = Design.of(arm, joints, options or WHOLE_ARM, velocity_step)
    places = places_with_room(design, _ways, seed)
    design, postures, rng = places.design, places.postures, places.rng
    offers = Sweeps.of(design, postures, np.sign(places.ways))
    reference = offers.trip(0, offers.speeds[0, 0])
    grid = [
        offers.level(number, speeds)
        for number in range(1, len(postures))
        for speeds in rng.permutation(design.speeds(number))
    ]
    # a closed chain's joints with independent speeds would soon leave the workspace of the chain
    choosing = earlier and design.options.goal and design.mechanism.chain is None
    choice = (lambda time: _chosen(offers, time, seed, earlier)) if choosing else lambda _: grid
    return replace(
        in_order(design, METHOD, seed, postures, choice, [reference], earlier),
        lowered=places.lowered,
    )


@dataclass(frozen=True)
class Sweeps:
    """Sweeps to choose from.

    The first sweep is the reference at home. Then follow, for each posture, the slowest
    and the fastest sweep, in which all joints have their lowest and highest speeds, and
    sweeps of different durations.

    Attributes
    ----------
    design, postures, signs
        Design; start postures and directions of the sweeps, shape (K, n) each.
    posture : ndarray of int, shape (O,)
        Start posture of each sweep.
    time, ramp : ndarray, shape (O,)
        See `Ways`.
    speeds : ndarray, shape (O, V, n)
        Speeds to choose from for every joint, from lowest to highest.
    """

    design: Design
    postures: Array
    signs: Array
    posture: NDArray[np.int_]
    time: Array
    ramp: Array
    speeds: Array

    @classmethod
    def of(cls, design: Design, postures: Array, signs: Array) -> "Sweeps":
        """Make the sweeps from home and the other postures."""
        rows = [(0, *_level(design, design.at_level(REFERENCE)))]
        rows += [(k, *_level(design, end)) for end in design.ends for k in range(1, len(postures))]
        first, last = (time for _, time, _, _ in (rows[-1], rows[1]))
        rows += [
            (k, *_between(design, postures[k], signs[k], time))
            for k in range(1, len(postures))
            for time in np.geomspace(first, last, _TIMES)
        ]
        posture, time, ramp, speeds = zip(*rows, strict=True)
        return cls(
            design,
            postures,
            signs,
            np.array(posture),
            np.array(time),
            np.array(ramp),
            np.array(speeds),
        )

    @property
    def cost(self) -> Array:
        """Robot time of each sweep, without the move to its posture, shape (O,) [s]."""
        return 2.0 * (self.time + self.ramp + DWELL)

    def ways(self) -> Ways:
        """All sweeps, one row per variant."""
        offer = np.repeat(np.arange(len(self.time)), _VARIANTS)
        start, time = self.postures[self.posture[offer]], self.time[offer]
        way = self.signs[self.posture[offer]] * self.speeds.reshape(len(offer), -1) * time[:, None]
        return Ways(
            start,
            way,
            time,
            self.ramp[offer],
            np.zeros(len(offer)),
            np.zeros(len(offer), dtype=bool),
        )

    def trip(self, offer: int, speeds: Array) -> Trip:
        """Make a sweep at these speeds, shape (n,)."""
        leader, posture = self.design.active[0], int(self.posture[offer])
        speeds = self.design.snapped(speeds)
        return Trip(
            posture, self.signs[posture] * speeds * self.time[offer], leader, float(speeds[leader])
        )

    def level(self, posture: int, speeds: Array) -> Trip:
        """Make a sweep from a posture at the speeds of one level, shape (n,)."""
        way, speeds = sweep(self.design, self.design.snapped(speeds), posture % 2)
        leader = self.design.active[0]
        return Trip(posture, self.signs[posture] * way, leader, float(speeds[leader]))

    def near(self, offer: int, variants: Mapping[int, int], rng: np.random.Generator) -> Trip:
        """Make a sweep with random speeds near the variants, so that no speed repeats
        and the curve is covered.
        """
        lowest, highest = self.speeds[offer, 0], self.speeds[offer, -1]
        speeds = np.zeros_like(lowest)
        for j, variant in variants.items():
            step = (highest[j] / lowest[j]) ** (rng.uniform(-0.5, 0.5) / (_VARIANTS - 1))
            speeds[j] = np.clip(self.speeds[offer, variant, j] * step, lowest[j], highest[j])
        return self.trip(offer, speeds)

    def is_clear(self, trip: Trip) -> bool:
        """Whether a sweep stays clear and leaves the drives torque for friction."""
        return bool(
            free_and_strong(self.design, self.postures[trip.posture][None], trip.way[None])[0]
        )


def _level(design: Design, speeds: Array) -> tuple[float, float, Array]:
    """Time, ramp and speeds of a sweep with all joints at one speed
    level; all variants are equal.
    """
    way, speeds = sweep(design, speeds)
    active = list(design.active)
    ramps = speeds / (ACCELERATION_SHARE * design.limits.acceleration)
    return (
        float(way[active[0]] / speeds[active[0]]),
        float(ramps[active].max()),
        np.tile(speeds, (_VARIANTS, 1)),
    )


def _between(
    design: Design, posture: Array, sign: Array, time: float
) -> tuple[float, float, Array]:
    """Time, ramp and speeds of a sweep; speeds range from the lowest to the
    highest possible in this time.
    """
    options, (low, high), active = design.options, design.room, list(design.active)
    reach = np.minimum(design.longest, np.where(sign > 0.0, high - posture, posture - low))
    ramp = ACCELERATION_SHARE * design.limits.acceleration
    highest = np.minimum.reduce(
        [
            design.ends[1],
            reach / time,
            ramp * max(0.0, time - options.settle_time - options.window_time),
        ]
    )
    longest_ramp = float((highest / ramp)[active].max())
    turn = np.array([1.25 * design.turn(j) for j in range(design.mechanism.n)])
    lowest = np.clip(turn / (time - longest_ramp - options.settle_time), design.ends[0], highest)
    speeds = lowest * (highest / lowest) ** np.linspace(0.0, 1.0, _VARIANTS)[:, None]
    idle = np.ones(design.mechanism.n, dtype=bool)
    idle[active] = False
    speeds[:, idle] = 0.0
    return time, longest_ramp, speeds


def _chosen(
    offers: Sweeps, time: float, seed: int, earlier: Mapping[str, Expectation] | None
) -> list[Trip]:
    """Choose the sweeps with the most information, beside the references."""
    design, ways, rng = offers.design, offers.ways(), np.random.default_rng(seed)
    goal = design.options.goal or Goal()
    points, thought = points_ahead(ways, design), expectations(ways, design, earlier)
    joints = {
        j: JointKnowledge.of(
            points[points["joint"] == name], offers.speeds.shape[:2], thought[name], goal
        )
        for j in design.active
        if (name := design.mechanism.names[j]) in thought
    }
    free, visits = np.ones(len(offers.time), dtype=bool), Visits(design, offers.postures)
    free[0] = False

    def accept(offer: int, best: dict[int, int]) -> Trip | None:
        for cap in range(_VARIANTS - 1, -1, -1):
            trip = offers.near(offer, {j: min(variant, cap) for j, variant in best.items()}, rng)
            if offers.is_clear(trip):
                visits.visit(trip.posture)
                return trip
        free[offer] = False
        return None

    def points_of(trip: Trip) -> dict[int, pd.DataFrame]:
        return {
            design.mechanism.names.index(str(name)): own
            for name, own in points_ahead(way_of(trip, offers.postures, design), design).groupby(
                "joint", sort=False
            )
        }

    for j, own in points_of(offers.trip(0, offers.speeds[0, 0])).items():
        joints[j].take([REFERENCES * part for part in joints[j].tell(own)], REFERENCES)
    return choose(
        joints,
        lambda: np.where(free, offers.cost + visits.cost(offers.posture), np.inf),
        accept,
        points_of,
        time,
        REFERENCES * float(offers.cost[0]),
    )


def sweep(design: Design, speeds: Array, slower: int = 0) -> tuple[Array, Array]:
    """Return strokes of all joints, shape (n,), with constant speed during the window of
    each joint, and the speeds.

    All joints start and stop together. A joint without room for the time that the slowest joint
    needs moves slower. `slower` selects which of two joints that share a motor moves slower.
    """
    active, speeds = list(design.active), _apart(design, speeds, slower)
    ramp = float(np.max(speeds[active] / (ACCELERATION_SHARE * design.limits.acceleration[active])))
    window = max(
        (design.window(j, float(speeds[j])) + 0.25 * design.turn(j)) / speeds[j] for j in active
    )
    duration = ramp + design.options.settle_time + window
    way = np.zeros_like(speeds)
    way[active] = np.minimum(speeds * duration, design.longest)[active]
    return way, way / duration


def _apart(design: Design, speeds: Array, slower: int) -> Array:
    """Return speeds at which a motor shared by two joints also turns when the joints move in
    opposite directions, shape (n,).

    The slower joint alternates, so that either joint determines the motor's direction: this
    separates motor and joint friction.
    """
    coupled, out = design.mechanism.transmission, speeds.copy()
    if coupled is None:
        return out
    for motor in coupled.shared:
        first, *others = np.flatnonzero(coupled.ratios[motor])
        for other in others:
            fast, slow = (first, other) if slower == 0 else (other, first)
            parts = np.abs(coupled.ratios[motor] * out)
            if parts[fast] > 0.0 and parts[slow] > _APART * parts[fast] * (1.0 + 1e-9):
                out[slow] *= _APART * parts[fast] / parts[slow]
    return out


def _ways(
    design: Design, candidates: Array, asked: NDArray[np.bool_], rng: np.random.Generator
) -> tuple[Array, NDArray[np.bool_]]:
    """Longest strokes from the requested postures, in random directions until one
    direction is clear at all speeds.
    """
    (low, high), active = design.room, list(design.active)
    levels = np.array(
        [
            sweep(design, speeds, slower)[0]
            for speeds in design.at_level(np.linspace(0.0, 1.0, _LEVELS))
            for slower in range(1 if design.mechanism.transmission is None else 2)
        ]
    )
    longest = levels.max(axis=0)
    if design.mechanism.chain is not None:
        levels = _longest(levels)
    up, down = candidates + longest <= high, candidates - longest >= low
    ways, free = np.tile(longest, (len(candidates), 1)), np.zeros(len(candidates), dtype=bool)

    def clear(rows: NDArray[np.int_], sign: Array) -> NDArray[np.bool_]:
        """Whether strokes of candidates in these directions are clear and leave torque
        for friction at all speeds.
        """
        found = np.ones(len(rows), dtype=bool)
        for way in levels:
            left = np.flatnonzero(found)
            found[left] = free_and_strong(design, candidates[rows[left]], sign[left] * way)
        return found

    for _ in range(_SIGNS):
        drawn = rng.random(candidates.shape) < 0.5
        sign = np.where(up & (drawn | ~down), 1.0, -1.0)
        rows = np.flatnonzero(asked & ~free & (up | down)[:, active].all(axis=1))
        rows = rows[clear(rows, sign[rows])]
        ways[rows], free[rows] = sign[rows] * longest, True
    # home is indispensable: try many more directions
    if not free[0] and (up | down)[0, active].all():
        sign = np.where(up[0] & ((rng.random((_MANY, len(low))) < 0.5) | ~down[0]), 1.0, -1.0)
        single, drawn_as = np.unique(sign, axis=0, return_inverse=True)
        found = np.flatnonzero(
            clear(np.zeros(len(single), dtype=np.int_), single)[drawn_as.ravel()]
        )
        if len(found):
            ways[0], free[0] = sign[found[0]] * longest, True
    # so that the refusal names joints without room
    some = (up | down) & ~(up | down)[:, active].all(axis=1)[:, None]
    return ways, free[:, None] | some


def _longest(ways: Array) -> Array:
    """Remove paths, shape (K, n), that are part of a longer path."""
    taken: list[Array] = []
    for way in sorted(ways, key=lambda one: -float(np.linalg.norm(one))):
        if not any(
            np.linalg.norm(way - one * (way @ one) / (one @ one)) < _PARALLEL * np.linalg.norm(way)
            for one in taken
        ):
            taken.append(way)
    return np.array(taken)
