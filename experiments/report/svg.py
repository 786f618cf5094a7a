"""Inline SVG: compact Matplotlib figures with unique ids, and two small figures
drawn without Matplotlib.
"""

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from typing import Any

import matplotlib
import numpy as np
from markupsafe import Markup
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from stribeck.experiments.report.frame.palette import COLOURS
from stribeck.ident.arrays import Array

_SPARK = (110.0, 34.0)  # width and height of a small curve
_SPARK_POINTS = 150  # maximum number of dots in a small curve
# smallest span of the friction axis over the largest friction, so that noise stays small
_SPARK_SPAN = 0.3

_USE = re.compile(r"<use [^>]*/>")
_MARK = re.compile(r'<use ([^>]*?) style="([^"]*)"/>')
_MARKS = re.compile(r"(?:<use [^>]*/>){2,}")
# each mark clipped on its own
_WRAPPED = re.compile(r'(<g clip-path="[^"]*">)<use [^>]*/></g>(?:\1<use [^>]*/></g>)+')

_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "stribeck",
    "font.family": "sans-serif",
    "font.size": 8.5,
    "axes.titlesize": 8.5,
    "axes.titlelocation": "left",
    "axes.titlecolor": COLOURS.muted,
    "axes.titlepad": 6.0,
    # a fixed place: the search for free room would take a third of the time
    "axes.titley": 1.0,
    "axes.labelsize": 8.5,
    "axes.labelcolor": COLOURS.muted,
    "axes.edgecolor": COLOURS.faint,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": COLOURS.grid,
    "grid.linewidth": 0.6,
    "xtick.color": COLOURS.faint,
    "ytick.color": COLOURS.faint,
    "xtick.labelcolor": COLOURS.muted,
    "ytick.labelcolor": COLOURS.muted,
    "xtick.major.size": 3.0,
    "ytick.major.size": 0.0,
    "xtick.minor.size": 1.8,
    "xtick.major.width": 0.6,
    "xtick.minor.width": 0.5,
    "figure.dpi": 180.0,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
}


@contextmanager
def drawing_style() -> Iterator[None]:
    """Apply the report's Matplotlib style and restore the user's settings afterwards."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def inline(figure: Figure, label: str) -> Markup:
    """Return a figure as an SVG element.

    Parameters
    ----------
    figure : Figure
        Made under `drawing_style`.
    label : str
        Description of the figure for screen readers.
    """
    buffer = io.StringIO()
    with warnings.catch_warnings():
        # the reader's browser has other fonts
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        FigureCanvasSVG(figure).print_svg(
            buffer, metadata={"Date": None, "Creator": None, "Format": None, "Type": None}
        )
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    # a <style> would apply to the whole page
    for unwanted in ("<metadata>.*?</metadata>", "<style.*?</style>", "<!--.*?-->"):
        text = re.sub(unwanted, "", text, flags=re.DOTALL)
    head = re.search(r'viewBox="[^"]*"', text)
    text = text[text.index(">") + 1 :].replace("xlink:href", "href")
    used = set(re.findall(r'#([^")]+)["\)]', text))
    # unused ids could occur twice
    text = re.sub(r' id="([^"]*)"', lambda name: name[0] if name[1] in used else "", text)
    # not in the text of labels
    text = re.sub(r"<[^>]*>", lambda tag: re.sub(r"(\.\d\d)\d+", r"\1", tag[0]), text)
    text = (
        re.sub(r">\s+<", "><", re.sub(r"\s*\n\s*", " ", text))
        .replace("<defs></defs>", "")
        .replace("<defs/>", "")
    )
    text = _MARKS.sub(
        _shared_style,
        _WRAPPED.sub(lambda run: run[1] + "".join(_USE.findall(run[0])) + "</g>", text),
    )
    return Markup('<svg {} role="img" aria-label="{}">').format(
        Markup(head[0] if head else ""), label
    ) + Markup(text)


def _shared_style(marks: re.Match[str]) -> str:
    """Write the common style of consecutive marks once, because most of the page is marks."""
    parts = _MARK.findall(marks[0])
    if len(parts) != marks[0].count("<use "):
        return marks[0]
    runs = [
        (style, "".join(f"<use {place}/>" for place, _ in run))
        for style, run in groupby(parts, lambda part: part[1])
    ]
    return "".join(f'<g style="{style}">{run}</g>' for style, run in runs)


def spark(speed: Array, friction: Array, curve_speed: Array, curve: Array) -> Markup:
    """Small friction curve of a joint for the summary table; logarithmic speed axis,
    friction axis with its own scale.
    """
    width, height = _SPARK
    low, high = np.log(speed.min()), np.log(speed.max())
    top = max(float(friction.max()), float(curve.max()), 1e-12)
    bottom = min(float(friction.min()), float(curve.min()), (1.0 - _SPARK_SPAN) * top)

    def place(w: Array, tau: Array) -> list[str]:
        x = 2.0 + (width - 4.0) * (np.log(w) - low) / max(high - low, 1e-9)
        y = height - 2.0 - (height - 4.0) * (tau - bottom) / (top - bottom)
        return [f"{a:.1f} {b:.1f}" for a, b in zip(x, y, strict=True)]

    stride = -(-len(speed) // _SPARK_POINTS)
    dots = "".join(f"M{at}h0" for at in dict.fromkeys(place(speed[::stride], friction[::stride])))
    line = "L".join(place(curve_speed, curve))
    return Markup(
        '<svg class="spark" viewBox="0 0 {} {}" aria-hidden="true"><path class="dots" d="{}"/>'
        '<path class="law" d="M{}"/></svg>'
    ).format(int(width), int(height), dots, line)


def strip(values: Array, top: float) -> Markup:
    """Draw a mark for every value on an axis from zero to `top`."""
    places = dict.fromkeys(np.round(100.0 * np.clip(values / top, 0.0, 1.0), 1).tolist())
    marks = "".join(f"M{x:g} 0v10" for x in places)
    return Markup(
        '<svg class="strip" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        '<path d="{}"/></svg>'
    ).format(marks)
