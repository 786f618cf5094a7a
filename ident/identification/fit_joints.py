"""Third stage of identification: fit every joint, from its round trips or from general motion."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import pandas as pd

from stribeck.ident.errors import FitError, NoFriction, TorqueReversed
from stribeck.ident.fit.joint.fit_joint import JointFit, identify_joint
from stribeck.ident.fit.joint.fit_joint_motion import identify_motion
from stribeck.ident.fit.joint.general_motion import agreement
from stribeck.ident.fit.joint.stiffness import joint_stiffness, stiffness_finding
from stribeck.ident.identification.choose_runs import ChosenRuns
from stribeck.ident.identification.identify_inertia import TRUSTED, SoughtInertia
from stribeck.ident.identification.reduce_runs import ReducedRuns
from stribeck.ident.log.finding import Finding
from stribeck.ident.log.health.late_torque import Starts
from stribeck.ident.log.health.points_health import check_reading, check_scale
from stribeck.ident.log.motion.commanded_motion import commanded
from stribeck.ident.log.signal_checks import dead_torques

Fit = Callable[[], JointFit]


@dataclass(frozen=True)
class FittedJoints:
    """Fits of the joints that can be fitted.

    Attributes
    ----------
    joints : dict of str to JointFit
        Fit of each joint.
    points : DataFrame
        Points of all joints; for general motion, the fitted points.
    findings : tuple of Finding
        Joints that could not be fitted, and findings of the fits about the log.
    """

    joints: dict[str, JointFit]
    points: pd.DataFrame
    findings: tuple[Finding, ...]


def fit_joints(
    chosen: ChosenRuns, reduced: ReducedRuns, inertia: SoughtInertia = TRUSTED
) -> FittedJoints:
    """Fit every joint that the runs measure.

    Raises
    ------
    FitError
        If no joint can be fitted; the message gives the reasons.
    """
    general = reduced.options.motion != "none"
    fitted = (
        _by_motion(chosen, reduced, inertia)
        if general
        else _by_round_trips(chosen, reduced, inertia)
    )
    if not fitted.joints:
        raise FitError(_why_none(chosen, reduced, fitted))
    return fitted


def _by_round_trips(
    chosen: ChosenRuns, reduced: ReducedRuns, inertia: SoughtInertia
) -> FittedJoints:
    """Fit the points of round trips."""
    joints, findings = _fitted(_of_round_trips(reduced, inertia), reduced)
    for name, rows in reduced.points.groupby("joint", sort=False):
        if name in joints:
            findings += [*check_scale(rows), *check_reading(chosen.runs, rows)]
    for name, hertz in Starts.of(chosen.runs[0], reduced.reductions[0].strokes).ringing.items():
        if name in joints:
            stiffness = joint_stiffness(chosen.runs, reduced.mechanisms, name, hertz)
            joints[name] = replace(
                joints[name], gravity={**joints[name].gravity, "stiffness": stiffness}
            )
            findings += stiffness_finding(name, stiffness)
    return FittedJoints(joints, reduced.points, tuple(findings))


def _by_motion(chosen: ChosenRuns, reduced: ReducedRuns, inertia: SoughtInertia) -> FittedJoints:
    """Fit general motion, and compare each fit with that of the joint's round trips, if
    the runs have round trips.
    """
    log = reduced.log(chosen.runs, reduced.mechanisms)
    reference = commanded(log)
    dead = {name for run in chosen.runs for name in dead_torques(run)}
    joints, findings = _fitted(
        {
            name: partial(
                identify_motion,
                log,
                reduced.mechanism,
                name,
                reduced.options,
                inertia.doubts.get(name),
                not reduced.motors.moves(reduced.mechanism.transmission, name),
                reference,
            )
            for name in reduced.mechanism.names
            if name not in dead
        },
        reduced,
    )
    points = (
        pd.concat([joint.points for joint in joints.values()], ignore_index=True)
        if joints
        else reduced.points
    )
    beside, _ = _fitted(
        {name: fit for name, fit in _of_round_trips(reduced, TRUSTED).items() if name in joints},
        reduced,
    )
    for name in joints:
        if name in beside:
            findings.append(agreement(name, joints[name].fit, beside[name].fit))
    return FittedJoints(joints, points, tuple(findings))


def _of_round_trips(reduced: ReducedRuns, inertia: SoughtInertia) -> dict[str, Fit]:
    """Return, for each joint with points of round trips, the function that fits it."""
    return {
        str(name): partial(fit_round_trips, reduced, inertia, str(name), rows)
        for name, rows in reduced.points.groupby("joint", sort=False)
    }


def fit_round_trips(
    reduced: ReducedRuns, inertia: SoughtInertia, name: str, rows: pd.DataFrame
) -> JointFit:
    """Fit one joint to rows of its points of round trips."""
    return identify_joint(
        rows,
        reduced.mechanism,
        name,
        reduced.options,
        reduced.tool.gravity.get(name),
        reduced.q[rows.index],
        inertia.doubts.get(name),
    )


def _fitted(
    fits: Mapping[str, Fit], reduced: ReducedRuns
) -> tuple[dict[str, JointFit], list[Finding]]:
    """Call the fits; return the fitted joints, and findings about the others."""
    joints, findings = {}, []
    for name, fit in fits.items():
        try:
            joints[name] = fit()
        except (TorqueReversed, NoFriction) as error:
            text = f"{name} is not calibrated: {error}"
            if reduced.motors.moves(reduced.mechanism.transmission, name):
                text = (
                    f"{name}: all friction is that of the motor that moves {name} together with "
                    "other joints; the joint's own friction is taken as zero"
                )
            findings.append(Finding(name, "not calibrated", text))
        except FitError as error:
            findings.append(Finding(name, "not calibrated", f"{name} is not calibrated: {error}"))
    return joints, findings


def _why_none(chosen: ChosenRuns, reduced: ReducedRuns, fitted: FittedJoints) -> str:
    """Return the message why no joint can be calibrated."""
    findings = (*chosen.findings, *reduced.findings, *fitted.findings)
    weighty = [
        finding.text for finding in findings if finding.kind in ("dead torque", "not calibrated")
    ]
    reasons = "; ".join(
        weighty or [finding.text for finding in findings if finding.kind in ("left out", "torn")]
    )
    return (
        f"{chosen.runs[0].path}: no joint can be calibrated: "
        f"{reasons or 'the log holds no round trips at constant speed'}"
    )
