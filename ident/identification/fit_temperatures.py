"""Stage of identification after the fits of joints: friction over temperature, from points of round trips.

Parameters of a joint with a claimed dependence hold at one reference temperature: its points are corrected to this temperature
and fitted again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from stribeck.ident.arrays import Array
from stribeck.ident.errors import FitError
from stribeck.ident.fit.joint.fit_joint import JointFit
from stribeck.ident.identification.fit_joints import FittedJoints, fit_round_trips
from stribeck.ident.identification.identify_inertia import SoughtInertia
from stribeck.ident.identification.reduce_runs import ReducedRuns
from stribeck.ident.laws.law_table import law_named
from stribeck.ident.laws.load_components import load_at
from stribeck.ident.log.finding import Finding
from stribeck.ident.log.reduction.round_trips import round_trips
from stribeck.ident.temperature.choose_temperature import TemperatureChoice, blocks, choose_temperature
from stribeck.ident.temperature.fit_temperature import LEAST
from stribeck.ident.temperature.joint_temperature import JointTemperature, joint_temperature
from stribeck.ident.temperature.temperature_fit import TemperatureData

_SOUGHT = 5.0           # K; least range of temperature for which a dependence is sought without being asked for
_STEADY = 0.9           # rank correlation of temperature with time from which temperature cannot be told from running-in
_OF_TEMPERATURE = "temperature", "drift", "strong drift"        # findings that a dependence on temperature explains


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
        return replace(fitted, joints={name: self.corrected.get(name, joint) for name, joint in fitted.joints.items()})

    def without_explained(self, findings: Iterable[Finding]) -> list[Finding]:
        """Return the findings without those that temperature explains: drift, and a wide range of temperature."""
        return [one for one in findings if one.joint not in self.joints or one.kind not in _OF_TEMPERATURE]


NO_TEMPERATURES = FittedTemperatures({})


def fit_temperatures(reduced: ReducedRuns, fitted: FittedJoints, inertia: SoughtInertia) -> FittedTemperatures:
    """Fit the dependence on temperature of joints whose drives report one, with the law and load of their fits.

    With the option "auto", it is sought where temperature varies by more than 5 K, and both rises and falls: a steady warm-up
    looks like running-in, and the drift of the fit removes both. With "any", it is sought wherever temperature varies.
    """
    option = reduced.options.temperature
    if option == "none" or reduced.options.motion != "none":
        return NO_TEMPERATURES
    found, corrected, findings = dict[str, JointTemperature](), dict[str, JointFit](), list[Finding]()
    for name, joint in fitted.joints.items():
        try:
            if option == "any" or _told(joint.points):
                corrected[name], found[name] = _fitted(reduced, inertia, name, joint)
        except FitError as error:
            if option == "any":
                findings.append(Finding(name, "warmth", f"{name}: no dependence on temperature: {error}"))
    return FittedTemperatures(found, corrected, tuple(findings))


def _told(points: pd.DataFrame) -> bool:
    """Return whether temperature varies much, and not just steadily with time."""
    t = points["temperature"].to_numpy(dtype=float)
    if not np.isfinite(t).all() or np.ptp(t) < _SOUGHT:
        return False
    return abs(float(spearmanr(_order(points), t).statistic)) < _STEADY


def _order(points: pd.DataFrame) -> Array:
    """Return the rank of each point in time, runs in their order, shape (N,)."""
    rank = np.empty(len(points))
    rank[np.lexsort((points["t"].to_numpy(dtype=float), pd.factorize(points["run"])[0]))] = np.arange(len(points))
    return rank


def _fitted(reduced: ReducedRuns, inertia: SoughtInertia, name: str, joint: JointFit) -> tuple[JointFit, JointTemperature]:
    """Return the fit at the reference temperature, and the dependence.

    Raises
    ------
    FitError
        If temperature is not known, hardly varies, or no dependence predicts left-out round trips better than none.
    """
    t = joint.points["temperature"].to_numpy(dtype=float)
    if not np.isfinite(t).all():
        raise FitError("its drive reports no temperature, or not at all points")
    if np.ptp(t) < LEAST:
        raise FitError(f"temperature varies by {np.ptp(t):.2g} K; at least {LEAST:g} K are needed")
    reference = float(np.round(np.median(t)))
    choice = _claimed(joint, reference)
    rows, change = reduced.points.loc[joint.points.index], choice.fit.change
    again = fit_round_trips(reduced, inertia, name, rows.assign(odd=rows["odd"] - (joint.torque_scale or 1.0) * change))
    return again, joint_temperature(_claimed(joint, reference, again), reference)


def _claimed(joint: JointFit, reference: float, law_of: JointFit | None = None) -> TemperatureChoice:
    """Return the choice of temperature laws for the points of a joint, with the law of another fit of this joint."""
    points, fit = joint.points, (law_of or joint).fit
    odd = points["odd"].to_numpy(dtype=float)
    data = TemperatureData(points["speed"].to_numpy(dtype=float), odd, points["temperature"].to_numpy(dtype=float) - reference,
                           load_at(points, fit.load, fit.values), blocks(round_trips(points), _order(points)),
                           fit.parameters["coulomb"].unit == "N")
    choice = choose_temperature(data, law_named(fit.law), fit.values)
    if not choice.claimed:
        best = min(choice.candidates, key=lambda one: one.held_out_rmse)
        raise FitError(f"no temperature law predicts left-out round trips better than none (the best, {best.coulomb} for the "
                       f"Coulomb part and {best.viscous} for the viscous part: error {best.held_out_rmse:.3g}, without "
                       f"temperature {choice.static_rmse:.3g})")
    return choice
