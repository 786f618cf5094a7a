r"""Least squares on clustered data: noise model, whitening, covariance and intervals.

Residuals of one round trip share a level error, often proportional to friction. The noise model
therefore has two variances: of points about the mean of their round trip, and of these means.
Whitening by it makes least squares nearly efficient. The covariance leaves out one round trip at a
time, so intervals are right even if the noise model is wrong.
"""

from dataclasses import dataclass, replace

import numpy as np

from stribeck.ident.arrays import Array, Groups
from stribeck.ident.fit.group_sums import group_sum

_FLOOR = 1e-6  # least noise, as a fraction of the signal
_LEFT = 0.05  # least part of a level's variance that remains in its residual


@dataclass(frozen=True)
class Noise:
    """Standard deviations of residuals: of points about the mean of their round
    trip, and of these means.

    Attributes
    ----------
    within : float
        Deviation of a point about the mean of its round trip; the same for all.
    level : ndarray, shape (N,), optional
        Deviation of the mean of each point's round trip; shape (G,) if only sums over round trips
        are used. Default: that of independent points.
    sign : ndarray, shape (N,), optional
        Sign with which the level error enters each point; default 1.
    """

    within: float
    level: Array | None = None
    sign: Array | None = None

    def of_points(self, group: Groups, sign: Array | None = None) -> "Noise":
        """Return the noise model of points, from a noise model with a level for each round trip."""
        return replace(self, level=None if self.level is None else self.level[group], sign=sign)

    def variance_of_means(self, count: Array) -> Array:
        """Return the variance of the mean of each round trip with `count` points, shape (G,)."""
        return np.asarray(self.within**2 / count if self.level is None else self.level**2)

    def whiten(self, values: Array, group: Groups) -> Array:
        """Transform rows so that their noise is white with unit variance; values (N, ...)."""
        if self.sign is not None:
            values = values * self.sign.reshape(-1, *[1] * (values.ndim - 1))
        if self.level is None:
            return np.asarray(values / self.within)
        count = np.bincount(group)
        keep = self.within / (np.sqrt(count)[group] * self.level)
        mean = group_sum(values, group) / count.reshape(-1, *[1] * (values.ndim - 1))
        share = (1.0 - keep).reshape(-1, *[1] * (values.ndim - 1))
        return np.asarray((values - share * mean[group]) / self.within)


WHITE = Noise(1.0)  # whitening by this noise changes no value


def estimate_noise(residual: Array, level: Array, group: Groups, parameters: int) -> Noise:
    """Estimate the noise model from the residuals of a first fit.

    Parameters
    ----------
    residual, level : ndarray, shape (N,)
        Residuals, and friction at the same points.
    group : ndarray of int, shape (N,)
        Round trips.
    parameters : int
        How many parameters were fitted.
    """
    sums, count = group_sum(residual, group), np.bincount(group).astype(float)
    about = float(np.sum((residual - (sums / count)[group]) ** 2))
    part = np.full(len(count), parameters / len(count))
    return noise_of_sums(sums, about, group_sum(level, group), count, part).of_points(group)


def noise_of_sums(
    residual: Array, about: float, level: Array, count: Array, leverage: Array
) -> Noise:
    """Estimate the noise model, with a level for each round trip, from sums over round trips.

    Three models of the level's deviation are averaged: constant, proportional to friction, and that
    of a mean of independent points. Each variance is weighted by the likelihood of the residuals.

    Parameters
    ----------
    residual, level : ndarray, shape (G,)
        Sums of the residuals, and of friction at the same points.
    about : float
        Sum of squares of the residuals about the mean of their round trip.
    count : ndarray, shape (G,)
        Number of points of each round trip.
    leverage : ndarray, shape (G,)
        Leverage of each level on its own prediction; the sum is the number of parameters that
        levels determine. The variance of a residual level is smaller by this part, which matters if
        few round trips have high speeds.
    """
    left = np.maximum(_LEFT, 1.0 - leverage)
    mean, size, spare = residual / count, np.abs(level / count), float(count.sum()) - len(count)
    floor = _FLOOR * max(float(size.max()), 1e-12)
    within = float(np.sqrt(max(0.0, about) / spare)) if spare > 0.0 else 0.0
    likely, variances = [], []
    for shape in (
        np.ones(len(count)),
        np.maximum(size, 0.05 * size.max() + floor),
        1.0 / np.sqrt(count),
    ):
        variance = np.sum((mean / shape) ** 2) / left.sum() * shape**2 + floor**2
        likely.append(-0.5 * float(np.sum(left * np.log(variance) + mean**2 / variance)))
        variances.append(variance)
    variance = np.average(variances, axis=0, weights=np.exp(np.array(likely) - max(likely)))
    return Noise(max(within, floor, 0.05 * float(np.median(np.sqrt(variance)))), np.sqrt(variance))
