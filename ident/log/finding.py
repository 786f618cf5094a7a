"""A finding about a log."""

from collections.abc import Sequence
from dataclasses import dataclass

NOTES = ("rate", "latency", "temperature", "drift", "directions", "position", "motion", "law", "correlation", "repeats",
         "stiffness", "agreement")          # kinds that call for nothing


@dataclass(frozen=True)
class Finding:
    """One finding.

    Attributes
    ----------
    joint : str or None
        The joint; None where the finding concerns the whole log.
    kind : str
        One of the kinds of docs/health.md.
    text : str
        What, where, how much, what to do.
    t : float, optional
        When [s]; None where it has no one time.
    moot : tuple of str
        Kinds of earlier findings, of any joint, that follow from this one and need not be said beside it.
    """

    joint: str | None
    kind: str
    text: str
    t: float | None = None
    moot: tuple[str, ...] = ()

    @property
    def note(self) -> bool:
        """Whether the finding is a mere note: the numbers stand as they are, and nothing has to be done."""
        return self.kind in NOTES


def without_moot(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Findings but those that a later finding makes moot."""
    return tuple(finding for k, finding in enumerate(findings)
                 if not any(finding.kind in later.moot for later in findings[k + 1:]))
