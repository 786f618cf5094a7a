"""Ways of measuring, by name."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from drivers import connect
from drivers.connect import DRIVERS
from experiments.constant_speed import plan_constant_speed
from experiments.design import ConstantSpeed, Goal
from experiments.forecast import check_separable
from experiments.plan import Plan
from experiments.whole_arm import WHOLE_ARM, plan_whole_arm
from ident.armfile import ArmFile
from ident.design import Expectation
from ident.errors import unknown_name

METHODS: dict[str, tuple[Callable[..., Plan], ConstantSpeed]] = {
    "whole-arm": (plan_whole_arm, WHOLE_ARM), "single": (plan_constant_speed, ConstantSpeed())}
DEFAULT = "whole-arm"


def plan_method(method: str, arm: ArmFile, joints: tuple[str, ...] | None = None, seed: int = 0, goal: Goal | None = None,
                earlier: Mapping[str, Expectation] | None = None) -> Plan:
    """Plan of a campaign by one of `METHODS`, at speeds that the arm's drives can keep.

    Parameters
    ----------
    method : str
        The method.
    arm, joints, seed, earlier
        As in `experiments.constant_speed.plan_constant_speed`.
    goal : Goal, optional
        What the round trips are chosen for.

    Raises
    ------
    InputError
        If there is no such method, or whatever planning raises.
    PlanError
        If the round trips cannot separate a joint's parameters.
    """
    if method not in METHODS:
        raise unknown_name("method", method, METHODS)
    make, options = METHODS[method]
    step = connect(arm).resolution.velocity_step if arm.driver.kind in DRIVERS else None
    plan = make(arm, joints, seed, replace(options, goal=goal or options.goal), step, earlier)
    check_separable(plan)
    return plan
