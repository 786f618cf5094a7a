"""One contender for the friction of a joint."""

from dataclasses import dataclass
from math import isfinite


@dataclass(frozen=True)
class Candidate:
    """A law with a load, and how it fared.

    Attributes
    ----------
    law, load : str
    held_out_rmse : float
        Prediction error of round trips left out [N·m]; nan where it was not needed: loads that were not chosen have it with their
        most plausible law.
    parameters : int
        How many parameters are fitted.
    dismissed : str
        Why it cannot be chosen, if it cannot.
    directional : str
        How directions differ in it.
    share : float
        How plausible the law is among all laws with the same load and directions: they add up to 1.
    """

    law: str
    load: str
    held_out_rmse: float
    parameters: int
    dismissed: str = ""
    directional: str = "none"
    share: float = 1.0

    @property
    def weighed(self) -> bool:
        """Whether its error is known: other laws are too little plausible."""
        return isfinite(self.held_out_rmse)
