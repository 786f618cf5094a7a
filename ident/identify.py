"""From runs to a calibration: reduce, fit every joint, check against gravity."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd

from ident.armfile import ArmFile
from ident.breakaway import breakaway_table, breakaways
from ident.calibration import Calibration, JointCalibration, Model, file_sha256
from ident.description import load_mechanism
from ident.errors import FitError, InputError
from ident.health import Finding, check_log, check_scale, drift, name_run
from ident.joint import JointFit, Options, identify_joint, identify_motion
from ident.mechanism import Mechanism
from ident.motion import agreement
from ident.moving import OF_STROKES, check_motion
from ident.parameter import Parameter
from ident.repeats import with_deviation
from ident.roundtrips import Reduction, reduce_run
from ident.run import BREAKAWAY, Run
from ident.tool import ToolFit, UnknownTool, seek_tool

STRONG_DRIFT = 0.10     # change of friction over a run from which a warning is due
CONTRADICTED = 0.10     # torque over the model's gravity that far from 1 puts the model's loads in doubt


@dataclass(frozen=True)
class Identification:
    """Result of identifying runs.

    Attributes
    ----------
    calibration : Calibration
        What is taken home.
    points : DataFrame
        All points of all runs.
    joints : dict of str to JointFit
        Fits of the calibrated joints.
    findings : tuple of Finding
        Health of the logs, strokes left out, joints that could not be calibrated.
    mechanism : Mechanism
        The rigid-body model that was used, with the unknown tool where that was found.
    breakaway : DataFrame
        Pairs of ramps, where breakaway was measured.
    """

    calibration: Calibration
    points: pd.DataFrame
    joints: dict[str, JointFit]
    findings: tuple[Finding, ...]
    mechanism: Mechanism
    breakaway: pd.DataFrame = field(default_factory=pd.DataFrame)


def identify(runs: Sequence[Run], options: Options | None = None, created: datetime | None = None) -> Identification:
    """Calibrate an arm from its runs.

    Parameters
    ----------
    runs : sequence of Run
        Recorded on the same arm, with the same arm file but for ``[simulation]``.
    options : Options, optional
        Law and load, "auto" to let all compete.
    created : datetime, optional
        What the calibration says of its making; default is when its last run was recorded.

    Raises
    ------
    InputError
        If the logs cannot be used or belong to different arms.
    FitError
        If no joint has enough round trips.
    """
    options = options or Options()
    arm = _same_arm(runs)
    ramps, runs = [run for run in runs if run.purpose == BREAKAWAY], [run for run in runs if run.purpose != BREAKAWAY]
    if not runs:
        raise FitError(f"{ramps[0].path}: only ramps of torque, which say what holds a joint at rest; friction in motion needs "
                       "strokes")
    mechanism = load_mechanism(arm)
    checked = [check_log(run) for run in runs]
    reductions = [reduce_run(run, mechanism) for run in runs]
    tool = _sought(arm, mechanism, reductions) if options.motion == "none" else ToolFit()
    if tool.unknown.tool is not None:
        mechanism = load_mechanism(arm, tool=tool.unknown.tool)
        reductions = [reduce_run(run, mechanism) for run in runs]
    findings = [finding for run, log, reduction in zip(runs, checked, reductions, strict=True)
                for finding in name_run(run, (*log, *check_motion(run, reduction, mechanism.prismatic)), len(runs) > 1)]
    if tool.missing < 0.0:
        findings.append(Finding(None, "unknown tool", f"the even parts look as if {-tool.missing:.2g} kg of the model's "
                                "last link were missing; is a tool that the arm file or the model states not mounted?"))
    if tool.unknown.status == "found" and options.torque_basis != "drive":
        options = replace(options, torque_basis="drive")
        findings.append(Finding(None, "torque basis", "torque stays the drive's: an unknown tool that is not told well enough to "
                                                      "be used is in its scale against gravity; state the tool in the arm file"))
    points = pd.concat([reduction.points for reduction in reductions], ignore_index=True)
    q = np.concatenate([reduction.q for reduction in reductions])
    round_trips = {str(name): partial(identify_joint, rows, mechanism, str(name), options, tool.gravity.get(str(name)),
                                      q[rows.index])
                   for name, rows in points.groupby("joint", sort=False)}
    if options.motion == "none":
        joints = _fitted(round_trips, findings)
        findings += [finding for name, rows in points.groupby("joint", sort=False) if name in joints
                     for finding in check_scale(rows)]
    else:
        findings = [finding for finding in findings if finding.kind not in OF_STROKES]
        joints = _fitted({name: partial(identify_motion, runs, mechanism, name, options) for name in mechanism.names}, findings)
        points = pd.concat([joint.points for joint in joints.values()], ignore_index=True) if joints else points
        for name, joint in _fitted({name: round_trips[name] for name in joints if name in round_trips}, []).items():
            findings.append(agreement(name, joints[name].fit, joint.fit))
    if not joints:
        reasons = "; ".join(finding.text for finding in findings if finding.kind in ("not calibrated", "left out", "torn"))
        hint = "; general motion can be fitted without them (--motion)" if options.motion == "none" and points.empty else ""
        raise FitError(f"{runs[0].path}: no joint can be calibrated: {reasons or 'no round trips at constant speed found'}{hint}")
    findings += [finding for joint in joints.values() for finding in joint.findings]
    joints = _repeated(_doubted(joints), runs, points, mechanism, options, findings)
    findings += [Finding(name, "strong drift", f"{name}: friction drifted by {100 * change:+.0f} %; warm up and run again")
                 for name, change in drift(points).items() if abs(change) > STRONG_DRIFT]
    findings += [Finding(name, "drift", f"friction of {name} changed by {100 * change:+.1f} % from the first to the last "
                                        "reference round trip") for name, change in drift(points).items()]
    ordered = {name: joints[name] for name in mechanism.names if name in joints}
    created = created or datetime.fromisoformat(runs[-1].record["start"])
    calibration = _calibration(runs, mechanism, ordered, options, created, tool.unknown)
    loose = breakaway_table(ramps)
    calibration = _with_breakaway(calibration, loose, ramps, mechanism)
    return Identification(calibration, points, ordered, tuple(findings), mechanism, loose)


def _with_breakaway(calibration: Calibration, table: pd.DataFrame, ramps: Sequence[Run], mechanism: Mechanism) -> Calibration:
    """The calibration with what holds its joints at rest beside what slides, in the same torque basis."""
    found = breakaways(table, {name: mechanism.unit(j) for j, name in enumerate(mechanism.names)},
                       {name: joint.torque_scale or 1.0 for name, joint in calibration.joints.items()})
    return replace(calibration, runs=(*calibration.runs, *({"path": run.label, "sha256": run.sha256} for run in ramps)),
                   joints={name: replace(joint, breakaway=found.get(name)) for name, joint in calibration.joints.items()})


def _sought(arm: ArmFile, mechanism: Mechanism, reductions: Sequence[Reduction]) -> ToolFit:
    """An unknown tool in the points of all runs, with the deviation between single ones."""
    found = seek_tool(arm, mechanism, pd.concat([reduction.points for reduction in reductions], ignore_index=True),
                      *(np.concatenate([getattr(reduction, key) for reduction in reductions]) for key in ("q", "dq")))
    if len(reductions) < 2 or not found.unknown.parameters:
        return found
    alone = [seek_tool(arm, mechanism, reduction.points, reduction.q, reduction.dq).unknown.parameters
             for reduction in reductions]
    return replace(found, unknown=replace(found.unknown, parameters=with_deviation(found.unknown.parameters, alone)))


def _repeated(joints: dict[str, JointFit], runs: Sequence[Run], points: pd.DataFrame, mechanism: Mechanism, options: Options,
              findings: list[Finding]) -> dict[str, JointFit]:
    """Joints with the deviation between single runs; how many runs it rests on is a finding where some could not be fitted."""
    if len(runs) < 2:
        return joints
    out = {}
    for name, joint in joints.items():
        fixed = replace(options, law=joint.fit.law, load=joint.fit.load)
        alone: list[JointFit] = []
        for run in runs:
            rows = points[(points["joint"] == name) & (points["run"] == run.label)]
            with suppress(FitError):
                alone.append(identify_joint(rows, mechanism, name, fixed) if options.motion == "none"
                             else identify_motion([run], mechanism, name, fixed))
        alone = [fit for fit in alone
                 if (fit.fit.load, fit.torque_scale is None) == (joint.fit.load, joint.torque_scale is None)]
        if len(alone) < len(runs):
            findings.append(Finding(name, "repeats", f"the deviation of {name} between runs rests on {len(alone)} of {len(runs)} "
                                    "runs; the others are too short to be fitted alone"))
        out[name] = replace(joint, fit=replace(joint.fit, parameters=with_deviation(
            joint.fit.parameters, [fit.fit.parameters for fit in alone])), gravity=with_deviation(
            joint.gravity, [fit.gravity for fit in alone]))
    return out


def _fitted(ways: Mapping[str, Callable[[], JointFit]], findings: list[Finding]) -> dict[str, JointFit]:
    """Joints that can be fitted; why the others cannot is a finding."""
    joints = {}
    for name, way in ways.items():
        try:
            joints[name] = way()
        except FitError as error:
            findings.append(Finding(name, "not calibrated", f"{name} is not calibrated: {error}"))
    return joints


def _holds(parameter: Parameter, value: float) -> bool:
    """Whether the interval holds a value."""
    return parameter.low is not None and parameter.high is not None and parameter.low <= value <= parameter.high


def _doubted(joints: dict[str, JointFit]) -> dict[str, JointFit]:
    """Load coefficients are at most weak where gravity contradicts the model that the loads come from."""
    off = {name: scale.value for name, joint in joints.items() if (scale := joint.gravity["scale"]).value is not None
           and scale.verdict == "identified" and joint.torque_scale is None and abs(scale.value - 1.0) > CONTRADICTED
           and not _holds(scale, 1.0)}
    if not off:
        return joints
    note = ("the loads are the model's, which gravity contradicts: torque over model is "
            + ", ".join(f"{value:.2f} for {name}" for name, value in off.items()))
    out = {}
    for name, joint in joints.items():
        parameters = {key: replace(entry, verdict="weak", note=note) if key.endswith("_coefficient")
                      and entry.verdict == "identified" else entry for key, entry in joint.fit.parameters.items()}
        out[name] = replace(joint, fit=replace(joint.fit, parameters=parameters))
    return out


def _same_arm(runs: Sequence[Run]) -> Any:
    if not runs:
        raise InputError("no run given")
    seen: dict[str, Run] = {}
    for run in runs:
        if run.sha256 in seen:
            raise InputError(f"{run.path} holds the same samples as {seen[run.sha256].path}; counted twice they would make the "
                             "intervals too narrow")
        seen[run.sha256] = run
    for run in runs[1:]:
        if run.record.get("arm_sha256") != runs[0].record.get("arm_sha256"):
            raise InputError(f"{run.path} was recorded with another arm file or model than {runs[0].path}; "
                             "fit runs of one arm together")
    signal = runs[0].arm.torque_signal
    if signal == "joint sensor":
        raise InputError(f"{runs[0].arm.path}: torque_signal = \"joint sensor\": a sensor behind the gear does not see the "
                         "gear's friction; log the motor current")
    return runs[0].arm


def _calibration(runs: Sequence[Run], mechanism: Mechanism, joints: dict[str, JointFit], options: Options,
                 created: datetime, unknown: UnknownTool) -> Calibration:
    arm = runs[0].arm
    seeds = [run.record.get("seed") for run in runs if run.record.get("seed") is not None]
    general = options.motion != "none"
    fit = {"law": options.law, "load": options.load,
           **({"directional": options.directional} if options.directional != "auto" else {}),
           **({"motion": options.motion} if general else {}),
           **({"seed": seeds[0]} if seeds else {}),
           "versions": {name: version(name) for name in ("stribeck", "numpy", "scipy", "lmfit", "mujoco-core")}}
    return Calibration(
        arm.name, created.replace(microsecond=0), "general motion" if general else str(runs[0].record.get("experiment", "")),
        options.torque_basis,
        tuple({"path": run.label, "sha256": run.sha256} for run in runs),
        Model(arm.model.name, file_sha256(arm.model), arm.gravity, arm.tool, unknown), fit,
        {name: _joint_calibration(joint, mechanism, name) for name, joint in joints.items()}, arm.model.parent)


def _joint_calibration(joint: JointFit, mechanism: Mechanism, name: str) -> JointCalibration:
    fit, points = joint.fit, joint.points
    error = np.sqrt(np.maximum(np.diag(fit.covariance), 1e-300))
    load_range = load_part = None
    if fit.load != "none":
        load = points[fit.load].to_numpy(dtype=float)
        low, middle, high = float(load.min()), float(np.median(load)), float(load.max())
        slope = fit.values["coulomb_coefficient"]
        load_range, load_part = (low, high), (slope * low, slope * middle, slope * high)
    temperature = points["temperature"].to_numpy(dtype=float)
    return JointCalibration(
        fit.law, fit.load, fit.parameters, joint.gravity, mechanism.bearings[mechanism.names.index(name)],
        fit.held_out_rmse, (float(points["speed"].min()), float(points["speed"].max())), load_range, load_part,
        (float(temperature.min()), float(temperature.max())) if np.isfinite(temperature).all() else None,
        fit.names, fit.covariance / np.outer(error, error), fit.half_factor, joint.directional, joint.torque_scale)
