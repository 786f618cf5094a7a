"""Sentences about friction over temperature."""

from stribeck.experiments.report.words import number, plus_minus
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.calibration.joint_calibration import JointCalibration


def temperature_lines(calibration: Calibration) -> list[str]:
    """One line for each joint whose friction depends on temperature: laws, parameters,
    and the gain in prediction.
    """
    return [
        f"{temperature_words(name, joint)}: "
        + ", ".join(
            f"{key} {plus_minus(entry)}{'' if entry.unit == '1' else f' {entry.unit}'}"
            + ("" if entry.verdict == "identified" else f" ({entry.verdict})")
            for key, entry in joint.temperature.all_parameters.items()
        )
        for name, joint in calibration.joints.items()
        if joint.temperature is not None
    ]


def temperature_words(name: str, joint: JointCalibration) -> str:
    """Return laws and benefit of a joint's dependence on temperature, as a heading."""
    own = joint.temperature
    assert own is not None
    unit, (low, high) = joint.parameters["coulomb"].unit, own.range
    measured = (
        f"{low:.0f} to {high:.0f} °C"
        if own.heating is None
        else f"state {low:.2f} to {high:.2f} of self-heating (0 is cold)"
    )
    return (
        f"{name}: parameters hold at {own.reference_words}, measured from {measured}; Coulomb part "
        f"{own.coulomb}, viscous part {own.viscous}; held-out error {number(own.held_out_rmse)} "
        f"{unit}, without temperature {number(own.static_rmse)} {unit}"
    )
