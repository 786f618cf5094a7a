"""Residuals of a fit, whitened by its noise model, with the whitened
derivatives of the prediction.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress

import numpy as np

from stribeck.ident.arrays import Array, Groups
from stribeck.ident.fit.fit_result import FitResult
from stribeck.ident.fit.group_sums import group_sum, symmetric_inverse
from stribeck.ident.fit.law_on_points import jacobian, parameter_names
from stribeck.ident.fit.noise import Noise
from stribeck.ident.laws.law_table import law_named

# relative eigenvalue of scaled normal equations below which columns are dependent
_RANK = 1e-10


@dataclass(frozen=True)
class Residuals:
    """Residuals of a weighted least-squares fit, one row per observation.

    Attributes
    ----------
    plain : ndarray, shape (N,)
        Residuals in the direction of motion [N·m or N].
    white : ndarray, shape (N,)
        Whitened residuals: independent noise with the same variance.
    columns : ndarray, shape (N, p)
        Derivatives of the prediction with respect to the parameters, whitened in the same way.
    group : ndarray of int, shape (N,)
        Round trips 0 ... G-1, or passes of general motion.
    weight : ndarray, shape (N,)
        Weight of each row.
    names : tuple of str
        Parameters of the columns; empty if the fit is not that of a friction law.
    """

    plain: Array
    white: Array
    columns: Array
    group: Groups
    weight: Array
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, fit: FitResult) -> "Residuals":
        """Return the residuals of a fit, one row per point, with the weights of the fit."""
        data, law = fit.data, law_named(fit.law)
        assert data is not None
        values = fit.all_values
        names = parameter_names(data, law)
        fitted = [
            name in law.nonlinear or name in data.nuisance or values[name] > 0.0 for name in names
        ]
        rows = np.column_stack((jacobian(data, law, values)[:, fitted], fit.residual))
        sign = np.sign(data.direction)
        count = np.ones(len(rows)) if data.count is None else data.count
        weight = count if data.weight is None else count * data.weight[data.group]
        white = _white(sign[:, None] * rows, replace(fit.noise, sign=None), data.group, count)
        white = white * np.sqrt(weight)[:, None]
        return cls(
            sign * fit.residual,
            white[:, -1],
            white[:, :-1],
            data.group,
            weight,
            tuple(compress(names, fitted)),
        )

    @classmethod
    def of_least_squares(
        cls, columns: Array, target: Array, noise: Noise, group: Groups
    ) -> "Residuals":
        """Fit linearly, and return the residuals, one row per point."""
        white, goal = noise.whiten(columns, group), noise.whiten(target, group)
        beta, *_ = np.linalg.lstsq(white, goal, rcond=None)
        return cls(target - columns @ beta, goal - white @ beta, white, group, np.ones(len(target)))

    @property
    def of_trips(self) -> "Residuals":
        """Residuals with one row per round trip: the level that its points share."""
        weight = np.bincount(self.group, self.weight)
        plain = np.bincount(self.group, self.weight * self.plain) / weight
        rows = group_sum(
            np.sqrt(self.weight)[:, None] * np.column_stack((self.columns, self.white)), self.group
        )
        rows = rows / np.sqrt(weight)[:, None]
        return Residuals(
            plain,
            rows[:, -1],
            rows[:, :-1],
            np.arange(len(weight)),
            weight / np.bincount(self.group),
            self.names,
        )

    @property
    def spare(self) -> int:
        """Residual degrees of freedom."""
        return len(self.white) - int(np.linalg.matrix_rank(self.columns))

    @cached_property
    def inverse(self) -> Array:
        """Covariance of the parameters under the noise model, shape (p, p)."""
        gram = self.columns.T @ self.columns
        scale = np.sqrt(np.maximum(np.diag(gram), 1e-300))
        return symmetric_inverse(gram / np.outer(scale, scale), _RANK) / np.outer(scale, scale)

    def in_order(self, order: Groups) -> "Residuals":
        """Return the rows in another order."""
        return Residuals(
            self.plain[order],
            self.white[order],
            self.columns[order],
            self.group[order],
            self.weight[order],
            self.names,
        )

    def mean_of_trips(self, values: Array) -> Array:
        """Return the mean of values of the rows over each round trip, shape (G,)."""
        return np.asarray(np.bincount(self.group, values) / np.bincount(self.group))


def _white(rows: Array, noise: Noise, group: Groups, count: Array) -> Array:
    """Whiten rows: divide rows about the mean by the deviation of a point,
    means by that of a level.
    """
    if noise.level is None:
        return rows / noise.within
    samples = np.bincount(group, count)
    mean = group_sum(count[:, None] * rows, group) / samples[:, None]
    level = (noise.level * np.sqrt(samples[group]))[:, None]
    return np.asarray((rows - mean[group]) / noise.within + mean[group] / level)
