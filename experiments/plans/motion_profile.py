"""Motion profiles: the course of a segment over time, and the robot time that follows from it."""

from dataclasses import dataclass, replace

import numpy as np

from stribeck.experiments.plans.plan import Plan, Segment
from stribeck.ident.arm.arm_file import ArmFile, Limits
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.arrays import Array

ACCELERATION_SHARE = 0.6        # fraction of the acceleration limit that ramps of speed use; the rest is room to brake
MOVE_SHARE = 0.5                # fraction of the velocity limit that moves between postures use
RAMP_TORQUE_SHARE = 0.9         # fraction of the torque limit at which a ramp of torque ends
DWELL = 0.15                    # s of rest after every segment
_CORNERS = 16                   # points a pass at which the way of a swing is checked
_KNOTS = 16                     # set-points of a pass of a swing
_WAVE_KNOTS = 32                # and of a period of the highest harmonic of a wave


@dataclass(frozen=True)
class Trapezoid:
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


@dataclass(frozen=True)
class Wave:
    """Periodic motion: each joint's way from where it starts as a Fourier series, over time; at rest at both ends.

    Attributes
    ----------
    sines, cosines : ndarray, shape (n, H)
        Amplitudes of its harmonics [rad or m].
    period, duration : float
        Of the first harmonic, and time of the motion without dwell [s].
    """

    sines: Array
    cosines: Array
    period: float
    duration: float

    @property
    def _frequencies(self) -> Array:
        """Of the harmonics, shape (H,) [rad/s]."""
        return np.asarray(2.0 * np.pi / self.period * np.arange(1, self.sines.shape[1] + 1))

    @property
    def fastest(self) -> Array:
        """Greatest speed of each joint, shape (n,) [rad/s or m/s]."""
        return np.asarray(np.abs(self(self.close(_CORNERS))[1]).max(axis=0))

    @property
    def knots(self) -> Array:
        """Times between which cubics follow the series [s]."""
        return self.close(_WAVE_KNOTS)

    def close(self, places: int) -> Array:
        """Times so many of which lie in each period of the highest harmonic [s]."""
        return np.linspace(0.0, self.duration, places * round(self.duration / self.period * self.sines.shape[1]) + 1)

    def __call__(self, t: Array) -> tuple[Array, Array]:
        """Ways from the start and their rates at times t since the start [s], each shape (N, n)."""
        w, angle = self._frequencies, np.outer(np.clip(t, 0.0, self.duration), self._frequencies)
        s, c = np.sin(angle), np.cos(angle)
        inside = ((t > 0.0) & (t < self.duration))[:, None]
        return s @ self.sines.T + (c - 1.0) @ self.cosines.T, inside * ((c * w) @ self.sines.T - (s * w) @ self.cosines.T)

    def accelerations(self, t: Array) -> Array:
        """Accelerations at times t of the motion, shape (N, n) [rad/s² or m/s²]."""
        square, angle = self._frequencies**2, np.outer(t, self._frequencies)
        return np.asarray(-(np.sin(angle) * square) @ self.sines.T - (np.cos(angle) * square) @ self.cosines.T)


def course(motion: Trapezoid | Swing | Wave, t: Array, start: Array, segment: Segment) -> tuple[Array, Array]:
    """Positions and velocities of all joints at times of a segment's motion, shape (N, n)."""
    s, ds = (np.reshape(part, (len(t), -1)) for part in motion(t))
    way = np.ones(len(start)) if isinstance(motion, Wave) else np.array(segment.target) - start
    return start + s * way, ds * way


def motion_profile(start: Array, segment: Segment, names: tuple[str, ...], limits: Limits) -> Trapezoid | Swing | Wave:
    """Motion of a segment from `start`: a move as fast as all joints allow, all others at their own speed."""
    if segment.wave is not None:
        wave = segment.wave
        return Wave(np.array(wave.sines), np.array(wave.cosines), wave.period, wave.period * wave.periods)
    way = np.abs(np.array(segment.target) - start)
    moving = way > 0.0
    if segment.kind == "swing":
        leader = names.index(str(segment.joint))
        passes = np.array(segment.swings, dtype=float)
        return Swing(passes, float(np.pi * passes[leader] * way[leader] / (2.0 * (segment.speed or 0.0))))
    if not moving.any():
        return Trapezoid(1.0, 1.0, 0.0)
    acceleration = float(np.min(ACCELERATION_SHARE * limits.acceleration[moving] / way[moving]))
    if segment.kind != "move" and segment.speed is not None:
        speed = float(np.max(segment.speeds(start, names)[moving] / way[moving]))
    else:
        speed = float(np.min(MOVE_SHARE * limits.velocity[moving] / way[moving]))
    speed = min(speed, float(np.sqrt(acceleration)))       # a triangle where the way is short
    return Trapezoid(speed, acceleration, 1.0 / speed + speed / acceleration)


def corner_points(start: Array, segment: Segment) -> Array:
    """Points between which a segment goes straight, or as good as, shape (K, n)."""
    target = np.array(segment.target)
    if segment.wave is not None:
        wave = Wave(np.array(segment.wave.sines), np.array(segment.wave.cosines), segment.wave.period, segment.wave.period)
        return np.asarray(start + wave(wave.close(_CORNERS))[0])
    if segment.kind != "swing":
        return np.array([start, target])
    passes = np.array(segment.swings, dtype=float)
    s, _ = Swing(passes, 1.0)(np.linspace(0.0, 1.0, _CORNERS * int(passes.max()) + 1))
    return np.asarray(start + s * (target - start))


def robot_time(plan: Plan, limits: Limits) -> float:
    """Time that the plan takes on the arm [s]."""
    return sum(motion_profile(start, segment, plan.names, limits).duration + ramp_time(segment, plan.names, limits) + DWELL
               for start, segment in plan.legs())


def ramp_time(segment: Segment, names: tuple[str, ...], limits: Limits) -> float:
    """Rest and ramp of a segment; a joint usually breaks loose long before its torque has grown that far [s]."""
    if segment.kind != "ramp":
        return 0.0
    torque = float(limits.torque[names.index(str(segment.joint))])
    return (segment.dwell or 0.0) + RAMP_TORQUE_SHARE * torque / abs(segment.rate or np.inf)


def with_robot_time(plan: Plan, arm: ArmFile) -> Plan:
    """The plan with its predicted robot time filled in."""
    return replace(plan, robot_time=robot_time(plan, arm.limits(load_mechanism(arm))))
