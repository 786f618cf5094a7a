"""Sentences of the report about one joint."""

import numpy as np

from stribeck.experiments.report import words
from stribeck.experiments.report.joint_data import JointData

_CORRELATED = 0.8  # correlation coefficient from which a pair of estimates is reported


def joint_sentence(data: JointData) -> str:
    """Sentences on law, held-out error and amount of data of a joint."""
    joint = data.calibration
    grows = (
        ""
        if joint.load == "none"
        else f" that grows with the {words.load_word(joint.load, data.prismatic)}"
    )
    share = 100.0 * joint.held_out_rmse / max(float(np.median(data.odd)), 1e-12)
    low, high = joint.velocity_range
    return (
        f"{joint.law.capitalize()} friction{grows}. The law predicts speeds left out of the fit "
        f"within {words.number(joint.held_out_rmse, 2)} {data.unit} RMS ({share:.1f} % of the "
        f"median friction). {len(data.odd)} points from {data.trips} round trips between "
        f"{words.number(low, 2)} and {words.number(high, 2)} {data.angle}/s."
    )


def correlation_note(data: JointData) -> str:
    """Sentence about the most correlated pair of estimates; empty if no
    pair is strongly correlated.
    """
    names, matrix = data.calibration.names, np.abs(np.triu(data.calibration.correlation, 1))
    if len(names) < 2 or matrix.max() < _CORRELATED:
        return ""
    row, column = np.unravel_index(int(np.argmax(matrix)), matrix.shape)
    value = words.fixed(float(data.calibration.correlation[row, column]), 2)
    first, second = (words.parameter_word(names[k]) for k in (row, column))
    return (
        f"The estimates of {first} and {second} are correlated ({value}): the data determine their "
        "combination better than each parameter alone."
    )
