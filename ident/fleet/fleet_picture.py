"""Picture of a fleet: friction of every joint of every arm relative to the population."""

from collections.abc import Mapping, Set
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, QUIET, MARK, BAND = "#1b3a5c", "#9aa7b3", "#b4532a", "#dfe7ee"
_NAMED = 40  # most arms with their names on the axis
_LABELS = 6  # most marked arms with a label in a panel


def draw_fleet(
    rows: pd.DataFrame, normal: Mapping[str, tuple[float, float]], marked: Set[tuple[str, str]]
) -> "Figure":
    """Draw a panel for each joint, arms from left to right.

    Parameters
    ----------
    rows : DataFrame
        As `Fleet.to_dataframe`.
    normal : mapping of str to tuple of float
        Prediction interval of each joint, relative to the population mean.
    marked : set of tuple of str
        Joints and arms that differ.

    Returns
    -------
    Figure
        The newest calibration of an arm is a dot, earlier ones are small; arms that differ have
        another colour, shape and a label.
    """
    from matplotlib.figure import Figure

    arms = list(dict.fromkeys(rows["arm"]))
    place = {arm: k for k, arm in enumerate(arms)}
    named = len(arms) <= _NAMED
    size = 26.0 if len(arms) <= _NAMED else 9.0
    figure = Figure(
        figsize=(max(6.4, min(13.0, 1.5 + 0.22 * len(arms))), 1.5 * len(normal) + 1.1),
        dpi=110,
        layout="constrained",
    )
    axes = figure.subplots(len(normal), 1, sharex=True, squeeze=False).ravel()
    for ax, (joint, (low, high)) in zip(axes, normal.items(), strict=True):
        own = rows[rows["joint"] == joint].sort_values("created")
        newest = own.groupby("arm", sort=False).tail(1)
        earlier = own.drop(newest.index)
        odd = np.array([(joint, arm) in marked for arm in newest["arm"]])
        x, y = (
            newest["arm"].map(place).to_numpy(dtype=float),
            100.0 * (newest["ratio"].to_numpy(dtype=float) - 1.0),
        )
        std_error = newest["std_error"].to_numpy(dtype=float)
        error = 196.0 * std_error / newest["friction"].to_numpy(dtype=float)
        ax.axhspan(100.0 * (low - 1.0), 100.0 * (high - 1.0), color=BAND, lw=0, zorder=0)
        ax.axhline(0.0, color=QUIET, lw=0.7, zorder=1)
        ax.scatter(
            earlier["arm"].map(place),
            100.0 * (earlier["ratio"] - 1.0),
            s=size / 4.0,
            color=QUIET,
            lw=0,
            zorder=2,
        )
        ax.errorbar(x, y, error, fmt="none", ecolor=INK, elinewidth=0.6, zorder=2)
        ax.scatter(x[~odd], y[~odd], s=size, color=INK, lw=0, zorder=3)
        ax.scatter(x[odd], y[odd], s=1.8 * size, color=MARK, marker="D", lw=0, zorder=4)
        for k in sorted(np.flatnonzero(odd), key=lambda k: -abs(y[k]))[:_LABELS]:
            ax.annotate(
                newest["arm"].iloc[k],
                (x[k], y[k]),
                (4.0, 4.0),
                textcoords="offset points",
                fontsize=7,
                color=MARK,
                parse_math=False,
            )
        ax.set_ylabel(f"{joint}, %", fontsize=8, parse_math=False)
        ax.tick_params(labelsize=7)
        ax.margins(y=0.25)
        ax.spines[["top", "right"]].set_visible(False)
    last = axes[-1]
    last.set_xlim(-0.8, len(arms) - 0.2)
    if named:
        last.set_xticks(
            range(len(arms)),
            arms,
            rotation=90 if len(arms) > 8 else 0,
            fontsize=7,
            parse_math=False,
        )
    last.set_xlabel(
        "arm" if named else f"{len(arms)} arms, in the order of their names", fontsize=8
    )
    axes[0].set_title(
        "friction relative to the population; band: 95 % of new arms; diamonds differ",
        loc="left",
        fontsize=8.5,
    )
    return figure
