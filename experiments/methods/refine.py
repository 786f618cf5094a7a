"""Sequential refinement: a short first pass, then round trips for the parameters
that are still uncertain.
"""

from collections.abc import Callable, Generator, Iterator

import numpy as np

from stribeck.experiments.errors import PlanError, TooShort
from stribeck.experiments.methods.registry import plan_method
from stribeck.experiments.plans.constant_speed_options import Goal
from stribeck.experiments.plans.plan import Plan
from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.fit.information import learnt, speeds_at_extreme_loads
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.identify import Identification, identify
from stribeck.ident.log.run import Run

FIRST = 2.0  # the first pass is designed for this multiple of the target precision
_MARGIN = 0.85  # further passes are designed for this multiple of the target precision
_WORTH = 0.1  # smallest part of the budget that allows another pass
_PASSES = 6  # largest number of passes
_LEAST = 1e-3  # target if only the time is given


class Refinement:
    """Iterator over plans until the friction of every joint reaches the
    target, or the time is used up.

    Each plan must be recorded before the next plan is requested.

    Parameters
    ----------
    arm, joints, seed, options, method
        As in `CampaignOptions`.
    target : float, optional
        Half width of the 95 % band of every joint's friction over friction, at
        all tested speeds and loads.
    left : callable
        Takes the number of recorded plans; returns the robot time allowed for the next plan [s].
    recorded : callable
        Takes a number of plans; returns their runs. It is called after each plan.

    Attributes
    ----------
    ended : str
        Why no further plan was made, if the target was not reached.

    Raises
    ------
    PlanError
        If the time is too short for a first pass.
    """

    def __init__(
        self,
        arm: ArmFile,
        joints: tuple[str, ...],
        seed: int,
        options: Options | None,
        method: str,
        target: float | None,
        left: Callable[[int], float],
        recorded: Callable[[int], list[Run]],
    ) -> None:
        self._arm, self._joints, self._seed, self._options, self._method = (
            arm,
            joints,
            seed,
            options,
            method,
        )
        self._target, self._left, self._recorded = target, left, recorded
        self.ended = ""

    def __iter__(self) -> Iterator[Plan]:
        self.ended = yield from self._plans()

    def _plans(self) -> Generator[Plan, None, str]:
        """Yield the plans; return why there is no further plan."""
        wanted = self._target or _LEAST
        plan = plan_method(
            self._method,
            self._arm,
            self._joints,
            self._seed,
            first_goal(self._target, self._left(0)),
        )
        for number in range(1, _PASSES + 1):
            yield plan
            result = identify(self._recorded(number), self._options)
            weak = tuple(name for name in self._joints if not band(result, name) <= wanted)
            if not weak:
                return ""
            left = self._left(number)
            if left < _WORTH * self._left(0):
                return "the robot time is used up"
            known = {name: learnt(joint.fit) for name, joint in result.joints.items()}
            try:
                goal = Goal(_MARGIN * wanted, np.inf, left)
                plan = plan_method(self._method, self._arm, weak, self._seed + number, goal, known)
            except TooShort:
                return "the remaining robot time is too short for another plan"
            except PlanError as error:
                return f"no further plan could be made: {error}"
            if all(segment.reference for segment in plan.segments if segment.kind != "move"):
                return "more round trips of this kind would add too little information"
        return f"{_PASSES} plans were run"


def first_goal(target: float | None, budget: float | None) -> Goal:
    """Precision and time of the first plan; target and budget as in `Refinement`."""
    return Goal(FIRST * target if target else Goal.friction, np.inf, budget or np.inf)


def precision(
    result: Identification, joints: tuple[str, ...], target: float | None, ended: str
) -> str:
    """Sentence with the precision of each joint's friction, and with the joints
    that miss the target and why.
    """
    bands = {name: band(result, name) for name in joints}
    said = ", ".join(
        f"{name} {100.0 * width:.2g} %" for name, width in bands.items() if np.isfinite(width)
    )
    weak = [name for name, width in bands.items() if target and not width <= target]
    return f"95 % half width of friction: {said}" + (
        f"; target of {100.0 * (target or 0.0):g} % not reached for {', '.join(weak)}: {ended}"
        if weak
        else ""
    )


def band(result: Identification, joint: str) -> float:
    """Largest half width of the 95 % band of a joint's friction over
    friction, at all speeds and loads.
    """
    if joint not in result.joints:
        return np.inf
    fit = result.joints[joint].fit
    where = speeds_at_extreme_loads(
        result.points[result.points["joint"] == joint], fit.load, fit.values
    )
    return float(np.max(fit.interval(*where) / fit.predict(*where)))
