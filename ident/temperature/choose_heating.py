"""Choice of self-heating: friction over a state that friction heats, against friction without it
and friction that drifts.

Time constants are searched on a grid, with friction linear in the state, then refined with the
chosen temperature laws. A claim must predict left-out blocks of round trips better than a law
without it, and better than every drift: the same temperature laws over time instead of the state,
such as running-in. If the state only rises, both look alike, so the motion is refused.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import spearmanr

from stribeck.ident.arrays import Array
from stribeck.ident.errors import FitError
from stribeck.ident.fit.choice.signed_ranks import excess_ranks
from stribeck.ident.laws.law import Law
from stribeck.ident.laws.law_table import unit
from stribeck.ident.laws.parameter import Parameter, verdict
from stribeck.ident.memory.joint_memory import dry_level
from stribeck.ident.temperature.choose_temperature import TemperatureChoice, choose_temperature
from stribeck.ident.temperature.self_heating import (
    POWER,
    SECOND_SHARE,
    SECOND_TIME,
    TIME,
    Factors,
    HeatLog,
    SelfHeating,
)
from stribeck.ident.temperature.temperature_fit import (
    TemperatureData,
    TemperatureFit,
    fit_temperature_law,
)
from stribeck.ident.temperature.temperature_laws import COMPETING, SIMPLEST, TemperatureLaw

# rank correlation of the state with time from which heating cannot be told from running-in
STEADY = 0.9
_GRID = 16  # time constants of the search
_LEAST, _MOST = 0.01, 1.0  # range of the time constants, in recorded times
_ENDS = 0.98  # part of the longest time constant from which it is at the end of its range
_SHARES = (0.25, 0.5, 0.75)  # shares of a second body in the search
_APART = 3.0  # least ratio of two time constants
# standard errors of the signed ranks by which self-heating must win against
# drift, and a second body
_RIVAL = 2.0
# Gauss-Newton steps of the refinement, and tries of each with half the length
_STEPS, _HALVES = 8, 3
# largest step of the logarithm of a time constant, and the step that ends the refinement
_FAR, _CLOSE = 0.7, 0.005
# squared error of two bodies over that of one, from which a second body is tried
_GAIN = 0.98
_STEP = 1e-3  # step of derivatives by the logarithm of a time constant

Bodies = tuple[Array, Array]  # time constants [s] and shares


@dataclass(frozen=True)
class HeatingChoice:
    """Friction over the chosen state.

    Attributes
    ----------
    temperature : TemperatureChoice
        Fit over the state in place of a temperature.
    heating : SelfHeating
        Time constants and power that make up the state.
    reference : float
        State at which the law's own parameters hold.
    drift_rmse : float
        Error on left-out blocks of the best drift with time [N·m or N].
    """

    temperature: TemperatureChoice
    heating: SelfHeating
    reference: float
    drift_rmse: float


def choose_heating(
    data: TemperatureData,
    law: Law,
    start: Mapping[str, float],
    log: HeatLog,
    time: Array,
    coulomb: str = "auto",
    viscous: str = "auto",
) -> HeatingChoice:
    """Fit friction over self-heating.

    Parameters
    ----------
    data : TemperatureData
        Points; their temperature is not used.
    law : Law
    start : mapping of str to float
        Values of the law's parameters, without temperature.
    log : HeatLog
        Power of friction over time.
    time : ndarray, shape (N,)
        Time of each point, on the clock of the log [s].
    coulomb, viscous : str
        As for `choose_temperature`.

    Raises
    ------
    FitError
        If the state only rises, its time constant is not resolved, or it predicts left-out round
        trips no better than friction without temperature or with drift.
    """
    trial = _Trial(data, law, start, log, time, coulomb, viscous)
    grid = np.geomspace(_LEAST, _MOST, _GRID) * log.span
    single = min(((np.array([one]), np.ones(1)) for one in grid.tolist()), key=trial.cost)
    steady = trial.steadiness(single)
    found = trial.refined(single)
    steady = min(steady, trial.steadiness(found.bodies))
    if steady > STEADY:
        raise FitError(
            "self-heating cannot be told from running-in: the joint only warms up (rank "
            f"correlation of the state with time {steady:.2f}, at most {STEADY:g} allowed). Record "
            "motion that heats, rests for about the time it heated, and heats again, at "
            "interleaved speeds (run --experiment warm-up)"
        )
    pairs = [
        (np.array([one, two]), np.array([1.0 - share, share]))
        for k, one in enumerate(grid.tolist())
        for two in grid[k:].tolist()
        if two >= _APART * one
        for share in _SHARES
    ]
    if found.choice.claimed:
        pair = min(pairs, key=trial.cost)
        second = trial.refined(pair) if trial.cost(pair) < _GAIN * trial.cost(single) else found
        short, long = second.bodies[0][[0, -1]]
        if _APART * short <= long < _ENDS * grid[-1] and _beats(
            second.choice.fit, found.choice.fit
        ):
            found = second
    drifts = choose_temperature(
        replace(data, temperature=(time - time.mean()) / np.ptp(time)), law, start, coulomb, viscous
    )
    _check(found.choice, drifts)
    if found.bodies[0].max() >= _ENDS * grid[-1]:
        raise FitError(
            f"self-heating has no time constant within {grid[0]:.3g} to {grid[-1]:.3g} s: the log "
            "is too short; record a longer run that heats, rests and heats again"
        )
    return HeatingChoice(found.choice, found.heating, found.reference, drifts.fit.held_out_rmse)


def _check(choice: TemperatureChoice, drifts: TemperatureChoice) -> None:
    """Refuse self-heating that does not win.

    Raises
    ------
    FitError
        If it predicts left-out blocks no better than friction without it, or than drift.
    """
    own = choice.fit
    if not choice.claimed:
        best = min(choice.candidates, key=lambda one: one.held_out_rmse)
        raise FitError(
            "self-heating predicts left-out round trips no better than friction without it (error "
            f"{best.held_out_rmse:.3g}, without {choice.static_rmse:.3g}); friction must change as "
            "the joint heats and cools"
        )
    if drifts.claimed and not all(_beats(own, one) for one in (drifts.fit, *drifts.rivals)):
        raise FitError(
            "friction that drifts with time predicts left-out round trips as well as self-heating "
            f"(error {drifts.fit.held_out_rmse:.3g} and {own.held_out_rmse:.3g}); record longer "
            "rests between heating"
        )


def _beats(one: TemperatureFit, other: TemperatureFit) -> bool:
    """Return whether a fit predicts left-out blocks better than another,
    beyond chance and in the mean.
    """
    return (
        one.held_out_rmse < other.held_out_rmse
        and excess_ranks(np.maximum(one.held_out, 1e-300), np.maximum(other.held_out, 1e-300))
        > _RIVAL
    )


@dataclass(frozen=True)
class _Refined:
    """One kind of heating with its best time constants."""

    bodies: Bodies
    choice: TemperatureChoice
    heating: SelfHeating
    reference: float


@dataclass(frozen=True)
class _Trial:
    """Points of a joint, on which time constants are tried."""

    data: TemperatureData
    law: Law
    start: Mapping[str, float]
    log: HeatLog
    time: Array
    coulomb: str
    viscous: str

    def cost(self, bodies: Bodies) -> float:
        """Squared error of friction that is linear in the state, on
        left-out blocks; for the search.
        """
        data = self.data
        state = self.log.states(self.time, *bodies)
        dry = dry_level(self.law, self.start, data.speed, data.load)
        viscous = self.law.torque(data.speed, self.start, data.load) - dry
        parts = [part for part in (dry, viscous) if np.any(np.abs(part) > 1e-9 * np.max(dry))]
        size = max(float(np.ptp(state)), 1e-300)
        columns = np.column_stack(
            [*parts, *(part * (state - state.mean()) / size for part in parts)]
        )
        q, _ = np.linalg.qr(columns)
        left = data.friction - q @ (q.T @ data.friction)
        return float(np.sum((left / np.maximum(1.0 - np.einsum("ij,ij->i", q, q), 1e-3)) ** 2))

    def steadiness(self, bodies: Bodies) -> float:
        """Rank correlation of the state with time."""
        return float(spearmanr(self.time, self.log.states(self.time, *bodies)).statistic)

    def refined(self, bodies: Bodies) -> _Refined:
        """Refine time constants with the temperature laws that are chosen for them."""
        power = _rounded(float(np.max(self.log.states(self.log.end, *bodies))))
        choice, reference = self._choice(bodies, power, None, SIMPLEST)
        factors: Factors | None = None
        if choice.claimed:
            factors = _factors(choice.fit, reference)
            bodies, factors = self._searched(bodies, power, factors, choice.fit, reference)
        choice, reference = self._choice(bodies, power, factors)
        return _Refined(bodies, choice, self._heating(bodies, power, choice.fit), reference)

    def _choice(
        self,
        bodies: Bodies,
        power: float,
        factors: Factors | None,
        competing: Mapping[str, tuple[TemperatureLaw, ...]] = COMPETING,
    ) -> tuple[TemperatureChoice, float]:
        data, reference = self._data(bodies, power, factors)
        return choose_temperature(
            data, self.law, self.start, self.coulomb, self.viscous, competing
        ), reference

    def _data(
        self, bodies: Bodies, power: float, factors: Factors | None, reference: float | None = None
    ) -> tuple[TemperatureData, float]:
        """Return the points with their state above the reference, by default the
        median, and the reference.
        """
        state = self.log.states(self.time, *bodies, power, factors)
        reference = float(np.round(np.median(state), 2)) if reference is None else reference
        return replace(
            self.data,
            temperature=state - reference,
            sensitivity=self._sensitivity(bodies, power, factors),
        ), reference

    def _searched(
        self, bodies: Bodies, power: float, factors: Factors, fit: TemperatureFit, reference: float
    ) -> tuple[Bodies, Factors]:
        """Return the time constants with the least error of the chosen laws, by Gauss-Newton
        steps, and the factors there.
        """

        def fitted(vector: Array, factors: Factors) -> TemperatureFit:
            own = {name: value for name, value in fit.values.items() if "_temperature_" not in name}
            data, _ = self._data(_bodies(vector), power, factors, reference)
            return fit_temperature_law(data, self.law, own, fit.coulomb, fit.viscous)

        vector = _vector(bodies)
        best = fitted(vector, factors)
        for _ in range(_STEPS):
            j = best.whole_jacobian
            scale = np.maximum(np.linalg.norm(j, axis=0), 1e-300)
            step = np.clip(
                (np.linalg.lstsq(j / scale, best.residual, rcond=1e-8)[0] / scale)[-len(vector) :],
                -_FAR,
                _FAR,
            )
            factors = _factors(best, reference)
            tried = (
                (vector + 0.5**k * step, fitted(vector + 0.5**k * step, factors))
                for k in range(_HALVES)
            )
            better = next(
                (
                    (there, one)
                    for there, one in tried
                    if np.sum(one.residual**2) < np.sum(best.residual**2)
                ),
                None,
            )
            if better is None:
                break
            moved = float(np.max(np.abs(better[0] - vector)))
            vector, best = better
            if moved < _CLOSE:
                break
        return _bodies(vector), _factors(best, reference)

    def _sensitivity(self, bodies: Bodies, power: float, factors: Factors | None) -> Array:
        """Derivatives of the state by the logarithms of time constants
        and the share, shape (N, k).
        """
        vector, columns = _vector(bodies), []
        for step in _STEP * np.eye(len(vector)):
            ends = [
                self.log.states(self.time, *_bodies(vector + sign * step), power, factors)
                for sign in (1.0, -1.0)
            ]
            columns.append((ends[0] - ends[1]) / (2.0 * _STEP))
        return np.column_stack(columns)

    def _heating(self, bodies: Bodies, power: float, fit: TemperatureFit) -> SelfHeating:
        """Return the parameters with 95 % intervals; the power is the unit of the state."""
        covariance = fit.temperature_covariance
        error = (
            np.sqrt(np.maximum(0.0, np.diag(covariance)))
            if covariance.size
            else np.full(len(_vector(bodies)), np.nan)
        )
        found = {TIME: _interval(float(bodies[0][0]), float(error[0]), fit.factor, np.exp, TIME)}
        if len(bodies[0]) > 1:
            found[SECOND_TIME] = _interval(
                float(bodies[0][1]), float(error[1]), fit.factor, np.exp, SECOND_TIME
            )
            found[SECOND_SHARE] = _interval(
                float(bodies[1][1]), float(error[2]), fit.factor, _logistic, SECOND_SHARE
            )
        own = Parameter(
            power, None, None, None, unit(POWER), "identified", "unit of the state, not an estimate"
        )
        return SelfHeating({**found, POWER: own})


def _vector(bodies: Bodies) -> Array:
    """Return time constants and share as numbers without bounds: logarithms, and a logit."""
    times, shares = bodies
    return np.array([*np.log(times), *([np.log(shares[1] / shares[0])] if len(times) > 1 else [])])


def _bodies(vector: Array) -> Bodies:
    if len(vector) == 1:
        return np.exp(vector), np.ones(1)
    share = float(np.clip(_logistic(vector[2]), 1e-3, 1.0 - 1e-3))
    return np.exp(vector[:2]), np.array([1.0 - share, share])


def _logistic(x: Array | float) -> Array:
    return np.asarray(1.0 / (1.0 + np.exp(-np.asarray(x))))


def _interval(
    value: float, error: float, factor: float, back: Callable[[float], Array], name: str
) -> Parameter:
    """Return a parameter whose logarithm (or logit) has a standard error."""
    at = float(np.log(value / (1.0 - value))) if name == SECOND_SHARE else float(np.log(value))
    low, high = (float(back(at + sign * factor * error)) for sign in (-1.0, 1.0))
    slope = value * (1.0 - value) if name == SECOND_SHARE else value
    return Parameter(value, slope * error, low, high, unit(name), verdict(value, low, high))


def _factors(fit: TemperatureFit, reference: float) -> Factors:
    values = fit.values
    return lambda state: (
        fit.coulomb.factor(state - reference, values, "coulomb"),
        fit.viscous.factor(state - reference, values, "viscous"),
    )


def _rounded(value: float) -> float:
    """Return a positive number to two digits."""
    return float(f"{max(value, 1e-12):.2g}")
