"""Joints with play: motor, gap and link integrated in fine steps of time, independent of
`stribeck.ident.backlash`.

The drive's velocity loop moves the motor, not a given motion: motor and link exchange momentum, as
in the real gear. Dry friction of both bodies is Moreau's projection, or bristles (LuGre) at the
motor. Many joints are integrated side by side.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

Array = np.ndarray
DT = 5e-5  # s
GRAVITY = 9.81


@dataclass(frozen=True)
class Geared:
    """One joint: inertias of motor and link [kg·m²], friction of both [N·m], gear, gravity m g
    l [N·m], and its signals.
    """

    play: float = 3e-3
    stiffness: float = 2e4
    damping: float = 10.0
    motor: float = 0.3
    link: float = 0.8
    motor_friction: float = 3.0
    link_friction: float = 1.0
    viscous: float = 4.0
    gravity: float = 0.0  # amplitude of the gravity torque
    centre: float = 0.0  # position where gravity is zero [rad]
    # presliding distance of the motor's friction [rad]; 0: Coulomb friction
    bristles: float = 0.0
    encoder: float = 2e-5
    link_encoder: float = 2e-5
    noise: float = 0.1
    amplitude: float = 0.12
    acceleration: float = 1.0
    speed: float = 0.12
    seed: int = 0

    def load(self, q: Array) -> Array:
        """Gravity torque at positions [N·m]."""
        return np.asarray(self.gravity * np.sin(q - self.centre))

    def slope(self, q: Array) -> Array:
        """Derivative of the gravity torque [N·m/rad]."""
        return np.asarray(self.gravity * np.cos(q - self.centre))


@dataclass(frozen=True)
class Record:
    """Log of one joint."""

    t: Array
    q: Array
    q_link: Array
    tau: Array
    load: Array
    slope: Array
    inertia: float


def reference(joint: Geared, t: Array) -> Array:
    """Velocity of round trips with trapezoids of several speeds, and positions
    from their integral [rad/s].
    """
    rng = np.random.default_rng(joint.seed + 77)
    w, at, sign, k = np.zeros(len(t)), 0.5, 1.0, 0
    sizes = np.array([1.0, 0.4, 0.15])
    while at < t[-1]:
        speed = joint.speed * (1.0, 0.35, 0.12)[k // 2 % 3] * rng.uniform(0.8, 1.2)
        far = joint.amplitude * sizes[(k // 6) % 3]
        ramp = min(speed / joint.acceleration, far / speed)
        span = far / speed
        inside = t - at
        profile = np.clip(np.minimum(inside, span + ramp - inside) / ramp, 0.0, 1.0) * speed
        w += sign * profile * (inside > 0.0) * (inside < span + ramp)
        at += span + ramp
        sign, k = -sign, k + 1
    return w


def records(joints: Sequence[Geared], seconds: float = 20.0, rate: float = 500.0) -> list[Record]:
    """Return the logs of joints."""
    n, steps = len(joints), round(seconds / DT)
    every = round(1.0 / rate / DT)

    def of(key: str) -> Array:
        return np.array([getattr(one, key) for one in joints], dtype=float)

    t = np.arange(steps) * DT
    target = (
        np.array([reference(one, t[::10]) for one in joints]).repeat(10, axis=1)[:, :steps].T.copy()
    )
    b, K, D, B, J, fm, fl, kv, G, c, h = map(
        of,
        (
            "play",
            "stiffness",
            "damping",
            "motor",
            "link",
            "motor_friction",
            "link_friction",
            "viscous",
            "gravity",
            "centre",
            "bristles",
        ),
    )
    kp = 2.0 * np.pi * 25.0 * (B + J)
    ki = kp * 2.0 * np.pi * 6.0 * DT
    half, bristled = 0.5 * b, h > 0.0
    hard = np.where(bristled, fm / np.maximum(h, 1e-9), 0.0)
    dry = np.where(bristled, 0.0, fm)
    q = np.zeros(n)
    x = q - half * np.sign(-np.sin(c) * G) + np.sin(c) * G / K
    w, v, z, total = np.zeros(n), np.zeros(n), np.zeros(n), G * np.sin(-c)
    out = np.empty((steps // every, 3, n))
    for k in range(steps):
        error = target[k] - w
        total = total + ki * error
        tau = kp * error + total
        e = q - x
        over = e - np.minimum(np.maximum(e, -half), half)
        force = K * over + D * (w - v) * (over != 0.0)
        force = np.where(force * over > 0.0, force, 0.0)
        z = np.where(bristled, z + DT * (w - hard * np.abs(w) * z / fm), 0.0)
        loose = w + DT / B * (tau - force - kv * w - hard * z)
        stop = DT / B * dry
        w = loose - np.minimum(np.maximum(loose, -stop), stop)
        q = q + DT * w
        loose = v + DT / J * (force - G * np.sin(x - c))
        stop = DT / J * fl
        v = loose - np.minimum(np.maximum(loose, -stop), stop)
        x = x + DT * v
        if k % every == every - 1:
            out[k // every] = q, x, tau
    stamps = (np.arange(len(out)) + 1.0) / rate
    logs = []
    for j, one in enumerate(joints):
        rng = np.random.default_rng(one.seed)
        seen = _stepped(out[:, 0, j], one.encoder)
        logs.append(
            Record(
                stamps,
                seen,
                _stepped(out[:, 1, j] + rng.uniform(-0.01, 0.01), one.link_encoder),
                out[:, 2, j] + one.noise * rng.standard_normal(len(out)),
                one.load(seen),
                one.slope(seen),
                one.link,
            )
        )
    return logs


def _stepped(values: Array, step: float) -> Array:
    return np.rint(values / step) * step if step else values
