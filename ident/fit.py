r"""Fitting a friction law to the points of one joint.

Given the nonlinear parameters (the Stribeck velocity) a law is linear in the rest: variable projection
searches the nonlinear ones globally, lmfit polishes all of them together, and the round trips give the
covariance.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from inspect import Parameter as Argument
from inspect import Signature
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar, nnls

from ident.errors import FitError, InputError
from ident.friction import LAWS, Law, law_named, unit
from ident.mechanism import Array
from ident.regression import Groups, Noise, cluster_covariance, estimate_noise, group_index, white_noise

if TYPE_CHECKING:
    import lmfit

IDENTIFIED = 0.15       # largest 95 % half width, as a fraction of the value, that counts as identified
WEAK = 1.0              # and the largest that still says something
LEAST_ROUND_TRIPS = 4
GRID = 32               # Stribeck velocities tried
_NEAR, _FINE = 0.15, 13     # range of the logarithm around a known one, and points in it, that are tried more finely
_STRIBECK_RANGE = (0.7, 0.5)    # lowest and highest w_s, as multiples of the slowest and fastest speed
_SPARE_SPEEDS = 1       # distinct speeds beyond the parameters of speed that a law needs


@dataclass(frozen=True)
class Parameter:
    """An estimate with its interval and verdict.

    Attributes
    ----------
    value, std_error, low, high : float or None
        Estimate, standard error, and 95 % interval; None if the parameter is not part of the law.
    unit : str
        SI unit.
    verdict : str
        identified | weak | unidentifiable | at bound.
    note : str
        Why, and what further move would settle it.
    """

    value: float | None
    std_error: float | None
    low: float | None
    high: float | None
    unit: str
    verdict: str
    note: str = ""


@dataclass(frozen=True)
class Data:
    """Points of one joint.

    Attributes
    ----------
    w, tau : ndarray, shape (N,)
        Signed velocity and friction torque.
    load : ndarray, shape (N,), optional
        Load that coefficients multiply.
    group : ndarray of int, shape (N,)
        Round trips 0 ... G-1.
    nuisance : mapping of str to ndarray, shape (N,)
        Further columns that explain part of the torque, fitted along: name -> column.
    prior : mapping of str to float
        What is known of nuisance parameters beforehand: standard deviation about zero.
    prismatic : bool
        Whether the joint slides; decides the units.
    """

    w: Array
    tau: Array
    load: Array | None
    group: Groups
    nuisance: Mapping[str, Array] = field(default_factory=dict)
    prior: Mapping[str, float] = field(default_factory=dict)
    prismatic: bool = False

    @property
    def groups(self) -> int:
        """Number of round trips."""
        return int(self.group.max()) + 1


@dataclass(frozen=True)
class FitResult:
    """A fitted law: parameters with intervals and verdicts, and how well it predicts.

    Attributes
    ----------
    law, load : str
        Name of the law; name of the load, "none" without.
    parameters : dict of str to Parameter
        Parameters of the law, and those that the data cannot show (value None).
    nuisance : dict of str to Parameter
        What was fitted along (torque delay).
    names : tuple of str
        Rows and columns of `covariance`.
    covariance : ndarray
        Of the law's parameters.
    rmse, held_out_rmse : float
        Root mean square residual, and the same over round trips left out of the fit [N·m].
    residual : ndarray, shape (N,)
        Torque less prediction [N·m].
    noise : Noise
        The noise model that weighted the points.
    lmfit : lmfit.model.ModelResult
        Result of the polish, in whitened residuals: ``fit_report()`` and ``conf_interval()`` work on it.
    """

    law: str
    load: str
    parameters: dict[str, Parameter]
    nuisance: dict[str, Parameter]
    names: tuple[str, ...]
    covariance: Array
    rmse: float
    held_out_rmse: float
    residual: Array
    noise: Noise
    lmfit: "lmfit.model.ModelResult | None" = field(default=None, repr=False)
    half_factor: float = 1.96

    @property
    def values(self) -> dict[str, float]:
        """Parameter values of the law by name."""
        return {name: float(p.value) for name, p in self.parameters.items() if p.value is not None}

    def predict(self, velocity: ArrayLike, load: ArrayLike | None = None) -> Array:
        """Friction torque at velocities and loads, shape (N,) [N·m].

        Raises
        ------
        InputError
            If the law depends on the load and none is given.
        """
        return law_named(self.law).function(velocity, **self.values, load=needed_load(self.load, load))

    def band(self, velocity: ArrayLike, load: ArrayLike | None = None) -> Array:
        """Half width of the 95 % band of the predicted friction, shape (N,) [N·m]."""
        return prediction_band(self.law, self.values, self.names, self.covariance, velocity,
                               needed_load(self.load, load), self.half_factor)


def needed_load(kind: str, load: ArrayLike | None) -> ArrayLike | None:
    """The load that a law uses: none if it knows none.

    Raises
    ------
    InputError
        If it depends on the load and none is given.
    """
    if kind == "none":
        return None
    if load is None:
        raise InputError(f"this friction depends on its load ({kind}); pass the load")
    return load


def fit_friction(velocity: ArrayLike, torque: ArrayLike, load: ArrayLike | None = None, group: ArrayLike | None = None,
                 law: str = "auto") -> FitResult:
    """Fit friction to points of one joint.

    Parameters
    ----------
    velocity, torque : array_like, shape (N,)
        Signed joint velocity [rad/s] and friction torque [N·m].
    load : array_like, shape (N,), optional
        Load of each point [N·m]; competes with "no load part".
    group : array_like, shape (N,), optional
        Which round trip each point belongs to; points of one share an error. Default: each its own.
    law : str
        A name in `LAWS`, or "auto" to let them compete on round trips left out.

    Returns
    -------
    FitResult

    Raises
    ------
    InputError
        If arrays differ in length or hold values that are no numbers.
    FitError
        If there are too few round trips or speeds; says how many are needed.
    """
    from ident.selection import select

    data = _checked(velocity, torque, load, group)
    loads = {"none": None} if data.load is None else {"none": None, "load": data.load}
    laws = tuple(LAWS) if law == "auto" else (law_named(law).name,)
    return select(replace(data, load=None), loads, laws).chosen


def _checked(velocity: ArrayLike, torque: ArrayLike, load: ArrayLike | None, group: ArrayLike | None) -> Data:
    w, tau = np.asarray(velocity, dtype=float), np.asarray(torque, dtype=float)
    if w.ndim != 1 or tau.ndim != 1:
        raise InputError(f"velocity has shape {w.shape}, torque {tau.shape}; points of one joint, shape (N,), are needed")
    labels = np.arange(len(w)) if group is None else np.asarray(group)
    pressed = None if load is None else np.asarray(load, dtype=float)
    for name, values in (("velocity", w), ("torque", tau), ("load", pressed)):
        if values is None:
            continue
        if values.shape != w.shape:
            raise InputError(f"{name} has shape {values.shape}, velocity has {w.shape}; all need (N,)")
        if not np.isfinite(values).all():
            raise InputError(f"{name} is not a number in row {int(np.argmin(np.isfinite(values)))}")
    if labels.shape != w.shape:
        raise InputError(f"group has shape {labels.shape}, velocity has {w.shape}; all need (N,)")
    moving = w != 0.0
    if not moving.any():
        raise FitError("the velocity is zero in every point; friction shows only in motion")
    if not tau[moving].any():
        raise FitError("the torque is zero in every point; the torque signal is dead or not recorded")
    if np.sum(w[moving] * tau[moving] < 0.0) > 0.5 * moving.sum():
        raise FitError("the torque opposes the motion in most points: its sign, or that of the velocity, is wrong")
    order = np.flatnonzero(moving)
    return Data(w[order], tau[order], None if pressed is None else pressed[order], group_index(labels[order]))


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
        grid: tuple[dict[str, float], ...] = ({},)
        if law.nonlinear:
            (name,) = law.nonlinear
            values = nonlinear_grid(data)
            if near:
                values = np.union1d(values, near[name] * np.exp(_NEAR * np.linspace(-1.0, 1.0, _FINE)))
            grid = tuple({name: float(value)} for value in values)
        return cls(data, law, grid, np.array([_columns(data, law, point) for point in grid]))

    def whitened(self, noise: Noise) -> Array:
        """The columns with white noise, shape (K, N, p)."""
        return noise.whiten(self.columns.transpose(1, 0, 2), self.data.group).transpose(1, 0, 2)


def prior_rows(data: Data, names: Sequence[str]) -> Array:
    """What is known beforehand, as rows of whitened least squares with target zero; a column a name."""
    rows = np.zeros((len(data.prior), len(names)))
    for row, (name, deviation) in enumerate(data.prior.items()):
        rows[row, list(names).index(name)] = 1.0 / deviation
    return rows


def _white_columns(data: Data, law: Law, noise: Noise, nonlinear: Mapping[str, float]) -> Array:
    """Whitened columns of the linear parameters and the nuisance, and the prior's rows below."""
    columns = noise.whiten(_columns(data, law, nonlinear), data.group)
    return np.vstack((columns, prior_rows(data, linear_names(data, law)))) if data.prior else columns


def _white_target(data: Data, noise: Noise) -> Array:
    """Whitened torque, and a zero for each row of the prior."""
    return np.append(noise.whiten(data.tau, data.group), np.zeros(len(data.prior)))


def linear_names(data: Data, law: Law) -> tuple[str, ...]:
    """Names of the columns: linear parameters, then nuisance."""
    return law.linear + (law.with_load if data.load is not None else ()) + tuple(data.nuisance)


def fit_law(data: Data, law: Law, load_name: str = "none", polish: bool = True) -> FitResult:
    """Fit one law: variable projection, noise model, refit, polish, covariance, verdicts."""
    _enough(data, law)
    design = Design.of(data, law)
    noise = white_noise(len(data.w))
    for _ in range(2):
        beta, nonlinear = project(design, noise, refine=False)
        prediction = _columns(data, law, nonlinear) @ beta
        noise = estimate_noise(data.tau - prediction, prediction, data.group, len(beta) + len(nonlinear))
    beta, nonlinear = project(design, noise)
    names = law.parameters(data.load is not None)
    linear = len(names) - len(nonlinear)
    values = dict(zip(names, [*map(float, beta[:linear]), *nonlinear.values()], strict=True))
    values |= dict(zip(data.nuisance, map(float, beta[linear:]), strict=True))
    polished = _polish(data, law, noise, values) if polish else None
    if polished is not None:
        values = {name: float(polished.params[name].value) for name in values}
    return _result(data, law, load_name, noise, values, polished)


def project(design: Design, noise: Noise, refine: bool = True) -> tuple[Array, dict[str, float]]:
    """Variable projection: the best linear parameters for each nonlinear one, searched globally.

    Returns
    -------
    beta : ndarray
        Linear parameters of the law, then of the nuisance columns.
    nonlinear : dict of str to float
    """
    data, law = design.data, design.law
    target, free = _white_target(data, noise), len(data.nuisance)

    def solve(nonlinear: dict[str, float]) -> tuple[Array, float]:
        return _bounded_least_squares(_white_columns(data, law, noise, nonlinear), target, free)

    A = design.whitened(noise)
    known = np.broadcast_to(prior_rows(data, linear_names(data, law)), (len(A), len(data.prior), A.shape[2]))
    misfit = _grid_misfit(np.concatenate((A, known), axis=1), target, free)
    best = int(np.argmin(misfit))
    nonlinear = design.grid[best]
    if law.nonlinear and refine:
        (name,) = law.nonlinear
        near = design.grid[max(best - 1, 0)][name], design.grid[min(best + 1, len(design.grid) - 1)][name]
        found = minimize_scalar(lambda x: solve({name: float(np.exp(x))})[1], method="bounded",
                                bounds=(float(np.log(near[0])), float(np.log(near[1]))), options={"xatol": 1e-6})
        if found.fun <= misfit[best]:
            nonlinear = {name: float(np.exp(found.x))}
    return solve(nonlinear)[0], nonlinear


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


def nonlinear_grid(data: Data) -> Array:
    """Stribeck velocities worth trying: beyond the measured speeds they are no Stribeck effect."""
    speed = np.abs(data.w)
    low, high = _STRIBECK_RANGE[0] * speed.min(), _STRIBECK_RANGE[1] * speed.max()
    return np.asarray(np.geomspace(low, max(high, 1.01 * low), GRID))


def supports(data: Data, law: Law) -> bool:
    """Whether there are more distinct speeds than the law has parameters of speed."""
    speeds = np.unique(np.round(np.log(np.abs(data.w)), 1))
    return len(speeds) >= len(law.linear + law.nonlinear) + _SPARE_SPEEDS


def _enough(data: Data, law: Law) -> None:
    if data.groups < LEAST_ROUND_TRIPS:
        raise FitError(f"{data.groups} round trip(s) found, at least {LEAST_ROUND_TRIPS} are needed")
    if not supports(data, law):
        wanted = len(law.linear + law.nonlinear) + _SPARE_SPEEDS
        raise FitError(f"too few different speeds for the law {law.name}: at least {wanted} are needed")


def _columns(data: Data, law: Law, nonlinear: Mapping[str, float]) -> Array:
    columns = law.columns(data.w, data.load, nonlinear)
    return np.column_stack([columns, *data.nuisance.values()]) if data.nuisance else columns


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


def _polish(data: Data, law: Law, noise: Noise, start: Mapping[str, float]) -> "lmfit.model.ModelResult":
    """All parameters together by lmfit, from the projected optimum, in whitened residuals."""
    import lmfit

    def whitened(w: Array, **parameters: float) -> Array:
        known = [parameters[name] / deviation for name, deviation in data.prior.items()]
        return np.append(noise.whiten(_predict(data, law, parameters), data.group), known)

    named = [Argument(name, Argument.POSITIONAL_OR_KEYWORD) for name in ("w", *start)]
    whitened.__signature__ = Signature(named)      # type: ignore[attr-defined]  # where lmfit reads the names
    model = lmfit.Model(whitened, independent_vars=["w"], name=law.name)
    parameters = lmfit.Parameters()
    grid = nonlinear_grid(data)
    for name, value in start.items():
        if name in law.nonlinear:
            parameters.add(name, value=value, min=float(grid[0]) * 0.999, max=float(grid[-1]) * 1.001)
        elif name in data.nuisance:
            parameters.add(name, value=value)
        elif value <= 0.0:
            parameters.add(name, value=0.0, vary=False)
        else:
            parameters.add(name, value=value)
    return model.fit(_white_target(data, noise), parameters, w=data.w)


def _predict(data: Data, law: Law, values: Mapping[str, float]) -> Array:
    """Law and nuisance columns at the points."""
    own = {name: value for name, value in values.items() if name not in data.nuisance}
    extra = sum((values[name] * column for name, column in data.nuisance.items()), np.zeros(len(data.w)))
    return np.asarray(law.function(data.w, **own, load=data.load) + extra)


def _result(data: Data, law: Law, load_name: str, noise: Noise, values: dict[str, float],
            polished: Any) -> FitResult:
    names = tuple(values)
    grid = nonlinear_grid(data)
    bound = {name: (values[name] <= 1.01 * grid[0] or values[name] >= grid[-1] / 1.01) if name in law.nonlinear
             else name not in data.nuisance and values[name] <= 0.0 for name in names}
    free = tuple(name for name in names if not (bound[name] and name not in law.nonlinear))
    jacobian = np.column_stack([_derivative(data, law, values, name) for name in free])
    residual = data.tau - _predict(data, law, values)
    known = np.array([-values[name] / deviation for name, deviation in data.prior.items()])
    intervals = cluster_covariance(np.vstack((noise.whiten(jacobian, data.group), prior_rows(data, free))),
                                   np.append(noise.whiten(residual, data.group), known),
                                   np.append(data.group, data.groups + np.arange(len(known))))
    half = dict(zip(free, intervals.half_width(), strict=True))
    error = dict(zip(free, intervals.std_error, strict=True))
    parameters: dict[str, Parameter] = {}
    nuisance: dict[str, Parameter] = {}
    for name in names:
        parameter = _parameter(values[name], error.get(name), half.get(name), bound[name], name in law.nonlinear,
                               unit(name, data.prismatic), float(np.log(grid[-1] / grid[0])))
        (nuisance if name in data.nuisance else parameters)[name] = parameter
    own = [name for name in free if name not in data.nuisance]
    keep = [free.index(name) for name in own]
    # log parameters back to their own scale
    scale = np.array([values[name] if name in law.nonlinear else 1.0 for name in own])
    covariance = intervals.covariance[np.ix_(keep, keep)] * np.outer(scale, scale)
    factor = float(np.median(intervals.half_width() / np.maximum(intervals.std_error, 1e-300)))
    return FitResult(law.name, load_name, parameters, nuisance, tuple(own), covariance,
                     float(np.sqrt(np.mean(residual**2))), float("nan"), residual, noise, polished, factor)


def _derivative(data: Data, law: Law, values: Mapping[str, float], name: str) -> Array:
    """Derivative of the prediction; with respect to the logarithm for nonlinear parameters."""
    if name in data.nuisance:
        return data.nuisance[name]
    if name in law.nonlinear:
        step = 1e-4
        up, down = ({**values, name: values[name] * np.exp(sign * step)} for sign in (1.0, -1.0))
        return (_predict(data, law, up) - _predict(data, law, down)) / (2.0 * step)
    own = {other: value for other, value in values.items() if other in law.nonlinear}
    linear = law.linear + (law.with_load if data.load is not None else ())
    return np.asarray(law.function(data.w, **{other: float(other == name) for other in linear}, **own, load=data.load))


def _parameter(value: float, error: float | None, half: float | None, bound: bool, logarithmic: bool,
               unit: str, widest: float) -> Parameter:
    """Interval and verdict of one parameter; `widest` is the logarithm of the range that was searched."""
    if error is None or half is None:
        return Parameter(value, None, None, None, unit, "at bound", "zero is the least it can be")
    if logarithmic:
        half = min(half, widest)
        low, high, error = value * float(np.exp(-half)), value * float(np.exp(half)), value * error
    else:
        low, high = value - half, value + half
    return Parameter(value, float(error), float(low), float(high), unit,
                     "at bound" if bound else verdict(value, low, high))


def verdict(value: float, low: float, high: float) -> str:
    """What an interval says about a value."""
    relative = (high - low) / 2.0 / abs(value) if value else np.inf
    return "identified" if relative <= IDENTIFIED else "weak" if relative <= WEAK else "unidentifiable"


def prediction_band(law: str, values: Mapping[str, float], names: tuple[str, ...], covariance: Array,
                    velocity: ArrayLike, load: ArrayLike | None, factor: float = 1.96) -> Array:
    """Half width of the band of predicted friction from the parameters' covariance, shape (N,)."""
    function, w = law_named(law).function, np.atleast_1d(np.asarray(velocity, dtype=float))
    gradient = []
    for name in names:
        step = 1e-5 * max(abs(values[name]), 1e-6)
        up, down = ({**values, name: values[name] + sign * step} for sign in (1.0, -1.0))
        gradient.append((function(w, **up, load=load) - function(w, **down, load=load)) / (2.0 * step))
    G = np.array(gradient)
    return np.asarray(factor * np.sqrt(np.maximum(0.0, np.einsum("in,ij,jn->n", G, covariance, G))))
