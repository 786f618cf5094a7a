"""Friction with memory that no estimator made: bristles and elastic-slip elements,
integrated in fine steps of time.

Bristles (LuGre) are integrated with the exact solution for the constant speed of each fine step;
the elements of Maxwell slip move with the displacement of each fine step. Both are independent
of `stribeck.ident.memory`.

References
----------
Canudas de Wit, Olsson, Astrom and Lischinsky, IEEE Trans. Autom. Control 40 (1995) 419; Lampaert,
Swevers and Al-Bender, IEEE Trans. Autom. Control 47 (2002) 683.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.signal import lfilter

Array = np.ndarray
_FINE = 16  # fine steps in a sample
# slip distances of the elements, as parts of the mean one
_DISTANCES = np.array([0.25, 0.7, 2.0])
_SHARES = np.array([0.5, 0.3, 0.2])


@dataclass(frozen=True)
class Joint:
    """Friction, inertia and offset of one joint.

    Attributes
    ----------
    coulomb, static, velocity, viscous : float
        Stribeck friction with exponent 2 [N·m, N·m, rad/s, N·m·s/rad].
    stiffness, damping : float
        Of the bristles [N·m/rad, N·m·s/rad].
    inertia, offset : float
        [kg·m², N·m]
    kind : str
        "lugre", "maxwell-slip", or "none": friction has the sign of the velocity.
    """

    coulomb: float = 6.0
    static: float = 8.0
    velocity: float = 0.03
    viscous: float = 4.0
    stiffness: float = 3000.0
    damping: float = 10.0
    inertia: float = 0.5
    offset: float = 0.3
    kind: str = "lugre"

    @classmethod
    def drawn(cls, seed: int, kind: str = "lugre") -> "Joint":
        """Draw a joint: friction of 2 to 10 N·m, presliding distances of 0.5 to 5 mrad."""
        rng = np.random.default_rng([seed, 3])
        coulomb = float(rng.uniform(2.0, 10.0))
        distance = float(np.exp(rng.uniform(np.log(5e-4), np.log(5e-3))))
        stiffness = coulomb / distance
        inertia = float(rng.uniform(0.1, 1.0))
        return cls(
            coulomb,
            coulomb * float(rng.uniform(1.1, 1.6)),
            float(np.exp(rng.uniform(np.log(0.02), np.log(0.08)))),
            float(rng.uniform(1.0, 8.0)),
            stiffness,
            float(rng.uniform(0.05, 0.5)) * np.sqrt(stiffness * inertia),
            inertia,
            float(rng.uniform(-0.5, 0.5)),
            kind,
        )

    def level(self, w: Array | float) -> Array:
        """Dry friction in steady sliding [N·m]."""
        return self.coulomb + (self.static - self.coulomb) * np.exp(
            -((np.asarray(w) / self.velocity) ** 2)
        )

    def changed(self, key: str, part: float) -> "Joint":
        """Return the joint with a parameter changed by a part of its value."""
        return replace(self, **{key: getattr(self, key) * (1.0 + part)})


@dataclass(frozen=True)
class SmoothMotion:
    """A sum of sines; its reversals have many sizes.

    Attributes
    ----------
    amplitude, pulsation, phase : ndarray, shape (K,)
        [rad, rad/s, rad]
    """

    amplitude: Array
    pulsation: Array
    phase: Array

    @classmethod
    def drawn(cls, seed: int) -> "SmoothMotion":
        """Draw amplitudes of 0.5 mrad to 0.3 rad at 0.05 to 1.5 Hz, the
        largest at the lowest frequency.
        """
        rng = np.random.default_rng([seed, 5])
        pulsation = 2.0 * np.pi * np.sort(np.exp(rng.uniform(np.log(0.05), np.log(1.5), 5)))
        amplitude = np.sort(np.exp(rng.uniform(np.log(5e-4), np.log(0.3), 5)))[::-1]
        return cls(
            np.minimum(amplitude, 0.6 / pulsation), pulsation, rng.uniform(0.0, 2.0 * np.pi, 5)
        )

    def at(self, t: Array) -> tuple[Array, Array, Array]:
        """Position, velocity and acceleration, shape (N,) each."""
        turn = self.pulsation * t[:, None] + self.phase
        return (
            np.sin(turn) @ self.amplitude,
            np.cos(turn) @ (self.amplitude * self.pulsation),
            -np.sin(turn) @ (self.amplitude * self.pulsation**2),
        )


def friction(joint: Joint, motion: SmoothMotion, t: Array) -> Array:
    """Return the friction along a motion, from rest without bristle force at the first
    sample, shape (N,) [N·m].
    """
    _, w, _ = motion.at(t)
    if joint.kind == "none":
        return joint.level(w) * np.sign(w) + joint.viscous * w
    fine = np.linspace(t[0], t[-1], (len(t) - 1) * _FINE + 1)
    middle = motion.at(0.5 * (fine[1:] + fine[:-1]))[1]
    step = middle * (fine[1] - fine[0])
    levels = joint.level(middle)
    if joint.kind == "lugre":
        return _of_bristles(joint, w, step, levels)
    return _of_elements(joint, w, step)


def _of_bristles(joint: Joint, w: Array, step: Array, levels: Array) -> Array:
    steady, kept = np.sign(step) * levels, np.exp(-joint.stiffness * np.abs(step) / levels)
    force, forces = 0.0, np.empty(len(w))
    forces[0] = force
    for k, (to, part) in enumerate(zip(steady.tolist(), kept.tolist(), strict=True), start=1):
        force = to + (force - to) * part
        if k % _FINE == 0:
            forces[k // _FINE] = force
    bending = w - np.abs(w) * forces / joint.level(w)
    return np.asarray(forces + joint.damping * bending + joint.viscous * w)


def _of_elements(joint: Joint, w: Array, step: Array) -> Array:
    far = _DISTANCES / float(_DISTANCES @ _SHARES) * joint.coulomb / joint.stiffness
    slip, state = np.zeros(len(far)), np.zeros(len(w))
    for k, move in enumerate((step[:, None] / far), start=1):
        slip = np.clip(slip + move, -1.0, 1.0)
        if k % _FINE == 0:
            state[k // _FINE] = _SHARES @ slip
    return np.asarray(joint.level(w) * state + joint.viscous * w)


@dataclass(frozen=True)
class Case:
    """A noisy log of one joint.

    Attributes
    ----------
    seed : int
        Seed of joint, motion and noise.
    kind : str
        See `Joint`.
    seconds, rate, noise : float
        Length [s], sampling rate [Hz], and noise of the torque [N·m].
    joint : Joint, optional
        Default: drawn by the seed.
    correlation : float
        Time constant of the noise [s]; 0 for white noise.
    encoder : float
        White noise of the position [rad].
    """

    seed: int
    kind: str = "lugre"
    seconds: float = 60.0
    rate: float = 250.0
    noise: float = 0.3
    joint: Joint | None = None
    correlation: float = 0.0
    encoder: float = 0.0

    @property
    def truth(self) -> Joint:
        """The joint."""
        return self.joint or Joint.drawn(self.seed, self.kind)

    @property
    def t(self) -> Array:
        """Time, shape (N,) [s]."""
        return np.arange(round(self.seconds * self.rate)) / self.rate

    def clean(self, joint: Joint) -> Array:
        """Torque without noise, shape (N,) [N·m]."""
        motion = SmoothMotion.drawn(self.seed)
        return friction(joint, motion, self.t) + joint.inertia * motion.at(self.t)[2] + joint.offset

    def log(self) -> tuple[Array, Array, Array]:
        """Time, position and torque, shape (N,) each."""
        rng = np.random.default_rng([self.seed, 7])
        noise = rng.standard_normal(len(self.t))
        if self.correlation:
            kept = float(np.exp(-1.0 / (self.rate * self.correlation)))
            noise = np.asarray(lfilter([np.sqrt(1.0 - kept**2)], [1.0, -kept], noise))
        position = SmoothMotion.drawn(self.seed).at(self.t)[0]
        if self.encoder:
            position = position + self.encoder * rng.standard_normal(len(self.t))
        return self.t, position, self.clean(self.truth) + self.noise * noise
