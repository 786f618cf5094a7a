"""Margins of plans: torque reserved for friction, and distance to stop if
the computer stops sending.
"""

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

# part of the torque limit reserved for friction, as `init` assumes for a joint at full speed
FRICTION_SHARE = 0.1
MAX_RIGID_SHARE = MAX_GRAVITY_SHARE = 1.0 - FRICTION_SHARE
# below the limit, because drives overshoot a little and report noisy torque
PLANNED_SHARE = MAX_RIGID_SHARE - 0.02
# places checked on a ramp, and between the ramps, as fractions
_RAMP = np.array([0.0, 0.5, 1.0])
_CRUISE = np.linspace(0.0, 1.0, 5)
_PASS = 8  # places checked in a pass of a swing
_HARMONIC = 16  # places checked in a period of the highest harmonic of a wave
# cycles added to the watchdog's time: transmission of a set-point, and its reading by the drive
SILENT_CYCLES = 2


def gravity_share(mechanism: Mechanism, limits: Limits, q: Array) -> Array:
    """Gravity torque over torque limit of every joint in postures (K, n), shape (K, n); 0
    for a joint without limit.
    """
    held = _needed(mechanism, q, np.zeros_like(q))
    return np.where(np.isnan(limits.torque), 0.0, held / limits.torque)


def silence(arm: ArmFile) -> float:
    """Time that drives keep moving after the computer stops sending, until their
    watchdogs act [s]; 0 if simulated.

    A watchdog that switches power off, as in some plug-in drivers, adds the time in which
    the brake closes. A fault that switches power off immediately takes at least the time
    in which the brake closes.
    """
    if arm.driver.kind == "simulated":
        return 0.0
    watchdog = float(
        arm.driver.model_dump().get("watchdog", LinkKeys.model_fields["watchdog"].default)
    )
    acts = watchdog + SILENT_CYCLES / arm.driver.rate
    return max(acts, BRAKE_CLOSES) if holds_in_silence(arm) else acts + BRAKE_CLOSES


def run_on(speed: Array, acceleration: Array, silent: float) -> Array:
    """Largest overrun of each joint beyond its target if the computer stops sending during
    motion, shape (n,) [rad or m].

    At speed v, at the beginning of the ramp down or on the ramp, the joint moves v T during the
    silent time T and brakes within v²/2a. The planned ramp would end after v²/(2 s a), s =
    `ACCELERATION_SHARE`. The overrun is the maximum over v.
    """
    gain = 0.5 / ACCELERATION_SHARE - 0.5
    v = np.minimum(speed, 0.5 * silent * acceleration / gain)
    return np.asarray(v * silent - gain * v**2 / acceleration)


def ways_share(
    mechanism: Mechanism,
    limits: Limits,
    start: Array,
    target: Array,
    rate: Array,
    acceleration: Array,
) -> Array:
    """Largest rigid-body torque over torque limit of each joint on straight paths.

    Parameters
    ----------
    start, target : ndarray, shape (K, n)
        Ends of the paths.
    rate, acceleration : ndarray, shape (K,)
        Highest rate of the path fraction, and its acceleration in both ramps [1/s, 1/s²].

    Returns
    -------
    ndarray, shape (K, n)
        Share of the limit; 0 for a joint without limit.
    """
    # on a short path, the profile is a triangle
    rate = np.minimum(rate, np.sqrt(acceleration))
    ramp = np.minimum(0.5, rate**2 / (2.0 * acceleration))
    s = np.hstack(
        (
            _RAMP * ramp[:, None],
            ramp[:, None] + _CRUISE * (1.0 - 2.0 * ramp[:, None]),
            1.0 - _RAMP * ramp[:, None],
        )
    )
    up, even = np.sqrt(_RAMP) * rate[:, None], np.repeat(rate[:, None], len(_CRUISE), axis=1)
    gain = np.repeat(acceleration[:, None], len(_RAMP), axis=1)
    return _share(
        mechanism,
        limits,
        start,
        target - start,
        s[..., None],
        np.hstack((up, even, up))[..., None],
        np.hstack((gain, np.zeros_like(even), -gain))[..., None],
    )


def strokes_share(
    mechanism: Mechanism, limits: Limits, start: Array, way: Array, speed: Array
) -> Array:
    """Share as in `ways_share` for strokes by `way`, shape (K, n), on which no joint
    exceeds `speed`, shape (n,).
    """
    size = np.maximum(np.abs(way), 1e-12)
    return ways_share(
        mechanism,
        limits,
        start,
        start + way,
        (speed / size).min(axis=1),
        (ACCELERATION_SHARE * limits.acceleration / size).min(axis=1),
    )


def motions_share(
    mechanism: Mechanism,
    limits: Limits,
    legs: Sequence[tuple[Array, Array, Trapezoid | Swing | Wave]],
) -> Array:
    """Share as in `ways_share` for motions of segments with start and target, shape (n,)
    each: shape (len(legs), n).
    """
    share = np.zeros((len(legs), mechanism.n))
    straight = [
        k
        for k, (*_, motion) in enumerate(legs)
        if isinstance(motion, Trapezoid) and motion.duration > 0.0
    ]
    if straight:
        start, target, motions = zip(*(legs[k] for k in straight), strict=True)
        pace = np.array([(motion.speed, motion.acceleration) for motion in motions])
        share[straight] = ways_share(mechanism, limits, np.array(start), np.array(target), *pace.T)
    for k, (begin, end, motion) in enumerate(legs):
        if isinstance(motion, Swing) and motion.duration > 0.0:
            share[k] = _swing_share(mechanism, limits, begin, end - begin, motion)
        elif isinstance(motion, Wave) and motion.duration > 0.0:
            t = motion.close(_HARMONIC)
            share[k] = _share(
                mechanism,
                limits,
                begin[None],
                np.ones((1, mechanism.n)),
                motion(t)[0][None],
                motion(t)[1][None],
                motion.accelerations(t)[None],
            )[0]
    return share


def _swing_share(
    mechanism: Mechanism, limits: Limits, start: Array, way: Array, motion: Swing
) -> Array:
    t = np.linspace(0.0, motion.duration, _PASS * int(motion.swings.max()) + 1)
    rate = np.pi * motion.swings / motion.duration
    s, ds = motion(t)
    dds = 0.5 * rate**2 * np.cos(t[:, None] * rate)
    return _share(mechanism, limits, start[None], way[None], s[None], ds[None], dds[None])[0]


def _share(
    mechanism: Mechanism, limits: Limits, start: Array, way: Array, s: Array, ds: Array, dds: Array
) -> Array:
    """Largest share over path fractions s with rates ds, dds, each shape (K,
    P, 1 or n); shape (K, n).
    """
    q, dq, ddq = start[:, None] + s * way[:, None], ds * way[:, None], dds * way[:, None]
    flat = (-1, mechanism.n)
    tau = (
        _needed(mechanism, q.reshape(flat), dq.reshape(flat), ddq.reshape(flat))
        .reshape(q.shape)
        .max(axis=1)
    )
    return np.where(np.isnan(limits.torque), 0.0, tau / limits.torque)


def _needed(mechanism: Mechanism, q: Array, dq: Array, ddq: Array | None = None) -> Array:
    """Absolute rigid-body torques, shape (N, n); infinite if a closed chain is
    out of reach or singular.
    """
    if mechanism.chain is None:
        return np.abs(inverse_dynamics(mechanism, q, dq, ddq))
    there = mechanism.chain.condition(q, q) < SINGULAR
    tau = np.full(q.shape, np.inf)
    tau[there] = np.abs(
        inverse_dynamics(mechanism, q[there], dq[there], None if ddq is None else ddq[there])
    )
    return tau
