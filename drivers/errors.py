"""Errors of arms; each has stopped the motion before it is raised."""

from typing import Self

from stribeck.ident.errors import StribeckError


class DriverError(StribeckError, RuntimeError):
    """Base of everything that goes wrong between the toolkit and an arm."""


class NoAnswer(DriverError):
    """A drive does not answer."""


class ArmStopped(DriverError):
    """The arm was stopped; it moves again only after somebody enables it."""


class LimitExceeded(DriverError):
    """A measured value left its limit, or a command would.

    Attributes
    ----------
    joint, quantity : str
        Which joint and what was measured, or commanded.
    value, limit : float
        Found and allowed, in `unit`.
    fault : str
        All that in words, without what was done about it.
    """

    def __init__(self, joint: str, quantity: str, value: float, limit: float, unit: str, t: float, why: str = "") -> None:
        self.fault = (f"{quantity} of {joint} is {value:.4g} {unit}, limit {limit:.4g} {unit}, at t = {t:.3f} s"
                      + (f"; {why}" if why else ""))
        super().__init__(f"{self.fault}; the arm was stopped")
        self.joint, self.quantity, self.value, self.limit, self.unit, self.t = joint, quantity, value, limit, unit, t
        self._why = why

    def __reduce__(self) -> tuple[type[Self], tuple[str, str, float, float, str, float, str]]:
        """As it is made, so that other processes can be told."""
        return type(self), (self.joint, self.quantity, self.value, self.limit, self.unit, self.t, self._why)


class ReplayMismatch(DriverError):
    """The command differs from the one that was recorded."""


class ReplayEnded(ReplayMismatch):
    """The recording holds no more samples."""
