"""Motion profiles: positions of a segment over time, and robot time."""

from dataclasses import dataclass, replace

import numpy as np

from stribeck.experiments.plans.plan import Plan, Segment
from stribeck.ident.arm.arm_file import Limits
from stribeck.ident.arrays import Array

# fraction of the acceleration limit used by speed ramps; the rest is reserved for braking
ACCELERATION_SHARE = 0.6
MOVE_SHARE = 0.5  # fraction of the velocity limit used by moves between postures
RAMP_TORQUE_SHARE = 0.9  # fraction of the torque limit at which a torque ramp ends
DWELL = 0.15  # s of rest after every segment
_CORNERS = 16  # points per pass at which the speed of a wave is found,
_WAY = 2 * _CORNERS  # and at which the path of a swing or wave is checked
_KNOTS = 16  # set-points per pass of a swing
_WAVE_KNOTS = 32  # set-points per period of the highest harmonic of a wave


@dataclass(frozen=True)
class Trapezoid:
    """Trapezoidal velocity profile on a straight path: path fraction, 0 to 1, over time.

    Attributes
    ----------
    speed, acceleration : float
        Highest rate and acceleration of the path fraction [1/s, 1/s²]; on a short path
        the rate that is reached.
    duration : float
        Time of the motion without dwell [s].
    """

    speed: float
    acceleration: float
    duration: float

    @property
    def fastest(self) -> float:
        """Highest rate of the path fraction [1/s]."""
        return self.speed if self.duration > 0.0 else 0.0

    @property
    def knots(self) -> Array:
        """Times at which the acceleration changes [s]."""
        ramp = self.speed / self.acceleration if self.duration > 0.0 else 0.0
        return np.unique([0.0, ramp, self.duration - ramp, self.duration])

    def __call__(self, t: Array) -> tuple[Array, Array]:
        """Path fraction and its rate at times t since the start [s]."""
        ramp = self.speed / self.acceleration
        t = np.clip(t, 0.0, self.duration)
        rising, falling = np.minimum(t, ramp), np.minimum(self.duration - t, ramp)
        s = np.where(
            t <= self.duration / 2.0,
            0.5 * self.acceleration * rising**2 + self.speed * (t - rising),
            1.0 - 0.5 * self.acceleration * falling**2 - self.speed * (self.duration - t - falling),
        )
        return s, np.minimum(self.acceleration * np.minimum(rising, falling), self.speed)


@dataclass(frozen=True)
class Swing:
    """Oscillation: path fraction of each joint over time, as a cosine.

    Attributes
    ----------
    swings : ndarray, shape (n,)
        Number of passes of each joint.
    duration : float
        Time of the motion without dwell [s].
    """

    swings: Array
    duration: float

    @property
    def fastest(self) -> Array:
        """Highest rate of each joint's path fraction [1/s]."""
        return np.asarray(0.5 * np.pi * self.swings / self.duration)

    @property
    def knots(self) -> Array:
        """Times between which cubic polynomials approximate the cosine [s]."""
        return np.linspace(0.0, self.duration, _KNOTS * int(self.swings.max()) + 1)

    def __call__(self, t: Array) -> tuple[Array, Array]:
        """Path fractions and their rates at times t since the start [s], each shape (N, n)."""
        rate = np.pi * self.swings / self.duration
        angle = np.clip(t, 0.0, self.duration)[:, None] * rate
        return 0.5 - 0.5 * np.cos(angle), 0.5 * rate * np.sin(angle)


@dataclass(frozen=True)
class Wave:
    """Periodic motion: displacement of each joint from its start as a Fourier
    series; at rest at both ends.

    Attributes
    ----------
    sines, cosines : ndarray, shape (n, H)
        Amplitudes of the harmonics [rad or m].
    period, duration : float
        Period of the first harmonic, and time of the motion without dwell [s].
    """

    sines: Array
    cosines: Array
    period: float
    duration: float

    @property
    def _frequencies(self) -> Array:
        """Angular frequencies of the harmonics, shape (H,) [rad/s]."""
        return np.asarray(2.0 * np.pi / self.period * np.arange(1, self.sines.shape[1] + 1))

    @property
    def fastest(self) -> Array:
        """Highest speed of each joint, shape (n,) [rad/s or m/s]."""
        return np.asarray(np.abs(self(self.close(_CORNERS))[1]).max(axis=0))

    @property
    def knots(self) -> Array:
        """Times between which cubic polynomials approximate the series [s]."""
        return self.close(_WAVE_KNOTS)

    def close(self, places: int) -> Array:
        """Times with `places` steps in each period of the highest harmonic [s]."""
        return np.linspace(
            0.0,
            self.duration,
            places * round(self.duration / self.period * self.sines.shape[1]) + 1,
        )

    def __call__(self, t: Array) -> tuple[Array, Array]:
        """Displacements from the start and their rates at times t since the
        start [s], each shape (N, n).
        """
        w, angle = self._frequencies, np.outer(np.clip(t, 0.0, self.duration), self._frequencies)
        s, c = np.sin(angle), np.cos(angle)
        inside = ((t > 0.0) & (t < self.duration))[:, None]
        return s @ self.sines.T + (c - 1.0) @ self.cosines.T, inside * (
            (c * w) @ self.sines.T - (s * w) @ self.cosines.T
        )

    def accelerations(self, t: Array) -> Array:
        """Accelerations at times t of the motion, shape (N, n) [rad/s² or m/s²]."""
        square, angle = self._frequencies**2, np.outer(t, self._frequencies)
        return np.asarray(
            -(np.sin(angle) * square) @ self.sines.T - (np.cos(angle) * square) @ self.cosines.T
        )


def course(
    motion: Trapezoid | Swing | Wave, t: Array, start: Array, segment: Segment
) -> tuple[Array, Array]:
    """Positions and velocities of all joints at times t of a segment's motion, shape (N, n)."""
    s, ds = (np.reshape(part, (len(t), -1)) for part in motion(t))
    way = np.ones(len(start)) if isinstance(motion, Wave) else np.array(segment.target) - start
    return start + s * way, ds * way


def motion_profile(
    start: Array, segment: Segment, names: tuple[str, ...], limits: Limits
) -> Trapezoid | Swing | Wave:
    """Motion of a segment from `start`; a move is as fast as all joints allow, other
    kinds have their own speed.
    """
    if segment.wave is not None:
        wave = segment.wave
        return Wave(
            np.array(wave.sines), np.array(wave.cosines), wave.period, wave.period * wave.periods
        )
    way = np.abs(np.array(segment.target) - start)
    moving = way > 0.0
    if segment.kind == "swing":
        leader = names.index(str(segment.joint))
        passes = np.array(segment.swings, dtype=float)
        return Swing(
            passes, float(np.pi * passes[leader] * way[leader] / (2.0 * (segment.speed or 0.0)))
        )
    if not moving.any():
        return Trapezoid(1.0, 1.0, 0.0)
    acceleration = float(np.min(ACCELERATION_SHARE * limits.acceleration[moving] / way[moving]))
    if segment.kind != "move" and segment.speed is not None:
        speed = float(np.max(segment.speeds(start, names)[moving] / way[moving]))
    else:
        speed = float(np.min(MOVE_SHARE * limits.velocity[moving] / way[moving]))
    # on a short path, the profile is a triangle
    speed = min(speed, float(np.sqrt(acceleration)))
    return Trapezoid(speed, acceleration, 1.0 / speed + speed / acceleration)


def corner_points(start: Array, segment: Segment) -> Array:
    """Points between which the path of a segment is straight or nearly straight, shape (K, n)."""
    target = np.array(segment.target)
    if segment.wave is not None:
        wave = Wave(
            np.array(segment.wave.sines),
            np.array(segment.wave.cosines),
            segment.wave.period,
            segment.wave.period,
        )
        return np.asarray(start + wave(wave.close(_WAY))[0])
    if segment.kind != "swing":
        return np.array([start, target])
    passes = np.array(segment.swings, dtype=float)
    s, _ = Swing(passes, 1.0)(np.linspace(0.0, 1.0, _WAY * int(passes.max()) + 1))
    return np.asarray(start + s * (target - start))


def robot_time(plan: Plan, limits: Limits) -> float:
    """Predicted time of the plan on the arm [s]."""
    return sum(
        motion_profile(start, segment, plan.names, limits).duration
        + ramp_time(segment, plan.names, limits)
        + rest_after(segment)
        for start, segment in plan.legs()
    )


def rest_after(segment: Segment) -> float:
    """Time of rest after a segment's motion [s]."""
    return DWELL + (segment.dwell or 0.0 if segment.kind == "move" else 0.0)


def ramp_time(segment: Segment, names: tuple[str, ...], limits: Limits) -> float:
    """Longest time of rest and torque ramp of a segment [s]; joints usually
    break loose much earlier.
    """
    if segment.kind != "ramp":
        return 0.0
    torque = float(limits.torque[names.index(str(segment.joint))])
    return (segment.dwell or 0.0) + RAMP_TORQUE_SHARE * torque / abs(segment.rate or np.inf)


def with_robot_time(plan: Plan, limits: Limits) -> Plan:
    """Return the plan with its predicted robot time."""
    return replace(plan, robot_time=robot_time(plan, limits))
