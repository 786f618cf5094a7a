"""Errors of simulated positions over time as a picture."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.views.torques_over_time import PREDICTED, WITHOUT_FRICTION, broken

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OTHERS = "#3f7fa6"  # colour
# height of the panel over the largest error that is not the first one's
_SHOWN = 1.4


def draw_position_errors(ax: "Axes", title: str, t: Array, errors: Mapping[str, Array]) -> None:
    """Draw errors by label, shape (N,) each: first that without friction, which may leave the
    panel, last the calibration's.
    """
    colours = [WITHOUT_FRICTION, *[OTHERS] * (len(errors) - 2), PREDICTED][-len(errors) :]
    for (label, values), colour in zip(errors.items(), colours, strict=True):
        ax.plot(
            *broken(t, values),
            color=colour,
            linewidth=0.8,
            label=label,
            alpha=0.4 if colour == WITHOUT_FRICTION else 1.0,
        )
    rest = list(errors.values())[1:] or list(errors.values())
    height = _SHOWN * max(float(np.abs(values).max()) for values in rest)
    ax.set_ylim(-height, height)
    ax.set_title(title, parse_math=False)
