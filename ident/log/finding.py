"""A finding about a log."""

from collections.abc import Sequence
from dataclasses import dataclass

# kinds that leave the numbers as they are
NOTES = (
    "rate",
    "latency",
    "drift",
    "directions",
    "position",
    "ripple",
    "motion",
    "law",
    "correlation",
    "repeats",
    "stiffness",
    "agreement",
    "memory",
    "warmth",
)


@dataclass(frozen=True)
class Finding:
    """One finding.

    Attributes
    ----------
    joint : str or None
        The joint; None if the finding concerns the whole log.
    kind : str
        One of the kinds of docs/health.md.
    text : str
        Problem, place, size, and what to do.
    t : float, optional
        Time of the problem [s]; None if it has no single time.
    moot : tuple of str
        Kinds of earlier findings, of any joint, that this finding explains and replaces.
    """

    joint: str | None
    kind: str
    text: str
    t: float | None = None
    moot: tuple[str, ...] = ()

    @property
    def note(self) -> bool:
        """Whether the finding is a mere note: the numbers stand as they are,
        and nothing has to be done.
        """
        return self.kind in NOTES


def without_moot(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return the findings without those that a later finding replaces (`moot`)."""
    return tuple(
        finding
        for k, finding in enumerate(findings)
        if not any(finding.kind in later.moot for later in findings[k + 1 :])
    )
