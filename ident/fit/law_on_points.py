"""A law and its parameters on the points of one joint, with delay and drift."""

from collections.abc import Mapping, Sequence

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.fit.points import FitPoints
from stribeck.ident.laws.law import Law

_STEP = 1e-4  # step of a nonlinear parameter's logarithm for its derivative


def linear_names(data: FitPoints, law: Law) -> tuple[str, ...]:
    """Return the names of the columns: linear parameters, then nuisance parameters."""
    return (
        law.linear
        + (law.coefficients(data.components) if data.load is not None else ())
        + tuple(data.nuisance)
    )


def held_at_zero(data: FitPoints, law: Law) -> tuple[str, ...]:
    """Return the constant parts that are zero by the choice of the user: friction grows
    in proportion to its load.
    """
    return (
        ()
        if data.constant or data.load is None
        else tuple(name.removesuffix("_coefficient") for name in law.with_load)
    )


def columns_at(
    data: FitPoints, law: Law, w: Array, load: Array | None, nonlinear: Mapping[str, Array]
) -> Array:
    """Return the columns of the law's linear parameters at velocities and loads, see `Law.columns`;
    zero for those held there.
    """
    columns = law.columns(w, load, nonlinear, data.components)
    if held := held_at_zero(data, law):
        columns = columns * np.array(
            [name not in held for name in linear_names(data, law)[: columns.shape[-1]]]
        )
    return columns


def law_columns(data: FitPoints, law: Law, nonlinear: Mapping[str, Array]) -> Array:
    """Return the filtered columns of the law's linear parameters at K values of the
    nonlinear ones, shape (K, N, p).
    """
    columns = columns_at(data, law, data.w, data.load, nonlinear)
    if columns.ndim == 2:
        columns = columns[None]
    if data.seen is None:
        return columns
    K, M, p = columns.shape
    seen = _seen_once(data, columns.swapaxes(0, 1).reshape(M, K * p))
    return seen.reshape(-1, K, p).swapaxes(0, 1)


def _seen_once(data: FitPoints, columns: Array) -> Array:
    """Filter columns (M, n), each distinct column once: many are equal, as most depend on at
    most one nonlinear parameter.

    Equal columns have equal sums with irregular weights; unequal columns have equal sums
    about once in 10^16 times.
    """
    _, first, which = np.unique(
        np.sin(np.arange(1.0, len(columns) + 1.0)) @ columns, return_index=True, return_inverse=True
    )
    return data.view(columns[:, first])[:, which]


def predicted(data: FitPoints, law: Law, values: Mapping[str, float]) -> Array:
    """Return the prediction of the law and the nuisance columns at the points, shape (N,)."""
    own = {name: value for name, value in values.items() if name not in data.nuisance}
    extra = sum(
        (values[name] * column for name, column in data.nuisance.items()), np.zeros(len(data.tau))
    )
    return np.asarray(data.view(law.torque(data.w, own, data.load)) + extra)


def jacobian(data: FitPoints, law: Law, values: Mapping[str, float]) -> Array:
    """Return the derivatives of the prediction, for nonlinear parameters with respect to
    their logarithm; shape (N, p).
    """
    nonlinear = {name: np.array([values[name]]) for name in law.nonlinear}
    slopes = []
    for name in law.nonlinear:
        up, down = ({**values, name: values[name] * np.exp(sign * _STEP)} for sign in (1.0, -1.0))
        slopes.append((predicted(data, law, up) - predicted(data, law, down)) / (2.0 * _STEP))
    return np.column_stack([law_columns(data, law, nonlinear)[0], *data.nuisance.values(), *slopes])


def parameter_names(data: FitPoints, law: Law) -> tuple[str, ...]:
    """Names of the columns of `jacobian`."""
    return (*linear_names(data, law), *law.nonlinear)


def prior_squares(data: FitPoints, law: Law) -> Array:
    """Return the priors as sums of products of the columns and the torque; shape (p + 1, p + 1)."""
    names = linear_names(data, law)
    return np.diag(
        [data.prior[name] ** -2.0 if name in data.prior else 0.0 for name in names] + [0.0]
    )


def prior_sums(data: FitPoints, names: Sequence[str], values: Mapping[str, float]) -> Array:
    """Return the priors as sums of products of additional rows, one group for
    each prior; shape (P, q, q).

    The last column is the residual.
    """
    rows = np.zeros((len(data.prior), len(names) + 1))
    for row, (name, deviation) in enumerate(data.prior.items()):
        rows[row, list(names).index(name)] = 1.0 / deviation
        rows[row, -1] = -values[name] / deviation
    return rows[:, :, None] * rows[:, None, :]
