"""Errors of experiments."""

from stribeck.ident.errors import InputError, StribeckError


class PlanError(InputError):
    """A plan that would leave a limit, or that cannot be made for this arm."""


class TooShort(PlanError):
    """There is no plan for the robot time that may be spent."""


class RecordingFailed(StribeckError, OSError):
    """Samples could not be written; the motion was stopped, what was written before is kept."""
