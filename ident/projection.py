r"""Variable projection: the best linear parameters of a law for each nonlinear one, searched globally."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from scipy.optimize import minimize, minimize_scalar, nnls

from ident.friction import Law
from ident.mechanism import Array
from ident.regression import Groups, Noise

GRID = 32               # Stribeck velocities tried
_NEAR, _FINE = 0.15, 13     # range of the logarithm around a known one, and points in it, that are tried more finely
_STRIBECK_RANGE = (0.7, 0.5)    # lowest and highest w_s, as multiples of the slowest and fastest speed
_EXPONENT_RANGE = (0.4, 4.0)    # of the Stribeck exponent
_TANH_RANGE = (0.05, 5.0)       # of the velocity that makes sgn smooth, as multiples of the slowest speed
_EXPONENTS = 13                 # values tried of either


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
    """

    w: Array
    tau: Array
    load: Array | None
    group: Groups
    nuisance: Mapping[str, Array] = field(default_factory=dict)
    prior: Mapping[str, float] = field(default_factory=dict)
    prismatic: bool = False
    view: Callable[[Array], Array] = as_they_are

    @property
    def groups(self) -> int:
        """Number of round trips."""
        return int(self.group.max()) + 1


@dataclass(frozen=True)
class Design:
    """Columns of a law's linear parameters and of the nuisance, for every nonlinear parameter worth trying.

    Attributes
    ----------
    grid : tuple of dict
        Nonlinear parameters; one empty entry where the law has none.
    columns : ndarray, shape (K, N, p)
        The columns at each of them.
    """

    data: Data
    law: Law
    grid: tuple[dict[str, float], ...]
    columns: Array

    @classmethod
    def of(cls, data: Data, law: Law, near: Mapping[str, float] | None = None) -> "Design":
        """Design of a law for the points of a joint; the grid is finer around the parameters `near`."""
        axes = {name: nonlinear_grid(data, name) for name in law.nonlinear}
        if near:
            fine = np.exp(_NEAR * np.linspace(-1.0, 1.0, _FINE))
            axes = {name: np.union1d(values, near[name] * fine) for name, values in axes.items()}
        grid = tuple(dict(zip(axes, map(float, point), strict=True)) for point in product(*axes.values()))
        return cls(data, law, grid, np.array([columns(data, law, point) for point in grid]))

    def whitened(self, noise: Noise) -> Array:
        """The columns with white noise, shape (K, N, p)."""
        return noise.whiten(self.columns.transpose(1, 0, 2), self.data.group).transpose(1, 0, 2)


def project(design: Design, noise: Noise, refine: bool = True) -> tuple[Array, dict[str, float]]:
    """Variable projection: the best linear parameters for each nonlinear one, searched globally.

    Returns
    -------
    beta : ndarray
        Linear parameters of the law, then of the nuisance columns.
    nonlinear : dict of str to float
    """
    data, law = design.data, design.law
    target, free = white_target(data, noise), len(data.nuisance)

    def solve(nonlinear: dict[str, float]) -> tuple[Array, float]:
        return _bounded_least_squares(_white_columns(data, law, noise, nonlinear), target, free)

    A = design.whitened(noise)
    known = np.broadcast_to(prior_rows(data, linear_names(data, law)), (len(A), len(data.prior), A.shape[2]))
    misfit = _grid_misfit(np.concatenate((A, known), axis=1), target, free)
    best = int(np.argmin(misfit))
    nonlinear = design.grid[best]
    if law.nonlinear and refine:
        found, least = _refined(lambda point: solve(point)[1], design, nonlinear)
        if least <= misfit[best]:
            nonlinear = found
    return solve(nonlinear)[0], nonlinear


def _refined(misfit: Callable[[dict[str, float]], float], design: Design,
             best: dict[str, float]) -> tuple[dict[str, float], float]:
    """Least misfit between the grid's neighbours of its best point, over the logarithms."""
    names = tuple(best)
    axes = {name: np.unique([point[name] for point in design.grid]) for name in names}
    at = {name: int(np.searchsorted(axes[name], best[name])) for name in names}
    bounds = [(float(np.log(axes[name][max(at[name] - 1, 0)])), float(np.log(axes[name][min(at[name] + 1, len(axes[name]) - 1)])))
              for name in names]

    def at_logarithms(x: Array) -> float:
        return misfit(dict(zip(names, map(float, np.exp(x)), strict=True)))

    if len(names) == 1:
        line = minimize_scalar(lambda x: at_logarithms(np.array([x])), method="bounded", bounds=bounds[0],
                               options={"xatol": 1e-6})
        return {names[0]: float(np.exp(line.x))}, float(line.fun)
    found = minimize(at_logarithms, np.log([best[name] for name in names]), method="Nelder-Mead", bounds=bounds,
                     options={"xatol": 1e-6, "fatol": 1e-9, "maxiter": 400})
    return dict(zip(names, map(float, np.exp(found.x)), strict=True)), float(found.fun)


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


def prior_rows(data: Data, names: Sequence[str]) -> Array:
    """What is known beforehand, as rows of whitened least squares with target zero; a column a name."""
    rows = np.zeros((len(data.prior), len(names)))
    for row, (name, deviation) in enumerate(data.prior.items()):
        rows[row, list(names).index(name)] = 1.0 / deviation
    return rows


def columns(data: Data, law: Law, nonlinear: Mapping[str, float]) -> Array:
    columns = data.view(law.columns(data.w, data.load, nonlinear))
    return np.column_stack([columns, *data.nuisance.values()]) if data.nuisance else columns


def _white_columns(data: Data, law: Law, noise: Noise, nonlinear: Mapping[str, float]) -> Array:
    """Whitened columns of the linear parameters and the nuisance, and the prior's rows below."""
    white = noise.whiten(columns(data, law, nonlinear), data.group)
    return np.vstack((white, prior_rows(data, linear_names(data, law)))) if data.prior else white


def white_target(data: Data, noise: Noise) -> Array:
    """Whitened torque, and a zero for each row of the prior."""
    return np.append(noise.whiten(data.tau, data.group), np.zeros(len(data.prior)))


def _grid_misfit(A: Array, b: Array, free: int) -> Array:
    """Least sum of squares at every point of the grid; A is (K, N, p)."""
    scale = np.sqrt(np.sum(A**2, axis=1, keepdims=True))
    A = A / np.where(scale > 0.0, scale, 1.0)
    At = A.transpose(0, 2, 1)
    gram = At @ A + 1e-12 * np.eye(A.shape[2])
    beta = np.linalg.solve(gram, (At @ b)[..., None])[..., 0]
    misfit = np.sum((b - np.einsum("knp,kp->kn", A, beta)) ** 2, axis=1)
    for k in np.flatnonzero((beta[:, : A.shape[2] - free] < 0.0).any(axis=1)):
        misfit[k] = _bounded_least_squares(A[k], b, free)[1]
    return np.asarray(misfit)


def _bounded_least_squares(A: Array, b: Array, free: int) -> tuple[Array, float]:
    """Least squares with nonnegative coefficients but for the last `free`; solution and sum of squares."""
    beta: Array = np.asarray(np.linalg.lstsq(A, b, rcond=None)[0])
    bounded = A.shape[1] - free
    if (beta[:bounded] < 0.0).any():
        B = np.hstack((A, -A[:, bounded:]))
        split, _ = nnls(B, b)
        beta = split[:A.shape[1]].copy()
        beta[bounded:] -= split[A.shape[1]:]
    rest = b - A @ beta
    return beta, float(rest @ rest)
