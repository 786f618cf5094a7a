"""Logs of one joint with hard effects that no estimator made, integrated in fine steps of time.

A wrist joint with a gear: bristles (LuGre) or elastic-slip elements, viscous friction that grows
less than in proportion to speed, gravity of a pendulum, correlated noise, and a reported velocity
that is filtered slowly. With all effects, dry friction grows with the transmitted torque, drifts,
differs between the directions and waves with the position; there is cogging, and the torque is
reported late. Independent of `stribeck.ident.memory`.
"""

from dataclasses import dataclass

import numpy as np
from scipy.signal import lfilter

Array = np.ndarray
SPEEDS = {"high": 2.0, "middle": 0.7, "slow": 0.2}  # greatest speed [rad/s]
KINDS = "lugre", "maxwell-slip", "lugre with all", "maxwell-slip with all"
_FINE = 8  # fine steps in a sample
# slip distances of the elements, as parts of the mean one
_FAR = np.array([0.15, 0.5, 1.2, 3.0])
_SHARES = np.array([0.3, 0.3, 0.25, 0.15])
_FILTER = 0.03  # s; time constant of the reported velocity
_ENCODER = 2e-5  # rad
_AMPLITUDE = 1.2  # rad; greatest


@dataclass(frozen=True)
class WristLog:
    """One log.

    Attributes
    ----------
    seed : int
        Of joint, motion and noise.
    kind : str
        "lugre" or "maxwell-slip"; "... with all": with asymmetry, ripple, drift, delay and load.
    speed : str
        "high", "middle" or "slow".
    seconds, rate : float
        [s, Hz]
    white, correlated : float
        Deviation of white noise, and of noise with a memory of 20 ms [N·m].
    """

    seed: int
    kind: str
    speed: str
    seconds: float = 25.4
    rate: float = 1000.0
    white: float = 0.01
    correlated: float = 0.02

    def made(self) -> dict[str, Array]:
        """Signals: time, position, velocity and torque as reported; `clean`: torque
        without noise, shape (N,) each.
        """
        rng, every = np.random.default_rng([self.seed, 11]), self.kind.endswith("all")
        coulomb, distance = (
            float(rng.uniform(0.4, 1.0)),
            float(np.exp(rng.uniform(np.log(0.003), np.log(0.03)))),
        )
        static, velocity = (
            coulomb * float(rng.uniform(1.0, 1.4)),
            float(np.exp(rng.uniform(np.log(0.02), np.log(0.2)))),
        )
        viscous, power = float(rng.uniform(0.2, 0.6)), float(rng.uniform(0.6, 1.0))
        inertia, gravity, angle = (
            float(rng.uniform(0.02, 0.1)),
            float(rng.uniform(0.2, 1.0)),
            float(rng.uniform(-3.0, 3.0)),
        )
        load, apart, more = (
            float(rng.uniform(0.1, 0.3)),
            float(rng.uniform(0.05, 0.2)),
            float(rng.uniform(-0.15, 0.15)),
        )
        ratio, (cogging, wave) = float(rng.choice([50.0, 80.0, 100.0])), rng.uniform(0.02, 0.06, 2)
        drift, late, turn = (
            float(rng.uniform(-0.06, 0.06)),
            float(rng.uniform(0.001, 0.01)),
            rng.uniform(0.0, 6.28, 3),
        )
        t = np.arange(round(self.seconds * self.rate)) / self.rate
        at = np.linspace(t[0], t[-1], (len(t) - 1) * _FINE + 1)
        q, w, dw = self._motion(at)
        pulls = gravity * np.sin(q + angle)
        dry = coulomb + (static - coulomb) * np.exp(-((w / velocity) ** 2))
        sliding, rigid = viscous * np.abs(w) ** power * np.sign(w), inertia * dw + pulls
        if every:
            dry = (
                dry
                + load * np.abs(rigid)
                + wave * np.cos(2.0 * ratio * q + turn[0])
                + 0.06 * np.cos(2.0 * q + turn[1])
            )
            dry = (
                dry
                * (1.0 + apart * np.sign(w))
                * (1.0 + drift * (1.0 - np.exp(-at / 20.0)) / (1.0 - np.exp(-1.0)))
            )
            sliding = sliding * (1.0 + more * np.sign(w))
            rigid = rigid + cogging * np.sin(ratio * q + turn[2])
        held = (
            _bristles(w, at, dry, distance, coulomb)
            if self.kind.startswith("lugre")
            else _elements(w, at, dry, distance)
        )
        torque = held + sliding + rigid + 0.05
        clean = np.interp(t - late, at, torque) if every else torque[::_FINE]
        kept = float(np.exp(-1.0 / self.rate / 0.02))
        slow = lfilter([np.sqrt(1.0 - kept**2)], [1.0, -kept], rng.standard_normal(len(t) + 1000))[
            1000:
        ]
        noise = self.white * rng.standard_normal(len(t)) + self.correlated * slow
        smooth = 1.0 - float(np.exp(-(at[1] - at[0]) / _FILTER))
        told = lfilter([smooth], [1.0, smooth - 1.0], w, zi=[(1.0 - smooth) * w[0]])[0][::_FINE]
        return {
            "time": t,
            "position": _ENCODER * np.round(q[::_FINE] / _ENCODER),
            "torque": clean + noise,
            "velocity": told + 0.002 * rng.standard_normal(len(t)),
            "clean": clean,
            "load": np.abs(rigid)[::_FINE],
        }

    def _motion(self, t: Array) -> tuple[Array, Array, Array]:
        """Position, velocity and acceleration of a sum of sines."""
        rng, fastest = np.random.default_rng([self.seed, 13]), SPEEDS[self.speed]
        pulsation = (
            2.0 * np.pi * np.exp(rng.uniform(np.log(0.1), np.log(1.0), 6)) * np.sqrt(fastest / 2.0)
        )
        size, phase = rng.uniform(0.3, 1.0, 6), rng.uniform(0.0, 2.0 * np.pi, 6)
        turn = pulsation * t[:, None] + phase
        q, w, dw = (
            np.sin(turn) @ (size / pulsation),
            np.cos(turn) @ size,
            -np.sin(turn) @ (size * pulsation),
        )
        scale = min(fastest / np.abs(w).max(), _AMPLITUDE / np.abs(q).max())
        return scale * q, scale * w, scale * dw


def _bristles(w: Array, t: Array, dry: Array, distance: float, coulomb: float) -> Array:
    """Force of bristles with little damping, each fine step with constant speed."""
    stiffness, damping = coulomb / distance, 0.02 * coulomb / distance
    force, out = np.sign(w[0]) * dry[0], np.empty(len(w))
    for k, (step, level) in enumerate(zip((w * (t[1] - t[0])).tolist(), dry.tolist(), strict=True)):
        to = level if step > 0.0 else -level
        force = to + (force - to) * float(np.exp(-stiffness * abs(step) / level))
        out[k] = force
    return np.asarray(out + damping * (w - np.abs(w) * out / dry))


def _elements(w: Array, t: Array, dry: Array, distance: float) -> Array:
    """Force of elements that slip at their distances."""
    far, slip, out = _FAR * distance, np.full(len(_FAR), np.sign(w[0])), np.empty(len(w))
    for k, step in enumerate((w * (t[1] - t[0])).tolist()):
        slip = np.minimum(1.0, np.maximum(-1.0, slip + step / far))
        out[k] = _SHARES @ slip
    return np.asarray(out * dry)
