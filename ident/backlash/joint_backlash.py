"""Play and wind-up of one joint, as a calibration holds them, and the position of the
link that follows from them.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.laws.quantity import LINK_FRICTION, PLAY

LINK, TORQUE = "link position", "torque"
# what is told beside the parameters
FIGURES = ("method", "crossings", "samples", "error", "without")


@dataclass(frozen=True)
class JointBacklash:
    """Play between motor and link: the width, at zero torque, of the hysteresis of motor
    minus link over the torque.

    Attributes
    ----------
    play : Parameter
        Width of the gap [rad or m].
    stiffness : Parameter
        Torque over wind-up behind the gap [N·m/rad or N/m].
    link_friction : Parameter
        Dry friction of the link, behind the gear [N·m or N].
    method : str
        "link position" if the position of the link was measured, else "torque".
    crossings : int
        Crossings of the gap in the recording.
    samples : float
        Median number of samples in a crossing.
    error, without : float
        Root mean square error of left-out blocks with and without play [N·m or N; method link
        position: relative to the least errors of positions and torque in the search].
    """

    play: Parameter
    stiffness: Parameter
    link_friction: Parameter
    method: str
    crossings: int
    samples: float
    error: float
    without: float

    @property
    def parameters(self) -> dict[str, Parameter]:
        """Parameters by name."""
        return {
            PLAY.name: self.play,
            "stiffness": self.stiffness,
            LINK_FRICTION.name: self.link_friction,
        }

    def lag(self, torque: ArrayLike, resolution: float = 0.0) -> Array:
        """Return motor minus link in contact, shape (N,): half the play on the loaded
        flank, and wind-up [rad or m].

        Parameters
        ----------
        torque : array_like, shape (N,)
            Torque of the link, without the friction of the motor [N·m or N].
        resolution : float
            Torque up to which no flank is sure; there half the play is taken
            in proportion [N·m or N].
        """
        torque, play = np.asarray(torque, dtype=float), self.play.value or 0.0
        side = np.clip(torque / resolution, -1.0, 1.0) if resolution > 0.0 else np.sign(torque)
        compliance = 1.0 / self.stiffness.value if self.stiffness.value else 0.0
        return np.asarray(0.5 * play * side + compliance * torque)


def checked_backlash(found: JointBacklash, where: str) -> JointBacklash:
    """Return a play after checks of its values; `where` begins the messages.

    Raises
    ------
    InputError
        If play or stiffness are not positive, or the friction of the link is negative.
    """
    for name, entry in found.parameters.items():
        least = "at least 0" if name == LINK_FRICTION.name else "positive"
        if entry.value is None or entry.value < 0.0 or (entry.value == 0.0 and least == "positive"):
            raise InputError(f"{where}.{name} = {entry.value}; it must be {least}")
    return found
