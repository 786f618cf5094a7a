"""A friction law fitted with temperature: parameters with intervals and verdicts, predictions, and
a band that extrapolates.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from stribeck.ident.arrays import Array
from stribeck.ident.laws.law_table import unit
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.temperature.choose_temperature import TemperatureCandidate, TemperatureChoice
from stribeck.ident.temperature.joint_temperature import (
    JointTemperature,
    joint_temperature,
    with_intervals,
)
from stribeck.ident.temperature.self_heating import SelfHeating
from stribeck.ident.views.frames import frame_html, parameter_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SPEEDS = 4  # speeds in a plot


@dataclass(frozen=True)
class TemperatureResult:
    """Friction of one joint over speed, load and temperature.

    Attributes
    ----------
    law, load : str
        Friction law, and "load" if friction grows with the load, else "none".
    reference : float
        Temperature at which the law's own parameters hold [°C].
    choice : TemperatureChoice
        The chosen fit, its rivals, and all pairs of temperature laws that competed.
    heating : SelfHeating, optional
        How friction heats the joint. With it, all temperatures are its dimensionless state.
    """

    law: str
    load: str
    reference: float
    choice: TemperatureChoice
    heating: SelfHeating | None = None

    @classmethod
    def of(
        cls, choice: TemperatureChoice, reference: float, heating: SelfHeating | None = None
    ) -> "TemperatureResult":
        """Return the result of a choice of temperature laws."""
        return cls(
            choice.fit.law.name,
            "none" if choice.fit.data.load is None else "load",
            reference,
            choice,
            heating,
        )

    @property
    def coulomb(self) -> str:
        """Temperature law of the Coulomb part: "none", "linear" or "quadratic"."""
        return self.choice.fit.coulomb.name

    @property
    def viscous(self) -> str:
        """Temperature law of the viscous part: "none", "linear", "quadratic" or "exponential"."""
        return self.choice.fit.viscous.name

    @property
    def parameters(self) -> dict[str, Parameter]:
        """Parameters of the law at the reference temperature, and of the temperature laws."""
        found = {}
        for name, entry in with_intervals(self.choice.fit, self.heating is None).items():
            found[name] = replace(
                entry, unit=entry.unit or unit(name, self.choice.fit.data.prismatic)
            )
        return found if self.heating is None else {**found, **self.heating.parameters}

    @property
    def values(self) -> dict[str, float]:
        """Values of all parameters."""
        return self.choice.fit.values

    @property
    def range(self) -> tuple[float, float]:
        """Least and greatest temperature of the points [°C]."""
        measured = self.choice.fit.data.temperature + self.reference
        return float(measured.min()), float(measured.max())

    @property
    def held_out_rmse(self) -> float:
        """Error of blocks of round trips that were left out of the fit [N·m or N]."""
        return self.choice.fit.held_out_rmse

    @property
    def static_rmse(self) -> float:
        """The same error without temperature [N·m or N]."""
        return self.choice.static_rmse

    @property
    def candidates(self) -> tuple[TemperatureCandidate, ...]:
        """All pairs of temperature laws that competed."""
        return self.choice.candidates

    @property
    def joint(self) -> JointTemperature:
        """The temperature dependence, as a calibration holds it."""
        return joint_temperature(self.choice, self.reference, self.heating)

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value:.4g}" for name, value in self.values.items())
        return (
            f"<TemperatureResult {self.law} at {self.joint.reference_words}, Coulomb part "
            f"{self.coulomb}, viscous part "
            f"{self.viscous}: {values}; held-out rmse {self.held_out_rmse:.3g}>"
        )

    def _repr_html_(self) -> str:
        return frame_html(
            f"{self.law} with temperature, at {self.joint.reference_words}", self.to_dataframe()
        )

    def to_dataframe(self) -> pd.DataFrame:
        """Return a row for each parameter, those of temperature last."""
        return parameter_frame({"": self.parameters})

    def predict(
        self,
        velocity: ArrayLike,
        temperature: ArrayLike | None = None,
        load: ArrayLike | None = None,
    ) -> Array:
        """Return friction at velocities, temperatures and loads, shape (N,) [N·m or N].

        Parameters
        ----------
        velocity : array_like, shape (N,)
            Joint velocity [rad/s or m/s].
        temperature : array_like, shape () or (N,), optional
            Temperature [°C]; None and nan stand for the reference temperature.
        load : array_like, shape (N,), optional
            Load [N·m]; needed if `load` is not "none".
        """
        w, theta, pressed = self._at(velocity, temperature, load)
        return self.choice.fit.predict(w, theta, pressed)

    def band(
        self,
        velocity: ArrayLike,
        temperature: ArrayLike | None = None,
        load: ArrayLike | None = None,
    ) -> Array:
        """Return the half width of the 95 % band of `predict`, shape (N,) [N·m or N].

        The band covers all temperature laws that the points do not tell apart, so it grows outside
        the measured temperatures.
        """
        w, theta, pressed = self._at(velocity, temperature, load)
        return self.choice.half_width(np.abs(w), theta, pressed)

    def _at(
        self, velocity: ArrayLike, temperature: ArrayLike | None, load: ArrayLike | None
    ) -> tuple[Array, Array, Array | None]:
        w = np.atleast_1d(np.asarray(velocity, dtype=float))
        given = np.broadcast_to(
            np.asarray(np.nan if temperature is None else temperature, dtype=float), w.shape
        )
        pressed = (
            None
            if self.load == "none" or load is None
            else np.broadcast_to(np.asarray(load, dtype=float), w.shape)
        )
        return w, np.where(np.isnan(given), 0.0, given - self.reference), pressed

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw friction over temperature at a few speeds: points near these speeds, the
        fitted law, and its band.
        """
        from stribeck.ident.views.panels import shown_figure

        ax = shown_figure(("temperature",))["temperature"] if ax is None else ax
        data = self.choice.fit.data
        ends = np.quantile(data.speed, np.linspace(0.0, 1.0, _SPEEDS + 1))
        low, high = self.range
        slides = "m/s" if data.prismatic else "rad/s"
        t = np.linspace(low - 0.25 * (high - low), high + 0.5 * (high - low), 60)
        pressed = None if data.load is None else np.full(len(t), float(np.median(data.load)))
        for k in range(_SPEEDS):
            rows = (data.speed >= ends[k]) & (data.speed <= ends[k + 1])
            speed = float(np.median(data.speed[rows]))
            at = np.full(len(t), speed)
            (line,) = ax.plot(
                t, friction := self.predict(at, t, pressed), label=f"{speed:.2g} {slides}"
            )
            half = self.band(at, t, pressed)
            ax.fill_between(
                t, friction - half, friction + half, color=line.get_color(), alpha=0.15, lw=0
            )
            ax.plot(
                data.temperature[rows] + self.reference,
                data.friction[rows],
                ".",
                ms=2.0,
                color=line.get_color(),
            )
        ax.set(
            xlabel="temperature, °C" if self.heating is None else "state of self-heating",
            ylabel=f"friction, {'N' if data.prismatic else 'N·m'}",
        )
        ax.legend(frameon=False, fontsize=7)
        ax.spines[["top", "right"]].set_visible(False)
        return ax
