"""Plot of a validation: torques of every joint over time, and errors of
positions that were simulated.
"""

from collections.abc import Mapping
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from stribeck.experiments.report.svg import drawing_style
from stribeck.ident.calibration.validation import JointValidation
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.simulators.rollout import Rollout
from stribeck.ident.views.errors_over_time import draw_position_errors
from stribeck.ident.views.torques_over_time import draw_torques
from stribeck.ident.whole_files import whole

_WIDTH, _HEIGHT = 9.0, 1.7  # inches: width of a column, height of the axes of a joint
_LOWEST = 2.5  # inches: least height of the figure


def plot_validation(
    found: Mapping[str, JointValidation],
    mechanism: Mechanism,
    path: Path,
    rollout: Rollout | None = None,
) -> None:
    """Write the plot to a file; the suffix chooses the format (.svg, .png,
    .pdf). A rollout adds a column.
    """
    with drawing_style():
        # by column
        joints = [
            count for count in (len(found), 0 if rollout is None else len(rollout.names)) if count
        ]
        figure = Figure(
            figsize=(_WIDTH * len(joints), max(_HEIGHT * max(joints), _LOWEST)),
            facecolor="white",
            layout="constrained",
        )
        sides = figure.subfigures(1, len(joints), squeeze=False)[0]
        drawn = []
        if found:
            drawn.append((sides[0], _rows(sides[0], len(found))))
            for ax, (name, joint) in zip(drawn[0][1], found.items(), strict=True):
                draw_torques(
                    ax,
                    f"{name}, {mechanism.unit(mechanism.names.index(name))}",
                    joint.t,
                    joint.measured,
                    joint.predicted,
                    joint.rigid,
                )
        if rollout is not None:
            drawn.append((sides[-1], _rows(sides[-1], len(rollout.names))))
            for j, (ax, name) in enumerate(zip(drawn[-1][1], rollout.names, strict=True)):
                draw_position_errors(
                    ax,
                    f"{name}, simulated minus measured position, "
                    f"{'mm' if rollout.prismatic[j] else 'mrad'}",
                    rollout.t,
                    {
                        label: 1e3 * (one.q[:, j] - rollout.measured[:, j])
                        for label, one in rollout.simulated.items()
                    },
                )
        for side, axes in drawn:
            axes[-1].set_xlabel("time, s")
            side.legend(
                *axes[0].get_legend_handles_labels(),
                loc="outside upper center",
                ncols=4,
                frameon=False,
            )
        with whole(path) as part:
            figure.savefig(part, dpi=130.0)


def _rows(side: SubFigure, count: int) -> list[Axes]:
    return list(side.subplots(count, 1, sharex=True, squeeze=False)[:, 0])
