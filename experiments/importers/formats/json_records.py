"""Reader for JSON: a list of records, an object of lists, either of them inside an object
with metadata, or JSON lines.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from stribeck.experiments.importers.formats.text_tables import is_date, is_number, numbers_in
from stribeck.experiments.importers.table import Array, Table, check_size, in_memory
from stribeck.ident.errors import InputError

_LARGEST = 1 << 30  # bytes of a file; JSON files are read as a whole
_SHOWN = 8  # metadata entries in the note
_KINDS = "a list of records, an object of lists, or one record per line"


def open_json(path: Path) -> Table:
    """Open a JSON log; columns are named by the keys of the records, ``pose.x`` for nested objects,
    ``q.0`` for nested lists.

    Raises
    ------
    InputError
        If the file is not JSON, or has no table.
    """
    if path.stat().st_size > _LARGEST:
        raise InputError(
            f"{path}: {path.stat().st_size / 1e9:.2g} GB of JSON exceed the limit of "
            f"{_LARGEST / 1e9:.2g} GB; save the log as Parquet or in parts"
        )
    try:
        found, facts = _table(_content(path))
        columns = {
            name: values for name, cells in found.items() if (values := _numbers(cells)) is not None
        }
        flags = {
            name: np.array(cells, dtype=float)
            for name, cells in found.items()
            if cells and all(isinstance(cell, bool) for cell in cells)
        }
    except (ValueError, RecursionError, OverflowError) as error:
        raise InputError(
            f"{path}: cannot be read as a JSON table ({_KINDS}): {' '.join(str(error).split())}"
        ) from None
    if not columns:
        raise InputError(
            f"{path}: cannot be read as a JSON table ({_KINDS}): no column of numbers found"
        )
    check_size(str(path), len(next(iter(columns.values()))), len(columns))
    table = in_memory(str(path), columns | flags)
    said = ", ".join(f"{key} = {value}" for key, value in list(facts.items())[:_SHOWN])
    return Table(
        table.source,
        tuple(columns),
        table.load,
        notes=(f"metadata of the log: {said}",) if said else (),
        flags=tuple(flags),
    )


def _content(path: Path) -> Any:
    """Return the parsed content; JSON lines become a list."""
    with path.open(encoding="utf-8-sig") as file:
        text = file.read()
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) < 2 or not lines[0].lstrip().startswith("{"):
            raise
        return [json.loads(line) for line in lines]


def _table(content: Any) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """Return columns of cells, and the metadata beside the table."""
    if isinstance(content, list):
        if content and all(isinstance(record, dict) for record in content):
            return _of_records(content), {}
        raise ValueError("the list has entries that are not records {...}")
    if not isinstance(content, dict):
        raise ValueError("the content is a single value")
    facts = {
        key: value
        for key, value in content.items()
        if isinstance(value, (str, int, float)) and str(value).strip()
    }
    records = [
        value
        for value in content.values()
        if isinstance(value, list) and value and all(isinstance(record, dict) for record in value)
    ]
    if records:
        return _of_records(max(records, key=len)), facts
    columns = dict(_flat(content, lists=True))
    most = max((len(cells) for cells in columns.values()), default=0)
    return {name: cells for name, cells in columns.items() if len(cells) == most > 1}, facts


def _of_records(records: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return the columns of records; missing entries are None."""
    columns: dict[str, list[Any]] = {}
    for row, record in enumerate(records):
        for name, value in _flat(record):
            columns.setdefault(name, [None] * len(records))[row] = value
    return columns


def _flat(
    content: Mapping[str, Any], before: str = "", lists: bool = False
) -> Iterator[tuple[str, Any]]:
    """Yield names and values of a record, or with `lists` names and columns of an object; a
    list of rows gives columns.
    """
    for key, value in content.items():
        name = f"{before}{key}"
        if isinstance(value, dict):
            yield from _flat(value, f"{name}.", lists)
        elif not lists:
            yield from (
                ((f"{name}.{k}", item) for k, item in enumerate(value))
                if isinstance(value, list)
                else ((name, value),)
            )
        elif (
            isinstance(value, list)
            and value
            and all(isinstance(row, list) and len(row) == len(value[0]) for row in value)
        ):
            yield from (
                (f"{name}.{k}", list(cells)) for k, cells in enumerate(zip(*value, strict=True))
            )
        elif isinstance(value, list):
            yield name, value


def _numbers(cells: Sequence[Any]) -> Array | None:
    """Convert a column of numbers, numeric strings or dates to floats, nan for missing
    cells; None for other content.
    """
    import pandas as pd

    said = [cell for cell in cells if cell is not None]
    if not said or any(isinstance(cell, (bool, dict, list)) for cell in said):
        return None
    if all(isinstance(cell, (int, float)) for cell in said):
        return np.array([np.nan if cell is None else float(cell) for cell in cells])
    texts = [str(cell) for cell in said]
    return (
        numbers_in(pd.Series(cells, dtype=object))
        if is_number(texts[0]) or is_date(texts[0])
        else None
    )
