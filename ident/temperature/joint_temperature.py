"""Temperature dependence of one joint's friction, as a calibration holds it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from stribeck.ident.arrays import Array, floats, library_of
from stribeck.ident.errors import InputError, unknown_name
from stribeck.ident.laws.law import Law
from stribeck.ident.laws.parameter import Parameter, verdict
from stribeck.ident.temperature.choose_temperature import TemperatureChoice
from stribeck.ident.temperature.self_heating import SelfHeating, check_heating
from stribeck.ident.temperature.temperature_fit import TemperatureFit, scaled
from stribeck.ident.temperature.temperature_laws import PARTS, TEMPERATURE_LAWS, unit_of

# rows of the table this near to the reference are left out, in measured ranges
_CLOSE = 0.02
# temperatures of the table of half widths, over three times the measured range
_ROWS = 13


@dataclass(frozen=True)
class JointTemperature:
    """How the Coulomb and the viscous part of one joint's friction change with temperature.

    Attributes
    ----------
    reference : float
        Temperature at which the law's own parameters hold [°C].
    coulomb, viscous : str
        Temperature law of each part.
    parameters : dict of str to Parameter
        Parameters of both temperature laws.
    range : tuple of float
        Least and greatest measured temperature [°C].
    held_out_rmse, static_rmse : float
        Root mean square error of left-out round trips, with and without temperature [N·m or N].
    further_error : tuple of (float, float)
        Temperatures [°C], and the half width of the 95 % interval of the change of friction from
        the reference temperature to there, as a fraction of friction at the reference temperature.
        It covers all temperature laws that compete.
    heating : SelfHeating, optional
        How friction heats the joint. With it, all temperatures are its dimensionless state.
    """

    reference: float
    coulomb: str
    viscous: str
    parameters: Mapping[str, Parameter]
    range: tuple[float, float]
    held_out_rmse: float
    static_rmse: float
    further_error: tuple[tuple[float, float], ...] = ()
    heating: SelfHeating | None = None

    @property
    def reference_words(self) -> str:
        """The reference temperature with its unit, such as "30 °C" or "state 0.62"."""
        return f"{self.reference:g} °C" if self.heating is None else f"state {self.reference:g}"

    @property
    def all_parameters(self) -> dict[str, Parameter]:
        """Parameters of both temperature laws, and those of self-heating."""
        return {**self.parameters, **({} if self.heating is None else self.heating.parameters)}

    @cached_property
    def values(self) -> dict[str, float]:
        """Values of the parameters."""
        return {
            name: float(entry.value)
            for name, entry in self.parameters.items()
            if entry.value is not None
        }

    def factors(self, temperature: ArrayLike | None) -> tuple[Array, Array]:
        """Return the factors of the Coulomb and the viscous part at
        temperatures [°C], shape (N,) each.

        None and nan stand for the reference temperature.
        """
        given = floats(np.nan if temperature is None else temperature)
        xp = library_of(given)
        theta = xp.where(xp.isnan(given), 0.0, given - self.reference)
        return (
            TEMPERATURE_LAWS[self.coulomb].factor(theta, self.values, "coulomb"),
            TEMPERATURE_LAWS[self.viscous].factor(theta, self.values, "viscous"),
        )

    def power_factors(self, state: ArrayLike) -> tuple[Array, Array]:
        """Return the factors with which friction heats at states, shape (N,) each.

        Beyond the hottest measured state they stay as they are there: an extrapolated
        law could heat without end.
        """
        return self.factors(np.minimum(state, self.range[1]))

    def friction(
        self,
        law: Law,
        values: Mapping[str, float],
        velocity: Array,
        load: Array | None,
        temperature: ArrayLike | None,
    ) -> Array:
        """Return the friction of a law at temperatures, shape (N,) [N·m or N]."""
        return scaled(law, values, velocity, load, *self.factors(temperature))

    def widening(self, temperature: ArrayLike | None) -> Array:
        """Return the half width for the change to temperatures, as a fraction of friction at
        the reference, shape (N,).

        It is 0 at the reference temperature. Beyond the table it grows with the distance as
        between its last two rows.
        """
        given = np.asarray(np.nan if temperature is None else temperature, dtype=float)
        at = np.where(np.isnan(given), self.reference, given)
        if len(self.further_error) < 2:
            return np.zeros(at.shape)
        t, half = np.array(self.further_error).T
        below = half[0] + (t[0] - at) * max((half[0] - half[1]) / (t[1] - t[0]), 0.0)
        above = half[-1] + (at - t[-1]) * max((half[-1] - half[-2]) / (t[-1] - t[-2]), 0.0)
        return np.asarray(
            np.where(at < t[0], below, np.where(at > t[-1], above, np.interp(at, t, half)))
        )

    def verdict(self) -> str:
        """The weakest verdict of the parameters."""
        rank = ("identified", "weak", "at bound", "unidentifiable")
        return max((entry.verdict for entry in self.parameters.values()), key=rank.index)


def each_temperature(temperature: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Return the temperature of each joint, shape (n,) or (N, n) [°C].

    Raises
    ------
    InputError
        If the shape does not fit.
    """
    given = np.asarray(temperature, dtype=float)
    try:
        return np.broadcast_to(given, shape)
    except ValueError:
        raise InputError(
            f"temperature has shape {given.shape}; a number, or an array of shape {shape[-1:]} or "
            f"{shape}, is needed"
        ) from None


def check_temperature(found: JointTemperature, where: str) -> None:
    """Refuse a dependence on temperature whose keys contradict each other;
    `where` begins the messages.

    Raises
    ------
    InputError
        If a law is unknown, a parameter is missing, foreign or impossible, or the
        temperatures do not ascend.
    """
    needed: list[str] = []
    for part in PARTS:
        name = getattr(found, part)
        if name not in TEMPERATURE_LAWS:
            raise InputError(
                f"{where}.{part}: {unknown_name('temperature law', name, TEMPERATURE_LAWS)}"
            )
        needed += TEMPERATURE_LAWS[name].parameters(part)
    for name in needed:
        value = found.values.get(name)
        if value is None:
            raise InputError(
                f"{where}.parameters.{name} has no value; the temperature laws {found.coulomb} and "
                f"{found.viscous} need it"
            )
        if name.endswith("_decay") and value <= 0.0:
            raise InputError(f"{where}.parameters.{name} = {value:g}; it must be positive")
    for name in found.parameters:
        if name not in needed:
            raise InputError(f"{where}.parameters: {unknown_name('parameter', name, needed)}")
    if found.heating is not None:
        check_heating(found.heating, f"{where}.heating")
    if not np.all(np.diff([at for at, _ in found.further_error]) > 0.0):
        raise InputError(f"{where}.further_error: temperatures must be in ascending order")


def joint_temperature(
    choice: TemperatureChoice, reference: float, heating: SelfHeating | None = None
) -> JointTemperature:
    """Return the temperature dependence that a choice of temperature laws claims; with
    `heating`, over its state.
    """
    fit, measured = choice.fit, choice.fit.data.temperature
    low, high = float(measured.min()), float(measured.max())
    digits = 1 if heating is None else 3
    least, most = np.round(
        (low - (high - low) + reference, high + (high - low) + reference), digits - 1
    )
    even = np.round(np.linspace(least, most, _ROWS), digits) - reference
    theta = np.union1d(even[np.abs(even) > _CLOSE * (high - low)], [0.0])
    parameters = {
        name: entry
        for name, entry in with_intervals(fit, heating is None).items()
        if "_temperature_" in name
    }
    return JointTemperature(
        reference,
        fit.coulomb.name,
        fit.viscous.name,
        parameters,
        (low + reference, high + reference),
        fit.held_out_rmse,
        choice.static_rmse,
        tuple((float(reference + at), _doubt(choice, float(at))) for at in theta),
        heating,
    )


def _doubt(choice: TemperatureChoice, theta: float) -> float:
    """Return the half width of the change of friction to a temperature, relative to friction at
    the reference temperature.
    """
    data, worst = choice.fit.data, 0.0
    speed, load = data.speed, data.load
    at, there = np.zeros(len(speed)), np.full(len(speed), theta)
    base = choice.fit.predict(speed, at, load)
    change = choice.fit.predict(speed, there, load) - base
    for one in (choice.fit, *choice.rivals):
        j = one.jacobian(speed, there, load) - one.jacobian(speed, at, load)
        half = one.factor * np.sqrt(np.maximum(0.0, np.einsum("ij,jk,ik->i", j, one.covariance, j)))
        apart = np.abs(one.predict(speed, there, load) - one.predict(speed, at, load) - change)
        worst = max(worst, float(np.sqrt(np.mean((half + apart) ** 2) / np.mean(base**2))))
    return worst


def with_intervals(fit: TemperatureFit, degrees: bool = True) -> dict[str, Parameter]:
    """Return all parameters of a fit with 95 % intervals and verdicts; units of the law's own
    parameters are left empty.

    Without `degrees`, the temperature is a dimensionless state.
    """
    error = np.sqrt(np.maximum(0.0, np.diag(fit.covariance)))
    at = {name: k for k, name in enumerate(np.array(fit.names)[fit.free].tolist())}
    found = {}
    for name, value in fit.values.items():
        unit = unit_of(name, degrees) if "_temperature_" in name else ""
        if name not in at:
            found[name] = Parameter(
                value, None, None, None, unit, "at bound", "at the end of its range"
            )
            continue
        half = fit.factor * float(error[at[name]])
        low, high = value - half, value + half
        found[name] = Parameter(
            value, float(error[at[name]]), low, high, unit, verdict(value, low, high)
        )
    return found
