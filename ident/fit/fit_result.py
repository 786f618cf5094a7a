"""A fitted law: parameters with intervals and verdicts, its prediction and its band."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from inspect import Parameter as Argument
from inspect import Signature
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError
from stribeck.ident.fit.law_on_points import predicted
from stribeck.ident.fit.misfit import Misfit
from stribeck.ident.fit.noise import Noise
from stribeck.ident.fit.points import FitPoints
from stribeck.ident.fit.simultaneous import simultaneous_factor
from stribeck.ident.laws.law import Law
from stribeck.ident.laws.law_table import law_named
from stribeck.ident.laws.load_components import components_of
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.views.frames import frame_html, parameter_frame
from stribeck.ident.views.panels import (
    PLAIN,
    draw_curve,
    draw_points,
    finish,
    load_colours,
    shown_figure,
    shown_speeds,
)

if TYPE_CHECKING:
    import lmfit
    from matplotlib.axes import Axes


_SPEEDS = 25
CLAIM = 0.9  # plausibility from which a Stribeck effect is claimed


@dataclass(frozen=True)
class Candidate:
    """A law with a load that competed, and its result.

    Attributes
    ----------
    law, load : str
    held_out_rmse : float
        Prediction error of left-out round trips [N·m]; nan if it was not computed: for loads that
        were not chosen, only the most plausible law has an error.
    parameters : int
        Number of fitted parameters.
    dismissed : str
        Why it cannot be chosen, or "".
    directional : str
        Difference between the directions: "none", "viscous" or "driving".
    share : float
        Plausibility of the law among all laws with the same load, directions and
        waves; the sum of these is 1.
    place : str
        Waves of friction with position: "none", "once a turn", or "twice a turn".
    """

    law: str
    load: str
    held_out_rmse: float
    parameters: int
    dismissed: str = ""
    directional: str = "none"
    share: float = 1.0
    place: str = "none"

    @property
    def weighed(self) -> bool:
        """Whether its error was computed, as for sufficiently plausible laws."""
        return isfinite(self.held_out_rmse)


@dataclass(frozen=True)
class FitResult:
    """A fitted law: parameters with intervals and verdicts, and its prediction errors.

    Attributes
    ----------
    law, load : str
        Name of the law; name of the load, "none" without.
    directional : str
        "viscous" if viscous friction differs between the directions, else "none".
    place : str
        Waves of friction with position, fitted as nuisance parameters: "none", "once a
        turn", or "twice a turn".
    parameters : dict of str to Parameter
        Parameters of the law, and parameters that the data cannot identify (value None).
    nuisance : dict of str to Parameter
        Nuisance parameters: "delay" of the torque signal [s], "drift" of friction over the run
        [fraction], waves of friction with position [N·m], see `places`; for general motion, the
        torque besides friction, see `general_motion`.
    names : tuple of str
        Rows and columns of `covariance`.
    covariance : ndarray
        Covariance of the law's parameters.
    rmse, held_out_rmse : float
        Root mean square residual of the fit, and of round trips left out of the
        fit, see `selection` [N·m].
    residual : ndarray, shape (N,)
        Torque minus prediction at each point; nan at rest, where friction does not show [N·m].
    noise : Noise
        Noise model that weighted the points.
    half_factor : float
        Half width in standard errors of a 95 % interval of friction at one
        state; see `band_factor`.
    serial : float
        Autocorrelation of the levels of successive round trips, for which intervals are widened; 0
        if chance may explain it.
    stribeck_share : float, optional
        Plausibility of a Stribeck effect, from all laws that competed; None if no laws competed.
    further_error : ndarray, shape (n, 2), optional
        Speeds, and the widening of the band there for other plausible laws [rad/s, N·m].
    candidates : tuple of Candidate
        All candidates, the simplest load first; empty if nothing competed.
    lack_of_fit : tuple of Misfit
        Variables with which residuals vary; empty if the law fits.
    data : FitPoints
        The points, for `lmfit` and `plot`.

    Examples
    --------
    >>> import numpy as np
    >>> from stribeck import coulomb_viscous, fit_friction
    >>> w = np.linspace(0.1, 1.5, 20)
    >>> fit = fit_friction(w, coulomb_viscous(w, 2.0, 3.0), law="coulomb-viscous")
    >>> fit.predict([0.5]).round(2)
    array([3.5])
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
    place: str = "none"
    serial: float = 0.0
    stribeck_share: float | None = None
    further_error: Array | None = field(default=None, repr=False, compare=False)
    candidates: tuple[Candidate, ...] = field(default=(), repr=False, compare=False)
    lack_of_fit: tuple[Misfit, ...] = ()
    data: FitPoints | None = field(default=None, repr=False, compare=False)

    @cached_property
    def lmfit(self) -> "lmfit.model.ModelResult":
        """The same fit by lmfit with whitened residuals, computed on first use: offers
        ``fit_report()``, ``conf_interval()``.
        """
        if self.data is None:
            raise InputError("this fit was stored without its points, which lmfit needs")
        return lmfit_result(self.data, law_named(self.law), self.noise, self.all_values)

    @property
    def all_values(self) -> dict[str, float]:
        """Values of the parameters of the law and of the nuisance parameters, by name."""
        return self.values | {
            name: float(p.value) for name, p in self.nuisance.items() if p.value is not None
        }

    @property
    def falls(self) -> bool:
        """Whether friction has a Stribeck effect: the named law has one, or the
        plausibility suffices for the claim.
        """
        return bool(law_named(self.law).knee) and (
            self.stribeck_share is None or self.stribeck_share >= CLAIM
        )

    @property
    def undecided(self) -> bool:
        """Whether friction has a low-speed excess whose shape the data do not decide."""
        return self.stribeck_share is not None and 1.0 - CLAIM < self.stribeck_share < CLAIM

    @property
    def values(self) -> dict[str, float]:
        """Parameter values of the law by name."""
        return {name: float(p.value) for name, p in self.parameters.items() if p.value is not None}

    @property
    def components(self) -> tuple[str, ...]:
        """Components of the load that have a coefficient each, where `load` is "components"."""
        return components_of(self.values)

    def to_dataframe(self) -> pd.DataFrame:
        """Return a row for each parameter: parameter, value, low, high,
        std_error, unit, verdict, note.
        """
        return parameter_frame({"": self.parameters}).drop(columns="joint")

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw friction over speed: the points of the fit, and the law with its 95 % band at
        the least and greatest load.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Panel to draw on; default a new figure.

        Returns
        -------
        matplotlib Axes

        Raises
        ------
        InputError
            If this fit was stored without its points.
        """
        if self.data is None:
            raise InputError(
                "this fit was stored without its points, which the plot needs; fit again"
            )
        panel = shown_figure((self.law,))[self.law] if ax is None else ax
        data, levels = self.data, self._shown_loads()
        colours: list[Array | str] = [PLAIN]
        of_points: Array | str = PLAIN
        if len(levels) == 2:
            low, high = map(float, levels)
            colours, of_points = (
                [*load_colours(levels, low, high)],
                load_colours(np.asarray(data.load), low, high),
            )
        # a point of general motion is a filtered mean of many samples
        if data.seen is None:
            draw_points(panel, data.speed, data.tau, of_points)
        speed = shown_speeds(float(data.speed.min()), float(data.speed.max()))
        for level, colour in zip(levels, colours, strict=True):
            load = np.repeat(np.asarray(level)[None], len(speed), axis=0)
            draw_curve(panel, speed, self.predict(speed, load), self.band(speed, load), colour)
        finish(panel, f"{self.law}, load {self.load}", "N" if data.prismatic else "N·m", loads=True)
        return panel

    def _shown_loads(self) -> Array:
        """Return the loads at which the law is drawn: least and greatest of the points, or
        the median of components.
        """
        load = None if self.data is None else self.data.load
        if self.load == "none" or load is None:
            return np.zeros(1)
        return (
            np.median(load, axis=0)[None] if load.ndim > 1 else np.array([load.min(), load.max()])
        )

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value:.4g}" for name, value in self.values.items())
        return f"<FitResult {self.law}, load {self.load}: {values}; rmse {self.rmse:.2g}>"

    def _repr_html_(self) -> str:
        return frame_html(
            f"{self.law}, load {self.load}, rmse {self.rmse:.3g}", self.to_dataframe()
        )

    def of_points(self, data: FitPoints) -> "FitResult":
        """Return a fit to condensed points with residual and noise of all points."""
        residual = data.tau - predicted(data, law_named(self.law), self.all_values)
        return replace(
            self,
            residual=residual,
            rmse=float(np.sqrt(np.mean(residual**2))),
            noise=self.noise.of_points(data.group, data.sign),
            data=data,
        )

    def predict(self, velocity: ArrayLike, load: ArrayLike | None = None) -> Array:
        """Return the friction torque at velocities and loads, shape (N,) [N·m]; loads of
        `components` have shape (N, m).

        Raises
        ------
        InputError
            If the law depends on the load, but no load is given.
        """
        return law_named(self.law).torque(velocity, self.values, needed_load(self.load, load))

    @cached_property
    def band_factor(self) -> float:
        """Half width of `band` in standard errors."""
        if self.data is None or not self.names:
            return self.half_factor
        speed, load = self.data.speed, self.data.load
        w, level = np.geomspace(speed.min(), speed.max(), _SPEEDS), None
        if load is not None:
            levels = np.quantile(load, (0.0, 0.5, 1.0), axis=0)
            w, level = np.tile(w, len(levels)), np.repeat(levels, _SPEEDS, axis=0)
        found = simultaneous_factor(
            slopes(self.law, self.values, self.names, w, level).T,
            self.covariance,
            max(1, self.data.groups - len(self.names)),
        )
        return max(found, self.half_factor)

    def band(self, velocity: ArrayLike, load: ArrayLike | None = None) -> Array:
        """Return the half width of the simultaneous 95 % band of friction over all
        states, shape (N,) [N·m].
        """
        return self._half_width(velocity, load, self.band_factor)

    def interval(self, velocity: ArrayLike, load: ArrayLike | None = None) -> Array:
        """Return the half width of the 95 % interval of friction at each
        single state, shape (N,) [N·m].
        """
        return self._half_width(velocity, load, self.half_factor)

    def _half_width(self, velocity: ArrayLike, load: ArrayLike | None, factor: float) -> Array:
        own = prediction_band(
            self.law,
            self.values,
            self.names,
            self.covariance,
            velocity,
            needed_load(self.load, load),
            factor,
        )
        return own + further_band(self.further_error, velocity)


def needed_load(kind: str, load: ArrayLike | None) -> ArrayLike | None:
    """Return the load for a law; None for a law without load.

    Raises
    ------
    InputError
        If the law depends on the load, but no load is given.
    """
    if kind == "none":
        return None
    if load is None:
        raise InputError(
            f"load is None, but this friction depends on the load ({kind}); pass the load"
        )
    return load


def lmfit_result(
    data: FitPoints, law: Law, noise: Noise, start: Mapping[str, float]
) -> "lmfit.model.ModelResult":
    """Fit all parameters by lmfit, starting at the optimum, with whitened residuals; points of
    a round trip count alike.
    """
    import lmfit

    root = 1.0 if data.weight is None else np.sqrt(data.weight[data.group])

    def whitened(w: Array, **parameters: float) -> Array:
        known = [parameters[name] / deviation for name, deviation in data.prior.items()]
        return np.append(root * noise.whiten(predicted(data, law, parameters), data.group), known)

    named = [Argument(name, Argument.POSITIONAL_OR_KEYWORD) for name in ("w", *start)]
    whitened.__signature__ = Signature(named)  # type: ignore[attr-defined]  # where lmfit reads the names
    model = lmfit.Model(whitened, independent_vars=["w"], name=law.name)
    parameters = lmfit.Parameters()
    for name, value in start.items():
        if name in law.nonlinear:
            grid = law.searched[name].grid(data.w)
            parameters.add(
                name, value=value, min=float(grid[0]) * 0.999, max=float(grid[-1]) * 1.001
            )
        elif name in data.nuisance:
            parameters.add(name, value=value)
        elif value <= 0.0:
            parameters.add(name, value=0.0, vary=False)
        else:
            parameters.add(name, value=value)
    target = np.append(root * noise.whiten(data.tau, data.group), np.zeros(len(data.prior)))
    return model.fit(target, parameters, w=data.w)


def further_band(further: Array | None, velocity: ArrayLike) -> Array:
    """Return the widening of a band for other laws, shape (N,); constant
    beyond the measured speeds.
    """
    speed = np.abs(np.atleast_1d(np.asarray(velocity, dtype=float)))
    if further is None or not len(further):
        return np.zeros(len(speed))
    return np.asarray(
        np.interp(np.log(np.maximum(speed, 1e-300)), np.log(further[:, 0]), further[:, 1])
    )


def prediction_band(
    law: str,
    values: Mapping[str, float],
    names: tuple[str, ...],
    covariance: Array,
    velocity: ArrayLike,
    load: ArrayLike | None,
    factor: float = 1.96,
) -> Array:
    """Return the half width of the friction band from the covariance of
    the parameters, shape (N,).
    """
    G = slopes(law, values, names, velocity, load)
    return np.asarray(factor * np.sqrt(np.maximum(0.0, np.einsum("in,ij,jn->n", G, covariance, G))))


def slopes(
    law: str,
    values: Mapping[str, float],
    names: tuple[str, ...],
    velocity: ArrayLike,
    load: ArrayLike | None,
) -> Array:
    """Return the derivatives of friction with respect to the parameters, shape (p, N)."""
    torque, w = law_named(law).torque, np.atleast_1d(np.asarray(velocity, dtype=float))
    gradient = []
    for name in names:
        step = 1e-5 * max(abs(values[name]), 1e-6)
        up, down = ({**values, name: values[name] + sign * step} for sign in (1.0, -1.0))
        gradient.append((torque(w, up, load) - torque(w, down, load)) / (2.0 * step))
    return np.array(gradient).reshape(len(names), len(w))
