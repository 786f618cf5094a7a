"""Simulation of one joint under a sampled PD controller with noisy, coarse positions; many logs
together, without the package.

Torque is constant between samples; the logged torque is the mean of the torques before and after a
position. Between samples the velocity is integrated in small steps with implicit dry friction, so
friction can stop the joint.
"""

from dataclasses import dataclass

import numpy as np

_STEPS = 4000.0  # least number of steps per second
_HERTZ = np.array([0.11, 0.27, 0.43, 0.71])
_PASSES = 500


@dataclass(frozen=True)
class Loop:
    """A joint, its controller and their disturbances.

    Attributes
    ----------
    rate, seconds : float
        Rate of log and controller, and length of the log [Hz, s].
    inertia, gravity, coulomb, viscous, offset : float
        Parameters of the joint; `gravity` is the greatest gravity torque.
    stiffness, damping : float
        Gains of the controller [N·m/rad, N·m·s/rad].
    encoder, jitter : float
        Step of the positions, and deviation of their white noise [rad].
    torque_noise : float
        Noise of the logged torque [N·m].
    level, ripple : float
        Relative scatter of friction between passes, and relative ripple along the position.
    push : float
        Standard deviation of the unknown torque below 20 Hz on the joint [N·m].
    """

    rate: float = 500.0
    seconds: float = 40.0
    inertia: float = 0.5
    gravity: float = 3.0
    coulomb: float = 2.0
    viscous: float = 1.5
    offset: float = 0.2
    stiffness: float = 800.0
    damping: float = 40.0
    encoder: float = 1e-5
    jitter: float = 0.0
    torque_noise: float = 0.05
    level: float = 0.02
    ripple: float = 0.0
    push: float = 0.0

    def recorded(self, seeds: range) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Times (N,), and measured positions, torques and reference positions
        for each seed, shape (S, N).
        """
        t = np.arange(round(self.seconds * self.rate)) / self.rate
        random = [np.random.default_rng([seed, 11]) for seed in seeds]
        told, told_speed = np.swapaxes([_reference(t, own) for own in random], 0, 1)
        pushes = self.push * np.array([below(20.0, len(t), self.rate, own) for own in random])
        noise, seen = (
            size * np.array([own.standard_normal(len(t)) for own in random])
            for size in (self.jitter, self.torque_noise)
        )
        levels = 1.0 + self.level * np.array([own.standard_normal(_PASSES) for own in random])
        q, dq, every = told[:, 0].copy(), told_speed[:, 0].copy(), np.arange(len(random))
        steps = int(np.ceil(_STEPS / self.rate))
        h, number, way, before = (
            1.0 / self.rate / steps,
            np.zeros(len(random), dtype=int),
            np.sign(dq),
            q,
        )
        positions, torques = np.empty_like(told), np.empty_like(told)
        for k in range(len(t)):
            measured = np.round((q + noise[:, k]) / self.encoder) * self.encoder
            speed = (measured - before) * self.rate if k else dq
            torque = self.stiffness * (told[:, k] - measured) + self.damping * (
                told_speed[:, k] - speed
            )
            positions[:, k], torques[:, k], before = measured, torque, measured
            for _ in range(steps):
                dry = self.coulomb * (levels[every, number] + self.ripple * np.sin(30.0 * q))
                driven = torque + pushes[:, k] - self.offset + self.gravity * np.cos(q)
                free = dq + h / self.inertia * (driven - self.viscous * dq)
                before_step, dq = (
                    dq,
                    np.sign(free) * np.maximum(np.abs(free) - h / self.inertia * dry, 0.0),
                )
                q = q + 0.5 * h * (before_step + dq)
            number = np.minimum(number + (dq * way < 0.0), _PASSES - 1)
            way = np.where(dq == 0.0, way, np.sign(dq))
        acting = 0.5 * (torques + np.column_stack((torques[:, :1], torques[:, :-1])))
        return t, positions, acting + seen, told


def _reference(t: np.ndarray, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Position and velocity of a sum of sines."""
    w = 2.0 * np.pi * _HERTZ * random.uniform(0.9, 1.1, len(_HERTZ))
    a, phase = random.uniform(0.6, 1.0, len(w)) / w, random.uniform(0.0, 2.0 * np.pi, len(w))
    a *= 1.3 / np.sum(a * w)
    turn = w * t[:, None] + phase
    return np.sin(turn) @ a, np.cos(turn) @ (a * w)


def below(hertz: float, count: int, rate: float, random: np.random.Generator) -> np.ndarray:
    """Low-pass noise with standard deviation 1, shape (count,)."""
    spectrum = np.fft.rfft(random.standard_normal(count))
    spectrum[np.fft.rfftfreq(count, 1.0 / rate) > hertz] = 0.0
    values = np.fft.irfft(spectrum, count)
    return np.asarray(values / values.std())
