"""Figure of a joint's memory: hysteresis loops of slow round trips."""

import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from stribeck.experiments.report.frame.palette import COLOURS
from stribeck.experiments.report.svg import inline
from stribeck.ident.calibration.joint_calibration import JointCalibration
from stribeck.ident.memory.states.path import Path

_SIZE = (3.6, 2.9)  # inches; about the width of the figure on the page
# half amplitudes of the round trips, in distances over which friction reverses
_LOOPS = 0.5, 1.5, 5.0
_POINTS = 400  # points of a round trip
_ROUNDS = 3  # round trips before the drawn one, after which the loop is closed


def memory_figure(joint: JointCalibration, unit: str, angle: str) -> Markup:
    """Friction against position in slow round trips of three sizes, by the identified
    memory at the middle load.
    """
    memory = joint.memory
    assert memory is not None
    figure = Figure(figsize=_SIZE)
    axes = figure.subplots(gridspec_kw={"left": 0.12, "right": 0.975, "top": 0.92, "bottom": 0.15})
    turn = 2.0 * np.pi * np.arange((_ROUNDS + 1) * _POINTS + 1) / _POINTS
    slow = np.full(1, joint.velocity_range[0])
    load = (
        None
        if joint.load == "none"
        else np.broadcast_to(joint.middle_load, (1, *np.shape(joint.middle_load)))
    )
    level = float(joint.dry_level(slow, load)[0])
    for part, shade in zip(_LOOPS, (COLOURS.faint, COLOURS.point, COLOURS.ink), strict=True):
        position = part * memory.distance * np.sin(turn)
        friction = memory.dry(Path.of(position), 0.0 * turn, np.full(len(turn), level))
        axes.plot(position[-_POINTS - 1 :], friction[-_POINTS - 1 :], color=shade, linewidth=1.3)
    axes.axhline(0.0, color=COLOURS.faint, linewidth=0.8)
    axes.set_title(f"friction, {unit}")
    axes.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    axes.set_xlabel(f"displacement, {angle}")
    return inline(
        figure,
        "Friction against displacement in slow round trips of three sizes, by the memory "
        f"{memory.name}",
    )
