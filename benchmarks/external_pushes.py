"""Pushes on the simulated arm: MuJoCo's external forces on two neighbouring links, while its drives
follow a recorded motion.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from stribeck.drivers.arm import Command
from stribeck.drivers.simulation.simulated_arm import SimulatedArm
from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.arrays import Array
from stribeck.ident.external.pushes import Push
from stribeck.ident.log.run import Run, read_signal

LEVELS = 0.2, 0.5, 1.0, 2.0  # of the friction torque of the joint
DURATION, _APART = 0.3, 1.5  # s; of a push, and from the start of one to the start of the next
_FOLLOW = 5.0  # 1/s; gain of the positions of the drives
# rad/s; a joint that is pushed in motion is faster for the whole push
_MOVES = 0.02


@dataclass(frozen=True)
class Motion:
    """Recorded motion without contact, and the true friction of the joints along it.

    Attributes
    ----------
    run : Run
        The run.
    wanted, rate : ndarray, shape (N, n)
        Positions and velocities of the reference.
    friction : ndarray, shape (n,)
        Median magnitude of the true friction of the moving joints [N·m].
    """

    run: Run
    wanted: Array
    rate: Array
    friction: Array

    @classmethod
    def of(cls, run: Run, arm: ArmFile) -> "Motion":
        """Return the motion of a run of the simulated arm."""
        wanted = read_signal(run, "q_cmd", len(run.t))
        assert wanted is not None
        rate = np.gradient(wanted, run.t, axis=0)
        some = np.arange(0, len(run.t), 25)
        friction = np.abs(SimulatedArm(arm).friction(run.signals["q"][some], rate[some]))
        moves = np.abs(rate[some]) > _MOVES
        return cls(
            run,
            wanted,
            rate,
            np.array([np.median(friction[moves[:, j], j]) for j in range(len(run.names))]),
        )


def drawn_pushes(
    motion: Motion, moving: bool, rng: np.random.Generator
) -> tuple[Array, list[Push]]:
    """Draw pushes one after the other on joints in motion, or at rest after it.

    Returns the additional time at rest at the end [s], shape (), and the pushes; each
    joint and level has its turn.
    """
    run, n = motion.run, len(motion.run.names)
    cases = [(j, level) for level in LEVELS for j in range(n)]
    order = [cases[k] for k in rng.permutation(len(cases))]
    found: list[Push] = []
    if not moving:
        start = float(run.t[-1]) + 1.0
        found = [
            _push(motion, j, level, start + _APART * k, rng) for k, (j, level) in enumerate(order)
        ]
        return np.array(1.0 + _APART * len(order) + 1.0), found
    t, left = 2.0, list(order)
    while t + DURATION < float(run.t[-1]):
        rows = (run.t >= t - 0.2) & (run.t <= t + DURATION)
        case = next(
            (one for one in left if (np.abs(motion.rate[rows, one[0]]) > _MOVES).all()), None
        )
        if case is None:
            t += 0.1
            continue
        left.remove(case)
        left = left or [cases[k] for k in rng.permutation(len(cases))]
        found.append(_push(motion, case[0], case[1], t, rng))
        t += _APART + rng.uniform(0.0, 0.2)
    return np.array(0.0), found


def _push(motion: Motion, j: int, level: float, start: float, rng: np.random.Generator) -> Push:
    return Push(
        start,
        start + DURATION,
        motion.run.names[j],
        float(rng.choice((-1.0, 1.0)) * level * motion.friction[j]),
    )


def pushed(motion: Motion, arm: ArmFile, seed: int, rest: float, pushes: Sequence[Push]) -> Run:
    """Return the run of the same reference, with a rest at its end, under pushes."""
    device = SimulatedArm(arm, seed)
    model, data = device._physics.model, device._data
    body = model.jnt_bodyid[[model.joint(name).id for name in motion.run.names]]
    more = round(rest * device.rate)
    wanted = np.concatenate((motion.wanted, np.repeat(motion.wanted[-1:], more, axis=0)))
    rate = np.concatenate((motion.rate, np.zeros((more, motion.rate.shape[1]))))
    t = motion.run.t[0] + np.arange(len(wanted)) / device.rate
    samples = []
    device.enable()
    sample = device.step(Command(np.zeros(len(motion.run.names))))
    for now, place, speed in zip(t, wanted, rate, strict=True):
        data.xfrc_applied[:] = 0.0
        for push in pushes:
            if push.start < now <= push.end:
                j = motion.run.names.index(push.joint)
                # between the joint's link and its parent
                moment = push.torque * data.xaxis[model.joint(push.joint).id]
                data.xfrc_applied[body[j], 3:] += moment
                data.xfrc_applied[model.body_parentid[body[j]], 3:] -= moment
        sample = device.step(Command(speed + _FOLLOW * (place - sample.q)))
        samples.append(sample)
    signals = {
        "q": np.array([one.q for one in samples]),
        "dq": np.array([one.dq for one in samples]),
        "tau": np.array([one.tau for one in samples]),
        "temperature": np.array([one.temperature for one in samples]),
    }
    return replace(
        motion.run,
        t=t,
        segment=np.zeros(len(t), dtype=int),
        signals=signals,
        sha256=f"pushed {seed}",
    )
