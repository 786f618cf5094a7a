"""User options that narrow a log: ignore columns, make the time from a sampling
rate, select a time interval.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from stribeck.experiments.importers.columns import ColumnMap, column_map
from stribeck.experiments.importers.table import Array, Table
from stribeck.ident.errors import InputError, unknown_name


def without(table: Table, ignored: Sequence[str]) -> Table:
    """Return the log without the ignored columns.

    Raises
    ------
    InputError
        If the log has no column of a given name, or no column is left.
    """
    for name in ignored:
        if name not in table.names:
            raise InputError(f"{table.source}: {unknown_name('column', name, table.names)}")
    left = tuple(name for name in table.names if name not in ignored)
    if not left:
        raise InputError(f"{table.source}: --ignore removes all columns; ignore fewer")
    return replace(table, names=left)


def at_rate(table: Table, rate: float) -> tuple[Table, ColumnMap]:
    """Return the log with an added time column, and the column map entry for this column.

    Parameters
    ----------
    table : Table
        A log without a time column.
    rate : float
        Sampling rate of the log [Hz].

    Raises
    ------
    InputError
        If the rate is not a positive number.
    """
    if not (math.isfinite(rate) and rate > 0.0):
        raise InputError(f"--rate {rate:g}: the sampling rate must be a positive number (Hz)")
    clock = f"rows at {rate:g} Hz"

    def load(names: Sequence[str]) -> dict[str, Array]:
        found = table.read([name for name in names if name != clock] or list(table.names[:1]))
        return {
            name: np.arange(len(next(iter(found.values())))) / rate
            if name == clock
            else found[name]
            for name in names
        }

    return (
        replace(table, names=(clock, *table.names), load=load, _loaded={}),
        column_map("t", None, clock, "s", f"--rate {rate:g}"),
    )


def between(table: Table, time: ColumnMap, start: float | None, end: float | None) -> Table:
    """Return the log with only the rows of a time interval.

    Parameters
    ----------
    table : Table
        The log.
    time : ColumnMap
        Entry of the time column.
    start, end : float, optional
        Start and end of the interval [s] after the log's first row; None means no bound.

    Raises
    ------
    InputError
        If no row is left, or the log holds several recordings with separate times.
    """
    if start is None and end is None:
        return table
    low, high = -math.inf if start is None else start, math.inf if end is None else end
    asked = " ".join(
        [
            *([] if start is None else [f"--from {start:g}"]),
            *([] if end is None else [f"--to {end:g}"]),
        ]
    )
    column = time.find(table.names)
    if column is None:
        raise InputError(f"{table.source}: {unknown_name('column', time.column, table.names)}")
    if table.pieces:
        raise InputError(
            f"{table.source}: {asked}: the log holds several recordings, each with its own time; "
            f"import the whole log without {asked}"
        )
    t = time.factor * table.read([column])[column]
    known = t[np.isfinite(t)]
    t = t - (known[0] if len(known) else 0.0)
    keep = (t >= low) & (t <= high)
    if not keep.any():
        lasts = f"{known.max() - known[0]:.4g} s" if len(known) else "0 s"
        raise InputError(
            f"{table.source}: {asked} leaves no row: the log lasts {lasts}; give times in s after "
            "row 0"
        )

    def load(names: Sequence[str]) -> dict[str, Array]:
        return {name: values[keep] for name, values in table.read(names).items()}

    return replace(
        table,
        load=load,
        notes=(*table.notes, f"{asked}: {keep.sum()} of {len(keep)} rows are used"),
        _loaded={},
    )
