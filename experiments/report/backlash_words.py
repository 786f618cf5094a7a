"""Sentences about play between motor and link."""

from stribeck.experiments.report.words import plus_minus
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.calibration.joint_calibration import JointCalibration


def backlash_lines(calibration: Calibration) -> list[str]:
    """One line for each joint with play: width, stiffness, verdicts, and what showed them."""
    return [backlash_words(name, joint) for name, joint in calibration.joints.items() if joint.backlash is not None]


def backlash_words(name: str, joint: JointCalibration) -> str:
    """Return play and wind-up of a joint, as a heading."""
    own = joint.backlash
    assert own is not None
    told = ", ".join(f"{key.replace('_', ' ')} {plus_minus(entry)} {entry.unit}"
                     + ("" if entry.verdict == "identified" else f" ({entry.verdict})") for key, entry in own.parameters.items())
    return f"{name}: {told}; from {own.method}, {own.crossings} crossings of the gap"
