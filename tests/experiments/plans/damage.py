"""Plans with one segment changed, and their check against the arm."""

from dataclasses import replace
from typing import Any

from stribeck.experiments.plans.check_plan import check_plan
from stribeck.experiments.plans.plan import Plan
from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.arm.load_mechanism import load_mechanism


def checked(plan: Plan, arm: ArmFile) -> float:
    """The least room of a plan that satisfies all checks [rad or m]."""
    return check_plan(plan, arm, load_mechanism(arm))


def changed(plan: Plan, number: int, **changes: Any) -> Plan:
    """The plan with one segment changed."""
    segments = list(plan.segments)
    segments[number] = replace(segments[number], **changes)
    return replace(plan, segments=tuple(segments))
