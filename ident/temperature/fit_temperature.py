"""Fit of friction over speed, load and temperature to points of one joint."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stribeck.ident.arrays import Array, Groups
from stribeck.ident.errors import FitError, InputError
from stribeck.ident.fit.fit_friction import fit_friction
from stribeck.ident.fit.fit_result import FitResult
from stribeck.ident.laws.law_table import law_named
from stribeck.ident.temperature.choose_temperature import (
    TemperatureChoice,
    blocks,
    choose_temperature,
)
from stribeck.ident.temperature.temperature_fit import TemperatureData
from stribeck.ident.temperature.temperature_result import TemperatureResult

LEAST = 2.0  # K; least range of temperature that shows a dependence


def fit_temperature(
    velocity: ArrayLike,
    torque: ArrayLike,
    temperature: ArrayLike,
    group: ArrayLike | None = None,
    load: ArrayLike | None = None,
    law: str = "auto",
    coulomb: str = "auto",
    viscous: str = "auto",
    time: ArrayLike | None = None,
) -> TemperatureResult:
    """Fit friction to points of one joint at different temperatures.

    The Coulomb part and the viscous part of a law each have a factor that depends on temperature.
    Pairs of such temperature laws, and no dependence at all, compete by their errors on round trips
    that were left out of the fit.

    Parameters
    ----------
    velocity, torque : array_like, shape (N,)
        Signed joint velocity [rad/s] and friction torque [N·m], as for `fit_friction`.
    temperature : array_like, shape (N,)
        Temperature of the drive or gear at each point [°C].
    group : array_like, shape (N,), optional
        Round trip of each point; default: one round trip for each point.
    load : array_like, shape (N,), optional
        Load of each point [N·m].
    law : str
        A name in `LAWS`, or "auto" to let all laws compete, first without temperature, then with
        friction corrected to the reference temperature.
    coulomb, viscous : str
        Temperature law of each part: "none", "linear", "quadratic", "exponential"
        (decay to a floor), or "auto".
    time : array_like, shape (N,), optional
        Time of each point [s]; default: points are in the order in which they were
        measured. A slow change with another cause, such as running-in, looks like
        temperature if temperature only rises.

    Returns
    -------
    TemperatureResult
        With "none" for both parts if no dependence on temperature is claimed.

    Raises
    ------
    InputError
        If arrays differ in length or hold values that are not numbers, or a name is unknown.
    FitError
        If the temperature hardly varies, or there are too few round trips.

    Examples
    --------
    >>> import numpy as np
    >>> from stribeck import fit_temperature, stribeck
    >>> w, t = np.tile(np.geomspace(0.02, 1.5, 12), 5), np.linspace(20.0, 40.0, 60)     # speeds while the gear warms up
    >>> torque = stribeck(w, 6.0, 8.0, 0.05, 0.0) + 11.0 * w * np.exp(-(t - 30.0) / 25.0)
    >>> fit = fit_temperature(w, torque + 0.02 * np.random.default_rng(0).standard_normal(60), t, law="stribeck")
    >>> fit.coulomb, fit.reference, round(float(fit.predict(1.0, 25.0)[0]), 1)
    ('none', 30.0, 19.4)
    """
    w, tau = checked_friction(velocity, torque)
    t, moving = checked_numbers("temperature", temperature, len(w)), w != 0.0
    width = float(np.ptp(t[moving])) if moving.any() else 0.0
    if width < LEAST:
        raise FitError(
            f"the temperature varies by {width:.2g} K; a dependence shows only from {LEAST:g} K "
            "on, for example during a warm-up"
        )
    group = np.arange(len(w)) if group is None else np.asarray(group)
    when = None if time is None else checked_numbers("time", time, len(w))[moving]
    pressed = None if load is None else checked_numbers("load", load, len(w))
    reference = float(np.round(np.median(t[moving])))

    def choose(data: TemperatureData, fit: FitResult) -> TemperatureChoice:
        warm = replace(data, temperature=t[moving] - reference)
        return choose_temperature(warm, law_named(fit.law), fit.values, coulomb, viscous)

    choice = fit_with_law(w, tau, pressed, group, law, blocks(group[moving], when), choose)
    return TemperatureResult.of(choice, reference)


def fit_with_law(
    w: Array,
    tau: Array,
    load: Array | None,
    group: NDArray[Any],
    law: str,
    block: Groups,
    choose: Callable[[TemperatureData, FitResult], TemperatureChoice],
) -> TemperatureChoice:
    """Choose the law, then temperature laws; if they are claimed, choose both again with
    friction at the reference.

    Parameters
    ----------
    w, tau, load, group, law
        As for `fit_friction`.
    block : ndarray, shape (M,)
        Block of each point that moves.
    choose : callable
        Returns the choice of temperature laws for points without temperature,
        and the fit of their law.
    """
    moving = w != 0.0

    def chosen(fit: FitResult) -> TemperatureChoice:
        own = None if load is None or fit.load == "none" else load[moving]
        speed = np.abs(w[moving])
        return choose(
            TemperatureData(speed, (np.sign(w) * tau)[moving], np.zeros(len(speed)), own, block),
            fit,
        )

    # friction at other temperatures is no outlier
    choice = chosen(fit_friction(w, tau, load, group, law, "squares"))
    if not choice.claimed:
        return choice
    change = np.zeros(len(w))
    change[moving] = choice.fit.change
    return chosen(fit_friction(w, tau - np.sign(w) * change, load, group, law, "squares"))


def checked_friction(velocity: ArrayLike, torque: ArrayLike) -> tuple[Array, Array]:
    """Return velocity and torque as arrays of one length."""
    w = np.atleast_1d(np.asarray(velocity, dtype=float))
    return w, checked_numbers("torque", torque, len(w))


def checked_numbers(name: str, values: ArrayLike, length: int) -> Array:
    """Return finite numbers of shape (length,)."""
    try:
        found = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise InputError(
            f"{name} holds values that are not numbers; numbers of shape ({length},) are needed"
        ) from None
    if found.shape != (length,):
        raise InputError(
            f"{name} has shape {found.shape}, velocity has ({length},); both need (N,)"
        )
    if not np.isfinite(found).all():
        row = int(np.argmin(np.isfinite(found)))
        raise InputError(
            f"{name} is not a finite number in row {row}: {found[row]}; remove this row"
        )
    return found
