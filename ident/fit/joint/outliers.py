"""Round trips that went wrong: found by how far they lie off all others, and weighed down by a loss.

A loss that weighs large residuals down costs precision where nothing went wrong, and hides what a law cannot follow. So it acts
only where single round trips lie far off while those at the speeds beside them do not.

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
HUBER = 1.345           # 95 % efficient where no round trip went wrong
_GROSS = 6.0            # robust standard deviations by which no round trip of a hundred thousand is off by chance,
_BESIDE = 0.25          # and the part of that by which those beside it, if they are off alike, show a misfit of the law
_NEIGHBOURS = 2         # on either side in the order of speeds
_MOST = 0.2             # part of the round trips that can be outliers
_NORMAL_MEDIAN = 1.4826     # standard deviations in a median of absolute values
_REWEIGHTED = 5         # how often


def fit_robustly(data: FitPoints, fit: Callable[[FitPoints], FitResult], loss: str) -> tuple[FitResult, np.ndarray]:
    """A fit in which round trips that went wrong count less, and which these are.

    Parameters
    ----------
    data : FitPoints
        Points of one joint.
    fit : callable
        Fits points.
    loss : str
        "squares"; "huber": a round trip off by more than `HUBER` standard deviations counts less; "auto": the same where there
        are outliers.

    Returns
    -------
    found : FitResult
        What `fit` made.
    outliers : ndarray of bool, shape (G,)
        Round trips far off the others; none with "squares".
    """
    found = fit(data)
    if loss == "squares" or (loss == "auto" and not outliers(data, found).any()):
        return found, np.zeros(data.groups, dtype=bool)
    for _ in range(_REWEIGHTED):
        data = replace(data, weight=_huber_weights(data, found))
        found = fit(data)
    return found, outliers(data, found)


def outliers(data: FitPoints, fit: FitResult) -> np.ndarray:
    """Round trips off by more than chance makes, between speeds at which others are not, shape (G,)."""
    off = _deviations(data, fit)
    speed = np.bincount(data.group, np.abs(data.w)) / np.bincount(data.group)
    order = np.argsort(speed, kind="stable")
    ranked = off[order]
    found = np.zeros(len(off), dtype=bool)
    for k in np.flatnonzero(np.abs(ranked) > _GROSS).tolist():
        sides = ranked[max(0, k - _NEIGHBOURS):k], ranked[k + 1:k + 1 + _NEIGHBOURS]
        beside = np.sign(ranked[k]) * np.concatenate(sides)
        found[order[k]] = min(map(len, sides)) > 0 and float(np.median(beside)) < _BESIDE * abs(ranked[k])
    return found if found.mean() <= _MOST else np.zeros(len(off), dtype=bool)


def _deviations(data: FitPoints, fit: FitResult) -> Array:
    """How far the mean residual of each round trip is off, in robust standard deviations, shape (G,)."""
    mean = np.bincount(data.group, np.sign(data.w) * fit.residual) / np.bincount(data.group)
    assert fit.noise.level is not None
    off = mean / first_of_groups(fit.noise.level, data.group)
    return np.asarray(off / max(_NORMAL_MEDIAN * float(np.median(np.abs(off))), 1e-12))


def _huber_weights(data: FitPoints, fit: FitResult) -> Array:
    """How much each round trip counts, by how far its mean residual is off, shape (G,)."""
    return np.asarray(1.0 / np.maximum(1.0, np.abs(_deviations(data, fit)) / HUBER))
