"""Commands that show or convert: export, report, show."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from stribeck.experiments.cli.command_options import GAINS, JsonOption, flag, out_option
from stribeck.experiments.cli.common import console, files_in, print_json
from stribeck.experiments.cli.option_texts import read_gains


def _carried(asked: bool) -> None:
    """Print what each format carries."""
    if not asked:
        return
    from stribeck.ident.export.carried import EFFECTS, MEANINGS, carried_rows

    rows = [("--to", *EFFECTS), *carried_rows()]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    text = console()
    for row in rows:
        text.print(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        )
    text.print()
    for effect, meaning in MEANINGS.items():
        text.print(f"{effect.ljust(widths[0])}  {meaning}")
    text.print(
        "\nmjcf needs MuJoCo 4 or newer. With ros2, your code computes friction from the "
        "parameters (values). An export "
        "says what it loses of a calibration."
    )
    raise typer.Exit


def export(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="CALIBRATION|RUN", help="Calibration (file or folder) or run folder."
        ),
    ],
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="FORMAT",
            help="Calibration: urdf, mjcf, sdf, usd (layer for PhysX), isaac-lab (actuator "
            "arguments), json, csv, ros2 (parameters), c (header), ros2-controller (package with "
            "a controller), matlab (function "
            "for Simulink), motionsolve, adams (friction of bearings), trossen, vendor (fields of "
            "a drive), or the format of a "
            "plug-in. Run: csv, parquet, mcap.",
        ),
    ],
    out: Annotated[
        Path | None,
        out_option("File to write; folder with ros2-controller. Default: beside the source."),
    ] = None,
    into: Annotated[
        Path | None,
        typer.Option(
            metavar="MODEL",
            help="URDF, MJCF or SDF to copy with the friction added (default: the calibration's "
            "model), or "
            "the USD stage that the layer is for.",
        ),
    ] = None,
    offset: Annotated[
        bool,
        flag(
            "--offset",
            help="Calibration to c, ros2-controller or matlab: include the torque offset of each "
            "joint in its "
            "friction.",
        ),
    ] = False,
    carried: Annotated[
        bool,
        typer.Option(
            "--list",
            metavar="",
            is_eager=True,
            callback=_carried,
            help="Print what each format carries, and exit.",
        ),
    ] = False,
    plain: Annotated[
        bool,
        flag(
            "--plain",
            help="Calibration to mjcf: only constant and viscous friction, for any version of "
            "MuJoCo.",
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Export a calibration or a run for other software, and list what the format cannot express."""
    from stribeck.ident.errors import InputError
    from stribeck.ident.log.run import RECORD

    source = _only_run(source, to)
    if (source / RECORD).is_file():
        from stribeck.experiments.exporters.run_formats import export_run

        if into is not None:
            raise InputError(
                f"--into {into}: a run is not written into a model; export the calibration that "
                "was fitted to it"
            )
        if offset:
            raise InputError(
                "--offset: a run has no torque offset; export the calibration that was fitted to it"
            )
        if plain:
            raise InputError(
                "--plain: a run has no friction to write into an MJCF; export the calibration "
                "that was fitted to it"
            )
        target, losses = export_run(source, to, out)
    else:
        from stribeck.experiments.exporters.calibration_export import export_calibration
        from stribeck.ident.calibration.calibration import Calibration

        target, losses = export_calibration(Calibration.load(source), to, out, into, offset, plain)
    text = console(as_json)
    for line in losses:
        text.print(f"export    {line}")
    text.print(f"wrote     {target}")
    if as_json:
        print_json({"losses": losses}, files_in(target) if target.is_dir() else [target])


def _only_run(source: Path, to: str) -> Path:
    """Return the only run of a campaign without a calibration, if the format is for runs;
    otherwise return the source.
    """
    from stribeck.experiments.exporters.run_formats import RUN_EXPORTS
    from stribeck.ident.errors import InputError
    from stribeck.ident.log.campaign_folder import CALIBRATION, campaign_runs

    if to not in RUN_EXPORTS or not source.is_dir() or (source / CALIBRATION).exists():
        return source
    runs = campaign_runs(source)
    if len(runs) > 1:
        raise InputError(
            f"{source}: holds {len(runs)} runs; name the one to export: {', '.join(map(str, runs))}"
        )
    return runs[0] if runs else source


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Campaign folder with runs/.")],
    rolled: Annotated[
        Path | None,
        typer.Option(
            "--rollout",
            metavar="RUN",
            help="Add the simulated motion of a run that was not fitted, as validate --rollout.",
        ),
    ] = None,
    gains: Annotated[list[str] | None, GAINS] = None,
    out: Annotated[Path | None, out_option("Folder for report.html. Default: DIR.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Write a self-contained HTML report of a campaign."""
    from dataclasses import fields

    from stribeck.experiments.fit_runs import load_fitted
    from stribeck.experiments.methods.warm_up import run_notes
    from stribeck.experiments.report.page import write_report
    from stribeck.ident.calibration.calibration import Calibration
    from stribeck.ident.errors import InputError
    from stribeck.ident.fit.joint.options import Options
    from stribeck.ident.identify import identify
    from stribeck.ident.log.campaign_folder import CALIBRATION, find_runs
    from stribeck.ident.log.run import VALIDATION, load_run

    runs = load_fitted([folder])
    options, created = Options(), None
    if (folder / CALIBRATION).is_file():
        loaded = Calibration.load(folder)
        chosen = {
            option.name: loaded.fit[option.name]
            for option in fields(Options)
            if option.name in loaded.fit
        }
        options, created = Options(**chosen, torque_basis=loaded.torque_basis), loaded.created
        runs = [run.about(loaded.serial, loaded.note) for run in runs]
    if gains and rolled is None:
        raise InputError("--gains belong to --rollout RUN; add it, or leave them out")
    found, motion = identify(runs, options, created), None
    if rolled is not None:
        from stribeck.ident.simulators.rollout import rollout

        path = find_runs(rolled, (VALIDATION,))[-1]
        motion = rollout(load_run(path), found.calibration, read_gains(gains or ())), path.name
    target = out or folder
    target.mkdir(parents=True, exist_ok=True)
    written = write_report(found, target, run_notes(runs), motion)
    console(as_json).print(f"wrote     {written}")
    if as_json:
        print_json({}, [written])


def show(
    place: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder with a report, or its page.")
    ],
    as_json: JsonOption = False,
) -> None:
    """Open the report in the browser."""
    import webbrowser

    from stribeck.experiments.report.page import REPORT
    from stribeck.ident.errors import InputError, command

    page = place / REPORT if place.is_dir() else place
    if not page.is_file():
        raise InputError(f"{page}: there is no report; make it with: {command('report', place)}")
    text = console(as_json)
    text.print(f"report    {page}")
    opened = _has_screen() and webbrowser.open(page.resolve().as_uri())
    if not opened:
        text.print(
            "note      no browser with a screen was found; open this file in the browser of your "
            "computer"
        )
    if as_json:
        print_json({"page": str(page), "opened": bool(opened)}, [])


def _has_screen() -> bool:
    """Whether a browser would have a window: without one, it could take over the terminal."""
    return sys.platform in ("darwin", "win32") or bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )
