"""Commands about motions of a mechanism: simulate; and loads along a motion."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stribeck.experiments.cli.common import JsonOption, console, out_option, print_json

if TYPE_CHECKING:
    from stribeck.experiments.motions.motion_table import MotionTable
    from stribeck.ident.arrays import Array
    from stribeck.ident.model.mechanism import Mechanism


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command()(simulate)


def simulate(model: Annotated[str, typer.Argument(metavar="MODEL", help="Arm, URDF, MJCF, mechanism, or a built-in name.")],
             torque: Annotated[Path | None, typer.Option(help="CSV with t and tau.NAME of the driven joints, linear between rows: "
                                                              "the motion under them.")] = None,
             motion: Annotated[Path | None, typer.Option(help="CSV with t and q.NAME of the driven joints, and dq.NAME, ddq.NAME "
                                                              "where known: the torques that it takes, friction "
                                                              "included.")] = None,
             out: Annotated[Path | None, out_option("CSV to write; default MODEL.simulated.csv.")] = None,
             q: Annotated[str | None, typer.Option("--q", help="With --torque: positions of the driven joints at the start, by commas; "
                                                               "default: the file's first row, else zero.")] = None,
             dq: Annotated[str | None, typer.Option("--dq", help="Their velocities.")] = None,
             tolerance: Annotated[float, typer.Option(help="With --torque: error of a step, in rad or lengths, and per "
                                                           "second.")] = 1e-8,
             as_json: JsonOption = False) -> None:
    """Motion under given torques, or torques of a given motion, of arms, closed chains and elastic joints, with friction."""
    from stribeck.experiments.motions.motion_table import read_motion
    from stribeck.ident.arm.load_mechanism import load_mechanism
    from stribeck.ident.errors import InputError

    if (torque is None) == (motion is None):
        raise InputError("give either --torque FILE or --motion FILE")
    if motion is not None and (q is not None or dq is not None):
        raise InputError("--q and --dq say where a motion under --torque starts; with --motion the file says it")
    mechanism = load_mechanism(model)
    target = out or Path(f"{mechanism.name}.simulated.csv")
    _refuse_existing(target)
    table = read_motion(torque or motion or Path(), mechanism)
    if motion is not None:
        _torques_of(mechanism, table, target, as_json)
    else:
        from stribeck.experiments.cli.commands.show import joint_values

        start = [None if text is None else joint_values(text, option, mechanism) for text, option in ((q, "--q"), (dq, "--dq"))]
        _motion_of(mechanism, table, target, start, tolerance, as_json)


def _torques_of(mechanism: "Mechanism", table: "MotionTable", target: Path, as_json: bool) -> None:
    import numpy as np

    from stribeck.experiments.motions.motion_table import write_motion
    from stribeck.experiments.motions.moved_mechanism import motion_columns, torque_for

    found = torque_for(mechanism, table)
    write_motion(target, found.t, motion_columns(mechanism, found.q, found.dq, found.ddq, found.driving.tau))
    largest, rubbed = ({mechanism.names[j]: float(np.abs(values[:, j]).max()) for j in mechanism.active}
                       for values in (found.driving.tau, found.driving.friction))
    if as_json:
        print_json({"model": mechanism.name, "rows": len(found.t), "largest": largest, "largest_friction": rubbed,
                    "out": str(target)})
        return
    text = console()
    for j in mechanism.active:
        name, unit = mechanism.names[j], mechanism.unit(j)
        text.print(f"torque    {name}: at most {largest[name]:.4g} {unit}, friction {rubbed[name]:.4g} {unit}")
    text.print(f"wrote     {target}: {len(found.t)} rows")


def _motion_of(mechanism: "Mechanism", table: "MotionTable", target: Path, start: "list[Array | None]", tolerance: float,
               as_json: bool) -> None:
    import numpy as np

    from stribeck.experiments.motions.motion_table import write_motion
    from stribeck.experiments.motions.moved_mechanism import energy_error, motion_columns, motion_under

    found = motion_under(mechanism, table, *start, tolerance)
    error = energy_error(mechanism, found)
    write_motion(target, found.t, motion_columns(mechanism, found.q, found.dq, found.ddq, found.tau))
    work = {"drives": float(found.driven[-1]), "friction": float(found.rubbed[-1]), "damping": float(found.damped[-1])}
    outside = [j for j in range(mechanism.n) if (found.q[:, j] < mechanism.position[j, 0]).any()
               or (found.q[:, j] > mechanism.position[j, 1]).any()]
    if as_json:
        print_json({"model": mechanism.name, "rows": len(found.t), "events": [vars(event) for event in found.events], "work_J": work,
                    "energy_error": error, "last": dict(zip(mechanism.names, found.q[-1].tolist(), strict=True)),
                    "outside_range": [mechanism.names[j] for j in outside], "out": str(target)})
        return
    text = console()
    for j in mechanism.active:
        text.print(f"motion    {mechanism.names[j]}: from {found.q[0, j]:.6g} to {found.q[-1, j]:.6g} {mechanism.position_unit(j)}, "
                   f"within {found.q[:, j].min():.6g} and {found.q[:, j].max():.6g}")
    if found.events:
        counts = {what: sum(event.what == what for event in found.events) for what in ("sticks", "breaks loose", "turns back")}
        text.print(f"friction  {', '.join(f'{what} {count} times' for what, count in counts.items() if count)}; first "
                   f"{found.events[0].joint} at {found.events[0].t:.6g} s")
    text.print(f"energy    drives {work['drives']:.6g} J, friction {work['friction']:.6g} J, damping {work['damping']:.6g} J; "
               f"in balance to {error:.0e}")
    for j in outside:
        (low, high), place = mechanism.position[j], mechanism.position_unit(j)
        first = float(found.t[np.argmax((found.q[:, j] < low) | (found.q[:, j] > high))])
        text.print(f"note      {mechanism.names[j]} leaves its range, {low:.4f} to {high:.4f} {place}, at t = {first:g} s; stops are not "
                   "simulated")
    text.print(f"wrote     {target}: {len(found.t)} rows")


def loads_along(mechanism: "Mechanism", motion: Path, out: Path | None, as_json: bool) -> None:
    """Loads along a motion, written as a table, and the range of each."""
    import numpy as np

    from stribeck.experiments.motions.motion_table import read_motion, write_motion
    from stribeck.experiments.motions.moved_mechanism import load_columns, motion_columns, torque_for

    target = out or Path(f"{mechanism.name}.loads.csv")
    _refuse_existing(target)
    found = torque_for(mechanism, read_motion(motion, mechanism))
    columns = load_columns(mechanism, found.driving)
    write_motion(target, found.t, motion_columns(mechanism, found.q, found.dq, found.ddq, found.driving.tau) | columns)
    ranges = {name: [float(np.nanmin(values)), float(np.nanmax(values))] for name, values in columns.items()}
    if as_json:
        print_json({"model": mechanism.name, "rows": len(found.t), "ranges": ranges, "out": str(target)})
        return
    text = console()
    for name in mechanism.names:
        said = [f"{load} {low:.4g} ... {high:.4g}" for load, (low, high) in
                ((key.partition(".")[0], value) for key, value in ranges.items() if key.partition(".")[2] == name) if high > 0.0]
        if said:
            text.print(f"loads     {name}: {', '.join(said)}")
    text.print(f"wrote     {target}: {len(found.t)} rows")


def _refuse_existing(target: Path) -> None:
    """Before anything is computed."""
    from stribeck.ident.errors import InputError

    if target.exists():
        raise InputError(f"{target} exists; choose another --out")
