"""Put a campaign into the README: ``python docs/make_figures.py calibration-lab6 output.txt``.

The picture is drawn from the folder, which `stribeck calibrate lab6 --seed 1` made. The text file
holds what the command printed.
"""

import re
import sys
import textwrap
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure

from stribeck.experiments.report.joint_data import JointData, joint_data
from stribeck.experiments.report.words import load_word
from stribeck.ident.arrays import Array
from stribeck.ident.identify import identify
from stribeck.ident.laws.load_components import load_unit
from stribeck.ident.log.campaign_folder import find_runs
from stribeck.ident.log.run import load_run

WIDE = 128
INK, QUIET, LEAST, MOST = "#1c2b3a", "#7a8794", "#5ab4ac", "#1b3a5c"
# light to heavy
LOADS = LinearSegmentedColormap.from_list("loads", ["#f4b942", "#e4663a", "#a8326e", "#3b1c5a"])
LEVELS = np.linspace(0.0, 1.0, 5)  # loads of the drawn curves, as fractions of the range
HALF_SPAN = 3.2  # per cent, of the residual panels


def main(campaign: Path, target: Path) -> None:
    """Draw friction against speed for every joint, and below it the residuals with
    the 95 % band of the law.
    """
    result = identify([load_run(path) for path in find_runs(campaign)])
    style = {
        "font.family": "DejaVu Sans",
        "font.size": 9.0,
        "axes.edgecolor": QUIET,
        "text.color": INK,
        "axes.labelcolor": INK,
        "xtick.color": QUIET,
        "ytick.color": QUIET,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(11.0, 8.2), dpi=110, layout="constrained")
        axes = figure.subplots(4, 3, height_ratios=(2.1, 1.0, 2.1, 1.0))
        for k, name in enumerate(result.calibration.names):
            row, column = 2 * (k // 3), k % 3
            draw_joint(axes[row, column], axes[row + 1, column], joint_data(result, name))
        for row in (0, 2):
            axes[row, 0].set_ylabel("friction, N·m")
            axes[row + 1, 0].set_ylabel("residual, %")
        for ax in axes[3]:
            ax.set_xlabel("speed, rad/s")
        bar = figure.colorbar(
            ScalarMappable(Normalize(0.0, 1.0), LOADS),
            ax=axes,
            location="top",
            fraction=0.02,
            aspect=60,
            shrink=0.5,
            pad=0.02,
        )
        bar.set_ticks([0.0, 0.5, 1.0], labels=["least", "load of the joint", "greatest"])
        bar.ax.tick_params(length=0, labelsize=10, labelcolor=INK)
        bar.outline.set_visible(False)
        axes[1, 0].legend(
            loc="upper left", frameon=False, fontsize=8, borderaxespad=0.0, handlelength=1.2
        )
        FigureCanvasAgg(figure).print_figure(target, metadata={"Software": None})


def draw_joint(curves: Axes, residuals: Axes, data: JointData) -> None:
    """Draw one joint: round trips over the law at five loads, and residuals over the
    band, in per cent of the law.
    """
    kind, load = shown_load(data)
    colours = LOADS((load - load.min()) / np.ptp(load))
    w = np.geomspace(*data.calibration.velocity_range, 200)
    if data.load is None:
        middle = None
        curves.plot(w, data.calibration.torque(w), color=INK, lw=1.3)
    else:
        middle = data.at_load(float(np.median(data.load)), len(w))
        for level in LEVELS:
            loads = data.at_load(load.min() + level * np.ptp(load), len(w))
            curves.plot(w, data.calibration.torque(w, loads), color=LOADS(level), lw=1.3)
    band = 100.0 * data.calibration.band(w, middle) / data.calibration.torque(w, middle)
    residuals.fill_between(
        w, -band, band, color="#9db8d2", alpha=0.75, lw=0, label="95 % confidence band of the law"
    )
    residuals.axhline(0.0, color=INK, lw=1.0)
    # no load is always drawn on top
    order = np.random.default_rng(0).permutation(len(load))
    for ax, values in (
        (curves, data.predicted + data.residual),
        (residuals, 100.0 * data.residual / data.predicted),
    ):
        ax.scatter(
            data.speed[order],
            values[order],
            s=15,
            c=colours[order],
            edgecolors="white",
            linewidths=0.3,
            zorder=3,
        )
        ax.set(xscale="log", xticks=[0.01, 0.1, 1.0], xlim=(0.009, 2.0))
        ax.xaxis.set_major_formatter("{x:g}")
    curves.set(ylim=(0.0, 1.15 * data.odd.max()))
    curves.tick_params(labelbottom=False)
    residuals.set(ylim=(-HALF_SPAN, HALF_SPAN), yticks=[-2, 0, 2])
    word, unit = load_word(kind, data.prismatic), load_unit(kind, data.prismatic)
    effect = "no load part" if data.load is None else f"grows with {word}"
    curves.text(
        0.03, 1.0, data.name, transform=curves.transAxes, va="top", fontsize=14, fontweight="bold"
    )
    curves.text(
        0.12,
        0.99,
        f"{data.calibration.law}, {effect}\n{word} {load.min():.2g} to {load.max():.2g} {unit}",
        transform=curves.transAxes,
        va="top",
        fontsize=8.5,
    )


def shown_load(data: JointData) -> tuple[str, Array]:
    """Kind and values of the load that colours the points: the law's load, or without one
    the load that varied most.
    """
    if data.load is not None:
        return data.calibration.load, data.load
    kind = max(("torque", "bending"), key=lambda name: np.ptp(data.points[name]))
    return kind, data.points[kind].to_numpy(dtype=float)


def show_output(printed: str, readme: Path) -> None:
    """Put what was printed between the README's marks, without empty lines, and long
    lines wrapped but for tables.
    """
    lines = [line.rstrip() for line in printed.splitlines() if line.strip()]
    beneath = 10 * " "  # a heading of the left margin
    wrapped = [
        line
        if len(line) <= WIDE or (line.startswith(" ") and not re.match(beneath + r"\S+: ", line))
        else textwrap.fill(
            line.strip(),
            WIDE,
            initial_indent=beneath if line.startswith(" ") else "",
            subsequent_indent=beneath,
        )
        for line in lines
    ]
    text = readme.read_text(encoding="utf-8")
    shown = "<!-- output -->\n```\n" + "\n".join(wrapped) + "\n```\n<!-- end of output -->"
    text = re.sub(
        r"<!-- output -->.*<!-- end of output -->", lambda _: shown, text, flags=re.DOTALL
    )
    readme.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    docs = Path(__file__).parent
    main(Path(sys.argv[1]), docs / "images" / "lab6.png")
    show_output(Path(sys.argv[2]).read_text(encoding="utf-8"), docs.parent / "README.md")
