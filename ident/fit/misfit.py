"""One way in which residuals show that a law does not fit."""

from dataclasses import dataclass

GROWTH = "load at speed"        # in `Misfit.over`
LEVEL = 0.01            # chance that any test of a joint calls a law wrong that is right


@dataclass(frozen=True)
class Misfit:
    """Structure of the residuals over one variable.

    Attributes
    ----------
    over : str
        "speed", "load", "position", "time", "direction" and "load at speed" (the difference between the directions, and between
        heavy and light load, over speed), or "repeats": round trips of the same speed and load agree better with each other than
        with the law, in no order over either.
    p : float
        Probability that the residuals of a right law show as much over any of the variables of the joint that were tested.
    size : float
        Mean residual where it is farthest from zero [N·m or N].
    at : float
        Where that is: load [N·m], position [rad], time [s, runs one after the other], or else speed [rad/s].
    """

    over: str
    p: float
    size: float
    at: float
