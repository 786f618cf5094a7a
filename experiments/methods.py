"""Experiments and ways of measuring, by name."""

from collections.abc import Callable

from experiments.breakaway import plan_breakaway
from experiments.constant_speed import plan_constant_speed
from experiments.lowest_speed import plan_lowest_speed
from experiments.plan import Plan
from experiments.tracking import Enough
from experiments.validation import plan_validation
from experiments.warm_up import Settling, plan_warm_up
from experiments.whole_arm import plan_whole_arm
from ident.armfile import ArmFile
from ident.errors import unknown_name
from ident.run import BREAKAWAY, LOWEST_SPEED, VALIDATION, WARM_UP

Planner = Callable[[ArmFile, tuple[str, ...] | None, int], Plan]
METHODS: dict[str, Planner] = {"whole-arm": plan_whole_arm, "single": plan_constant_speed}       # round trips, to be fitted
EXPERIMENTS: dict[str, Planner] = {                             # what else there is to be moved for
    VALIDATION: plan_validation, WARM_UP: plan_warm_up, LOWEST_SPEED: plan_lowest_speed,
    BREAKAWAY: plan_breakaway}


DEFAULT, ROUND_TRIPS = "whole-arm", "round-trips"
UNTIL: dict[str, Callable[[], Enough | None]] = {WARM_UP: Settling}       # what says that the rest of a plan is not needed


def plan_method(method: str, arm: ArmFile, joints: tuple[str, ...] | None = None, seed: int = 0) -> Plan:
    """Plan of a campaign by one of `METHODS`.

    Raises
    ------
    InputError
        If there is no such method, or whatever planning raises.
    """
    if method not in METHODS:
        raise unknown_name("method", method, METHODS)
    return METHODS[method](arm, joints, seed)


def plan_experiment(experiment: str, method: str, arm: ArmFile, joints: tuple[str, ...] | None = None, seed: int = 0) -> Plan:
    """Plan of one of `EXPERIMENTS`, or of "round-trips" by one of `METHODS`; errors as `plan_method`."""
    if experiment == ROUND_TRIPS:
        return plan_method(method, arm, joints, seed)
    if experiment not in EXPERIMENTS:
        raise unknown_name("experiment", experiment, (ROUND_TRIPS, *EXPERIMENTS))
    return EXPERIMENTS[experiment](arm, joints, seed)
