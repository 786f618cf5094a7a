"""Commands that show or convert: export, report, loads."""

from pathlib import Path
from typing import Annotated

import typer

from experiments.cli.common import JsonOption, console, print_json


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command()(export)
    app.command()(report)
    app.command()(loads)


def export(calibration: Annotated[Path, typer.Argument(metavar="CALIBRATION", help="Calibration file or its folder.")],
           to: Annotated[str, typer.Option("--to", help="urdf, mjcf or json.")],
           out: Annotated[Path | None, typer.Option("--out", "-o", help="File to write; default beside the calibration.")] = None,
           ) -> None:
    """Write a calibration for other software; says what the target cannot express."""
    from ident.calibration import Calibration
    from ident.errors import InputError
    from ident.export import export as exported_as

    loaded = Calibration.load(calibration)
    result = exported_as(loaded, to)
    target = out or loaded.folder / f"{loaded.arm}.calibrated{result.suffix}"
    if target.exists():
        raise InputError(f"{target} exists; choose another --out")
    target.write_text(result.text, encoding="utf-8")
    text = console()
    for line in result.losses:
        text.print(f"export    {line}")
    text.print(f"wrote     {target}")


def report(folder: Annotated[Path, typer.Argument(metavar="DIR", help="Campaign folder with runs/.")],
           out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder for report.html; default DIR.")] = None) -> None:
    """One self-contained HTML page about a campaign."""
    from experiments.report import write_report
    from ident.calibration import Calibration
    from ident.identify import Options, identify
    from ident.run import find_runs, load_run

    runs = [load_run(path) for path in find_runs(folder)]
    options, created = Options(), None
    if (folder / "calibration.toml").is_file():
        loaded = Calibration.load(folder)
        options, created = Options(loaded.fit.get("law", "auto"), loaded.fit.get("load", "auto")), loaded.created
    target = out or folder
    target.mkdir(parents=True, exist_ok=True)
    console().print(f"wrote     {write_report(identify(runs, options, created), target)}")


def loads(model: Annotated[str, typer.Argument(metavar="MODEL", help="Arm, URDF, MJCF, mechanism, or a built-in name.")],
          q: Annotated[str | None, typer.Option("--q", help="Joint positions separated by commas; default all zero.")] = None,
          as_json: JsonOption = False) -> None:
    """Joint loads of a posture at rest."""
    import numpy as np
    from rich import box
    from rich.table import Table

    from ident.description import load_mechanism
    from ident.errors import InputError
    from ident.loads import LOADS, joint_loads

    mechanism = load_mechanism(model)
    try:
        posture = [float(part) for part in q.split(",")] if q else [0.0] * mechanism.n
    except ValueError:
        raise InputError(f"--q {q}: numbers separated by commas are needed") from None
    if len(posture) != mechanism.n:
        raise InputError(f"--q has {len(posture)} values, {mechanism.name} has {mechanism.n} joints: "
                         f"{', '.join(mechanism.names)}")
    found = joint_loads(mechanism, [posture])
    values = {name: {load: float(found.get(load)[0, j]) for load in LOADS if np.isfinite(found.get(load)[0, j])}
              for j, name in enumerate(mechanism.names)}
    if as_json:
        print_json({"model": mechanism.name, "q": posture, "loads": values})
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("joint")
    for heading in ("torque\nN·m", "bending\nN·m", "radial\nN", "axial\nN", "normal\nN·m"):
        table.add_column(heading, justify="right")
    for name, row in values.items():
        table.add_row(name, *(f"{row[load]:.3f}" if load in row else "-" for load in LOADS))
    console().print(table)
