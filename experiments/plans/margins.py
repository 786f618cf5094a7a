"""Margins that plans keep: torque beside weight and inertia for friction, and way to stop in if the computer falls silent."""

from collections.abc import Sequence

import numpy as np

from stribeck.drivers.connect import holds_in_silence
from stribeck.drivers.wire.axis import BRAKE_CLOSES
from stribeck.drivers.wire.drive_keys import LinkKeys
from stribeck.experiments.plans.motion_profile import ACCELERATION_SHARE, Swing, Trapezoid, Wave
from stribeck.ident.arm.arm_file import ArmFile, Limits
from stribeck.ident.arrays import Array
from stribeck.ident.model.chains.posture_following import SINGULAR
from stribeck.ident.model.dynamics import inverse_dynamics
from stribeck.ident.model.mechanism import Mechanism

FRICTION_SHARE = 0.1        # of the torque limit that is left to friction: what `init` guesses of a joint at full speed
MAX_RIGID_SHARE = MAX_GRAVITY_SHARE = 1.0 - FRICTION_SHARE
PLANNED_SHARE = MAX_RIGID_SHARE - 0.02      # of weight and inertia: drives overshoot a little, and what they report is noisy
_RAMP = np.array([0.0, 0.5, 1.0])       # parts of a ramp's way, and of the way between the ramps, that are looked at
_CRUISE = np.linspace(0.0, 1.0, 5)
_PASS = 8                   # places of a pass of a swing,
_HARMONIC = 16              # and of a period of the highest harmonic of a wave
SILENT_CYCLES = 2           # beyond a watchdog's time: of a set-point on its way, and until a drive has looked at it


def gravity_share(mechanism: Mechanism, limits: Limits, q: Array) -> Array:
    """Gravity torque of every joint in postures (K, n), as a part of its limit, shape (K, n); 0 where there is none."""
    held = _needed(mechanism, q, np.zeros_like(q))
    return np.where(np.isnan(limits.torque), 0.0, held / limits.torque)


def silence(arm: ArmFile) -> float:
    """Time that drives go on by themselves once the computer falls silent, until their watchdogs act [s]; 0 if simulated.

    Where watchdogs take the power, as those of plug-ins may, brakes have still to close: by friction alone a joint goes on for
    so long at most, as it does after any fault that takes the power of a drive at once.
    """
    if arm.driver.kind == "simulated":
        return 0.0
    watchdog = float(arm.driver.model_dump().get("watchdog", LinkKeys.model_fields["watchdog"].default))
    acts = watchdog + SILENT_CYCLES / arm.driver.rate
    return max(acts, BRAKE_CLOSES) if holds_in_silence(arm) else acts + BRAKE_CLOSES


def run_on(speed: Array, acceleration: Array, silent: float) -> Array:
    """How far beyond its target a joint comes at most if the computer falls silent while it goes there, shape (n,) [rad or m].

    At v when the ramp down from `speed` begins, or later on it, it goes on for v T and brakes within v²/2a, where the ramp would
    have ended after v²/(2 s a), s = `ACCELERATION_SHARE`; the worst v is the highest, or where less speed on a shorter ramp
    leaves more.
    """
    gain = 0.5 / ACCELERATION_SHARE - 0.5
    v = np.minimum(speed, 0.5 * silent * acceleration / gain)
    return np.asarray(v * silent - gain * v**2 / acceleration)


def ways_share(mechanism: Mechanism, limits: Limits, start: Array, target: Array, rate: Array, acceleration: Array) -> Array:
    """Largest rigid-body torque on straight ways, as a part of each joint's limit.

    Parameters
    ----------
    start, target : ndarray, shape (K, n)
        Ends of the ways.
    rate, acceleration : ndarray, shape (K,)
        Of the fraction of the way: it grows with `acceleration` up to `rate`, and falls alike [1/s, 1/s²].

    Returns
    -------
    ndarray, shape (K, n)
        0 where a joint has no limit.
    """
    rate = np.minimum(rate, np.sqrt(acceleration))              # a triangle where the way is short
    ramp = np.minimum(0.5, rate**2 / (2.0 * acceleration))
    s = np.hstack((_RAMP * ramp[:, None], ramp[:, None] + _CRUISE * (1.0 - 2.0 * ramp[:, None]), 1.0 - _RAMP * ramp[:, None]))
    up, even = np.sqrt(_RAMP) * rate[:, None], np.repeat(rate[:, None], len(_CRUISE), axis=1)
    gain = np.repeat(acceleration[:, None], len(_RAMP), axis=1)
    return _share(mechanism, limits, start, target - start, s[..., None], np.hstack((up, even, up))[..., None],
                  np.hstack((gain, np.zeros_like(even), -gain))[..., None])


def strokes_share(mechanism: Mechanism, limits: Limits, start: Array, way: Array, speed: Array) -> Array:
    """The same for strokes by `way`, shape (K, n), on which no joint is faster than `speed`, shape (n,)."""
    size = np.maximum(np.abs(way), 1e-12)
    return ways_share(mechanism, limits, start, start + way, (speed / size).min(axis=1),
                      (ACCELERATION_SHARE * limits.acceleration / size).min(axis=1))


def motions_share(mechanism: Mechanism, limits: Limits, legs: Sequence[tuple[Array, Array, Trapezoid | Swing | Wave]]) -> Array:
    """The same for the motions of segments, start and target, shape (n,), of each: shape (len(legs), n)."""
    share = np.zeros((len(legs), mechanism.n))
    straight = [k for k, (*_, motion) in enumerate(legs) if isinstance(motion, Trapezoid) and motion.duration > 0.0]
    if straight:
        start, target, motions = zip(*(legs[k] for k in straight), strict=True)
        pace = np.array([(motion.speed, motion.acceleration) for motion in motions])
        share[straight] = ways_share(mechanism, limits, np.array(start), np.array(target), *pace.T)
    for k, (begin, end, motion) in enumerate(legs):
        if isinstance(motion, Swing) and motion.duration > 0.0:
            share[k] = _swing_share(mechanism, limits, begin, end - begin, motion)
        elif isinstance(motion, Wave) and motion.duration > 0.0:
            t = motion.close(_HARMONIC)
            share[k] = _share(mechanism, limits, begin[None], np.ones((1, mechanism.n)), motion(t)[0][None], motion(t)[1][None],
                              motion.accelerations(t)[None])[0]
    return share


def _swing_share(mechanism: Mechanism, limits: Limits, start: Array, way: Array, motion: Swing) -> Array:
    t = np.linspace(0.0, motion.duration, _PASS * int(motion.swings.max()) + 1)
    rate = np.pi * motion.swings / motion.duration
    s, ds = motion(t)
    dds = 0.5 * rate**2 * np.cos(t[:, None] * rate)
    return _share(mechanism, limits, start[None], way[None], s[None], ds[None], dds[None])[0]


def _share(mechanism: Mechanism, limits: Limits, start: Array, way: Array, s: Array, ds: Array, dds: Array) -> Array:
    """Of places s on ways, with its rates, each shape (K, P, 1 or n); the largest, shape (K, n)."""
    q, dq, ddq = start[:, None] + s * way[:, None], ds * way[:, None], dds * way[:, None]
    flat = (-1, mechanism.n)
    tau = _needed(mechanism, q.reshape(flat), dq.reshape(flat), ddq.reshape(flat)).reshape(q.shape).max(axis=1)
    return np.where(np.isnan(limits.torque), 0.0, tau / limits.torque)


def _needed(mechanism: Mechanism, q: Array, dq: Array, ddq: Array | None = None) -> Array:
    """Size of the rigid-body torques, shape (N, n); infinite where a closed chain is out of reach or singular."""
    if mechanism.chain is None:
        return np.abs(inverse_dynamics(mechanism, q, dq, ddq))
    there = mechanism.chain.condition(q, q) < SINGULAR
    tau = np.full(q.shape, np.inf)
    tau[there] = np.abs(inverse_dynamics(mechanism, q[there], dq[there], None if ddq is None else ddq[there]))
    return tau
