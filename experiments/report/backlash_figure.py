"""Figure of a joint's play: motor minus link over the torque of the link."""

import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure

from stribeck.experiments.report.svg import COLOURS, inline
from stribeck.ident.calibration.joint_calibration import JointCalibration

_SIZE = (3.6, 2.9)      # inches; about the width of the figure on the page
_BEYOND = 3.0           # torque at the ends over the torque that winds up by half the play, at most over the Coulomb friction


def backlash_figure(joint: JointCalibration, angle: str) -> Markup:
    """Motor minus link over the torque of the link: a loop, its width at zero torque the play, its slope the wind-up."""
    own = joint.backlash
    assert own is not None
    play, stiffness = own.play.value or 0.0, own.stiffness.value or np.inf
    level = joint.values.get("coulomb", 0.0)
    end = max(_BEYOND * max(level, 1e-9), 0.2 * play * stiffness if np.isfinite(stiffness) else 0.0)
    figure = Figure(figsize=_SIZE)
    axes = figure.subplots(gridspec_kw={"left": 0.16, "right": 0.975, "top": 0.92, "bottom": 0.15})
    torque = np.array([-end, 0.0, 0.0, end, 0.0, 0.0, -end])
    side = np.array([-1.0, -1.0, 1.0, 1.0, 1.0, -1.0, -1.0])
    axes.plot(torque, 1e3 * (0.5 * play * side + torque / stiffness), color=COLOURS.ink, linewidth=1.3)
    axes.annotate("", (0.0, 500.0 * play), (0.0, -500.0 * play), arrowprops={"arrowstyle": "<->", "color": COLOURS.point})
    axes.annotate(f"{1e3 * play:.3g}", (0.0, 0.0), (4, 0), textcoords="offset points", color=COLOURS.point, va="center")
    axes.set_title(f"motor minus link, {'mrad' if angle == 'rad' else 'mm'}")
    axes.set_xlabel(f"torque of the link, {own.link_friction.unit}")
    return inline(figure, "Motor minus link over the torque of the link: play is the width at zero torque, wind-up the slope")
