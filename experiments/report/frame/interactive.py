"""Interactive figures of a page: tables of points, toggles for groups of points, and
figures of the tables' columns.

The page carries them as compressed JSON; `page.js` draws them with plotly.js, whose attributes
`data` and `layout` are. Beyond these, a trace may have `columns` (attribute: column), `hover`
(columns in the order of its `hovertemplate`), `at` (the group of a toggle with which it is shown),
`only` (column: the text that its rows have), `picked` (the column in which its rows have the text
that the reader picked), `breaks` (the column at whose changes a line is interrupted). A colour may
be a name of the palette, as "--ink".
"""

import base64
import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stribeck.ident.arrays import Array, Groups

_SPEED = 6  # of compression: a higher one takes longer than it saves
_DIGITS, _DRAWN = 6, 4  # digits of numbers in the page, and of those that are only drawn
_MANY = 20_000  # points from which all numbers have the digits of those that are only drawn


@dataclass(frozen=True)
class Toggle:
    """Groups of points that can be shown and hidden.

    Attributes
    ----------
    title : str
        What distinguishes the groups.
    groups : tuple of str
        Names of the groups.
    of : ndarray of int, shape (N,)
        Group of each point of the table.
    """

    title: str
    groups: tuple[str, ...]
    of: Groups


@dataclass(frozen=True)
class PointTable:
    """Points that figures show: columns of numbers or texts of the same length N, and toggles.

    Attributes
    ----------
    columns : mapping of str to array or sequence of str
    toggles : dict of str to Toggle
        Toggles by name; those with a single group are not offered.
    saved : tuple of str
        Columns of the file that the page offers as a download; others are only
        drawn and have fewer digits.
    """

    columns: Mapping[str, Array | Groups | Sequence[str]]
    toggles: Mapping[str, Toggle] = field(default_factory=dict)
    saved: tuple[str, ...] = ()


@dataclass(frozen=True)
class InteractiveFigure:
    """A figure of a table: traces and layout of plotly.js, and its height [px]."""

    table: str
    data: Sequence[Mapping[str, Any]]
    layout: Mapping[str, Any]
    height: int


@dataclass(frozen=True)
class Interactive:
    """All that a page draws and offers as downloads.

    Attributes
    ----------
    tables : dict of str to PointTable
    figures : dict of str to InteractiveFigure
        Figures by the place that the template gives them.
    downloads : dict of str to str
        Text of further files by name.
    """

    tables: dict[str, PointTable] = field(default_factory=dict)
    figures: dict[str, InteractiveFigure] = field(default_factory=dict)
    downloads: dict[str, str] = field(default_factory=dict)

    def packed(self) -> str:
        """Return everything as compressed JSON in base64."""
        digits = _DIGITS if sum(map(_length, self.tables.values())) <= _MANY else _DRAWN
        tables = ",".join(
            f"{json.dumps(name)}:{_table(table, digits)}" for name, table in self.tables.items()
        )
        figures = {
            name: {"table": one.table, "data": one.data, "layout": one.layout, "height": one.height}
            for name, one in self.figures.items()
        }
        return packed(
            f'{{"tables":{{{tables}}},"figures":{json.dumps(figures, default=_listed, allow_nan=False)},'
            f'"downloads":{json.dumps(self.downloads)}}}'
        )


def packed(text: str) -> str:
    """Return text compressed, in base64; the same text gives the same result."""
    return base64.b64encode(gzip.compress(text.encode(), _SPEED, mtime=0)).decode()


def numbers(values: Array) -> list[float | None]:
    """Return numbers for a trace, rounded; None where a value is not finite."""
    return [
        float(f"{value:.{_DIGITS}g}") if np.isfinite(value) else None
        for value in np.asarray(values, dtype=float).tolist()
    ]


def line(x: Array, y: Array, colour: str, **more: Any) -> dict[str, Any]:
    """Return the trace of a line; lists in `more` complete attributes, as ``line={"width": 1}``."""
    return {
        "type": "scatter",
        "mode": "lines",
        "x": numbers(x),
        "y": numbers(y),
        **more,
        "line": {"color": colour, "width": 1.6, **more.get("line", {})},
    }


def band(x: Array, low: Array, high: Array, colour: str, **more: Any) -> dict[str, Any]:
    """Return the trace of an area between two curves."""
    return {
        "type": "scatter",
        "mode": "lines",
        "x": numbers(np.concatenate([x, x[::-1]])),
        "y": numbers(np.concatenate([high, low[::-1]])),
        "fill": "toself",
        "fillcolor": colour,
        "opacity": 0.22,
        "line": {"width": 0},
        "hoverinfo": "skip",
        **more,
    }


def dots(
    x: str, y: str, hover: Sequence[tuple[str, str]], marker: Mapping[str, Any], **more: Any
) -> dict[str, Any]:
    """Return the trace of points with columns as x and y.

    Parameters
    ----------
    x, y : str
        Columns.
    hover : sequence of tuple of str
        Column and text of each line that a point shows: "{}" in the text stands for the
        value, "{:.3g}" formats it.
    marker : mapping
        Attributes of the marks.
    """
    text = "<br>".join(
        line.replace("{:", f"%{{customdata[{k}]:").replace("{}", f"%{{customdata[{k}]}}")
        for k, (_, line) in enumerate(hover)
    )
    return {
        "type": "scatter",
        "mode": "markers",
        "columns": {"x": x, "y": y},
        "hover": [column for column, _ in hover],
        "hovertemplate": text + "<extra></extra>",
        "marker": dict(marker),
        **more,
    }


def title(text: str, axis: str = "") -> dict[str, Any]:
    """Return the title of a panel, above its upper left corner; `axis` is the
    number of its axes, from 2 on.
    """
    return {
        "text": text,
        "xref": f"x{axis} domain",
        "yref": f"y{axis} domain",
        "x": 0,
        "y": 1,
        "xanchor": "left",
        "yanchor": "bottom",
        "showarrow": False,
    }


def level(value: float, axis: str = "", colour: str = "--faint", **more: Any) -> dict[str, Any]:
    """Return a horizontal line through a panel."""
    return {
        "type": "line",
        "xref": f"x{axis} domain",
        "yref": f"y{axis}",
        "x0": 0,
        "x1": 1,
        "y0": value,
        "y1": value,
        "line": {"color": colour, "width": 1},
        **more,
    }


def span(
    low: float, high: float, axis: str = "", colour: str = "--band", **more: Any
) -> dict[str, Any]:
    """Return a horizontal strip through a panel."""
    return {
        "type": "rect",
        "xref": f"x{axis} domain",
        "yref": f"y{axis}",
        "x0": 0,
        "x1": 1,
        "y0": low,
        "y1": high,
        "fillcolor": colour,
        "opacity": 0.45,
        "line": {"width": 0},
        "layer": "below",
        **more,
    }


def _length(table: PointTable) -> int:
    return len(next(iter(table.columns.values()), ()))


def _table(table: PointTable, digits: int) -> str:
    columns = ",".join(
        f"{json.dumps(name)}:{_column(name, table, digits)}" for name in table.columns
    )
    toggles = {
        name: {"title": one.title, "groups": one.groups, "of": one.of.tolist()}
        for name, one in table.toggles.items()
    }
    return f'{{"columns":{{{columns}}},"toggles":{json.dumps(toggles)},"saved":{json.dumps(table.saved)}}}'


def _column(name: str, table: PointTable, digits: int) -> str:
    """JSON of a column: numbers, the different texts and their numbers, or the name of
    an equal column before it.
    """
    values = table.columns[name]
    if isinstance(values, np.ndarray):
        for other, those in table.columns.items():
            if other == name:
                break
            if isinstance(those, np.ndarray) and np.array_equal(
                values, those, equal_nan=values.dtype.kind == "f"
            ):
                return json.dumps(other)
        digits = digits if name in table.saved or not table.saved else _DRAWN
        return (
            "["
            + ",".join(
                [
                    f"{value:.{digits}g}" if value - value == 0.0 else "null"
                    for value in values.tolist()
                ]
            )
            + "]"
        )
    texts = list(dict.fromkeys(values))
    place = {text: k for k, text in enumerate(texts)}
    return json.dumps({"texts": texts, "of": [place[text] for text in values]})


def _listed(value: Any) -> Any:
    """NumPy's numbers and arrays as JSON knows them."""
    return value.tolist()
