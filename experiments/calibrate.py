"""Calibration of an arm: plan, measure, fit, export, report."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from stribeck.experiments.campaign_options import CampaignOptions
from stribeck.experiments.errors import TooShort
from stribeck.experiments.fit_runs import Delivery, fit_runs, load_fitted
from stribeck.experiments.methods.breakaway_ramps import USUAL, plan_breakaway
from stribeck.experiments.methods.lowest_speed_search import (
    lowest_sentence,
    plan_lowest_speed,
    with_slowest,
)
from stribeck.experiments.methods.refine import Refinement, precision
from stribeck.experiments.methods.registry import plan_method, shortest
from stribeck.experiments.methods.warm_up import Settling, ended, plan_warm_up
from stribeck.experiments.plans.plan import Plan
from stribeck.experiments.recording.campaign import Campaign, Part
from stribeck.experiments.recording.drive_plan import check_modes
from stribeck.experiments.recording.follow import Watch
from stribeck.experiments.recording.run_folders import refuse_used
from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.errors import InputError
from stribeck.ident.fit.joint.fit_joint import check_options
from stribeck.ident.log.lowest_speed import lowest_speeds
from stribeck.ident.log.run import Run, load_run

Passes = Refinement | list[Plan]  # plans of the runs to be fitted, in order
_OVER = 0.05  # part of the budget by which paths to the start and ramps may exceed it


@dataclass(frozen=True)
class Operator:
    """Callbacks of a calibration: consent before motion, display during motion, and messages.

    Attributes
    ----------
    agree : callable
        Called with plans before the arm drives them; raises to cancel. All plans known in advance
        are shown before any motion. Later plans, and plans changed by the search for the lowest
        speeds, are shown before they are driven.
    display : callable, optional
        Takes a plan and returns a context manager, which is entered while the arm moves and
        yields the `watch` of `follow`.
    say : callable
        Called with a heading and a sentence about warm-up, search, budget or precision.
    """

    agree: Callable[[list[Plan]], None] = lambda plans: None
    display: Callable[[Plan], AbstractContextManager[Watch | None]] | None = None
    say: Callable[[str, str], None] = lambda heading, sentence: None


@dataclass(frozen=True)
class SideRuns:
    """Requested motions beside the round trips of the fit.

    Attributes
    ----------
    search : Plan, optional
        Search for the lowest speeds, unless it is recorded already.
    found : Run, optional
        Recorded search.
    warm_up : Plan, optional
        Warm-up before each pass.
    ramps : Part, optional
        Remaining torque ramps, driven after the last pass.
    left : callable
        Takes the number of recorded passes; returns the robot time allowed for the next pass [s].
    """

    search: Plan | None
    found: Run | None
    warm_up: Plan | None
    ramps: Part | None
    left: Callable[[int], float]


def calibrate(
    arm: ArmFile,
    out: Path,
    options: CampaignOptions | None = None,
    operator: Operator | None = None,
    resume: bool = False,
) -> Delivery:
    """Calibrate an arm: plan, measure, fit and write the report.

    Parameters
    ----------
    arm : ArmFile
        The arm.
    out : Path
        Folder for runs and results; new or empty unless a campaign is resumed.
    options : CampaignOptions, optional
        Options of measurement and fit.
    operator : Operator, optional
        Callbacks for consent, display and messages; default none.
    resume : bool
        Resume an interrupted campaign with the same plans; recorded round
        trips are not driven again.
    """
    options, operator = options or CampaignOptions(), operator or Operator()
    arm = arm.numbered(options.serial)
    campaign = open_campaign(arm, out, options, operator, resume)
    side = plan_side_runs(campaign, options)
    passes = plan_passes(campaign, options, side)
    if side.search and options.refining:
        tell_if_too_short(campaign, options, side, operator)
    shown = agree_on(passes, campaign, side, operator)
    if side.search:
        side = search_lowest_speeds(campaign, side, operator)
        passes = plan_passes(campaign, options, side)
        agree_on_changes(passes, shown, campaign, side, operator)
    drive_passes(passes, campaign, side, operator)
    if side.ramps:
        campaign.drive(side.ramps.plan, side.ramps.continues)
    delivery = fit_runs(load_fitted([out]), out, options.fit)
    spent = campaign.spent()
    say_what_was_reached(delivery, passes, spent, campaign, options, operator)
    return replace(delivery, robot_time=spent)


def open_campaign(
    arm: ArmFile, out: Path, options: CampaignOptions, operator: Operator, resume: bool
) -> Campaign:
    """Open a new campaign, or one to be resumed; raise if the options do not fit the arm."""
    if resume and not out.exists():
        raise InputError(
            f"{out}: no such folder, so there is no campaign to resume; leave --resume out to "
            "start a new campaign"
        )
    if not resume:
        refuse_used(out, "choose another --out, or resume the campaign in it with --resume")
    campaign = Campaign(arm, out, options.seed, operator.display, options.table(), options.note)
    check_options(options.fit, campaign.mechanism, options.joints or campaign.mechanism.names)
    return campaign


def plan_side_runs(campaign: Campaign, options: CampaignOptions) -> SideRuns:
    """Plan the search for the lowest speeds, warm-up and breakaway, without the parts
    that are recorded already.
    """
    arm, joints, seed = campaign.arm, options.joints, options.seed
    search = plan_lowest_speed(arm, joints, seed) if options.search else None
    warm_up = plan_warm_up(arm, joints, seed, options.warm_up) if options.warm_up else None
    breakaway = plan_breakaway(arm, joints, seed) if options.breakaway else None
    if breakaway:
        check_modes(breakaway, campaign.device, arm)
    aside = {
        plan.purpose: share * plan.robot_time
        for plan, share in ((warm_up, 1.0), (breakaway, USUAL))
        if plan
    }
    left = _left_of(options.budget, search, aside, campaign.spent)
    found = campaign.recorded(search) if search else None
    if search and not found and campaign.measuring:
        raise InputError(
            f"{campaign.folder}: the campaign began without the search for the lowest speed of "
            "these joints; resume with the original options"
        )
    return SideRuns(
        None if found else search,
        found,
        warm_up,
        campaign.left_of_ramps(breakaway) if breakaway else None,
        left,
    )


def _left_of(
    budget: float | None,
    search: Plan | None,
    aside: Mapping[str, float],
    spent: Callable[[int], float],
) -> Callable[[int], float]:
    """Return a function from the number of recorded passes to the robot time
    allowed for the next pass [s].

    `aside` is the time reserved for motions before each pass or after the
    last: purpose -> time [s].
    """
    before = {search.purpose: search.robot_time} if search else {}

    def left(number: int) -> float:
        return (
            (budget or np.inf)
            - (spent(number) if number else sum(before.values()))
            - sum(aside.values())
        )

    if left(0) <= 0.0:
        others = " and ".join(
            f"{purpose} {time:.0f} s" for purpose, time in {**before, **aside}.items()
        )
        raise TooShort(
            f"{budget:.0f} s of robot time are too short: {others} take the whole time; raise "
            "--budget, or leave out a part"
        )
    return left


def plan_passes(campaign: Campaign, options: CampaignOptions, side: SideRuns) -> Passes:
    """Plan the runs to be fitted, without strokes below the lowest speeds of the search."""
    arm = with_slowest(campaign.arm, lowest_speeds(side.found)) if side.found else campaign.arm
    if options.refining:
        return Refinement(
            arm,
            options.joints or campaign.mechanism.names,
            options.seed,
            options.fit,
            options.method,
            options.target,
            side.left,
            campaign.runs_of_passes,
        )
    return [plan_method(options.method, arm, options.joints, options.seed)] * options.repeats


def tell_if_too_short(
    campaign: Campaign, options: CampaignOptions, side: SideRuns, operator: Operator
) -> None:
    """Warn before the search that no plan may fit into the remaining time. The result of the
    search may shorten plans.
    """
    takes, left = shortest(options.method, campaign.arm, options.joints, options.seed), side.left(0)
    if takes > left:
        operator.say(
            "budget",
            f"the shortest plan takes {takes:.0f} s, but only {left:.0f} s remain after the "
            "search for the "
            "lowest speeds; unless the search removes slow strokes, no plan fits: raise --budget",
        )


def agree_on(passes: Passes, campaign: Campaign, side: SideRuns, operator: Operator) -> list[Plan]:
    """Ask for consent to all plans known in advance; return the plans of the
    passes with their warm-ups.
    """
    shown = [] if isinstance(passes, Refinement) else _to_drive(enumerate(passes), campaign, side)
    ahead = [plan for plan in (side.search, *shown, side.ramps and side.ramps.plan) if plan]
    if ahead or not isinstance(passes, Refinement):
        operator.agree(ahead)
    return shown


def search_lowest_speeds(campaign: Campaign, side: SideRuns, operator: Operator) -> SideRuns:
    """Drive the search for the lowest speeds and report the speeds."""
    assert side.search is not None
    found = load_run(campaign.drive(side.search))
    operator.say("lowest", lowest_sentence(lowest_speeds(found), campaign.mechanism))
    return replace(side, search=None, found=found)


def agree_on_changes(
    passes: Passes, shown: list[Plan], campaign: Campaign, side: SideRuns, operator: Operator
) -> None:
    """Ask for consent again if the lowest speeds changed accepted plans."""
    if (
        not isinstance(passes, Refinement)
        and (changed := _to_drive(enumerate(passes), campaign, side)) != shown
    ):
        operator.agree(changed)


def drive_passes(passes: Passes, campaign: Campaign, side: SideRuns, operator: Operator) -> None:
    """Record the remaining part of every pass, each after its warm-up."""
    for number, plan in enumerate(passes):
        part = campaign.left_of(plan, number)
        if part is None:
            continue
        if isinstance(passes, Refinement):
            operator.agree(_to_drive([(number, plan)], campaign, side))
        if part.continues is None:
            campaign.keep(plan, number)
        if side.warm_up:
            operator.say(
                "warm-up", ended(load_run(campaign.drive(side.warm_up, enough=Settling())))
            )
        campaign.drive(part.plan, part.continues)


def _to_drive(ahead: Iterable[tuple[int, Plan]], campaign: Campaign, side: SideRuns) -> list[Plan]:
    """Remaining plans of some passes, given as number and plan, each with its warm-up before it."""
    parts = [part.plan for number, plan in ahead if (part := campaign.left_of(plan, number))]
    return [plan for part in parts for plan in (side.warm_up, part) if plan]


def say_what_was_reached(
    delivery: Delivery,
    passes: Passes,
    spent: float,
    campaign: Campaign,
    options: CampaignOptions,
    operator: Operator,
) -> None:
    """Report the reached precision if a target or budget was given, and robot
    time [s] beyond the budget.
    """
    if isinstance(passes, Refinement):
        joints = options.joints or campaign.mechanism.names
        operator.say("precision", precision(delivery.result, joints, options.target, passes.ended))
    budget = options.budget
    if budget and spent > (1.0 + _OVER) * budget:
        operator.say(
            "budget",
            f"{spent:.0f} s were recorded, {spent - budget:.0f} s more than the budget: an "
            "interrupted search or warm-up starts again from its beginning",
        )
