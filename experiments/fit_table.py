"""A table of speed and torque to what a fit delivers: calibration, points, exported model, report."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from stribeck.experiments.arm_files.bare_joints import bare_joints
from stribeck.experiments.fit_runs import CALIBRATION, POINTS, Delivery, save_model, save_results
from stribeck.experiments.importers.speed_torque.half_differences import TablePoints
from stribeck.experiments.report.page import write_report
from stribeck.ident.arm.arm_file import ArmFile, load_arm
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import InputError, unknown_name
from stribeck.ident.fit.arm.unknown_tool import ToolFit
from stribeck.ident.fit.joint.fit_joint import JointFit
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.identification.choose_runs import ChosenRuns
from stribeck.ident.identification.fit_joints import fit_joints
from stribeck.ident.identification.judge_joints import JudgedJoints
from stribeck.ident.identification.make_calibration import make_calibration
from stribeck.ident.identification.reduce_runs import ReducedRuns
from stribeck.ident.identify import Identification
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.log.finding import Finding
from stribeck.ident.log.reduction.round_trips import Reduction
from stribeck.ident.log.run import Run
from stribeck.ident.toml_tables import as_name
from stribeck.ident.whole_files import file_sha256, write_whole

METHOD = "speed-torque table"
_ONE_WAY = "measured in one direction alone: an offset or gravity would look like Coulomb friction"


def fit_table(file: Path, table: TablePoints, out: Path, options: Options, arm: ArmFile | None = None) -> Delivery:
    """Fit a table and write calibration, points, exported model and report.

    Parameters
    ----------
    file : Path
        The table, by which the calibration names its source.
    table : TablePoints
        Its points.
    out : Path
        Folder for the results, made where it is missing.
    options : Options
        Law, load and what else a fit may choose from; drift is not fitted, as a table does not say when rows were measured.
    arm : ArmFile, optional
        Whose joints they are; default: a model of bare joints is written.

    Raises
    ------
    InputError
        If the arm has no joint of a name in the table.
    FitError
        If no joint can be fitted; says why.
    """
    if arm is not None:
        return _fitted(file, table, out, options, arm)
    with TemporaryDirectory() as place:         # the model goes to the results with the calibration, if there is one
        return _fitted(file, table, out, options, _bare_arm(as_name(file.stem) or "table", table.joints, Path(place)))


def _fitted(file: Path, table: TablePoints, out: Path, options: Options, own: ArmFile) -> Delivery:
    """The stages of `identify` on the points of a table."""
    mechanism = load_mechanism(own)
    for name in table.joints:
        if name not in mechanism.names:
            raise InputError(f"{file}: {unknown_name('joint', name, mechanism.names)} of {own.name}; call it so in the column of "
                             f"joints or as --column \"torque.{mechanism.names[0]}=...\", or leave --arm away")
    size = len(table.points)
    run = Run(file, {"start": datetime.now(UTC).isoformat(), "experiment": METHOD}, own, (), mechanism.names,
              table.points["t"].to_numpy(dtype=float), np.zeros(size, dtype=np.int64), {}, file_sha256(file))
    nowhere = np.zeros((size, mechanism.n))
    chosen = ChosenRuns(own, (run,), (), ((),), tuple(Finding(None, "table", note) for note in table.notes))
    points = table.points.assign(run=run.label)
    reduced = ReducedRuns(replace(options, drift="none"), (mechanism,), (Reduction(points, q=nowhere, dq=nowhere),), ToolFit(),
                          ())
    fitted = fit_joints(chosen, reduced)
    joints = {name: _of_table(name, fitted.joints[name], name not in table.one_way)
              for name in mechanism.names if name in fitted.joints}
    findings = (*chosen.findings, *fitted.findings, *(finding for joint in joints.values() for finding in joint.findings))
    made = make_calibration(chosen, reduced, JudgedJoints(joints, findings), datetime.now(UTC))
    result = Identification(made, fitted.points, joints, findings, mechanism)
    out.mkdir(parents=True, exist_ok=True)
    calibration = save_results(result, out)
    model, losses = save_model(calibration, out)
    report = write_report(result, out, {"table": file.name})
    return Delivery(result, calibration, 0.0, (out / CALIBRATION, out / POINTS, report, model), losses)


def _bare_arm(name: str, joints: tuple[str, ...], place: Path) -> ArmFile:
    """An arm of bare joints without gravity, written into a folder."""
    write_whole(place / f"{name}.urdf", bare_joints(joints))
    write_whole(place / f"{name}.toml", f'schema = 1\nname = "{name}"\nmodel = "{name}.urdf"\ngravity = [0.0, 0.0, 0.0]\n')
    return load_arm(place / f"{name}.toml")


def _of_table(name: str, joint: JointFit, both_ways: bool) -> JointFit:
    """A fit that says what rows in the order of speed, and of one direction where no more were measured, can tell."""
    gravity = joint.gravity if both_ways else {
        key: Parameter(None, None, None, None, entry.unit, "unidentifiable", _ONE_WAY) for key, entry in joint.gravity.items()}
    findings = tuple(Finding(name, "correlation", _in_order_of_speed(name, joint.fit.serial)) if finding.kind == "correlation"
                     else finding for finding in joint.findings)
    return replace(joint, gravity=gravity, findings=findings)


def _in_order_of_speed(name: str, correlation: float) -> str:
    """What it means that the friction levels of neighbouring rows correlate, where their order is that of speed."""
    return (f"{name}: friction of neighbouring speeds lies to the same side of the law (it correlates by {correlation:.2f}): the "
            "law does not bend as friction does, or it wandered from one to the next; the intervals allow for it")
