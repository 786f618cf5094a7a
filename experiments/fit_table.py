"""From a table of speed and torque to results: calibration, points, exported model and report."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from stribeck.experiments.arm_files.bare_joints import bare_joints
from stribeck.experiments.fit_runs import POINTS, Delivery, save_model, save_results
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
from stribeck.ident.log.campaign_folder import CALIBRATION
from stribeck.ident.log.finding import Finding
from stribeck.ident.log.reduction.round_trips import Reduction
from stribeck.ident.log.run import Run
from stribeck.ident.toml_tables import as_name
from stribeck.ident.whole_files import file_sha256, write_whole

METHOD = "speed-torque table"
_ONE_WAY = (
    "measured in one direction only: offset and gravity cannot be told apart from Coulomb friction"
)


def fit_table(
    file: Path, table: TablePoints, out: Path, options: Options, arm: ArmFile | None = None
) -> Delivery:
    """Fit a table and write calibration, points, exported model and report.

    Parameters
    ----------
    file : Path
        File of the table, named as source in the calibration.
    table : TablePoints
        Points of the table.
    out : Path
        Folder for the results; created if missing.
    options : Options
        Options of the fit. Drift is not fitted, because a table has no time of measurement.
    arm : ArmFile, optional
        Arm with the joints of the table; default: a model of bare joints is written.

    Raises
    ------
    InputError
        If the arm has no joint with a name in the table.
    FitError
        If no joint can be fitted; the message gives the reason.
    """
    if arm is not None:
        return _fitted(file, table, out, options, arm)
    with TemporaryDirectory() as place:  # `save_results` copies the model to the results
        return _fitted(
            file,
            table,
            out,
            options,
            _bare_arm(as_name(file.stem) or "table", table.joints, Path(place)),
        )


def _fitted(file: Path, table: TablePoints, out: Path, options: Options, own: ArmFile) -> Delivery:
    """Fit the points of a table with the stages of `identify`."""
    mechanism = load_mechanism(own)
    for name in table.joints:
        if name not in mechanism.names:
            raise InputError(
                f"{file}: {unknown_name('joint', name, mechanism.names)} of {own.name}; use its "
                "joint names in "
                f'the column of joints or in --column "torque.{mechanism.names[0]}=...", or leave '
                "--arm out"
            )
    size = len(table.points)
    run = Run(
        file,
        {"start": datetime.now(UTC).isoformat(), "experiment": METHOD},
        own,
        (),
        mechanism.names,
        table.points["t"].to_numpy(dtype=float),
        np.zeros(size, dtype=np.int64),
        {},
        file_sha256(file),
    )
    nowhere = np.zeros((size, mechanism.n))
    chosen = ChosenRuns(
        own, (run,), (), ((),), tuple(Finding(None, "table", note) for note in table.notes)
    )
    points = table.points.assign(run=run.label)
    reduced = ReducedRuns(
        replace(options, drift="none"),
        (mechanism,),
        (Reduction(points, q=nowhere, dq=nowhere),),
        ToolFit(),
        (),
    )
    fitted = fit_joints(chosen, reduced)
    joints = {
        name: _of_table(name, fitted.joints[name], name not in table.one_way)
        for name in mechanism.names
        if name in fitted.joints
    }
    findings = (
        *chosen.findings,
        *fitted.findings,
        *(finding for joint in joints.values() for finding in joint.findings),
    )
    made = make_calibration(chosen, reduced, JudgedJoints(joints, findings), datetime.now(UTC))
    result = Identification(made, fitted.points, joints, findings, mechanism)
    out.mkdir(parents=True, exist_ok=True)
    calibration = save_results(result, out)
    model, losses = save_model(calibration, out)
    report = write_report(result, out, {"table": file.name})
    return Delivery(
        result, calibration, 0.0, (out / CALIBRATION, out / POINTS, report, model), losses
    )


def _bare_arm(name: str, joints: tuple[str, ...], place: Path) -> ArmFile:
    """Write an arm of bare joints without gravity into a folder and load it."""
    write_whole(place / f"{name}.urdf", bare_joints(joints))
    write_whole(
        place / f"{name}.toml",
        f'schema = 1\nname = "{name}"\nmodel = "{name}.urdf"\ngravity = [0.0, 0.0, 0.0]\n',
    )
    return load_arm(place / f"{name}.toml")


def _of_table(name: str, joint: JointFit, both_ways: bool) -> JointFit:
    """Adapt notes and findings of a fit to a table: rows are in the order of speed,
    perhaps of one direction only.
    """
    gravity = (
        joint.gravity
        if both_ways
        else {
            key: Parameter(None, None, None, None, entry.unit, "unidentifiable", _ONE_WAY)
            for key, entry in joint.gravity.items()
        }
    )
    findings = tuple(
        Finding(name, "correlation", _in_order_of_speed(name, joint.fit.serial))
        if finding.kind == "correlation"
        else finding
        for finding in joint.findings
    )
    return replace(joint, gravity=gravity, findings=findings)


def _in_order_of_speed(name: str, correlation: float) -> str:
    """Sentence about autocorrelated residuals of rows in the order of speed."""
    return (
        f"{name}: residuals of neighbouring speeds are correlated (autocorrelation "
        f"{correlation:.2f}): the law has the wrong "
        "shape, or friction drifted during the measurement; intervals widened"
    )
