"""The main job: plan, move and record, fit from the closed folder, export, report."""

import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from drivers import connect
from experiments.breakaway import plan_breakaway
from experiments.lowest_speed import lowest_sentence, plan_lowest_speed, with_slowest
from experiments.methods import DEFAULT, plan_method
from experiments.plan import Plan, write_plan
from experiments.record import check_modes, record
from experiments.recorder import empty_folder, refuse_used
from experiments.report import write_report
from experiments.resume import PLAN, Part, begun, recorded_for, whats_left
from experiments.tracking import Enough, Watch
from experiments.warm_up import Settling, ended, plan_warm_up, run_notes
from ident.armfile import ArmFile
from ident.breakaway import Breakaway, breakaway_table, breakaways
from ident.calibration import Calibration
from ident.description import load_mechanism
from ident.export import export
from ident.identify import Identification, identify
from ident.joint import Options, check_options
from ident.lowest_speed import lowest_speeds
from ident.run import BREAKAWAY, FITTED, LOWEST_SPEED, Run, find_runs, load_run

Say = Callable[[str, str], None]
Display = Callable[[Plan], AbstractContextManager[Watch]]
CALIBRATION, POINTS, RAMPS = "calibration.toml", "points.csv", "breakaway.csv"


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
              method: str = DEFAULT, repeats: int = 1, agree: Callable[[list[Plan]], None] | None = None,
              display: Display | None = None, resume: bool = False, warm_up: float = 0.0, search: bool = False,
              breakaway: bool = False, say: Say | None = None) -> Delivery:
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
        How often the plan is run; several runs show the deviation between them. The k-th run has seed + k of simulated noise.
    agree : callable, optional
        Shown the plans of all runs that are to be recorded, before anything moves; raises to call it off.
    display : callable, optional
        From the plan to a context that is entered while the arm moves and gives what watches it, see `follow`.
    resume : bool
        Go on with a campaign of the same plan that was broken off: round trips that are recorded are not driven again.
    warm_up : float
        How long the arm may move before each run until its friction settles [s].
    search : bool
        Find the lowest speed that each velocity loop holds first, and plan no stroke below it.
    breakaway : bool
        Measure last what holds each joint at rest; needs a torque mode.
    say : callable, optional
        Told what became of what went before the runs: a heading and a sentence.
    """
    said = say or (lambda heading, sentence: None)
    if not resume:
        refuse_used(out, "choose another --out, or go on with the campaign in it with --resume")
    device = connect(arm, seed + begun(out))        # a driver that cannot be set up is refused before anything is written
    mechanism = load_mechanism(arm)
    check_options(options or Options(), mechanism, joints or mechanism.names)
    plan = plan_method(method, arm, joints, seed)
    searched = recorded_for(out, LOWEST_SPEED) if search else None
    searching = plan_lowest_speed(arm, joints, seed) if search and not searched else None
    if searched:
        plan = plan_method(method, with_slowest(arm, lowest_speeds(searched)), joints, seed)
    parts = whats_left(plan, out, repeats, arm, mechanism) if resume else [Part(plan)] * repeats
    warming = plan_warm_up(arm, joints, seed, warm_up) if warm_up and parts else None
    ramps = plan_breakaway(arm, joints, seed) if breakaway and not recorded_for(out, BREAKAWAY) else None
    if ramps:
        check_modes(ramps, device, arm)
    if agree:
        agree([one for one in (searching, *(one for part in parts for one in (warming, part.plan)), ramps) if one])

    def go(made: Plan, continues: str | None = None, enough: Enough | None = None) -> Run:
        with display(made) if display else nullcontext() as watch:
            return load_run(record(arm, made, out, seed + begun(out), watch=watch, continues=continues, device=device,
                                   enough=enough))

    if not begun(out):
        out.mkdir(parents=True, exist_ok=True)
        write_plan(plan, out / PLAN)
    if searching:
        found = lowest_speeds(go(searching))
        said("lowest", lowest_sentence(found))
        plan = plan_method(method, with_slowest(arm, found), joints, seed)
        parts = [Part(plan)] * repeats
        write_plan(plan, out / PLAN)
    for part in parts:
        if warming:
            said("warm-up", ended(go(warming, enough=Settling())))
        go(part.plan, part.continues)
        device = connect(arm, seed + begun(out))
    if ramps:
        go(ramps)
    return fit_runs([out], out, options)


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
    runs = [load_run(folder) for path in paths for folder in find_runs(path, FITTED)]
    result = identify(runs, options, datetime.now(UTC))
    out.mkdir(parents=True, exist_ok=True)
    calibration = save_results(result, out)
    source = out / calibration.model.file
    exported = export(calibration, "urdf" if source.suffix.lower() == ".urdf" else "mjcf")
    target = source.with_name(f"{source.stem}.calibrated{exported.suffix}")
    target.write_text(exported.text, encoding="utf-8", newline="")
    report = write_report(result, out, run_notes(runs))
    return Delivery(result, calibration, sum(float(run.t[-1] - run.t[0]) for run in runs),
                    (out / CALIBRATION, out / POINTS, report, target, *([] if result.breakaway.empty else [out / RAMPS])),
                    exported.losses)


def fit_ramps(runs: list[Run], out: Path) -> dict[str, Breakaway]:
    """What holds each joint at rest, from runs of nothing but ramps; writes their table."""
    table, mechanism = breakaway_table(runs), load_mechanism(runs[0].arm)
    found = breakaways(table, {name: mechanism.unit(j) for j, name in enumerate(mechanism.names)})
    table.to_csv(empty_folder(out) / RAMPS, index=False, float_format="%.9g")
    return found


def save_results(result: Identification, out: Path) -> Calibration:
    """Write calibration, points and the model they rest on; returns the calibration as read back."""
    source = result.calibration.folder / result.calibration.model.file
    shutil.copyfile(source, out / source.name)
    result.points.to_csv(out / POINTS, index=False, float_format="%.9g")
    if not result.breakaway.empty:
        result.breakaway.to_csv(out / RAMPS, index=False, float_format="%.9g")
    result.calibration.save(out / CALIBRATION)
    return Calibration.load(out / CALIBRATION)
