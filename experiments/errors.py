"""Errors of experiments."""

from stribeck.ident.errors import InputError, StribeckError


class PlanError(InputError):
    """A plan that would leave a limit, or that cannot be made for this arm."""


class NoRoom(PlanError):
    """Strokes at the highest speeds have no room; slower ones may have.

    Attributes
    ----------
    lacking : str
        What faster strokes lack, as the end of a sentence.
    """

    def __init__(self, message: str, lacking: str) -> None:
        super().__init__(message)
        self.lacking = lacking


class TooShort(PlanError):
    """There is no plan for the robot time that may be spent."""


class RecordingFailed(StribeckError, OSError):
    """Samples could not be written; the motion was stopped, what was written before is kept."""
