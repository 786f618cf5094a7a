"""Stage of identification after the fits of joints: friction over temperature,
from points of round trips.

Parameters of a joint with a claimed dependence hold at one reference temperature: its points are
corrected to this temperature and fitted again.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from stribeck.ident.arrays import Array
from stribeck.ident.errors import FitError
from stribeck.ident.fit.joint.fit_joint import JointFit
from stribeck.ident.identification.choose_runs import ChosenRuns
from stribeck.ident.identification.fit_joints import FittedJoints, fit_round_trips
from stribeck.ident.identification.friction_power import Clock, friction_power
from stribeck.ident.identification.identify_inertia import SoughtInertia
from stribeck.ident.identification.reduce_runs import ReducedRuns
from stribeck.ident.laws.law_table import law_named
from stribeck.ident.laws.load_components import load_at
from stribeck.ident.log.finding import Finding
from stribeck.ident.log.reduction.round_trips import round_trips
from stribeck.ident.temperature.choose_heating import choose_heating
from stribeck.ident.temperature.choose_temperature import (
    TemperatureChoice,
    blocks,
    choose_temperature,
)
from stribeck.ident.temperature.fit_temperature import LEAST
from stribeck.ident.temperature.joint_temperature import JointTemperature, joint_temperature
from stribeck.ident.temperature.self_heating import SelfHeating
from stribeck.ident.temperature.temperature_fit import TemperatureData

# K; least range of temperature for which a dependence is sought without being asked for
_SOUGHT = 5.0
# rank correlation of temperature with time from which temperature cannot be told from running-in
_STEADY = 0.9
# least rest between motion for which self-heating is sought, as a fraction of the recorded time
_REST = 0.05
# findings that a dependence on temperature explains
_OF_TEMPERATURE = "temperature", "drift", "strong drift"


@dataclass(frozen=True)
class FittedTemperatures:
    """Dependence on temperature of the joints that show one.

    Attributes
    ----------
    joints : dict of str to JointTemperature
        Dependence of each joint that has one.
    corrected : dict of str to JointFit
        Fits of these joints to points that were corrected to the reference temperature.
    findings : tuple of Finding
        Joints for which a dependence was asked for, but not found, and why.
    """

    joints: Mapping[str, JointTemperature]
    corrected: Mapping[str, JointFit] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()

    def applied(self, fitted: FittedJoints) -> FittedJoints:
        """Return the fits with those at the reference temperature."""
        return replace(
            fitted,
            joints={name: self.corrected.get(name, joint) for name, joint in fitted.joints.items()},
        )

    def without_explained(self, findings: Iterable[Finding]) -> list[Finding]:
        """Return the findings without those that temperature explains: drift, and a
        wide range of temperature.
        """
        return [
            one
            for one in findings
            if one.joint not in self.joints or one.kind not in _OF_TEMPERATURE
        ]


NO_TEMPERATURES = FittedTemperatures({})


def fit_temperatures(
    chosen: ChosenRuns, reduced: ReducedRuns, fitted: FittedJoints, inertia: SoughtInertia
) -> FittedTemperatures:
    """Fit the dependence on temperature, or on self-heating without sensors, with the law and
    load of the joints' fits.

    With the option "auto", temperature is sought where it varies by more than 5 K, and both rises
    and falls: a steady warm-up looks like running-in, and the drift of the fit removes both.
    Without sensors, self-heating is sought if the arm rests between motion. With "any", it is
    sought wherever temperature varies, and without sensors in any run.
    """
    option = reduced.options.temperature
    if option == "none" or reduced.options.motion != "none":
        return NO_TEMPERATURES
    found, corrected, findings = (
        dict[str, JointTemperature](),
        dict[str, JointFit](),
        list[Finding](),
    )
    clock = Clock(chosen.runs)
    rests = (
        clock.rests() >= _REST
        if option == "auto" and not all(map(_sensed, fitted.joints.values()))
        else False
    )
    for name, joint in fitted.joints.items():
        sensed = _sensed(joint) and option != "self-heating"
        if option == "auto" and not (_told(joint.points) if sensed else rests):
            continue
        claim = (
            partial(_by_sensor, name, joint) if sensed else partial(_by_heat, clock, name, joint)
        )
        try:
            corrected[name], found[name] = _fitted(reduced, inertia, name, joint, claim)
        except FitError as error:
            if option != "auto" or not sensed:
                findings.append(
                    Finding(name, "warmth", f"{name}: no dependence on temperature: {error}")
                )
    return FittedTemperatures(found, corrected, tuple(findings))


def _sensed(joint: JointFit) -> bool:
    """Return whether the temperature of all points is known."""
    return bool(np.isfinite(joint.points["temperature"].to_numpy(dtype=float)).all())


def _told(points: pd.DataFrame) -> bool:
    """Return whether temperature varies much, and not just steadily: over all runs, or
    over the time of each run.
    """
    t = points["temperature"].to_numpy(dtype=float)
    if np.ptp(t) < _SOUGHT:
        return False
    return (
        min(
            abs(float(spearmanr(time, t).statistic))
            for time in (_order(points), points["t"].to_numpy(dtype=float))
        )
        < _STEADY
    )


def _order(points: pd.DataFrame) -> Array:
    """Return the rank of each point in time, runs in their order, shape (N,)."""
    rank = np.empty(len(points))
    rank[np.lexsort((points["t"].to_numpy(dtype=float), pd.factorize(points["run"])[0]))] = (
        np.arange(len(points))
    )
    return rank


@dataclass(frozen=True)
class _Claimed:
    """Temperature laws of a joint, the reference, and how friction heats the
    joint if no sensor tells.
    """

    choice: TemperatureChoice
    reference: float
    heating: SelfHeating | None = None


def _fitted(
    reduced: ReducedRuns,
    inertia: SoughtInertia,
    name: str,
    joint: JointFit,
    claim: Callable[[JointFit], _Claimed],
) -> tuple[JointFit, JointTemperature]:
    """Return the fit at the reference temperature, and the dependence.

    Raises
    ------
    FitError
        If no dependence is claimed.
    """
    rows, change = reduced.points.loc[joint.points.index], claim(joint).choice.fit.change
    again = fit_round_trips(
        reduced, inertia, name, rows.assign(odd=rows["odd"] - (joint.torque_scale or 1.0) * change)
    )
    found = claim(again)
    return again, joint_temperature(found.choice, found.reference, found.heating)


def _data(joint: JointFit, law_of: JointFit, temperature: Array) -> TemperatureData:
    """Return the points of a joint, with the load of another fit of this joint."""
    points, fit = joint.points, law_of.fit
    return TemperatureData(
        points["speed"].to_numpy(dtype=float),
        points["odd"].to_numpy(dtype=float),
        temperature,
        load_at(points, fit.load, fit.values),
        blocks(round_trips(points), _order(points)),
        fit.parameters["coulomb"].unit == "N",
    )


def _by_heat(clock: Clock, name: str, joint: JointFit, law_of: JointFit) -> _Claimed:
    """Return the claim of self-heating, with the law of another fit of this joint."""
    points, fit = joint.points, law_of.fit
    time = clock.time(points["run"].to_numpy(), points["t"].to_numpy(dtype=float))
    found = choose_heating(
        _data(joint, law_of, np.zeros(len(points))),
        law_named(fit.law),
        fit.values,
        friction_power(clock, name, law_of),
        time,
    )
    return _Claimed(found.temperature, found.reference, found.heating)


def _by_sensor(name: str, joint: JointFit, law_of: JointFit) -> _Claimed:
    """Return the claim of a dependence on the drive's temperature, with the law of
    another fit of this joint.
    """
    t = joint.points["temperature"].to_numpy(dtype=float)
    if np.ptp(t) < LEAST:
        raise FitError(
            f"temperature of {name} varies by {np.ptp(t):.2g} K; at least {LEAST:g} K are needed"
        )
    reference, fit = float(np.round(np.median(t))), law_of.fit
    choice = choose_temperature(_data(joint, law_of, t - reference), law_named(fit.law), fit.values)
    if not choice.claimed:
        best = min(choice.candidates, key=lambda one: one.held_out_rmse)
        raise FitError(
            "no temperature law predicts left-out round trips better than none (the best, "
            f"{best.coulomb} for the Coulomb part and {best.viscous} for the viscous part: error "
            f"{best.held_out_rmse:.3g}, without temperature {choice.static_rmse:.3g})"
        )
    return _Claimed(choice, reference)
