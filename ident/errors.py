"""Errors of the package. A message says what went wrong, the value found against the
value allowed, and what to do.
"""

import shlex
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path


class StribeckError(Exception):
    """Base of all errors that stribeck raises on purpose; the text is one sentence for a person."""


class InputError(StribeckError, ValueError):
    """A file, an option or an array that cannot be used as it is."""


class ModelError(InputError):
    """A rigid-body model that the toolkit cannot represent."""


class FitError(StribeckError, ValueError):
    """Data from which the requested quantity cannot be estimated."""


class NoFriction(FitError):
    """A torque in which no friction shows."""


class TorqueReversed(FitError):
    """A torque that opposes the motion: a sign is wrong, which no data of
    other joints can correct.
    """


@contextmanager
def about_file(path: Path | str) -> Iterator[None]:
    """Add the path of a file, or of a part of it, to the text of errors about its contents."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def no_file(path: Path) -> InputError:
    """Return the error for a path without a file."""
    why = (
        "this is a folder, but a file is needed"
        if path.is_dir()
        else "no such file; check the path"
    )
    return InputError(f"{path}: {why}")


def no_text(path: Path) -> InputError:
    """Return the error for a file that is not UTF-8 text."""
    return InputError(f"{path}: not a UTF-8 text file; save a UTF-16 or Latin-1 file as UTF-8")


def command(*words: str | Path) -> str:
    """Return a stribeck command to paste into a shell, with paths quoted."""
    return shlex.join(["stribeck", *map(str, words)])


def unknown_name(kind: str, name: str, valid: Iterable[str]) -> InputError:
    """Return the error for an unknown name; it suggests the closest valid name and lists all."""
    names = list(valid)
    close = get_close_matches(name, names, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return InputError(f"unknown {kind} {name!r}{hint} (valid: {', '.join(names) or 'none'})")
