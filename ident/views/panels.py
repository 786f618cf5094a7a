"""Friction over speed as a picture: measured points, the law, its 95 % band."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from stribeck.ident.arrays import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

# panels in a row of a figure; size of a panel in inches
_COLUMNS, _WIDTH, _HEIGHT = 3, 3.6, 2.7
_SPEEDS = 120  # speeds of a curve
PLAIN = "#1b3a5c"  # colour of friction without load
# light to dark, so that the scale is readable in grey print
SHADES = ("#66b79c", "#3f9ea0", "#2a7b9b", "#29507f", "#251f4d")


def shown_speeds(low: float, high: float) -> Array:
    """Return the speeds at which a curve is drawn, shape (120,), even on a logarithmic axis."""
    return np.geomspace(max(low, 1e-3 * high), high, _SPEEDS)


def figure_size(panels: int) -> tuple[float, float]:
    """Return width and height of a figure with so many panels [inch]."""
    return _WIDTH * min(_COLUMNS, panels), _HEIGHT * -(-panels // _COLUMNS) + 0.5


def panels(figure: "Figure", names: Sequence[str]) -> "dict[str, Axes]":
    """Return a panel for each name, three in a row."""
    columns = min(_COLUMNS, len(names))
    axes = figure.subplots(-(-len(names) // columns), columns, squeeze=False).ravel()
    for ax in axes[len(names) :]:
        ax.set_visible(False)
    return dict(zip(names, axes, strict=False))


def shown_figure(names: Sequence[str]) -> "dict[str, Axes]":
    """Return the panels of a new figure that notebooks and interactive
    sessions show by themselves.
    """
    from matplotlib import pyplot

    return panels(pyplot.figure(figsize=figure_size(len(names)), layout="constrained"), names)


def draw_curve(
    ax: "Axes",
    speed: Array,
    friction: Array,
    band: Array | float,
    colour: Array | str,
    label: str = "",
) -> None:
    """Draw friction over speed with its band."""
    ax.fill_between(speed, friction - band, friction + band, color=colour, alpha=0.3, lw=0)
    ax.plot(speed, friction, color=colour, lw=1.3, label=label or None)


def load_map(shades: Sequence[str] = SHADES) -> "Colormap":
    """Return the colours of the load, from light at the least to dark at the greatest."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("load", shades)


def load_colours(loads: ArrayLike, low: float, high: float) -> Array:
    """Return a colour for each load, shape (N, 4)."""
    return np.asarray(load_map()((np.asarray(loads) - low) / max(high - low, 1e-9)))


def draw_points(ax: "Axes", speed: Array, torque: Array, colour: Array | str) -> None:
    """Draw measured points over the absolute value of their speed."""
    ax.scatter(
        np.abs(speed), torque, s=18.0, c=colour, edgecolors="white", linewidths=0.4, zorder=4
    )


def finish(ax: "Axes", title: str, unit: str, loads: bool = False) -> None:
    """Label the axes of a panel; `unit` is that of the friction, N·m or N. With `loads`, the
    last curve is named first.
    """
    ax.set(
        xscale="log",
        xlabel=f"speed, {'m/s' if unit == 'N' else 'rad/s'}",
        ylabel=f"friction, {unit}",
    )
    ax.set_ylim(bottom=0.0)
    ax.set_title(title, loc="left", fontsize=9, parse_math=False)
    handles, labels = ax.get_legend_handles_labels()
    if labels:
        # the greatest load on top, as the curves are
        order = slice(None, None, -1 if loads else 1)
        for text in ax.legend(handles[order], labels[order], frameon=False, fontsize=7).get_texts():
            text.set_parse_math(False)
    ax.spines[["top", "right"]].set_visible(False)
