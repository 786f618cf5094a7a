"""The command of the open library: calibrations that others made."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stribeck.experiments.cli.command_options import JsonOption, out_option
from stribeck.experiments.cli.common import console, print_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from stribeck.experiments.cli.screen.console import Console
    from stribeck.experiments.library.library_entry import LibraryEntry
    from stribeck.ident.calibration.calibration import Calibration


def library(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Entry to show. Default: list all entries.")
    ] = None,
    out: Annotated[Path | None, out_option("New folder for a copy of the entry.")] = None,
    folders: Annotated[
        list[Path] | None,
        typer.Option(
            "--library",
            metavar="DIR",
            help="Library of your own: a folder with a folder for each calibration; repeatable. "
            "Further ones: environment variable STRIBECK_LIBRARY.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List calibrations with points and provenance, show one, or copy it."""
    from stribeck.experiments.cli.screen.tables import fitted
    from stribeck.experiments.library.library_folders import entry_named
    from stribeck.experiments.recording.run_folders import refuse_used
    from stribeck.ident.errors import InputError

    text = console(as_json)
    if name is None:
        if out is not None:
            raise InputError(f"--out {out}: name the entry to copy; stribeck library lists them")
        found, bad = _entries(folders or ())
        text.print(fitted(_list(found), text.width))
        for reason in bad:
            text.files(f"bad       {reason}")
        text.print("next      stribeck library NAME")
        if as_json:
            print_json(
                {
                    "entries": {
                        key: {
                            "title": entry.provenance.title,
                            "kind": entry.provenance.kind,
                            "licence": entry.provenance.licence,
                            "folder": str(entry.folder),
                        }
                        for key, entry in found.items()
                    },
                    "bad": bad,
                },
                [],
            )
        return
    if out is not None:
        refuse_used(out)
    entry = entry_named(name, folders or ())
    calibration = entry.calibration
    _show(text, entry, calibration)
    copies = [] if out is None else entry.copy_to(out)
    if out is None:
        text.print(f"next      stribeck library {name} --out FOLDER")
    else:
        text.files(f"wrote     in {out}/: {'  '.join(path.name for path in copies)}")
    if as_json:
        print_json(_table(entry, calibration), copies)


def _entries(folders: "Sequence[Path]") -> "tuple[dict[str, LibraryEntry], list[str]]":
    """Return the entries of all folders, and what is wrong with malformed ones."""
    from stribeck.experiments.library.library_entry import LibraryEntry
    from stribeck.experiments.library.library_folders import entry_folders
    from stribeck.ident.errors import InputError

    found, bad = dict[str, LibraryEntry](), list[str]()
    for name, folder in entry_folders(folders).items():
        try:
            found[name] = LibraryEntry.of(folder)
        except InputError as error:
            bad.append(str(error))
    return found, bad


def _list(found: "dict[str, LibraryEntry]") -> "Table":
    """Table of all entries."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("name", "samples", "what", "licence"):
        table.add_column(title, overflow="fold")
    for key, entry in found.items():
        table.add_row(key, entry.provenance.kind, entry.provenance.title, entry.provenance.licence)
    return table


def _show(text: "Console", entry: "LibraryEntry", calibration: "Calibration") -> None:
    """Print provenance and parameters of an entry."""
    from rich import box
    from rich.table import Table

    from stribeck.experiments.cli.screen.tables import fitted
    from stribeck.experiments.report.words import plus_minus

    told = entry.provenance
    points = "none" if (rows := entry.points) is None else f"{len(rows)} rows"
    text.print(f"entry     {entry.name}: {told.title}")
    if told.about:
        text.print(f"about     {told.about}")
    text.print(
        f"arm       {calibration.arm}, {calibration.created:%Y-%m-%d}, {calibration.method}; "
        f"points: {points}"
    )
    if told.recordings is not None:
        text.print(
            f"from      {told.recordings.name} ({told.recordings.url}); licence: "
            f"{told.recordings.licence}"
        )
    if told.citation:
        text.print(f"cite      {told.citation}")
    text.print(f"licence   {told.licence}")
    for line in told.commands:
        text.print(f"made by   {line}")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("joint", "law", "load", "parameter"):
        table.add_column(title)
    table.add_column("value", justify="right")
    table.add_column("unit")
    table.add_column("verdict")
    for joint, friction in calibration.joints.items():
        for k, (key, one) in enumerate(friction.parameters.items()):
            table.add_row(
                *((joint, friction.law, friction.load) if not k else ("", "", "")),
                key,
                plus_minus(one),
                one.unit,
                one.verdict,
                end_section=k == len(friction.parameters) - 1,
            )
    text.print(fitted(table, text.width, keys=4))


def _table(entry: "LibraryEntry", calibration: "Calibration") -> dict[str, Any]:
    """An entry as data: provenance, points by column, calibration."""
    from stribeck.ident.export.numbers import calibration_table

    points = entry.points
    return {
        "name": entry.name,
        "folder": str(entry.folder),
        "provenance": entry.provenance.model_dump(exclude_none=True, by_alias=True),
        "points": None if points is None else points.to_dict("list"),
        "calibration": calibration_table(calibration),
    }
