r"""Fitting a friction law to the points of one joint.

Given the nonlinear parameters (the Stribeck velocity) a law is linear in the rest: variable projection
searches the nonlinear ones globally, lmfit polishes all of them together, and the round trips give the
covariance.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from inspect import Parameter as Argument
from inspect import Signature
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ident.errors import FitError, InputError
from ident.friction import AUTO, Law, law_named, unit
from ident.mechanism import Array
from ident.parameter import Parameter, verdict
from ident.projection import Data, Design, columns, nonlinear_grid, prior_rows, project, white_target
from ident.regression import Noise, cluster_covariance, estimate_noise, group_index, white_noise

if TYPE_CHECKING:
    import lmfit

LEAST_ROUND_TRIPS = 4
_SPARE_SPEEDS = 1       # distinct speeds beyond the parameters of speed that a law needs


@dataclass(frozen=True)
class FitResult:
    """A fitted law: parameters with intervals and verdicts, and how well it predicts.

    Attributes
    ----------
    law, load : str
        Name of the law; name of the load, "none" without.
    directional : str
        "viscous" where viscous friction differs between the directions, else "none".
    parameters : dict of str to Parameter
        Parameters of the law, and those that the data cannot show (value None).
    nuisance : dict of str to Parameter
        What was fitted along: "delay" of the torque signal [s], "drift" of friction over the run [fraction];
        of general motion what is no friction, see `ident.motion`.
    names : tuple of str
        Rows and columns of `covariance`.
    covariance : ndarray
        Of the law's parameters.
    rmse, held_out_rmse : float
        Root mean square residual, and the same over round trips left out of the fit [N·m].
    residual : ndarray, shape (N,)
        Torque less prediction, a row a point; nan at rest, where friction does not show [N·m].
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
    directional: str = "none"

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
    laws = AUTO if law == "auto" else (law_named(law).name,)
    chosen = select(replace(data, load=None), loads, laws).chosen
    residual = np.full(np.shape(velocity), np.nan)
    residual[np.asarray(velocity, dtype=float) != 0.0] = chosen.residual
    return replace(chosen, residual=residual)


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
            raise InputError(f"{name} is not a finite number in row {int(np.argmin(np.isfinite(values)))}")
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


def fit_law(data: Data, law: Law, load_name: str = "none", polish: bool = True) -> FitResult:
    """Fit one law: variable projection, noise model, refit, polish, covariance, verdicts."""
    _enough(data, law)
    design = Design.of(data, law)
    noise = white_noise(len(data.tau))
    for _ in range(2):
        beta, nonlinear = project(design, noise, refine=False)
        prediction = columns(data, law, nonlinear) @ beta
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
    for name, value in start.items():
        if name in law.nonlinear:
            grid = nonlinear_grid(data, name)
            parameters.add(name, value=value, min=float(grid[0]) * 0.999, max=float(grid[-1]) * 1.001)
        elif name in data.nuisance:
            parameters.add(name, value=value)
        elif value <= 0.0:
            parameters.add(name, value=0.0, vary=False)
        else:
            parameters.add(name, value=value)
    return model.fit(white_target(data, noise), parameters, w=data.w)


def _predict(data: Data, law: Law, values: Mapping[str, float]) -> Array:
    """Law and nuisance columns at the points."""
    own = {name: value for name, value in values.items() if name not in data.nuisance}
    extra = sum((values[name] * column for name, column in data.nuisance.items()), np.zeros(len(data.tau)))
    return np.asarray(data.view(law.function(data.w, **own, load=data.load)) + extra)


def _result(data: Data, law: Law, load_name: str, noise: Noise, values: dict[str, float],
            polished: Any) -> FitResult:
    names = tuple(values)
    grids = {name: nonlinear_grid(data, name) for name in law.nonlinear}
    bound = {name: (values[name] <= 1.01 * grids[name][0] or values[name] >= grids[name][-1] / 1.01) if name in grids
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
                               unit(name, data.prismatic),
                               float(np.log(grids[name][-1] / grids[name][0])) if name in grids else 0.0)
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
    return data.view(law.function(data.w, **{other: float(other == name) for other in linear}, **own, load=data.load))


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
