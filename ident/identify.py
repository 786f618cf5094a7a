"""From runs to a calibration: reduce, fit every joint, check against gravity."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import partial
from importlib.metadata import version

import numpy as np
import pandas as pd

from stribeck.ident.arm.arm_file import ArmFile, Tool
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.calibration.calibration import Calibration, JointCalibration, Model, file_sha256
from stribeck.ident.errors import FitError, InputError
from stribeck.ident.fit.arm.between_runs import passes, with_deviation
from stribeck.ident.fit.arm.unknown_tool import ToolFit, UnknownTool, seek_tool
from stribeck.ident.fit.joint.advice import VARIED
from stribeck.ident.fit.joint.fit_joint import JointFit, Options, excited_loads, identify_joint, identify_motion
from stribeck.ident.fit.joint.general_motion import agreement
from stribeck.ident.fit.joint.gravity import TELLS
from stribeck.ident.laws.friction import load_at, load_part
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.log.breakaway import breakaway_table, breakaways
from stribeck.ident.log.finding import Finding
from stribeck.ident.log.health.log_health import check_log, check_reading, check_scale, drift, name_runs
from stribeck.ident.log.health.motion_health import OF_STROKES, check_motion
from stribeck.ident.log.health.wrong_zero_or_sign import KINDS as MISPLACED
from stribeck.ident.log.health.wrong_zero_or_sign import misplaced
from stribeck.ident.log.motion_points import Log, filtered
from stribeck.ident.log.round_trips import Reduction, reduce_run
from stribeck.ident.log.run import BREAKAWAY, Run, arm_sha256
from stribeck.ident.log.signal_checks import dead_torques
from stribeck.ident.model.mechanism import Mechanism

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

    @property
    def asked_for(self) -> tuple[str, ...]:
        """Joints of which the runs were to tell: those that are calibrated, and those of which there is something to say."""
        told = {*self.calibration.joints, *(finding.joint for finding in self.findings)}
        return tuple(name for name in self.mechanism.names if name in told)


def identify(runs: Sequence[Run], options: Options | None = None, created: datetime | None = None) -> Identification:
    """Calibrate an arm from its runs.

    Parameters
    ----------
    runs : sequence of Run
        Recorded on the same arm, with the same arm file but for ``[simulation]`` and ``tool``: each is reduced with the
        tool that its own file states, and the calibration takes the first one's.
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
    runs, short = _without_stubs(runs)
    runs, copies = _without_copies(runs)
    _check_labels(runs)
    mechanisms = _mechanisms(runs)
    checked = [check_log(run) for run in runs]
    reductions = [reduce_run(run, own) for run, own in zip(runs, mechanisms, strict=True)]
    parted = passes(runs)
    tool = _sought(arm, mechanisms[0], reductions, parted) if options.motion == "none" else ToolFit()
    if tool.unknown.tool is not None:
        mechanisms = _mechanisms(runs, tool.unknown.tool)
        reductions = [reduce_run(run, own) for run, own in zip(runs, mechanisms, strict=True)]
    mechanism = mechanisms[0]
    findings = short + copies + name_runs(runs, [(*log, *check_motion(run, reduction, mechanism.prismatic))
                                         for run, log, reduction in zip(runs, checked, reductions, strict=True)])
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
                     for finding in (*check_scale(rows), *check_reading(runs, rows))]
    else:
        findings = [finding for finding in findings if finding.kind not in OF_STROKES]
        log = filtered(runs, mechanisms)
        dead = {name for run in runs for name in dead_torques(run)}
        joints = _fitted({name: partial(identify_motion, log, mechanism, name, options) for name in mechanism.names
                          if name not in dead}, findings)
        points = pd.concat([joint.points for joint in joints.values()], ignore_index=True) if joints else points
        for name, joint in _fitted({name: round_trips[name] for name in joints if name in round_trips}, []).items():
            findings.append(agreement(name, joints[name].fit, joint.fit))
    if not joints:
        weighty = [finding.text for finding in findings if finding.kind in ("dead torque", "not calibrated")]
        reasons = "; ".join(weighty or [finding.text for finding in findings if finding.kind in ("left out", "torn")])
        hint = "; general motion can be fitted without them (--motion)" if options.motion == "none" and points.empty else ""
        raise FitError(f"{runs[0].path}: no joint can be calibrated: {reasons or 'no round trips at constant speed found'}{hint}")
    findings += [finding for joint in joints.values() for finding in joint.findings]
    dq = np.concatenate([reduction.dq for reduction in reductions])
    if options.motion == "none" and (mistake := misplaced(points, q, dq, mechanism, arm.joints)):
        findings = [finding for finding in findings if finding.kind not in MISPLACED] + mistake       # others follow from it
    if len({run.arm.tool for run in runs}) > 1:
        findings += _told_by_payload(joints, options)
    joints = _repeated(doubted(joints), parted, runs, points, mechanisms, options, findings)
    findings += [Finding(name, "strong drift", f"{name}: friction drifted by {100 * change:+.0f} %; warm up and run again")
                 for name, change in drift(points).items() if abs(change) > STRONG_DRIFT]
    findings += [Finding(name, "drift", f"{name}: {100 * change:+z.1f} % from the first to the last reference round trip"
                                        f"{_drift_of_all(joints.get(name))}")
                 for name, change in drift(points).items()]
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
    return replace(calibration, runs=(*calibration.runs, *({"path": run.label, "sha256": run.sha256, "purpose": run.purpose}
                                                           for run in ramps)),
                   joints={name: replace(joint, breakaway=found.get(name)) for name, joint in calibration.joints.items()})


def _mechanisms(runs: Sequence[Run], unknown: Tool | None = None) -> list[Mechanism]:
    """The model of each run, with the tool that its arm file states and an unknown one."""
    known = {run.arm.tool: run.arm for run in runs}
    made = {tool: load_mechanism(arm, tool=unknown) for tool, arm in known.items()}
    return [made[run.arm.tool] for run in runs]


def _sought(arm: ArmFile, mechanism: Mechanism, reductions: Sequence[Reduction], parted: Sequence[Sequence[int]]) -> ToolFit:
    """An unknown tool in the points of all runs, with the deviation between passes."""
    def sought(some: Sequence[Reduction]) -> ToolFit:
        return seek_tool(arm, mechanism, pd.concat([reduction.points for reduction in some], ignore_index=True),
                         *(np.concatenate([getattr(reduction, key) for reduction in some]) for key in ("q", "dq")))

    found = sought(reductions)
    if len(parted) < 2 or not found.unknown.parameters:
        return found
    alone = [sought([reductions[k] for k in one]).unknown.parameters for one in parted]
    return replace(found, unknown=replace(found.unknown, parameters=with_deviation(found.unknown.parameters, alone)))


def _repeated(joints: dict[str, JointFit], parted: Sequence[Sequence[int]], runs: Sequence[Run], points: pd.DataFrame,
              mechanisms: Sequence[Mechanism], options: Options, findings: list[Finding]) -> dict[str, JointFit]:
    """Joints with the deviation between passes; how many it rests on is a finding where some could not be fitted."""
    if len(parted) < 2:
        return joints
    out = {}
    logs: dict[int, Log] = {}
    if options.motion != "none":
        for number, one in enumerate(parted):
            with suppress(FitError):                            # one that is too short; it counts as one that cannot be fitted
                logs[number] = filtered([runs[k] for k in one], [mechanisms[k] for k in one])
    for name, joint in joints.items():
        fixed = replace(options, law=joint.fit.law, load=joint.fit.load)
        alone: list[JointFit] = []
        held = 0
        for number, one in enumerate(parted):
            rows = points[(points["joint"] == name) & points["run"].isin([runs[k].label for k in one])]
            if rows.empty and options.motion == "none":         # a refining run measures what is still weak
                continue
            held += 1
            with suppress(FitError):
                if options.motion == "none":
                    alone.append(identify_joint(rows, mechanisms[one[0]], name, fixed))
                elif number in logs:
                    alone.append(identify_motion(logs[number], mechanisms[one[0]], name, fixed))
        alone = [fit for fit in alone
                 if (fit.fit.load, fit.torque_scale is None) == (joint.fit.load, joint.torque_scale is None)]
        if len(alone) < held:
            findings.append(Finding(name, "repeats", f"the deviation of {name} between runs rests on {len(alone)} of "
                                    f"{held} runs; the others cannot be fitted alone with the law {fixed.law} and load "
                                    f"{fixed.load}"))
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


def doubted(joints: dict[str, JointFit]) -> dict[str, JointFit]:
    """Load coefficients are at most weak where gravity contradicts the model that the loads come from."""
    off = {name: scale.value for name, joint in joints.items() if (scale := joint.gravity["scale"]).value is not None
           and 2.0 * (scale.half_width or np.inf) <= TELLS and joint.torque_scale is None
           and abs(scale.value - 1.0) > CONTRADICTED and not _holds(scale, 1.0)}
    if not off:
        return joints
    note = ("the loads are the model's, which gravity contradicts: torque over model is "
            + ", ".join(f"{value:.2f} for {name}" for name, value in off.items()))
    out = {}
    for name, joint in joints.items():
        parameters = {key: replace(entry, verdict="weak", note=note) if "_coefficient" in key
                      and entry.verdict == "identified" else entry for key, entry in joint.fit.parameters.items()}
        out[name] = replace(joint, fit=replace(joint.fit, parameters=parameters))
    return out


def _told_by_payload(joints: dict[str, JointFit], options: Options) -> list[Finding]:
    """Load coefficients that rest on the difference between payloads: what else changed between them is in them, too."""
    findings = []
    for name, joint in joints.items():
        fit, runs = joint.fit, joint.points.groupby("run", sort=False)
        for load in fit.components or {"none": ()}.get(fit.load, (fit.load,)):
            if any(np.ptp(own[load]) > VARIED * own[load].max() if fit.components else load in excited_loads(own, options.load)[0]
                   for _, own in runs):
                continue
            means = runs[load].mean()
            shift = 0.01 * float(joint.points["odd"].median()) / float(np.ptp(means))
            unit = "N" if load in ("radial", "axial") else "N·m" if load == "bending" else fit.parameters["coulomb"].unit
            coefficient = f"coulomb_coefficient_{load}" if fit.components else "coulomb_coefficient"
            findings.append(Finding(name, "payload", f"{name}: the {load} load varies with the payload only, from "
                                    f"{means.min():.3g} to {means.max():.3g} {unit} from run to run; if friction changed by 1 % "
                                    f"between them for another reason, {coefficient} is {shift:.2g} off. Record them at one "
                                    "temperature"))
    return findings


def _same_arm(runs: Sequence[Run]) -> ArmFile:
    """The arm of all runs; only its tool may differ."""
    if not runs:
        raise InputError("no run given")
    first = runs[0]
    for run in runs[1:]:
        if (run.record.get("arm_sha256") != first.record.get("arm_sha256")
                and arm_sha256(run.arm, "tool") != arm_sha256(first.arm, "tool")):
            raise InputError(f"{run.path} was recorded with another arm file or model than {first.path}, beyond its tool; "
                             "fit runs of one arm together")
    signals = {(run.record.get("import") or {}).get("torque_signal", run.arm.torque_signal) for run in runs}
    if len(signals) > 1:
        raise InputError(f"the torques of these runs are different signals ({', '.join(sorted(signals))}); fit runs of one "
                         "signal together")
    if "joint sensor" in signals:
        raise InputError(f"{first.arm.path}: torque_signal = \"joint sensor\": a sensor behind the gear does not see the "
                         "gear's friction; log the motor current")
    return first.arm


def _check_labels(runs: Sequence[Run]) -> None:
    """Refuse runs that a calibration could not tell apart, as two of other campaigns that were imported in the same second."""
    labels = [run.label for run in runs]
    for run in runs:
        if labels.count(run.label) > 1:
            raise InputError(f"{run.path}: another of these runs is called {run.label}, too; rename one of the two folders")


def _without_stubs(runs: Sequence[Run]) -> tuple[list[Run], list[Finding]]:
    """Runs but those that ended with their first sample, as where the way to the start was not free; all if none is left."""
    stubs = [run for run in runs if len(run.t) <= 1]
    if len(stubs) == len(runs):
        return list(runs), []
    return [run for run in runs if len(run.t) > 1], [
        Finding(None, "ended", f"{run.label} ended with its first sample; there is nothing in it to fit") for run in stubs]


def _without_copies(runs: Sequence[Run]) -> tuple[list[Run], list[Finding]]:
    """Runs that differ in their samples: an arm without noise repeats itself, which tells nothing new.

    Raises
    ------
    InputError
        If a run is given twice, or a copy of it.
    """
    seen: dict[str, Run] = {}
    findings = []
    for run in runs:
        if run.sha256 not in seen:
            seen[run.sha256] = run
            continue
        first = seen[run.sha256]
        if run.record.get("start") == first.record.get("start"):
            raise InputError(f"{run.path} is {first.path} once more; counted twice it would make the intervals too narrow. "
                             "Name each run once")
        findings.append(Finding(None, "repeats", f"{run.label} repeats {first.label} sample for sample, as only an arm without "
                                                 "noise does; it tells nothing new and is not counted"))
    return list(seen.values()), findings


def _drift_of_all(joint: JointFit | None) -> str:
    """What all round trips say of the drift, beside two of them."""
    fitted = None if joint is None else joint.drift
    if fitted is None or fitted.value is None or fitted.half_width is None:
        return ""
    return f"; fitted to all round trips {100 * fitted.value:+z.1f} ± {100 * fitted.half_width:.1f} %"


def _calibration(runs: Sequence[Run], mechanism: Mechanism, joints: dict[str, JointFit], options: Options,
                 created: datetime, unknown: UnknownTool) -> Calibration:
    arm = runs[0].arm
    seeds = [run.record.get("seed") for run in runs if run.record.get("seed") is not None]
    general, labels = options.motion != "none", {run.label for run in runs}
    fit = {"law": options.law, "load": options.load,
           **({"directional": options.directional} if options.directional != "auto" else {}),
           **({"motion": options.motion} if general else {}),
           **({"drift": options.drift} if options.drift != "auto" else {}),
           **({"seed": seeds[0]} if seeds else {}),
           **({"assumed": list(arm.assumed)} if arm.assumed else {}),
           "versions": {name: version(name) for name in ("stribeck", "numpy", "scipy", "lmfit", "mujoco-core")}}
    return Calibration(
        arm.name, created.replace(microsecond=0), "general motion" if general else str(runs[0].record.get("experiment", "")),
        options.torque_basis,
        tuple({"path": run.label, "sha256": run.sha256, **({} if run.arm.tool == arm.tool else {"tool": asdict(run.arm.tool)}),
               **({"continues": before} if (before := run.record.get("continues")) in labels else {})} for run in runs),
        Model(arm.model.name, file_sha256(arm.model), arm.gravity, arm.tool, unknown), fit,
        {name: _joint_calibration(joint, mechanism, name) for name, joint in joints.items()}, arm.model.parent)


def _joint_calibration(joint: JointFit, mechanism: Mechanism, name: str) -> JointCalibration:
    fit, points = joint.fit, joint.points
    error = np.sqrt(np.maximum(np.diag(fit.covariance), 1e-300))
    covered = parts = None
    load = load_at(points, fit.load, fit.values)
    if load is not None:
        part = load_part(fit.values, load)
        ends = np.stack((load.min(axis=0), load.max(axis=0)), axis=-1).tolist()
        covered = dict(zip(fit.components, map(tuple, ends), strict=True)) if fit.components else tuple(ends)
        parts = float(part.min()), float(np.median(part)), float(part.max())
    temperature = points["temperature"].to_numpy(dtype=float)
    return JointCalibration(
        fit.law, fit.load, fit.parameters, joint.gravity, mechanism.bearings[mechanism.names.index(name)],
        fit.held_out_rmse, (float(points["speed"].min()), float(points["speed"].max())), covered, parts,
        (float(temperature.min()), float(temperature.max())) if np.isfinite(temperature).all() else None,
        fit.names, fit.covariance / np.outer(error, error), fit.half_factor, joint.directional, joint.torque_scale)
