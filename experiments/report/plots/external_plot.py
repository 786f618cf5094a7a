"""Plot of external torque in a run: every joint over time, between its thresholds."""

from collections.abc import Mapping
from pathlib import Path

from matplotlib.figure import Figure

from stribeck.experiments.report.svg import drawing_style
from stribeck.ident.external.judged_run import JointExternal
from stribeck.ident.views.external_over_time import draw_external
from stribeck.ident.whole_files import whole

_WIDTH, _HEIGHT = 9.0, 1.7  # inches: width of the figure, height of the axes of a joint


def plot_external(found: Mapping[str, JointExternal], path: Path) -> None:
    """Write the plot to a file; the suffix chooses the format (.svg, .png, .pdf)."""
    with drawing_style():
        figure = Figure(
            figsize=(_WIDTH, _HEIGHT * len(found)), facecolor="white", layout="constrained"
        )
        rows = figure.subplots(len(found), 1, sharex=True, squeeze=False)[:, 0]
        for ax, (name, joint) in zip(rows, found.items(), strict=True):
            draw_external(
                ax,
                f"{name}, {joint.unit}",
                joint.t,
                joint.torque,
                joint.bound,
                [(one.push.start, one.push.end) for one in joint.pushes],
            )
        figure.axes[-1].set_xlabel("time, s")
        legends = [ax.get_legend_handles_labels() for ax in rows]
        figure.legend(
            *max(legends, key=lambda legend: len(legend[1])),
            loc="outside upper center",
            ncols=4,
            frameon=False,
        )
        with whole(path) as part:
            figure.savefig(part, dpi=130.0)
