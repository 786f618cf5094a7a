"""Fit of friction over speed, load and self-heating to points of one joint
without a temperature sensor.
"""

import numpy as np
from numpy.typing import ArrayLike

from stribeck.ident.errors import InputError
from stribeck.ident.fit.fit_result import FitResult
from stribeck.ident.laws.law_table import law_named
from stribeck.ident.temperature.choose_heating import HeatingChoice, choose_heating
from stribeck.ident.temperature.choose_temperature import TemperatureChoice, blocks
from stribeck.ident.temperature.fit_temperature import (
    checked_friction,
    checked_numbers,
    fit_with_law,
)
from stribeck.ident.temperature.self_heating import heat_log
from stribeck.ident.temperature.temperature_fit import TemperatureData
from stribeck.ident.temperature.temperature_result import TemperatureResult


def fit_self_heating(
    velocity: ArrayLike,
    torque: ArrayLike,
    time: ArrayLike,
    motion: tuple[ArrayLike, ArrayLike],
    group: ArrayLike | None = None,
    load: ArrayLike | None = None,
    law: str = "auto",
    coulomb: str = "auto",
    viscous: str = "auto",
) -> TemperatureResult:
    """Fit friction to points of one joint that its own friction heats,
    without a temperature sensor.

    The state of the joint follows from its motion: friction heats a body, which cools with one time
    constant, or two if a second one is resolved. At the first time of the motion the joint is cold:
    it has rested for several time constants.

    Parameters
    ----------
    velocity, torque : array_like, shape (N,)
        Signed joint velocity [rad/s] and friction torque [N·m], as for `fit_friction`.
    time : array_like, shape (N,)
        Time of each point [s].
    motion : tuple of array_like, shape (M,)
        Times and velocities of the whole motion, with rests and all that lies between the points
        [s, rad/s]. Each velocity holds until the next time.
    group, load, law, coulomb, viscous : optional
        As for `fit_temperature`.

    Returns
    -------
    TemperatureResult
        With `heating`; temperatures are the state of self-heating.

    Raises
    ------
    InputError
        If arrays differ in length or hold values that are not numbers, times do not
        ascend, or a name is unknown.
    FitError
        If self-heating is not claimed: the joint only warms up, friction does not depend on the
        state, or a drift with time predicts as well. The message says what to record.

    Examples
    --------
    >>> import numpy as np
    >>> from stribeck import fit_self_heating, stribeck
    >>> t = np.arange(180) * 10.0                                       # a round trip every 10 s
    >>> w = np.where((t > 600) & (t < 1200), 0.0, np.tile(np.geomspace(0.05, 1.5, 12), 15))     # heats, rests, heats
    >>> torque, s = [], 0.0
    >>> for rate in w:                                                  # true state, with a time constant of 300 s
    ...     torque.append(float(stribeck(rate, 6.0, 8.0, 0.05, 10.0 * (1.0 - 0.4 * s))))
    ...     s += (1.0 - np.exp(-10.0 / 300.0)) * (rate * torque[-1] / 10.0 - s)
    >>> noise = 0.02 * np.random.default_rng(0).standard_normal(180)
    >>> fit = fit_self_heating(w, torque + noise, t, (t, w), law="stribeck")
    >>> fit.coulomb, fit.viscous, round(float(fit.heating.times[0]) / 300.0, 1)
    ('none', 'linear', 1.0)
    """
    w, tau = checked_friction(velocity, torque)
    when = checked_numbers("time", time, len(w))
    begin, rate = (np.atleast_1d(np.asarray(part, dtype=float)) for part in motion)
    if (
        begin.shape != rate.shape
        or len(begin) < 2
        or not np.all(np.diff(begin) > 0.0)
        or not np.isfinite(rate).all()
    ):
        raise InputError(
            f"motion has times of shape {begin.shape} and velocities of shape {rate.shape}; "
            "ascending times and "
            "finite velocities of the same shape (M,), M at least 2, are needed"
        )
    if when.min() < begin[0] or when.max() > begin[-1]:
        raise InputError(
            f"time of the points is {when.min():g} to {when.max():g} s, motion only covers "
            f"{begin[0]:g} to {begin[-1]:g} s; the motion of all points is needed"
        )
    group = np.arange(len(w)) if group is None else np.asarray(group)
    pressed = None if load is None else checked_numbers("load", load, len(w))
    moving = w != 0.0
    found: list[HeatingChoice] = []

    def choose(data: TemperatureData, fit: FitResult) -> TemperatureChoice:
        middle = None if data.load is None else np.full(len(rate) - 1, float(np.median(data.load)))
        log = heat_log(
            law_named(fit.law), fit.values, begin[1:], np.diff(begin), np.abs(rate[:-1]), middle
        )
        found.append(
            choose_heating(
                data, law_named(fit.law), fit.values, log, when[moving], coulomb, viscous
            )
        )
        return found[-1].temperature

    choice = fit_with_law(w, tau, pressed, group, law, blocks(group[moving], when[moving]), choose)
    return TemperatureResult.of(choice, found[-1].reference, found[-1].heating)
