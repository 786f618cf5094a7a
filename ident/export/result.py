"""Result of an export."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Export:
    """Text of an exported file, its suffix, and what the format cannot express (one sentence each)."""

    text: str
    suffix: str
    losses: tuple[str, ...]


def number(value: float, digits: int = 6) -> str:
    """Format a number with significant digits."""
    return f"{value:.{digits}g}"


def exact(value: float) -> str:
    """Return a number as C reads it back to the last digit, never as an integer."""
    return repr(float(value) + 0.0)
