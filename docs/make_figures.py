"""Put a campaign into the README: ``python docs/make_figures.py calibration-lab6 output.txt``.

The folder and what `stribeck calibrate lab6 --seed 1` printed give the picture and the output shown.
"""

import re
import sys
import textwrap
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from stribeck import Calibration

WIDE = 128
INK, QUIET, LEAST, MOST = "#1c2b3a", "#7a8794", "#5ab4ac", "#1b3a5c"


def main(campaign: Path, target: Path) -> None:
    """Friction over speed of every joint: points, law at the least and greatest load, 95 % band."""
    calibration, points = Calibration.load(campaign), pd.read_csv(campaign / "points.csv")
    with matplotlib.rc_context({"font.family": "DejaVu Sans", "font.size": 8.5, "axes.edgecolor": QUIET, "text.color": INK,
                                "axes.labelcolor": INK, "xtick.color": QUIET, "ytick.color": QUIET}):
        figure = Figure(figsize=(10.0, 5.2), dpi=110, layout="constrained")
        axes = figure.subplots(2, 3)
        for ax, (name, joint) in zip(axes.flat, calibration.joints.items(), strict=False):
            own = points[points["joint"] == name]
            w = np.geomspace(*joint.velocity_range, 200)
            loads = [(None, MOST)] if joint.load_range is None else [(joint.load_range[0], LEAST), (joint.load_range[1], MOST)]
            for load, colour in loads:
                level = None if load is None else np.full_like(w, load)
                torque, band = joint.torque(w, level), joint.band(w, level)
                ax.fill_between(w, torque - band, torque + band, color=colour, alpha=0.2, lw=0)
                ax.plot(w, torque, color=colour, lw=1.4, label=None if load is None else f"{joint.load} load {load:.0f} N·m")
            if joint.load_range is None:
                ax.scatter(own["speed"], own["odd"], s=6, color=MOST, alpha=0.6, lw=0, zorder=3)
            else:
                share = (own[joint.load] - joint.load_range[0]) / np.ptp(joint.load_range)
                colours = matplotlib.colors.LinearSegmentedColormap.from_list("load", [LEAST, MOST])(share)
                ax.scatter(own["speed"], own["odd"], s=6, c=colours, lw=0, zorder=3)
                ax.legend(frameon=False, fontsize=7.5, loc="upper left")
            ax.set(xscale="log", ylim=(0.0, 1.08 * own["odd"].max()))
            ax.set_title(f"{name}   {joint.law}, load {joint.load}", loc="left", fontsize=9.5, color=INK)
            ax.spines[["top", "right"]].set_visible(False)
            ax.xaxis.set_major_formatter("{x:g}")
            ax.set_xticks([0.01, 0.1, 1.0])
        for ax in axes[-1]:
            ax.set_xlabel("speed, rad/s")
        for ax in axes[:, 0]:
            ax.set_ylabel("friction, N·m")
        FigureCanvasAgg(figure).print_figure(target, metadata={"Software": None})


def show_output(printed: str, readme: Path) -> None:
    """Put what was printed between the README's marks, without empty lines, and long lines wrapped but for tables."""
    lines = [line.rstrip() for line in printed.splitlines() if line.strip()]
    beneath = 10 * " "                      # a heading of the left margin
    wrapped = [line if len(line) <= WIDE or (line.startswith(" ") and not re.match(beneath + r"\S+: ", line))
               else textwrap.fill(line.strip(), WIDE, initial_indent=beneath if line.startswith(" ") else "",
                                  subsequent_indent=beneath) for line in lines]
    text = readme.read_text(encoding="utf-8")
    shown = "<!-- output -->\n```\n" + "\n".join(wrapped) + "\n```\n<!-- end of output -->"
    text = re.sub(r"<!-- output -->.*<!-- end of output -->", lambda _: shown, text, flags=re.DOTALL)
    readme.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    docs = Path(__file__).parent
    main(Path(sys.argv[1]), docs / "images" / "lab6.png")
    show_output(Path(sys.argv[2]).read_text(encoding="utf-8"), docs.parent / "README.md")
