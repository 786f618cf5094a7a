"""From runs to a calibration: reduce, fit every joint, check against gravity."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd

from ident.advice import VARIED, advised, vary_load
from ident.armfile import ArmFile
from ident.calibration import Calibration, JointCalibration, Model, file_sha256
from ident.description import load_mechanism
from ident.directions import DIFFERENCES, differing, directions, gear_note
from ident.errors import FitError, InputError, unknown_name
from ident.filtering import reduce_motion
from ident.fit import LEAST_ROUND_TRIPS, FitResult
from ident.friction import AUTO, LAWS, law_named, unit
from ident.gravity import fit_gravity
from ident.health import Finding, check_log, check_scale, drift, name_run
from ident.mechanism import Array, Mechanism
from ident.motion import RIGID, agreement, beside_friction, fit_motion, law_torque, motion_points
from ident.moving import OF_STROKES, check_motion
from ident.parameter import Parameter
from ident.projection import Data
from ident.repeats import with_deviation
from ident.roundtrips import Reduction, reduce_run, round_trips
from ident.run import Run
from ident.selection import ORDER, Candidate, select
from ident.tool import ToolFit, UnknownTool, seek_tool
from ident.torque_basis import BASES, corrected, divided, divisor, uncertain

MATTERS = 0.05          # and only loads that reach this part of friction are worth a coefficient
STRONG_DRIFT = 0.10     # change of friction over a run from which a warning is due
CONTRADICTED = 0.10     # torque over the model's gravity that far from 1 puts the model's loads in doubt
PRIOR = {"delay": 0.005, "drift": 0.05}     # torque signals lag by milliseconds [s]; a warm arm drifts by a few per cent
_DELAY = 0.01           # s; a delay is fitted where this much would shift friction
_DELAY_SHIFT = 0.01     # by this fraction
_DRIFT_ROUND_TRIPS = 12
_LOADS = ("normal", "torque", "bending")


@dataclass(frozen=True)
class Options:
    """What a fit may choose from: "auto" lets all compete."""

    law: str = "auto"
    load: str = "auto"
    motion: str = "none"        # general motion instead of round trips: with the rigid-body torque of "model" or "joint"
    directional: str = "auto"           # how directions may differ: "none", "viscous", "driving"
    torque_basis: str = "drive"         # or "gravity-corrected": torque divided by its scale against gravity

    def __post_init__(self) -> None:
        if self.law not in ("auto", *LAWS):
            raise unknown_name("law", self.law, ("auto", *LAWS))
        if self.load not in ("auto", *ORDER[:-1]):
            raise unknown_name("load", self.load, ("auto", *ORDER[:-1]))
        if self.motion not in ("none", *RIGID):
            raise unknown_name("motion", self.motion, ("none", *RIGID))
        if self.directional not in ("auto", "none", *DIFFERENCES):
            raise unknown_name("directional", self.directional, ("auto", "none", *DIFFERENCES))
        if self.directional == "driving" and self.motion != "none":
            raise InputError("directional = \"driving\" rests on round trips; leave motion out")
        if self.directional == "driving" and self.torque_basis == "gravity-corrected":
            raise InputError("directional = \"driving\" takes the torque for right, torque_basis = \"gravity-corrected\" does "
                             "not; choose one")
        if self.torque_basis not in BASES:
            raise unknown_name("torque basis", self.torque_basis, BASES)
        if self.torque_basis != "drive" and self.motion != "none":
            raise InputError(f"torque_basis = \"{self.torque_basis}\" rests on round trips; leave motion out")
        if self.motion == "joint" and self.load not in ("auto", "none"):
            raise InputError(f"load = \"{self.load}\" needs the model; use motion = \"model\"")


@dataclass(frozen=True)
class JointFit:
    """Everything known about one joint after the fit; its points are in the torque basis of the options."""

    points: pd.DataFrame
    fit: FitResult
    gravity: dict[str, Parameter]
    candidates: tuple[Candidate, ...]
    drift: Parameter | None
    findings: tuple[Finding, ...] = ()
    torque_scale: float | None = None
    directional: str = "none"


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
    """

    calibration: Calibration
    points: pd.DataFrame
    joints: dict[str, JointFit]
    findings: tuple[Finding, ...]
    mechanism: Mechanism


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
    return Identification(calibration, points, ordered, tuple(findings), mechanism)


def identify_joint(points: pd.DataFrame, mechanism: Mechanism, name: str, options: Options | None = None,
                   beside: Mapping[str, Parameter] | None = None, q: Array | None = None) -> JointFit:
    """Fit one joint's points: gravity is checked, then laws and loads compete.

    Parameters
    ----------
    points : DataFrame
        Of the joint, see `ident.roundtrips`.
    mechanism : Mechanism
        The model.
    name : str
        The joint.
    options : Options, optional
        What may be chosen from.
    beside : mapping of str to Parameter, optional
        Scale and offset where they were fitted beside an unknown tool.
    q : ndarray, shape (N, n), optional
        Positions of all joints at the points; with them a note can say which payload would vary a load.

    Raises
    ------
    FitError
        If there are too few round trips or speeds, or torque opposes motion.
    """
    options = options or Options()
    check_options(options, mechanism, (name,))
    joint = mechanism.names.index(name)
    group = round_trips(points)
    odd = points["odd"].to_numpy(dtype=float)
    trips = int(group.max()) + 1
    if trips < LEAST_ROUND_TRIPS:
        raise FitError(f"{trips} round trip(s) found, at least {LEAST_ROUND_TRIPS} are needed")
    if np.median(odd) <= 0.0:
        raise FitError(f"torque opposes motion in {np.mean(odd < 0.0):.0%} of the points; the sign of the torque signal is wrong "
                       "(in an import, give it a negative factor, or set direction = -1 if the position is reversed too)")
    gravity = {**fit_gravity(points["even"].to_numpy(dtype=float), points["gravity"].to_numpy(dtype=float), odd, group,
                             bool(mechanism.prismatic[joint])), **(beside or {})}
    scale = divisor(gravity["scale"]) if options.torque_basis == "gravity-corrected" else None
    if scale is not None:
        points, odd = corrected(points, scale), odd / scale
        gravity["offset"] = divided(gravity["offset"], scale)
    loads, still = excited_loads(points, options.load)
    nuisance = _nuisance(points, trips)
    data = Data(points["speed"].to_numpy(dtype=float), odd, None, group, nuisance,
                {column: PRIOR[column] for column in nuisance}, bool(mechanism.prismatic[joint]))
    laws = AUTO if options.law == "auto" else (law_named(options.law).name,)
    selection = select(data, loads, laws)
    fit = selection.chosen
    if fit.load == "none" and still:
        fit = replace(fit, parameters={**fit.parameters, **_unidentifiable(fit, still, mechanism, joint, q,
                                                                                MATTERS * float(np.median(odd)))})
    fit = advised(fit, data.w, loads[fit.load], trips, data.prismatic, options.law == "auto")
    gravity["delay"] = _explained(fit.nuisance.get("delay"))
    if scale is not None:
        fit = uncertain(fit, gravity["scale"])
    findings = [Finding(name, "torque basis", f"{name} stays in the drive's torque: its scale against gravity is "
                        f"{gravity['scale'].verdict}")] if options.torque_basis != "drive" and scale is None else []
    directional, difference = differing(points, group, loads[fit.load], options.directional, data.prismatic)
    gravity |= difference if scale is None else {key: entry for key, entry in difference.items() if key != "scale"}
    if options.directional == "driving" != directional:
        findings.append(Finding(name, "directions", f"{name}: friction does not grow with a load, so driving it and being driven "
                                                    "back by it are alike"))
    findings += directions(name, directional, fit, gravity)
    return JointFit(points, fit, gear_note(gravity, fit), selection.candidates, fit.nuisance.get("drift"), tuple(findings), scale,
                    directional)


def identify_motion(runs: Sequence[Run], mechanism: Mechanism, name: str, options: Options) -> JointFit:
    """Fit one joint's general motion: laws, loads and differences between the directions compete.

    Raises
    ------
    FitError
        If the joint moves too little, too slowly or in one direction, or torque opposes motion.
    """
    check_options(options, mechanism, (name,))
    motion = reduce_motion(runs, mechanism, name)
    offered: dict[str, Array | None] = {"none": None}
    still: dict[str, tuple[float, float]] = {}
    if options.motion == "model":
        offered, still = excited_loads(motion_points(motion, motion.view(motion.tau - motion.rigid))[0], options.load)
    selection = fit_motion(motion, options.motion, options.law, options.directional, tuple(offered))
    fit = selection.chosen
    points, rows = motion_points(motion, law_torque(motion, fit) + fit.residual)
    sign = np.sign(motion.view(np.sign(motion.dq)))
    fit = replace(fit, residual=(sign * fit.residual)[rows])
    if fit.load == "none" and still:
        fit = replace(fit, parameters={**fit.parameters,
                                       **_unidentifiable(fit, still, mechanism, mechanism.names.index(name))})
    load = None if fit.load == "none" else points[fit.load].to_numpy(dtype=float)
    fit = advised(fit, points["speed"].to_numpy(dtype=float), load, points["segment"].nunique(), motion.prismatic,
                  options.law == "auto", "passes")
    return JointFit(points, fit, beside_friction(fit, float(points["odd"].median())), selection.candidates, None,
                    (Finding(name, "motion", motion.left_out), *directions(name, fit.directional, fit, fit.nuisance)),
                    directional=fit.directional)


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


def check_options(options: Options, mechanism: Mechanism, joints: Sequence[str]) -> None:
    """Refuse a normal load for joints without a bearing; names the missing keys."""
    for name in joints if options.load == "normal" else ():
        if name in mechanism.names and mechanism.bearings[mechanism.names.index(name)] is None:
            raise InputError(f"load = \"normal\" needs joints.{name}.bearing with pin_radius, friction_arm and bending_arm "
                             "in the arm file")


def excited_loads(points: pd.DataFrame, wanted: str) -> tuple[dict[str, Array | None], dict[str, tuple[float, float]]]:
    """Loads that varied enough to carry a coefficient, and the ranges of those that matter but did not vary."""
    friction = float(points["odd"].median())
    offered: dict[str, Array | None] = {"none": None}
    still: dict[str, tuple[float, float]] = {}
    for load in _LOADS:
        values = points[load].to_numpy(dtype=float)
        if not np.isfinite(values).all() or values.max() < MATTERS * friction or wanted not in ("auto", load):
            continue
        if np.ptp(values) > max(VARIED * values.max(), MATTERS * friction):
            offered[load] = values
        elif load != "bending":
            still[load] = (float(values.min()), float(values.max()))
    if wanted not in ("auto", "none") and wanted in offered:
        del offered["none"]
    return offered, still


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


def _nuisance(points: pd.DataFrame, trips: int) -> dict[str, Array]:
    """Columns fitted along: what a delayed torque signal and a slow drift do to the odd part."""
    odd, rate = points["odd"].to_numpy(dtype=float), points["gravity_rate"].to_numpy(dtype=float)
    columns = {}
    if np.max(np.abs(rate) * _DELAY / np.abs(odd)) > _DELAY_SHIFT:
        columns["delay"] = -rate
    t = points["t"].to_numpy(dtype=float)
    if trips >= _DRIFT_ROUND_TRIPS and points["run"].nunique() == 1:
        columns["drift"] = odd * (t - t.mean()) / np.ptp(t)
    return columns


def _unidentifiable(fit: FitResult, still: dict[str, tuple[float, float]], mechanism: Mechanism, joint: int,
                    q: Array | None = None, least: float = 0.0) -> dict[str, Parameter]:
    """Load coefficients that the data cannot show, because the load was the same everywhere."""
    prismatic = bool(mechanism.prismatic[joint])
    load, (low, high) = max(still.items(), key=lambda item: item[1][1])
    word = "normal load" if load == "normal" else "transmitted force" if prismatic else "transmitted torque"
    tau = unit("coulomb", prismatic)
    found = f"is {high:.3g} {tau} everywhere" if high - low < 0.01 * high else f"stays between {low:.3g} and {high:.3g} {tau}"
    settle = ("a known payload at another distance from the axis would vary it" if q is None
              else vary_load(mechanism, joint, load, q, least))
    note = f"the {word} {found}; coulomb is the level at this load. {settle[0].upper()}{settle[1:]}"
    return {name: Parameter(None, None, None, None, unit(name), "unidentifiable", note)
            for name in law_named(fit.law).with_load}


def _explained(delay: Parameter | None) -> Parameter:
    """The torque delay, with the reason where it could not be told."""
    if delay is None:
        return Parameter(None, None, None, None, "s", "unidentifiable",
                         "gravity changes too slowly along the strokes to show a delay")
    if delay.verdict == "unidentifiable":
        return replace(delay, note="the slope of gravity is too much alike in all postures to tell a delay from viscous friction")
    return delay


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
