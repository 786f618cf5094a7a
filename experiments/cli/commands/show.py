"""Commands that show or convert: export, report, loads."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stribeck.experiments.cli.common import JsonOption, console, out_option, print_json

if TYPE_CHECKING:
    from stribeck.ident.arrays import Array
    from stribeck.ident.model.mechanism import Mechanism


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command()(export)
    app.command()(report)
    app.command()(loads)


def export(source: Annotated[Path, typer.Argument(metavar="CALIBRATION|RUN", help="Calibration (file or folder) or run folder.")],
           to: Annotated[str, typer.Option("--to", help="Calibration: urdf, mjcf, sdf, json, csv, ros2 (parameters), c (header), "
                                                        "vendor (fields of a drive), or a plug-in's. Run: csv, parquet, "
                                                        "mcap.")],
           out: Annotated[Path | None, out_option("File to write; default beside the source.")] = None,
           into: Annotated[Path | None, typer.Option(help="URDF, MJCF or SDF of the arm that a copy of is given the friction; "
                                                          "default: the calibration's model.")] = None,
           offset: Annotated[bool, typer.Option("--offset", help="Calibration to c: with each joint's torque offset as part of "
                                                                 "its friction.")] = False) -> None:
    """Write a calibration or a run for other software; says what the target cannot express."""
    from stribeck.ident.errors import InputError
    from stribeck.ident.log.run import RECORD

    source = _only_run(source, to)
    if (source / RECORD).is_file():
        from stribeck.experiments.exporters.run_formats import export_run

        if into is not None:
            raise InputError(f"--into {into}: a run is not written into a model; export the calibration that was fitted to it")
        if offset:
            raise InputError("--offset: a run has no torque offset; export the calibration that was fitted to it")
        target, losses = export_run(source, to, out)
    else:
        target, losses = _export_calibration(source, to, out, into, offset)
    text = console()
    for line in losses:
        text.print(f"export    {line}")
    text.print(f"wrote     {target}")


def _only_run(source: Path, to: str) -> Path:
    """The run of a campaign that has no calibration, as an import makes it, where a run is wanted."""
    from stribeck.experiments.exporters.run_formats import RUN_EXPORTS
    from stribeck.ident.errors import InputError
    from stribeck.ident.log.campaign_folder import campaign_runs

    if to not in RUN_EXPORTS or not source.is_dir() or (source / "calibration.toml").exists():
        return source
    runs = campaign_runs(source)
    if len(runs) > 1:
        raise InputError(f"{source}: holds {len(runs)} runs; name the one to export: {', '.join(map(str, runs))}")
    return runs[0] if runs else source


def _export_calibration(source: Path, to: str, out: Path | None, into: Path | None, offset: bool) -> tuple[Path, tuple[str, ...]]:
    from stribeck.ident.calibration.calibration import Calibration
    from stribeck.ident.errors import InputError
    from stribeck.ident.export.formats import export as export_model
    from stribeck.ident.whole_files import write_whole

    if offset and to != "c":
        raise InputError(f"--offset: {to} has no place for a torque beside friction, or holds the offset as a number of its own; "
                         "c takes it")
    loaded = Calibration.load(source)
    if offset:
        loaded = loaded.with_offset()
    result = export_model(loaded, to, into)
    target = out or loaded.folder / f"{loaded.arm}.calibrated{result.suffix}"
    if target.exists():
        raise InputError(f"{target} exists; choose another --out")
    write_whole(target, result.text)
    return target, result.losses


def report(folder: Annotated[Path, typer.Argument(metavar="DIR", help="Campaign folder with runs/.")],
           out: Annotated[Path | None, out_option("Folder for report.html; default DIR.")] = None) -> None:
    """One self-contained HTML page about a campaign."""
    from stribeck.experiments.methods.warm_up import run_notes
    from stribeck.experiments.report.page import write_report
    from stribeck.ident.calibration.calibration import Calibration
    from stribeck.ident.fit.joint.options import Options
    from stribeck.ident.identify import identify
    from stribeck.ident.log.campaign_folder import find_runs
    from stribeck.ident.log.run import FITTED, load_run

    runs = [load_run(path) for path in find_runs(folder, FITTED)]
    options, created = Options(), None
    if (folder / "calibration.toml").is_file():
        loaded = Calibration.load(folder)
        chosen = {key: loaded.fit[key] for key in ("law", "load", "motion", "directional", "drift", "loss") if key in loaded.fit}
        options, created = Options(**chosen, torque_basis=loaded.torque_basis), loaded.created
    target = out or folder
    target.mkdir(parents=True, exist_ok=True)
    console().print(f"wrote     {write_report(identify(runs, options, created), target, run_notes(runs))}")


def loads(model: Annotated[str, typer.Argument(metavar="MODEL", help="Arm, URDF, MJCF, mechanism, or a built-in name.")],
          q: Annotated[str | None, typer.Option("--q", help="Positions of the driven joints, by commas; default zero.")] = None,
          dq: Annotated[str | None, typer.Option("--dq", help="Their velocities; default zero.")] = None,
          ddq: Annotated[str | None, typer.Option("--ddq", help="Their accelerations; default zero.")] = None,
          motion: Annotated[Path | None, typer.Option(help="CSV with t and q.NAME of the driven joints, and dq.NAME, ddq.NAME where "
                                                           "known: loads along it.")] = None,
          out: Annotated[Path | None, out_option("With --motion: CSV to write; default MODEL.loads.csv.")] = None,
          as_json: JsonOption = False) -> None:
    """Joint loads of a posture, of a motion through it, or along a motion."""
    import numpy as np

    from stribeck.experiments.cli.screen.tables import fitted
    from stribeck.experiments.cli.screen.text import cut_joints_table, loads_table
    from stribeck.ident.arm.load_mechanism import load_mechanism
    from stribeck.ident.errors import InputError
    from stribeck.ident.model.driven.driving_torques import drive
    from stribeck.ident.model.loads import LOADS

    mechanism = load_mechanism(model)
    if motion is not None:
        from stribeck.experiments.cli.commands.motions import loads_along

        if q or dq or ddq:
            raise InputError("--motion says the posture; leave out --q, --dq and --ddq")
        loads_along(mechanism, motion, out, as_json)
        return
    if out is not None:
        raise InputError("--out is for loads along a motion; give --motion FILE, too")
    state = [joint_values(text, option, mechanism) for text, option in ((q, "--q"), (dq, "--dq"), (ddq, "--ddq"))]
    posture, driving = drive(mechanism, *state)
    values = {name: {load: float(driving.loads.get(load)[0, j]) for load in LOADS if np.isfinite(driving.loads.get(load)[0, j])}
              for j, name in enumerate(mechanism.names)}
    tau = {mechanism.names[j]: float(driving.tau[0, j]) for j in mechanism.active}
    friction = {mechanism.names[j]: float(driving.friction[0, j]) for j in range(mechanism.n) if driving.friction[0, j]}
    outside = np.flatnonzero((posture < mechanism.position[:, 0]) | (posture > mechanism.position[:, 1]))
    cut = {} if driving.closed is None else {
        closure.name: {"force": _told(driving.closed.force[0, k]), "moment": _told(driving.closed.moment[0, k])}
        for k, closure in enumerate(mechanism.closures)}
    shared = [name for name, row in values.items() if not {"radial", "axial", "bending"} <= set(row)]
    if as_json:
        closed = {} if driving.closed is None else {"cut_joints": cut, "condition": float(driving.closed.condition[0])}
        print_json({"model": mechanism.name, "q": posture.tolist(), "loads": values, "tau": tau, "friction": friction,
                    "outside_range": [mechanism.names[j] for j in outside], **closed,
                    **({"not_determined": shared} if shared else {})})
        return
    text = console()
    text.print(fitted(loads_table(mechanism, posture, values, tau, friction), text.width))
    for j in outside:
        (low, high), place = mechanism.position[j], mechanism.position_unit(int(j))
        text.print(f"note: {mechanism.names[j]} = {posture[j]:.4f} {place} is outside its range, {low:.4f} to {high:.4f} {place}",
                   soft_wrap=True)
    if driving.closed is not None:
        text.print(fitted(cut_joints_table(cut), text.width))
        text.print(f"loops closed; condition number {driving.closed.condition[0]:.3g}")
    if shared:
        text.print(f"loads of {', '.join(shared)} that are not shown depend on how overconstrained loops share what acts "
                   "across them, which rigid bodies do not tell")


def _told(vector: "Array") -> "list[float | None]":
    """Components that are determined; None for the others."""
    return [float(value) if math.isfinite(value) else None for value in vector]


def joint_values(text: str | None, option: str, mechanism: "Mechanism") -> "Array":
    """Values of the driven joints from the command line."""
    import numpy as np

    from stribeck.ident.errors import InputError

    names = [mechanism.names[j] for j in mechanism.active]
    try:
        values = [float(part) for part in text.split(",")] if text else [0.0] * len(names)
    except ValueError:
        raise InputError(f"{option} {text}: numbers separated by commas are needed") from None
    if len(values) != len(names):
        raise InputError(f"{option} has {len(values)} values, {mechanism.name} has {len(names)} "
                         f"{'driven ' if mechanism.passive else ''}joints: {', '.join(names)}")
    return np.array(values)
