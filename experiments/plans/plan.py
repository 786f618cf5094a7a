"""The plan: what moves and how, as data and as a file, checked before anything moves.

A plan is a chain of straight segments in joint space; each starts where the one before it ended. A *move*
brings all joints to a posture; a *stroke* moves one joint at a constant speed, a *sweep* several joints at once,
each at a constant speed of its own. The segment that retraces another says so with ``mirror_of``. In a *swing* every
joint goes to and fro between start and target, as a cosine, as often as it is told to. In a *ramp* the arm rests, then the
torque of one joint grows until it moves, and the joint is brought back.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import tomlkit
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from stribeck.drivers.connect import HOLDING
from stribeck.drivers.wire.axis import BRAKE_CLOSES, LinkKeys
from stribeck.experiments.errors import PlanError
from stribeck.experiments.plans.clearance import in_the_way, may_move_together, ways_are_clear
from stribeck.experiments.plans.lowered_speed import LoweredSpeed
from stribeck.ident.arm.arm_file import ArmFile, Limits
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import unknown_name
from stribeck.ident.fit.information import Prediction
from stribeck.ident.log.round_trips import TO_START
from stribeck.ident.log.run import BREAKAWAY, FIT, VALIDATION, arm_sha256
from stribeck.ident.model.dynamics import inverse_dynamics
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.toml_tables import parse_table, read_toml, upgrade
from stribeck.ident.whole_files import write_whole

Array = NDArray[np.float64]
SCHEMA = 1
RAMP = 0.6              # fraction of the acceleration limit that ramps use; the rest is room to brake
MOVE = 0.5              # fraction of the velocity limit that moves between postures use
_ACTING = 2             # cycles beyond a watchdog's time: of a set-point on its way, and until a drive has looked at it
DWELL = 0.15            # s of rest after every segment
HELD = 0.9              # fraction of the torque limit that gravity may take: friction needs some, too
RAMP_TO = 0.9           # fraction of the torque limit at which a ramp ends
_RAMP_LEAST = 2.0       # s that the whole torque limit takes in a ramp at least: torque is watched as it is measured
_THERE = 0.02           # rad or m from the start of a plan at which a joint counts as there
_SWAY = 1e-3            # rad or m by which a joint that is held may stray
_LONGEST = 3600.0       # s that a segment may take
_CORNERS = 16           # points a pass at which the way of a swing is checked
_KNOTS = 16             # set-points of a pass of a swing
KINDS = {VALIDATION: ("swing",), BREAKAWAY: ("ramp",)}      # of segments that serve a purpose; strokes and sweeps all others
_LISTS = ("lowered", "predicted", "segments")      # one entry a line


@dataclass(frozen=True)
class Segment:
    """One straight piece of a plan.

    Attributes
    ----------
    id : int
        Its number, which the samples carry.
    kind : str
        "move" (all joints), "stroke" (one joint at constant speed), "sweep" (several at once), "swing" (to and fro)
        or "ramp" (of torque).
    target : tuple of float
        Where all joints are at its end [rad or m].
    posture : int
        Number of the posture it belongs to; 0 is home.
    joint : str, optional
        The joint that a stroke or ramp moves, or whose speed is given of a sweep.
    speed : float, optional
        The joint's speed, of a swing its highest, unsigned [rad/s or m/s]. The others' follows from their ways.
    mirror_of : int, optional
        The segment that this one retraces.
    reference : bool
        Whether it is the reference stroke that shows drift.
    swings : tuple of int, optional
        How often each joint passes between start and target in a swing; odd.
    rate, dwell : float, optional
        How fast the torque of a ramp grows, signed [N·m/s or N/s], after how long a rest [s].
    """

    id: int
    kind: Literal["move", "stroke", "sweep", "swing", "ramp"]
    target: tuple[float, ...]
    posture: int
    joint: str | None = None
    speed: float | None = None
    mirror_of: int | None = None
    reference: bool = False
    swings: tuple[int, ...] | None = None
    rate: float | None = None
    dwell: float | None = None
    __pydantic_config__: ClassVar[dict[str, object]] = {"extra": "forbid", "allow_inf_nan": False}

    def speeds(self, start: Array, names: tuple[str, ...]) -> Array:
        """Speeds of all joints from `start`, constant or of a swing the highest, unsigned, shape (n,) [rad/s or m/s]."""
        way = np.abs(np.array(self.target) - start) * np.array(self.swings or 1)
        return np.asarray((self.speed or 0.0) * way / way[names.index(str(self.joint))])


@dataclass(frozen=True)
class Plan:
    """What will move: see the module.

    `start` is the posture before the first segment, `purpose` what the run is for (a fit of a campaign takes the runs whose
    purpose is "fit"), `predicted` what it will tell, `lowered` which joints go slower than their limits allow, for want of room.
    """

    arm: str
    arm_sha256: str
    method: str
    seed: int
    names: tuple[str, ...]
    start: tuple[float, ...]
    segments: tuple[Segment, ...]
    robot_time: float = 0.0
    purpose: str = FIT
    predicted: tuple[Prediction, ...] = ()
    lowered: tuple[LoweredSpeed, ...] = ()

    def legs(self) -> Iterator[tuple[Array, Segment]]:
        """Every segment with the position at which it starts."""
        position = np.array(self.start)
        for segment in self.segments:
            yield position, segment
            position = np.array(segment.target)


@dataclass(frozen=True)
class Profile:
    """Trapezoidal motion along a straight line: fraction of the way, 0 to 1, over time.

    Attributes
    ----------
    speed, acceleration : float
        Of the fraction [1/s, 1/s²]; `speed` is the one reached, less on a way too short for it.
    duration : float
        Time of the motion without dwell [s].
    """

    speed: float
    acceleration: float
    duration: float

    @property
    def fastest(self) -> float:
        """Greatest rate of the fraction [1/s]."""
        return self.speed if self.duration > 0.0 else 0.0

    @property
    def knots(self) -> Array:
        """Times where the acceleration changes [s]."""
        ramp = self.speed / self.acceleration if self.duration > 0.0 else 0.0
        return np.unique([0.0, ramp, self.duration - ramp, self.duration])

    def __call__(self, t: Array) -> tuple[Array, Array]:
        """Fraction of the way and its rate at times t since the start [s]."""
        ramp = self.speed / self.acceleration
        t = np.clip(t, 0.0, self.duration)
        rising, falling = np.minimum(t, ramp), np.minimum(self.duration - t, ramp)
        s = np.where(t <= self.duration / 2.0,
                     0.5 * self.acceleration * rising**2 + self.speed * (t - rising),
                     1.0 - 0.5 * self.acceleration * falling**2 - self.speed * (self.duration - t - falling))
        return s, np.minimum(self.acceleration * np.minimum(rising, falling), self.speed)


@dataclass(frozen=True)
class Swing:
    """Motion to and fro: fraction of each joint's way over time, as a cosine.

    Attributes
    ----------
    swings : ndarray, shape (n,)
        Passes of each joint.
    duration : float
        Time of the motion without dwell [s].
    """

    swings: Array
    duration: float

    @property
    def fastest(self) -> Array:
        """Greatest rate of each joint's fraction [1/s]."""
        return np.asarray(0.5 * np.pi * self.swings / self.duration)

    @property
    def knots(self) -> Array:
        """Times between which cubics follow the cosine [s]."""
        return np.linspace(0.0, self.duration, _KNOTS * int(self.swings.max()) + 1)

    def __call__(self, t: Array) -> tuple[Array, Array]:
        """Fractions of the ways and their rates at times t since the start [s], each shape (N, n)."""
        rate = np.pi * self.swings / self.duration
        angle = np.clip(t, 0.0, self.duration)[:, None] * rate
        return 0.5 - 0.5 * np.cos(angle), 0.5 * rate * np.sin(angle)


def profile(start: Array, segment: Segment, names: tuple[str, ...], limits: Limits) -> Profile | Swing:
    """Motion of a segment from `start`: a move as fast as all joints allow, all others at their own speed."""
    way = np.abs(np.array(segment.target) - start)
    moving = way > 0.0
    if segment.kind == "swing":
        leader = names.index(str(segment.joint))
        passes = np.array(segment.swings, dtype=float)
        return Swing(passes, float(np.pi * passes[leader] * way[leader] / (2.0 * (segment.speed or 0.0))))
    if not moving.any():
        return Profile(1.0, 1.0, 0.0)
    acceleration = float(np.min(RAMP * limits.acceleration[moving] / way[moving]))
    if segment.kind != "move" and segment.speed is not None:
        speed = float(np.max(segment.speeds(start, names)[moving] / way[moving]))
    else:
        speed = float(np.min(MOVE * limits.velocity[moving] / way[moving]))
    speed = min(speed, float(np.sqrt(acceleration)))       # a triangle where the way is short
    return Profile(speed, acceleration, 1.0 / speed + speed / acceleration)


def robot_time(plan: Plan, limits: Limits) -> float:
    """Time that the plan takes on the arm [s]."""
    return sum(profile(start, segment, plan.names, limits).duration + _ramping(segment, plan.names, limits) + DWELL
               for start, segment in plan.legs())


def _ramping(segment: Segment, names: tuple[str, ...], limits: Limits) -> float:
    """Rest and ramp of a segment; a joint usually breaks loose long before its torque has grown that far [s]."""
    if segment.kind != "ramp":
        return 0.0
    return (segment.dwell or 0.0) + RAMP_TO * float(limits.torque[names.index(str(segment.joint))]) / abs(segment.rate or np.inf)


def check_plan(plan: Plan, arm: ArmFile, mechanism: Mechanism) -> float:
    """Refuse a plan that leaves a limit of position, speed or torque or is not clear anywhere on its way.

    Real hardware moves several joints at once, be it to another posture, only where a workspace box or geometry says what is
    clear. Of torque, gravity where the arm turns back is looked at.

    Returns
    -------
    float
        The least room that the plan keeps to a position limit [rad or m].

    Raises
    ------
    PlanError
        Names segment, joint, value and limit.
    """
    limits = arm.limits(mechanism)
    if plan.names != mechanism.names:
        raise PlanError(f"the plan is for joints {', '.join(plan.names)}, the arm {arm.name} has {', '.join(mechanism.names)}")
    if plan.arm_sha256 != arm_sha256(arm):
        raise PlanError(f"the plan was made for another version of the arm file of {plan.arm}; plan again")
    if all(segment.kind == "move" for segment in plan.segments):
        raise PlanError("the plan has no stroke; there is nothing to record")
    ids = [segment.id for segment in plan.segments]
    if len(set(ids)) < len(ids) or min(ids) < 0:
        raise PlanError("every segment of a plan needs a number of its own, from 0; "
                        f"found {', '.join(str(id_) for id_ in sorted(ids) if id_ < 0 or ids.count(id_) > 1)}")
    together = any(np.count_nonzero(np.array(segment.target) != start) > 1 for start, segment in plan.legs())
    if together and not may_move_together(arm, mechanism):
        option = "--method single" if plan.purpose == FIT else "--joints NAME"
        alone = "" if plan.purpose == BREAKAWAY else f", or move one at a time from home ({option})"     # that takes postures
        raise PlanError(f"{arm.path}: real hardware moves several joints at once only where a workspace box, or shapes of all "
                        f"links in the model, say what is clear; state workspace.box{alone}")
    units = [mechanism.position_unit(j) for j in range(mechanism.n)]
    room, silent = np.inf, silence(arm)
    for start, segment in plan.legs():
        target = np.array(segment.target)
        for end in (start, target):
            gap = np.minimum(end - limits.position[:, 0], limits.position[:, 1] - end)
            worst = int(np.argmin(gap))
            if gap[worst] < 0.0:
                low, high = limits.position[worst]
                raise PlanError(f"segment {segment.id} takes {plan.names[worst]} to {end[worst]:.3f} {units[worst]}, "
                                f"outside its limits [{low:g}, {high:g}]")
            room = min(room, float(gap[worst]))
        if (segment.kind == "ramp") != (segment.rate is not None):
            raise PlanError(f"segment {segment.id} is a {segment.kind}; a ramp has a rate, nothing else does")
        if segment.kind == "ramp":
            _check_ramp(segment, start, mechanism, limits)
        elif segment.kind != "move":
            _check_speeds(segment, start, plan.names, limits, units)
        _check_time(segment, start, plan.names, limits)
        _check_silence(segment, start, plan.names, limits, units, silent)
    _check_held(plan, limits, units)
    _check_purpose(plan)
    _check_mirrors(plan)
    _check_weight(plan, mechanism, limits)
    ways = [(*ends, segment) for start, segment in plan.legs() for ends in pairwise(corners(start, segment))]
    clear = ways_are_clear(arm, mechanism, np.array([start for start, _, _ in ways]), np.array([end for _, end, _ in ways]))
    if not clear.all():
        start, end, segment = ways[int(np.argmin(clear))]
        raise PlanError(f"segment {segment.id} ({segment.joint or 'move'} in posture {segment.posture}) "
                        f"{in_the_way(arm, mechanism, start, end)}")
    return room


def _check_held(plan: Plan, limits: Limits, units: list[str]) -> None:
    """Refuse joints that stand still at a limit meanwhile: the least sway would end the run."""
    places = np.array([plan.start, *(segment.target for segment in plan.segments)])
    room = np.minimum(places - limits.position[:, 0], limits.position[:, 1] - places)[1:]
    segments, joints = np.nonzero((places[1:] == places[:-1]) & (room < _SWAY))
    if len(segments):
        k, j = int(segments[0]), int(joints[0])
        (low, high), unit = limits.position[j], units[j]
        raise PlanError(f"{plan.names[j]} stands still at {places[k, j]:.4g} {unit} in segment {plan.segments[k].id}, less than "
                        f"{_SWAY:g} {unit} inside its limits [{low:g}, {high:g}]; give it room by workspace.home, or fix it by "
                        "stribeck init --joints")


def _check_purpose(plan: Plan) -> None:
    """Refuse segments that do not serve what the plan is for."""
    kinds = KINDS.get(plan.purpose, ("stroke", "sweep"))
    for segment in plan.segments:
        if segment.kind not in ("move", *kinds):
            raise PlanError(f"segment {segment.id} is a {segment.kind}; a plan whose purpose is {plan.purpose} has "
                            f"{' or '.join(kinds)} and move segments only")


def _check_time(segment: Segment, start: Array, names: tuple[str, ...], limits: Limits) -> None:
    """Refuse segments that take longer than an arm is left to move: a speed or rate with too many zeros."""
    time = profile(start, segment, names, limits).duration + _ramping(segment, names, limits)
    if time > _LONGEST:
        raise PlanError(f"segment {segment.id} takes {time:.3g} s, at most {_LONGEST:g} s are allowed; raise its "
                        f"{'rate' if segment.kind == 'ramp' else 'speed'}")


def weight(mechanism: Mechanism, limits: Limits, q: Array) -> Array:
    """Gravity torque of every joint in postures (K, n), as a part of its limit, shape (K, n); 0 where there is none."""
    held = np.abs(inverse_dynamics(mechanism, q, np.zeros_like(q)))
    return np.where(np.isnan(limits.torque), 0.0, held / limits.torque)


def _check_weight(plan: Plan, mechanism: Mechanism, limits: Limits) -> None:
    ends = np.array([segment.target for segment in plan.segments])
    part = weight(mechanism, limits, ends)
    row, j = np.unravel_index(int(np.argmax(part)), part.shape)
    if part[row, j] > HELD:
        force, limit = mechanism.unit(int(j)), limits.torque[j]
        raise PlanError(f"segment {plan.segments[row].id} ends where gravity asks {part[row, j] * limit:.3g} {force} of "
                        f"{plan.names[j]}, more than {100 * HELD:g} % of its limit of {limit:g} {force}; raise "
                        f"joints.{plan.names[j]}.torque if the drive can, or keep it from there (joints.NAME.position)")


def silence(arm: ArmFile) -> float:
    """Time that drives go on by themselves once the computer falls silent, until their watchdogs act [s]; 0 if simulated.

    Where watchdogs take the power, as those of plug-ins may, brakes have still to close: by friction alone a joint goes on for
    so long at most, as it does after any fault that takes the power of a drive at once.
    """
    if arm.driver.kind == "simulated":
        return 0.0
    watchdog = float(arm.driver.model_dump().get("watchdog", LinkKeys.model_fields["watchdog"].default))
    acts = watchdog + _ACTING / arm.driver.rate
    return max(acts, BRAKE_CLOSES) if arm.driver.kind in HOLDING else acts + BRAKE_CLOSES


def run_on(speed: Array, acceleration: Array, silent: float) -> Array:
    """How far beyond its target a joint comes at most if the computer falls silent while it goes there, shape (n,) [rad or m].

    At v when the ramp down from `speed` begins, or later on it, it goes on for v T and brakes within v²/2a, where the ramp would
    have ended after v²/(2 RAMP a); the worst v is the highest, or where less speed on a shorter ramp leaves more.
    """
    gain = 0.5 / RAMP - 0.5
    v = np.minimum(speed, 0.5 * silent * acceleration / gain)
    return np.asarray(v * silent - gain * v**2 / acceleration)


def corners(start: Array, segment: Segment) -> Array:
    """Points between which a segment goes straight, or as good as, shape (K, n)."""
    target = np.array(segment.target)
    if segment.kind != "swing":
        return np.array([start, target])
    passes = np.array(segment.swings, dtype=float)
    s, _ = Swing(passes, 1.0)(np.linspace(0.0, 1.0, _CORNERS * int(passes.max()) + 1))
    return np.asarray(start + s * (target - start))


def _check_speeds(segment: Segment, start: Array, names: tuple[str, ...], limits: Limits, units: list[str]) -> None:
    """Refuse speeds beyond their limits, and strokes that move other joints than theirs."""
    if segment.joint not in names:
        raise PlanError(f"segment {segment.id}: {unknown_name('joint', str(segment.joint), names)}")
    if (segment.kind == "swing") != (segment.swings is not None):
        raise PlanError(f"segment {segment.id} is a {segment.kind}; a swing has swings, nothing else does")
    if segment.swings and (len(segment.swings) != len(names) or any(passes < 1 or passes % 2 == 0 for passes in segment.swings)):
        raise PlanError(f"segment {segment.id}: swings = {list(segment.swings)}; an odd number of passes is needed for each of "
                        f"the {len(names)} joints")
    way = np.abs(np.array(segment.target) - start)
    moving = [name for name, length in zip(names, way, strict=True) if length > 0.0]
    if segment.joint not in moving or (segment.kind == "stroke" and len(moving) > 1):
        alone = " alone" if segment.kind == "stroke" else ""
        raise PlanError(f"segment {segment.id} is a {segment.kind} of {segment.joint}{alone}, but it moves "
                        f"{', '.join(moving) or 'nothing'}")
    speeds = segment.speeds(start, names)
    for name in moving:
        j = names.index(name)
        if not 0.0 < speeds[j] <= limits.velocity[j]:
            raise PlanError(f"segment {segment.id} moves {name} at {speeds[j]:.6g} {units[j]}/s, limit {limits.velocity[j]:g} "
                            f"{units[j]}/s")
    if segment.swings is None:
        return
    turning = np.pi * np.array(segment.swings) / profile(start, segment, names, limits).duration * speeds
    worst = int(np.argmax(turning / limits.acceleration))
    if turning[worst] > limits.acceleration[worst]:
        raise PlanError(f"segment {segment.id} turns {names[worst]} with {turning[worst]:.4g} {units[worst]}/s², limit "
                        f"{limits.acceleration[worst]:g} {units[worst]}/s²")


def _check_silence(segment: Segment, start: Array, names: tuple[str, ...], limits: Limits, units: list[str],
                   silent: float) -> None:
    """Refuse a way so fast towards a position limit that a joint passes it if the computer falls silent on the way."""
    if segment.kind == "ramp" or not silent:
        return
    target = np.array(segment.target)
    speed = np.abs(target - start) * profile(start, segment, names, limits).fastest
    needed = run_on(speed, limits.acceleration, silent)
    low, high = limits.position.T
    for begin, end in ((start, target), (target, start))[:1 + (segment.kind == "swing")]:       # which comes back to its start
        gap = np.where(end > begin, high - end, np.where(end < begin, end - low, np.inf))
        worst = int(np.argmax(needed - gap))
        if needed[worst] - gap[worst] > 1e-9:
            way = f"segment {segment.id}" if segment.id != TO_START else "the way to the start"
            raise PlanError(f"{way} takes {names[worst]} at {speed[worst]:.3g} {units[worst]}/s to "
                            f"{gap[worst]:.3g} {units[worst]} before its limit, {needed[worst]:.3g} {units[worst]} are needed: "
                            f"should the computer fall silent, the drive goes on for {silent:.3g} s (driver.watchdog and "
                            f"{_ACTING} cycles; where it loses power then, {BRAKE_CLOSES:g} s until a brake holds)")


def _check_mirrors(plan: Plan) -> None:
    """Refuse a segment that does not retrace the one that it says it does."""
    legs = {segment.id: (start, segment) for start, segment in plan.legs()}
    for number, (start, segment) in legs.items():
        if segment.mirror_of is None:
            continue
        there, other = legs.get(segment.mirror_of, (start, segment))
        alike = (segment.kind, segment.joint, segment.speed) == (other.kind, other.joint, other.speed)
        if not (alike and np.allclose([*start, *segment.target], [*other.target, *there], 0.0, 1e-6)):
            raise PlanError(f"segment {number} says mirror_of = {segment.mirror_of}, but does not retrace such a segment")


def _check_ramp(segment: Segment, start: Array, mechanism: Mechanism, limits: Limits) -> None:
    """Refuse a ramp of no joint, without direction, too fast to be watched, or that is to end elsewhere."""
    names = mechanism.names
    if segment.joint not in names:
        raise PlanError(f"segment {segment.id}: {unknown_name('joint', str(segment.joint), names)}")
    if not segment.rate or not (segment.dwell or 0.0) > 0.0 or tuple(start) != segment.target:
        raise PlanError(f"segment {segment.id}: a ramp of {segment.joint} needs a rate other than 0, a dwell of more than 0 s "
                        f"and the target where it starts; found {segment.rate}, {segment.dwell}, {segment.target}")
    j = names.index(segment.joint)
    fastest, unit = float(limits.torque[j]) / _RAMP_LEAST, mechanism.unit(j)
    if abs(segment.rate) > fastest:
        raise PlanError(f"segment {segment.id}: the torque of {segment.joint} grows by {abs(segment.rate):g} {unit}/s, limit "
                        f"{fastest:g} {unit}/s: joints.{segment.joint}.torque in {_RAMP_LEAST:g} s")


def check_way(stands: Array, plan: Plan, arm: ArmFile, mechanism: Mechanism, share: float = 1.0) -> None:
    """Refuse the straight way from where the arm stands, shape (n,), to the start of the plan if it is not clear, or if a joint
    that goes it within a share of its limits would pass a limit, should the computer fall silent.

    Raises
    ------
    PlanError
        Says where the arm stands and where it should stand.
    """
    start = np.array(plan.start)
    away = [name for name, way in zip(mechanism.names, np.abs(stands - start), strict=True) if way > _THERE]
    if len(away) > 1 and not may_move_together(arm, mechanism):
        raise PlanError(f"{', '.join(away)} stand elsewhere than at the start of the plan, {np.round(start, 3).tolist()}, and "
                        "neither a workspace box nor the model's geometry says what is clear on the way; nothing moved. Bring "
                        "all of them but one there by hand, or state workspace.box")
    if fault := in_the_way(arm, mechanism, stands, start):
        raise PlanError(f"the straight way from where the arm stands, {np.round(stands, 3).tolist()}, to the start of the plan, "
                        f"{np.round(start, 3).tolist()}, {fault}; nothing moved. "
                        "Bring the arm near the start by hand")
    limits = arm.limits(mechanism)
    slow = replace(limits, velocity=share * limits.velocity, acceleration=share * limits.acceleration)
    units = [mechanism.position_unit(j) for j in range(mechanism.n)]
    _check_silence(Segment(TO_START, "move", plan.start, 0), stands, mechanism.names, slow, units, silence(arm))


def write_plan(plan: Plan, path: Path) -> None:
    """Write a plan as TOML, one segment or prediction a line."""
    head = tomlkit.document()
    table = plan_table(plan)
    for key, value in table.items():
        if key not in _LISTS:
            head[key] = value
    lines = [tomlkit.dumps(head)]
    for key in _LISTS:
        if key not in table:
            continue
        lines.append(f"{key} = [")
        for entry in table[key]:
            line = tomlkit.inline_table()
            line.update(entry)
            lines.append(f"  {line.as_string()},")
        lines.append("]")
    write_whole(path, "\n".join([*lines, ""]))


def plan_table(plan: Plan) -> dict[str, Any]:
    """The plan as plain data, with what is not set left out."""
    table = asdict(plan)
    table["segments"] = [{key: list(value) if isinstance(value, tuple) else value for key, value in segment.items()
                          if value is not None and value is not False} for segment in table["segments"]]
    table["predicted"] = list(table["predicted"])
    if not table["lowered"]:
        del table["lowered"]
    return {"schema": SCHEMA, **{key: list(value) if isinstance(value, tuple) else value for key, value in table.items()}}


def read_plan(path: Path) -> Plan:
    """Plan from its file.

    Raises
    ------
    InputError
        If it is no plan; names the key.
    """
    return plan_from_table(read_toml(path), path)


def plan_from_table(table: dict[str, Any], path: Path) -> Plan:
    """Plan from plain data; `path` is what messages name."""
    parsed = parse_table(_PlanTable, upgrade(table, path, SCHEMA), path)
    for segment in parsed.segments:
        if len(segment.target) != len(parsed.names):
            raise PlanError(f"{path}: segment {segment.id} has {len(segment.target)} targets for {len(parsed.names)} joints")
    if len(parsed.start) != len(parsed.names):
        raise PlanError(f"{path}: start has {len(parsed.start)} values for {len(parsed.names)} joints")
    return Plan(parsed.arm, parsed.arm_sha256, parsed.method, parsed.seed, parsed.names, parsed.start, parsed.segments,
                parsed.robot_time, parsed.purpose, parsed.predicted, parsed.lowered)


class _PlanTable(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    schema_version: int = Field(alias="schema")
    arm: str
    arm_sha256: str
    method: str
    seed: int
    names: tuple[str, ...]
    start: tuple[float, ...]
    segments: tuple[Segment, ...]
    robot_time: float = 0.0
    purpose: Literal["fit", "validation", "warm-up", "lowest-speed", "breakaway"] = "fit"
    predicted: tuple[Prediction, ...] = ()
    lowered: tuple[LoweredSpeed, ...] = ()


def with_robot_time(plan: Plan, arm: ArmFile) -> Plan:
    """The plan with its predicted robot time filled in."""
    return replace(plan, robot_time=robot_time(plan, arm.limits(load_mechanism(arm))))
