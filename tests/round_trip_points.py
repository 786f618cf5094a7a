"""Round trips of one joint whose friction is known.

The truth is written out here and not taken from the package. Every round trip has a level of its
own, as on real arms, so that its points share an error.
"""

from dataclasses import dataclass

import numpy as np

SPEEDS = np.geomspace(0.004, 1.2, 12)


def friction(
    w: np.ndarray,
    load: np.ndarray | float = 0.0,
    *,
    coulomb: float,
    viscous: float,
    static: float | None = None,
    stribeck_velocity: float = 1.0,
    coulomb_coefficient: float = 0.0,
    static_coefficient: float = 0.0,
) -> np.ndarray:
    """Truth: Coulomb and viscous friction, and an excess at low speed if `static` is given."""
    dry = coulomb + coulomb_coefficient * load
    if static is not None:
        dry = dry + (static + static_coefficient * load - dry) * np.exp(
            -((w / stribeck_velocity) ** 2)
        )
    return dry * np.sign(w) + viscous * w


@dataclass(frozen=True)
class Points:
    w: np.ndarray
    load: np.ndarray
    group: np.ndarray

    def measured(
        self, rng: np.random.Generator, clean: np.ndarray, scatter: float, noise: float
    ) -> np.ndarray:
        """With a level of its own for every round trip (a fraction of friction) and
        noise [N·m] for every point.
        """
        level = 1.0 + scatter * rng.standard_normal(self.group.max() + 1)
        return clean * level[self.group] + noise * rng.standard_normal(len(clean))


def points(
    speeds: np.ndarray = SPEEDS,
    loads: tuple[float, ...] = (0.0,),
    repeats: int = 2,
    members: int = 3,
) -> Points:
    """Round trips at every speed and load, each of several points,
    alternately of both directions.
    """
    trips = [(speed, load) for _ in range(repeats) for load in loads for speed in speeds]
    speed, load = np.repeat(np.array(trips), members, axis=0).T
    sign = np.resize([1.0, -1.0], len(speed))
    return Points(sign * speed, load, np.repeat(np.arange(len(trips)), members))


def random_truth(rng: np.random.Generator, loaded: bool = False) -> dict[str, float]:
    truth = {
        "coulomb": rng.uniform(2.0, 8.0),
        "viscous": rng.uniform(1.0, 10.0),
        "stribeck_velocity": rng.uniform(0.03, 0.1),
    }
    truth["static"] = truth["coulomb"] * rng.uniform(1.3, 1.7)
    if loaded:
        truth["coulomb_coefficient"] = rng.uniform(0.05, 0.15)
        truth["static_coefficient"] = truth["coulomb_coefficient"] * rng.uniform(1.3, 1.7)
    return truth


def noisy() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng, p = np.random.default_rng(7), points()
    truth = {"coulomb": 5.0, "static": 8.0, "viscous": 3.0, "stribeck_velocity": 0.05}
    return p.w, p.measured(rng, friction(p.w, **truth), 0.01, 0.03), p.group


def nasty(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Spoil points like real sweeps: few speeds, no low speeds, outliers, curvature, friction that
    rises instead of falling.
    """
    rng = np.random.default_rng(3000 + seed)
    speeds = np.exp(rng.uniform(np.log(0.002), np.log(2.0), int(rng.integers(9, 16))))
    p = points(speeds, repeats=int(rng.integers(1, 3)), members=int(rng.integers(1, 4)))
    drop = rng.choice([-0.3, 0.0, 0.3, 1.0])
    clean = friction(
        p.w,
        coulomb=4.0,
        static=4.0 * (1.0 + drop),
        viscous=rng.choice([0.0, 0.3, 5.0]),
        stribeck_velocity=float(np.exp(rng.uniform(np.log(0.003), np.log(2.0)))),
    )
    tau = p.measured(
        rng, clean + rng.choice([0.0, 0.8]) * np.sign(p.w) * np.sqrt(np.abs(p.w)), 0.05, 0.1
    )
    tau[rng.integers(0, len(tau), 2)] *= 1.3
    return p.w, tau, p.group
