"""Design of the constant-speed experiment: one joint at a time, back and forth (Eqs. 48-51).

In every posture each joint makes round trips at speeds spread evenly in the logarithm, in random order,
while the others hold. At the start, every few postures and at the end a reference round trip at home shows drift.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.errors import PlanError
from experiments.plan import RAMP, Plan, Segment, box_is_clear, check_plan, with_robot_time
from ident.armfile import ArmFile, Limits, check_against_model
from ident.description import load_mechanism
from ident.errors import unknown_name
from ident.loads import joint_loads
from ident.mechanism import Mechanism
from ident.run import arm_sha256
from ident.strokes import motor_revolution

Array = NDArray[np.float64]
METHOD = "constant-speed round trips, one joint at a time"
ROOM = 0.02             # fraction of a joint's range that strokes keep free at either end
_WAY = 0.5              # fraction of that range that the longest stroke may take: a joint with little room goes slower
_CANDIDATES = 500       # random postures that compete
_SETS = 10_000            # random sets of them that are scored


@dataclass(frozen=True)
class ConstantSpeed:
    """Options of the experiment.

    Attributes
    ----------
    postures, speeds : int
        How many postures, and how many speeds in each.
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
    """

    postures: int = 7
    speeds: int = 6
    reference_every: int = 2
    fastest: float = 0.85
    spread: float = 120.0
    window_time: float = 0.5
    settle_time: float = 0.1
    longest_stroke: float = 10.0


def plan_constant_speed(arm: ArmFile, joints: tuple[str, ...] | None = None, seed: int = 0,
                        options: ConstantSpeed | None = None) -> Plan:
    """Plan of a campaign for some or all joints, checked against all limits.

    Parameters
    ----------
    arm : ArmFile
        The arm; every limit of the moving joints must be known.
    joints : tuple of str, optional
        Which joints to identify; default all.
    seed : int
        Seed of postures and order.
    options : ConstantSpeed, optional
        Numbers of the experiment.

    Raises
    ------
    PlanError
        If a limit is missing or no posture leaves room for the strokes.
    InputError
        If a joint is unknown.
    """
    options = options or ConstantSpeed()
    mechanism = load_mechanism(arm)
    check_against_model(arm, mechanism)
    if arm.torque_signal == "joint sensor":
        raise PlanError(f"{arm.path}: torque_signal = \"joint sensor\": a sensor behind the gear does not see the "
                        "gear's friction; use the motor current")
    limits = _known_limits(arm, mechanism)
    chosen = tuple(joints) if joints else mechanism.names
    for name in chosen:
        if name not in mechanism.names:
            raise unknown_name("joint", name, mechanism.names)
    rng = np.random.default_rng(seed)
    active = [mechanism.names.index(name) for name in chosen]
    slow, fast = np.transpose([_speed_range(arm, mechanism, limits, options, j) for j in range(mechanism.n)])
    longest = np.array([_stroke_length(arm, mechanism, limits, options, j, fast[j]) for j in range(mechanism.n)])
    postures, directions = _choose_postures(arm, mechanism, limits, longest, active, options.postures, rng)
    start = postures[0]
    writer = _Writer(mechanism.names)

    def round_trip(j: int, posture: int, speed: float, reference: bool = False) -> None:
        way = directions[posture, j] * _stroke_length(arm, mechanism, limits, options, j, speed)
        writer.round_trip(j, way, speed, posture, reference)

    def references() -> None:
        writer.move(postures[0], 0)
        for j in active:
            round_trip(j, 0, fast[j] * (slow[j] / fast[j]) ** 0.35, reference=True)

    for number in range(1, len(postures)):
        if (number - 1) % options.reference_every == 0:
            references()
        target = postures[number]
        if not box_is_clear(arm, mechanism, writer.position[None], target[None])[0]:
            writer.move(postures[0], 0)             # every posture can be reached from home
        writer.move(target, number)
        for j in rng.permutation(active):
            for speed in rng.permutation(_speeds(slow[j], fast[j], options, number)):
                round_trip(int(j), number, float(speed))
    references()
    plan = Plan(arm.name, arm_sha256(arm), METHOD, seed, mechanism.names, tuple(start.tolist()), tuple(writer.segments))
    check_plan(plan, arm, mechanism)
    return with_robot_time(plan, arm)


class _Writer:
    """Collects segments and knows where the last one ended."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.segments: list[Segment] = []
        self.position = np.zeros(len(names))

    def move(self, target: Array, posture: int) -> None:
        self._add(Segment(len(self.segments), "move", tuple(target.tolist()), posture))

    def round_trip(self, joint: int, way: float, speed: float, posture: int, reference: bool = False) -> None:
        there, back = self.position.copy(), self.position.copy()
        there[joint] += way
        first = len(self.segments)
        name, speed = self.names[joint], round(float(speed), 6)
        self._add(Segment(first, "stroke", tuple(there.tolist()), posture, name, speed, None, reference))
        self._add(Segment(first + 1, "stroke", tuple(back.tolist()), posture, name, speed, first, reference))

    def _add(self, segment: Segment) -> None:
        self.segments.append(segment)
        self.position = np.array(segment.target)


def load_spread(plan: Plan, mechanism: Mechanism) -> dict[str, dict[str, tuple[float, float]]]:
    """Least and greatest value of every load over each joint's strokes: joint -> load -> (low, high)."""
    spread: dict[str, dict[str, tuple[float, float]]] = {}
    for name in dict.fromkeys(segment.joint for segment in plan.segments if segment.joint):
        j = mechanism.names.index(name)
        ends = np.array([point for start, segment in plan.legs() if segment.joint == name
                         for point in (start, np.array(segment.target), (start + np.array(segment.target)) / 2.0)])
        loads = joint_loads(mechanism, ends)
        kinds = ["torque", "bending", "radial", "axial"] + (["normal"] if mechanism.bearings[j] else [])
        spread[name] = {kind: (float(loads.get(kind)[:, j].min()), float(loads.get(kind)[:, j].max())) for kind in kinds}
    return spread


def _known_limits(arm: ArmFile, mechanism: Mechanism) -> Limits:
    limits = arm.limits(mechanism)
    missing = limits.missing(mechanism.names)
    if missing:
        raise PlanError(f"{arm.path}: {missing} is missing; nothing moves without it")
    return limits


def _speed_range(arm: ArmFile, mechanism: Mechanism, limits: Limits, options: ConstantSpeed, j: int) -> tuple[float, float]:
    """Lowest and highest speed of a joint: what its limit, its room and the time of a stroke leave of the spread."""
    speeds = options.fastest * limits.velocity[j] * np.geomspace(1.0, 1.0 / options.spread, 200)
    ways = np.array([_stroke_length(arm, mechanism, limits, options, j, speed) for speed in speeds])
    room = _WAY * (1.0 - 2.0 * ROOM) * np.ptp(limits.position[j])
    fits, lasts = speeds[ways <= room], speeds[ways <= options.longest_stroke * speeds]
    name, unit = mechanism.names[j], "m" if mechanism.prismatic[j] else "rad"
    if not len(fits):
        raise PlanError(f"{arm.path}: joint {name}: even the slowest stroke needs {ways[-1]:.3g} {unit}, the room is {room:.3g} "
                        f"{unit}; widen joints.{name}.position or check its gear_ratio")
    if not len(lasts) or lasts[-1] > fits[0]:
        raise PlanError(f"{arm.path}: joint {name}: strokes of {ways.min():.3g} {unit} take more than "
                        f"{options.longest_stroke:g} s at {fits[0]:.3g} {unit}/s; raise joints.{name}.velocity or check its "
                        "gear_ratio")
    return float(lasts[-1]), float(fits[0])


def _speeds(slow: float, fast: float, options: ConstantSpeed, posture: int) -> Array:
    """Speeds of one posture; each posture's grid is shifted, so that the curve is covered more densely."""
    steps = np.arange(options.speeds) + (posture - 1) / options.postures
    return np.asarray(fast * (slow / fast) ** (steps / (options.speeds - 1 + (options.postures - 1) / options.postures)))


def _stroke_length(arm: ArmFile, mechanism: Mechanism, limits: Limits, options: ConstantSpeed, j: int,
                   speed: float) -> float:
    """Way of a stroke: two ramps, a way to settle, and whole motor revolutions at constant speed."""
    low, high = limits.position[j]
    gear = arm.joint(mechanism.names[j]).gear_ratio
    turn = motor_revolution(gear) or 0.015 * (high - low)
    window = turn * max(1.0, np.ceil(speed * options.window_time / turn))
    ramps = speed**2 / (RAMP * limits.acceleration[j])
    return float(ramps + speed * options.settle_time + window + 0.25 * turn)


def _choose_postures(arm: ArmFile, mechanism: Mechanism, limits: Limits, longest: Array, active: list[int], count: int,
                     rng: np.random.Generator) -> tuple[Array, Array]:
    """Home and the set of postures over which the loads spread most, with the way each joint can go from there."""
    low, high = limits.position.T
    room = ROOM * (high - low)
    home = arm.home(mechanism)
    drawn = rng.uniform(low + room, high - room, (_CANDIDATES, mechanism.n))
    candidates = np.vstack((home, drawn))
    ways = np.zeros((len(candidates), mechanism.n))
    free = box_is_clear(arm, mechanism, np.broadcast_to(home, candidates.shape), candidates)
    for j in active:
        for sign in (-1.0, 1.0):
            target = candidates.copy()
            target[:, j] += sign * longest[j]
            inside = (target[:, j] >= low[j] + room[j]) & (target[:, j] <= high[j] - room[j])
            ways[inside & box_is_clear(arm, mechanism, candidates, target), j] = sign
    free &= (ways[:, active] != 0.0).all(axis=1)
    if not free[0]:
        stuck = [j for j in active if ways[0, j] == 0.0]
        where = f"{arm.path}: from workspace.home = {np.round(home, 3).tolist()} "
        if not stuck:
            raise PlanError(f"{where}the box is left at once")
        unit = "m" if mechanism.prismatic[stuck[0]] else "rad"
        raise PlanError(f"{where}joint {mechanism.names[stuck[0]]} has no room for a stroke of {longest[stuck[0]]:.2f} {unit} "
                        "inside its limits and the box; lower its velocity, raise its acceleration or move the home posture")
    usable = np.flatnonzero(free)[1:]
    if len(usable) < count:
        raise PlanError(f"{arm.path}: only {len(usable)} of {_CANDIDATES} random postures leave room for the strokes, "
                        f"{count} are needed; widen the limits or the workspace box")
    sets = np.array([rng.choice(usable, count, replace=False) for _ in range(_SETS)])
    best = sets[int(np.argmax(_spread_score(mechanism, candidates, ways, active, sets)))]
    rows = np.concatenate(([0], best))
    return candidates[rows], ways[rows]


def _spread_score(mechanism: Mechanism, candidates: Array, ways: Array, active: list[int],
                  sets: NDArray[np.int_]) -> Array:
    """How well sets of postures spread each joint's loads and the slope of its gravity torque, shape (len(sets),)."""
    score = np.zeros(len(sets))
    for j in active:
        near, far = candidates.copy(), candidates.copy()
        far[:, j] += 0.2 * ways[:, j]
        ends = [joint_loads(mechanism, near), joint_loads(mechanism, far)]
        features = [np.array([loads.torque[:, j] for loads in ends]), np.array([loads.bending[:, j] for loads in ends])]
        if mechanism.bearings[j] is not None:
            features.append(np.array([loads.normal[:, j] for loads in ends]))
        features = [feature for feature in features if np.ptp(feature) > feature.max() / 3.0]
        slope = (ends[1].tau[:, j] - ends[0].tau[:, j]) * ways[:, j]
        if np.ptp(slope) > 0.05 * np.abs(np.array([loads.tau[:, j] for loads in ends])).max() > 1e-9:
            features.append(slope[None, :])
        for feature in features:
            values = feature[:, sets].transpose(1, 0, 2).reshape(len(sets), -1)
            score += np.log(values.var(axis=1) / np.ptp(feature) ** 2 + 1e-3)
    return score
