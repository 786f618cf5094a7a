"""Console text about plans: sentences and tables."""

from typing import TYPE_CHECKING

import numpy as np
from rich import box
from rich.table import Table

from stribeck.experiments.cli.screen.text import clock, position_units
from stribeck.experiments.methods.breakaway_ramps import USUAL
from stribeck.experiments.methods.small_round_trips import planned_amplitudes
from stribeck.experiments.plans.clear.clearance import relied_on
from stribeck.experiments.plans.forecast import richest
from stribeck.experiments.plans.motion_profile import corner_points, motion_profile
from stribeck.experiments.report.words import listed
from stribeck.ident.log.run import PRESLIDING

if TYPE_CHECKING:
    from stribeck.experiments.plans.plan import Plan
    from stribeck.ident.arm.arm_file import ArmFile
    from stribeck.ident.model.mechanism import Mechanism


def plan_line(plan: "Plan", room: float, mechanism: "Mechanism") -> str:
    """Return a line about the plan: motion, robot time, clearance."""
    unit = position_units(mechanism)
    every = [(start, segment) for start, segment in plan.legs() if segment.kind != "move"]
    if all(segment.kind == "ramp" for _, segment in every):
        return (
            f"{plan.method}: {len(every)} ramps in "
            f"{len({segment.posture for _, segment in every})} postures, at most "
            f"{clock(plan.robot_time)} of robot time, usually {clock(USUAL * plan.robot_time)}; "
            f"smallest clearance to a joint limit {room:.2f} {unit}"
        )
    if all(segment.kind == "swing" for _, segment in every):
        moving = [
            name
            for j, name in enumerate(plan.names)
            if any(segment.target[j] != start[j] for start, segment in every)
        ]
        who = "all joints" if len(moving) == len(plan.names) else ", ".join(moving)
        return (
            f"{plan.method}: {who} back and forth{' together' * (len(moving) > 1)} in {len(every)} "
            f"places, {clock(plan.robot_time)} of robot time; smallest clearance to a joint limit "
            f"{room:.2f} {unit}"
        )
    if plan.purpose == PRESLIDING:
        return small_line(plan, room, mechanism)
    if all(segment.kind == "wave" for _, segment in every):
        return waves_line(plan, room, unit)
    strokes = [(start, segment) for start, segment in every if not segment.reference] or every
    speeds, whole = (
        np.array([segment.speeds(start, plan.names) for start, segment in some])
        for some in (strokes, every)
    )
    postures = {segment.posture for _, segment in strokes}
    trips, in_all = (int(np.count_nonzero(some, axis=0).max()) // 2 for some in (speeds, whole))
    again = f" and {in_all - trips} for reference" if in_all > trips else ""
    slow, fast = speeds[speeds > 0.0].min(), speeds.max()
    together = (
        "all joints together, " if any(segment.kind == "sweep" for _, segment in strokes) else ""
    )
    places = "1 posture" if len(postures) == 1 else f"{len(postures)} postures"
    return (
        f"{together}{places}, {trips} round trips a joint from {slow:.3f} to {fast:.2f} "
        f"{position_units(mechanism, '/s')}{again}, {clock(plan.robot_time)} of robot time; "
        f"smallest clearance to a joint limit {room:.2f} {unit}"
    )


def waves_line(plan: "Plan", room: float, unit: str) -> str:
    """Return a line about a plan of periodic motion."""
    start, segment = next(leg for leg in plan.legs() if leg[1].wave)
    assert segment.wave is not None
    moving = [name for name, moves in zip(plan.names, segment.moving(start), strict=True) if moves]
    who = "all joints together" if len(moving) == len(plan.names) else ", ".join(moving)
    periods = f"{segment.wave.periods} periods" if segment.wave.periods > 1 else "1 period"
    return (
        f"{plan.method}: {who}, {periods} of {segment.wave.period:.3g} s with "
        f"{len(segment.wave.sines[0])} harmonics, {clock(plan.robot_time)} of robot time; smallest "
        f"clearance to a joint limit {room:.2f} {unit}"
    )


def small_line(plan: "Plan", room: float, mechanism: "Mechanism") -> str:
    """Return a line about a plan of small round trips: half amplitudes of joints with
    the same unit, and places.
    """
    every = planned_amplitudes(plan)
    halves: dict[str, list[float]] = {}
    for name, amplitudes in every.items():
        halves.setdefault(mechanism.position_unit(plan.names.index(name)), []).extend(amplitudes)
    reach = " and ".join(
        f"from {min(some):.3g} to {max(some):.3g} {unit}" for unit, some in halves.items()
    )
    who = f"{len(every)} joints" if len(every) > 1 else next(iter(every))
    places = len({segment.posture for segment in plan.segments if segment.kind == "swing"})
    return (
        f"{plan.method}: {who}, {places} {'places' if places > 1 else 'place'}, half amplitudes "
        f"{reach}, {clock(plan.robot_time)} of robot time; smallest clearance to a joint limit "
        f"{room:.2f} {position_units(mechanism)}"
    )


def coupled_lines(plan: "Plan", mechanism: "Mechanism") -> list[str]:
    """Return a line for each motor that moves several joints: how the plan separates
    its friction from theirs.
    """
    coupled, lines = mechanism.transmission, list[str]()
    if coupled is None:
        return lines
    for motor in coupled.shared:
        moved = [coupled.names[j] for j in np.flatnonzero(coupled.ratios[motor])]
        of = f"the motor of {coupled.names[motor]} moves {listed(moved)}"
        if len(moved) > 2:
            lines.append(
                f"{of}: its friction cannot be separated from that of more than two joints and is "
                "part of it"
            )
        elif any(segment.kind == "sweep" for segment in plan.segments):
            lines.append(
                f"{of}: these joints move at unequal speeds, which separates the friction of the "
                "motor from theirs"
            )
        else:
            lines.append(
                f"{of}: joints that move alone do not separate its friction from theirs; --method "
                "whole-arm does"
            )
    return lines


def margin_line(plan: "Plan", arm: "ArmFile") -> str:
    """Return a line about the smallest margin of a closed chain to a singular posture."""
    return (
        f"smallest margin to a singular posture {plan.singular_margin:.2f} (home 1, singular 0); "
        f"at least {arm.workspace.singular_margin:g} is kept (workspace.singular_margin)"
    )


def checked_against(arm: "ArmFile", mechanism: "Mechanism") -> str:
    """Return a sentence that names the limits and shapes against which a plan is checked."""
    return (
        "checked against the limits and "
        f"{' and '.join(relied_on(arm, mechanism)) or 'nothing else, as neither a box nor geometry is stated'}"
    )


def motion_table(plans: "list[Plan]", arm: "ArmFile", mechanism: "Mechanism") -> Table:
    """Return a table of range and speed of each joint beside its limits."""
    limits, legs = arm.limits(mechanism), [leg for plan in plans for leg in plan.legs()]
    places = np.concatenate([corner_points(start, segment) for start, segment in legs])
    ways = [
        np.ones(mechanism.n) if segment.wave else np.abs(np.array(segment.target) - start)
        for start, segment in legs
    ]
    fastest = np.max(
        [
            way * motion_profile(start, segment, mechanism.names, limits).fastest
            for way, (start, segment) in zip(ways, legs, strict=True)
        ],
        axis=0,
    )
    table = Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        title=f"{arm.name} will move",
        title_justify="left",
        title_style="",
    )
    for heading in ("joint", "from", "to", "limits", "at up to", "limit", "torque limit"):
        table.add_column(heading, justify="left" if heading == "joint" else "right")
    for j, name in enumerate(mechanism.names):
        x, (low, high) = mechanism.position_unit(j), limits.position[j]
        table.add_row(
            name,
            f"{places[:, j].min():.3f}",
            f"{places[:, j].max():.3f} {x}",
            f"{low:g} … {high:g} {x}",
            f"{fastest[j]:.3f}",
            f"{limits.velocity[j]:g} {x}/s",
            f"{limits.torque[j]:g} {mechanism.unit(j)}",
        )
    return table


def spread_table(
    spread: dict[str, dict[str, tuple[float, float]]], mechanism: "Mechanism"
) -> Table:
    """Return a table of the least and greatest value of every load over
    the strokes of each joint.
    """
    table = Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        title="load spread over the plan",
        title_justify="left",
        title_style="",
    )
    kinds = list(dict.fromkeys(kind for loads in spread.values() for kind in loads))
    drive = " or ".join(sorted({mechanism.unit(mechanism.names.index(joint)) for joint in spread}))
    units = {"torque": drive, "bending": "N·m", "radial": "N", "axial": "N", "normal": drive}
    table.add_column("joint")
    for kind in kinds:
        table.add_column(f"{kind} {units[kind]}", justify="right")
    for joint, loads in spread.items():
        cells = []
        for kind in kinds:
            low, high = loads.get(kind, (float("nan"),) * 2)
            varies = high - low > 0.05 * max(high, 1e-9)
            cells.append(
                "-" if low != low else f"{low:.1f} ... {high:.1f}" if varies else f"{high:.1f}"
            )
        table.add_row(joint, *cells)
    return table


def forecast_table(plan: "Plan", target: float) -> Table:
    """Return a table of the expected 95 % half widths of each joint, in per cent."""
    table = Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        title="expected 95 % intervals (± %), for the load model that is hardest to identify",
        title_justify="left",
        title_style="",
    )
    names = (
        "coulomb",
        "static",
        "stribeck_velocity",
        "viscous",
        "coulomb_coefficient",
        "static_coefficient",
    )
    for heading in (
        "joint",
        "load",
        "friction",
        "Coulomb",
        "static",
        "w_s",
        "viscous",
        "Coulomb/load",
        "static/load",
        "round trips",
        f"needed for {100.0 * target:g} %",
    ):
        table.add_column(heading, justify="left" if heading in ("joint", "load") else "right")
    worst = richest(plan.predicted)
    for told in (worst[name] for name in plan.names if name in worst):
        cells = [told.friction, *(told.parameters.get(name) for name in names)]
        table.add_row(
            told.joint,
            told.load,
            *("-" if cell is None else f"{100.0 * cell:.1f}" for cell in cells),
            str(told.round_trips),
            str(told.needed(target)),
        )
    return table
