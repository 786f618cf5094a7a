"""Parameter: an estimate with its interval, and the verdict that follows from the interval."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

# largest 95 % half width, as a fraction of the value, that counts as identified
IDENTIFIED = 0.15
WEAK = 1.0  # and the largest that counts as weak; wider intervals say nothing


@dataclass(frozen=True)
class Parameter:
    """An estimate with its interval and verdict.

    Attributes
    ----------
    value, std_error, low, high : float or None
        Estimate, standard error, and 95 % interval; None if the parameter is not part of the law.
    unit : str
        SI unit.
    verdict : str
        identified | weak | unidentifiable | at bound.
    note : str
        Why, and what further move would settle it.
    repeat_deviation : float, optional
        Standard deviation of the estimates of single runs, where there are several; the
        interval does not hold it.
    """

    value: float | None
    std_error: float | None
    low: float | None
    high: float | None
    unit: str
    verdict: str
    note: str = ""
    repeat_deviation: float | None = None

    @property
    def half_width(self) -> float | None:
        """Half width of the 95 % interval; None without one."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2.0


def verdict(value: float, low: float, high: float) -> str:
    """Return the verdict on a value from its interval."""
    relative = (high - low) / 2.0 / abs(value) if value else np.inf
    return (
        "identified" if relative <= IDENTIFIED else "weak" if relative <= WEAK else "unidentifiable"
    )


def known_value(parameters: Mapping[str, Parameter], name: str, default: float) -> float:
    """Return the value of a parameter unless it is unidentifiable, else the default."""
    found = parameters.get(name)
    return (
        default
        if found is None or found.value is None or found.verdict == "unidentifiable"
        else found.value
    )
