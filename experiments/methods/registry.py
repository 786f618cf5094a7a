"""Experiments and methods by name."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from stribeck.drivers.arm import Resolution
from stribeck.drivers.connect import connect, driver_function
from stribeck.experiments.errors import TooShort
from stribeck.experiments.methods.breakaway_ramps import plan_breakaway
from stribeck.experiments.methods.excitation_motion import plan_excitation
from stribeck.experiments.methods.heat_rest_heat import TIME, plan_heat_rest_heat
from stribeck.experiments.methods.lowest_speed_search import plan_lowest_speed
from stribeck.experiments.methods.one_joint_at_a_time import plan_constant_speed
from stribeck.experiments.methods.small_round_trips import SmallTrips, plan_presliding
from stribeck.experiments.methods.validation_motion import plan_validation
from stribeck.experiments.methods.warm_up import Settling
from stribeck.experiments.methods.whole_arm import WHOLE_ARM, plan_whole_arm
from stribeck.experiments.plans.constant_speed_options import ConstantSpeed, Goal
from stribeck.experiments.plans.forecast import check_separable
from stribeck.experiments.plans.plan import Plan
from stribeck.experiments.recording.follow import Enough
from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.arrays import Array
from stribeck.ident.errors import unknown_name
from stribeck.ident.fit.information import Expectation
from stribeck.ident.log.run import (
    BREAKAWAY,
    EXCITATION,
    LOWEST_SPEED,
    PRESLIDING,
    VALIDATION,
    WARM_UP,
    Run,
)

METHODS: dict[str, tuple[Callable[..., Plan], ConstantSpeed]] = {  # round trips for a fit
    "whole-arm": (plan_whole_arm, WHOLE_ARM),
    "single": (plan_constant_speed, ConstantSpeed()),
}
# experiments beside round trips
EXPERIMENTS: dict[str, Callable[[ArmFile, tuple[str, ...] | None, int], Plan]] = {
    VALIDATION: plan_validation,
    WARM_UP: plan_heat_rest_heat,
    LOWEST_SPEED: plan_lowest_speed,
    BREAKAWAY: plan_breakaway,
    EXCITATION: plan_excitation,
    PRESLIDING: plan_presliding,
}
TIMED = EXCITATION, WARM_UP  # experiments that take a budget of robot time
DEFAULT, ROUND_TRIPS = "whole-arm", "round-trips"
# judge that may end a plan early
UNTIL: dict[str, Callable[[], Enough | None]] = {WARM_UP: Settling}
# number of postures, and of speeds in each
GRIDS = ((2, 6), (3, 5), (4, 5), (5, 6), (7, 6), (9, 7), (12, 8))


def plan_method(
    method: str,
    arm: ArmFile,
    joints: tuple[str, ...] | None = None,
    seed: int = 0,
    goal: Goal | None = None,
    earlier: Mapping[str, Expectation] | None = None,
) -> Plan:
    """Make the plan of a campaign by one of `METHODS`, at speeds that the arm's drives can hold.

    Parameters
    ----------
    method : str
        Name of the method.
    arm, joints, seed, earlier
        As in `one_joint_at_a_time.plan_constant_speed`.
    goal : Goal, optional
        Wanted precision and time. A first campaign takes the smallest grid of postures and speeds
        that is expected to reach it; later campaigns take the round trips with the most
        information. Default: the whole grid.

    Raises
    ------
    InputError
        If the method is unknown, or planning fails.
    PlanError
        If the round trips cannot separate the parameters of a joint.
    """
    if method not in METHODS:
        raise unknown_name("method", method, METHODS)
    make, options = METHODS[method]
    step = _velocity_step(arm)
    if goal is None or earlier:
        plan = make(arm, joints, seed, replace(options, goal=goal), step, earlier)
    else:
        plan = _least(
            lambda postures, speeds: make(
                arm, joints, seed, replace(options, postures=postures, speeds=speeds), step
            ),
            goal,
        )
    check_separable(plan)
    return plan


def plan_experiment(
    experiment: str,
    method: str,
    arm: ArmFile,
    joints: tuple[str, ...] | None = None,
    seed: int = 0,
    goal: Goal | None = None,
    time: float | None = None,
    after: Sequence[Run] = (),
    small: SmallTrips | None = None,
) -> Plan:
    """Make a plan of one of `EXPERIMENTS`, or of "round-trips" by one of `METHODS`;
    errors as in `plan_method`.

    `time` [s] applies to excitation and warm-up, the earlier runs `after` to excitation only,
    `goal` to round trips only, `small` to presliding only.
    """
    check_experiment(experiment)
    if experiment == ROUND_TRIPS:
        return plan_method(method, arm, joints, seed, goal)
    if experiment == EXCITATION:
        return plan_excitation(arm, joints, seed, time, after)
    if experiment == WARM_UP:
        return plan_heat_rest_heat(arm, joints, seed, time or TIME)
    if experiment == PRESLIDING:
        return plan_presliding(arm, joints, seed, small, _resolution(arm))
    return EXPERIMENTS[experiment](arm, joints, seed)


def check_experiment(experiment: str) -> None:
    """Refuse an unknown experiment.

    Raises
    ------
    InputError
        Lists the experiments.
    """
    if experiment not in (ROUND_TRIPS, *EXPERIMENTS):
        raise unknown_name("experiment", experiment, (ROUND_TRIPS, *EXPERIMENTS))


def shortest(
    method: str, arm: ArmFile, joints: tuple[str, ...] | None = None, seed: int = 0
) -> float:
    """Robot time of the smallest grid [s]; arguments and errors as in `plan_method`."""
    make, options = METHODS[method]
    postures, speeds = GRIDS[0]
    return make(
        arm, joints, seed, replace(options, postures=postures, speeds=speeds), _velocity_step(arm)
    ).robot_time


def _velocity_step(arm: ArmFile) -> Array | None:
    """Resolution of the drives' velocity set-points, shape (n,); None if it is unknown."""
    resolution = _resolution(arm)
    return resolution.velocity_step if resolution else None


def _resolution(arm: ArmFile) -> Resolution | None:
    """Resolution of the drives, without connecting; None if the driver is not installed."""
    return connect(arm).resolution if driver_function(arm) else None


def _least(make: Callable[[int, int], Plan], goal: Goal) -> Plan:
    """Smallest grid that is expected to reach the goal; if none is, the largest
    grid in the allowed time.
    """
    best = None
    for postures, speeds in GRIDS:
        plan = make(postures, speeds)
        if plan.robot_time > goal.time:
            break
        best = plan
        if all(
            told.friction <= goal.friction and max(told.parameters.values()) <= goal.parameters
            for told in plan.predicted
        ):
            break
    if best is None:
        raise TooShort(
            f"{plan.arm}: {goal.time:.0f} s of robot time are too short; the shortest plan takes "
            f"{plan.robot_time:.0f} s"
        )
    return best
