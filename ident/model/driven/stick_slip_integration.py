"""Integration from event to event: steps end where a joint comes to rest or breaks loose."""

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError
from stribeck.ident.model.driven.ball_sticking import TURNS, beyond, left_of_speed
from stribeck.ident.model.driven.motion_equations import Forces, MotionEquations
from stribeck.ident.model.driven.smooth_motion import RADAU, SmoothMotion, Step
from stribeck.ident.model.driven.sticking import SLACK, ways
from stribeck.ident.model.load_arrays import JointLoads

_FIRST = 1e-3  # length of the first trial step [s]
# shortest step, as a fraction of the time; times that are closer count as equal
_LEAST = 1e-13
# allowed number of successive stops and starts of joints within _RIGHT_AFTER of each other
_EVENTS = 20
_RIGHT_AFTER = 1e-6  # longest interval between such stops and starts [s]
_INSTANT = 1e-13  # accuracy of the time of a stop or start [s]
# parts of a step at which events between its points are sought
_LOOKS = np.linspace(0.05, 1.0, 20)
_SEEN = 1e-9  # relative negative reserve between the points that counts as an event
# rad/s, or characteristic lengths/s; smaller speeds cannot be distinguished from zero
_NONE = 1e-13
# rad/s, or characteristic lengths/s; a joint that has stopped is below this speed
_AT_REST = 1e-10


@dataclass(frozen=True)
class Event:
    """A joint that stops or breaks loose.

    Attributes
    ----------
    t : float
        Time [s].
    joint : str
        Name of the joint.
    what : str
        "sticks", "turns back" or "breaks loose".
    """

    t: float
    joint: str
    what: str


@dataclass(frozen=True)
class ForwardMotion:
    """Motion of a mechanism, with torques, work, friction and loads.

    Attributes
    ----------
    t : ndarray, shape (N,)
        Times [s].
    q, dq, ddq : ndarray, shape (N, n)
        Positions, velocities and accelerations.
    tau : ndarray, shape (N, n)
        Driving torques; zero in passive joints [N·m or N].
    driven, rubbed, damped : ndarray, shape (N,)
        Work of the drives, energy dissipated by friction, and energy dissipated by dampers of
        springs, since the first time [J].
    events : tuple of Event
        Joints that stopped or broke loose.
    friction : ndarray, shape (N, n)
        Friction torques, including the static friction of joints that stick [N·m or N].
    loads : JointLoads
        Loads of the tree's joints, with the effect of cut-joint forces.
    force, moment : ndarray, shape (N, closures, 3)
        Force and moment that link b of each closure exerts on link a [N, N·m].
    """

    t: Array
    q: Array
    dq: Array
    ddq: Array
    tau: Array
    driven: Array
    rubbed: Array
    damped: Array
    events: tuple[Event, ...]
    friction: Array
    loads: JointLoads
    force: Array
    moment: Array


class Simulation:
    """A simulation in progress, and its recorded results."""

    def __init__(
        self, equations: MotionEquations, t: ArrayLike, corners: ArrayLike, tolerance: float
    ) -> None:
        times, corners = np.asarray(t, dtype=float), np.asarray(corners, dtype=float)
        if times.ndim != 1 or not np.isfinite(times).all() or (np.diff(times) <= 0.0).any():
            raise InputError(
                f"t has shape {times.shape}, finite times [s] that increase are needed, with "
                "shape (N,)"
            )
        if not 0.0 < tolerance < 1.0:
            raise InputError(f"tolerance = {tolerance:g}, more than 0 and less than 1 is needed")
        self.equations, self.times, self.tolerance = equations, times, tolerance
        m, N = equations.m, len(times)
        self.acting: list[Forces] = []
        self.work, self.taken = np.zeros((N, 3)), np.zeros(3)
        self.events: list[Event] = []
        self.corners = np.unique(np.append(corners[np.isfinite(corners)], times[-1:]))
        self.damping = np.array(
            [m.springs[j].damping if j in m.springs else 0.0 for j in range(m.n)]
        )
        self.noted = 1  # number of recorded times
        # number of successive events within _RIGHT_AFTER of the previous event
        self.hurried = 0

    def run(self, q: Array, dq: Array) -> ForwardMotion:
        """Simulate and return the whole motion."""
        self._follow(q, dq)
        driven, rubbed, damped = self.work.T
        N = len(self.times)
        rows = {
            name: np.concatenate([getattr(forces, name) for forces in self.acting])[:N]
            for name in ("q", "dq", "ddq", "driven", "friction", "force", "moment")
        }
        loads = JointLoads(
            *(
                np.concatenate([getattr(forces.loads, one.name) for forces in self.acting])[:N]
                for one in fields(JointLoads)
            )
        )
        return ForwardMotion(
            self.times,
            rows["q"],
            rows["dq"],
            rows["ddq"],
            rows["driven"],
            driven,
            rubbed,
            damped,
            tuple(self.events),
            rows["friction"],
            loads,
            rows["force"],
            rows["moment"],
        )

    def _follow(self, q: Array, dq: Array) -> None:
        """Integrate step by step; restart after each event."""
        t = float(self.times[0]) if len(self.times) else 0.0
        way, forces = ways(self.equations, t, q, dq, dq == 0.0)
        self.acting.append(_held(forces, way))
        motion, h = SmoothMotion(self.equations, t, q, dq, way, self.tolerance), _FIRST
        while self.noted < len(self.times):
            stop = float(self.corners[np.searchsorted(self.corners, motion.t, side="right")])
            step, h = self._step(motion, h, stop - motion.t)
            part = self._until(motion, step)
            step = part or step
            self._note(motion.way, step)
            if part:
                motion, h = self._resumed(motion, step), min(h, max(step.h, _FIRST))
            else:
                motion.accept(step, stop)

    def _step(self, motion: SmoothMotion, h: float, room: float) -> tuple[Step, float]:
        """Return a step within the tolerance, of length `room` at most, and the length
        to try for the next step.
        """
        wanted = h
        h = room if h > 0.9 * room else h
        while h > _LEAST * max(1.0, abs(motion.t)):
            step = motion.step(h)
            grow = 0.0 if step is None else 0.8 * max(step.error, 1e-9) ** (-1.0 / (RADAU.s + 1))
            if step is not None and step.error <= 1.0:
                return step, max(h * min(4.0, grow), wanted if h == room else 0.0)
            shorter = h * min(0.7, max(0.1, grow)) if step is not None else h / 2.0
            before = None if step is None else self._crossing(motion.way, step)
            wanted = h = (
                shorter
                if before is None or 1.01 * before > 0.9
                else max(1.01 * before * h, shorter)
            )
        if motion.jammed:
            raise self.equations.no_balance(motion.t)
        led = self.equations.prescribed.joints
        cause = (
            "the prescribed motion of the drives jumps, or leads to a posture where the loops "
            "stop closing"
            if led
            else "the torque jumps with time, position or velocity, or the mechanism reaches a "
            "dead point; make the torque "
            "continuous"
        )
        raise InputError(
            f"{self.equations.m.name}: even the shortest time step fails at t = {motion.t:.9g} s: "
            f"{cause}"
        )

    def _reserve(self, way: Array, forces: Forces) -> Array:
        """Return the reserve before an event, shape (N, n): speed of a sliding joint, break-away
        torque minus held torque of a joint that sticks. A negative value means that the joint
        has stopped or broken loose.
        """
        m, jumps, balls = (
            self.equations.m,
            self.equations.rubbing.jumps,
            self.equations.rubbing.balls,
        )
        if not self.equations.rubbing.sticking.any():
            return np.ones_like(forces.dq)
        level = self.equations.rubbing.level(forces.loads)
        held = level + 2.0 * SLACK * (1.0 + level) - np.abs(forces.lacking)
        speed = way * forces.dq / self.equations.unit + _NONE
        reserve = np.where(jumps, np.where(way == 0.0, held, speed), 1.0)
        for state, left in ((0.0, lambda *of: 2.0 * SLACK - beyond(*of)), (TURNS, left_of_speed)):
            if which := tuple(k for k in balls if way[m.balls[k].joints[0]] == state):
                reserve[:, [m.balls[k].joints[0] for k in which]] = left(m, which, forces)
        return reserve

    def _crossing(self, way: Array, step: Step) -> float | None:
        """Return the part of a step by which a first joint has stopped or broken
        loose; None without an event.
        """
        reserve = self._reserve(way, step.forces)
        past = (RADAU.through(_LOOKS) @ reserve).min(axis=1) < -_SEEN * (
            1.0 + np.abs(reserve).max()
        )
        return min(
            [
                float(looks[hit][0])
                for looks, hit in ((_LOOKS, past), (RADAU.c, reserve.min(axis=1) < 0.0))
                if hit.any()
            ],
            default=None,
        )

    def _until(self, motion: SmoothMotion, step: Step) -> Step | None:
        """Return the step shortened to the first stop or break-away of a
        joint; None without an event.
        """
        before = self._crossing(motion.way, step)
        if before is None:
            return None
        found: dict[float, Step] = {step.h: step}

        def least(h: float) -> float:
            if h not in found:
                part = motion.step(h, step)
                if part is None:
                    raise self.equations.no_balance(motion.t)
                found[h] = part
            return float(self._reserve(motion.way, found[h].forces)[-1].min())

        looks = np.unique(np.concatenate((_LOOKS, RADAU.c)))
        for part in looks[looks >= before]:
            if least(step.h * float(part)) < 0.0:
                break
        else:
            return None
        high = step.h * float(part)
        low = (
            high / 2.0
            if part == looks[0]
            else step.h * float(looks[np.searchsorted(looks, part) - 1])
        )
        while low > _INSTANT and least(low) <= 0.0:
            low, high = low / 2.0, low
        if low > _INSTANT:
            root = brentq(least, low, high, xtol=_INSTANT, rtol=1e-15)
            high = min(root + 2.0 * _INSTANT, high)
        least(high)
        return found[high]

    def _resumed(self, motion: SmoothMotion, step: Step) -> SmoothMotion:
        """Return the motion that starts after an event at the end of a step."""
        m, rubbing, t = self.equations.m, self.equations.rubbing, step.t + step.h
        q, dq = step.forces.q[-1], step.forces.dq[-1]
        resting = rubbing.jumps & (np.abs(dq) <= _AT_REST * self.equations.unit)
        stopped = left_of_speed(m, rubbing.balls, step.forces)[-1] <= 0.0 if rubbing.balls else ()
        for k, stops in zip(rubbing.balls, stopped, strict=True):
            way = motion.way[m.balls[k].joints[0]]
            resting[list(m.balls[k].joints)] = way == 0.0 or (stops and way == TURNS)
        place = self.equations.about(q, resting)
        still = np.zeros((1, place.k))
        dq = place.motion(
            np.array([t]), still, place.rates(dq)[None], still, np.zeros((1, place.r))
        )[1][0]
        way, _ = ways(self.equations, t, q, dq, resting)
        changed = np.flatnonzero(np.sign(way) != np.sign(motion.way))
        called = {j: ball.name for ball in m.balls for j in ball.joints}
        self.events += dict.fromkeys(
            Event(
                t,
                called.get(j, m.names[j]),
                "sticks" if way[j] == 0.0 else "turns back" if motion.way[j] else "breaks loose",
            )
            for j in changed.tolist()
        )
        self.hurried = self.hurried + 1 if step.h < _RIGHT_AFTER else 0
        if self.hurried > _EVENTS:
            raise InputError(
                f"{m.name}: joints stop and start more than {_EVENTS} times within "
                f"{_EVENTS * _RIGHT_AFTER:g} s at t = {t:g} s; a torque that jumps with position "
                "or velocity can cause this; make the torque continuous"
            )
        return SmoothMotion(self.equations, t, q, dq, way, self.tolerance)

    def _note(self, way: Array, step: Step) -> None:
        """Record the motion at the requested times within a step, and the
        work of drives and friction.
        """
        f = step.forces
        power = np.stack(
            (
                np.sum(f.driven * f.dq, axis=1),
                np.sum(f.friction * f.dq, axis=1) + f.rubbed,
                np.sum(self.damping * f.dq**2, axis=1),
            ),
            axis=1,
        )
        end = step.t + step.h
        first, self.noted = (
            self.noted,
            int(np.searchsorted(self.times, end + _LEAST * max(1.0, abs(end)), side="right")),
        )
        if self.noted > first:
            rows = slice(first, self.noted)
            theta = np.clip((self.times[rows] - step.t) / step.h, 0.0, 1.0)
            nearest = np.abs(theta[:, None] - RADAU.c).argmin(axis=1)
            self.acting.append(
                _held(
                    self.equations.settled(
                        step.place, way, self.times[rows], *step.at(theta), step.slopes.J[nearest]
                    ),
                    way,
                )
            )
            self.work[rows] = self.taken + step.total(power, theta)
        self.taken = self.taken + step.total(power, np.ones(1))[0]


def _held(forces: Forces, way: Array) -> Forces:
    """Return the forces with static friction of joints that stick included in the friction."""
    return replace(forces, friction=forces.friction + np.where(way == 0.0, forces.lacking, 0.0))
