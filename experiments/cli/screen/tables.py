"""Tables as wide as the paper: what is too wide goes on below; no name, number or unit is cut."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Group
from rich.table import Table

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Column


def fitted(table: Table, width: int, keys: int = 1) -> "RenderableType":
    """The table on paper of a width.

    Names in the first column, numbers, which are to the right, and columns without wrapping are never broken, other cells only
    between words; a heading breaks between words too, or anywhere where its column says ``overflow="fold"``.

    Parameters
    ----------
    table : Table
        As it is on paper that is wide enough.
    width : int
        Of the paper, in characters.
    keys : int
        First columns, which say what a row is about; they are repeated where the table goes on below.

    Returns
    -------
    RenderableType
        The table, or its parts, one under another.
    """
    columns = [replace(table.columns[0], no_wrap=True), *table.columns[1:]]
    if _needed(table, [_most(column) for column in columns]) <= width:
        return table
    parts = [columns[:keys]]
    for column in columns[keys:]:
        if len(parts[-1]) > keys and _needed(table, [_least(one) for one in (*parts[-1], column)]) > width:
            parts.append(columns[:keys])
        parts[-1] = [*parts[-1], column]
    return Group(*(_part(table, part, width, first=part is parts[0]) for part in parts))


def _needed(table: Table, widths: Sequence[int]) -> int:
    """Width of the table with such columns: between two there are padding and a line, a margin on either side."""
    _, right, _, left = table.padding
    return sum(widths) + (len(widths) - 1) * (left + right + 1) + 2


def _most(column: "Column") -> int:
    """Width in which nothing breaks."""
    return _longest(column, [line for text in _texts(column) for line in text.split("\n")])


def _least(column: "Column") -> int:
    """Width in which no more breaks than may."""
    if column.no_wrap:
        return _most(column)
    heading, *cells = _texts(column)
    whole = column.justify == "right"
    return _longest(column, [*([] if column.overflow == "fold" else heading.split()),
                             *(piece for cell in cells for piece in (cell.split("\n") if whole else cell.split()))])


def _texts(column: "Column") -> list[str]:
    """Heading and cells."""
    return [str(text) for text in (column.header, *column.cells)]


def _longest(column: "Column", pieces: Sequence[str]) -> int:
    return max(column.min_width or 0, *map(cell_len, pieces), 0)


def _part(table: Table, columns: "Sequence[Column]", width: int, first: bool) -> Table:
    """A table of some of the columns; those that gain by it share the room that is left."""
    widths, most = ([measure(column) for column in columns] for measure in (_least, _most))
    for _ in range(width - _needed(table, widths)):
        k = max(range(len(columns)), key=lambda k: most[k] - widths[k])
        widths[k] = min(widths[k] + 1, most[k])
    _, right, _, left = table.padding
    part = Table(*(replace(column, width=chars, _cells=[]) for column, chars in zip(columns, widths, strict=True)), box=table.box,
                 pad_edge=table.pad_edge, padding=(0, right, 0, left), width=_needed(table, widths),
                 title=table.title if first else None, title_justify=table.title_justify, title_style=table.title_style)
    for row, *cells in zip(table.rows, *(column.cells for column in columns), strict=True):
        part.add_row(*cells, end_section=row.end_section)
    return part
