"""The servo of one joint, as a calibration holds it: its torque per gain and position
error, and how late it acts.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from stribeck.ident.errors import InputError
from stribeck.ident.laws.parameter import Parameter

FIGURES = ("error", "held_out")  # what is told beside the parameters
NEEDED, FURTHER = ("torque_per_gain", "servo_delay"), ("back_emf",)


@dataclass(frozen=True)
class JointServo:
    """A servo that turns its position error into torque: torque_per_gain * gain
    * (set-point - position).

    Attributes
    ----------
    parameters : mapping of str to Parameter
        "torque_per_gain" [N·m/rad or N/m], "servo_delay" [s], and, if the log has motion without
        power, "back_emf" [N·m·s/rad or N·s/m], the damping of the powered motor; else the viscous
        friction of the law contains it.
    error : float
        Root mean square of simulated minus measured position [rad or m].
    held_out : float, optional
        The same for motion that was left out of the fit [rad or m]; None for a log that
        is too short to be parted.
    """

    parameters: Mapping[str, Parameter]
    error: float
    held_out: float | None

    def of(self, name: str) -> float:
        """Value of a parameter; 0 if it was not identified."""
        found = self.parameters.get(name)
        return 0.0 if found is None else found.value or 0.0


def checked_servo(found: JointServo, where: str) -> JointServo:
    """Return a servo after checks of its values; `where` begins the messages.

    Raises
    ------
    InputError
        If a parameter is missing, unknown or negative.
    """
    for name in (*NEEDED, *found.parameters):
        entry = found.parameters.get(name)
        if (
            name not in (*NEEDED, *FURTHER)
            or entry is None
            or entry.value is None
            or entry.value < 0.0
        ):
            raise InputError(
                f"{where}.{name} = {None if entry is None else entry.value}: needed are "
                f"{', '.join(NEEDED)} and, if known, {', '.join(FURTHER)}, at least 0"
            )
    return found
