"""Simulated motion of one joint that a servo moves: many parameter sets
and many windows at once.
"""

from collections.abc import Mapping

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.servo.servo_windows import LATEST, ServoWindows

# load that follows the simulated motion; other loads are those of the measured motion
TRANSMITTED = "torque"
STEP = 2.5e-3  # s
_TINY = 1e-9  # least decay of the velocity in a step, as a part of it


def simulate(
    windows: ServoWindows, values: Mapping[str, Array], load: str = "none", longest: float = STEP
) -> Array:
    """Return positions for K parameter sets, shape (K, R, N).

    Each step is exact in viscous friction, and dry friction at most stops the joint, so that it
    sticks and breaks loose at any step length. The load of a step is that of the step before.

    Parameters
    ----------
    windows : ServoWindows
    values : mapping of str to ndarray, shape (K,)
        torque_per_gain, back_emf (while the servo is on), inertia, delay, offset; coulomb, static,
        stribeck_velocity, viscous, coulomb_coefficient, static_coefficient.
    load : str
        Load that the coefficients multiply.
    longest : float
        Longest step [s].
    """
    v = {name: np.asarray(value, dtype=float)[:, None] for name, value in values.items()}
    count, before = len(v["viscous"]), windows.before
    R, N = windows.q.shape
    sub = max(1, int(np.ceil(windows.dt / longest - 1e-9)))
    h = windows.dt / sub
    q, w = (
        np.broadcast_to(windows.q[:, 0], (count, R)).copy(),
        np.broadcast_to(windows.speed, (count, R)).copy(),
    )
    late = np.clip(v["delay"], 0.0, LATEST) / windows.dt
    early, first = late - np.floor(late), before - np.floor(late[:, 0]).astype(int)
    goal, loads = windows.goal.T, windows.loads.get(load)
    pressed = None if loads is None else np.broadcast_to(loads[:, 0], (count, R))
    out = np.empty((count, R, N))
    for k in range(N):
        out[:, :, k] = q
        pull = v["torque_per_gain"] * windows.gain[:, k]
        target, then = (
            (1.0 - early) * goal[np.minimum(first + row, len(goal) - 1)]
            + early * goal[first + row - 1]
            for row in (k, k + 1)
        )
        damping = v["viscous"] + v["back_emf"] * (windows.gain[:, k] > 0.0)
        coulomb, excess = v["coulomb"], v["static"] - v["coulomb"]
        fixed = pull * target - windows.rest[:, k] - v["offset"]
        per_step = h / (windows.inertia[:, k] + v["inertia"])
        decays = np.maximum(per_step * damping, _TINY)
        keeps, per_force = np.exp(-decays), -np.expm1(-decays) / decays * per_step
        grows = pull * (then - target) / sub
        for step in range(sub):
            weight = windows.cosine[:, k] * np.cos(q) + windows.sine[:, k] * np.sin(q)
            free = keeps * w + per_force * (fixed + step * grows - pull * q - weight)
            faded = np.exp(-((w / v["stribeck_velocity"]) ** 2))
            level = coulomb + excess * faded
            if pressed is not None:
                rises = v["static_coefficient"] - v["coulomb_coefficient"]
                level = level + (v["coulomb_coefficient"] + rises * faded) * pressed
            before_step, w = w, np.sign(free) * np.maximum(np.abs(free) - level * per_force, 0.0)
            if load == TRANSMITTED:
                pressed = np.abs(
                    windows.links[:, k] * (w - before_step) / h + windows.rest[:, k] + weight
                )
            q = q + h * w
        if loads is not None and load != TRANSMITTED and k + 1 < N:
            pressed = np.broadcast_to(loads[:, k + 1], (count, R))
    return out
