"""Tables that fit the width of the terminal: columns that do not fit follow below; no
name, number or unit is cut.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Group
from rich.table import Table

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Column

# of verdicts
COLOURS = {"identified": "green", "weak": "yellow", "at bound": "yellow", "unidentifiable": "red"}


def fitted(table: Table, width: int, keys: int = 1) -> "RenderableType":
    """Fit a table to a width.

    The first column, right-aligned columns (numbers) and columns with ``no_wrap`` are never
    wrapped. Other cells and headings wrap only between words; a heading wraps anywhere if its
    column has ``overflow="fold"``.

    Parameters
    ----------
    table : Table
        The table without a limit of its width.
    width : int
        Available width in characters.
    keys : int
        Number of first columns that name a row; every part of the table repeats them.

    Returns
    -------
    RenderableType
        The table, or its parts, one below the other.
    """
    columns = [replace(table.columns[0], no_wrap=True), *table.columns[1:]]
    if _needed(table, [_most(column) for column in columns]) <= width:
        return table
    parts = [columns[:keys]]
    for column in columns[keys:]:
        if (
            len(parts[-1]) > keys
            and _needed(table, [_least(one) for one in (*parts[-1], column)]) > width
        ):
            parts.append(columns[:keys])
        parts[-1] = [*parts[-1], column]
    return Group(*(_part(table, part, width, first=part is parts[0]) for part in parts))


def _needed(table: Table, widths: Sequence[int]) -> int:
    """Width of a table with columns of given widths, including padding, lines and margins."""
    _, right, _, left = table.padding
    return sum(widths) + (len(widths) - 1) * (left + right + 1) + 2


def _most(column: "Column") -> int:
    """Width of a column without any wrapping."""
    return _longest(column, [line for text in _texts(column) for line in text.split("\n")])


def _least(column: "Column") -> int:
    """Least width of a column with all allowed wrapping."""
    if column.no_wrap:
        return _most(column)
    heading, *cells = _texts(column)
    whole = column.justify == "right"
    return _longest(
        column,
        [
            *([] if column.overflow == "fold" else heading.split()),
            *(piece for cell in cells for piece in (cell.split("\n") if whole else cell.split())),
        ],
    )


def _texts(column: "Column") -> list[str]:
    """Heading and cells of a column as text."""
    return [str(text) for text in (column.header, *column.cells)]


def _longest(column: "Column", pieces: Sequence[str]) -> int:
    return max(column.min_width or 0, *map(cell_len, pieces), 0)


def _part(table: Table, columns: "Sequence[Column]", width: int, first: bool) -> Table:
    """Return a table of some columns; the columns that wrap share the remaining width."""
    widths, most = ([measure(column) for column in columns] for measure in (_least, _most))
    for _ in range(width - _needed(table, widths)):
        k = max(range(len(columns)), key=lambda k: most[k] - widths[k])
        widths[k] = min(widths[k] + 1, most[k])
    _, right, _, left = table.padding
    part = Table(
        *(
            replace(column, width=chars, _cells=[])
            for column, chars in zip(columns, widths, strict=True)
        ),
        box=table.box,
        pad_edge=table.pad_edge,
        padding=(0, right, 0, left),
        width=_needed(table, widths),
        title=table.title if first else None,
        title_justify=table.title_justify,
        title_style=table.title_style,
    )
    for row, *cells in zip(table.rows, *(column.cells for column in columns), strict=True):
        part.add_row(*cells, end_section=row.end_section)
    return part
