"""Result of an export."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Export:
    """Text of an exported file, or the texts of a folder, and what the format cannot express.

    Attributes
    ----------
    text : str
        The file; of a folder, its README.
    suffix : str
        Suffix of the file, which is named after the arm; "" for a folder.
    losses : tuple of str
        What the format cannot express, one sentence each.
    name : str
        Name of the file or folder where the format prescribes one; "": the
        arm's name with `suffix`.
    folder : mapping of str to str, optional
        Text of each file of a folder by its path, with ``/`` between names; None for a single file.
    """

    text: str
    suffix: str
    losses: tuple[str, ...]
    name: str = ""
    folder: Mapping[str, str] | None = None


def number(value: float, digits: int = 6) -> str:
    """Format a number with significant digits."""
    return f"{value:.{digits}g}"


def exact(value: float) -> str:
    """Return a number as C reads it back to the last digit, never as an integer."""
    return repr(float(value) + 0.0)
