r"""Fitting a friction law to the points of one joint.

Given the nonlinear parameters (the Stribeck velocity) a law is linear in the rest: variable projection searches the
nonlinear ones globally and then closely (`ident.projection`), and the misfit around the optimum gives the intervals
(`ident.intervals`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from inspect import Parameter as Argument
from inspect import Signature
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ident.errors import FitError, InputError, unknown_name
from ident.friction import AUTO, Law, components_of, law_named, unit
from ident.intervals import profile, spread
from ident.mechanism import Array
from ident.parameter import Parameter, verdict
from ident.projection import Data, Moments, nonlinear_grid, parameter_names, polish, predict, search_grid, worth
from ident.regression import WHITE, Groups, Noise, first_of_groups, group_index

if TYPE_CHECKING:
    import lmfit

LEAST_ROUND_TRIPS = 4
LOSSES = ("squares", "huber")
HUBER = 1.345           # 95 % efficient where no round trip went wrong
_NORMAL_MEDIAN = 1.4826     # standard deviations in a median of absolute values
_REWEIGHTED = 5         # how often
_SPARE_SPEEDS = 1       # distinct speeds beyond the parameters of speed that a law needs
_REVERSED = 0.8         # part of the points in which the torque opposes the motion where its sign is wrong
_SAME_SPEED = 0.1       # by which speeds of one class differ at most, in the logarithm


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
        Root mean square residual, and the same over round trips left out of the fit, see `ident.selection` [N·m].
    residual : ndarray, shape (N,)
        Torque less prediction, a row a point; nan at rest, where friction does not show [N·m].
    noise : Noise
        The noise model that weighted the points.
    half_factor : float
        Half width of a 95 % band in standard errors.
    serial : float
        Correlation of the levels of successive round trips, which the intervals hold; 0 where chance alone makes as much.
    data : Data
        The points, for `lmfit`.
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
    half_factor: float = 1.96
    directional: str = "none"
    serial: float = 0.0
    data: Data | None = field(default=None, repr=False, compare=False)

    @cached_property
    def lmfit(self) -> "lmfit.model.ModelResult":
        """The same fit by lmfit in whitened residuals, made when asked: ``fit_report()`` and ``conf_interval()`` work on it."""
        if self.data is None:
            raise InputError("the points of this fit were not kept")
        return lmfit_result(self.data, law_named(self.law), self.noise, self._all_values)

    @property
    def _all_values(self) -> dict[str, float]:
        return self.values | {name: float(p.value) for name, p in self.nuisance.items() if p.value is not None}

    @property
    def values(self) -> dict[str, float]:
        """Parameter values of the law by name."""
        return {name: float(p.value) for name, p in self.parameters.items() if p.value is not None}

    @property
    def components(self) -> tuple[str, ...]:
        """Components of the load that have a coefficient each, where `load` is "components"."""
        return components_of(self.values)

    def of_points(self, data: Data) -> "FitResult":
        """The same with residual and noise of all points, of a fit to condensed ones."""
        residual = data.tau - predict(data, law_named(self.law), self._all_values)
        return replace(self, residual=residual, rmse=float(np.sqrt(np.mean(residual**2))),
                       noise=self.noise.of_points(data.group, data.sign), data=data)

    def predict(self, velocity: ArrayLike, load: ArrayLike | None = None) -> Array:
        """Friction torque at velocities and loads, shape (N,) [N·m]; loads of `components` are columns, shape (N, m).

        Raises
        ------
        InputError
            If the law depends on the load and none is given.
        """
        return law_named(self.law).torque(velocity, self.values, needed_load(self.load, load))

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
                 law: str = "auto", loss: str = "squares", std: ArrayLike | None = None) -> FitResult:
    """Fit friction to points of one joint.

    Parameters
    ----------
    velocity, torque : array_like, shape (N,)
        Signed joint velocity [rad/s] and friction torque [N·m], without gravity and offset: where only one direction was
        recorded, an offset cannot be told from Coulomb friction.
    load : array_like, shape (N,), optional
        Load of each point [N·m]; competes with "no load part".
    group : array_like, shape (N,), optional
        Which round trip each point belongs to; points of one share an error. Default: each its own, which is wrong for the
        samples of a stroke, and makes intervals far too narrow. Round trips count as
        measured in the order in which they first appear: where their levels are correlated in it, intervals are wider.
    law : str
        A name in `LAWS`, or "auto" to let them compete on round trips left out.
    loss : str
        "squares", or "huber": a round trip off by more than `HUBER` standard deviations counts less, for logs in which some
        went wrong.
    std : array_like, shape (N,), optional
        Scatter of the samples behind each point [N·m]. Where it differs much within round trips, points count by its inverse
        square; what a round trip counts is told by its level in any case.

    Returns
    -------
    FitResult

    Raises
    ------
    InputError
        If arrays differ in length or hold values that are no numbers.
    FitError
        If the torque is dead or opposes the motion, or there are too few round trips or speeds; says how many are needed.
    """
    from ident.selection import select

    data = _checked(velocity, torque, load, group, std)
    loads = {"none": None} if data.load is None else {"none": None, "load": data.load}
    laws = AUTO if law == "auto" else (law_named(law).name,)
    if loss not in LOSSES:
        raise unknown_name("loss", loss, LOSSES)
    chosen = select(data, loads, laws).chosen
    for _ in range(_REWEIGHTED if loss == "huber" else 0):
        data = replace(data, weight=_huber_weights(data, chosen))
        chosen = select(data, loads, laws).chosen
    residual = np.full(np.shape(velocity), np.nan)
    residual[np.asarray(velocity, dtype=float) != 0.0] = chosen.residual
    return replace(chosen, residual=residual)


def _huber_weights(data: Data, fit: FitResult) -> Array:
    """How much each round trip counts, by how far its mean residual is off in robust standard deviations, shape (G,)."""
    mean = np.bincount(data.group, np.sign(data.w) * fit.residual) / data.samples
    assert fit.noise.level is not None
    off = np.abs(mean) / first_of_groups(fit.noise.level, data.group)
    return np.asarray(1.0 / np.maximum(1.0, off / (HUBER * max(_NORMAL_MEDIAN * float(np.median(off)), 1e-12))))


def _checked(velocity: ArrayLike, torque: ArrayLike, load: ArrayLike | None, group: ArrayLike | None,
             std: ArrayLike | None) -> Data:
    w, tau = _numbers("velocity", velocity), _numbers("torque", torque)
    if w.ndim != 1 or tau.ndim != 1:
        raise InputError(f"velocity has shape {w.shape}, torque {tau.shape}; points of one joint, shape (N,), are needed")
    labels = np.arange(len(w)) if group is None else np.asarray(group)
    pressed = None if load is None else _numbers("load", load)
    numbered = labels if labels.dtype.kind == "f" else None
    scatter = None if std is None else _numbers("std", std)
    for name, values in (("velocity", w), ("torque", tau), ("load", pressed), ("group", numbered), ("std", scatter)):
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
    against = float(np.mean(w[moving] * tau[moving] < 0.0))
    if against > 0.5:
        raise FitError(f"the torque opposes the motion in {against:.0%} of the points: "
                       + ("its sign, or that of the velocity, is wrong" if against > _REVERSED else
                          "it is noise or something else that hides friction, or changes its sign against the velocity"))
    if scatter is not None and (scatter < 0.0).any():
        raise InputError(f"std is negative in row {int(np.argmax(scatter < 0.0))}; it is a standard deviation")
    trips = group_index(labels[moving])
    return Data(w[moving], tau[moving], None if pressed is None else pressed[moving], trips,
                count=None if scatter is None else worth(scatter[moving], trips))


def _numbers(name: str, values: ArrayLike) -> Array:
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{name} holds values that are no numbers") from None


def fit_law(data: Data, law: Law, load_name: str = "none") -> FitResult:
    """Fit one law to the points of one joint."""
    return with_intervals(best_of(data.condensed(), law), load_name).of_points(data)


@dataclass(frozen=True)
class Best:
    """A law at the parameters that fit best, before its intervals are known.

    Attributes
    ----------
    whole : Moments
        Of the points over the search.
    noise : Noise
        Belongs to round trips, not to points.
    values : dict of str to float
        All parameters, in the order of `parameter_names`.
    """

    whole: Moments
    noise: Noise
    values: dict[str, float]

    @cached_property
    def residual(self) -> Array:
        """Torque less prediction, shape (N,) [N·m]."""
        return self.whole.data.tau - predict(self.whole.data, self.whole.law, self.values)

    @cached_property
    def rmse(self) -> float:
        """Root mean square residual of what was condensed to the points [N·m]."""
        data = self.whole.data
        weight = np.ones(len(self.residual)) if data.count is None else data.count
        square = float(weight @ self.residual**2) + (0.0 if data.spread is None else float(data.spread.sum()))
        return float(np.sqrt(square / weight.sum()))

    @property
    def limits(self) -> dict[str, tuple[float, float]]:
        """Range of the search of every nonlinear parameter."""
        return {name: (float(grid.min()), float(grid.max())) for name, grid in self.whole.grid.items()}

    def at_edge(self, name: str) -> bool:
        """Whether a nonlinear parameter lies at the edge of the search."""
        low, high = self.limits[name]
        return not 1.01 * low < self.values[name] < high / 1.01


def best_of(points: Data, law: Law) -> Best:
    """Variable projection, noise model, and polish with the noise known."""
    _enough(points, law)
    whole = Moments.of(points, law, search_grid(points, law))
    optimum = whole.solve(WHITE)
    k = int(np.argmin(optimum.misfit))
    noise = whole.noise(k, optimum.beta[k], WHITE)
    optimum = whole.solve(noise)
    k = int(np.argmin(optimum.misfit))
    best = polish(points, law, noise, {name: float(values[k]) for name, values in whole.grid.items()})
    noise = best.noise(0, best.solve(noise).beta[0], noise)
    best = polish(points, law, noise, {name: float(values[0]) for name, values in best.grid.items()})
    values = (*best.solve(noise).beta[0], *(values[0] for values in best.grid.values()))
    return Best(whole, noise, dict(zip(parameter_names(points, law), map(float, values), strict=True)))


def supports(data: Data, law: Law) -> bool:
    """Whether there are more distinct speeds than the law has parameters of speed."""
    return int(speed_classes(data.w).max()) + 1 >= len(law.linear + law.nonlinear) + _SPARE_SPEEDS


def speed_classes(velocity: Array) -> Groups:
    """Which of the distinct speeds each velocity has, 0 the slowest, shape (N,)."""
    level = np.log(np.abs(velocity))
    ascending = np.sort(level)
    first = [ascending[0]]
    while ascending[-1] > first[-1] + _SAME_SPEED:
        first.append(ascending[np.searchsorted(ascending, first[-1] + _SAME_SPEED, side="right")])
    return np.asarray(np.searchsorted(first, level, side="right") - 1)


def _enough(data: Data, law: Law) -> None:
    if data.groups < LEAST_ROUND_TRIPS:
        raise FitError(f"{data.groups} round trip(s) found, at least {LEAST_ROUND_TRIPS} are needed")
    if not supports(data, law):
        wanted = len(law.linear + law.nonlinear) + _SPARE_SPEEDS
        raise FitError(f"too few different speeds for the law {law.name}: at least {wanted} are needed")


def lmfit_result(data: Data, law: Law, noise: Noise, start: Mapping[str, float]) -> "lmfit.model.ModelResult":
    """All parameters together by lmfit, from the optimum, in whitened residuals; points of a round trip count alike in it."""
    import lmfit

    root = 1.0 if data.weight is None else np.sqrt(data.weight[data.group])

    def whitened(w: Array, **parameters: float) -> Array:
        known = [parameters[name] / deviation for name, deviation in data.prior.items()]
        return np.append(root * noise.whiten(predict(data, law, parameters), data.group), known)

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
    target = np.append(root * noise.whiten(data.tau, data.group), np.zeros(len(data.prior)))
    return model.fit(target, parameters, w=data.w)


def with_intervals(best: Best, load_name: str) -> FitResult:
    """Intervals and verdicts of the parameters that fit best; noise and residual still belong to round trips."""
    whole, noise, values, limits = best.whole, best.noise, best.values, best.limits
    data, law, names = whole.data, whole.law, tuple(values)
    free = [k for k, name in enumerate(names) if name in limits or name in data.nuisance or values[name] > 0.0]
    if not free:
        raise FitError(f"the torque holds no friction: every parameter of the law {law.name} is zero at best")
    found = spread(whole, noise, values, free)
    scale = np.array([values[names[k]] if names[k] in limits else 1.0 for k in free])     # of parameters in the logarithm
    covariance = found.covariance * np.outer(scale, scale)
    units = {name: unit(name, data.prismatic) for name in names}
    fitted = {name: Parameter(values[name], None, None, None, units[name], "at bound", "zero is the least it can be")
              for name in names}
    ends = profile(whole, noise, values, free, found)
    for k, error, (low, high) in zip(free, scale * found.std_error, ends.tolist(), strict=True):
        word, note = _verdict(best, names[k], low, high)
        fitted[names[k]] = Parameter(values[names[k]], float(error), low, high, units[names[k]], word, note)
    parameters = {name: fitted[name] for name in law.parameters(data.load is not None, data.components)}
    own = tuple(name for name in parameters if names.index(name) in free)
    keep = [free.index(names.index(name)) for name in own]
    return FitResult(law.name, load_name, parameters, {name: fitted[name] for name in data.nuisance}, own,
                     covariance[np.ix_(keep, keep)], best.rmse, float("nan"), best.residual, noise, found.factor,
                     serial=found.serial, data=data)


def _verdict(best: Best, name: str, low: float, high: float) -> tuple[str, str]:
    """Verdict and note of a parameter from its interval, and from the limits of the search for a nonlinear one."""
    if name not in best.limits:
        return verdict(best.values[name], low, high), ""
    if best.at_edge(name):
        return "at bound", ""
    least, most = best.limits[name]
    sides = [side for side, open_ in (("below", low <= least), ("above", high >= most)) if open_]
    if sides:
        return "unidentifiable", f"the data leave it open {' and '.join(sides)}; more speeds there would tell"
    return verdict(best.values[name], low, high), ""


def prediction_band(law: str, values: Mapping[str, float], names: tuple[str, ...], covariance: Array,
                    velocity: ArrayLike, load: ArrayLike | None, factor: float = 1.96) -> Array:
    """Half width of the band of predicted friction from the parameters' covariance, shape (N,)."""
    torque, w = law_named(law).torque, np.atleast_1d(np.asarray(velocity, dtype=float))
    gradient = []
    for name in names:
        step = 1e-5 * max(abs(values[name]), 1e-6)
        up, down = ({**values, name: values[name] + sign * step} for sign in (1.0, -1.0))
        gradient.append((torque(w, up, load) - torque(w, down, load)) / (2.0 * step))
    G = np.array(gradient)
    return np.asarray(factor * np.sqrt(np.maximum(0.0, np.einsum("in,ij,jn->n", G, covariance, G))))
