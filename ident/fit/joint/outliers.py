"""Outliers: round trips with residuals far from all others, which a robust loss weights down.

A robust loss costs precision if there are no outliers, and hides lack of fit of a law.
Therefore it acts only if single round trips have large residuals while round trips at
neighbouring speeds do not.

References
----------
Huber, Ann. Math. Stat. 35 (1964) 73.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from stribeck.ident.arrays import Array, first_of_groups
from stribeck.ident.fit.fit_result import FitResult
from stribeck.ident.fit.points import FitPoints

LOSSES = ("auto", "squares", "huber")
HUBER = 1.345  # standard deviations; 95 % efficient without outliers
# robust standard deviations from which a round trip is an outlier (by chance: none in 100 000)
_GROSS = 6.0
# part of the deviation at neighbouring speeds from which the cause is a misfit of the law
_BESIDE = 0.25
_NEIGHBOURS = 2  # neighbours on each side, in the order of speeds
_MOST = 0.2  # largest part of the round trips that can be outliers
_NORMAL_MEDIAN = 1.4826  # standard deviation over the median of absolute values
_REWEIGHTED = 5  # iterations of reweighting


def fit_robustly(
    data: FitPoints, fit: Callable[[FitPoints], FitResult], loss: str
) -> tuple[FitResult, np.ndarray]:
    """Fit points so that outliers count less, and return which round trips are outliers.

    Parameters
    ----------
    data : FitPoints
        Points of one joint.
    fit : callable
        Function that fits points.
    loss : str
        "squares"; "huber": round trips with residuals beyond `HUBER` standard deviations count
        less; "auto": "huber" if there are outliers.

    Returns
    -------
    found : FitResult
        Result of `fit`.
    outliers : ndarray of bool, shape (G,)
        Which round trips are outliers; none with "squares".
    """
    found = fit(data)
    if loss == "squares" or (loss == "auto" and not outliers(data, found).any()):
        return found, np.zeros(data.groups, dtype=bool)
    for _ in range(_REWEIGHTED):
        data = replace(data, weight=_huber_weights(data, found))
        found = fit(data)
    return found, outliers(data, found)


def outliers(data: FitPoints, fit: FitResult) -> np.ndarray:
    """Return which round trips deviate beyond chance while those at neighbouring
    speeds do not, shape (G,).
    """
    off = _deviations(data, fit)
    speed = np.bincount(data.group, np.abs(data.w)) / np.bincount(data.group)
    order = np.argsort(speed, kind="stable")
    ranked = off[order]
    found = np.zeros(len(off), dtype=bool)
    for k in np.flatnonzero(np.abs(ranked) > _GROSS).tolist():
        sides = ranked[max(0, k - _NEIGHBOURS) : k], ranked[k + 1 : k + 1 + _NEIGHBOURS]
        beside = np.sign(ranked[k]) * np.concatenate(sides)
        found[order[k]] = min(map(len, sides)) > 0 and float(np.median(beside)) < _BESIDE * abs(
            ranked[k]
        )
    return found if found.mean() <= _MOST else np.zeros(len(off), dtype=bool)


def _deviations(data: FitPoints, fit: FitResult) -> Array:
    """Return the mean residual of each round trip, in robust standard deviations, shape (G,)."""
    mean = np.bincount(data.group, np.sign(data.w) * fit.residual) / np.bincount(data.group)
    assert fit.noise.level is not None
    off = mean / first_of_groups(fit.noise.level, data.group)
    return np.asarray(off / max(_NORMAL_MEDIAN * float(np.median(np.abs(off))), 1e-12))


def _huber_weights(data: FitPoints, fit: FitResult) -> Array:
    """Return Huber's weight of each round trip from its mean residual, shape (G,)."""
    return np.asarray(1.0 / np.maximum(1.0, np.abs(_deviations(data, fit)) / HUBER))
