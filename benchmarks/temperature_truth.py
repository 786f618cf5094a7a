"""Points of round trips during one warm-up, of a joint whose friction changes with temperature; independent of the estimator."""

import math
from dataclasses import dataclass

import numpy as np

Array = np.ndarray
COLD, WARM = 20.0, 40.0         # °C; range of the warm-up
SPEEDS, TRIPS = 12, 144


@dataclass(frozen=True)
class WarmingJoint:
    """A joint with Coulomb, static and viscous friction; coefficients are drawn, not taken from a source.

    Attributes
    ----------
    kind : str
        How viscous friction changes with temperature: "line", "decay" (exponential with floor), "parabola", or "none".
    """

    kind: str
    coulomb: float
    excess: float
    slow: float
    viscous: float
    dry_slope: float
    first: float
    second: float

    @classmethod
    def drawn(cls, kind: str, rng: np.random.Generator) -> "WarmingJoint":
        """Draw a joint."""
        coulomb, still = rng.uniform(3.0, 10.0), kind == "none"
        first, second = {"line": (rng.uniform(0.008, 0.02), 0.0), "decay": (rng.uniform(12.0, 35.0), rng.uniform(0.2, 0.6)),
                         "parabola": (rng.uniform(0.012, 0.022), rng.uniform(1e-4, 3e-4)), "none": (0.0, 0.0)}[kind]
        return cls(kind, coulomb, rng.uniform(0.2, 0.5) * coulomb, rng.uniform(0.03, 0.08), rng.uniform(0.8, 2.0) * coulomb,
                   0.0 if still else rng.uniform(0.001, 0.006), first, second)

    def friction(self, speed: Array, temperature: Array | float) -> Array:
        """Return friction [N·m] at speeds [rad/s] and temperatures [°C]."""
        above = np.asarray(temperature) - 30.0
        thin: Array | float = 1.0
        if self.kind == "line":
            thin = 1.0 - self.first * above
        elif self.kind == "decay":
            thin = self.second + (1.0 - self.second) * np.exp(-above / self.first)
        elif self.kind == "parabola":
            thin = 1.0 - self.first * above + self.second * above**2
        dry = self.coulomb + self.excess * np.exp(-((speed / self.slow) ** 2))
        return np.asarray(dry * (1.0 - self.dry_slope * above) + self.viscous * thin * speed)


def warm_up(joint: WarmingJoint, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Return speed, friction and temperature of round trips at interleaved speeds, with 0.5 % scatter of the friction level."""
    speeds = np.geomspace(0.02, 1.5, SPEEDS)
    speed = np.concatenate([rng.permutation(speeds) for _ in range(TRIPS // SPEEDS)])
    passed = np.arange(TRIPS) / TRIPS
    temperature = COLD + (WARM - COLD) * (1.0 - np.exp(-2.5 * passed)) / (1.0 - math.exp(-2.5))
    scatter = 1.0 + 0.005 * rng.standard_normal(TRIPS)
    return speed, joint.friction(speed, temperature) * scatter + 0.02 * rng.standard_normal(TRIPS), temperature
