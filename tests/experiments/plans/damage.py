"""Plans with one changed segment, and their check."""

from dataclasses import replace
from typing import Any

from stribeck.experiments.plans.check_plan import check_plan
from stribeck.experiments.plans.plan import Plan
from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.arm.load_mechanism import load_mechanism


def checked(plan: Plan, arm: ArmFile) -> float:
    """Smallest clearance of a plan that passes all checks [rad or m]."""
    return check_plan(plan, arm, load_mechanism(arm))


def changed(plan: Plan, number: int, **changes: Any) -> Plan:
    """Return the plan with one changed segment."""
    segments = list(plan.segments)
    segments[number] = replace(segments[number], **changes)
    return replace(plan, segments=tuple(segments))
