"""Errors of the package: what went wrong, found against allowed, what to do."""

import shlex
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path


class StribeckError(Exception):
    """Base of every error that stribeck raises on purpose; its text is one sentence for a person."""


class InputError(StribeckError, ValueError):
    """A file, an option or an array that cannot be used as it is."""


class ModelError(InputError):
    """A rigid-body model that the toolkit cannot represent."""


class FitError(StribeckError, ValueError):
    """Data from which the asked-for quantity cannot be estimated."""


class NoFriction(FitError):
    """A torque that holds no friction."""


class TorqueReversed(FitError):
    """A torque that opposes the motion: a sign is wrong, and no other joint's data make up for it."""


@contextmanager
def about_file(path: Path | str) -> Iterator[None]:
    """What is wrong with the contents of a file, or of a part of it, said with its path."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def no_file(path: Path) -> InputError:
    """Error for a path at which there is no file."""
    return InputError(f"{path}: this is a folder, but a file is needed" if path.is_dir() else f"{path}: no such file")


def no_text(path: Path) -> InputError:
    """Error for a file that is no text, or text of another kind than the rest of the world writes."""
    return InputError(f"{path}: not a UTF-8 text file; save a UTF-16 or Latin-1 file as UTF-8")


def command(*words: str | Path) -> str:
    """A command of the program to paste into a shell, whatever its paths hold."""
    return shlex.join(["stribeck", *map(str, words)])


def unknown_name(kind: str, name: str, valid: Iterable[str]) -> InputError:
    """Error for a wrong name that lists the valid ones, the likeliest first."""
    names = list(valid)
    close = get_close_matches(name, names, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return InputError(f"unknown {kind} {name!r}{hint} (valid: {', '.join(names) or 'none'})")
