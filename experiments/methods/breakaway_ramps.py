"""Breakaway: after a rest, the torque of one joint grows until the joint moves, in both
directions and several postures.
"""

import numpy as np

from stribeck.experiments.errors import PlanError
from stribeck.experiments.plans.check_plan import checked
from stribeck.experiments.plans.clear.clearance import in_reach, ways_are_clear
from stribeck.experiments.plans.constant_speed_options import ConstantSpeed
from stribeck.experiments.plans.margins import (
    MAX_GRAVITY_SHARE,
    PLANNED_SHARE,
    gravity_share,
    strokes_share,
)
from stribeck.experiments.plans.motion_profile import MOVE_SHARE, with_robot_time
from stribeck.experiments.plans.order import Writer
from stribeck.experiments.plans.plan import Plan, Segment
from stribeck.experiments.plans.speeds_and_postures import Design
from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.log.run import BREAKAWAY, arm_sha256

METHOD = "breakaway from rest under a growing torque"
DWELLS = (1.0, 4.0, 1.0, 4.0)  # rest before the ramps in successive postures [s]
_RAMP_TIME = 60.0  # time of a ramp from zero to the torque limit [s]
# usual over predicted time of a plan: joints break loose far below their torque limit
USUAL = 0.2
# rad or m of clearance to position limits: a joint moves a little after breakaway
_AWAY = 0.05
_CANDIDATES = 200  # number of random postures


def plan_breakaway(arm: ArmFile, joints: tuple[str, ...] | None = None, seed: int = 0) -> Plan:
    """Make a plan of torque ramps of some or all joints, checked against all limits.

    Parameters and errors as in `one_joint_at_a_time.plan_constant_speed`.
    """
    design = Design.of(arm, joints, ConstantSpeed())
    names, home, writer = (
        design.mechanism.names,
        arm.home(design.mechanism),
        Writer(design.mechanism.names),
    )
    rng = np.random.default_rng(seed)
    (low, high), (least, most) = design.room, design.limits.position.T
    low, high = np.maximum(low, least + _AWAY), np.minimum(high, most - _AWAY)
    tight = np.flatnonzero(low > high)
    if len(tight):
        name, unit = names[tight[0]], design.mechanism.position_unit(tight[0])
        raise PlanError(
            f"{arm.path}: joint {name} has no position at least {_AWAY:g} {unit} from both limits, "
            f"to break loose and stop; widen joints.{name}.position"
        )
    drawn = rng.uniform(low, high, (_CANDIDATES, len(home)))
    if design.mechanism.chain is not None:
        drawn = in_reach(arm, design.mechanism, home, drawn, rng)
    drawn = drawn[
        (gravity_share(design.mechanism, design.limits, drawn) <= MAX_GRAVITY_SHARE).all(axis=1)
    ]
    share = strokes_share(
        design.mechanism,
        design.limits,
        np.broadcast_to(home, drawn.shape),
        drawn - home,
        MOVE_SHARE * design.limits.velocity,
    )
    drawn = drawn[(share <= PLANNED_SHARE).all(axis=1)]
    free = (
        drawn[ways_are_clear(arm, design.mechanism, np.broadcast_to(home, drawn.shape), drawn)]
        if len(drawn)
        else drawn
    )
    if len(free) < len(DWELLS):
        raise PlanError(
            f"{arm.path}: only {len(free)} of {_CANDIDATES} random postures can be reached from "
            f"home and leave at least a tenth of every torque limit beside gravity; {len(DWELLS)} "
            "are needed. Widen the workspace box, or raise joints.NAME.torque if the drives allow"
        )
    for number, (posture, dwell) in enumerate(zip(free, DWELLS, strict=False), start=1):
        writer.move(home, 0)
        writer.move(posture, number)
        target = writer.segments[-1].target
        for j in design.active:
            for sign in (1.0, -1.0):
                rate = round(sign * float(design.limits.torque[j]) / _RAMP_TIME, 6)
                writer.segments.append(
                    Segment(
                        len(writer.segments),
                        "ramp",
                        target,
                        number,
                        names[j],
                        rate=rate,
                        dwell=dwell,
                    )
                )
    writer.move(home, 0)
    plan = Plan(
        arm.name,
        arm_sha256(arm),
        METHOD,
        seed,
        names,
        tuple(home.tolist()),
        tuple(writer.segments),
        purpose=BREAKAWAY,
    )
    return with_robot_time(checked(plan, arm, design.mechanism), design.limits)
