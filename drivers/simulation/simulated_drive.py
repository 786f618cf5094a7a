"""The velocity loop and the friction of a simulated joint, computed between physics steps.

Values are plain floats, with one object per joint: for a handful of joints
this is faster than arrays.
"""

from dataclasses import dataclass
from math import exp, isfinite, nan, pi, sin

from stribeck.drivers.simulation.friction_heat import HeatedBody
from stribeck.drivers.simulation.truth import JointTruth, gear_loss

STANDSTILL = 1e-4  # rad/s below which a joint counts as at rest
# limit of speed over Stribeck velocity: the Stribeck part is zero there, and a power could overflow
_FAR = 1e6


@dataclass(slots=True)
class VelocityLoop:
    """A PI velocity controller with an acceleration limit on its set-point and a
    torque limit on its output.

    Attributes
    ----------
    kp, ki : float
        Gains [N·m·s/rad, N·m/rad per step].
    torque_limit : float
        Limit of torque and integral [N·m].
    ramp : float
        Largest change of the set-point in a step [rad/s].
    integral, setpoint : float
        State of the controller [N·m, rad/s].
    told : float or None
        Torque of the drive in torque mode [N·m]; None in velocity mode.
    """

    kp: float
    ki: float
    torque_limit: float
    ramp: float
    integral: float
    setpoint: float = 0.0
    told: float | None = None

    def torque(self, target: float, dq: float) -> float:
        """Return the torque for the next step [N·m]."""
        change, limit = target - self.setpoint, self.torque_limit
        self.setpoint += (
            self.ramp if change > self.ramp else -self.ramp if change < -self.ramp else change
        )
        error = self.setpoint - dq
        integral = self.integral + self.ki * error
        self.integral = integral = (
            limit if integral > limit else -limit if integral < -limit else integral
        )
        torque = self.kp * error + integral if self.told is None else self.told
        return limit if torque > limit else -limit if torque < -limit else torque


@dataclass(slots=True)
class StiffLoop(VelocityLoop):
    """The same controller with the velocity at the end of a step (implicit);
    stable for any stiffness.

    A real drive computes its loop many times during such a step. The torque kp (w - dq) at the end
    of a step dt equals the torque at the begin of the step acting on an inertia that is larger by
    dt kp. `push` returns both for the physics step, so that friction acts as it would in short
    steps. `settle` returns the torque that resulted.

    Attributes
    ----------
    dt : float
        Duration of a physics step [s].
    yielding : float
        Part of a velocity error that this loop alone leaves at the end of a step.
    """

    dt: float = 1e-3
    yielding: float = 1.0

    def push(self, target: float, dq: float) -> tuple[float, float]:
        """Return the torque at the begin of the next step, and the additional inertia
        for this step [N·m, kg·m²].
        """
        change, limit = target - self.setpoint, self.torque_limit
        self.setpoint += (
            self.ramp if change > self.ramp else -self.ramp if change < -self.ramp else change
        )
        if self.told is not None:
            return (
                limit if self.told > limit else -limit if self.told < -limit else self.told
            ), 0.0
        expected = self.kp * (self.setpoint - dq) * self.yielding
        most, least = limit - self.integral, -limit - self.integral
        expected = most if expected > most else least if expected < least else expected
        return self.integral + expected / self.yielding, self.kp * self.dt

    def settle(self, pushed: float, inertia: float, before: float, dq: float) -> float:
        """Return the torque of the step that changed the velocity from `before` to `dq` [N·m]."""
        torque, limit = pushed - inertia / self.dt * (dq - before), self.torque_limit
        integral = self.integral + self.ki * (self.setpoint - dq)
        self.integral = limit if integral > limit else -limit if integral < -limit else integral
        return limit if torque > limit else -limit if torque < -limit else torque


class Friction:
    """True friction of one joint, with ripple, warm-up, growth of static friction at rest
    and scatter between strokes.

    Parameters
    ----------
    truth : JointTruth
        Friction law and imperfections.
    phase : float
        Phase of the ripple at the joint's zero [rad].
    dt : float
        Duration of a physics step [s].

    Attributes
    ----------
    stroke : float
        Friction level of the present stroke over the level of the law.
    body : HeatedBody or None
        The body that friction heats, if its temperature changes friction.
    """

    __slots__ = (
        "_breakaway",
        "_breakaway_time",
        "_coulomb",
        "_drop",
        "_dt",
        "_exponent",
        "_phase",
        "_rest",
        "_slowness",
        "_truth",
        "body",
        "stroke",
    )

    def __init__(self, truth: JointTruth, phase: float, dt: float) -> None:
        self.stroke = 1.0
        self._truth, self._phase, self._dt = truth, phase, dt
        self._slowness, self._exponent = 1.0 / truth.stribeck_velocity, truth.stribeck_exponent
        self._breakaway, self._breakaway_time = truth.breakaway, truth.breakaway_time
        self._coulomb, self._drop, self._rest = 0.0, 0.0, 0.0
        self.body = None if truth.heat is None else HeatedBody.cold(truth.heat)

    def settle(self, time: float, q: float, dq: float, load: float, transmitted: float) -> float:
        """Set the friction level for load, temperature and position of this cycle;
        return its damping [N·m·s/rad].
        """
        truth, level = self._truth, self.stroke
        if truth.warm_up:
            level *= 1.0 + truth.warm_up * exp(-time / truth.warm_up_time)
        damping = truth.viscous * level
        if truth.ripple:
            place = 2.0 * pi / truth.ripple_period * q + self._phase
            # nan if the simulation diverged
            level *= 1.0 + truth.ripple * (sin(place) if isfinite(place) else nan)
        coulomb = (truth.coulomb + truth.coulomb_coefficient * load) * level
        static = (truth.static + truth.static_coefficient * load) * level
        self._coulomb, self._drop = coulomb, static - coulomb
        body = self.body
        if body is not None:
            damping *= body.viscous
            self._coulomb, self._drop = coulomb * body.dry, self._drop * body.dry * body.static
            self._slowness = 1.0 / (truth.stribeck_velocity * body.slow)
        if truth.efficiency < 1.0:
            self._coulomb += float(gear_loss(truth.efficiency, dq, transmitted)) * level
        if body is not None:
            body.advance(time, abs(dq) * (self._level(dq) + damping * abs(dq)))
        return damping

    def wait(self, duration: float) -> None:
        """Let the joint rest for a time [s], in which friction at rest grows."""
        self._rest += duration

    def dry(self, dq: float) -> float:
        """Return the level of dry friction in the next step [N·m]."""
        level = self._level(dq)
        if self._breakaway:
            self._rest = self._rest + self._dt if abs(dq) < STANDSTILL else 0.0
            level *= 1.0 + self._breakaway * self._rest / (self._rest + self._breakaway_time)
        return level

    def _level(self, dq: float) -> float:
        """Return the level of dry friction in sliding [N·m]."""
        if not self._drop:
            return self._coulomb
        speed = abs(dq) * self._slowness
        return self._coulomb + self._drop * exp(
            -speed * speed if self._exponent == 2.0 else -(min(speed, _FAR) ** self._exponent)
        )
