"""The main job: plan, move and record, fit from the closed folder, export, report."""

import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from drivers import connect
from experiments.methods import DEFAULT, plan_method
from experiments.plan import Plan, write_plan
from experiments.record import record
from experiments.recorder import empty_folder, refuse_used
from experiments.refine import refine
from experiments.report import write_report
from experiments.tracking import Watch
from ident.armfile import ArmFile
from ident.calibration import Calibration
from ident.description import load_mechanism
from ident.export import export
from ident.identify import Identification, identify
from ident.joint import Options, check_options
from ident.run import find_runs, load_run

Display = Callable[[Plan], AbstractContextManager[Watch]]
CALIBRATION, POINTS, PLAN = "calibration.toml", "points.csv", "plan.toml"


@dataclass(frozen=True)
class Delivery:
    """What a fit leaves in its folder.

    Attributes
    ----------
    result : Identification
        Fits and findings.
    calibration : Calibration
        As read back from the file.
    robot_time : float
        Time recorded [s].
    files : tuple of Path
        What was written.
    losses : tuple of str
        What the exported model cannot express.
    """

    result: Identification
    calibration: Calibration
    robot_time: float
    files: tuple[Path, ...]
    losses: tuple[str, ...]


def calibrate(arm: ArmFile, out: Path, joints: tuple[str, ...] | None = None, seed: int = 0, options: Options | None = None,
              method: str = DEFAULT, repeats: int = 1, agree: Callable[[Plan], None] | None = None,
              display: Display | None = None, target: float | None = None, budget: float | None = None) -> Delivery:
    """Calibrate an arm from nothing to a report.

    Parameters
    ----------
    arm : ArmFile
        Which arm.
    out : Path
        New folder for the campaign.
    joints : tuple of str, optional
        Which joints; default all.
    seed : int
        Seed of the order of speeds and of simulated noise.
    options : Options, optional
        Law, load and torque basis of the fit.
    method : str
        A name in `METHODS`.
    repeats : int
        How often the plan is run; several runs show the deviation between them. The k-th has seed + k of simulated noise.
    agree : callable, optional
        Shown the plan before anything moves; raises to call it off.
    display : callable, optional
        From the plan to a context that is entered while the arm moves and gives what watches it, see `follow`.
    target, budget : float, optional
        Precision and robot time at which to stop, see `refine`; default: one plan, run `repeats` times.
    """
    refuse_used(out)
    connect(arm, seed)                   # a driver that cannot be set up is refused before anything is written
    mechanism = load_mechanism(arm)
    check_options(options or Options(), mechanism, joints or mechanism.names)

    def run(plan: Plan, number: int) -> Path:
        with display(plan) if display else nullcontext() as watch:
            return record(arm, plan, out, seed + number, watch=watch)

    def agreed(plan: Plan, number: int) -> Path:
        if agree:
            agree(plan)
        write_plan(plan, (out if number else empty_folder(out)) / (f"plan-{number + 1}.toml" if number else PLAN))
        return run(plan, number)

    if target or budget:
        runs = refine(arm, joints or mechanism.names, seed, options, method, target, budget, agreed)
    else:
        plan = plan_method(method, arm, joints, seed)
        runs = [agreed(plan, 0), *(run(plan, k) for k in range(1, repeats))]
    return fit_runs(runs, out, options)


def fit_runs(paths: list[Path], out: Path, options: Options | None = None) -> Delivery:
    """Fit recorded runs and write calibration, points, exported model and report.

    Parameters
    ----------
    paths : list of Path
        Run folders, or campaigns, whose runs are taken in order.
    out : Path
        Folder for the results, made where it is missing.
    options : Options, optional
        Law, load and torque basis.
    """
    runs = [load_run(folder) for path in paths for folder in find_runs(path)]
    result = identify(runs, options, datetime.now(UTC))
    out.mkdir(parents=True, exist_ok=True)
    calibration = save_results(result, out)
    source = out / calibration.model.file
    exported = export(calibration, "urdf" if source.suffix.lower() == ".urdf" else "mjcf")
    target = source.with_name(f"{source.stem}.calibrated{exported.suffix}")
    target.write_text(exported.text, encoding="utf-8")
    report = write_report(result, out)
    return Delivery(result, calibration, sum(float(run.t[-1] - run.t[0]) for run in runs),
                    (out / CALIBRATION, out / POINTS, report, target), exported.losses)


def save_results(result: Identification, out: Path) -> Calibration:
    """Write calibration, points and the model they rest on; returns the calibration as read back."""
    source = result.calibration.folder / result.calibration.model.file
    shutil.copyfile(source, out / source.name)
    result.points.to_csv(out / POINTS, index=False, float_format="%.9g")
    result.calibration.save(out / CALIBRATION)
    return Calibration.load(out / CALIBRATION)
