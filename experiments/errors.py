"""Errors of experiments."""

from stribeck.ident.errors import InputError, StribeckError


class PlanError(InputError):
    """A plan that would exceed a limit, or that cannot be made for this arm."""


class NoRoom(PlanError):
    """Strokes at the highest speeds have no room; slower strokes may fit.

    Attributes
    ----------
    lacking : str
        Why faster strokes are not possible, as the end of a sentence.
    """

    def __init__(self, message: str, lacking: str) -> None:
        super().__init__(message)
        self.lacking = lacking


class TooShort(PlanError):
    """No plan fits into the allowed robot time."""


class RecordingFailed(StribeckError, OSError):
    """Samples could not be written. The motion was stopped; samples written before are kept."""
