"""Speeds, strokes and postures of constant-speed experiments that the limits and
the space of an arm allow.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stribeck.experiments.errors import NoRoom, PlanError
from stribeck.experiments.plans.clear.clearance import (
    in_reach,
    in_the_way,
    may_move_together,
    ways_are_clear,
    what_meets,
)
from stribeck.experiments.plans.clear.shapes import GAP
from stribeck.experiments.plans.clear.travel import travel_in_reach
from stribeck.experiments.plans.constant_speed_options import ConstantSpeed
from stribeck.experiments.plans.margins import (
    MAX_GRAVITY_SHARE,
    PLANNED_SHARE,
    gravity_share,
    run_on,
    silence,
    strokes_share,
)
from stribeck.experiments.plans.motion_profile import ACCELERATION_SHARE, MOVE_SHARE
from stribeck.experiments.plans.plan import rounded
from stribeck.experiments.plans.spread import most_different, spread_score, widest
from stribeck.ident.arm.arm_file import ArmFile, Limits, check_against_model
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.arrays import Array
from stribeck.ident.errors import command, unknown_name
from stribeck.ident.log.strokes import motor_revolution
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.toml_tables import key_of

WaysFrom = Callable[
    [Array, NDArray[np.bool_], np.random.Generator], tuple[Array, NDArray[np.bool_]]
]
ROOM = 0.02  # fraction of a joint's range that strokes keep free at either end
_WAY = 0.5  # fraction of the remaining range that the longest stroke may take
# fraction of a joint's travel over which ripple of unknown period averages out
_RIPPLE = 0.015
# lowest allowed speed over the lowest usual speed, for joints with a high limit and little room
_LEAST_SPEED = 1e-3
_CANDIDATES = 500  # number of random postures
# number of random postures of a closed chain, and of those checked (slow)
_OF_A_CHAIN, _LOOKED_AT = 360, 40
_SETS = 10_000  # number of random sets of postures that are scored


@dataclass(frozen=True)
class Design:
    """Limits and options of constant-speed strokes of an arm.

    Attributes
    ----------
    arm, mechanism, limits, options
        Arm, mechanism, limits and options that determine the strokes.
    active : tuple of int
        Joints that move.
    velocity_step : ndarray, shape (n,)
        Resolution of the drives' velocity set-points; speeds are multiples of
        it. 0 if it is negligible.
    travel : ndarray, shape (n,)
        Travel of each joint, see `travel_in_reach` [rad or m].
    cap : ndarray, shape (n,)
        Lowered highest speed of strokes that would have no room otherwise; infinite for
        joints that are not lowered.
    """

    arm: ArmFile
    mechanism: Mechanism
    limits: Limits
    options: ConstantSpeed
    active: tuple[int, ...]
    velocity_step: Array
    travel: Array
    cap: Array

    @classmethod
    def of(
        cls,
        arm: ArmFile,
        joints: tuple[str, ...] | None,
        options: ConstantSpeed,
        velocity_step: Array | None = None,
    ) -> "Design":
        """Make the design for some or all joints of an arm.

        Raises
        ------
        PlanError
            If a limit is missing, or the torque signal does not include gear friction.
        InputError
            If a joint is unknown.
        """
        mechanism = load_mechanism(arm)
        check_against_model(arm, mechanism)
        if arm.torque_signal == "joint sensor":
            raise PlanError(
                f'{arm.path}: torque_signal = "joint sensor": a sensor behind the gear does not '
                "measure "
                "the gear's friction; use the motor current"
            )
        limits = arm.limits(mechanism)
        missing = limits.missing(mechanism.names)
        if missing:
            others = f"; also missing: {', '.join(missing[1:])}" if missing[1:] else ""
            begin = (
                f". {command('init', arm.path)} writes an arm file to fill in"
                if arm.path.suffix != ".toml"
                else "; [joints.default] sets a key for all joints"
                if mechanism.n > 1 and missing[1:]
                else ""
            )
            raise PlanError(
                f"{arm.path}: {missing[0]} is missing; no joint moves without this "
                f"limit{others}{begin}"
            )
        for name, value, (low, high) in zip(
            mechanism.names, arm.home(mechanism), limits.position, strict=True
        ):
            if not low <= value <= high:
                raise PlanError(
                    f"{arm.path}: {name} is at {value:g} in the home posture, outside its limits "
                    f"[{low:g}, {high:g}]; state workspace.home"
                )
        home = arm.home(mechanism)
        if fault := in_the_way(arm, mechanism, home, home):
            raise PlanError(
                f"{arm.path}: the home posture {np.round(home, 3).tolist()} {fault}; state another "
                "workspace.home, or a box that contains it"
            )
        chosen = tuple(joints) if joints else mechanism.names
        for name in chosen:
            if name not in mechanism.names:
                raise unknown_name("joint", name, mechanism.names)
        return cls(
            arm,
            mechanism,
            limits,
            options,
            tuple(mechanism.names.index(name) for name in chosen),
            np.zeros(mechanism.n) if velocity_step is None else velocity_step,
            travel_in_reach(arm, mechanism, limits.position),
            np.full(mechanism.n, np.inf),
        )

    @cached_property
    def ends(self) -> tuple[Array, Array]:
        """Lowest and highest speed of every joint, each shape (n,), allowed by limit,
        room and time of a stroke.
        """
        slow, fast = np.transpose([self._speed_range(j) for j in range(self.mechanism.n)])
        return slow, fast

    def velocity_scale(self, j: int) -> float:
        """Velocity limit of a joint, reduced if its strokes have too little room for the
        usual fraction of the limit.
        """
        return float(self.ends[1][j]) / self.options.fastest

    def speeds(self, posture: int) -> Array:
        """Speeds of one posture, (speeds, n), fastest first; the grid is shifted from posture to
        posture to cover the curve.
        """
        postures, speeds = self.options.postures, self.options.speeds
        steps = np.arange(speeds, dtype=np.float64) + (posture - 1) / postures
        return self.at_level(steps / (speeds - 1 + (postures - 1) / postures))

    def snapped(self, speeds: Array) -> Array:
        """Round speeds of all joints, (..., n), to the resolution of the drives, and to at least
        each joint's slowest speed.
        """
        step = np.where(self.velocity_step > 0.0, self.velocity_step, 1.0)
        slowest = np.array([self.arm.joint(name).slowest or 0.0 for name in self.mechanism.names])
        least = np.maximum(1.0, np.ceil(slowest / step - 1e-9)) * (speeds > 0.0)
        whole = step * np.maximum(np.round(speeds / step), least)
        return np.asarray(np.where(self.velocity_step > 0.0, whole, speeds))

    def at_level(self, level: Array | float) -> Array:
        """Speeds of all joints, (..., n), at a logarithmic level: 0 is
        the fastest, 1 the slowest.
        """
        slow, fast = self.ends
        return np.asarray(fast * (slow / fast) ** np.asarray(level)[..., None])

    def turn(self, j: int) -> float:
        """Distance over which ripple averages out: a motor revolution, or a part of the
        joint's travel [rad or m].
        """
        return self._revolution(j) or _RIPPLE * float(self.travel[j])

    def geared(self, j: int) -> bool:
        """Whether the period of the ripple is known from the gear ratio."""
        return self._revolution(j) > 0.0

    def _revolution(self, j: int) -> float:
        return motor_revolution(self.arm.joint(self.mechanism.names[j]).ratio)

    def window(self, j: int, speed: Array | float) -> Array:
        """Distance at constant speed: whole motor revolutions for at least the
        window's time [rad or m].
        """
        turn = self.turn(j)
        return np.asarray(turn * np.maximum(1.0, np.ceil(speed * self.options.window_time / turn)))

    def stroke_length(self, j: int, speed: Array | float) -> Array:
        """Length of strokes: two ramps, a distance to settle, and the window [rad or m]."""
        ramps = np.square(speed) / (ACCELERATION_SHARE * self.limits.acceleration[j])
        return np.asarray(
            ramps + speed * self.options.settle_time + self.window(j, speed) + 0.25 * self.turn(j)
        )

    @cached_property
    def room(self) -> tuple[Array, Array]:
        """Lowest and highest position that strokes may reach, each shape (n,), with room
        for overrun of the drives.
        """
        low, high = self.limits.position.T
        moves = np.maximum(self.cap, MOVE_SHARE * self.limits.velocity)
        fastest = np.minimum(self.options.fastest * self.limits.velocity, moves)
        beyond = run_on(fastest, self.limits.acceleration, silence(self.arm))
        free = np.maximum(ROOM * (high - low), beyond)
        short = np.flatnonzero(2.0 * free > high - low)
        if len(short):
            j, name = short[0], self.mechanism.names[short[0]]
            unit = self.mechanism.position_unit(j)
            raise NoRoom(
                f"{self.arm.path}: joint {name} has {high[j] - low[j]:.3g} {unit} between its "
                f"limits, but would overrun by {beyond[j]:.3g} {unit} in either direction if the "
                f"computer stops sending; widen joints.{name}.position, lower its velocity or "
                "driver.watchdog",
                f"if the computer stops sending, its drive keeps moving for {beyond[j]:.3g} "
                f"{unit}, too far for its limits",
            )
        return low + free, high - free

    @cached_property
    def longest(self) -> Array:
        """Longest stroke of each joint, shape (n,)."""
        return np.asarray(_WAY * np.ptp(np.array(self.room), axis=0))

    def _speed_range(self, j: int) -> tuple[float, float]:
        speeds = self._speeds_on_offer(j)
        speeds = speeds[speeds >= self._slowest(j, speeds[0])]
        ways = self.stroke_length(j, speeds)
        fits = speeds[(ways <= self.longest[j]) & (speeds <= self.cap[j])]
        lasts = speeds[ways <= self.options.longest_stroke * speeds]
        path, name, unit = self.arm.path, self.mechanism.names[j], self.mechanism.position_unit(j)
        if not len(fits):
            raise PlanError(
                f"{path}: joint {name}: even the slowest stroke needs {ways[-1]:.3g} {unit}, the "
                f"room is {self.longest[j]:.3g} {unit}; widen joints.{name}.position or check its "
                "gear_ratio"
            )
        if not len(lasts) or lasts[-1] > fits[0]:
            raise PlanError(
                f"{path}: joint {name}: strokes of {ways.min():.3g} {unit} take more than "
                f"{self.options.longest_stroke:g} s at {fits[0]:.3g} {unit}/s; raise "
                f"joints.{name}.velocity or check its gear_ratio"
            )
        return float(lasts[-1]), float(fits[0])

    def _speeds_on_offer(self, j: int) -> Array:
        """Speeds downwards from the highest that the limit allows, or from a lower one if
        all usual speeds lack room.
        """
        spread = np.geomspace(1.0, 1.0 / self.options.spread, 200)
        speeds = self.options.fastest * self.limits.velocity[j] * spread
        if self.stroke_length(j, speeds[-1]) > self.longest[j]:
            slower = speeds[-1] * np.geomspace(1.0, _LEAST_SPEED, 200)
            fits = slower[self.stroke_length(j, slower) <= self.longest[j]]
            speeds = fits[0] * spread if len(fits) else speeds
        return speeds

    def _slowest(self, j: int, fastest: float) -> float:
        """Lowest speed that the joint's velocity loop holds; 0 if unknown."""
        name, slowest = (
            self.mechanism.names[j],
            self.arm.joint(self.mechanism.names[j]).slowest or 0.0,
        )
        if slowest > fastest:
            raise PlanError(
                f"{self.arm.path}: joints.{name}.slowest = {slowest:.4g} is above the highest "
                f"speed of its strokes, {fastest:.4g}; make its velocity loop stiffer"
            )
        return slowest

    def choose_postures(self, ways_from: WaysFrom, rng: np.random.Generator) -> tuple[Array, Array]:
        """Choose home and the set of postures with the widest range of loads, with the
        strokes from each posture.

        Real hardware stays at home if collisions cannot be checked.

        Parameters
        ----------
        ways_from : callable
            Takes postures (K, n), a mask of requested postures (K,), and a random generator;
            returns the longest stroke of every joint from each posture, (K, n), and whether the
            joint can drive it, (K, n).
        rng : Generator
            Random generator for the postures.

        Raises
        ------
        PlanError
            If strokes have no room at home, or in too few postures.
        """
        arm, active, count = self.arm, list(self.active), self.options.postures
        candidates = self._candidates(rng)
        home = candidates[0]
        self._check_home(candidates, ways_from, deepcopy(rng))
        together = len(home) == 1 or may_move_together(arm, self.mechanism)
        reached = self._reached(candidates) if together else np.arange(len(candidates)) == 0
        ways, fits = ways_from(candidates, reached, rng)
        held = gravity_share(self.mechanism, self.limits, self._ends(candidates, ways))
        free = reached & fits[:, active].all(axis=1) & (held <= MAX_GRAVITY_SHARE).all(axis=1)
        if not together:
            return np.tile(home, (count + 1, 1)), np.tile(ways[0], (count + 1, 1))
        usable = np.flatnonzero(free)[1:]
        if len(usable) < count:
            raise NoRoom(
                f"{arm.path}: only {len(usable)} of {len(candidates) - 1} random postures leave "
                f"room for the strokes, {count} are needed; widen the limits or the workspace box",
                "faster strokes have room in too few postures inside limits and box",
            )
        if self.mechanism.chain is not None:
            best = usable[widest(self.mechanism, candidates[usable], count)]
        else:
            sets = np.array([rng.choice(usable, count, replace=False) for _ in range(_SETS)])
            best = sets[
                int(np.argmax(spread_score(self.mechanism, active, candidates, ways, sets)))
            ]
        rows = np.concatenate(([0], best))
        return candidates[rows], ways[rows]

    def check_home(self, ways_from: WaysFrom, rng: np.random.Generator) -> None:
        """Check the room at home, with the errors of `choose_postures` but at
        a small part of its cost.
        """
        self._check_home(self._candidates(rng), ways_from, rng)

    def _candidates(self, rng: np.random.Generator) -> Array:
        """Home and random postures, shape (K, n)."""
        home, chain = self.arm.home(self.mechanism), self.mechanism.chain is not None
        drawn = rng.uniform(*self.room, (_OF_A_CHAIN if chain else _CANDIDATES, self.mechanism.n))
        if not chain:
            return np.vstack((home, drawn))
        reached = np.vstack((home, rounded(in_reach(self.arm, self.mechanism, home, drawn, rng))))
        return reached[most_different(self.mechanism, reached, _LOOKED_AT)]

    def _reached(self, candidates: Array) -> NDArray[np.bool_]:
        """Whether postures can be held and reached from home, shape (K,);
        the faster check goes first.
        """
        home = np.broadcast_to(candidates[0], candidates.shape)
        moving = strokes_share(
            self.mechanism, self.limits, home, candidates - home, MOVE_SHARE * self.limits.velocity
        )
        held = gravity_share(self.mechanism, self.limits, candidates)
        found = np.asarray((np.maximum(moving, held) <= PLANNED_SHARE).all(axis=1))
        found[found] = ways_are_clear(self.arm, self.mechanism, home[found], candidates[found])
        return found

    def _ends(self, postures: Array, ways: Array) -> Array:
        """End of strokes of all joints; in a closed chain, where the end may
        be out of reach, the start.
        """
        return postures + ways if self.mechanism.chain is None else postures

    def _check_home(self, candidates: Array, ways_from: WaysFrom, rng: np.random.Generator) -> None:
        """Raise if strokes have no room at home, the first of the candidates."""
        home = candidates[0]
        ways, fits = (
            rows[0] for rows in ways_from(candidates, np.arange(len(candidates)) == 0, rng)
        )
        where = f"{self.arm.path}: from workspace.home = {np.round(home, 3).tolist()} "
        held = gravity_share(
            self.mechanism, self.limits, np.stack((home, self._ends(home, ways)))
        ).max(axis=0)
        heavy = int(np.argmax(held))
        if held[heavy] > MAX_GRAVITY_SHARE:
            unit, name, limit = (
                self.mechanism.unit(heavy),
                self.mechanism.names[heavy],
                self.limits.torque[heavy],
            )
            raise PlanError(
                f"{where}strokes reach positions where gravity needs {held[heavy] * limit:.3g} "
                f"{unit} at {name}, more than {100 * MAX_GRAVITY_SHARE:g} % of its torque limit of "
                f"{limit:g} {unit}; raise joints.{name}.torque if the drive allows, or move the "
                "home posture"
            )
        if stuck := [j for j in self.active if not fits[j]]:
            raise self._no_room(where, home, ways, stuck[0])

    def _no_room(self, where: str, home: Array, ways: Array, j: int) -> NoRoom:
        """Find why a joint has no room for its longest stroke from home: a
        collision, a drive, or its limits.
        """
        (low, high), size = self.room, np.abs(ways)
        begin = (
            f"{where}joint {self.mechanism.names[j]} has no room for a stroke of {size[j]:.2f} "
            f"{self.mechanism.position_unit(j)}"
        )
        # the joint alone, then all joints
        for way in (np.where(np.arange(len(ways)) == j, size, 0.0), size):
            both = np.where(home + way <= high, way, -way), np.where(home - way >= low, -way, way)
            inside = [
                one for one in both if (home + one >= low).all() and (home + one <= high).all()
            ]
            blocked = [found for one in inside if (found := self._blocked(begin, home, one, j))]
            if blocked and len(blocked) == len(inside):
                return blocked[0]
        return NoRoom(
            f"{begin} inside its limits and the box; move the home posture, or widen the limits "
            "or the box",
            "faster strokes from home have no room inside limits and box",
        )

    def _blocked(self, begin: str, home: Array, way: Array, j: int) -> NoRoom | None:
        """Find which shapes or which drive prevent a stroke from home; None if none do."""
        key = key_of(self.mechanism.names[j])
        if self.mechanism.chain is not None and (
            fault := in_the_way(self.arm, self.mechanism, home, home + way)
        ):
            return NoRoom(
                f"{begin}: the stroke {fault}; move the home posture, or narrow "
                f"joints.{key}.position",
                "faster strokes from home have too little room within reach of "
                f"{self.mechanism.name}",
            )
        if met := what_meets(self.arm, self.mechanism, home, home + way):
            shapes, place, part = met
            return NoRoom(
                f"{begin}: after {part * abs(way[j]):.2f} {self.mechanism.position_unit(j)}, at "
                f"{np.round(place, 2).tolist()}, {shapes} are within {1e3 * GAP:g} mm of each "
                "other; move the home "
                f"posture, lower joints.{key}.velocity, or narrow joints.{key}.position",
                f"faster strokes from home bring {shapes} within {1e3 * GAP:g} mm of each other",
            )
        share = strokes_share(self.mechanism, self.limits, home[None], way[None], self.ends[1])[0]
        if share.max() <= PLANNED_SHARE:
            return None
        worst = int(np.argmax(share))
        force, weak, limit = (
            self.mechanism.unit(worst),
            self.mechanism.names[worst],
            self.limits.torque[worst],
        )
        asked = share[worst] * limit
        return NoRoom(
            f"{begin}: weight and inertia need {asked:.3g} {force} at {weak} during the stroke, "
            f"more than {100 * PLANNED_SHARE:g} % of its torque limit of {limit:g} {force}; lower "
            f"the accelerations, move the home posture, or raise joints.{key_of(weak)}.torque to "
            f"{asked / PLANNED_SHARE:.3g} if the drive allows",
            f"weight and inertia leave {weak} too little torque for friction",
        )
