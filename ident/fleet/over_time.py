r"""Friction of one joint of one arm over its days: steps and trends, in units of
the scatter between days.

A step between two days compares the weighted means before and after it; a trend is the weighted
slope. Both have variances that follow from the deviation between days :math:`\delta` and the
standard errors. The deviation is averaged over the grid of the fleet's model, weighted by the other
arms and by the scatter of this arm about the step or the line itself, so a change is not taken for
scatter. The greatest of k steps has k times its probability (Bonferroni).
"""

from dataclasses import dataclass

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.fleet.random_effects import RandomEffects, averaged, segment

YEAR = 365.25  # d
_LEAST = 3  # days of a trend


@dataclass(frozen=True)
class Change:
    """A change of the log friction of an arm.

    Attributes
    ----------
    size : float
        Change of the log friction; of a trend, per year.
    row : int
        First row of the levels after the change; of a trend, the newest.
    probability : float
        Two-sided, without a change.
    """

    size: float
    row: int
    probability: float


def steps(model: RandomEffects, arm: int) -> list[Change]:
    """Return the step between every two days of an arm, by time; the last compares the newest
    day with all earlier ones.
    """
    levels, outer, found = model.levels, model.day_log_weight(arm), []
    rows = np.arange(len(levels.y))[levels.days_of(arm)]
    variance = model.day[:, None] ** 2 + levels.error[rows] ** 2
    for k in range(1, len(rows)):
        before, after = (
            segment(levels.y[rows[part]], variance[:, part])
            for part in (slice(None, k), slice(k, None))
        )
        off = after[0] - before[0]
        weight = outer + before[2] + after[2]
        found.append(
            Change(
                _expected(weight, off),
                int(rows[k]),
                averaged(weight, off / np.sqrt(before[1] + after[1])),
            )
        )
    return found


def greatest(found: list[Change]) -> Change:
    """Return the least probable step, with its probability for having been chosen among all."""
    best = min(found, key=lambda one: one.probability)
    return Change(best.size, best.row, min(1.0, len(found) * best.probability))


def trend(model: RandomEffects, arm: int) -> Change | None:
    """Return the trend of an arm; None with fewer than three days."""
    levels = model.levels
    rows = np.arange(len(levels.y))[levels.days_of(arm)]
    if len(rows) < _LEAST:
        return None
    years, y = levels.time[rows] / YEAR, levels.y[rows]
    variance = model.day[:, None] ** 2 + levels.error[rows] ** 2
    w = 1.0 / variance
    x = years - (w @ years / w.sum(axis=1))[:, None]
    power = (w * x**2).sum(axis=1)
    slope = (w * x * y).sum(axis=1) / power
    middle = (w @ y) / w.sum(axis=1)
    rest = (w * (y - middle[:, None] - slope[:, None] * x) ** 2).sum(axis=1)
    weight = model.day_log_weight(arm) - 0.5 * (
        np.log(variance).sum(axis=1) + np.log(w.sum(axis=1)) + np.log(power) + rest
    )
    return Change(_expected(weight, slope), int(rows[-1]), averaged(weight, slope * np.sqrt(power)))


def _expected(log_weight: Array, value: Array) -> float:
    weight = np.exp(log_weight - log_weight.max())
    return float(weight @ value / weight.sum())
