"""Measured and predicted torque over time as a picture."""

from typing import TYPE_CHECKING

import numpy as np

from stribeck.ident.arrays import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# colours
MEASURED, WITHOUT_FRICTION, PREDICTED, RESIDUAL = "#a9cbe0", "#98a3ad", "#b8501f", "#1b2733"
_GAP = 0.5  # s without points from which lines are interrupted


def draw_torques(
    ax: "Axes", title: str, t: Array, measured: Array, predicted: Array, rigid: Array
) -> None:
    """Draw measured torque, predicted torque with and without friction, and the
    residual; all of shape (N,).
    """
    for values, colour, width, label in (
        # wide, because the prediction is drawn over it
        (measured, MEASURED, 3.0, "measured"),
        (rigid, WITHOUT_FRICTION, 0.8, "predicted without friction"),
        (predicted, PREDICTED, 0.8, "predicted"),
        (measured - predicted, RESIDUAL, 0.8, "residual"),
    ):
        ax.plot(*broken(t, values), color=colour, linewidth=width, label=label)
    ax.set_title(title, parse_math=False)


def broken(t: Array, values: Array) -> tuple[Array, Array]:
    """Insert nan at gaps in time, so that the line is interrupted there."""
    gaps = np.flatnonzero(np.diff(t) > _GAP) + 1
    return np.insert(t, gaps, np.nan), np.insert(values, gaps, np.nan)
