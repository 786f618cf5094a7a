"""Synthetic strokes of one joint with ripple, for benchmark and tests of ripple; independent of
the estimator's formulas.

A joint with gravity moves to and fro at many speeds. Its drive has a velocity loop (proportional
and integral part), simulated step by step, so that ripple sways the joint above the loop's
bandwidth. The torque is delayed and noisy, with correlated noise, a level of friction of its own in
each stroke, and errors of gravity.
"""

from dataclasses import dataclass

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.ripple.passages import Passage, degree

ROTOR = 1.0  # kg·m²; inertia at the joint
_STEPS = 4  # steps of the simulation in a sample
_SETTLED = 0.5  # s before the first sample in which the loop settles


@dataclass(frozen=True)
class Strokes:
    """Plan, drive and truth of a synthetic joint.

    Attributes
    ----------
    waves : tuple of (float, float, float, str)
        Order, amplitude [N·m], phase [rad] and kind of each true wave.
    speeds : tuple of float
        Speeds [rad/s], each to and fro `repeats` times.
    width : float
        Range of positions [rad].
    noise, coloured, colour_time : float
        White noise [N·m], correlated noise [N·m] and its correlation time [s].
    scatter : float
        Deviation of friction between strokes [N·m].
    gravity_error : float
        Error of the gravity torque [N·m], once and twice a turn.
    bandwidth, delay, rate, encoder : float
        Velocity loop [Hz], delay of the torque signal [s], sample rate [Hz], encoder step [rad].
    """

    waves: tuple[tuple[float, float, float, str], ...] = ()
    speeds: tuple[float, ...] = tuple(np.geomspace(0.01, 1.0, 10).round(4).tolist())
    repeats: int = 2
    width: float = 1.2
    longest: float = 40.0
    noise: float = 0.3
    coloured: float = 0.1
    colour_time: float = 0.05
    scatter: float = 0.1
    gravity_error: float = 1.0
    coulomb: float = 5.0
    bandwidth: float = 25.0
    delay: float = 0.002
    rate: float = 250.0
    encoder: float = 1e-5

    def passages(self, seed: int) -> list[Passage]:
        """Return the passages of a campaign."""
        rng = np.random.default_rng(seed)
        speed = np.repeat(self.speeds, 2 * self.repeats)
        way = np.tile((1.0, -1.0), len(speed) // 2)
        width = np.minimum(self.width, self.longest * speed)
        centre = np.repeat(rng.uniform(-0.3, 0.3, len(speed) // 2), 2)
        q, torque = self._driven(centre - way * width / 2.0, way * speed, width / speed)
        return [
            self._measured(q[:count, k], torque[:count, k], float(way[k] * speed[k]), rng)
            for k, count in enumerate((width / speed * self.rate).astype(int).tolist())
        ]

    def _driven(self, start: Array, velocity: Array, duration: Array) -> tuple[Array, Array]:
        """Simulate all strokes at once: position and torque of the drive at the
        samples, shape (N, S) each.
        """
        fine = _STEPS
        dt, gain = 1.0 / (self.rate * fine), 2.0 * np.pi * self.bandwidth * ROTOR
        order, size, phase = (
            np.array([wave[k] for wave in self.waves], dtype=float)[:, None] for k in (0, 1, 2)
        )
        kind = np.array([wave[3] == "cogging" for wave in self.waves], dtype=bool)[:, None]
        size = size * np.where(kind, 1.0, np.sign(velocity))
        settled, count = int(_SETTLED * self.rate) * fine, int(duration.max() * self.rate) * fine
        x, v, integral = start - velocity * settled * dt, velocity.copy(), np.zeros(len(start))
        q, drive = np.empty((2, count // fine, len(start)))
        late = round(self.delay / dt)
        past = np.zeros((late + 1, len(start)))
        for step in range(-settled, count):
            error = velocity - v
            integral += gain * self.bandwidth * np.pi / 2.0 * dt * error
            torque = gain * error + integral
            past[step % (late + 1)] = torque
            if step >= 0 and step % fine == 0:
                q[step // fine], drive[step // fine] = x, past[(step + 1) % (late + 1)]
            middle = x + v * dt / 2.0
            v = v + dt / ROTOR * (torque - (size * np.sin(order * middle + phase)).sum(axis=0))
            x = middle + v * dt / 2.0
        return q, drive

    def _measured(
        self, q: Array, torque: Array, velocity: float, rng: np.random.Generator
    ) -> Passage:
        """Return one passage with friction, gravity that is wrong, and noise."""
        count, t, way = len(q), np.arange(len(q)) / self.rate, np.sign(velocity)
        level = way * (self.coulomb + self.scatter * rng.standard_normal())
        error = self.gravity_error * (np.sin(q + 0.3) + 0.3 * np.cos(2.0 * q))
        noise = self.noise * rng.standard_normal(count) + self.coloured * _correlated(
            count, self.colour_time * self.rate, rng
        )
        q = np.round(q / self.encoder) * self.encoder
        line = np.polynomial.polynomial.polyval(t, np.polynomial.polynomial.polyfit(t, q, 1))
        gravity = 20.0 * np.sin(q)
        slow = np.column_stack(
            [
                np.polynomial.legendre.legvander(
                    2.0 * (q - q.min()) / np.ptp(q) - 1.0, degree(float(np.ptp(q)))
                ),
                gravity,
                np.abs(gravity),
            ]
        )
        return Passage(
            q,
            np.full(count, velocity),
            torque + level + error + noise,
            q - line,
            ROTOR,
            slow,
            int(way),
            abs(velocity),
            1.0 / self.rate,
        )


def _correlated(count: int, samples: float, rng: np.random.Generator) -> Array:
    """Return noise of first order with a correlation time in samples, shape (N,)."""
    from scipy.signal import lfilter

    keep = float(np.exp(-1.0 / samples))
    white = rng.standard_normal(count + int(5 * samples))
    return np.asarray(lfilter([np.sqrt(1.0 - keep**2)], [1.0, -keep], white)[-count:])
