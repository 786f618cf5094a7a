"""The main job: plan, move and record, fit from the closed folder, export, report."""

import shutil
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from stribeck.experiments.errors import TooShort
from stribeck.experiments.methods.breakaway_ramps import USUAL, plan_breakaway
from stribeck.experiments.methods.lowest_speed_search import lowest_sentence, plan_lowest_speed, with_slowest
from stribeck.experiments.methods.refine import Refinement, precision
from stribeck.experiments.methods.registry import DEFAULT, plan_method
from stribeck.experiments.methods.warm_up import Settling, ended, plan_warm_up, run_notes
from stribeck.experiments.plans.plan import Plan
from stribeck.experiments.recording.campaign import Campaign
from stribeck.experiments.recording.drive_plan import check_modes
from stribeck.experiments.recording.follow import Watch
from stribeck.experiments.recording.run_folders import empty_folder, refuse_used
from stribeck.experiments.report.page import write_report
from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.errors import InputError
from stribeck.ident.export.formats import export
from stribeck.ident.fit.joint.fit_joint import Options, check_options
from stribeck.ident.identify import Identification, identify
from stribeck.ident.log.breakaway import Breakaway, breakaway_table, breakaways
from stribeck.ident.log.lowest_speed import lowest_speeds
from stribeck.ident.log.run import FITTED, Run, find_runs, load_run
from stribeck.ident.whole_files import whole, write_whole

Say = Callable[[str, str], None]
Agree = Callable[[list[Plan]], None]
Display = Callable[[Plan], AbstractContextManager[Watch | None]]
_OVER = 0.05            # part of a budget by which ways to the start and ramps may miss it
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
        Time recorded [s]; of a campaign with all that went before and after its round trips.
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
              method: str = DEFAULT, repeats: int = 1, agree: Agree | None = None, display: Display | None = None,
              resume: bool = False, warm_up: float = 0.0, search: bool = False, breakaway: bool = False,
              target: float | None = None, budget: float | None = None, say: Say | None = None) -> Delivery:
    """Calibrate an arm from nothing to a report.

    Parameters
    ----------
    arm : ArmFile
        The arm.
    out : Path
        Folder for everything; new or empty unless a campaign is resumed.
    joints : tuple of str, optional
        A subset of the joints.
    seed : int
        Of plan and simulated noise.
    options : Options, optional
        Of the fit.
    method : str
        A name in `METHODS`.
    repeats : int
        How often the plan is run; several runs show the deviation between them. The k-th run has seed + k of simulated noise.
    agree : callable, optional
        Shown all plans that are known to be needed, before anything moves, and every other one before it moves, be it that
        the lowest speeds that were found changed it; raises to call it off.
    display : callable, optional
        From the plan to a context that is entered while the arm moves and gives what watches it, see `follow`.
    resume : bool
        Go on with a campaign of the same plans that was broken off: round trips that are recorded are not driven again.
    warm_up : float
        How long the arm may move before each run until its friction settles [s].
    search : bool
        Find the lowest speed that each velocity loop holds first, and plan no stroke below it.
    breakaway : bool
        Measure last what holds each joint at rest; needs a torque mode.
    target, budget : float, optional
        Precision at which to stop, see `Refinement`, and robot time for everything that moves [s]; default: one plan, run
        `repeats` times.
    say : callable, optional
        Told what became of what went before the runs: a heading and a sentence.
    """
    if resume and not out.exists():
        raise InputError(f"{out}: no such folder; there is no campaign to go on with. Without --resume a new one begins")
    if not resume:
        refuse_used(out, "choose another --out, or go on with the campaign in it with --resume")
    said, agreed = say or (lambda heading, sentence: None), agree or (lambda plans: None)
    options = options or Options()
    campaign = Campaign(arm, out, seed, display, {
        "joints": joints, "seed": seed, "options": asdict(options), "method": method, "repeats": repeats, "warm_up": warm_up,
        "search": search, "breakaway": breakaway, "target": target, "budget": budget})
    every = joints or campaign.mechanism.names
    check_options(options, campaign.mechanism, every)
    searching = plan_lowest_speed(arm, joints, seed) if search else None
    warming = plan_warm_up(arm, joints, seed, warm_up) if warm_up else None
    breaking = plan_breakaway(arm, joints, seed) if breakaway else None
    if breaking:
        check_modes(breaking, campaign.device, arm)
    aside = {plan.purpose: share * plan.robot_time for plan, share in ((warming, 1.0), (breaking, USUAL)) if plan}
    left = _left_of(budget, searching, aside, campaign.spent)
    found = campaign.recorded(searching) if searching else None
    if found:
        searching = None
    elif searching and campaign.measuring:
        raise InputError(f"{out} was begun without the search for the lowest speed of these joints; resume with the options that "
                         "it was begun with")
    ramps = campaign.left_of_ramps(breaking) if breaking else None
    refining = bool(target or budget)               # then each plan follows from the runs before it

    def plans() -> Refinement | list[Plan]:
        """Those of the runs to be fitted, one after the other."""
        held = with_slowest(arm, lowest_speeds(found)) if found else arm
        if refining:
            return Refinement(held, every, seed, options, method, target, left, campaign.passes)
        return [plan_method(method, held, joints, seed)] * repeats

    def wanted(ahead: Iterable[tuple[int, Plan]]) -> list[Plan]:
        parts = [part.plan for number, plan in ahead if (part := campaign.left_of(plan, number))]
        return [one for part in parts for one in (warming, part) if one]

    known = plans()
    shown = [] if refining else wanted(enumerate(known))
    ahead = [one for one in (searching, *shown, ramps and ramps.plan) if one]
    if ahead or not refining:
        agreed(ahead)
    if searching:
        found = campaign.drive(searching)
        said("lowest", lowest_sentence(lowest_speeds(found), campaign.mechanism))
        known = plans()
        if not refining and (changed := wanted(enumerate(known))) != shown:
            agreed(changed)
    for number, plan in enumerate(known):
        part = campaign.left_of(plan, number)
        if part is None:
            continue
        if refining:
            agreed(wanted([(number, plan)]))
        if part.continues is None:
            campaign.keep(plan, number)
        if warming:
            said("warm-up", ended(campaign.drive(warming, enough=Settling())))
        campaign.drive(part.plan, part.continues)
    if ramps:
        campaign.drive(ramps.plan, ramps.continues)
    delivery = fit_runs([out], out, options)
    if isinstance(known, Refinement):
        said("precision", precision(delivery.result, every, target, known.ended))
    spent = campaign.spent()
    if budget and spent > (1.0 + _OVER) * budget:
        said("budget", f"{spent:.0f} s were recorded, {spent - budget:.0f} s more than asked for: what is broken off in a search "
                       "or a warm-up begins anew")
    return replace(delivery, robot_time=spent)


def _left_of(budget: float | None, searching: Plan | None, aside: Mapping[str, float],
             spent: Callable[[int], float]) -> Callable[[int], float]:
    """From the number of passes that are made to the robot time that the next may take [s].

    What else moves the arm before each pass, or after the last, keeps its time `aside`: purpose -> time [s].
    """
    before = {searching.purpose: searching.robot_time} if searching else {}

    def left(number: int) -> float:
        return (budget or np.inf) - (spent(number) if number else sum(before.values())) - sum(aside.values())

    if left(0) <= 0.0:
        others = " and ".join(f"{purpose} {time:.0f} s" for purpose, time in {**before, **aside}.items())
        raise TooShort(f"{budget:.0f} s of robot time are too short, {others} need them; raise --budget or leave some out")
    return left


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
    write_whole(target, exported.text)
    report = write_report(result, out, run_notes(runs))
    return Delivery(result, calibration, sum(run.duration for run in runs),
                    (out / CALIBRATION, out / POINTS, report, target, *([] if result.breakaway.empty else [out / RAMPS])),
                    exported.losses)


def fit_ramps(runs: list[Run], out: Path) -> dict[str, Breakaway]:
    """What holds each joint at rest, from runs of nothing but ramps; writes their table."""
    table, mechanism = breakaway_table(runs), load_mechanism(runs[0].arm)
    found = breakaways(table, {name: mechanism.unit(j) for j, name in enumerate(mechanism.names)})
    with whole(empty_folder(out) / RAMPS) as part:
        table.to_csv(part, index=False, float_format="%.9g")
    return found


def save_results(result: Identification, out: Path) -> Calibration:
    """Write calibration, points and the model they rest on; returns the calibration as read back."""
    source = result.calibration.folder / result.calibration.model.file
    with whole(out / source.name) as part:
        shutil.copyfile(source, part)
    tables = {POINTS: result.points} | ({} if result.breakaway.empty else {RAMPS: result.breakaway})
    for name, table in tables.items():
        with whole(out / name) as part:
            table.to_csv(part, index=False, float_format="%.9g")
    result.calibration.save(out / CALIBRATION)
    return Calibration.load(out / CALIBRATION)
