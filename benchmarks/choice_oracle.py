"""Oracle of the benchmark `choice`, which knows the distribution of the truths: a Bayes
mixture, and Cramér-Rao bounds.

The mixture is integrated by importance sampling. Shapes come from a Sobol sequence. For each shape,
parameters and noise variance are drawn from the result of least squares (Student's distribution)
and weighted by the benchmark's prior. The oracle knows the correlation of the noise and the prior
of the drift, but not the standard deviation of the noise.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import gammaln
from scipy.stats import qmc

from benchmarks.choice_truths import (
    DRIFT,
    FASTEST,
    Condition,
    Family,
    Measured,
    Mix,
    Truth,
    correlations,
)

SHAPES, DRAWS = 4096, 8
# draws whose weight is below this fraction of the greatest weight are left out
_LIGHT = 1e-8
_RIDGE = 1e-12


@dataclass(frozen=True)
class Posterior:
    """Weighted draws from the mixture of all truths, given measured round trips.

    Attributes
    ----------
    weight : ndarray, shape (n,)
        Weights; their sum is 1.
    coulomb, static : ndarray, shape (n,)
        C and C + D [N·m].
    friction : ndarray, shape (n, speeds)
        Friction at the requested speeds [N·m].
    falls : ndarray of bool, shape (n,)
        True if friction falls with speed somewhere, that is, has an excess.
    """

    weight: np.ndarray
    coulomb: np.ndarray
    static: np.ndarray
    friction: np.ndarray
    falls: np.ndarray

    @cached_property
    def draws(self) -> float:
        """Effective number of draws of equal weight."""
        return float(1.0 / np.sum(self.weight**2))

    def interval(self, values: np.ndarray, level: float = 0.95) -> tuple[float, float]:
        """Interval from the lower to the upper quantile."""
        order = np.argsort(values)
        below = np.cumsum(self.weight[order])
        low, high = np.searchsorted(below, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
        return float(values[order[low]]), float(values[order[min(high, len(order) - 1)]])


def posterior(
    mix: Mix, how: Condition, measured: Measured, at: np.ndarray, rng: np.random.Generator
) -> Posterior:
    """Return the mixture; `at` are the speeds at which friction is computed [rad/s]."""
    parts = []
    for family in mix.families:
        for exponent in family.exponents or (None,):
            log, *drawn = _family(family, exponent, how, measured, at, rng)
            parts.append((log - np.log(max(1, len(family.exponents))), *drawn))
    log, coulomb, static, friction, falls = (
        np.concatenate(part) for part in zip(*parts, strict=True)
    )
    weight = np.exp(log - log.max())
    keep = weight > _LIGHT
    return Posterior(
        weight[keep] / weight[keep].sum(), coulomb[keep], static[keep], friction[keep], falls[keep]
    )


def _family(
    family: Family,
    exponent: float | None,
    how: Condition,
    measured: Measured,
    at: np.ndarray,
    rng: np.random.Generator,
) -> tuple[np.ndarray, ...]:
    """Draws from one family: logarithm of weights, C, C + D, friction, and whether
    friction falls with speed.
    """
    shape, density = _shapes(family, rng)
    X = family.columns(measured.w / FASTEST, shape, exponent)
    p = X.shape[-1]
    if how.kind == "drift":
        beside = np.broadcast_to((measured.t * measured.tau)[:, None], (len(X), len(measured.w), 1))
        X = np.concatenate((X, beside), axis=-1)
    white = np.linalg.inv(np.linalg.cholesky(correlations(how.kind, len(measured.w))))
    A, y = white @ X, white @ measured.tau
    gram = np.swapaxes(A, -1, -2) @ A
    scale = np.sqrt(np.diagonal(gram, axis1=-2, axis2=-1))
    scaled = gram / (scale[:, :, None] * scale[:, None, :]) + _RIDGE * np.eye(gram.shape[-1])
    lower = np.linalg.cholesky(scaled)  # scaled = lower lower'
    best = (
        np.linalg.solve(scaled, ((np.swapaxes(A, -1, -2) @ y) / scale)[..., None])[..., 0] / scale
    )
    misfit = np.sum((y - (A @ best[..., None])[..., 0]) ** 2, axis=-1)
    freedom = len(y) - A.shape[-1]
    # integral of the likelihood over all parameters, and over the logarithm of the deviation
    log = (
        gammaln(freedom / 2.0)
        - freedom / 2.0 * np.log(np.pi * misfit)
        - np.log(np.diagonal(lower, axis1=-2, axis2=-1)).sum(axis=-1)
        - np.log(scale).sum(axis=-1)
        - density
    )
    deviation = np.sqrt(misfit[:, None] / rng.chisquare(freedom, (len(X), DRAWS)))
    step = np.linalg.solve(
        np.swapaxes(lower, -1, -2), rng.standard_normal((len(X), A.shape[-1], DRAWS))
    )
    beta = best[:, None] + np.swapaxes(step, -1, -2) * deviation[..., None] / scale[:, None]
    log = log[:, None] + family.log_prior(shape[:, None], beta[..., :p])
    if how.kind == "drift":
        log -= 0.5 * (beta[..., p] / DRIFT) ** 2 + np.log(DRIFT * np.sqrt(2.0 * np.pi))
    friction = np.einsum(
        "nsp,nmp->nms", family.columns(at / FASTEST, shape, exponent), beta[..., :p]
    )
    keep = np.isfinite(log)
    coulomb, static = beta[..., 0], beta[..., : p - 1].sum(axis=-1)
    return (
        log[keep],
        coulomb[keep],
        static[keep],
        friction[keep],
        np.full(int(keep.sum()), exponent is not None),
    )


def _shapes(family: Family, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Shapes spaced evenly over the box (the velocity of an excess in the logarithm), and the
    logarithm of their density.
    """
    if not family.box:
        return np.empty((SHAPES // 8, 0)), np.full(SHAPES // 8, np.log(SHAPES // 8))
    low, high = np.array(family.box).T
    unit, density = qmc.Sobol(len(low), rng=rng).random(SHAPES), np.zeros(SHAPES)
    shape = low + unit * (high - low)
    for k in range(len(low)):
        if k == 0 and family.exponents:
            shape[:, 0] = low[0] * (high[0] / low[0]) ** unit[:, 0]
            density -= np.log(shape[:, 0] * np.log(high[0] / low[0]))
        else:
            density -= np.log(high[k] - low[k])
    return shape, density + np.log(SHAPES)


def bounds(truth: Truth, how: Condition, measured: Measured, at: np.ndarray) -> np.ndarray:
    """Cramér-Rao bound of the standard deviation of friction for a fit that knows the true
    family, shape (speeds,) [N·m].
    """

    def friction(w: np.ndarray, k: int, step: float) -> np.ndarray:
        shape = truth.shape.copy()
        shape[k] *= np.exp(step)
        return Truth(truth.family, truth.beta, shape, truth.exponent).friction(w)

    def slopes(w: np.ndarray) -> np.ndarray:
        own = (
            truth.family.columns(w / FASTEST, truth.shape[None], truth.exponent)[0] * truth.coulomb
        )
        moved = [
            (friction(w, k, 1e-4) - friction(w, k, -1e-4)) / 2e-4 for k in range(len(truth.shape))
        ]
        return np.column_stack((own, *moved))

    J, G = slopes(measured.w), slopes(at)
    known = np.zeros(J.shape[1])
    if how.kind == "drift":
        J = np.column_stack((J, measured.t * truth.friction(measured.w)))
        G, known = np.column_stack((G, np.zeros(len(G)))), np.append(known, DRIFT**-2.0)
    covariance = (how.noise * truth.coulomb) ** 2 * correlations(how.kind, len(measured.w))
    information = J.T @ np.linalg.solve(covariance, J) + np.diag(known)
    return np.asarray(
        np.sqrt(
            np.einsum("si,ij,sj->s", G, np.linalg.pinv(information, rcond=1e-12, hermitian=True), G)
        )
    )
