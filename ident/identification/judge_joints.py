"""Fourth stage of identification: compare the fits with gravity, with each other
and with repeated passes.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from stribeck.ident.errors import FitError
from stribeck.ident.fit.arm.between_runs import with_deviation
from stribeck.ident.fit.joint.advice import VARIED
from stribeck.ident.fit.joint.fit_joint import JointFit, identify_joint
from stribeck.ident.fit.joint.fit_joint_motion import identify_motion
from stribeck.ident.fit.joint.gravity import TELLS
from stribeck.ident.fit.joint.offered_loads import excited_loads
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.identification.choose_runs import ChosenRuns
from stribeck.ident.identification.fit_joints import FittedJoints
from stribeck.ident.identification.reduce_runs import ReducedRuns
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.log.finding import Finding
from stribeck.ident.log.health.points_health import friction_change
from stribeck.ident.log.health.wrong_zero_or_sign import misplaced
from stribeck.ident.log.motion.filtered_motion import Log

STRONG_DRIFT = 0.10  # least relative change of friction over a run that causes a warning
# torque over the model's gravity that differs from 1 by more puts the model's loads in doubt
CONTRADICTED = 0.10


@dataclass(frozen=True)
class JudgedJoints:
    """Fits after the comparisons.

    Attributes
    ----------
    joints : dict of str to JointFit
        In the order of the model; verdicts take the gravity check into account, parameters have the
        deviation between passes.
    findings : tuple of Finding
        Findings of the comparisons.
    """

    joints: dict[str, JointFit]
    findings: tuple[Finding, ...]


def judge_joints(chosen: ChosenRuns, reduced: ReducedRuns, fitted: FittedJoints) -> JudgedJoints:
    """Compare the fits with gravity, payloads, repeats and drift."""
    findings = [finding for joint in fitted.joints.values() for finding in joint.findings]
    if reduced.options.motion == "none":
        findings += misplaced(
            fitted.points, reduced.q, reduced.dq, reduced.mechanism, chosen.arm.joints
        )
    if len({run.arm.tool for run in chosen.runs}) > 1:
        findings += _told_by_payload(fitted.joints, reduced.options)
    joints, few = _repeated(doubted(fitted.joints), chosen, reduced, fitted)
    ordered = {name: joints[name] for name in reduced.mechanism.names if name in joints}
    return JudgedJoints(ordered, (*findings, *few, *_drift(fitted, ordered)))


def doubted(joints: dict[str, JointFit]) -> dict[str, JointFit]:
    """Lower the verdict of load coefficients to weak if gravity contradicts the model,
    from which the loads come.
    """
    off = {
        name: scale.value
        for name, joint in joints.items()
        if (scale := joint.gravity["scale"]).value is not None
        and scale.half_width is not None
        and 2.0 * scale.half_width <= TELLS
        and joint.torque_scale is None
        and abs(scale.value - 1.0) > CONTRADICTED
        and not _holds(scale, 1.0)
    }
    if not off:
        return joints
    note = (
        "loads are computed with the model, and measured gravity contradicts the model: torque "
        "over model is " + ", ".join(f"{value:.2f} for {name}" for name, value in off.items())
    )
    out = {}
    for name, joint in joints.items():
        parameters = {
            key: replace(entry, verdict="weak", note=note)
            if "_coefficient" in key and entry.verdict == "identified"
            else entry
            for key, entry in joint.fit.parameters.items()
        }
        out[name] = replace(joint, fit=replace(joint.fit, parameters=parameters))
    return out


def _holds(parameter: Parameter, value: float) -> bool:
    """Return whether the interval of a parameter includes a value."""
    return (
        parameter.low is not None
        and parameter.high is not None
        and parameter.low <= value <= parameter.high
    )


def _told_by_payload(joints: dict[str, JointFit], options: Options) -> list[Finding]:
    """Return findings about load coefficients that only different payloads identify: other
    changes between runs bias them.
    """
    findings = []
    for name, joint in joints.items():
        fit, runs = joint.fit, joint.points.groupby("run", sort=False)
        for load in fit.components or {"none": ()}.get(fit.load, (fit.load,)):
            if any(
                np.ptp(own[load]) > VARIED * own[load].max()
                if fit.components
                else load in excited_loads(own, options.growth)[0]
                for _, own in runs
            ):
                continue
            means = runs[load].mean()
            shift = 0.01 * float(joint.points["odd"].median()) / float(np.ptp(means))
            unit = (
                "N"
                if load in ("radial", "axial")
                else "N·m"
                if load == "bending"
                else fit.parameters["coulomb"].unit
            )
            coefficient = f"coulomb_coefficient_{load}" if fit.components else "coulomb_coefficient"
            findings.append(
                Finding(
                    name,
                    "payload",
                    f"{name}: the {load} load varies only between runs with different payloads, "
                    f"from {means.min():.3g} to {means.max():.3g} {unit}; if another cause changes "
                    f"friction by 1 % between these runs, {coefficient} shifts by {shift:.2g}. "
                    "Record the runs at the same temperature",
                )
            )
    return findings


def _repeated(
    joints: dict[str, JointFit], chosen: ChosenRuns, reduced: ReducedRuns, fitted: FittedJoints
) -> tuple[dict[str, JointFit], list[Finding]]:
    """Add the deviation between passes to the joints; a finding names joints for which some
    passes could not be fitted.
    """
    if len(chosen.passes) < 2:
        return joints, []
    passes = _Passes(chosen, reduced, fitted)
    out, findings = {}, []
    for name, joint in joints.items():
        fixed = replace(
            reduced.options, law=joint.fit.law, load=joint.fit.load, place=joint.fit.place
        )
        fits = list(passes.fits(name, fixed))
        alone = [
            fit
            for fit in fits
            if fit is not None
            and (fit.fit.load, fit.torque_scale is None)
            == (joint.fit.load, joint.torque_scale is None)
        ]
        if len(alone) < len(fits):
            findings.append(
                Finding(
                    name,
                    "repeats",
                    f"{name}: the deviation between runs is computed from {len(alone)} of "
                    f"{len(fits)} runs; the other runs cannot be fitted on their own with the law "
                    f"{fixed.law} and load {fixed.load}",
                )
            )
        out[name] = replace(
            joint,
            gravity=with_deviation(joint.gravity, [fit.gravity for fit in alone]),
            fit=replace(
                joint.fit,
                parameters=with_deviation(
                    joint.fit.parameters, [fit.fit.parameters for fit in alone]
                ),
            ),
        )
    return out, findings


class _Passes:
    """Data of each pass over the plan, to be fitted separately."""

    def __init__(self, chosen: ChosenRuns, reduced: ReducedRuns, fitted: FittedJoints) -> None:
        self._chosen, self._reduced, self._points = chosen, reduced, fitted.points
        self._logs: dict[int, Log] = {}
        for number, one in enumerate(chosen.passes if reduced.options.motion != "none" else ()):
            # a pass that is too short counts as one that cannot be fitted
            with suppress(FitError):
                self._logs[number] = reduced.log(
                    self._of(one, chosen.runs), self._of(one, reduced.mechanisms)
                )

    @staticmethod
    def _of(one: Sequence[int], all_: Sequence) -> list:
        return [all_[k] for k in one]

    def fits(self, name: str, options: Options) -> Iterator[JointFit | None]:
        """Yield the fit of the joint to each pass that measured it; None if the
        pass cannot be fitted alone.
        """
        general = options.motion != "none"
        for number, one in enumerate(self._chosen.passes):
            mechanism, labels = (
                self._reduced.mechanisms[one[0]],
                [run.label for run in self._of(one, self._chosen.runs)],
            )
            rows = self._points[(self._points["joint"] == name) & self._points["run"].isin(labels)]
            # a refining run moves the joints that are still weak, and not this one
            if rows.empty and not general:
                continue
            fit = None
            with suppress(FitError):
                if not general:
                    fit = identify_joint(rows, mechanism, name, options)
                elif number in self._logs:
                    fit = identify_motion(self._logs[number], mechanism, name, options)
            yield fit


def _drift(fitted: FittedJoints, joints: dict[str, JointFit]) -> list[Finding]:
    """Return findings about the drift of friction from the first to the
    last reference round trip.
    """
    changes = friction_change(fitted.points)
    return [
        *(
            Finding(
                name,
                "strong drift",
                f"{name}: friction drifted by {100 * change:+.0f} % during the run; warm up longer "
                "and record again",
            )
            for name, change in changes.items()
            if abs(change) > STRONG_DRIFT
        ),
        *(
            Finding(
                name,
                "drift",
                f"{name}: {100 * change:+z.1f} % from the first to the last reference round trip"
                f"{_drift_of_all(joints.get(name))}",
            )
            for name, change in changes.items()
        ),
    ]


def _drift_of_all(joint: JointFit | None) -> str:
    """Return the drift fitted to all round trips, as an addition to that of the
    two reference round trips.
    """
    fitted = None if joint is None else joint.drift
    if fitted is None or fitted.value is None or fitted.half_width is None:
        return ""
    return f"; fit of all round trips: {100 * fitted.value:+z.1f} ± {100 * fitted.half_width:.1f} %"
