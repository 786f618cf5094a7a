"""Truths of the benchmark `choice`: curves of friction over speed with their prior,
speeds, orders and noise.

The formulae are written here and do not use the package. Speeds are relative to the
fastest speed. A truth is

    friction = C + D fade(speed) + K rise(speed)

with the shapes `fade` and `rise` of a family; `rise` is 1 at the fastest speed.
`Family.log_prior` is the density from which `Family.draw` draws, so `choice_oracle` knows the
distribution of the truths.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np

LEVEL = (2.0, 8.0)  # N·m; range of Coulomb friction, uniform in the logarithm
FASTEST = 1.2  # rad/s
# standard deviation of friction's growth from the first to the last round trip
DRIFT = 0.03
SERIAL = 0.5  # correlation of successive round trips
SPEEDS, NOISES = (12, 36), (0.01, 0.03)  # noise as a fraction of Coulomb friction
KINDS, ORDERS = ("white", "drift", "AR(1)"), ("random", "ascending", "descending")


@dataclass(frozen=True)
class Family:
    """Truths of one kind.

    Attributes
    ----------
    name : str
    rise : callable
        ``rise(speed, shape)``: friction that grows with speed; shapes have as many
        columns as `box` has rows.
    box : tuple of (float, float)
        Range of each number of the shape. The prior is uniform, except for the velocity
        at which an excess fades.
    growth : tuple of float
        Range of K / C; uniform prior.
    exponents : tuple of float
        Exponents of the fading excess, with equal probability; an empty tuple means no excess. The
        velocity is then the first number of the shape.
    drop : tuple of float
        Range of D / C; uniform prior.
    ratio : tuple of float, optional
        Range of K w / D with the velocity w at which the excess fades; uniform prior. Without it,
        log w is uniform within its box, and independent of K and D.
    """

    name: str
    rise: Callable[[np.ndarray, np.ndarray], np.ndarray]
    box: tuple[tuple[float, float], ...] = ()
    growth: tuple[float, float] = (0.5, 1.5)
    exponents: tuple[float, ...] = ()
    drop: tuple[float, float] = (0.0, 0.0)
    ratio: tuple[float, float] | None = None

    def columns(self, speed: np.ndarray, shape: np.ndarray, exponent: float | None) -> np.ndarray:
        """Regression columns of C, of D if there is an excess, and of
        K, for n shapes: (n, N, p).
        """
        rise = self.rise(speed, shape)
        parts = [np.ones_like(rise), rise]
        if exponent is not None:
            parts.insert(1, np.exp(-((speed / shape[:, :1]) ** exponent)))
        return np.stack(parts, axis=-1)

    def log_prior(self, shape: np.ndarray, beta: np.ndarray) -> np.ndarray:
        """Logarithm of the density of shapes (n, 1, s) and parameters (n, m, p),
        without a constant per exponent.
        """
        level, growth = beta[..., 0], beta[..., -1] / beta[..., 0]
        inside = _within(level, LEVEL) & _within(growth, self.growth)
        with np.errstate(divide="ignore", invalid="ignore"):
            log = -2.0 * np.log(level) - np.log(np.log(LEVEL[1] / LEVEL[0]) * np.ptp(self.growth))
            if self.exponents:
                drop = beta[..., 1] / level
                inside &= _within(drop, self.drop)
                log += -np.log(level) - np.log(np.ptp(self.drop))
                if self.ratio:
                    inside &= _within(growth * shape[..., 0] / drop, self.ratio)
                    log += np.log(growth / drop) - np.log(np.ptp(self.ratio))
                else:
                    log += -np.log(shape[..., 0]) - np.log(np.log(self.box[0][1] / self.box[0][0]))
        for low, high in self.box[1 if self.exponents else 0 :]:
            log -= np.log(high - low)
        return np.where(inside, log, -np.inf)

    def draw(self, rng: np.random.Generator) -> "Truth":
        """Draw one truth from the prior."""
        level, growth = np.exp(rng.uniform(*np.log(LEVEL))), rng.uniform(*self.growth)
        shape = np.array([rng.uniform(*part) for part in self.box])
        if not self.exponents:
            return Truth(self, np.array([level, growth * level]), shape, None)
        drop, exponent = rng.uniform(*self.drop), float(rng.choice(self.exponents))
        shape[0] = (
            rng.uniform(*self.ratio) * drop / growth
            if self.ratio
            else np.exp(rng.uniform(*np.log(self.box[0])))
        )
        return Truth(self, level * np.array([1.0, drop, growth]), shape, exponent)


@dataclass(frozen=True)
class Truth:
    """A curve of a family: parameters C, D if there is an excess, and K [N·m]; the shape; and
    the exponent of the excess.
    """

    family: Family
    beta: np.ndarray
    shape: np.ndarray
    exponent: float | None

    @property
    def coulomb(self) -> float:
        """C [N·m]."""
        return float(self.beta[0])

    @property
    def static(self) -> float:
        """C + D [N·m]."""
        return float(self.beta[:-1].sum())

    def friction(self, w: np.ndarray) -> np.ndarray:
        """Friction without noise at speeds [rad/s]."""
        return np.asarray(
            self.family.columns(w / FASTEST, self.shape[None], self.exponent)[0] @ self.beta
        )


def _within(values: np.ndarray, ends: tuple[float, float]) -> np.ndarray:
    return np.asarray((values >= ends[0]) & (values <= ends[1]))


def _linear(speed: np.ndarray, shape: np.ndarray) -> np.ndarray:
    return np.broadcast_to(speed, (len(shape), len(speed)))


def _power(speed: np.ndarray, shape: np.ndarray) -> np.ndarray:
    return np.asarray(speed ** shape[:, :1])


def _kink(speed: np.ndarray, shape: np.ndarray) -> np.ndarray:
    return np.maximum(0.0, speed - shape[:, :1]) / (1.0 - shape[:, :1])


_ROUND = 0.08  # width of a rounded kink, as a fraction of the fastest speed


def _rounded(speed: np.ndarray, shape: np.ndarray) -> np.ndarray:
    knee = shape[:, :1]
    start, end = (_ROUND * np.logaddexp(0.0, (at - knee) / _ROUND) for at in (0.0, 1.0))
    return np.asarray((_ROUND * np.logaddexp(0.0, (speed - knee) / _ROUND) - start) / (end - start))


def _saturating(speed: np.ndarray, shape: np.ndarray) -> np.ndarray:
    return np.asarray(np.expm1(-speed / shape[:, :1]) / np.expm1(-1.0 / shape[:, :1]))


def _bent(speed: np.ndarray, shape: np.ndarray) -> np.ndarray:
    return np.asarray(speed ** shape[:, 1:])


@dataclass(frozen=True)
class Mix:
    """Families of truths with equal probability, and the speeds at which they are measured."""

    name: str
    families: tuple[Family, ...]
    slowest: float = 1.0 / 120.0
    even: str = "logarithm"
    orders: tuple[str, ...] = ORDERS

    def speeds(self, count: int) -> np.ndarray:
        """Ascending speeds relative to the fastest speed."""
        if self.even == "logarithm":
            return np.geomspace(self.slowest, 1.0, count)
        return np.linspace(np.sqrt(self.slowest), 1.0, count) ** 2


# range that follows from drop, ratio and growth
_FADES = ((0.2 * 0.05 / 1.5, 1.5 * 0.4 / 0.5),)
FIRST = Mix(
    "first",
    (
        Family("Coulomb-viscous", _linear),
        *(
            Family(
                f"Stribeck, exponent {exponent:g}",
                _linear,
                _FADES,
                exponents=(exponent,),
                drop=(0.05, 0.4),
                ratio=(0.2, 1.5),
            )
            for exponent in (0.6, 1.0, 2.0)
        ),
        Family("viscous power", _power, ((0.6, 1.0),)),
        Family("kink", _kink, ((0.2, 0.7),)),
    ),
)
SHIFTED = Mix(
    "shifted",
    (
        Family("Coulomb-viscous", _linear, growth=(0.1, 0.8)),
        Family("Stribeck", _linear, ((0.02, 0.2),), (0.2, 2.5), (0.8, 1.4, 3.0), (0.1, 0.6)),
        Family(
            "Stribeck, viscous power",
            _bent,
            ((0.02, 0.2), (0.6, 0.9)),
            (0.2, 2.5),
            (2.0,),
            (0.1, 0.6),
        ),
        Family("viscous power", _power, ((0.5, 1.8),), (0.3, 2.5)),
        Family("saturating", _saturating, ((0.1, 1.0),), (0.3, 1.5)),
        Family("rounded kink", _rounded, ((0.15, 0.6),), (0.3, 2.0)),
    ),
    1.0 / 60.0,
    "square",
    ("random",),
)
MIXES = {mix.name: mix for mix in (FIRST, SHIFTED)}


def drop_of(part: float, ratio: float, exponent: float, growth: float = 0.72) -> Truth:
    """Truth of the first mix with 5 N·m of Coulomb friction, the given drop,
    and the given ratio K w / D.
    """
    family = next(one for one in FIRST.families if one.exponents == (exponent,))
    return Truth(
        family, 5.0 * np.array([1.0, part, growth]), np.array([ratio * part / growth]), exponent
    )


def kink_at(knee: float, slope: float = 0.72) -> Truth:
    """Truth of the first mix with 5 N·m up to a fraction of the fastest speed, and the
    given slope above this speed.
    """
    return Truth(
        FIRST.families[-1], 5.0 * np.array([1.0, slope * (1.0 - knee)]), np.array([knee]), None
    )


@dataclass(frozen=True)
class Condition:
    """Measurement condition of a truth."""

    speeds: int
    noise: float
    kind: str
    order: str


def conditions(mix: Mix) -> list[Condition]:
    """All conditions of a mix."""
    return [Condition(*one) for one in product(SPEEDS, NOISES, KINDS, mix.orders)]


@dataclass(frozen=True)
class Measured:
    """Round trips in order of time: speeds [rad/s], torques [N·m], and times from -1/2 to 1/2."""

    w: np.ndarray
    tau: np.ndarray
    t: np.ndarray


def measure(truth: Truth, mix: Mix, how: Condition, rng: np.random.Generator) -> Measured:
    """Measure one round trip for each speed, with noise and drift."""
    w = FASTEST * mix.speeds(how.speeds)
    w = {"random": rng.permutation(w), "ascending": w, "descending": w[::-1]}[how.order]
    t = np.linspace(-0.5, 0.5, len(w))
    noise = np.linalg.cholesky(correlations(how.kind, len(w))) @ rng.standard_normal(len(w))
    drift = DRIFT * rng.standard_normal() if how.kind == "drift" else 0.0
    return Measured(w, truth.friction(w) * (1.0 + drift * t) + how.noise * truth.coulomb * noise, t)


def correlations(kind: str, count: int) -> np.ndarray:
    """Correlation matrix of the noise of successive round trips."""
    apart = np.abs(np.subtract.outer(np.arange(count), np.arange(count)))
    return np.asarray(SERIAL**apart if kind == "AR(1)" else np.eye(count))
