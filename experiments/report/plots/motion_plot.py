"""Plot of a fit without torques: set-points, measured and simulated positions in every window."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from stribeck.experiments.report.svg import drawing_style
from stribeck.ident.identification.identify_servos import ServoIdentification
from stribeck.ident.views.torques_over_time import MEASURED, PREDICTED, WITHOUT_FRICTION
from stribeck.ident.whole_files import whole

# panels in a row, their size in inches, most panels of a joint
_COLUMNS, _WIDTH, _HEIGHT, _MOST = 4, 3.4, 2.0, 24


def plot_motion(found: ServoIdentification, path: Path) -> None:
    """Write the plot to a file; the suffix chooses the format."""
    with drawing_style():
        rows = {name: -(-min(len(own.q), _MOST) // _COLUMNS) for name, own in found.windows.items()}
        figure = Figure(
            figsize=(_WIDTH * _COLUMNS, _HEIGHT * sum(rows.values()) + 0.6),
            facecolor="white",
            layout="constrained",
        )
        axes = figure.subplots(sum(rows.values()), _COLUMNS, squeeze=False)
        first = 0
        for name, own in found.windows.items():
            panels = axes[first : first + rows[name]].ravel()
            first += rows[name]
            for k, ax in enumerate(panels):
                if k >= len(own.q):
                    ax.set_visible(False)
                    continue
                known = own.known[k]
                t = np.arange(known.sum()) * own.dt
                told = np.where(own.gain[k] > 0.0, own.goal[k, own.before :], np.nan)[known]
                for values, colour, width, label in (
                    (own.q[k][known], MEASURED, 3.0, "measured"),
                    (told, WITHOUT_FRICTION, 0.8, "set-point"),
                    (found.fits[name].q[k][known], PREDICTED, 0.9, "simulated"),
                ):
                    ax.plot(t, values, color=colour, linewidth=width, label=label)
                ax.set_title(
                    f"{name}, run {own.run[k] + 1}, gain {own.gain[k].max():g}", parse_math=False
                )
                ax.set_xlabel("time, s")
                if k % _COLUMNS == 0:
                    slides = found.calibration.joints[name].parameters["coulomb"].unit == "N"
                    ax.set_ylabel(f"position, {'m' if slides else 'rad'}")
        figure.legend(
            *axes[0, 0].get_legend_handles_labels(),
            loc="outside upper center",
            ncols=3,
            frameon=False,
        )
        with whole(path) as part:
            figure.savefig(part, dpi=110.0, format=path.suffix[1:])
