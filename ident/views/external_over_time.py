"""External torque over time as a picture, between its thresholds."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stribeck.ident.arrays import Array
from stribeck.ident.views.torques_over_time import MEASURED, PREDICTED, RESIDUAL

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_external(
    ax: "Axes",
    title: str,
    t: Array,
    torque: Array,
    threshold: Array,
    pushes: Sequence[tuple[float, float]],
) -> None:
    """Draw external torque and the band of its threshold, both of shape
    (N,), and the times of pushes.
    """
    ax.fill_between(
        t,
        -threshold,
        threshold,
        color=MEASURED,
        linewidth=0.0,
        label="no push: noise and friction explain it",
    )
    ax.plot(t, torque, color=RESIDUAL, linewidth=0.8, label="external torque")
    for k, (start, end) in enumerate(pushes):
        ax.axvspan(
            start,
            end,
            color=PREDICTED,
            alpha=0.25,
            linewidth=0.0,
            label=None if k else "marked push",
        )
    ax.set_title(title, parse_math=False)
