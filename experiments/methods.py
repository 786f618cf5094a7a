"""Ways of measuring, by name."""

from collections.abc import Callable

from experiments.constant_speed import plan_constant_speed
from experiments.plan import Plan
from experiments.whole_arm import plan_whole_arm
from ident.armfile import ArmFile
from ident.errors import unknown_name

METHODS: dict[str, Callable[[ArmFile, tuple[str, ...] | None, int], Plan]] = {
    "whole-arm": plan_whole_arm, "single": plan_constant_speed}


DEFAULT = "whole-arm"


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
