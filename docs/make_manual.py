"""Pictures of the manual's examples: ``python docs/make_manual.py FOLDER`` with what docs/manual/example-*.md made in it."""

import sys
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
from make_figures import INK, LEAST, MOST, QUIET
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from experiments.report.validation import plot_validation
from ident import Calibration
from ident.run import VALIDATION, find_runs, load_run
from ident.validation import validate

IMAGES = Path(__file__).parent / "images"
STYLE = {"font.family": "DejaVu Sans", "font.size": 8.5, "axes.edgecolor": QUIET, "text.color": INK, "axes.labelcolor": INK,
         "xtick.color": QUIET, "ytick.color": QUIET}


def emps(folder: Path) -> None:
    """Both directions of the carriage by all of its motion, and by constant speed with the points that it rests on."""
    motion, steady = Calibration.load(folder / "emps-motion"), Calibration.load(folder / "emps-fitted")
    points = pd.read_csv(folder / "emps-fitted" / "points.csv")
    figure = Figure(figsize=(6.4, 3.4), dpi=110, layout="constrained")
    ax = figure.subplots()
    for sign, colour, way in ((1.0, LEAST, "forward"), (-1.0, MOST, "backward")):
        for calibration, line, word in ((motion, "-", "all motion"), (steady, "--", "constant speed")):
            w = np.linspace(*calibration.joints["carriage"].velocity_range, 100)
            friction = sign * calibration.friction(np.zeros((len(w), 1)), sign * w[:, None])[:, 0]
            ax.plot(w, friction, line, color=colour, lw=1.4, label=f"{way}, {word}")
    ax.plot(points["speed"], points["odd"], "o", ms=4, color=INK, mec="white", mew=0.5, label="mean of both, constant speed")
    ax.set(xlabel="speed, m/s", ylabel="friction, N", xlim=(0.0, None), ylim=(0.0, None))
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=7.5)
    FigureCanvasAgg(figure).print_figure(IMAGES / "emps.png", metadata={"Software": None})


def lab6(folder: Path) -> None:
    """Measured and predicted torque of three joints in the unseen motion."""
    calibration = Calibration.load(folder / "calibration-lab6")
    run = load_run(find_runs(folder / "lab6-unseen", (VALIDATION,))[-1])
    found, path = validate(run, calibration), IMAGES / "lab6-validation.png"
    plot_validation({name: found[name] for name in ("j1", "j2", "j5")}, calibration.mechanism, path)
    Image.open(path).quantize(48).save(path, optimize=True)


if __name__ == "__main__":
    with matplotlib.rc_context(STYLE):
        for draw in (emps, lab6):
            draw(Path(sys.argv[1]))
