"""Plot of a validation: measured torque, predicted torque and residual of every joint over time."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from stribeck.experiments.report.svg import COLOURS, drawing_style
from stribeck.ident.arrays import Array
from stribeck.ident.calibration.validation import JointValidation
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.whole_files import whole

_WIDTH, _HEIGHT = 9.0, 1.7      # inches: width of the figure, height of the axes of a joint
_GAP = 0.5                      # s without points from which lines are interrupted


def plot_validation(found: Mapping[str, JointValidation], mechanism: Mechanism, path: Path) -> None:
    """Write the plot to a file; the suffix chooses the format (.svg, .png, .pdf)."""
    with drawing_style():
        figure = Figure(figsize=(_WIDTH, _HEIGHT * len(found)), facecolor="white", layout="constrained")
        rows = figure.subplots(len(found), 1, sharex=True, squeeze=False)[:, 0]
        for axes, (name, joint) in zip(rows, found.items(), strict=True):
            for values, colour, width, label in (
                    (joint.measured, COLOURS.measured, 3.0, "measured"),     # wide, because the prediction is drawn over it
                    (joint.rigid, COLOURS.faint, 0.8, "predicted without friction"),
                    (joint.predicted, COLOURS.accent, 0.8, "predicted"),
                    (joint.measured - joint.predicted, COLOURS.ink, 0.8, "residual")):
                axes.plot(*_broken(joint.t, values), color=colour, linewidth=width, label=label)
            axes.set_title(f"{name}, {mechanism.unit(mechanism.names.index(name))}")
        figure.axes[-1].set_xlabel("time, s")
        figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4, frameon=False)
        with whole(path) as part:
            figure.savefig(part, dpi=130.0)


def _broken(t: Array, values: Array) -> tuple[Array, Array]:
    """Insert nan at gaps in time, so that the line is interrupted there."""
    gaps = np.flatnonzero(np.diff(t) > _GAP) + 1
    return np.insert(t, gaps, np.nan), np.insert(values, gaps, np.nan)
