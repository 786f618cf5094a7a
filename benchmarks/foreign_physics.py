"""Independent simulator of an arm: Pinocchio's M(q) and bias forces; integrator, drive loop and
friction without our code.

The drive updates its torque in every step of half a millisecond. Velocities follow from impulses
(Moreau's time stepping). Dry friction is the impulse that stops a joint, limited by its level;
Gauss-Seidel iteration over the joints makes the impulses consistent. Instead of dry friction there
may be bristles (LuGre). Between motor and link there may be a spring with backlash.
"""

import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicHermiteSpline

Array = NDArray[np.float64]
RATE = 2000.0  # Hz; rate of physics and drive
_SWEEPS = 8  # largest number of Gauss-Seidel iterations
_AGREED = 1e-10  # rad/s; the iteration ends if velocities change by less
_SLOW = 2e-3  # rad/s; below this speed a joint may reverse within a step
_POSITION_GAIN = 12.0  # 1/s
_VELOCITY_GAIN = 2.0 * math.pi * 20.0  # 1/s, times the inertia at the start
_INTEGRAL_GAIN = 40.0  # 1/s, times the velocity gain
_DAMPING = 0.05  # damping ratio of the lighter of link and rotor on the spring
_STEP = 0.5  # rad; phase of the fastest oscillation per step


@dataclass(frozen=True)
class Ripple:
    """Periodic variation of friction with position: relative amplitude, waves per
    turn of the joint, and phase.
    """

    part: float
    waves: float
    phase: float = 0.0


@dataclass(frozen=True)
class JointTruth:
    """True friction of a joint as a function of speed, load, direction, position and time.

    Attributes
    ----------
    coulomb, static, viscous : float
        Coulomb and static level [N·m]; viscous torque at 1 rad/s. Without
        `static` there is no drop.
    stribeck_velocity, stribeck_exponent : float
        Velocity and exponent of the drop.
    viscous_power : float
        Viscous friction grows with this power of the speed.
    coulomb_coefficient, static_coefficient, viscous_coefficient : float
        Growth with the transmitted rigid-body torque; for viscous friction
        the relative growth per N·m.
    asymmetry : float
        Difference of forward and backward Coulomb friction, relative to their mean.
    ripples : tuple of Ripple
        Variation with position.
    warm_up, warm_up_time : float
        Excess of friction at the start relative to the warm joint, and time
        constant of its decay [s].
    bristle : float
        Stiffness of the bristles [N·m/rad]; 0 means dry friction that sticks.
    scatter : float
        Relative standard deviation of the level between segments; it is not part of the truth.
    """

    coulomb: float
    viscous: float
    static: float = 0.0
    stribeck_velocity: float = 0.05
    stribeck_exponent: float = 2.0
    viscous_power: float = 1.0
    coulomb_coefficient: float = 0.0
    static_coefficient: float = 0.0
    viscous_coefficient: float = 0.0
    asymmetry: float = 0.0
    ripples: tuple[Ripple, ...] = ()
    warm_up: float = 0.0
    warm_up_time: float = 60.0
    bristle: float = 0.0
    scatter: float = 0.0

    def dry(self, speed: float, load: float, direction: float, q: float, t: float) -> float:
        """Level of dry friction, unsigned [N·m]."""
        coulomb = self.coulomb + self.coulomb_coefficient * load
        level = coulomb
        if self.static:
            drop = self.static + self.static_coefficient * load - coulomb
            level += drop * math.exp(-((speed / self.stribeck_velocity) ** self.stribeck_exponent))
        level += 0.5 * direction * self.asymmetry * coulomb
        return level * self.unevenness(q) * self.coldness(t)

    def wet(self, speed: float, load: float, t: float) -> float:
        """Viscous friction, unsigned [N·m]."""
        power = speed if self.viscous_power == 1.0 else speed**self.viscous_power
        return self.viscous * (1.0 + self.viscous_coefficient * load) * power * self.coldness(t)

    def unevenness(self, q: float) -> float:
        """Dry friction relative to its mean over a turn of the joint."""
        factor = 1.0
        for ripple in self.ripples:
            factor *= 1.0 + ripple.part * math.sin(ripple.waves * q + ripple.phase)
        return factor

    def coldness(self, t: float) -> float:
        """Friction relative to the warm joint."""
        return 1.0 + self.warm_up * math.exp(-t / self.warm_up_time) if self.warm_up else 1.0

    def friction(self, speed: float, load: float, direction: float, q: float, t: float) -> float:
        """Magnitude of the whole friction [N·m]."""
        return self.dry(speed, load, direction, q, t) + self.wet(speed, load, t)


@dataclass(frozen=True)
class Gear:
    """Gear of every joint: natural frequency of the rotor before a locked link
    [Hz], and backlash [rad].
    """

    frequency: float
    play: float = 0.0


@dataclass(frozen=True)
class ForeignArm:
    """An arm that independent software drives.

    Attributes
    ----------
    urdf : Path
        Model of the arm.
    armature : tuple of float
        Inertia of the rotors at the joints [kg·m²].
    truths : dict of str to JointTruth
        Friction by joint, in the order of the model.
    torque_scale : dict of str to float
        Ratio of reported to true torque, if not 1: a wrong torque constant.
    payload : tuple of float
        Mass of an unknown payload and its centre of mass on the last link [kg, m].
    gear : Gear, optional
        Elasticity of the gears; default is rigid.
    torque_noise, encoder_step : float
        Noise of the logged torque and step of the logged positions [N·m, rad].
    """

    urdf: Path
    armature: tuple[float, ...]
    truths: dict[str, JointTruth]
    torque_scale: dict[str, float] = field(default_factory=dict)
    payload: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    gear: Gear | None = None
    torque_noise: float = 0.05
    encoder_step: float = 1e-5

    def model(self) -> Any:
        """Pinocchio model of the links, with the payload and without rotors."""
        import pinocchio as pin

        model = pin.buildModelFromUrdf(str(self.urdf))
        assert tuple(model.names)[1:] == tuple(self.truths)
        mass, *com = self.payload
        if mass:
            model.appendBodyToJoint(
                model.njoints - 1,
                pin.Inertia(mass, np.array(com), np.zeros((3, 3))),
                pin.SE3.Identity(),
            )
        return model

    def loads(self, q: Array, dq: Array) -> Array:
        """Magnitude of the transmitted rigid-body torque of every joint at constant
        speeds, shape (N, n) [N·m].
        """
        import pinocchio as pin

        model = self.model()
        data = model.createData()
        return np.array([np.abs(pin.nle(model, data, *state)) for state in zip(q, dq, strict=True)])


@dataclass(frozen=True)
class Log:
    """Log of the controller, one row for each set-point cycle: shapes (N,), (N, n), (N, n)."""

    t: Array
    q: Array
    tau: Array


def drive(
    arm: ForeignArm, t: Array, segment: NDArray[np.int64], q: Array, dq: Array, seed: int
) -> Log:
    """Follow set-points (N, n) at times (N,) with an independent drive loop, and log
    the signals of the motors.
    """
    rng = np.random.default_rng(seed)
    every = round(RATE * float(t[1] - t[0]))
    fine = np.arange(every * (len(t) - 1) + 1) / RATE
    path = CubicHermiteSpline(t, q, dq)
    wanted, rate = path(np.minimum(fine, t[-1])), path(np.minimum(fine, t[-1]), 1)
    levels = 1.0 + rng.normal(size=(int(segment.max()) + 2, q.shape[1])) * [
        truth.scatter for truth in arm.truths.values()
    ]
    motion = (_Soft if arm.gear else _Rigid)(arm, q[0])
    loop = _DriveLoop(motion.inertia, motion.bias)
    rows_q, rows_tau = np.empty_like(q), np.empty_like(q)
    targets, rates, scales = wanted.tolist(), rate.tolist(), levels.tolist()
    for step, (target, speed) in enumerate(zip(targets, rates, strict=True)):
        row, over = divmod(step, every)
        tau = loop(target, speed, motion.seen, motion.speed)
        if not over:
            rows_q[row], rows_tau[row] = motion.seen, tau
        motion.step(tau, step / RATE, scales[int(segment[row])])
    scale = np.array([arm.torque_scale.get(name, 1.0) for name in arm.truths])
    logged = rows_tau * scale + rng.normal(scale=arm.torque_noise, size=rows_tau.shape)
    return Log(t, np.round(rows_q / arm.encoder_step) * arm.encoder_step, logged)


class _DriveLoop:
    """Cascade of position, velocity and torque loop as in drives: P, then PI with velocity
    feed-forward of the set-point.
    """

    def __init__(self, inertia: list[float], bias: list[float]) -> None:
        self.gain = [_VELOCITY_GAIN * J for J in inertia]
        self.held = list(bias)

    def __call__(
        self, target: list[float], rate: list[float], q: list[float], v: list[float]
    ) -> list[float]:
        tau = []
        for j, gain in enumerate(self.gain):
            error = rate[j] + _POSITION_GAIN * (target[j] - q[j]) - v[j]
            self.held[j] += gain * _INTEGRAL_GAIN * error / RATE
            tau.append(gain * error + self.held[j])
        return tau


class _Friction:
    """Friction of all joints in a step: dry friction, limited by its levels, and given torques."""

    def __init__(self, arm: ForeignArm, inertia: list[float]) -> None:
        self.truths = list(arm.truths.values())
        self.bristles = [0.0] * len(self.truths)
        self.damping = [
            0.2 * math.sqrt(truth.bristle * J)
            for truth, J in zip(self.truths, inertia, strict=True)
        ]

    def at(
        self,
        q: list[float],
        v: list[float],
        load: list[float],
        t: float,
        level: list[float],
        dt: float,
    ) -> tuple[list[float], list[tuple[float, float]]]:
        """Signed given torques, and the limits of dry friction."""
        given, between = [], []
        for j, truth in enumerate(self.truths):
            speed, sign = abs(v[j]), math.copysign(1.0, v[j])
            there = level[j] * truth.dry(speed, load[j], sign, q[j], t)
            back = level[j] * truth.dry(speed, load[j], -sign, q[j], t) if speed < _SLOW else there
            wet = sign * truth.wet(speed, load[j], t)
            if truth.bristle:
                given.append(wet + self._bristle(j, truth, v[j], there, dt))
                between.append((0.0, 0.0))
            else:
                given.append(wet)
                between.append((-back, there) if sign > 0.0 else (-there, back))
        return given, between

    def _bristle(self, j: int, truth: JointTruth, v: float, level: float, dt: float) -> float:
        """LuGre: bristles deflect with the motion and slip at the level; an implicit step
        integrates their deflection.
        """
        before = self.bristles[j]
        after = (before + v * dt) / (1.0 + truth.bristle * abs(v) / level * dt)
        self.bristles[j] = after
        return truth.bristle * after + self.damping[j] * (after - before) / dt


class _Rigid:
    """Rigid connection of motor and link."""

    def __init__(self, arm: ForeignArm, q: Array) -> None:
        import pinocchio as pin

        self.pin, self.model = pin, arm.model()
        self.model.armature = np.array(arm.armature)
        self.data = self.model.createData()
        self.q, self.v = q.copy(), np.zeros(len(q))
        self.seen, self.speed, self.impulse = q.tolist(), [0.0] * len(q), [0.0] * len(q)
        self.inertia = self.pin.crba(self.model, self.data, self.q).diagonal().tolist()
        self.bias = self.pin.nle(self.model, self.data, self.q, self.v).tolist()
        self.friction = _Friction(arm, self.inertia)

    def step(self, tau: list[float], t: float, level: list[float]) -> None:
        """Integrate one time step."""
        bias = self.pin.nle(self.model, self.data, self.q, self.v)
        inverse = self.pin.computeMinverse(self.model, self.data, self.q)
        given, between = self.friction.at(
            self.seen, self.speed, np.abs(bias).tolist(), t, level, 1.0 / RATE
        )
        # start with friction of the previous step, which is nearly right while a joint slides
        held = self.impulse
        v = (self.v + inverse @ (np.array(tau) - bias - given - held) / RATE).tolist()
        rows = (inverse / RATE).tolist()
        for _ in range(_SWEEPS):
            most = 0.0
            for j, (low, high) in enumerate(between):
                own = rows[j][j]
                wanted = min(max(held[j] + v[j] / own, low), high)
                more = wanted - held[j]
                if more:
                    held[j] = wanted
                    for k in range(len(v)):
                        v[k] -= rows[k][j] * more
                    most = max(most, abs(own * more))
            if most < _AGREED:
                break
        self.v = np.array(v)
        self.q = self.q + self.v / RATE
        self.seen, self.speed = self.q.tolist(), v


class _Soft:
    """A spring with backlash between motor and link; friction and encoder are at the motor."""

    def __init__(self, arm: ForeignArm, q: Array) -> None:
        assert arm.gear is not None
        rigid = _Rigid(replace(arm, gear=None), q)
        self.pin, self.model, self.gear = rigid.pin, arm.model(), arm.gear
        self.data = self.model.createData()
        self.inertia, self.bias, self.friction = rigid.inertia, rigid.bias, rigid.friction
        stiffness = (2.0 * math.pi * self.gear.frequency) ** 2 * np.array(arm.armature)
        links = self.pin.crba(self.model, self.data, q).diagonal()
        self.stiffness = stiffness.tolist()
        self.damping = (
            2.0 * _DAMPING * np.sqrt(stiffness * np.minimum(links, arm.armature))
        ).tolist()
        self.parts = max(2, math.ceil(self._fastest(stiffness, q) / RATE / _STEP))
        self.rotor = list(arm.armature)
        self.q, self.v = q.tolist(), [0.0] * len(q)
        self.seen = [
            x + tau / K + math.copysign(0.5 * self.gear.play, tau)
            for x, tau, K in zip(self.q, self.bias, self.stiffness, strict=True)
        ]
        self.speed = [0.0] * len(q)

    def _fastest(self, stiffness: Array, q: Array) -> float:
        """Highest natural frequency of the links on their springs [rad/s]."""
        inverse = self.pin.computeMinverse(self.model, self.data, q)
        return float(np.sqrt(np.linalg.eigvals(inverse * stiffness).real.max()))

    def step(self, tau: list[float], t: float, level: list[float]) -> None:
        """Integrate one time step in substeps that are short for the springs."""
        for _ in range(self.parts):
            self._part(tau, t, level, 1.0 / RATE / self.parts)

    def _part(self, tau: list[float], t: float, level: list[float], dt: float) -> None:
        q, v = np.array(self.q), np.array(self.v)
        bias = self.pin.nle(self.model, self.data, q, v)
        given, between = self.friction.at(
            self.seen, self.speed, np.abs(bias).tolist(), t, level, dt
        )
        spring = [self._spring(j) for j in range(len(tau))]
        for j, (low, high) in enumerate(between):
            free = self.speed[j] + dt / self.rotor[j] * (tau[j] - spring[j] - given[j])
            dry = min(max(free * self.rotor[j] / dt, low), high)
            self.speed[j] = free - dt / self.rotor[j] * dry
            self.seen[j] += dt * self.speed[j]
        v = v + dt * (
            self.pin.computeMinverse(self.model, self.data, q) @ (np.array(spring) - bias)
        )
        self.v, self.q = v.tolist(), (q + dt * v).tolist()

    def _spring(self, j: int) -> float:
        """Torque on the link; zero within the backlash."""
        twist, half = self.seen[j] - self.q[j], 0.5 * self.gear.play
        if abs(twist) <= half:
            return 0.0
        return self.stiffness[j] * (twist - math.copysign(half, twist)) + self.damping[j] * (
            self.speed[j] - self.v[j]
        )
