"""A finding about a log."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One finding; `joint` is None where it concerns the whole log, `t` [s] where it has no one time."""

    joint: str | None
    kind: str
    text: str
    t: float | None = None
