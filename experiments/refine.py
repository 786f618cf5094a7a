"""Sequential refinement: a short first pass, then round trips for what is still weak, by the noise and laws found so far."""

from collections.abc import Callable, Iterator

import numpy as np

from experiments.design import Goal
from experiments.errors import PlanError
from experiments.methods import plan_method
from experiments.plan import Plan
from ident.armfile import ArmFile
from ident.design import corners, learnt
from ident.identify import Identification, identify
from ident.joint import Options
from ident.run import Run

FIRST = 2.0             # times the target: what the first pass is designed for
_MARGIN = 0.85          # part of the target that further passes are designed for
_WORTH = 0.1            # part of the time from which another pass is worth it
_PASSES = 6             # at most
_LEAST = 1e-3           # target where only the time is given


def refine(arm: ArmFile, joints: tuple[str, ...], seed: int, options: Options | None, method: str, target: float | None,
           budget: float | None, recorded: Callable[[int], list[Run]]) -> Iterator[Plan]:
    """Plan after plan until the friction of every joint is known well enough, or the time is spent.

    Parameters
    ----------
    arm, joints, seed, options, method
        As in `experiments.calibrate.calibrate`.
    target : float, optional
        Half width of the 95 % band of every joint's friction over the tested speeds and loads, as a part of friction.
    budget : float, optional
        Robot time that may be spent [s].
    recorded : callable
        Gives the runs of the first so many plans; is asked after each plan.

    Yields
    ------
    Plan
        To be recorded before the next is asked for.

    Raises
    ------
    PlanError
        If the time is too short for a first pass.
    """
    wanted = target or _LEAST
    plan = plan_method(method, arm, joints, seed, first_goal(target, budget))
    for number in range(1, _PASSES + 1):
        yield plan
        runs = recorded(number)
        result = identify(runs, options)
        weak = tuple(name for name in joints if not band(result, name) <= wanted)
        if not weak:
            return
        known = {name: learnt(joint.fit) for name, joint in result.joints.items()}
        left = (budget or np.inf) - sum(float(one.t[-1] - one.t[0]) for one in runs)
        if budget and left < _WORTH * budget:
            return
        try:
            plan = plan_method(method, arm, weak, seed + number, Goal(_MARGIN * wanted, np.inf, left), known)
        except PlanError:
            return
        if all(segment.reference for segment in plan.segments if segment.kind != "move"):
            return


def first_goal(target: float | None, budget: float | None) -> Goal:
    """What the first plan is for; target and budget as in `refine`."""
    return Goal(FIRST * target if target else Goal.friction, np.inf, budget or np.inf)


def precision(result: Identification, joints: tuple[str, ...], target: float | None) -> str:
    """How well the friction of all joints is known in the end, and which of them not as well as wanted."""
    bands = {name: band(result, name) for name in joints}
    said = ", ".join(f"{name} {100.0 * width:.2g} %" for name, width in bands.items() if np.isfinite(width))
    weak = [name for name, width in bands.items() if target and not width <= target]
    why = "the time is spent, or more round trips would tell too little"
    return f"friction is known within {said}" + (
        f"; not within {100.0 * (target or 0.0):g} % yet: {', '.join(weak)}; {why}" if weak else "")


def band(result: Identification, joint: str) -> float:
    """Greatest half width of the 95 % band of a joint's friction over its speeds and loads, as a part of friction."""
    if joint not in result.joints:
        return np.inf
    fit = result.joints[joint].fit
    where = corners(result.points[result.points["joint"] == joint], fit.load, fit.values)
    return float(np.max(fit.band(*where) / fit.predict(*where)))
