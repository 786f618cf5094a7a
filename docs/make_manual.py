"""Draw the pictures of the manual: ``python docs/make_manual.py FOLDER``.

FOLDER holds the results of the commands in docs/manual/example-*.md.
"""

import sys
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
from make_figures import INK, LEAST, MOST, QUIET
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from benchmarks.compensation import follow, told
from stribeck import Calibration
from stribeck.experiments.report.plots.validation_plot import plot_validation
from stribeck.ident.calibration.validation import validate
from stribeck.ident.log.campaign_folder import find_runs
from stribeck.ident.log.run import VALIDATION, load_run

IMAGES = Path(__file__).parent / "images"
STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "axes.edgecolor": QUIET,
    "text.color": INK,
    "axes.labelcolor": INK,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
}


def emps(folder: Path) -> None:
    """Draw friction of the carriage in both directions, from all motion and from
    constant speed with its points.
    """
    motion, steady = (
        Calibration.load(folder / "emps-motion"),
        Calibration.load(folder / "emps-fitted"),
    )
    points = pd.read_csv(folder / "emps-fitted" / "points.csv")
    figure = Figure(figsize=(6.4, 3.4), dpi=110, layout="constrained")
    ax = figure.subplots()
    for sign, colour, way in ((1.0, LEAST, "forward"), (-1.0, MOST, "backward")):
        for calibration, line, word in (
            (motion, "-", "all motion"),
            (steady, "--", "constant speed"),
        ):
            w = np.linspace(*calibration.joints["carriage"].velocity_range, 100)
            friction = sign * calibration.friction(np.zeros((len(w), 1)), sign * w[:, None])[:, 0]
            ax.plot(w, friction, line, color=colour, lw=1.4, label=f"{way}, {word}")
    ax.plot(
        points["speed"],
        points["odd"],
        "o",
        ms=4,
        color=INK,
        mec="white",
        mew=0.5,
        label="mean of both, constant speed",
    )
    ax.set(xlabel="speed, m/s", ylabel="friction, N", xlim=(0.0, None), ylim=(0.0, None))
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=7.5)
    FigureCanvasAgg(figure).print_figure(IMAGES / "emps.png", metadata={"Software": None})


def lab6(folder: Path) -> None:
    """Draw measured and predicted torque of three joints in a motion that was not fitted."""
    calibration = Calibration.load(folder / "calibration-lab6")
    run = load_run(find_runs(folder / "lab6-unseen", (VALIDATION,))[-1])
    found, path = validate(run, calibration).joints, IMAGES / "lab6-validation.png"
    plot_validation({name: found[name] for name in ("j1", "j2", "j5")}, calibration.mechanism, path)
    Image.open(path).quantize(48).save(path, optimize=True)


def compensation(folder: Path) -> None:
    """Draw the tracking error of two joints of lab6 in a slow swing, for three kinds
    of friction feed-forward.
    """
    calibration = Calibration.load(folder / "calibration-lab6")
    tracked = {
        way: follow("lab6", calibration, friction, 0.05)
        for way, friction in told(calibration).items()
    }
    figure = Figure(figsize=(7.2, 3.0), dpi=110, layout="constrained")
    for ax, name in zip(figure.subplots(1, 2), ("j2", "j5"), strict=True):
        for (way, one), colour in zip(tracked.items(), (QUIET, LEAST, MOST), strict=True):
            ax.plot(
                one.t,
                1e3 * one.error[:, calibration.names.index(name)],
                color=colour,
                lw=1.1,
                label=way,
            )
        ax.set_title(name, loc="left", fontsize=9.5)
        ax.set(xlabel="time, s", ylabel="tracking error, mrad")
        ax.spines[["top", "right"]].set_visible(False)
    figure.legend(
        *ax.get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False
    )
    FigureCanvasAgg(figure).print_figure(IMAGES / "compensation.png", metadata={"Software": None})


if __name__ == "__main__":
    with matplotlib.rc_context(STYLE):
        for draw in (emps, lab6, compensation):
            draw(Path(sys.argv[1]))
