r"""Variable projection: the best linear parameters of a law for each nonlinear one, searched globally.

Least squares needs the points only in sums of products over each round trip. With the columns A and the torque as the
last of them, the rows a of a round trip of n points give

.. math:: m = \sum a, \qquad D = \sum (a - m/n) (a - m/n)^T, \qquad
          W = \frac{D}{\sigma^2} + \frac{m m^T}{n^2 \sigma_l^2}

where W is the sum of products of the whitened rows under noise \sigma of points about their mean and \sigma_l of means.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.optimize import nnls

from ident.friction import Law
from ident.mechanism import Array
from ident.regression import Groups, Noise, noise_of_sums, product_sums, sums_about_means, symmetric_inverse

GRID = 32               # Stribeck velocities tried
_STRIBECK_RANGE = (0.7, 0.5)    # lowest and highest w_s, as multiples of the slowest and fastest speed
_EXPONENT_RANGE = (0.4, 4.0)    # of the Stribeck exponent
_TANH_RANGE = (0.05, 5.0)       # of the velocity that makes sgn smooth, as multiples of the slowest speed
_EXPONENTS = 13         # values tried of either
_STEP = 1e-4            # of a nonlinear parameter's logarithm, for its derivative
_STEPS, _HALVINGS = 20, 6       # most steps of the polish, and how often one is halved
_FINE = 1e-7            # least step, in the logarithm
_AT_ONCE = 2**22        # numbers held at once while sums are taken
_UNLIKE = 0.5           # deviation of the scatter's logarithm within round trips from which it weighs points,
_FLOOR = 0.01           # and its least value, as a part of the median
_MANY = 4096            # points from which alike ones of a round trip are averaged
_ALIKE = (0.01, 0.005)   # by which these differ in the logarithm of speed, and in load as a part of its range


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
    load : ndarray, shape (M,) or (M, m), optional
        Load that coefficients multiply; a column for each of `components` where there are any.
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
        How many samples each point is the mean of, or is worth (`worth`); default one.
    spread : ndarray, shape (G,), optional
        Sum of squares of the samples' torque about their point, of each round trip; default none.
    weight : ndarray, shape (G,), optional
        How much each round trip counts, as the inverse of a variance; default one.
    time : ndarray, shape (G,), optional
        When each round trip was; default one after the other as they are numbered.
    run : ndarray of int, shape (G,), optional
        In which run, in their order; time begins anew in each. Default all in one.
    components : tuple of str
        Components of the load that have coefficients of their own.
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
    weight: Array | None = None
    time: Array | None = None
    run: Groups | None = None
    components: tuple[str, ...] = ()

    @property
    def groups(self) -> int:
        """Number of round trips."""
        return int(self.group.max()) + 1

    @property
    def sign(self) -> Array | None:
        """Direction of motion at the points; none where a point is no sample."""
        return np.sign(self.w) if self.view is as_they_are else None

    @cached_property
    def samples(self) -> Array:
        """How many samples each round trip holds, shape (G,)."""
        return np.bincount(self.group, self.count).astype(float)

    def folded(self) -> "Data":
        """The same with the points of each round trip beside each other, and samples of both directions as one.

        Friction is odd in velocity; what a round trip has of its own is a level of friction, thus odd as well.
        """
        order, view = np.argsort(self.group, kind="stable"), self.view
        if view is not as_they_are:
            return replace(self, tau=self.tau[order], group=self.group[order], view=lambda values: view(values)[order],
                           nuisance={name: column[order] for name, column in self.nuisance.items()})
        sign = np.sign(self.w[order])
        return replace(self, w=np.abs(self.w[order]), tau=sign * self.tau[order], group=self.group[order],
                       count=None if self.count is None else self.count[order],
                       load=None if self.load is None else self.load[order],
                       nuisance={name: sign * column[order] for name, column in self.nuisance.items()})

    def condensed(self) -> "Data":
        """Folded, with points of a round trip that are nearly alike averaged where there are very many."""
        data = self.folded()
        if len(self.tau) <= _MANY or self.view is not as_they_are or self.count is not None:
            return data
        cell = np.floor(np.log(data.w) / _ALIKE[0]).astype(np.int64)
        key = data.group * (int(np.ptp(cell)) + 1) + (cell - cell.min())
        for load in () if data.load is None else np.atleast_2d(data.load.T):
            if np.ptp(load) > 0.0:
                part = (load - load.min()) / (_ALIKE[1] * np.ptp(load))
                key = key * round(1.0 + 1.0 / _ALIKE[1]) + part.astype(np.int64)
        order = np.argsort(key, kind="stable") if np.any(np.diff(key) < 0) else slice(None)
        starts = np.flatnonzero(np.diff(key[order], prepend=key[order][0] - 1))
        if len(starts) > len(key) // 2:
            return data
        count = np.diff(starts, append=len(key)).astype(float)

        def mean(values: Array) -> Array:
            return np.asarray((np.add.reduceat(values[order], starts).T / count).T)

        tau, group = mean(data.tau), data.group[starts]
        apart = np.add.reduceat((data.tau[order] - np.repeat(tau, count.astype(int))) ** 2, starts)
        return replace(data, w=mean(data.w), tau=tau, load=None if data.load is None else mean(data.load), group=group,
                       nuisance={name: mean(column) for name, column in data.nuisance.items()}, count=count,
                       spread=np.bincount(group, apart).astype(float))


def worth(std: Array, group: Groups) -> Array | None:
    """How much each point counts within its round trip, by the scatter of its window, shape (N,); None where all are much alike.

    The inverse of the variance, with mean 1 over each round trip: what a round trip counts is told by its level. Where scatter
    differs by less than `_UNLIKE` its own uncertainty, and ripple in it, would spoil as much as weights could mend.
    """
    level = np.log(np.maximum(std, _FLOOR * max(float(np.median(std)), 1e-300)))
    samples = np.bincount(group)
    about = level - (np.bincount(group, level) / samples)[group]
    if float(np.sqrt(np.mean(about**2))) < _UNLIKE:
        return None
    weight = np.exp(-2.0 * about)
    return np.asarray(weight / (np.bincount(group, weight) / samples)[group])


@dataclass(frozen=True)
class Optimum:
    """Least squares at each of K values of the nonlinear parameters.

    Attributes
    ----------
    beta : ndarray, shape (K, p)
        Linear parameters of the law, none negative, then of the nuisance columns.
    misfit : ndarray, shape (K,)
        Sum of squared whitened residuals.
    variance : ndarray, shape (K, p)
        Of the linear parameters, under the noise model; zero for those held at zero.
    """

    beta: Array
    misfit: Array
    variance: Array


@dataclass(frozen=True)
class Moments:
    """Sums of products of a law's columns and the torque, at K values of its nonlinear parameters.

    Attributes
    ----------
    grid : mapping of str to ndarray, shape (K,)
        The nonlinear parameters; K = 1 where the law has none.
    sums : ndarray, shape (K, G, p + 1)
        Of the linear parameters' columns, those of the nuisance, and last the torque, over each round trip: m above.
    squares : ndarray, shape (K, p + 1, p + 1)
        Of products about the means, over all round trips: the sum of D above.
    """

    data: Data
    law: Law
    grid: Mapping[str, Array]
    sums: Array
    squares: Array

    @classmethod
    def of(cls, data: Data, law: Law, grid: Mapping[str, Array]) -> "Moments":
        """Sums for the points of a joint."""
        parts = []
        for rows in row_blocks(data, law, grid):
            sums, about = _about_means(data, rows)
            parts.append((sums, np.swapaxes(about, -1, -2) @ about))
        sums, squares = (np.concatenate(part) for part in zip(*parts, strict=True))
        squares[:, -1, -1] += _weighted_spread(data).sum()
        return cls(data, law, grid, sums, squares)

    def total(self, noise: Noise) -> Array:
        """Sums of products of whitened rows, and of what is known beforehand, shape (K, p + 1, p + 1)."""
        weighted = self.sums / variance_of_sums(self.data, noise)[:, None]
        return np.asarray(self.squares / noise.within**2 + np.swapaxes(self.sums, -1, -2) @ weighted
                          + prior_squares(self.data, self.law))

    def solve(self, noise: Noise) -> Optimum:
        """Least squares at every point of the grid."""
        return least_squares(self.total(noise), len(self.data.nuisance))

    def noise(self, k: int, beta: Array, known: Noise) -> Noise:
        """Noise model from the residuals at point k of the grid, where a `known` one gave beta."""
        e = np.append(-beta, 1.0)
        root = 1.0 if self.data.weight is None else np.sqrt(self.data.weight / self.data.weight.mean())
        residual, about = root * (self.sums[k] @ e), float(e @ self.squares[k] @ e)
        return noise_of_sums(residual, about, self.sums[k, :, :-1] @ beta, self.data.samples, self._leverage(k, known))

    def _leverage(self, k: int, noise: Noise) -> Array:
        """How much the level of each round trip determines its own prediction, shape (G,); nonlinear ones in proportion.

        The sum is how many parameters the levels determine: the rest is known from within the round trips.
        """
        sums = self.sums[k, :, :-1]
        weighted = sums / variance_of_sums(self.data, noise)[:, None]
        between = sums.T @ weighted
        total = self.squares[k, :-1, :-1] / noise.within**2 + between + prior_squares(self.data, self.law)[:-1, :-1]
        scale = np.sqrt(np.maximum(np.diag(total), 1e-300))
        inverse = symmetric_inverse(total / np.outer(scale, scale), 1e-12)
        own = np.einsum("gi,ij,gj->g", sums / scale, inverse, weighted / scale)
        return np.asarray(own * (len(scale) + len(self.law.nonlinear)) / len(scale))


def row_blocks(data: Data, law: Law, grid: Mapping[str, Array]) -> Iterator[Array]:
    """Columns of the linear parameters and of the nuisance, and last the torque, a part of the grid at a time: (K, N, p + 1)."""
    size = len(next(iter(grid.values()))) if grid else 1
    rest = np.column_stack((*data.nuisance.values(), data.tau))
    step = max(1, _AT_ONCE // (len(data.w) * (len(linear_names(data, law)) + 1)))
    for k in range(0, size, step):
        own = law_columns(data, law, {name: values[k:k + step] for name, values in grid.items()})
        yield np.concatenate((own, np.broadcast_to(rest, (len(own), *rest.shape))), axis=2)


def _about_means(data: Data, rows: Array) -> tuple[Array, Array]:
    """Sums of rows over each round trip, and the rows about its mean, weighted."""
    sums, about = sums_about_means(rows, data.group, data.count)
    return sums, about if data.weight is None else about * np.sqrt(data.weight)[data.group, None]


def _weighted_spread(data: Data) -> Array:
    spread = np.zeros(data.groups) if data.spread is None else data.spread
    return spread if data.weight is None else spread * data.weight


def variance_of_sums(data: Data, noise: Noise) -> Array:
    """What the noise makes of the sum over each round trip, shape (G,)."""
    variance = data.samples**2 * noise.variance_of_means(data.samples)
    return variance if data.weight is None else variance / data.weight


def whitened(data: Data, rows: Array, noise: Noise) -> Array:
    """Sums of products of the whitened rows of each round trip, W above; rows (..., N, q), shape (..., G, q, q)."""
    sums, about = _about_means(data, rows)
    squares = product_sums(about, data.group)
    squares[..., -1, -1] += _weighted_spread(data)
    weighted = sums / variance_of_sums(data, noise)[:, None]
    return np.asarray(squares / noise.within**2 + sums[..., :, None] * weighted[..., None, :])


def least_squares(total: Array, free: int) -> Optimum:
    """Least squares from the sums of products (K, p + 1, p + 1), nonnegative but for the last `free` parameters."""
    p = total.shape[-1] - 1
    scale = np.sqrt(np.maximum(np.diagonal(total[:, :p, :p], axis1=1, axis2=2), 1e-300))         # (K, p)
    gram = total[:, :p, :p] / (scale[:, :, None] * scale[:, None, :]) + 1e-14 * np.eye(p)
    right = total[:, :p, p] / scale
    inverse = symmetric_inverse(gram, 1e-13)
    beta = np.einsum("kij,kj->ki", inverse, right)
    for k in np.flatnonzero((beta[:, : p - free] < 0.0).any(axis=1)):
        beta[k] = _nonnegative(gram[k], right[k], free)
        held = np.append(beta[k, : p - free] <= 0.0, np.zeros(free, dtype=bool))
        inverse[k] = 0.0
        inverse[k][np.ix_(~held, ~held)] = symmetric_inverse(gram[k][np.ix_(~held, ~held)], 1e-13)
    misfit = total[:, p, p] - 2.0 * np.einsum("ki,ki->k", beta, right) + np.einsum("ki,kij,kj->k", beta, gram, beta)
    variance = np.maximum(0.0, np.diagonal(inverse, axis1=1, axis2=2)) / scale**2
    return Optimum(beta / scale, misfit, variance)


def _nonnegative(gram: Array, right: Array, free: int) -> Array:
    """Minimum of x' gram x - 2 right' x with x >= 0 but for the last `free`."""
    value, vectors = np.linalg.eigh(gram)
    root = np.sqrt(np.maximum(value, 1e-14 * value[-1]))
    A, b = root[:, None] * vectors.T, (vectors.T @ right) / root
    bounded = len(right) - free
    split, _ = nnls(np.hstack((A, -A[:, bounded:])), b)
    return np.append(split[:bounded], split[bounded:len(right)] - split[len(right):])


def polish(data: Data, law: Law, noise: Noise, start: Mapping[str, float]) -> Moments:
    """From good nonlinear parameters to the best ones: quasi-Newton (BFGS) that begins with the Hessian of Gauss and Newton."""
    limits = np.array([nonlinear_grid(data, name)[[0, -1]] for name in law.nonlinear]).reshape(-1, 2)
    best = Moments.of(data, law, {name: np.array([value]) for name, value in start.items()})
    optimum, step, slope, inverse = best.solve(noise), np.zeros(len(start)), np.zeros(len(start)), np.eye(len(start))
    for _ in range(_STEPS if law.nonlinear else 0):
        at = np.array([values[0] for values in best.grid.values()])
        values = dict(zip(parameter_names(data, law), map(float, (*optimum.beta[0], *at)), strict=True))
        was, (slope, gauss) = slope, _slope(data, law, noise, values)
        turn = step @ (slope - was)
        if turn > 0.0:
            left = np.eye(len(at)) - np.outer(step, slope - was) / turn
            inverse = left @ inverse @ left.T + np.outer(step, step) / turn
        else:
            inverse = gauss
        full = np.clip(-inverse @ slope, -1.0, 1.0)
        for halving in range(_HALVINGS):
            there = np.clip(at * np.exp(full / 2.0**halving), *limits.T)
            step = np.log(there / at)
            if np.abs(step).max() < _FINE:
                return best
            tried = Moments.of(data, law, dict(zip(start, there[:, None], strict=True)))
            found = tried.solve(noise)
            if found.misfit[0] < optimum.misfit[0]:
                break
        else:
            return best
        best, optimum = tried, found
    return best


def _slope(data: Data, law: Law, noise: Noise, values: Mapping[str, float]) -> tuple[Array, Array]:
    """Of half the misfit over the nonlinear parameters' logarithms: gradient, and inverse Hessian of the linearized law."""
    names = tuple(values)
    sums, about = _about_means(data, _jacobian_rows(data, law, values))
    total = (about.T @ about / noise.within**2 + sums.T @ (sums / variance_of_sums(data, noise)[:, None])
             + prior_sums(data, names, values).sum(axis=0))
    free = [k for k, name in enumerate(names) if name in data.nuisance or values[name] > 0.0]
    own = slice(len(free) - len(law.nonlinear), None)
    scale = np.sqrt(np.maximum(np.diag(total)[free], 1e-300))
    inverse = symmetric_inverse(total[np.ix_(free, free)] / np.outer(scale, scale), 1e-12)
    return -total[free, -1][own], (inverse / np.outer(scale, scale))[own, own]


def residual_sums(data: Data, law: Law, noise: Noise, values: Mapping[str, float]) -> Array:
    """Sums of products of the whitened rows of `jacobian` and, last, the residual; a group each, then the prior's rows.

    Shape (G + P, p + 1, p + 1).
    """
    return np.concatenate((whitened(data, _jacobian_rows(data, law, values), noise), prior_sums(data, tuple(values), values)))


def level_rows(data: Data, law: Law, noise: Noise, values: Mapping[str, float]) -> list[Array]:
    """Whitened sums of the rows of `jacobian` and, last, the residual over each round trip, by time; shape (G, p + 1) a run."""
    sums, _ = _about_means(data, _jacobian_rows(data, law, values))
    rows = sums / np.sqrt(variance_of_sums(data, noise))[:, None]
    time = np.arange(len(rows)) if data.time is None else data.time
    run = np.zeros(len(rows), dtype=int) if data.run is None else data.run
    order = np.lexsort((time, run))
    return np.split(rows[order], np.flatnonzero(np.diff(run[order])) + 1)


def _jacobian_rows(data: Data, law: Law, values: Mapping[str, float]) -> Array:
    return np.column_stack((jacobian(data, law, values), data.tau - predict(data, law, values)))


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
    return law.linear + (law.coefficients(data.components) if data.load is not None else ()) + tuple(data.nuisance)


def law_columns(data: Data, law: Law, nonlinear: Mapping[str, Array]) -> Array:
    """Columns of the law's linear parameters as the points see them, at K values of the others, shape (K, N, p)."""
    columns = law.columns(data.w, data.load, nonlinear, data.components)
    if columns.ndim == 2:
        columns = columns[None]
    if data.view is as_they_are:
        return columns
    K, M, p = columns.shape
    return data.view(columns.swapaxes(0, 1).reshape(M, K * p)).reshape(-1, K, p).swapaxes(0, 1)


def predict(data: Data, law: Law, values: Mapping[str, float]) -> Array:
    """Law and nuisance at the points, shape (N,)."""
    own = {name: value for name, value in values.items() if name not in data.nuisance}
    extra = sum((values[name] * column for name, column in data.nuisance.items()), np.zeros(len(data.tau)))
    return np.asarray(data.view(law.torque(data.w, own, data.load)) + extra)


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


def prior_squares(data: Data, law: Law) -> Array:
    """What is known beforehand, as sums of products of the columns and the torque; shape (p + 1, p + 1)."""
    names = linear_names(data, law)
    return np.diag([data.prior[name] ** -2.0 if name in data.prior else 0.0 for name in names] + [0.0])


def prior_sums(data: Data, names: Sequence[str], values: Mapping[str, float]) -> Array:
    """What is known beforehand as sums of products of rows of their own, a group each; shape (P, q, q).

    The last column is the residual.
    """
    rows = np.zeros((len(data.prior), len(names) + 1))
    for row, (name, deviation) in enumerate(data.prior.items()):
        rows[row, list(names).index(name)] = 1.0 / deviation
        rows[row, -1] = -values[name] / deviation
    return rows[:, :, None] * rows[:, None, :]
