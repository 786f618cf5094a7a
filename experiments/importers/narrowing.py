"""A log made usable as its user states: without columns, with time from a rate, or a stretch of it."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from stribeck.experiments.importers.columns import ColumnMap, column_map
from stribeck.experiments.importers.table import Array, Table
from stribeck.ident.errors import InputError, unknown_name


def without(table: Table, ignored: Sequence[str]) -> Table:
    """The log without some columns, for guesses and for what is shown.

    Raises
    ------
    InputError
        If it has no column of such a name, or none is left.
    """
    for name in ignored:
        if name not in table.names:
            raise InputError(f"{table.source}: {unknown_name('column', name, table.names)}")
    left = tuple(name for name in table.names if name not in ignored)
    if not left:
        raise InputError(f"{table.source}: --ignore leaves no column")
    return replace(table, names=left)


def at_rate(table: Table, rate: float) -> tuple[Table, ColumnMap]:
    """The log with a column of time more, and the entry that takes it for time.

    Parameters
    ----------
    table : Table
        A log that has no time.
    rate : float
        Rows a second [Hz].

    Raises
    ------
    InputError
        If the rate is no positive number.
    """
    if not (math.isfinite(rate) and rate > 0.0):
        raise InputError(f"--rate {rate:g}: rows a second are a positive number")
    clock = f"rows at {rate:g} Hz"

    def load(names: Sequence[str]) -> dict[str, Array]:
        found = table.read([name for name in names if name != clock] or list(table.names[:1]))
        return {name: np.arange(len(next(iter(found.values())))) / rate if name == clock else found[name] for name in names}

    return (replace(table, names=(clock, *table.names), load=load, _loaded={}),
            column_map("t", None, clock, "s", f"--rate {rate:g}"))


def between(table: Table, time: ColumnMap, start: float | None, end: float | None) -> Table:
    """The rows of a stretch of time.

    Parameters
    ----------
    table : Table
        The log.
    time : ColumnMap
        Its time.
    start, end : float, optional
        Ends of the stretch [s], counted from the log's first row; None keeps all on that side.

    Raises
    ------
    InputError
        If no row is left, or the log holds several recordings, each with a time of its own.
    """
    if start is None and end is None:
        return table
    low, high = -math.inf if start is None else start, math.inf if end is None else end
    asked = " ".join([*([] if start is None else [f"--from {start:g}"]), *([] if end is None else [f"--to {end:g}"])])
    column = time.find(table.names)
    if column is None:
        raise InputError(f"{table.source}: {unknown_name('column', time.column, table.names)}")
    if table.pieces:
        raise InputError(f"{table.source}: {asked}: it holds several recordings, each of which begins anew; import it whole, "
                         f"without {asked}")
    t = time.factor * table.read([column])[column]
    known = t[np.isfinite(t)]
    t = t - (known[0] if len(known) else 0.0)
    keep = (t >= low) & (t <= high)
    if not keep.any():
        lasts = f"{known.max() - known[0]:.4g} s" if len(known) else "no time"
        raise InputError(f"{table.source}: {asked} leaves no row: the log lasts {lasts}, and both are seconds from its first row")

    def load(names: Sequence[str]) -> dict[str, Array]:
        return {name: values[keep] for name, values in table.read(names).items()}

    return replace(table, load=load, notes=(*table.notes, f"{asked}: {keep.sum()} of {len(keep)} rows"), _loaded={})
