"""Last stage of identification: make the calibration."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime

import numpy as np

from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.calibration.calibration_content import Model
from stribeck.ident.calibration.joint_calibration import JointCalibration
from stribeck.ident.fit.arm.unknown_tool import UnknownTool
from stribeck.ident.fit.inertia.identified_inertia import IdentifiedInertia, identified
from stribeck.ident.fit.inertia.inertial_fit import InertialFit
from stribeck.ident.fit.inertia.passive_friction import PassiveFriction, stated_friction
from stribeck.ident.fit.joint.fit_joint import JointFit
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.identification.choose_runs import ChosenRuns, notes_of, serial_of
from stribeck.ident.identification.find_backlash import NO_BACKLASH, FoundBacklash
from stribeck.ident.identification.fit_memories import NO_MEMORIES, FittedMemories
from stribeck.ident.identification.fit_temperatures import NO_TEMPERATURES, FittedTemperatures
from stribeck.ident.identification.identify_inertia import TRUSTED, SoughtInertia
from stribeck.ident.identification.judge_joints import JudgedJoints
from stribeck.ident.identification.reduce_runs import ReducedRuns
from stribeck.ident.identification.take_out_ripple import NO_RIPPLE, SoughtRipple
from stribeck.ident.laws.load_components import load_at, load_part
from stribeck.ident.log.breakaway import breakaways
from stribeck.ident.log.run import Run
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.versions import versions_of
from stribeck.ident.whole_files import file_sha256


def make_calibration(
    chosen: ChosenRuns,
    reduced: ReducedRuns,
    judged: JudgedJoints,
    created: datetime | None,
    inertia: SoughtInertia = TRUSTED,
    memories: FittedMemories = NO_MEMORIES,
    ripple: SoughtRipple = NO_RIPPLE,
    temperatures: FittedTemperatures = NO_TEMPERATURES,
    backlash: FoundBacklash = NO_BACKLASH,
) -> Calibration:
    """Make the calibration from the judged fits, with the breakaway torque of
    joints if it was measured.
    """
    made = _calibration(
        chosen.arm,
        chosen.runs,
        reduced.mechanism,
        judged.joints,
        reduced.options,
        created or datetime.fromisoformat(chosen.runs[-1].record["start"]),
        reduced.tool.unknown,
        None if inertia.fit is None else _links(inertia.fit, judged.joints),
        inertia.passive,
    )
    if inertia.loop is not None:
        made = replace(made, fit={**made.fit, "closed_loop_shared": inertia.loop.record})
    scales = {
        name: joint.gravity["scale"]
        for name, joint in made.joints.items()
        if "scale" in joint.gravity
    }
    made = replace(made, motors=reduced.motors.doubted(reduced.mechanism.transmission, scales))
    made = replace(
        made,
        joints={
            name: replace(
                joint,
                memory=memories.joints.get(name),
                ripple=ripple.waves(name),
                temperature=temperatures.joints.get(name),
                backlash=backlash.joints.get(name),
            )
            for name, joint in made.joints.items()
        },
    )
    return _with_breakaway(made, chosen, reduced.mechanism)


def _links(fit: InertialFit, joints: Mapping[str, JointFit]) -> IdentifiedInertia:
    """Return the identified links; those of joints with closed-loop bias are doubtful unless
    instruments identify them.
    """
    biased = [name for name, joint in joints.items() if joint.loop is not None and joint.loop.named]
    return identified(fit).doubted(fit.base, fit.prior.mechanism, biased, fit.loop.asked)


def _calibration(
    arm: ArmFile,
    runs: Sequence[Run],
    mechanism: Mechanism,
    joints: dict[str, JointFit],
    options: Options,
    created: datetime,
    unknown: UnknownTool,
    inertia: IdentifiedInertia | None,
    passive: PassiveFriction,
) -> Calibration:
    seeds = [run.record.get("seed") for run in runs if run.record.get("seed") is not None]
    general, labels = options.motion != "none", {run.label for run in runs}
    fit = {
        "law": options.law,
        "load": options.load,
        **options.differing,
        **({"seed": seeds[0]} if seeds else {}),
        **({"assumed": list(arm.assumed)} if arm.assumed else {}),
        **(
            {"lack_of_fit": lacking}
            if (
                lacking := {
                    name: list(map(asdict, joint.fit.lack_of_fit))
                    for name, joint in joints.items()
                    if joint.fit.lack_of_fit
                }
            )
            else {}
        ),
        **(
            {"closed_loop": loops}
            if (
                loops := {
                    name: joint.loop.record
                    for name, joint in joints.items()
                    if joint.loop is not None
                }
            )
            else {}
        ),
        "versions": versions_of("stribeck", "numpy", "scipy", "lmfit", "mujoco"),
    }
    return Calibration(
        arm.name,
        created.replace(microsecond=0),
        "general motion" if general else str(runs[0].record.get("experiment", "")),
        options.torque_basis,
        tuple(
            {
                "path": run.label,
                "sha256": run.sha256,
                **({} if run.arm.tool == arm.tool else {"tool": asdict(run.arm.tool)}),
                **(
                    {"continues": before}
                    if (before := run.record.get("continues")) in labels
                    else {}
                ),
            }
            for run in runs
        ),
        Model(
            arm.model.name,
            file_sha256(arm.model),
            arm.gravity,
            arm.tool,
            unknown,
            inertia,
            {} if mechanism.transmission is None else mechanism.transmission.pairs,
            ()
            if mechanism.chain is None or arm.model.suffix.lower() == ".toml"
            else mechanism.names,
            arm.loops,
            PassiveFriction({**stated_friction(mechanism).classes, **passive.classes}),
        ),
        fit,
        {name: _joint_calibration(joint, mechanism, name) for name, joint in joints.items()},
        arm.model.parent,
        serial=serial_of(runs),
        note=notes_of(runs),
    )


def _joint_calibration(joint: JointFit, mechanism: Mechanism, name: str) -> JointCalibration:
    fit, points = joint.fit, joint.points
    error = np.sqrt(np.maximum(np.diag(fit.covariance), 1e-300))
    covered = parts = None
    load = load_at(points, fit.load, fit.values)
    if load is not None:
        part = load_part(fit.values, load)
        ends = np.stack((load.min(axis=0), load.max(axis=0)), axis=-1).tolist()
        covered = (
            dict(zip(fit.components, map(tuple, ends), strict=True))
            if fit.components
            else tuple(ends)
        )
        parts = float(part.min()), float(np.median(part)), float(part.max())
    temperature = points["temperature"].to_numpy(dtype=float)
    return JointCalibration(
        fit.law,
        fit.load,
        fit.parameters,
        joint.gravity,
        mechanism.bearings[mechanism.names.index(name)],
        fit.held_out_rmse,
        (float(points["speed"].min()), float(points["speed"].max())),
        covered,
        parts,
        (float(temperature.min()), float(temperature.max()))
        if np.isfinite(temperature).all()
        else None,
        fit.names,
        fit.covariance / np.outer(error, error),
        fit.band_factor,
        joint.directional,
        joint.torque_scale,
        fit.stribeck_share,
        fit.further_error,
        candidates=tuple(one for one in fit.candidates if one.weighed),
        place=fit.place,
    )


def _with_breakaway(
    calibration: Calibration, chosen: ChosenRuns, mechanism: Mechanism
) -> Calibration:
    """Add the breakaway torque of the joints, in the same torque basis."""
    found = breakaways(
        chosen.breakaway,
        {name: mechanism.unit(j) for j, name in enumerate(mechanism.names)},
        {name: joint.torque_scale or 1.0 for name, joint in calibration.joints.items()},
    )
    apart = [run for run in chosen.small if run not in chosen.runs]
    ramps = (
        {"path": run.label, "sha256": run.sha256, "purpose": run.purpose}
        for run in (*apart, *chosen.ramps)
    )
    return replace(
        calibration,
        runs=(*calibration.runs, *ramps),
        joints={
            name: replace(joint, breakaway=found.get(name))
            for name, joint in calibration.joints.items()
        },
    )
