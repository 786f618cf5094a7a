"""One way in which residuals show that a law does not fit."""

from dataclasses import dataclass

LEVEL = 0.01            # chance that any test of a joint calls a law wrong that is right


@dataclass(frozen=True)
class Misfit:
    """Structure of the residuals over one variable.

    Attributes
    ----------
    over : str
        "speed", "load", "position", "direction" (its difference over speed), "time", or "repeats": round trips of the same
        speed and load agree better with each other than with the law, in no order over either.
    p : float
        Probability that the residuals of a right law show as much over any of the variables of the joint that were tested.
    size : float
        Mean residual where it is farthest from zero [N·m or N].
    at : float
        Where that is: speed [rad/s], for "direction" and "repeats", too; load [N·m], position [rad], or time [s, runs one after
        the other].
    """

    over: str
    p: float
    size: float
    at: float
