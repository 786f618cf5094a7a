"""Misfit: a variable with which residuals vary, so that the law does not fit."""

from dataclasses import dataclass

GROWTH = "load at speed"  # in `Misfit.over`
LEVEL = 0.01  # probability that any test of a joint rejects a law that is right


@dataclass(frozen=True)
class Misfit:
    """Structure of the residuals over one variable.

    Attributes
    ----------
    over : str
        "speed", "load", "position" or "time"; "direction" and "load at speed": the difference
        between the directions, or between heavy and light load, varies with speed; "repeats": round
        trips of the same speed and load agree better with each other than with the law.
    p : float
        Probability that residuals of a right law vary as much with any of the
        tested variables of the joint.
    size : float
        Mean residual at the value with the largest deviation [N·m or N].
    at : float
        This value: load [N·m], position [rad], time [s, runs one after the
        other], or else speed [rad/s].
    """

    over: str
    p: float
    size: float
    at: float
