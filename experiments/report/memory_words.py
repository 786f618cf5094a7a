"""Sentences about friction with memory."""

from stribeck.experiments.report.words import number, plus_minus
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.calibration.joint_calibration import JointCalibration
from stribeck.ident.memory.joint_memory import JointMemory


def memory_lines(calibration: Calibration) -> list[str]:
    """One line for each joint with memory: its kind, the parameters, and by how much it
    lowers the prediction error.
    """
    return [
        f"{memory_words(name, joint)}: {_parameters(joint.memory)}"
        for name, joint in calibration.joints.items()
        if joint.memory is not None
    ]


def memory_words(name: str, joint: JointCalibration) -> str:
    """Return kind and benefit of a joint's memory, as a heading."""
    memory = joint.memory
    assert memory is not None
    unit = joint.parameters["coulomb"].unit
    slides = "m" if unit == "N" else "rad"
    return (
        f"{name}: {memory.name}, friction reverses within {number(memory.distance)} {slides}; "
        "held-out error "
        f"{number(memory.held_out_rmse)} {unit}, without memory {number(memory.static_rmse)} {unit}"
    )


def _parameters(memory: JointMemory) -> str:
    return ", ".join(
        f"{name} {plus_minus(entry)}{'' if entry.unit == '1' else f' {entry.unit}'}"
        + ("" if entry.verdict == "identified" else f" ({entry.verdict})")
        for name, entry in memory.parameters.items()
    )
