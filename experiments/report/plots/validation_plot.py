"""Plot of a validation: torques of every joint over time, and errors of positions that were simulated."""

from collections.abc import Mapping
from pathlib import Path

from matplotlib.figure import Figure

from stribeck.experiments.report.svg import drawing_style
from stribeck.ident.calibration.validation import JointValidation
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.simulators.rollout import Rollout
from stribeck.ident.views.errors_over_time import draw_position_errors
from stribeck.ident.views.torques_over_time import draw_torques
from stribeck.ident.whole_files import whole

_WIDTH, _HEIGHT = 9.0, 1.7      # inches: width of the figure, height of the axes of a joint


def plot_validation(found: Mapping[str, JointValidation], mechanism: Mechanism, path: Path,
                    rollout: Rollout | None = None) -> None:
    """Write the plot to a file; the suffix chooses the format (.svg, .png, .pdf). A rollout adds a column."""
    with drawing_style():
        columns = bool(found) + (rollout is not None)
        names = tuple(found) or (() if rollout is None else rollout.names)
        figure = Figure(figsize=(_WIDTH * columns, max(_HEIGHT * len(names), 2.5)), facecolor="white", layout="constrained")
        sides = figure.subfigures(1, columns, squeeze=False)[0]
        axes = [side.subplots(len(names), 1, sharex=True, squeeze=False)[:, 0] for side in sides]
        for ax, (name, joint) in zip(axes[0], found.items(), strict=False):
            draw_torques(ax, f"{name}, {mechanism.unit(mechanism.names.index(name))}", joint.t, joint.measured, joint.predicted,
                         joint.rigid)
        if rollout is not None:
            for ax, name in zip(axes[-1], names, strict=True):
                j = rollout.names.index(name)
                draw_position_errors(ax, f"{name}, simulated minus measured position, {'mm' if rollout.prismatic[j] else 'mrad'}",
                                     rollout.t, {label: 1e3 * (one.q[:, j] - rollout.measured[:, j])
                                                 for label, one in rollout.simulated.items()})
        for side, own in zip(sides, axes, strict=True):
            own[-1].set_xlabel("time, s")
            side.legend(*own[0].get_legend_handles_labels(), loc="outside upper center", ncols=4, frameon=False)
        with whole(path) as part:
            figure.savefig(part, dpi=130.0)
