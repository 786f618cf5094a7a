"""Points of round trips of joints whose friction changes with temperature, load and time;
independent of the estimator.
"""

import math
from dataclasses import dataclass

import numpy as np

Array = np.ndarray
COLD, WARM = 20.0, 40.0  # °C; range of the warm-up
SPEEDS, TRIPS = 12, 144
LOADS = np.linspace(2.0, 20.0, 6)  # N·m; load at the postures
DURATION = 10.0  # s; a round trip during self-heating
_STEP = 1.0  # s; step of the integration of heat
SENSED = ("line", "decay", "parabola", "law of Bittencourt's kind", "none")
HEATED = ("one body", "two bodies")
UNHEATED = ("constant friction", "drift with time", "running-in")


@dataclass(frozen=True)
class WarmingJoint:
    """A joint with Coulomb, static and viscous friction, and load; coefficients are
    drawn, not taken from a source.

    Attributes
    ----------
    kind : str
        How friction changes with temperature. "line", "decay" (exponential with floor) and
        "parabola" change the viscous part, and a line the dry part. In the law of Bittencourt's
        kind (Bittencourt, Wernholt, Sander-Tavallaey and Brogårdh, IROS 2010), static friction and
        the Stribeck velocity grow with temperature, load has an exponential in speed of its own,
        and viscous friction decays to a floor. "none" has no temperature.
    """

    kind: str
    coulomb: float
    by_load: float
    excess: float
    slow: float
    viscous: float
    dry_slope: float
    first: float
    second: float

    @classmethod
    def drawn(cls, kind: str, rng: np.random.Generator) -> "WarmingJoint":
        """Draw a joint."""
        coulomb, still = rng.uniform(3.0, 10.0), kind not in SENSED[:4]
        first, second = {
            "line": (rng.uniform(0.008, 0.02), 0.0),
            "decay": (rng.uniform(12.0, 35.0), rng.uniform(0.2, 0.6)),
            "parabola": (rng.uniform(0.012, 0.022), rng.uniform(1e-4, 3e-4)),
            SENSED[3]: (rng.uniform(15.0, 30.0), rng.uniform(0.2, 0.6)),
        }.get(kind, (0.0, 0.0))
        return cls(
            kind,
            coulomb,
            rng.uniform(0.02, 0.1),
            rng.uniform(0.2, 0.5) * coulomb,
            rng.uniform(0.03, 0.08),
            rng.uniform(0.8, 2.0) * coulomb,
            0.0 if still else rng.uniform(0.001, 0.006),
            first,
            second,
        )

    def friction(
        self, speed: Array | float, temperature: Array | float, load: Array | float
    ) -> Array:
        """Return friction [N·m] at speeds [rad/s], temperatures [°C] and loads [N·m]."""
        above, speed = np.asarray(temperature) - 30.0, np.asarray(speed)
        level = self.coulomb + self.by_load * np.asarray(load)
        if self.kind == SENSED[3]:
            slow = self.slow * (1.0 + 0.02 * above)
            dry = (
                level
                + 0.4 * self.by_load * load * np.exp(-((speed / self.slow) ** 1.3))
                + self.excess * (1.0 + 0.02 * above) * np.exp(-((speed / slow) ** 1.3))
            )
            return np.asarray(
                dry
                + self.viscous
                * (self.second + (1.0 - self.second) * np.exp(-above / self.first))
                * speed
            )
        thin: Array | float = 1.0
        if self.kind == "line":
            thin = 1.0 - self.first * above
        elif self.kind == "decay":
            thin = self.second + (1.0 - self.second) * np.exp(-above / self.first)
        elif self.kind == "parabola":
            thin = 1.0 - self.first * above + self.second * above**2
        dry = level + self.excess * np.exp(-((speed / self.slow) ** 2))
        return np.asarray(dry * (1.0 - self.dry_slope * above) + self.viscous * thin * speed)


def warm_up(joint: WarmingJoint, rng: np.random.Generator) -> tuple[Array, Array, Array, Array]:
    """Return speed, friction, temperature and load of round trips at interleaved speeds, with
    0.5 % scatter of the level.
    """
    speed, load = _interleaved(TRIPS, rng)
    passed = np.arange(TRIPS) / TRIPS
    temperature = COLD + (WARM - COLD) * (1.0 - np.exp(-2.5 * passed)) / (1.0 - math.exp(-2.5))
    return speed, _measured(joint.friction(speed, temperature, load), rng), temperature, load


@dataclass(frozen=True)
class HeatedJoint:
    """A joint that friction heats and the surroundings cool, without a sensor.

    Attributes
    ----------
    joint : WarmingJoint
    kind : str
        A name in `HEATED` or `UNHEATED`.
    times, shares : ndarray, shape (m,)
        Time constants of its bodies [s], and their shares.
    warming : float
        Temperature of the steady state over power [K/W].
    drift : tuple of float
        Change of friction from the beginning to the end of the motion as a fraction, and its time
        constant in durations (0: a line in time).
    """

    joint: WarmingJoint
    kind: str
    times: Array
    shares: Array
    warming: float
    drift: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def drawn(cls, kind: str, rng: np.random.Generator) -> "HeatedJoint":
        """Draw a joint."""
        law = WarmingJoint.drawn(str(rng.choice(SENSED[:3])) if kind in HEATED else "none", rng)
        two = kind == HEATED[1]
        time, share = (
            rng.uniform(60.0, 150.0) if two else rng.uniform(200.0, 700.0),
            rng.uniform(0.3, 0.6) if two else 0.0,
        )
        times = np.array([time, time * rng.uniform(5.0, 8.0)])
        middle = float(
            np.mean(
                [
                    speed * law.friction(speed, 30.0, 10.0)
                    for speed in np.geomspace(0.02, 1.5, SPEEDS)
                ]
            )
        )
        drift = {
            UNHEATED[1]: (rng.choice([-1.0, 1.0]) * rng.uniform(0.03, 0.1), 0.0),
            UNHEATED[2]: (-rng.uniform(0.05, 0.15), rng.uniform(0.1, 0.5)),
        }.get(kind, (0.0, 0.0))
        return cls(
            law,
            kind,
            times,
            np.array([1.0 - share, share]),
            rng.uniform(20.0, 30.0) / middle,
            drift,
        )

    def driven(self, speed: Array, duration: Array, load: Array) -> Array:
        """Return mean friction in intervals of constant speed, from a
        cold start, shape (N,) [N·m].
        """
        bodies, out, passed, whole = (
            np.zeros(len(self.times)),
            np.zeros(len(speed)),
            0.0,
            float(duration.sum()),
        )
        for k, (rate, pressed) in enumerate(zip(speed.tolist(), load.tolist(), strict=True)):
            steps = max(1, round(float(duration[k]) / _STEP))
            dt = float(duration[k]) / steps
            for _ in range(steps):
                warm = COLD + float(self.shares @ bodies)
                level = self._drifted(passed / whole) * float(
                    self.joint.friction(rate, warm, pressed)
                )
                out[k] += level / steps
                bodies += dt / self.times * (self.warming * rate * level - bodies)
                passed += dt
        return out

    def _drifted(self, passed: float) -> float:
        size, time = self.drift
        return 1.0 + size * (passed if time == 0.0 else 1.0 - math.exp(-passed / time))


def heat_rest_heat(
    joint: HeatedJoint, rng: np.random.Generator
) -> tuple[Array, Array, Array, Array, Array]:
    """Return start, speed, friction and load of round trips that heat, rest and
    heat, and which of them move.
    """
    speed, load = _interleaved(TRIPS, rng)
    rest = TRIPS // 2
    speed = np.concatenate((speed[:rest], np.zeros(60), speed[rest:]))
    load = np.concatenate((load[:rest], np.full(60, LOADS[0]), load[rest:]))
    duration = np.full(len(speed), DURATION)
    friction = _measured(joint.driven(speed, duration, load), rng)
    return np.cumsum(duration) - duration, speed, friction, load, speed > 0.0


def another_motion(rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Return speed, duration and load of a motion to predict: work at one speed, a
    rest, work at several speeds.
    """
    speed = np.concatenate(
        (np.full(60, 0.6), np.zeros(30), rng.permutation(np.tile(np.geomspace(0.03, 1.2, 10), 5)))
    )
    return speed, np.full(len(speed), DURATION), rng.choice(LOADS, len(speed))


def _interleaved(count: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return speeds and loads of round trips in random order."""
    speeds = np.geomspace(0.02, 1.5, SPEEDS)
    return (
        np.concatenate([rng.permutation(speeds) for _ in range(count // SPEEDS)]),
        np.concatenate([rng.permutation(LOADS) for _ in range(count // len(LOADS))]),
    )


def _measured(friction: Array, rng: np.random.Generator) -> Array:
    return friction * (
        1.0 + 0.005 * rng.standard_normal(len(friction))
    ) + 0.02 * rng.standard_normal(len(friction))
