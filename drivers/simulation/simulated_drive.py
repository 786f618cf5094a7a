"""A simulated joint between two physics steps: the velocity loop of its drive, and its friction.

Numbers are plain floats, one object a joint: for a handful of joints that is less work than arrays.
"""

from dataclasses import dataclass
from math import exp, isfinite, nan, pi, sin

from stribeck.drivers.simulation.truth import JointTruth, gear_loss

STANDSTILL = 1e-4         # rad/s below which a joint counts as at rest
_FAR = 1e6                 # Stribeck velocities; beyond, nothing is left to fade, and a power could overflow


@dataclass(slots=True)
class VelocityLoop:
    """A PI controller whose set-point changes within the acceleration limit and whose torque within the torque limit.

    Attributes
    ----------
    kp, ki : float
        Gains [N·m·s/rad, N·m/rad a step].
    torque_limit : float
        Of torque and integral [N·m].
    ramp : float
        What the set-point may change in a step [rad/s].
    integral, setpoint : float
        The state [N·m, rad/s].
    told : float or None
        The torque that the drive gives in torque mode [N·m].
    """

    kp: float
    ki: float
    torque_limit: float
    ramp: float
    integral: float
    setpoint: float = 0.0
    told: float | None = None

    def torque(self, target: float, dq: float) -> float:
        """Torque for the next step [N·m]."""
        change, limit = target - self.setpoint, self.torque_limit
        self.setpoint += self.ramp if change > self.ramp else -self.ramp if change < -self.ramp else change
        error = self.setpoint - dq
        integral = self.integral + self.ki * error
        self.integral = integral = limit if integral > limit else -limit if integral < -limit else integral
        torque = self.kp * error + integral if self.told is None else self.told
        return limit if torque > limit else -limit if torque < -limit else torque


@dataclass(slots=True)
class StiffLoop(VelocityLoop):
    """The same loop with velocities of a step's end, as a drive has it that computes many times a step: stable however stiff.

    Torque kp (w - dq) at the end of a step dt is that at its begin with dt kp of inertia more, which a step of the physics is
    asked for besides the `push`: so friction, too, meets what it meets in short steps. `settle` says what torque both gave.

    Attributes
    ----------
    dt : float
        Of a physics step [s].
    yielding : float
        Part of a velocity error that is left at a step's end by this loop alone.
    """

    dt: float = 1e-3
    yielding: float = 1.0

    def push(self, target: float, dq: float) -> tuple[float, float]:
        """Torque at the begin of the next step, and inertia for it [N·m, kg·m²]."""
        change, limit = target - self.setpoint, self.torque_limit
        self.setpoint += self.ramp if change > self.ramp else -self.ramp if change < -self.ramp else change
        if self.told is not None:
            return (limit if self.told > limit else -limit if self.told < -limit else self.told), 0.0
        expected = self.kp * (self.setpoint - dq) * self.yielding
        most, least = limit - self.integral, -limit - self.integral
        expected = most if expected > most else least if expected < least else expected
        return self.integral + expected / self.yielding, self.kp * self.dt

    def settle(self, pushed: float, inertia: float, before: float, dq: float) -> float:
        """Torque of the step that went from one velocity to another [N·m]."""
        torque, limit = pushed - inertia / self.dt * (dq - before), self.torque_limit
        integral = self.integral + self.ki * (self.setpoint - dq)
        self.integral = limit if integral > limit else -limit if integral < -limit else integral
        return limit if torque > limit else -limit if torque < -limit else torque


class Friction:
    """Friction of one joint by its truth, with ripple, warm-up, ageing at rest and the scatter of strokes.

    Parameters
    ----------
    truth : JointTruth
        Law and knobs.
    phase : float
        Of the ripple at the joint's zero [rad].
    dt : float
        Of a physics step [s].

    Attributes
    ----------
    stroke : float
        Level of the present stroke; 1 is the truth's.
    """

    __slots__ = ("_breakaway", "_breakaway_time", "_coulomb", "_drop", "_dt", "_exponent", "_phase", "_rest", "_slowness",
                 "_truth", "stroke")

    def __init__(self, truth: JointTruth, phase: float, dt: float) -> None:
        self.stroke = 1.0
        self._truth, self._phase, self._dt = truth, phase, dt
        self._slowness, self._exponent = 1.0 / truth.stribeck_velocity, truth.stribeck_exponent
        self._breakaway, self._breakaway_time = truth.breakaway, truth.breakaway_time
        self._coulomb, self._drop, self._rest = 0.0, 0.0, 0.0

    def settle(self, time: float, q: float, dq: float, load: float, transmitted: float) -> float:
        """Take load, temperature and place of the present cycle; returns the damping of it [N·m·s/rad]."""
        truth, level = self._truth, self.stroke
        if truth.warm_up:
            level *= 1.0 + truth.warm_up * exp(-time / truth.warm_up_time)
        damping = truth.viscous * level
        if truth.ripple:
            place = 2.0 * pi / truth.ripple_period * q + self._phase
            level *= 1.0 + truth.ripple * (sin(place) if isfinite(place) else nan)      # of a simulation that diverged
        coulomb = (truth.coulomb + truth.coulomb_coefficient * load) * level
        static = (truth.static + truth.static_coefficient * load) * level
        self._coulomb, self._drop = coulomb, static - coulomb
        if truth.efficiency < 1.0:
            self._coulomb += float(gear_loss(truth.efficiency, dq, transmitted)) * level
        return damping

    def wait(self, duration: float) -> None:
        """Let the joint rest for so long [s]; friction that grows at rest grows by it."""
        self._rest += duration

    def dry(self, dq: float) -> float:
        """What dry friction can hold in the next step [N·m]."""
        level = self._coulomb
        if self._drop:
            speed = abs(dq) * self._slowness
            level += self._drop * exp(-speed * speed if self._exponent == 2.0 else -min(speed, _FAR) ** self._exponent)
        if self._breakaway:
            self._rest = self._rest + self._dt if abs(dq) < STANDSTILL else 0.0
            level *= 1.0 + self._breakaway * self._rest / (self._rest + self._breakaway_time)
        return level
