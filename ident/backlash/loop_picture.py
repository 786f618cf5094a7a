"""Loop of motor minus link over the torque of the link, with play and slope."""

from typing import TYPE_CHECKING

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.backlash.joint_backlash import JointBacklash
from stribeck.ident.views.panels import PLAIN, shown_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_loop(
    joint: JointBacklash, torque: Array, difference: Array, label: str, ax: "Axes | None" = None
) -> "Axes":
    """Draw the loop of samples, shape (N,), under a label, and the two flanks of the fit."""
    ax = shown_figure(("backlash",))["backlash"] if ax is None else ax
    middle = float(np.median(difference - joint.lag(torque)))
    ax.plot(
        torque, 1e3 * (difference - middle), ".", ms=1.5, color="0.7", label=label, rasterized=True
    )
    play, ends = joint.play.value or 0.0, np.array([0.0, float(np.abs(torque).max())])
    for side in (1.0, -1.0):
        ax.plot(
            side * ends,
            1e3 * joint.lag(side * np.maximum(ends, 1e-12)),
            color=PLAIN,
            lw=1.2,
            label="flanks" if side > 0.0 else None,
        )
    ax.annotate(
        "", (0.0, 500.0 * play), (0.0, -500.0 * play), arrowprops={"arrowstyle": "<->", "lw": 1.0}
    )
    unit = joint.play.unit
    ax.set(
        xlabel=f"torque of the link, {joint.link_friction.unit}",
        ylabel=f"motor minus link, m{unit}" if unit == "rad" else "motor minus link, mm",
    )
    ax.legend(frameon=False, fontsize=7)
    ax.spines[["top", "right"]].set_visible(False)
    return ax
