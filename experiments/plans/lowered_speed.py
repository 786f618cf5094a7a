"""A speed that a plan lowered, because faster strokes have no room."""

from dataclasses import dataclass


@dataclass(frozen=True)
class LoweredSpeed:
    """The highest speed of a joint's strokes, where it is less than limits and range allow.

    Attributes
    ----------
    joint : str
        Which joint.
    wanted, speed : float
        Highest speed that limits allow otherwise, and that the plan takes [rad/s or m/s].
    reason : str
        What faster strokes lack.
    """

    joint: str
    wanted: float
    speed: float
    reason: str

    def sentence(self, unit: str) -> str:
        """Which joint, from which to which speed, and why; `unit` is that of its speed."""
        return f"{self.joint}: strokes of up to {self.speed:.3g} {unit} instead of {self.wanted:.3g} {unit}: {self.reason}"
