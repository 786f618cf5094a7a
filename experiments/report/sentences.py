"""What the report says in sentences."""

import numpy as np

from stribeck.experiments.report import words
from stribeck.experiments.report.joint_data import JointData

_CORRELATED = 0.8       # correlation from which two estimates trade against each other


def joint_sentence(data: JointData) -> str:
    """What was found, and from how much data."""
    joint = data.calibration
    grows = "" if joint.load == "none" else f" that grows with the {words.load_word(joint.load, data.prismatic)}"
    share = 100.0 * joint.held_out_rmse / max(float(np.median(data.odd)), 1e-12)
    low, high = joint.velocity_range
    return (f"{joint.law.capitalize()} friction{grows}. Speeds left out of the fit are predicted within "
            f"{words.number(joint.held_out_rmse, 2)} {data.unit} ({share:.1f} % of the median friction). "
            f"{len(data.odd)} points from {data.trips} round trips between {words.number(low, 2)} and "
            f"{words.number(high, 2)} {data.angle}/s.")


def correlation_note(data: JointData) -> str:
    """The pair of estimates that trade most against each other, if any do."""
    names, matrix = data.calibration.names, np.abs(np.triu(data.calibration.correlation, 1))
    if len(names) < 2 or matrix.max() < _CORRELATED:
        return ""
    row, column = np.unravel_index(int(np.argmax(matrix)), matrix.shape)
    value = words.fixed(float(data.calibration.correlation[row, column]), 2)
    first, second = (words.parameter_word(names[k]) for k in (row, column))
    return (f"The estimates of {first} and {second} are correlated ({value}): the data tell their combination better "
            "than each alone.")
