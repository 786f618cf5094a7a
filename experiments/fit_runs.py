"""From recorded runs to results: fit, calibration, points, exported model and report."""

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from stribeck.experiments.methods.warm_up import run_notes
from stribeck.experiments.recording.run_folders import empty_folder
from stribeck.experiments.report.page import write_report
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.export.formats import export
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.identify import Identification, identify
from stribeck.ident.log.breakaway import Breakaway, breakaway_table, breakaways
from stribeck.ident.log.campaign_folder import CALIBRATION, find_runs
from stribeck.ident.log.run import FITTED, Run, load_runs
from stribeck.ident.whole_files import whole, write_whole

POINTS, RAMPS = "points.csv", "breakaway.csv"


@dataclass(frozen=True)
class Delivery:
    """Results of a fit and the files in its folder.

    Attributes
    ----------
    result : Identification
        Fits and findings of all joints.
    calibration : Calibration
        Calibration as read back from its file.
    robot_time : float
        Recorded time [s]; for a campaign, including motions before and after its round trips.
    files : tuple of Path
        Written files.
    losses : tuple of str
        Parts of the friction law that the exported model cannot store.
    """

    result: Identification
    calibration: Calibration
    robot_time: float
    files: tuple[Path, ...]
    losses: tuple[str, ...]


def load_fitted(paths: Iterable[Path]) -> list[Run]:
    """Load the runs of a fit in order: run folders, and runs of campaigns with
    round trips or breakaway.
    """
    return load_runs([folder for path in paths for folder in find_runs(path, FITTED)])


def fit_runs(runs: list[Run], out: Path, options: Options | None = None) -> Delivery:
    """Fit recorded runs and write calibration, points, exported model and report.

    Parameters
    ----------
    runs : list of Run
        Runs of the same arm.
    out : Path
        Folder for the results; created if missing.
    options : Options, optional
        Law, load and torque basis.
    """
    result = identify(runs, options, datetime.now(UTC))
    out.mkdir(parents=True, exist_ok=True)
    calibration = save_results(result, out)
    model, losses = save_model(calibration, out)
    report = write_report(result, out, run_notes(runs))
    return Delivery(
        result,
        calibration,
        sum(run.duration for run in runs),
        (
            out / CALIBRATION,
            out / POINTS,
            report,
            model,
            *([] if result.breakaway.empty else [out / RAMPS]),
        ),
        losses,
    )


def save_results(result: Identification, out: Path) -> Calibration:
    """Write calibration, points and model; return the calibration as read back."""
    source = result.calibration.folder / result.calibration.model.file
    with whole(out / source.name) as part:
        shutil.copyfile(source, part)
    tables = {POINTS: result.points} | ({} if result.breakaway.empty else {RAMPS: result.breakaway})
    for name, table in tables.items():
        with whole(out / name) as part:
            table.to_csv(part, index=False, float_format="%.9g")
    result.calibration.save(out / CALIBRATION)
    return Calibration.load(out / CALIBRATION)


def save_model(calibration: Calibration, out: Path) -> tuple[Path, tuple[str, ...]]:
    """Write the model with calibrated friction in its own format; return the file and
    what the format cannot store.
    """
    source = out / calibration.model.file
    exported = export(calibration, "urdf" if source.suffix.lower() == ".urdf" else "mjcf")
    target = source.with_name(f"{source.stem}.calibrated{exported.suffix}")
    write_whole(target, exported.text)
    return target, exported.losses


def fit_ramps(runs: list[Run], out: Path) -> dict[str, Breakaway]:
    """Compute breakaway torques from runs of torque ramps, and write the table of ramps."""
    table, mechanism = breakaway_table(runs), load_mechanism(runs[0].arm)
    found = breakaways(table, {name: mechanism.unit(j) for j, name in enumerate(mechanism.names)})
    with whole(empty_folder(out) / RAMPS) as part:
        table.to_csv(part, index=False, float_format="%.9g")
    return found
