r"""Test of least squares with instrumental variables: Durbin, Wu and Hausman, in
the form of a regression.

In a closed loop, position noise and unmodelled torque affect both sides of the equation of motion
:math:`\tau = X \theta + e`: the columns X of the measured motion may correlate with the error e.
Then least squares are biased, however long the log is. Columns Z along the commanded motion do not
correlate with e. The residual of a regression of X on Z,

.. math:: V = X - Z (Z^T Z)^{-1} Z^T X, \qquad \tau = X \theta + V \gamma + \varepsilon

contains the part of X that may correlate with e. With V as additional columns, :math:`\theta` is
the estimate by instrumental variables (two-stage least squares), and :math:`\gamma` differs from
zero if least squares are biased. Both estimates differ by

.. math:: d = -(X^T X)^{-1} X^T V \gamma

which is tested for each parameter with the covariance from leaving out one pass at a time: a joint
test of all :math:`\gamma` has no power with few passes, and reports negligible bias with many.

An estimate by instruments has a larger standard error, because instruments explain only a part of
its column (partial R², Shea) and leave a larger error e. The first stage is judged by its F
statistic, for errors that are shared within a pass.

References
----------
Hausman, Econometrica 46 (1978) 1251; Janot, Vandanjon and Gautier, IEEE Trans. Control Syst.
Technol. 22 (2014) 132, and IEEE ICRA (2013) 2956; Shea, Rev. Economics and Statistics 79 (1997)
348; Montiel Olea and Pflueger, J. Business and Economic Statistics 31 (2013) 358, for weak
instruments.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import stdtr

from stribeck.ident.arrays import Array, Groups
from stribeck.ident.fit.cluster_covariance import left_out
from stribeck.ident.fit.group_sums import symmetric_inverse
from stribeck.ident.fit.law_on_points import law_columns, linear_names, parameter_names
from stribeck.ident.fit.noise import Noise
from stribeck.ident.fit.points import FitPoints
from stribeck.ident.fit.variable_projection import Moments, residual_sums
from stribeck.ident.laws.law import Law

_RANK = 1e-13  # eigenvalue, for columns of unit length, that counts as zero
# part of a column below which its correlation with the error does not matter
_TRIFLE = 0.005


@dataclass(frozen=True)
class Contrast:
    """One parameter by least squares and by instruments.

    Attributes
    ----------
    least_squares, instruments : float
        Both estimates.
    std_error : float
        Standard error of their difference.
    p : float
        Probability of a difference as large in any of the parameters, if
        least squares are unbiased.
    wider : float
        Standard error by instruments over that of least squares; at least 1.
    """

    least_squares: float
    instruments: float
    std_error: float
    p: float
    wider: float

    @property
    def bias(self) -> float:
        """Bias of least squares against instruments."""
        return self.least_squares - self.instruments


@dataclass(frozen=True)
class Comparison:
    """Comparison of estimates by least squares and by instruments.

    Attributes
    ----------
    first_stage : float
        Least F statistic of the first stages.
    contrasts : dict of str to Contrast
        Estimates of all fitted linear parameters, by name.
    asked : tuple of str
        Parameters whose columns may correlate with the error.
    """

    first_stage: float
    contrasts: dict[str, Contrast]
    asked: tuple[str, ...]


def compare(
    data: FitPoints, law: Law, at: Mapping[str, float], instruments: Mapping[str, Array]
) -> Comparison | None:
    """Compare least squares with instruments; None if no column can correlate with the error.

    Parameters
    ----------
    data : FitPoints
        Points of general motion.
    law : Law
        Friction law.
    at : mapping of str to float
        Nonlinear parameters of the law, which are fixed.
    instruments : mapping of str to ndarray, shape (N,)
        Instruments of the columns that may correlate with the error, by name. Other columns are
        their own instruments, except columns with a prior.
    """
    points = data.condensed()
    grid = {name: np.array([at[name]]) for name in law.nonlinear}
    plain = Moments.of(points, law, grid)
    noise = plain.start.left
    least_squares, white = _values(plain, noise, at), noise.of_points(points.group)
    columns = {
        **dict(zip(linear_names(points, law), law_columns(points, law, grid)[0].T, strict=False)),
        **points.nuisance,
    }
    columns = {
        name: column
        for name, column in columns.items()
        if name in points.nuisance or least_squares[name] > 0.0
    }
    tested = [name for name in columns if name in instruments]
    exogenous = [name for name in columns if name not in instruments and name not in points.prior]
    own = np.column_stack([columns[name] for name in tested])
    beside = np.column_stack([np.empty((len(own), 0)), *(columns[name] for name in exogenous)])
    every = np.column_stack([*(instruments[name] for name in tested), beside])
    goal = white.whiten(own, points.group)
    left = own - every @ np.linalg.lstsq(white.whiten(every, points.group), goal, rcond=None)[0]
    controls = _independent(left / np.linalg.norm(goal, axis=0), white, points.group)
    if not controls.shape[1]:
        return None
    both = Moments.of(
        replace(
            points,
            nuisance={
                **points.nuisance,
                **{f"V_{k}": column for k, column in enumerate(controls.T)},
            },
        ),
        law,
        grid,
    )
    values, asked = (
        _values(both, noise, at),
        tuple(name for name in tested if name not in points.prior),
    )
    F = _first_stage(
        white.whiten(np.column_stack((own - left, beside)), points.group),
        white.whiten(left, points.group),
        points.group,
        [tested.index(name) for name in asked],
    )
    return Comparison(
        F, _contrasts(both, noise, values, least_squares, list(columns), len(asked)), asked
    )


def _independent(left: Array, white: Noise, group: Groups) -> Array:
    """Return the directions of V that are not negligible, for columns scaled by
    those of X, shape (N, k).
    """
    seen = white.whiten(left, group)
    squares, directions = np.linalg.eigh(seen.T @ seen)
    return np.asarray(left @ directions[:, squares > _TRIFLE**2])


def _values(whole: Moments, noise: Noise, at: Mapping[str, float]) -> dict[str, float]:
    """Return the parameters by name."""
    found = (*whole.solve(noise).beta[0].tolist(), *(at[name] for name in whole.law.nonlinear))
    return dict(zip(parameter_names(whole.data, whole.law), found, strict=True))


def _first_stage(told: Array, left: Array, group: Groups, asked: Sequence[int]) -> float:
    """Return the least F statistic of columns: part that instruments explain against the rest;
    whitened, (N, p) and (N, k).
    """
    found = []
    for k in asked:
        rest = np.delete(told, k, axis=1)
        alone = told[:, k] - rest @ np.linalg.lstsq(rest, told[:, k], rcond=None)[0]
        shared = float(np.sum(np.bincount(group, alone * left[:, k]) ** 2))
        found.append(float(alone @ alone) ** 2 / max(shared, 1e-300))
    return min(found)


def _contrasts(
    both: Moments,
    noise: Noise,
    values: Mapping[str, float],
    least_squares: Mapping[str, float],
    fitted: Sequence[str],
    asked: int,
) -> dict[str, Contrast]:
    """Compare the estimates with and without V, the last columns."""
    names = list(values)
    X, V = (
        [names.index(name) for name in fitted],
        [k for k, name in enumerate(names) if name not in least_squares],
    )
    keep = [*X, *V, len(names)]
    sums = residual_sums(both.data, both.law, noise, values)[:, keep][:, :, keep]
    found, gram, p = left_out(sums), sums.sum(axis=0), len(X)
    scale = 1.0 / np.sqrt(np.maximum(np.diag(gram)[:p], 1e-300))
    inverse = np.outer(scale, scale) * symmetric_inverse(
        gram[:p, :p] * np.outer(scale, scale), _RANK
    )
    cross, within = gram[:p, p:-1], symmetric_inverse(gram[p:-1, p:-1], _RANK)
    # products of the part of X that instruments explain
    seen = gram[:p, :p] - cross @ within @ cross.T
    by_instruments = np.outer(scale, scale) * symmetric_inverse(
        seen * np.outer(scale, scale), _RANK
    )
    difference = inverse @ cross
    std_error = np.sqrt(
        np.maximum(np.diag(difference @ found.covariance[p:, p:] @ difference.T), 1e-300)
    )
    gamma, d = (
        np.array([values[names[k]] for k in V]),
        np.array([values[name] - least_squares[name] for name in fitted]),
    )
    e = gram[-1, -1] + gamma @ gram[p:-1, p:-1] @ gamma  # squares of V gamma + epsilon,
    # and of the residuals of least squares
    least = e + d @ (gram[:p, :p] @ d + 2.0 * cross @ gamma)
    wider = np.sqrt(
        np.maximum(1.0, np.diag(by_instruments) / np.diag(inverse) * max(1.0, e / least))
    )
    # Bonferroni
    p_values = np.minimum(1.0, 2.0 * asked * stdtr(found.freedom[:p], -np.abs(d) / std_error))
    return {
        name: Contrast(least_squares[name], values[name], *map(float, own))
        for name, own in zip(fitted, zip(std_error, p_values, wider, strict=True), strict=True)
    }
