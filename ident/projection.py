r"""Variable projection: the best linear parameters of a law for each nonlinear one, searched globally.

Least squares needs the points only in sums of products over each round trip. With the columns A and the torque as the
last of them, the rows a of a round trip of n points give

.. math:: m = \sum a, \qquad D = \sum (a - m/n) (a - m/n)^T, \qquad
          W = \frac{D}{\sigma^2} + \frac{m m^T / n}{\sigma^2 + n \sigma_b^2}

where W is the sum of products of the whitened rows under noise \sigma within and \sigma_b between round trips.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.optimize import nnls

from ident.friction import Law
from ident.mechanism import Array
from ident.regression import Groups, Noise, noise_of_sums, product_sums

GRID = 32               # Stribeck velocities tried
_STRIBECK_RANGE = (0.7, 0.5)    # lowest and highest w_s, as multiples of the slowest and fastest speed
_EXPONENT_RANGE = (0.4, 4.0)    # of the Stribeck exponent
_TANH_RANGE = (0.05, 5.0)       # of the velocity that makes sgn smooth, as multiples of the slowest speed
_EXPONENTS = 13         # values tried of either
_STEPS, _HALVINGS, _FINE = 20, 6, 1e-7
_STEP = 1e-4            # of a nonlinear parameter's logarithm, for its derivative
_AT_ONCE = 2**22        # numbers held at once while sums are taken
_MANY = 4096            # points from which alike ones of a round trip are averaged
_ALIKE = (0.01, 0.02)   # by which these differ in the logarithm of speed, and in load as a part of its range


def as_they_are(values: Array) -> Array:
    """The view of points that are samples themselves."""
    return values


@dataclass(frozen=True)
class Data:
    """Points of one joint.

    Attributes
    ----------
    w : ndarray, shape (M,)
        Signed velocity of the samples, which are the points themselves unless `view` says otherwise.
    tau : ndarray, shape (N,)
        Friction torque of the points.
    load : ndarray, shape (M,), optional
        Load that coefficients multiply.
    group : ndarray of int, shape (N,)
        Round trips 0 ... G-1.
    nuisance : mapping of str to ndarray, shape (N,)
        Further columns that explain part of the torque, fitted along: name -> column.
    prior : mapping of str to float
        What is known of nuisance parameters beforehand: standard deviation about zero.
    prismatic : bool
        Whether the joint slides; decides the units.
    view : callable
        Linear map of values of the samples (M, ...) to values of the points (N, ...): the torque of a law is seen
        through the same filter as the measured torque.
    count : ndarray, shape (N,), optional
        How many samples each point is the mean of; default one.
    spread : ndarray, shape (G,), optional
        Sum of squares of the samples' torque about their point, of each round trip; default none.
    """

    w: Array
    tau: Array
    load: Array | None
    group: Groups
    nuisance: Mapping[str, Array] = field(default_factory=dict)
    prior: Mapping[str, float] = field(default_factory=dict)
    prismatic: bool = False
    view: Callable[[Array], Array] = as_they_are
    count: Array | None = None
    spread: Array | None = None

    @property
    def groups(self) -> int:
        """Number of round trips."""
        return int(self.group.max()) + 1

    def condensed(self) -> "Data":
        """The same with points of a round trip that are nearly alike averaged, where there are very many."""
        if len(self.tau) <= _MANY or self.view is not as_they_are or self.count is not None:
            return self
        cell = np.floor(np.log(np.abs(self.w)) / _ALIKE[0]).astype(np.int64) * 2 + (self.w > 0.0)
        cell -= cell.min()
        key = self.group * (int(cell.max()) + 1) + cell
        if self.load is not None and np.ptp(self.load) > 0.0:
            part = (self.load - self.load.min()) / (_ALIKE[1] * np.ptp(self.load))
            key = key * round(1.0 + 1.0 / _ALIKE[1]) + part.astype(np.int64)
        starts = np.flatnonzero(np.diff(key, prepend=key[0] - 1))
        order: slice | Array = slice(None)
        if len(starts) > len(key) // 8:
            order = np.argsort(key)
            key = key[order]
            starts = np.flatnonzero(np.diff(key, prepend=key[0] - 1))
        if len(starts) > len(key) // 2:
            return self
        count = np.diff(starts, append=len(key)).astype(float)

        def mean(values: Array) -> Array:
            return np.asarray(np.add.reduceat(values[order], starts) / count)

        tau, group = mean(self.tau), self.group[order][starts]
        apart = np.add.reduceat(self.tau[order] ** 2, starts) - count * tau**2
        return replace(self, w=mean(self.w), tau=tau, load=None if self.load is None else mean(self.load), group=group,
                       nuisance={name: mean(column) for name, column in self.nuisance.items()}, count=count,
                       spread=np.maximum(0.0, np.bincount(group, apart)))


@dataclass(frozen=True)
class Optimum:
    """Least squares at each of K values of the nonlinear parameters.

    Attributes
    ----------
    beta : ndarray, shape (K, p)
        Linear parameters of the law, none negative, then of the nuisance columns.
    misfit : ndarray, shape (K,)
        Sum of squared whitened residuals.
    inverse : ndarray, shape (K, p, p)
        Of the normal matrix; zero for parameters held at zero.
    """

    beta: Array
    misfit: Array
    inverse: Array


@dataclass(frozen=True)
class Moments:
    """Sums over round trips of products of a law's columns and the torque, at K values of its nonlinear parameters.

    Attributes
    ----------
    grid : mapping of str to ndarray, shape (K,)
        The nonlinear parameters; K = 1 where the law has none.
    sums : ndarray, shape (K, G, p + 1)
        Of the linear parameters' columns, those of the nuisance, and last the torque: m above.
    squares : ndarray, shape (K, G, p + 1, p + 1)
        Sums of their products about the mean: D above.
    """

    data: Data
    law: Law
    grid: Mapping[str, Array]
    sums: Array
    squares: Array

    @classmethod
    def of(cls, data: Data, law: Law, grid: Mapping[str, Array]) -> "Moments":
        """Sums for the points of a joint."""
        size = len(next(iter(grid.values()))) if grid else 1
        rows = [*data.nuisance.values(), data.tau]
        step = max(1, _AT_ONCE // (len(data.w) * (len(law.linear + law.with_load) + len(rows))))
        parts = []
        for k in range(0, size, step):
            own = law_columns(data, law, {name: values[k:k + step] for name, values in grid.items()})      # (K, N, p)
            rest = np.broadcast_to(np.column_stack(rows), (len(own), len(data.tau), len(rows)))
            parts.append(product_sums(np.concatenate((own, rest), axis=2), data.group, data.count))
        sums, squares = (np.concatenate(part) for part in zip(*parts, strict=True))
        if data.spread is not None:
            squares[:, :, -1, -1] += data.spread
        return cls(data, law, grid, sums, squares)

    @cached_property
    def count(self) -> Array:
        """Samples in each round trip, shape (G,)."""
        return np.bincount(self.data.group, self.data.count).astype(float)

    def whitened(self, noise: Noise) -> Array:
        """Sums of products of whitened rows, shape (K, G, p + 1, p + 1)."""
        return whitened(self.sums, self.squares, self.count, noise)

    def prior(self) -> Array:
        """What is known beforehand, added to the sums over all round trips; shape (p + 1, p + 1)."""
        names = linear_names(self.data, self.law)
        return np.diag([self.data.prior[name] ** -2.0 if name in self.data.prior else 0.0 for name in names] + [0.0])

    def solve(self, noise: Noise, weight: Array | None = None) -> Optimum:
        """Least squares at every point of the grid."""
        W = self.whitened(noise)
        total = (W.sum(axis=1) if weight is None else np.einsum("g,kgij->kij", weight, W)) + self.prior()
        return least_squares(total, len(self.data.nuisance))

    def noise(self, k: int, beta: Array, parameters: int) -> Noise:
        """Noise model from the residuals at point k of the grid."""
        e = np.append(-beta, 1.0)
        level = self.sums[k, :, :len(beta)] @ beta
        return noise_of_sums(self.sums[k] @ e, np.einsum("i,gij,j->g", e, self.squares[k], e), level, self.count, parameters)


def whitened(sums: Array, squares: Array, count: Array, noise: Noise) -> Array:
    """Sums of products of whitened rows from those of plain ones, see above; shape (..., G, q, q)."""
    total = count * (noise.within**2 + count * noise.between**2)
    return np.asarray(squares / noise.within**2 + sums[..., :, None] * (sums / total[:, None])[..., None, :])


def least_squares(total: Array, free: int) -> Optimum:
    """Least squares from the sums of products (K, p + 1, p + 1), nonnegative but for the last `free` parameters."""
    p = total.shape[-1] - 1
    scale = np.sqrt(np.maximum(np.diagonal(total[:, :p, :p], axis1=1, axis2=2), 1e-300))         # (K, p)
    gram = total[:, :p, :p] / (scale[:, :, None] * scale[:, None, :]) + 1e-14 * np.eye(p)
    right = total[:, :p, p] / scale
    inverse = np.linalg.pinv(gram, rcond=1e-13, hermitian=True)
    beta = np.einsum("kij,kj->ki", inverse, right)
    for k in np.flatnonzero((beta[:, : p - free] < 0.0).any(axis=1)):
        beta[k] = _nonnegative(gram[k], right[k], free)
        held = np.append(beta[k, : p - free] <= 0.0, np.zeros(free, dtype=bool))
        inverse[k] = 0.0
        inverse[k][np.ix_(~held, ~held)] = np.linalg.pinv(gram[k][np.ix_(~held, ~held)], rcond=1e-13, hermitian=True)
    misfit = total[:, p, p] - 2.0 * np.einsum("ki,ki->k", beta, right) + np.einsum("ki,kij,kj->k", beta, gram, beta)
    return Optimum(beta / scale, misfit, inverse / (scale[:, :, None] * scale[:, None, :]))


def _nonnegative(gram: Array, right: Array, free: int) -> Array:
    """Minimum of x' gram x - 2 right' x with x >= 0 but for the last `free`."""
    value, vectors = np.linalg.eigh(gram)
    root = np.sqrt(np.maximum(value, 1e-14 * value[-1]))
    A, b = root[:, None] * vectors.T, (vectors.T @ right) / root
    bounded = len(right) - free
    split, _ = nnls(np.hstack((A, -A[:, bounded:])), b)
    return np.append(split[:bounded], split[bounded:len(right)] - split[len(right):])


def polish(data: Data, law: Law, noise: Noise, start: Mapping[str, float]) -> Moments:
    """From good nonlinear parameters to the best ones, by Gauss and Newton; sums of products there."""
    grids = {name: nonlinear_grid(data, name) for name in law.nonlinear}
    best = Moments.of(data, law, {name: np.array([value]) for name, value in start.items()})
    optimum = best.solve(noise)
    for _ in range(_STEPS if law.nonlinear else 0):
        at = {name: float(value[0]) for name, value in best.grid.items()}
        values = dict(zip(parameter_names(data, law), [*map(float, optimum.beta[0]), *at.values()], strict=True))
        step = _newton_step(data, law, noise, values)
        if np.abs(step).max() < _FINE:
            break
        for _ in range(_HALVINGS):
            there = {name: np.clip(value * np.exp(x), grids[name][[0]], grids[name][[-1]])
                     for (name, value), x in zip(at.items(), step, strict=True)}
            tried = Moments.of(data, law, there)
            found = tried.solve(noise)
            if found.misfit[0] < optimum.misfit[0]:
                break
            step = step / 2.0
        else:
            break
        best, optimum = tried, found
    return best


def _newton_step(data: Data, law: Law, noise: Noise, values: Mapping[str, float]) -> Array:
    """Change of the nonlinear parameters' logarithms that the linearized prediction asks for."""
    names = tuple(values)
    total = residual_sums(data, law, noise, values).sum(axis=0)
    free = [k for k, name in enumerate(names) if name in data.nuisance or values[name] > 0.0]
    scale = np.sqrt(np.maximum(np.diag(total)[free], 1e-300))
    step = np.linalg.lstsq(total[np.ix_(free, free)] / np.outer(scale, scale), total[free, -1] / scale, rcond=1e-12)[0] / scale
    return np.clip(step[len(free) - len(law.nonlinear):], -1.0, 1.0)


def residual_sums(data: Data, law: Law, noise: Noise, values: Mapping[str, float]) -> Array:
    """Sums of products of the whitened rows of `jacobian` and, last, the residual; a group each, then the prior's rows.

    Shape (G + P, p + 1, p + 1).
    """
    rows = np.column_stack((jacobian(data, law, values), data.tau - predict(data, law, values)))
    sums, squares = product_sums(rows[None], data.group, data.count)
    white = whitened(sums[0], squares[0], np.bincount(data.group, data.count).astype(float), noise)
    return np.concatenate((white, prior_sums(data, tuple(values), values)))


def search_grid(data: Data, law: Law) -> dict[str, Array]:
    """All combinations of nonlinear parameters worth trying."""
    return combined({name: nonlinear_grid(data, name) for name in law.nonlinear})


def combined(axes: Mapping[str, Array]) -> dict[str, Array]:
    """All combinations of values on the axes, each shape (K,)."""
    return dict(zip(axes, (values.ravel() for values in np.meshgrid(*axes.values(), indexing="ij")), strict=True))


def nonlinear_grid(data: Data, name: str) -> Array:
    """Values of a nonlinear parameter worth trying, ascending: Stribeck velocities beyond the measured speeds are none."""
    if name == "stribeck_exponent":
        return np.asarray(np.geomspace(*_EXPONENT_RANGE, _EXPONENTS))
    speed = np.abs(data.w)
    if name == "tanh_velocity":
        return np.asarray(np.geomspace(_TANH_RANGE[0] * speed.min(), _TANH_RANGE[1] * speed.min(), _EXPONENTS))
    low, high = _STRIBECK_RANGE[0] * speed.min(), _STRIBECK_RANGE[1] * speed.max()
    return np.asarray(np.geomspace(low, max(high, 1.01 * low), GRID))


def linear_names(data: Data, law: Law) -> tuple[str, ...]:
    """Names of the columns: linear parameters, then nuisance."""
    return law.linear + (law.with_load if data.load is not None else ()) + tuple(data.nuisance)


def law_columns(data: Data, law: Law, nonlinear: Mapping[str, Array]) -> Array:
    """Columns of the law's linear parameters as the points see them, at K values of the others, shape (K, N, p)."""
    columns = law.columns(data.w, data.load, nonlinear)
    if columns.ndim == 2:
        columns = columns[None]
    return columns if data.view is as_they_are else np.moveaxis(data.view(np.moveaxis(columns, 0, 1)), 1, 0)


def predict(data: Data, law: Law, values: Mapping[str, float]) -> Array:
    """Law and nuisance at the points, shape (N,)."""
    own = {name: value for name, value in values.items() if name not in data.nuisance}
    extra = sum((values[name] * column for name, column in data.nuisance.items()), np.zeros(len(data.tau)))
    return np.asarray(data.view(law.function(data.w, **own, load=data.load)) + extra)


def jacobian(data: Data, law: Law, values: Mapping[str, float]) -> Array:
    """Derivatives of the prediction; with respect to the logarithm for nonlinear parameters; shape (N, p)."""
    nonlinear = {name: np.array([values[name]]) for name in law.nonlinear}
    slopes = []
    for name in law.nonlinear:
        up, down = ({**values, name: values[name] * np.exp(sign * _STEP)} for sign in (1.0, -1.0))
        slopes.append((predict(data, law, up) - predict(data, law, down)) / (2.0 * _STEP))
    return np.column_stack([law_columns(data, law, nonlinear)[0], *data.nuisance.values(), *slopes])


def parameter_names(data: Data, law: Law) -> tuple[str, ...]:
    """Names of the columns of `jacobian`."""
    return (*linear_names(data, law), *law.nonlinear)


def prior_sums(data: Data, names: Sequence[str], values: Mapping[str, float]) -> Array:
    """What is known beforehand as sums of products of rows of their own, a group each; shape (P, q, q).

    The last column is the residual.
    """
    rows = np.zeros((len(data.prior), len(names) + 1))
    for row, (name, deviation) in enumerate(data.prior.items()):
        rows[row, list(names).index(name)] = 1.0 / deviation
        rows[row, -1] = -values[name] / deviation
    return rows[:, :, None] * rows[:, None, :]
