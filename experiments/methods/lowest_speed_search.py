"""Search for the lowest speed that each velocity loop holds, with ever
slower round trips around home.

All joints move simultaneously. A real arm without collision checks moves one joint after the other.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from stribeck.experiments.errors import PlanError
from stribeck.experiments.methods.whole_arm import WHOLE_ARM
from stribeck.experiments.plans.check_plan import checked
from stribeck.experiments.plans.clear.clearance import may_move_together
from stribeck.experiments.plans.constant_speed_options import Trip
from stribeck.experiments.plans.free_way import free_way
from stribeck.experiments.plans.motion_profile import ACCELERATION_SHARE, with_robot_time
from stribeck.experiments.plans.order import Writer
from stribeck.experiments.plans.plan import Plan
from stribeck.experiments.plans.speeds_and_postures import Design
from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.log.lowest_speed import LowestSpeed
from stribeck.ident.log.run import LOWEST_SPEED, arm_sha256
from stribeck.ident.model.mechanism import Mechanism

METHOD = "search for the lowest speed"
_STEP = np.sqrt(2.0)  # ratio of successive speeds
_ABOVE, _BELOW = 8, 2  # number of steps above and below the slowest speed of a campaign
_TIME = 4.0  # time at each speed [s], long enough for several stops of stick-slip


def plan_lowest_speed(arm: ArmFile, joints: tuple[str, ...] | None = None, seed: int = 0) -> Plan:
    """Make the plan of the search, checked against all limits.

    Parameters and errors as in `one_joint_at_a_time.plan_constant_speed`.
    """
    design = Design.of(
        arm.with_joints_changed(lambda table: replace(table, slowest=None)), joints, WHOLE_ARM
    )
    home, together = arm.home(design.mechanism), may_move_together(arm, design.mechanism)
    groups = [list(design.active)] if together else [[j] for j in design.active]
    writer, rng = Writer(design.mechanism.names), np.random.default_rng(seed)
    writer.move(home, 0)
    for step in range(_ABOVE, -_BELOW - 1, -1):
        speeds = np.minimum(design.ends[0] * _STEP**step, design.ends[1])
        for group in groups:
            duration = _TIME + float(
                np.max(speeds[group] / (ACCELERATION_SHARE * design.limits.acceleration[group]))
            )
            way, leader = np.zeros(len(home)), group[0]
            way[group] = np.minimum(speeds * duration, design.longest)[group]
            writer.round_trip(
                Trip(0, free_way(design, home, way, rng), leader, float(way[leader] / duration)), 0
            )
    plan = Plan(
        arm.name,
        arm_sha256(arm),
        METHOD,
        seed,
        design.mechanism.names,
        tuple(home.tolist()),
        tuple(writer.segments),
        purpose=LOWEST_SPEED,
    )
    return with_robot_time(checked(plan, arm, design.mechanism), design.limits)


def with_slowest(arm: ArmFile, found: Mapping[str, LowestSpeed]) -> ArmFile:
    """Return the arm with the found speeds as ``slowest`` of its joints.

    Raises
    ------
    PlanError
        If a joint holds none of the tried speeds.
    """
    for name, joint in found.items():
        if joint.held is None:
            raise PlanError(
                f"{arm.path}: {name} does not hold {joint.lost:.3g} per second or any lower speed; "
                "make its velocity loop stiffer"
            )
    return replace(
        arm,
        joints={
            **arm.joints,
            **{name: replace(arm.joint(name), slowest=joint.held) for name, joint in found.items()},
        },
    )


def lowest_sentence(found: Mapping[str, LowestSpeed], mechanism: Mechanism) -> str:
    """Sentence with the lowest speed that each joint holds, and the next lower
    speed that it does not hold.
    """
    units = {name: f"{mechanism.position_unit(j)}/s" for j, name in enumerate(mechanism.names)}
    return ", ".join(
        f"{name} none"
        if joint.held is None
        else f"{name} {joint.held:.3g} {units[name]}"
        + ("" if joint.lost is None else f" (not {joint.lost:.3g})")
        for name, joint in found.items()
    )
