"""Speeds, ways and postures of constant-speed experiments: what an arm and its room allow, before it is put in an order."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stribeck.experiments.errors import NoRoom, PlanError
from stribeck.experiments.plans.clear.clearance import in_reach, in_the_way, may_move_together, ways_are_clear, what_meets
from stribeck.experiments.plans.clear.shapes import GAP
from stribeck.experiments.plans.clear.travel import travel_in_reach
from stribeck.experiments.plans.margins import MAX_GRAVITY_SHARE, PLANNED_SHARE, gravity_share, run_on, silence, strokes_share
from stribeck.experiments.plans.motion_profile import ACCELERATION_SHARE, MOVE_SHARE
from stribeck.experiments.plans.spread import most_different, spread_score, widest
from stribeck.ident.arm.arm_file import ArmFile, Limits, check_against_model
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import command, unknown_name
from stribeck.ident.laws.parameter import IDENTIFIED
from stribeck.ident.log.strokes import motor_revolution
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.toml_tables import key_of

Array = NDArray[np.float64]
WaysFrom = Callable[[Array, NDArray[np.bool_], np.random.Generator], tuple[Array, NDArray[np.bool_]]]
TARGET = 0.05           # half width of friction's band, as a part of friction, that counts as well known
ROOM = 0.02             # fraction of a joint's range that strokes keep free at either end
_WAY = 0.5              # fraction of that range that the longest stroke may take: a joint with little room goes slower
_RIPPLE = 0.015         # fraction of a joint's travel over which ripple of unknown period is taken to average out
_LEAST_SPEED = 1e-3     # fraction of the lowest of usual speeds down to which a joint with a high limit and little room may go
_CANDIDATES = 500       # random postures that compete,
_OF_A_CHAIN, _LOOKED_AT = 360, 40       # and of a closed chain, which take a hundred times as long to look at: the most different
_SETS = 10_000          # random sets of them that are scored


@dataclass(frozen=True)
class Trip:
    """A round trip: a way of all joints from a posture, shape (n,), on which the leader has the speed."""

    posture: int
    way: Array
    leader: int
    speed: float


@dataclass(frozen=True)
class Goal:
    """When to stop.

    Attributes
    ----------
    friction : float
        Half width of the 95 % band of every joint's friction over the range of speeds and loads, as a part of friction.
    parameters : float
        Half width of every parameter, as a part of its value.
    time : float
        Robot time that may be spent [s].
    """

    friction: float = 0.02
    parameters: float = IDENTIFIED / 2.0
    time: float = np.inf


@dataclass(frozen=True)
class ConstantSpeed:
    """Options of constant-speed experiments.

    Attributes
    ----------
    postures, speeds : int
        How many postures, and how many speeds in each; where round trips are chosen, how many postures there are to choose from.
    reference_every : int
        Postures between reference round trips.
    fastest : float
        Highest speed as a fraction of the joint's velocity limit.
    spread : float
        Highest over lowest speed.
    window_time : float
        Least time at constant speed [s]; strokes are whole motor revolutions, so that ripple averages out.
    settle_time : float
        Time at speed before the window, on top of a distance [s].
    longest_stroke : float
        Time that the slowest stroke may take [s]; a slow joint starts at a higher speed instead.
    goal : Goal, optional
        What round trips are chosen for, where earlier runs tell enough to choose.
    """

    postures: int = 7
    speeds: int = 6
    reference_every: int = 2
    fastest: float = 0.85
    spread: float = 120.0
    window_time: float = 0.5
    settle_time: float = 0.1
    longest_stroke: float = 10.0
    goal: Goal | None = None


@dataclass(frozen=True)
class Design:
    """What constant-speed strokes of an arm can be.

    Attributes
    ----------
    arm, mechanism, limits, options
        What it follows from.
    active : tuple of int
        Joints that move.
    velocity_step : ndarray, shape (n,)
        Steps of the drives' velocity set-points, which speeds are multiples of; 0 is finer than matters.
    travel : ndarray, shape (n,)
        How far each joint can go, see `travel_in_reach` [rad or m].
    cap : ndarray, shape (n,)
        Highest speed of strokes where limits and range allow more, but there is no room for it; infinite elsewhere.
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
    def of(cls, arm: ArmFile, joints: tuple[str, ...] | None, options: ConstantSpeed,
           velocity_step: Array | None = None) -> "Design":
        """For some or all joints of an arm.

        Raises
        ------
        PlanError
            If a limit is missing or the torque signal does not see friction.
        InputError
            If a joint is unknown.
        """
        mechanism = load_mechanism(arm)
        check_against_model(arm, mechanism)
        if arm.torque_signal == "joint sensor":
            raise PlanError(f"{arm.path}: torque_signal = \"joint sensor\": a sensor behind the gear does not see the "
                            "gear's friction; use the motor current")
        limits = arm.limits(mechanism)
        missing = limits.missing(mechanism.names)
        if missing:
            others = f"; missing too: {', '.join(missing[1:])}" if missing[1:] else ""
            begin = (f". {command('init', arm.path)} writes an arm file to fill in" if arm.path.suffix != ".toml" else
                     "; [joints.default] states a key for all joints at once" if mechanism.n > 1 and missing[1:] else "")
            raise PlanError(f"{arm.path}: {missing[0]} is missing; nothing moves without it{others}{begin}")
        for name, value, (low, high) in zip(mechanism.names, arm.home(mechanism), limits.position, strict=True):
            if not low <= value <= high:
                raise PlanError(f"{arm.path}: {name} is at {value:g} in the home posture, outside its limits "
                                f"[{low:g}, {high:g}]; state workspace.home")
        home = arm.home(mechanism)
        if fault := in_the_way(arm, mechanism, home, home):
            raise PlanError(f"{arm.path}: the home posture {np.round(home, 3).tolist()} {fault}; state another workspace.home, "
                            "or a box that holds it")
        chosen = tuple(joints) if joints else mechanism.names
        for name in chosen:
            if name not in mechanism.names:
                raise unknown_name("joint", name, mechanism.names)
        return cls(arm, mechanism, limits, options, tuple(mechanism.names.index(name) for name in chosen),
                   np.zeros(mechanism.n) if velocity_step is None else velocity_step,
                   travel_in_reach(arm, mechanism, limits.position), np.full(mechanism.n, np.inf))

    @cached_property
    def ends(self) -> tuple[Array, Array]:
        """Lowest and highest speed of every joint, each shape (n,): what limit, room and the time of a stroke allow."""
        slow, fast = np.transpose([self._speed_range(j) for j in range(self.mechanism.n)])
        return slow, fast

    def velocity_scale(self, j: int) -> float:
        """The velocity limit of which the highest speed is the usual fraction: the joint's, or less where it has less room."""
        return float(self.ends[1][j]) / self.options.fastest

    def speeds(self, posture: int) -> Array:
        """Speeds of one posture, (speeds, n), fastest first; each posture's grid is shifted, to cover the curve densely."""
        postures, speeds = self.options.postures, self.options.speeds
        steps = np.arange(speeds, dtype=np.float64) + (posture - 1) / postures
        return self.at_level(steps / (speeds - 1 + (postures - 1) / postures))

    def snapped(self, speeds: Array) -> Array:
        """Speeds of all joints, (..., n), as the drives can keep them: multiples of their steps, none below a joint's slowest."""
        step = np.where(self.velocity_step > 0.0, self.velocity_step, 1.0)
        slowest = np.array([self.arm.joint(name).slowest or 0.0 for name in self.mechanism.names])
        least = np.maximum(1.0, np.ceil(slowest / step - 1e-9)) * (speeds > 0.0)
        whole = step * np.maximum(np.round(speeds / step), least)
        return np.asarray(np.where(self.velocity_step > 0.0, whole, speeds))

    def at_level(self, level: Array | float) -> Array:
        """Speeds of all joints, (..., n), between the fastest at 0 and the slowest at 1, even in the logarithm."""
        slow, fast = self.ends
        return np.asarray(fast * (slow / fast) ** np.asarray(level)[..., None])

    def turn(self, j: int) -> float:
        """Way over which ripple averages out: a motor revolution, or else a part of the joint's travel [rad or m]."""
        return self._revolution(j) or _RIPPLE * float(self.travel[j])

    def geared(self, j: int) -> bool:
        """Whether the period of the ripple is known, as a motor revolution."""
        return self._revolution(j) > 0.0

    def _revolution(self, j: int) -> float:
        return motor_revolution(self.arm.joint(self.mechanism.names[j]).ratio)

    def window(self, j: int, speed: Array | float) -> Array:
        """Ways at constant speeds: whole motor revolutions for at least the window's time [rad or m]."""
        turn = self.turn(j)
        return np.asarray(turn * np.maximum(1.0, np.ceil(speed * self.options.window_time / turn)))

    def stroke_length(self, j: int, speed: Array | float) -> Array:
        """Ways of strokes: two ramps, a way to settle, and the window [rad or m]."""
        ramps = np.square(speed) / (ACCELERATION_SHARE * self.limits.acceleration[j])
        return np.asarray(ramps + speed * self.options.settle_time + self.window(j, speed) + 0.25 * self.turn(j))

    @cached_property
    def room(self) -> tuple[Array, Array]:
        """Lowest and highest position that strokes may reach, each shape (n,): drives go on if the computer falls silent."""
        low, high = self.limits.position.T
        moves = np.maximum(self.cap, MOVE_SHARE * self.limits.velocity)
        fastest = np.minimum(self.options.fastest * self.limits.velocity, moves)
        beyond = run_on(fastest, self.limits.acceleration, silence(self.arm))
        free = np.maximum(ROOM * (high - low), beyond)
        short = np.flatnonzero(2.0 * free > high - low)
        if len(short):
            j, name = short[0], self.mechanism.names[short[0]]
            unit = self.mechanism.position_unit(j)
            raise NoRoom(f"{self.arm.path}: joint {name} has {high[j] - low[j]:.3g} {unit} between its limits, but may go on "
                         f"for {beyond[j]:.3g} {unit} either way should the computer fall silent; widen "
                         f"joints.{name}.position, lower its velocity or driver.watchdog",
                         f"its drive would go on for {beyond[j]:.3g} {unit} should the computer fall silent, too far for its "
                         "limits")
        return low + free, high - free

    @cached_property
    def longest(self) -> Array:
        """Longest way that a stroke of each joint may take, shape (n,)."""
        return np.asarray(_WAY * np.ptp(np.array(self.room), axis=0))

    def _speed_range(self, j: int) -> tuple[float, float]:
        speeds = self._speeds_on_offer(j)
        speeds = speeds[speeds >= self._slowest(j, speeds[0])]
        ways = self.stroke_length(j, speeds)
        fits = speeds[(ways <= self.longest[j]) & (speeds <= self.cap[j])]
        lasts = speeds[ways <= self.options.longest_stroke * speeds]
        path, name, unit = self.arm.path, self.mechanism.names[j], self.mechanism.position_unit(j)
        if not len(fits):
            raise PlanError(f"{path}: joint {name}: even the slowest stroke needs {ways[-1]:.3g} {unit}, the room is "
                            f"{self.longest[j]:.3g} {unit}; widen joints.{name}.position or check its gear_ratio")
        if not len(lasts) or lasts[-1] > fits[0]:
            raise PlanError(f"{path}: joint {name}: strokes of {ways.min():.3g} {unit} take more than "
                            f"{self.options.longest_stroke:g} s at {fits[0]:.3g} {unit}/s; raise joints.{name}.velocity or "
                            "check its gear_ratio")
        return float(lasts[-1]), float(fits[0])

    def _speeds_on_offer(self, j: int) -> Array:
        """From the highest that the limit allows down; where all of them are too fast for the room, from one that is not."""
        spread = np.geomspace(1.0, 1.0 / self.options.spread, 200)
        speeds = self.options.fastest * self.limits.velocity[j] * spread
        if self.stroke_length(j, speeds[-1]) > self.longest[j]:
            slower = speeds[-1] * np.geomspace(1.0, _LEAST_SPEED, 200)
            fits = slower[self.stroke_length(j, slower) <= self.longest[j]]
            speeds = fits[0] * spread if len(fits) else speeds
        return speeds

    def _slowest(self, j: int, fastest: float) -> float:
        """The lowest speed that the joint's velocity loop holds, where it is known."""
        name, slowest = self.mechanism.names[j], self.arm.joint(self.mechanism.names[j]).slowest or 0.0
        if slowest > fastest:
            raise PlanError(f"{self.arm.path}: joints.{name}.slowest = {slowest:.4g} is above the highest speed of its strokes, "
                            f"{fastest:.4g}; make its velocity loop stiffer")
        return slowest

    def choose_postures(self, ways_from: WaysFrom, rng: np.random.Generator) -> tuple[Array, Array]:
        """Home and the set of postures over which the loads spread most, with the ways that strokes take from there.

        Where nothing says what is clear, real hardware stays at home.

        Parameters
        ----------
        ways_from : callable
            From postures (K, n), which of them are asked for (K,), and a generator of random numbers to the longest way of
            every joint from each, (K, n), and which joints can go it, (K, n).
        rng : Generator
            Draws them.

        Raises
        ------
        PlanError
            If home has no room, or too few postures have.
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
            raise NoRoom(f"{arm.path}: only {len(usable)} of {len(candidates) - 1} random postures leave room for the strokes, "
                         f"{count} are needed; widen the limits or the workspace box",
                         "faster ones have room in too few postures inside the limits and the box")
        if self.mechanism.chain is not None:
            best = usable[widest(self.mechanism, candidates[usable], count)]
        else:
            sets = np.array([rng.choice(usable, count, replace=False) for _ in range(_SETS)])
            best = sets[int(np.argmax(spread_score(self.mechanism, active, candidates, ways, sets)))]
        rows = np.concatenate(([0], best))
        return candidates[rows], ways[rows]

    def check_home(self, ways_from: WaysFrom, rng: np.random.Generator) -> None:
        """Refuse what `choose_postures` would for want of room at home, at a small part of its cost.

        Raises
        ------
        PlanError
        """
        self._check_home(self._candidates(rng), ways_from, rng)

    def _candidates(self, rng: np.random.Generator) -> Array:
        """Home and random postures, shape (K, n)."""
        home, chain = self.arm.home(self.mechanism), self.mechanism.chain is not None
        drawn = rng.uniform(*self.room, (_OF_A_CHAIN if chain else _CANDIDATES, self.mechanism.n))
        if not chain:
            return np.vstack((home, drawn))
        reached = np.vstack((home, in_reach(self.arm, self.mechanism, home, drawn, rng)))
        return reached[most_different(self.mechanism, reached, _LOOKED_AT)]

    def _reached(self, candidates: Array) -> NDArray[np.bool_]:
        """Which postures can be held and reached from home, shape (K,); what is quick to tell is told first."""
        home = np.broadcast_to(candidates[0], candidates.shape)
        moving = strokes_share(self.mechanism, self.limits, home, candidates - home, MOVE_SHARE * self.limits.velocity)
        held = gravity_share(self.mechanism, self.limits, candidates)
        found = np.asarray((np.maximum(moving, held) <= PLANNED_SHARE).all(axis=1))
        found[found] = ways_are_clear(self.arm, self.mechanism, home[found], candidates[found])
        return found

    def _ends(self, postures: Array, ways: Array) -> Array:
        """Where all of some ways lead together; of a closed chain, in which they may lead nowhere, where they begin."""
        return postures + ways if self.mechanism.chain is None else postures

    def _check_home(self, candidates: Array, ways_from: WaysFrom, rng: np.random.Generator) -> None:
        """Refuse where strokes have no room from home, the first of the candidates."""
        home = candidates[0]
        ways, fits = (rows[0] for rows in ways_from(candidates, np.arange(len(candidates)) == 0, rng))
        where = f"{self.arm.path}: from workspace.home = {np.round(home, 3).tolist()} "
        held = gravity_share(self.mechanism, self.limits, np.stack((home, self._ends(home, ways)))).max(axis=0)
        heavy = int(np.argmax(held))
        if held[heavy] > MAX_GRAVITY_SHARE:
            unit, name, limit = self.mechanism.unit(heavy), self.mechanism.names[heavy], self.limits.torque[heavy]
            raise PlanError(f"{where}strokes lead to where gravity asks {held[heavy] * limit:.3g} {unit} of {name}, more "
                            f"than {100 * MAX_GRAVITY_SHARE:g} % of its limit of {limit:g} {unit}; raise "
                            f"joints.{name}.torque if the drive can, or move the home posture")
        if stuck := [j for j in self.active if not fits[j]]:
            raise self._no_room(where, home, ways, stuck[0])

    def _no_room(self, where: str, home: Array, ways: Array, j: int) -> NoRoom:
        """Why a joint has no room for its longest stroke from home: what is in the way, its drive, or its limits."""
        (low, high), size = self.room, np.abs(ways)
        begin = (f"{where}joint {self.mechanism.names[j]} has no room for a stroke of {size[j]:.2f} "
                 f"{self.mechanism.position_unit(j)}")
        for way in (np.where(np.arange(len(ways)) == j, size, 0.0), size):          # alone, and with the others
            both = np.where(home + way <= high, way, -way), np.where(home - way >= low, -way, way)
            inside = [one for one in both if (home + one >= low).all() and (home + one <= high).all()]
            blocked = [found for one in inside if (found := self._blocked(begin, home, one, j))]
            if blocked and len(blocked) == len(inside):
                return blocked[0]
        return NoRoom(f"{begin} inside its limits and the box; move the home posture, or widen the limits or the box",
                      "from home faster ones have no room inside the limits and the box")

    def _blocked(self, begin: str, home: Array, way: Array, j: int) -> NoRoom | None:
        """What shapes or which drive a way from home asks too much of; None if none."""
        key = key_of(self.mechanism.names[j])
        if self.mechanism.chain is not None and (fault := in_the_way(self.arm, self.mechanism, home, home + way)):
            return NoRoom(f"{begin}: it {fault}; move the home posture, or narrow joints.{key}.position",
                          f"from home faster ones have too little room in reach of {self.mechanism.name}")
        if met := what_meets(self.arm, self.mechanism, home, home + way):
            shapes, place, part = met
            return NoRoom(f"{begin}: after {part * abs(way[j]):.2f} {self.mechanism.position_unit(j)}, at "
                          f"{np.round(place, 2).tolist()}, {shapes} are within {1e3 * GAP:g} mm of each other; move the home "
                          f"posture, lower joints.{key}.velocity, or narrow joints.{key}.position",
                          f"from home faster ones bring {shapes} within {1e3 * GAP:g} mm of each other")
        share = strokes_share(self.mechanism, self.limits, home[None], way[None], self.ends[1])[0]
        if share.max() <= PLANNED_SHARE:
            return None
        worst = int(np.argmax(share))
        force, weak, limit = self.mechanism.unit(worst), self.mechanism.names[worst], self.limits.torque[worst]
        asked = share[worst] * limit
        return NoRoom(f"{begin}: weight and inertia ask {asked:.3g} {force} of {weak} on the way, more than "
                      f"{100 * PLANNED_SHARE:g} % of its limit of {limit:g} {force}; lower the accelerations, move the "
                      f"home posture, or raise joints.{key_of(weak)}.torque to {asked / PLANNED_SHARE:.3g} if the "
                      "drive can", f"weight and inertia leave {weak} too little torque for friction")
