"""Commands about what a mechanism carries and how it moves: loads, simulate."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stribeck.experiments.cli.command_options import JsonOption, out_option
from stribeck.experiments.cli.common import console, print_json

if TYPE_CHECKING:
    from stribeck.experiments.cli.screen.console import Console
    from stribeck.experiments.motions.motion_table import MotionTable
    from stribeck.experiments.motions.simulated_friction import Moving
    from stribeck.ident.arrays import Array
    from stribeck.ident.model.driven.stick_slip_integration import ForwardMotion
    from stribeck.ident.model.mechanism import Mechanism

_NOTHING = 1e-9  # part of the greatest load that counts as zero


def loads(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="Arm, URDF, MJCF, mechanism, or a built-in name.")
    ],
    q: Annotated[
        str | None,
        typer.Option(
            "--q",
            metavar="VALUES",
            help="Positions of the driven joints, separated by commas. Default: zero.",
        ),
    ] = None,
    dq: Annotated[
        str | None,
        typer.Option(
            "--dq", metavar="VALUES", help="Velocities of the driven joints. Default: zero."
        ),
    ] = None,
    ddq: Annotated[
        str | None,
        typer.Option(
            "--ddq", metavar="VALUES", help="Accelerations of the driven joints. Default: zero."
        ),
    ] = None,
    motion: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="CSV of a motion: t and q.NAME of the driven joints, dq.NAME and ddq.NAME where "
            "known. Loads "
            "are computed along it.",
        ),
    ] = None,
    out: Annotated[
        Path | None, out_option("With --motion: CSV to write. Default: MODEL.loads.csv.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compute joint loads at a posture or along a motion."""
    from stribeck.ident.arm.load_mechanism import load_mechanism
    from stribeck.ident.errors import InputError

    mechanism = load_mechanism(model)
    if motion is not None:
        if q or dq or ddq:
            raise InputError("--motion states the postures; leave out --q, --dq and --ddq")
        _loads_along(mechanism, motion, out, as_json)
    elif out is not None:
        raise InputError("--out needs loads along a motion; give --motion FILE, too")
    else:
        state = [
            _joint_values(text, option, mechanism)
            for text, option in ((q, "--q"), (dq, "--dq"), (ddq, "--ddq"))
        ]
        _loads_at(mechanism, state, as_json)


def _loads_at(mechanism: "Mechanism", state: "list[Array]", as_json: bool) -> None:
    """Loads in one state, shown as tables."""
    import numpy as np

    from stribeck.experiments.cli.screen.tables import fitted
    from stribeck.experiments.cli.screen.text import cut_joints_table, loads_table
    from stribeck.ident.model.driven.driving_torques import drive
    from stribeck.ident.model.loads import LOADS

    posture, driving = drive(mechanism, *state)
    values = {
        name: {
            load: float(driving.loads.get(load)[0, j])
            for load in LOADS
            if np.isfinite(driving.loads.get(load)[0, j])
        }
        for j, name in enumerate(mechanism.names)
    }
    tau = {mechanism.names[j]: float(driving.tau[0, j]) for j in mechanism.active}
    friction = {
        mechanism.names[j]: float(driving.friction[0, j])
        for j in range(mechanism.n)
        if driving.friction[0, j]
    }
    outside = np.flatnonzero(
        (posture < mechanism.position[:, 0]) | (posture > mechanism.position[:, 1])
    )
    cut = (
        {}
        if driving.closed is None
        else {
            closure.name: {
                "force": _told(driving.closed.force[0, k]),
                "moment": _told(driving.closed.moment[0, k]),
            }
            for k, closure in enumerate(mechanism.closures)
        }
    )
    shared = [
        name for name, row in values.items() if not {"radial", "axial", "bending"} <= set(row)
    ]
    text = console(as_json)
    text.print(fitted(loads_table(mechanism, posture, values, tau, friction), text.width))
    for j in outside:
        (low, high), place = mechanism.position[j], mechanism.position_unit(int(j))
        text.print(
            f"note: {mechanism.names[j]} = {posture[j]:.4f} {place} is outside its range, "
            f"{low:.4f} to {high:.4f} {place}",
            soft_wrap=True,
        )
    if driving.closed is not None:
        text.print(fitted(cut_joints_table(cut), text.width))
        text.print(f"loops closed; condition number {driving.closed.condition[0]:.3g}")
    if shared:
        text.print(
            f"loads of {', '.join(shared)} that are not shown cannot be computed: rigid-body "
            "mechanics does not "
            "determine how an overconstrained loop shares the loads across its plane"
        )
    if as_json:
        closed = (
            {}
            if driving.closed is None
            else {"cut_joints": cut, "condition": float(driving.closed.condition[0])}
        )
        print_json(
            {
                "model": mechanism.name,
                "q": posture.tolist(),
                "loads": values,
                "tau": tau,
                "friction": friction,
                "outside_range": [mechanism.names[j] for j in outside],
                **closed,
                **({"not_determined": shared} if shared else {}),
            },
            (),
        )


def simulate(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="Arm, URDF, MJCF, mechanism, or a built-in name.")
    ],
    torque: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="CSV of driving torques: t and tau.NAME of the driven joints, linear between "
            "rows. The motion "
            "is computed.",
        ),
    ] = None,
    motion: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="CSV of a motion: t and q.NAME of the driven joints, dq.NAME and ddq.NAME where "
            "known. The "
            "driving torques are computed, friction included; elastic and hanging joints swing.",
        ),
    ] = None,
    out: Annotated[Path | None, out_option("CSV to write. Default: MODEL.simulated.csv.")] = None,
    q: Annotated[
        str | None,
        typer.Option(
            "--q",
            metavar="VALUES",
            help="With --torque: initial positions of the driven joints, separated by commas. "
            "Default: "
            "the first row of the file, else zero.",
        ),
    ] = None,
    dq: Annotated[
        str | None,
        typer.Option("--dq", metavar="VALUES", help="Initial velocities of the driven joints."),
    ] = None,
    calibration: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Friction of this calibration; joints that it lacks have the friction that the "
            "model's file "
            "states.",
        ),
    ] = None,
    tolerance: Annotated[
        float,
        typer.Option(
            metavar="ERROR",
            help="Error of a step of the motion, in rad or lengths, and per second.",
        ),
    ] = 1e-8,
    as_json: JsonOption = False,
) -> None:
    """Motion under given torques, or torques of a given motion, of arms, closed chains and
    elastic joints, with friction.
    """
    from stribeck.experiments.motions.motion_table import read_motion
    from stribeck.experiments.motions.simulated_friction import moving
    from stribeck.ident.arm.load_mechanism import load_mechanism
    from stribeck.ident.calibration.calibration import Calibration
    from stribeck.ident.errors import InputError

    if (torque is None) == (motion is None):
        raise InputError("give either --torque FILE or --motion FILE")
    if motion is not None and (q is not None or dq is not None):
        raise InputError(
            "--q and --dq state the start of a motion under --torque; leave them out with "
            "--motion, whose file states the start"
        )
    moved = moving(
        load_mechanism(model), None if calibration is None else Calibration.load(calibration)
    )
    mechanism = moved.mechanism
    target = out or Path(f"{mechanism.name}.simulated.csv")
    _refuse_existing(target)
    table = read_motion(torque or motion or Path(), mechanism)
    if motion is not None:
        _torques_of(moved, table, target, tolerance, as_json)
    else:
        from stribeck.experiments.motions.moved_mechanism import motion_under

        position, velocity = (
            None if text is None else _joint_values(text, option, mechanism)
            for text, option in ((q, "--q"), (dq, "--dq"))
        )
        found = motion_under(mechanism, table, position, velocity, tolerance)
        _show_motion(moved, found, target, as_json)


def _show_friction(moved: "Moving", text: "Console") -> None:
    """Print which friction and which rotors were simulated."""
    m = moved.mechanism
    if not moved.friction:
        text.print(
            "friction  none: the model states no friction; --calibration FILE adds the friction "
            "of a calibration"
        )
    for said, names in moved.words().items() if moved.friction else ():
        text.print(f"friction  {', '.join(names)}: {said}")
    if m.rotors is not None:
        text.print(
            "rotors    "
            + ", ".join(
                f"{m.names[j]} {m.rotors[j, j]:.4g} {'kg' if m.prismatic[j] else 'kg·m²'}"
                for j in range(m.n)
                if m.rotors[j, j]
            )
        )


def _acting(moved: "Moving") -> dict[str, object]:
    """Return friction and rotors for --json."""
    m = moved.mechanism
    return {
        "friction": {
            name: {
                "law": stated.law,
                "load": stated.load,
                "parameters": dict(stated.parameters),
                "source": moved.source[name],
            }
            for name, stated in moved.friction.items()
        },
        "rotors": {}
        if m.rotors is None
        else {m.names[j]: float(m.rotors[j, j]) for j in range(m.n) if m.rotors[j, j]},
    }


def _torques_of(
    moved: "Moving", table: "MotionTable", target: Path, tolerance: float, as_json: bool
) -> None:
    import numpy as np

    from stribeck.experiments.motions.motion_table import write_motion
    from stribeck.experiments.motions.moved_mechanism import (
        energy_error,
        motion_columns,
        torque_for,
    )

    mechanism = moved.mechanism
    found = torque_for(mechanism, table, tolerance)
    write_motion(
        target, found.t, motion_columns(mechanism, found.q, found.dq, found.ddq, found.driving.tau)
    )
    largest, rubbed = (
        {mechanism.names[j]: float(np.abs(values[:, j]).max()) for j in mechanism.active}
        for values in (found.driving.tau, found.driving.friction)
    )
    ranges = {
        mechanism.names[j]: [float(found.q[:, j].min()), float(found.q[:, j].max())]
        for j in found.swinging
    }
    error = None if found.swung is None else energy_error(mechanism, found.swung)
    text = console(as_json)
    for j in mechanism.active:
        name, unit = mechanism.names[j], mechanism.unit(j)
        text.print(
            f"torque    {name}: at most {largest[name]:.4g} {unit}, friction {rubbed[name]:.4g} "
            f"{unit}"
        )
    if ranges:
        name, (low, high) = max(ranges.items(), key=lambda item: item[1][1] - item[1][0])
        text.print(
            f"swinging  {len(ranges)} joints without a drive swing about their rest positions; "
            f"widest {name}, {low:.4g} ... {high:.4g}"
        )
        text.print(f"energy    in balance to {error:.0e}")
    _show_friction(moved, text)
    text.print(f"wrote     {target}: {len(found.t)} rows")
    if as_json:
        swung = {} if error is None else {"swinging": ranges, "energy_error": error}
        print_json(
            {
                "model": mechanism.name,
                "rows": len(found.t),
                "largest": largest,
                "largest_friction": rubbed,
                **swung,
                **_acting(moved),
            },
            [target],
        )


def _show_motion(moved: "Moving", found: "ForwardMotion", target: Path, as_json: bool) -> None:
    import numpy as np

    from stribeck.experiments.motions.motion_table import write_motion
    from stribeck.experiments.motions.moved_mechanism import energy_error, motion_columns

    mechanism = moved.mechanism
    error = energy_error(mechanism, found)
    write_motion(
        target, found.t, motion_columns(mechanism, found.q, found.dq, found.ddq, found.tau)
    )
    work = {
        "drives": float(found.driven[-1]),
        "friction": float(found.rubbed[-1]),
        "damping": float(found.damped[-1]),
    }
    outside = [
        j
        for j in range(mechanism.n)
        if (found.q[:, j] < mechanism.position[j, 0]).any()
        or (found.q[:, j] > mechanism.position[j, 1]).any()
    ]
    text = console(as_json)
    for j in mechanism.active:
        way = found.q[:, j]
        text.print(
            f"motion    {mechanism.names[j]}: from {way[0]:.6g} to {way[-1]:.6g} "
            f"{mechanism.position_unit(j)}, within {way.min():.6g} and {way.max():.6g}"
        )
    if found.events:
        counts = {
            what: sum(event.what == what for event in found.events)
            for what in ("sticks", "breaks loose", "turns back")
        }
        text.print(
            "events    "
            f"{', '.join(f'{what} {count} times' for what, count in counts.items() if count)}; "
            f"first {found.events[0].joint} at {found.events[0].t:.6g} s"
        )
    text.print(
        f"energy    drives {work['drives']:.6g} J, friction {work['friction']:.6g} J, damping "
        f"{work['damping']:.6g} J; in balance to {error:.0e}"
    )
    for j in outside:
        (low, high), place = mechanism.position[j], mechanism.position_unit(j)
        first = float(found.t[np.argmax((found.q[:, j] < low) | (found.q[:, j] > high))])
        text.print(
            f"note      {mechanism.names[j]} leaves its range, {low:.4f} to {high:.4f} {place}, at "
            f"t = {first:g} s; stops are not simulated"
        )
    _show_friction(moved, text)
    text.print(f"wrote     {target}: {len(found.t)} rows")
    if as_json:
        print_json(
            {
                "model": mechanism.name,
                "rows": len(found.t),
                "events": [vars(event) for event in found.events],
                "work_J": work,
                "energy_error": error,
                "last": dict(zip(mechanism.names, found.q[-1].tolist(), strict=True)),
                "outside_range": [mechanism.names[j] for j in outside],
                **_acting(moved),
            },
            [target],
        )


def _loads_along(mechanism: "Mechanism", motion: Path, out: Path | None, as_json: bool) -> None:
    """Loads along a motion, written as a table, and the range of each."""
    import numpy as np

    from stribeck.experiments.motions.motion_table import read_motion, write_motion
    from stribeck.experiments.motions.moved_mechanism import (
        load_columns,
        motion_columns,
        torque_for,
    )

    target = out or Path(f"{mechanism.name}.loads.csv")
    _refuse_existing(target)
    found = torque_for(mechanism, read_motion(motion, mechanism))
    columns = load_columns(mechanism, found.driving)
    write_motion(
        target,
        found.t,
        motion_columns(mechanism, found.q, found.dq, found.ddq, found.driving.tau) | columns,
    )
    ranges = {
        name: [float(np.nanmin(values)), float(np.nanmax(values))]
        for name, values in columns.items()
    }
    text, most = console(as_json), max((high for _, high in ranges.values()), default=0.0)
    for name in mechanism.names:
        said = [
            f"{load} {low:.4g} ... {high:.4g}"
            for load, (low, high) in (
                (key.partition(".")[0], value)
                for key, value in ranges.items()
                if key.partition(".")[2] == name
            )
            if high > _NOTHING * most
        ]
        if said:
            text.print(f"loads     {name}: {', '.join(said)}")
    text.print(f"wrote     {target}: {len(found.t)} rows")
    if as_json:
        print_json({"model": mechanism.name, "rows": len(found.t), "ranges": ranges}, [target])


def _refuse_existing(target: Path) -> None:
    """Before anything is computed."""
    from stribeck.ident.errors import InputError

    if target.exists():
        raise InputError(f"{target} exists; choose another --out")


def _told(vector: "Array") -> "list[float | None]":
    """Components that are determined; None for the others."""
    return [float(value) if math.isfinite(value) else None for value in vector]


def _joint_values(text: str | None, option: str, mechanism: "Mechanism") -> "Array":
    """Values of the driven joints from the command line."""
    import numpy as np

    from stribeck.ident.errors import InputError

    names = [mechanism.names[j] for j in mechanism.active]
    try:
        values = [float(part) for part in text.split(",")] if text else [0.0] * len(names)
    except ValueError:
        values = [math.nan]
    if not all(map(math.isfinite, values)):
        raise InputError(f"{option} {text}: finite numbers separated by commas are needed")
    if len(values) != len(names):
        raise InputError(
            f"{option} has {len(values)} values, {mechanism.name} has {len(names)} "
            f"{'driven ' if mechanism.passive else ''}joints: {', '.join(names)}"
        )
    return np.array(values)
