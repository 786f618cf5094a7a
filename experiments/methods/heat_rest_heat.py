"""Motion that heats, rests and heats again: shows how friction depends on temperature, or on
self-heating without sensors.

The whole arm makes round trips around home at interleaved speeds, so that temperature is not tied
to speed. While a joint only warms up, temperature looks like running-in or any other drift with
time. After a rest, friction returns with temperature, but not with time.
"""

import numpy as np

from stribeck.experiments.methods.whole_arm import WHOLE_ARM, sweep
from stribeck.experiments.plans.check_plan import checked
from stribeck.experiments.plans.constant_speed_options import Trip
from stribeck.experiments.plans.free_way import free_way
from stribeck.experiments.plans.motion_profile import DWELL, with_robot_time
from stribeck.experiments.plans.order import Writer
from stribeck.experiments.plans.plan import Plan, Segment
from stribeck.experiments.plans.speeds_and_postures import Design
from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.errors import InputError
from stribeck.ident.log.run import arm_sha256

METHOD = "round trips that heat, rest and heat"
TIME = 1800.0  # robot time by default [s]; a third of it is rest
# levels of the speeds: 0 is the fastest, 1 the slowest
LEVELS = (0.0, 0.1, 0.2, 0.35, 0.5, 0.75)
_LEAST = 2  # least number of rounds of all speeds before the rest, and after it


def plan_heat_rest_heat(
    arm: ArmFile, joints: tuple[str, ...] | None = None, seed: int = 0, time: float = TIME
) -> Plan:
    """Make the plan, checked against all limits.

    Parameters
    ----------
    arm, joints, seed
        As in `one_joint_at_a_time.plan_constant_speed`.
    time : float
        Wanted robot time [s].

    Raises
    ------
    PlanError
        As in `one_joint_at_a_time.plan_constant_speed`.
    InputError
        If the time is too short for two rounds of all speeds before and after the rest.
    """
    design = Design.of(arm, joints, WHOLE_ARM)
    home, rng = arm.home(design.mechanism), np.random.default_rng(seed)
    trips = []
    for level in LEVELS:
        way, speeds = sweep(design, design.at_level(level))
        way = free_way(design, home, way, np.random.default_rng(seed))
        trips.append(Trip(0, way, design.active[0], float(speeds[design.active[0]])))

    def plan(rounds: int, rest: float) -> Plan:
        writer = Writer(design.mechanism.names)
        writer.move(home, 0)
        for heat in range(2):
            for _ in range(rounds):
                for k in rng.permutation(len(trips)).tolist():
                    writer.round_trip(trips[k], 0, reference=k == 0)
            if heat == 0:
                writer.segments.append(
                    Segment(
                        len(writer.segments), "move", tuple(home.tolist()), 0, dwell=round(rest, 3)
                    )
                )
        return with_robot_time(
            Plan(
                arm.name,
                arm_sha256(arm),
                METHOD,
                seed,
                design.mechanism.names,
                tuple(home.tolist()),
                tuple(writer.segments),
            ),
            design.limits,
        )

    single = plan(1, time).robot_time - time - DWELL
    rounds = int(time / 3.0 // (single / 2.0))
    if rounds < _LEAST:
        raise InputError(
            f"{arm.path}: {time:.0f} s of robot time are too short to heat, rest and heat: "
            f"{_LEAST} rounds of {len(LEVELS)} speeds before and after the rest take "
            f"{1.5 * _LEAST * single:.0f} s with the rest; allow at least this time"
        )
    return checked(plan(rounds, time / 3.0), arm, design.mechanism)
