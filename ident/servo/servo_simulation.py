"""Simulated motion of one joint that a servo moves: many parameter sets
and many windows at once.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.servo.servo_windows import LATEST, ServoWindows

# load that follows the simulated motion; other loads are those of the measured motion
TRANSMITTED = "torque"
STEP = 2.5e-3  # s
_TOGETHER = 64  # samples whose commands are computed at once
_TINY = 1e-9  # least decay of the velocity in a step, as a part of it


def simulate(
    windows: ServoWindows, values: Mapping[str, Array], load: str = "none", longest: float = STEP
) -> Array:
    """Return positions for K parameter sets, shape (K, R, N).

    Each step is exact in viscous friction, and dry friction at most stops the joint, so that it
    sticks and breaks loose at any step length. The load of a step is that of the step before. An
    inertia with which the servo would swing faster than a step shows is raised to that limit, so
    that no parameters give the joint energy.

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
    count = len(v["viscous"])
    R, N = windows.q.shape
    sub = max(1, int(np.ceil(windows.dt / longest - 1e-9)))
    h = windows.dt / sub
    q, w = (
        np.broadcast_to(windows.q[:, 0], (count, R)).copy(),
        np.broadcast_to(windows.speed, (count, R)).copy(),
    )
    excess = v["static"] - v["coulomb"]
    loads = windows.loads.get(load)
    rises = v["static_coefficient"] - v["coulomb_coefficient"]
    fades = bool(excess.any() or rises.any())
    level, coefficient = v["coulomb"], v["coulomb_coefficient"]
    # the weight of an arm: one cosine costs less than a cosine and a sine
    heaviest, turned = (
        np.hypot(windows.cosine, windows.sine).T,
        np.arctan2(windows.sine, windows.cosine).T,
    )
    pressing = None if loads is None else loads.T
    pressed = None if pressing is None else np.broadcast_to(pressing[0], (count, R))
    per_change, rest = windows.links.T / h, windows.rest.T
    out = np.empty((N, count, R))
    for k, (pull, push, grows, keeps, per_force) in enumerate(_samples(windows, v, h, sub)):
        out[k] = q
        if pressing is not None and load != TRANSMITTED:
            pressed = pressing[k]
        for _ in range(sub):
            weight = heaviest[k] * np.cos(q - turned[k])
            free = keeps * w + per_force * (push - pull * q - weight)
            if fades:
                faded = np.exp(-((w / v["stribeck_velocity"]) ** 2))
                level = v["coulomb"] + excess * faded
                coefficient = v["coulomb_coefficient"] + rises * faded
            dry = level if pressed is None else level + coefficient * pressed
            before_step, w = w, np.copysign(np.maximum(np.abs(free) - dry * per_force, 0.0), free)
            if load == TRANSMITTED:
                pressed = np.abs(per_change[k] * (w - before_step) + rest[k] + weight)
            q = q + h * w
            push = push + grows
    return np.ascontiguousarray(np.moveaxis(out, 0, -1))


def _samples(
    windows: ServoWindows, v: Mapping[str, Array], h: float, sub: int
) -> Iterator[tuple[Array, ...]]:
    """Yield what does not depend on the motion, sample by sample, shape (K, R) each: torque per
    position error, torque at the start of the sample and its growth in a step, the part of the
    velocity that a step keeps, and velocity per torque.
    """
    N, goal = windows.q.shape[1], windows.goal.T
    late = np.clip(v["delay"], 0.0, LATEST) / windows.dt
    early = late - np.floor(late)
    first = windows.before - np.floor(late[:, 0]).astype(int)
    for begin in range(0, N, _TOGETHER):
        rows = np.arange(begin, min(begin + _TOGETHER, N))

        def along(values: Array, rows: np.ndarray = rows) -> Array:
            return values.T[rows, None]

        def aim(rows: np.ndarray) -> Array:
            now = first + rows[:, None]
            return (1.0 - early) * goal[np.minimum(now, len(goal) - 1)] + early * goal[now - 1]

        pull = v["torque_per_gain"] * along(windows.gain)
        target = aim(rows)
        damping = v["viscous"] + v["back_emf"] * (along(windows.gain) > 0.0)
        # a spring that swings faster than a step would throw the joint ever farther
        inertia = np.maximum(along(windows.inertia) + v["inertia"], pull * h**2)
        per_step = h / inertia
        decays = np.maximum(per_step * damping, _TINY)
        yield from zip(
            pull,
            pull * target - along(windows.rest) - v["offset"],
            pull * (aim(rows + 1) - target) / sub,
            np.exp(-decays),
            -np.expm1(-decays) / decays * per_step,
            strict=True,
        )
