"""Plots of a validation: torques and residual, or external torque, of every joint over time."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from stribeck.experiments.report.svg import drawing_style
from stribeck.ident.calibration.validation import JointValidation
from stribeck.ident.external.judged_run import JointExternal
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.views.external_over_time import draw_external
from stribeck.ident.views.torques_over_time import draw_torques
from stribeck.ident.whole_files import whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDTH, _HEIGHT = 9.0, 1.7      # inches: width of the figure, height of the axes of a joint


def plot_validation(found: Mapping[str, JointValidation], mechanism: Mechanism, path: Path) -> None:
    """Write the plot of torques to a file; the suffix chooses the format (.svg, .png, .pdf)."""
    def draw(ax: "Axes", name: str) -> None:
        joint = found[name]
        draw_torques(ax, f"{name}, {mechanism.unit(mechanism.names.index(name))}", joint.t, joint.measured, joint.predicted,
                     joint.rigid)

    _plot(tuple(found), draw, path)


def plot_external(found: Mapping[str, JointExternal], path: Path) -> None:
    """Write the plot of external torques to a file; the suffix chooses the format (.svg, .png, .pdf)."""
    def draw(ax: "Axes", name: str) -> None:
        joint = found[name]
        draw_external(ax, f"{name}, {joint.unit}", joint.t, joint.torque, joint.bound,
                      [(one.push.start, one.push.end) for one in joint.pushes])

    _plot(tuple(found), draw, path)


def _plot(names: tuple[str, ...], draw: "Callable[[Axes, str], None]", path: Path) -> None:
    """Write a figure with a row for each joint, and the legend of the row that has most to tell."""
    with drawing_style():
        figure = Figure(figsize=(_WIDTH, _HEIGHT * len(names)), facecolor="white", layout="constrained")
        rows = figure.subplots(len(names), 1, sharex=True, squeeze=False)[:, 0]
        for ax, name in zip(rows, names, strict=True):
            draw(ax, name)
        figure.axes[-1].set_xlabel("time, s")
        legends = [ax.get_legend_handles_labels() for ax in rows]
        figure.legend(*max(legends, key=lambda legend: len(legend[1])), loc="outside upper center", ncols=4, frameon=False)
        with whole(path) as part:
            figure.savefig(part, dpi=130.0)
