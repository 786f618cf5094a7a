"""Errors of arms; the motion is stopped before an error is raised."""

from typing import Self

from stribeck.ident.errors import StribeckError


class DriverError(StribeckError, RuntimeError):
    """Base of all errors between the toolkit and an arm."""


class NoAnswer(DriverError):
    """A drive does not answer."""


class ArmStopped(DriverError):
    """The arm was stopped; it moves again only after a person enables it."""


class LimitExceeded(DriverError):
    """A measured or commanded value exceeds its limit.

    Attributes
    ----------
    joint, quantity : str
        The joint, and the measured or commanded quantity.
    value, limit : float
        Found and allowed value, in `unit`.
    fault : str
        The breach in words, without the reaction.
    """

    def __init__(
        self,
        joint: str,
        quantity: str,
        value: float,
        limit: float,
        unit: str,
        t: float,
        why: str = "",
    ) -> None:
        self.fault = (
            f"{quantity} of {joint} is {value:.4g} {unit}, limit {limit:.4g} {unit}, at t = "
            f"{t:.3f} s" + (f"; {why}" if why else "")
        )
        super().__init__(f"{self.fault}; the arm was stopped")
        self.joint, self.quantity, self.value, self.limit, self.unit, self.t = (
            joint,
            quantity,
            value,
            limit,
            unit,
            t,
        )
        self._why = why

    def __reduce__(self) -> tuple[type[Self], tuple[str, str, float, float, str, float, str]]:
        """Pickle by the constructor's arguments, so that the error can
        be sent to other processes.
        """
        return type(self), (
            self.joint,
            self.quantity,
            self.value,
            self.limit,
            self.unit,
            self.t,
            self._why,
        )


class ReplayMismatch(DriverError):
    """The command differs from the recorded command."""


class ReplayEnded(ReplayMismatch):
    """The recording holds no more samples."""
