"""The whole arm at once: all joints at constant speeds along a straight way, which is retraced with time reversed.

Gravity, inertia, Coriolis and centrifugal forces are the same on the way back, so that the half difference of the torques
at mirrored places is the friction of every joint at once: as many round trips as one joint needs serve them all. All joints
start and stop together. A first campaign goes through levels of speed, all joints at one of them. Where earlier runs told what
is weak, each joint takes the speed that tells most of it in the time of a sweep, between that at which its window holds one
motor revolution and that at which its room ends.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stribeck.experiments.plans.choose_round_trips import JointKnowledge, choose
from stribeck.experiments.plans.forecast import Ways, expectations, points_ahead, way_of
from stribeck.experiments.plans.make_room import free_and_strong, places_with_room
from stribeck.experiments.plans.motion_profile import ACCELERATION_SHARE, DWELL
from stribeck.experiments.plans.order import REFERENCE, REFERENCES, Visits, in_order
from stribeck.experiments.plans.plan import Plan
from stribeck.experiments.plans.speeds_and_postures import Array, ConstantSpeed, Design, Goal, Trip
from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.fit.information import Expectation

METHOD = "time-reversed whole-arm round trips"
WHOLE_ARM = ConstantSpeed(longest_stroke=8.0)
_SIGNS = 4              # directions that are tried from every posture
_MANY = 128             # and from home
_LEVELS = 8             # speeds at which a way is checked before its posture is taken
_TIMES = 6              # times of a sweep on offer, from that of the fastest to that of the slowest
_APART = 0.6            # of what one joint gives the travel of a motor, what another gives it
_PARALLEL = 1e-6        # sine of the angle at which two ways count as one
_VARIANTS = 5           # speeds of every joint on offer for each


def plan_whole_arm(arm: ArmFile, joints: tuple[str, ...] | None = None, seed: int = 0, options: ConstantSpeed | None = None,
                   velocity_step: Array | None = None, earlier: Mapping[str, Expectation] | None = None) -> Plan:
    """Plan of a campaign in which all joints move at once, checked against all limits.

    Parameters, returns and errors as in `one_joint_at_a_time.plan_constant_speed`.
    """
    design = Design.of(arm, joints, options or WHOLE_ARM, velocity_step)
    places = places_with_room(design, _ways, seed)
    design, postures, rng = places.design, places.postures, places.rng
    offers = Sweeps.of(design, postures, np.sign(places.ways))
    reference = offers.trip(0, offers.speeds[0, 0])
    grid = [offers.level(number, speeds) for number in range(1, len(postures))
            for speeds in rng.permutation(design.speeds(number))]
    # with speeds of their own the joints of a chain would soon lead each other out of reach
    choosing = earlier and design.options.goal and design.mechanism.chain is None
    choice = (lambda time: _chosen(offers, time, seed, earlier)) if choosing else lambda _: grid
    return replace(in_order(design, METHOD, seed, postures, choice, [reference], earlier), lowered=places.lowered)


@dataclass(frozen=True)
class Sweeps:
    """Sweeps on offer.

    The first is the reference at home; then come, from each posture, the slowest and the fastest, in which all joints reach
    the ends of their ranges, and those of different times.

    Attributes
    ----------
    design, postures, signs
        From where they go in which directions, shape (K, n) each.
    posture : ndarray of int, shape (O,)
        Where each begins.
    time, ramp : ndarray, shape (O,)
        See `Ways`.
    speeds : ndarray, shape (O, V, n)
        Speeds on offer for every joint, from lowest to highest.
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
        """From home and the postures to measure in."""
        rows = [(0, *_level(design, design.at_level(REFERENCE)))]
        rows += [(k, *_level(design, end)) for end in design.ends for k in range(1, len(postures))]
        first, last = (time for _, time, _, _ in (rows[-1], rows[1]))
        rows += [(k, *_between(design, postures[k], signs[k], time)) for k in range(1, len(postures))
                 for time in np.geomspace(first, last, _TIMES)]
        posture, time, ramp, speeds = zip(*rows, strict=True)
        return cls(design, postures, signs, np.array(posture), np.array(time), np.array(ramp), np.array(speeds))

    @property
    def cost(self) -> Array:
        """Robot time of each, without the way to its posture, shape (O,) [s]."""
        return 2.0 * (self.time + self.ramp + DWELL)

    def ways(self) -> Ways:
        """All of them, one variant after the other."""
        offer = np.repeat(np.arange(len(self.time)), _VARIANTS)
        start, time = self.postures[self.posture[offer]], self.time[offer]
        way = self.signs[self.posture[offer]] * self.speeds.reshape(len(offer), -1) * time[:, None]
        return Ways(start, way, time, self.ramp[offer], np.zeros(len(offer)), np.zeros(len(offer), dtype=bool))

    def trip(self, offer: int, speeds: Array) -> Trip:
        """A sweep at these speeds, shape (n,)."""
        leader, posture = self.design.active[0], int(self.posture[offer])
        speeds = self.design.snapped(speeds)
        return Trip(posture, self.signs[posture] * speeds * self.time[offer], leader, float(speeds[leader]))

    def level(self, posture: int, speeds: Array) -> Trip:
        """A sweep from a posture with all joints at one level of speed, shape (n,)."""
        way, speeds = sweep(self.design, self.design.snapped(speeds), posture % 2)
        leader = self.design.active[0]
        return Trip(posture, self.signs[posture] * way, leader, float(speeds[leader]))

    def near(self, offer: int, variants: Mapping[int, int], rng: np.random.Generator) -> Trip:
        """A sweep near some variants of the joints: no speed twice, so that curves are covered densely."""
        lowest, highest = self.speeds[offer, 0], self.speeds[offer, -1]
        speeds = np.zeros_like(lowest)
        for j, variant in variants.items():
            step = (highest[j] / lowest[j]) ** (rng.uniform(-0.5, 0.5) / (_VARIANTS - 1))
            speeds[j] = np.clip(self.speeds[offer, variant, j] * step, lowest[j], highest[j])
        return self.trip(offer, speeds)

    def is_clear(self, trip: Trip) -> bool:
        """Whether it stays clear and leaves the drives torque for friction."""
        return bool(free_and_strong(self.design, self.postures[trip.posture][None], trip.way[None])[0])


def _level(design: Design, speeds: Array) -> tuple[float, float, Array]:
    """Time, ramp and the only variant of a sweep with all joints at one level of speed."""
    way, speeds = sweep(design, speeds)
    active = list(design.active)
    ramps = speeds / (ACCELERATION_SHARE * design.limits.acceleration)
    return float(way[active[0]] / speeds[active[0]]), float(ramps[active].max()), np.tile(speeds, (_VARIANTS, 1))


def _between(design: Design, posture: Array, sign: Array, time: float) -> tuple[float, float, Array]:
    """The time of a sweep, its ramp, and speeds on offer: as low and as high as each joint can go in that time."""
    options, (low, high), active = design.options, design.room, list(design.active)
    reach = np.minimum(design.longest, np.where(sign > 0.0, high - posture, posture - low))
    ramp = ACCELERATION_SHARE * design.limits.acceleration
    highest = np.minimum.reduce([design.ends[1], reach / time, ramp * max(0.0, time - options.settle_time - options.window_time)])
    longest_ramp = float((highest / ramp)[active].max())
    turn = np.array([1.25 * design.turn(j) for j in range(design.mechanism.n)])
    lowest = np.clip(turn / (time - longest_ramp - options.settle_time), design.ends[0], highest)
    speeds = lowest * (highest / lowest) ** np.linspace(0.0, 1.0, _VARIANTS)[:, None]
    idle = np.ones(design.mechanism.n, dtype=bool)
    idle[active] = False
    speeds[:, idle] = 0.0
    return time, longest_ramp, speeds


def _chosen(offers: Sweeps, time: float, seed: int, earlier: Mapping[str, Expectation] | None) -> list[Trip]:
    """What tells most beside the references."""
    design, ways, rng = offers.design, offers.ways(), np.random.default_rng(seed)
    goal = design.options.goal or Goal()
    points, thought = points_ahead(ways, design), expectations(ways, design, earlier)
    joints = {j: JointKnowledge.of(points[points["joint"] == name], offers.speeds.shape[:2], thought[name], goal)
              for j in design.active if (name := design.mechanism.names[j]) in thought}
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
        return {design.mechanism.names.index(str(name)): own
                for name, own in points_ahead(way_of(trip, offers.postures, design), design).groupby("joint", sort=False)}

    for j, own in points_of(offers.trip(0, offers.speeds[0, 0])).items():
        joints[j].take([REFERENCES * part for part in joints[j].tell(own)], REFERENCES)
    return choose(joints, lambda: np.where(free, offers.cost + visits.cost(offers.posture), np.inf), accept, points_of, time,
                  REFERENCES * float(offers.cost[0]))


def sweep(design: Design, speeds: Array, slower: int = 0) -> tuple[Array, Array]:
    """Ways of all joints, shape (n,), on which each keeps its speed for its own window at least; and the speeds.

    All start and stop together. A joint that has no room for the time that the slowest needs goes slower. `slower` says which of
    two joints goes slower that share a motor.
    """
    active, speeds = list(design.active), _apart(design, speeds, slower)
    ramp = float(np.max(speeds[active] / (ACCELERATION_SHARE * design.limits.acceleration[active])))
    window = max((design.window(j, float(speeds[j])) + 0.25 * design.turn(j)) / speeds[j] for j in active)
    duration = ramp + design.options.settle_time + window
    way = np.zeros_like(speeds)
    way[active] = np.minimum(speeds * duration, design.longest)[active]
    return way, way / duration


def _apart(design: Design, speeds: Array, slower: int) -> Array:
    """Speeds at which a motor that moves two joints does not stand still where they go opposite ways, shape (n,).

    Now one and now the other is the slower: who decides about the motor's direction tells its friction from the joint's.
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


def _ways(design: Design, candidates: Array, asked: NDArray[np.bool_],
          rng: np.random.Generator) -> tuple[Array, NDArray[np.bool_]]:
    """The longest ways from the postures that are asked for, in directions drawn at random until one is free at all speeds."""
    (low, high), active = design.room, list(design.active)
    levels = np.array([sweep(design, speeds, slower)[0] for speeds in design.at_level(np.linspace(0.0, 1.0, _LEVELS))
                       for slower in range(1 if design.mechanism.transmission is None else 2)])
    longest = levels.max(axis=0)
    if design.mechanism.chain is not None:
        levels = _longest(levels)
    up, down = candidates + longest <= high, candidates - longest >= low
    ways, free = np.tile(longest, (len(candidates), 1)), np.zeros(len(candidates), dtype=bool)

    def clear(rows: NDArray[np.int_], sign: Array) -> NDArray[np.bool_]:
        """Which of these candidates are free at all speeds, in these directions, and leave the drives torque for friction."""
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
    if not free[0] and (up | down)[0, active].all():            # home cannot be done without: many more directions
        sign = np.where(up[0] & ((rng.random((_MANY, len(low))) < 0.5) | ~down[0]), 1.0, -1.0)
        single, drawn_as = np.unique(sign, axis=0, return_inverse=True)
        found = np.flatnonzero(clear(np.zeros(len(single), dtype=np.int_), single)[drawn_as.ravel()])
        if len(found):
            ways[0], free[0] = sign[found[0]] * longest, True
    some = (up | down) & ~(up | down)[:, active].all(axis=1)[:, None]       # who is to blame where it is not the box
    return ways, free[:, None] | some


def _longest(ways: Array) -> Array:
    """Those of some ways, shape (K, n), that are no part of another one."""
    taken: list[Array] = []
    for way in sorted(ways, key=lambda one: -float(np.linalg.norm(one))):
        if not any(np.linalg.norm(way - one * (way @ one) / (one @ one)) < _PARALLEL * np.linalg.norm(way) for one in taken):
            taken.append(way)
    return np.array(taken)
