"""Plot of a validation: measured torque, predicted torque and residual of every joint over time."""

from collections.abc import Mapping
from pathlib import Path

from matplotlib.figure import Figure

from stribeck.experiments.report.svg import drawing_style
from stribeck.ident.calibration.validation import JointValidation
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.views.torques_over_time import draw_torques
from stribeck.ident.whole_files import whole

_WIDTH, _HEIGHT = 9.0, 1.7      # inches: width of the figure, height of the axes of a joint


def plot_validation(found: Mapping[str, JointValidation], mechanism: Mechanism, path: Path) -> None:
    """Write the plot to a file; the suffix chooses the format (.svg, .png, .pdf)."""
    with drawing_style():
        figure = Figure(figsize=(_WIDTH, _HEIGHT * len(found)), facecolor="white", layout="constrained")
        rows = figure.subplots(len(found), 1, sharex=True, squeeze=False)[:, 0]
        for axes, (name, joint) in zip(rows, found.items(), strict=True):
            draw_torques(axes, f"{name}, {mechanism.unit(mechanism.names.index(name))}", joint.t, joint.measured, joint.predicted,
                         joint.rigid)
        figure.axes[-1].set_xlabel("time, s")
        figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4, frameon=False)
        with whole(path) as part:
            figure.savefig(part, dpi=130.0)
