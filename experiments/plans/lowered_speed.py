"""Highest speed of a joint that the planner lowered because faster strokes have no room."""

from dataclasses import dataclass


@dataclass(frozen=True)
class LoweredSpeed:
    """Highest speed of a joint's strokes if it is below the speed that limits and range allow.

    Attributes
    ----------
    joint : str
        Name of the joint.
    wanted, speed : float
        Highest speed that limits allow, and highest speed in the plan [rad/s or m/s].
    reason : str
        Why faster strokes are not possible.
    """

    joint: str
    wanted: float
    speed: float
    reason: str

    def sentence(self, unit: str) -> str:
        """Sentence with joint, both speeds and reason; `unit` is the unit of the speed."""
        return (
            f"{self.joint}: strokes up to {self.speed:.3g} {unit} instead of {self.wanted:.3g} "
            f"{unit}: {self.reason}"
        )
