"""The command that compares calibrations."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stribeck.experiments.cli.command_options import JsonOption, out_option
from stribeck.experiments.cli.common import DIFFERS, console, print_json

if TYPE_CHECKING:
    from rich.table import Table

    from stribeck.ident.calibration.calibration import Calibration
    from stribeck.ident.calibration.changes import Comparison
    from stribeck.ident.fleet.fleet import Fleet


def compare(
    calibrations: Annotated[
        list[Path],
        typer.Argument(
            metavar="CALIBRATION...",
            help="Two calibrations; or three and more of different runs, or folders with many: a "
            "fleet.",
        ),
    ],
    out: Annotated[
        Path | None,
        out_option(
            "Page (.html) or plot of the friction (.png, .svg, .pdf); of a fleet "
            "also its table (.csv)."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show which friction changed beyond the intervals and the deviation between runs,
    or what differs in a fleet.

    The exit code is 1 if something differs.
    """
    from stribeck.experiments.cli.screen.tables import fitted
    from stribeck.experiments.report.comparison import comparison_table, labels, sentence, verdict
    from stribeck.experiments.report.pages.comparison_page import write_comparison
    from stribeck.ident.calibration.calibration import Calibration
    from stribeck.ident.calibration.changes import compare as compare_calibrations
    from stribeck.ident.errors import InputError
    from stribeck.ident.fleet.fleet import LEAST, Fleet, calibration_files
    from stribeck.ident.fleet.joint_levels import independent

    files = calibration_files(calibrations)
    if len(files) < 2 and len(calibrations) < 2:
        raise InputError(f"{calibrations[0]}: compare needs at least two calibrations; found one")
    files = files if len(files) > len(calibrations) else calibrations
    text, names = console(as_json), labels(files)
    first, *others = loaded = [Calibration.load(path) for path in files]
    of_files = dict(zip(names, loaded, strict=True))
    if len(of_files) >= LEAST and len(independent(of_files)[0]) >= LEAST:
        compare_fleet(Fleet.of(of_files), out, as_json)
        return
    found = [compare_calibrations(first, other) for other in others]
    if out is not None:
        write_comparison(
            dict(zip(names, loaded, strict=True)), dict(zip(names[1:], found, strict=True)), out
        )
    for name, other, comparison in zip(names[1:], others, found, strict=True):
        text.print(fitted(_table(first, other, comparison, names[0], name), text.width, keys=2))
        for joint in comparison.traded:
            text.print(
                f"note      {joint}: parameters changed and compensate each other; friction did "
                "not change"
            )
        for note in comparison.notes:
            text.print(f"note      {note}")
        text.print(f"{verdict(comparison):<9} {sentence(comparison, names[0], name)}")
    if out is not None:
        text.print(f"wrote     {out}")
    changed = any(comparison.changed for comparison in found)
    if as_json:
        print_json(
            {
                "changed": changed,
                "first": names[0],
                "others": [
                    {"name": name, **comparison_table(first, other, comparison)}
                    for name, other, comparison in zip(names[1:], others, found, strict=True)
                ],
            },
            [] if out is None else [out],
        )
    if changed:
        raise typer.Exit(DIFFERS)


def compare_fleet(fleet: "Fleet", out: Path | None, as_json: bool) -> None:
    """Print what is normal for each joint of a fleet, and what differs; exit
    code 1 if something differs.
    """
    from rich import box
    from rich.table import Table

    from stribeck.experiments.cli.screen.tables import fitted
    from stribeck.experiments.report.fleets.fleet_tables import (
        fleet_table,
        heading,
        population_rows,
        verdicts,
    )
    from stribeck.experiments.report.pages.fleet_page import write_fleet_result

    text = console(as_json)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in (
        "joint",
        "friction",
        "between arms",
        "between days",
        "within",
        "normal for a new arm",
    ):
        table.add_column(title, justify="left" if title == "joint" else "right")
    for row in population_rows(fleet):
        table.add_row(*row)
    if out is not None:
        write_fleet_result(fleet, out)
    text.print(f"fleet     {heading(fleet)}")
    text.print(fitted(table, text.width))
    for line in verdicts(fleet):
        text.print(line)
    if out is not None:
        text.print(f"wrote     {out}")
    if as_json:
        print_json(fleet_table(fleet), [] if out is None else [out])
    if fleet.differs:
        raise typer.Exit(DIFFERS)


def _table(
    before: "Calibration", after: "Calibration", comparison: "Comparison", first: str, other: str
) -> "Table":
    """Table with one row per parameter; the last rows are friction and temperature."""
    from rich import box
    from rich.table import Table

    from stribeck.experiments.report.words import degrees, number

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("joint", "", first, other, "difference", "tolerance (95 %)", "unit", ""):
        table.add_column(
            heading,
            justify="right" if heading and heading not in ("joint", "unit") else "left",
            overflow="fold" if heading in (first, other) else "ellipsis",
        )
    rows = {
        change.joint: [one for one in comparison.parameters if one.joint == change.joint]
        for change in comparison.parameters
    }

    def parameters(name: str) -> None:
        for change in rows.get(name, ()):
            table.add_row(
                name,
                change.name,
                number(change.before, 4),
                number(change.after, 4),
                number(change.difference, 2),
                number(change.allowed, 2),
                change.unit,
                "changed" if change.changed else "",
            )

    for name in before.joints:
        if name not in after.joints:
            continue
        parameters(name)
        if curve := comparison.curves.get(name):
            at = f" at {curve.speed:.3g} {'m/s' if curve.unit == 'N' else 'rad/s'}"
            at += "" if curve.load is None else f", load {curve.load:.3g}"
            table.add_row(
                name,
                f"friction{at}",
                number(curve.before, 4),
                number(curve.after, 4),
                number(curve.difference, 2),
                number(curve.allowed, 2),
                curve.unit,
                "changed" if curve.changed else "",
            )
        table.add_row(
            name,
            "temperature",
            *(degrees(one.joints[name].temperature_range) for one in (before, after)),
            end_section=True,
        )
    for name in rows:
        if name not in before.joints:
            parameters(name)
    return table
