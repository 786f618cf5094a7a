"""Play between motor and link in the report: sentences, and the loop of motor minus link
over the torque of the link.
"""

import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure

from stribeck.experiments.report.frame.palette import COLOURS
from stribeck.experiments.report.svg import inline
from stribeck.experiments.report.words import plus_minus
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.calibration.joint_calibration import JointCalibration

_SIZE = (3.6, 2.9)  # inches; about the width of the figure on the page
# torque at the ends over the torque that winds up by half the play, at most
# over the Coulomb friction
_BEYOND = 3.0


def backlash_figure(joint: JointCalibration, angle: str) -> Markup:
    """Motor minus link over the torque of the link: a loop, its width at zero torque the
    play, its slope the wind-up.
    """
    own = joint.backlash
    assert own is not None
    play, stiffness = own.play.value or 0.0, own.stiffness.value or np.inf
    level = joint.values.get("coulomb", 0.0)
    end = max(_BEYOND * max(level, 1e-9), 0.2 * play * stiffness if np.isfinite(stiffness) else 0.0)
    figure = Figure(figsize=_SIZE)
    axes = figure.subplots(gridspec_kw={"left": 0.16, "right": 0.975, "top": 0.92, "bottom": 0.15})
    torque = np.array([-end, 0.0, 0.0, end, 0.0, 0.0, -end])
    side = np.array([-1.0, -1.0, 1.0, 1.0, 1.0, -1.0, -1.0])
    axes.plot(
        torque, 1e3 * (0.5 * play * side + torque / stiffness), color=COLOURS.ink, linewidth=1.3
    )
    axes.annotate(
        "",
        (0.0, 500.0 * play),
        (0.0, -500.0 * play),
        arrowprops={"arrowstyle": "<->", "color": COLOURS.point},
    )
    axes.annotate(
        f"{1e3 * play:.3g}",
        (0.0, 0.0),
        (4, 0),
        textcoords="offset points",
        color=COLOURS.point,
        va="center",
    )
    axes.set_title(f"motor minus link, {'mrad' if angle == 'rad' else 'mm'}")
    axes.set_xlabel(f"torque of the link, {own.link_friction.unit}")
    return inline(
        figure,
        "Motor minus link over the torque of the link: play is the width at zero torque, wind-up "
        "the slope",
    )


def backlash_lines(calibration: Calibration) -> list[str]:
    """One line for each joint with play: width, stiffness, verdicts, and what showed them."""
    return [
        backlash_words(name, joint)
        for name, joint in calibration.joints.items()
        if joint.backlash is not None
    ]


def backlash_words(name: str, joint: JointCalibration) -> str:
    """Return play and wind-up of a joint, as a heading."""
    own = joint.backlash
    assert own is not None
    told = ", ".join(
        f"{key.replace('_', ' ')} {plus_minus(entry)} {entry.unit}"
        + ("" if entry.verdict == "identified" else f" ({entry.verdict})")
        for key, entry in own.parameters.items()
    )
    return f"{name}: {told}; from {own.method}, {own.crossings} crossings of the gap"
