"""Console text about plans and results: sentences and tables."""

from typing import TYPE_CHECKING

import numpy as np
from rich import box
from rich.table import Table
from rich.text import Text

from stribeck.experiments.cli.screen.tables import COLOURS, fitted
from stribeck.experiments.methods.breakaway_ramps import USUAL
from stribeck.experiments.methods.small_round_trips import planned_amplitudes
from stribeck.experiments.plans.clear.clearance import relied_on
from stribeck.experiments.plans.forecast import richest
from stribeck.experiments.plans.motion_profile import corner_points, motion_profile
from stribeck.experiments.report.words import glance, listed, parameter_word, plus_minus
from stribeck.ident.log.run import PRESLIDING

if TYPE_CHECKING:
    from rich.console import RenderableType

    from stribeck.experiments.plans.plan import Plan
    from stribeck.ident.arm.arm_file import ArmFile
    from stribeck.ident.arrays import Array
    from stribeck.ident.calibration.calibration import Calibration
    from stribeck.ident.calibration.joint_calibration import JointCalibration
    from stribeck.ident.identify import Identification
    from stribeck.ident.model.mechanism import Mechanism


def clock(seconds: float) -> str:
    """Return a time as text, to the second."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if seconds >= 60.0 else f"{seconds:.1f} s"


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


def position_units(mechanism: "Mechanism", per: str = "") -> str:
    """Return the position units of all joints."""
    return " or ".join(
        sorted({mechanism.position_unit(j) + per for j in range(mechanism.n)}, reverse=True)
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


def loads_table(
    mechanism: "Mechanism",
    posture: "Array",
    values: dict[str, dict[str, float]],
    tau: dict[str, float],
    friction: dict[str, float],
) -> Table:
    """Return a table of the loads of each joint, with driving torques and
    friction if there are any.
    """
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("joint")
    drive = " or ".join(sorted({mechanism.unit(j) for j in range(mechanism.n)}))
    place = position_units(mechanism)
    headings = [
        f"q\n{place}",
        f"tau\n{drive}",
        *([f"friction\n{drive}"] if friction else []),
        f"torque\n{drive}",
        "bending\nN·m",
        "radial\nN",
        "axial\nN",
        f"normal\n{drive}",
    ]
    for heading in headings:
        table.add_column(heading, justify="right")
    for j, (name, row) in enumerate(values.items()):
        cells = [
            f"{posture[j]:.4f}",
            _cell(tau, name),
            *([_cell(friction, name)] if friction else []),
            *(_cell(row, load) for load in ("torque", "bending", "radial", "axial", "normal")),
        ]
        table.add_row(name, *cells)
    return table


def _cell(row: dict[str, float], key: str) -> str:
    return f"{row[key]:z.3f}" if key in row else "-"


def cut_joints_table(cut: "dict[str, dict[str, list[float | None]]]") -> Table:
    """Return a table of forces and moments in the joints at which loops are cut."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("cut joint")
    for quantity, unit in (("force", "N"), ("moment", "N·m")):
        for axis in "xyz":
            table.add_column(f"{quantity} {axis}\n{unit}", justify="right")
    for name, row in cut.items():
        table.add_row(
            name,
            *(
                "-" if value is None else f"{value:z.3f}"
                for value in (*row["force"], *row["moment"])
            ),
        )
    return table


def result_table(result: "Identification", width: int) -> "RenderableType":
    """Return the result: a line for each joint. In narrow terminals,
    further columns follow below.
    """
    tau = " or ".join(
        sorted({result.mechanism.unit(j) for j in range(result.mechanism.n)}, reverse=True)
    )
    w, x = position_units(result.mechanism, "/s"), position_units(result.mechanism)
    viscous = f"{tau}·s/{x}" if " " not in tau else "SI"
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in ("joint", "law", "load"):
        table.add_column(heading, no_wrap=True)
    shown = glance(result.calibration.joints.values())
    units = {"{tau}": tau, "{q}/s": w, "{tau}·s/{q}": viscous}
    columns = [
        (quantity.heading, units.get(quantity.unit, quantity.unit.format(tau=tau, q=x)))
        for quantity in shown
    ]
    for heading, unit in (*columns, ("load part", tau), ("held-out", tau)):
        table.add_column(f"{heading}\n{unit}", justify="right", no_wrap=True)
    table.add_column("verdict", min_width=14)
    for name in result.asked_for:
        joint = result.calibration.joints.get(name)
        if joint is None:
            table.add_row(
                name, *["-"] * (len(table.columns) - 2), Text("not calibrated", style="dim")
            )
            continue
        part = (
            "-"
            if joint.load_part is None
            else f"{joint.load_part[0]:.1f} ... {joint.load_part[2]:.1f}"
        )
        word = joint.verdict()
        table.add_row(
            name,
            joint.law.replace("coulomb-viscous", "coulomb-v."),
            joint.load,
            *(plus_minus(joint.parameters.get(quantity.name)) for quantity in shown),
            part,
            f"{joint.held_out_rmse:.2g}",
            Text.assemble(
                (word, COLOURS[word]),
                _weakest(joint, word),
                (", misfit" if name in result.calibration.fit.get("lack_of_fit", ()) else ""),
            ),
        )
    return fitted(table, width)


def _weakest(joint: "JointCalibration", word: str) -> str:
    """Return the parameters that cause the joint's verdict (unless it is "identified"), and effects
    that the data cannot show.
    """
    names = [
        name for name, p in joint.parameters.items() if p.value is not None and p.verdict == word
    ]
    said = "" if word == "identified" else f" ({', '.join(parameter_word(name) for name in names)})"
    hidden = [name for name, p in joint.parameters.items() if p.value is None]
    return (
        said
        + ("; load untested" if any("_coefficient" in name for name in hidden) else "")
        + ("; Stribeck effect untested" if "static" in hidden else "")
    )


def notes(calibration: "Calibration") -> list[str]:
    """Return the notes of all parameters, a line for each note of a joint."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, joint in calibration.joints.items():
        for parameter, entry in joint.parameters.items():
            if entry.note:
                found.setdefault((name, entry.note), []).append(parameter)
    return [
        f"{name}: {' and '.join(parameters)}: {note}" for (name, note), parameters in found.items()
    ]


def arm_line(arm: "ArmFile", mechanism: "Mechanism") -> str:
    """Return name, joints, driver and rate of the arm."""
    joints = f"{mechanism.n} joint{'s' if mechanism.n > 1 else ''}"
    return (
        f"arm {' '.join(filter(None, (arm.name, arm.serial)))} ({joints}, {arm.driver.kind}, "
        f"{arm.driver.rate:g} Hz)"
    )


def joint_page(page: "dict[str, dict[str, str]]") -> Table:
    """Return a table of texts with a row for each joint."""
    columns = list(dict.fromkeys(column for row in page.values() for column in row))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in ("joint", *columns):
        table.add_column(column)
    for joint, row in page.items():
        table.add_row(joint, *(row.get(column, "-") for column in columns))
    return table
