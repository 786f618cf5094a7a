"""Files and folders that are whole or not there, and the digest by which a file is known again."""

import hashlib
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from stribeck.ident.errors import InputError


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Gives a place to write a file at, beside its own, which it takes once all is written.

    Raises
    ------
    OSError
        With the file's name, as where a disk is full; what was there before
        is left, and nothing else.
    """
    part = path.with_name(f"{path.stem}.part{path.suffix}")
    try:
        yield part
        part.replace(path)
    except BaseException as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None:
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


def write_whole(path: Path, text: str) -> None:
    """Write a text in UTF-8, its line ends as they are; see `whole`."""
    with whole(path) as part:
        part.write_text(text, encoding="utf-8", newline="")


def write_whole_folder(path: Path, texts: Mapping[str, str]) -> None:
    """Write the files of a folder in UTF-8: a new folder is whole or not there.

    Parameters
    ----------
    path : Path
        The folder; an empty one may be there.
    texts : mapping of str to str
        Text of each file by its path in the folder, with ``/`` between names.

    Raises
    ------
    InputError
        If the folder is not empty, or there is a file.
    OSError
        With the name of the folder, as where a disk is full.
    """
    if path.is_file() or (path.is_dir() and any(path.iterdir())):
        raise InputError(f"{path} exists and is not empty; choose another --out")
    path = path.resolve()
    part = path.with_name(f"{path.name}.part")
    part.mkdir(parents=True)
    try:
        for name, text in texts.items():
            file = part / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8", newline="")
        if path.is_dir():
            for entry in part.iterdir():
                entry.replace(path / entry.name)
            part.rmdir()
        else:
            part.replace(path)
    except BaseException as error:
        shutil.rmtree(part, ignore_errors=True)
        if isinstance(error, OSError) and error.errno is not None:
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


def file_sha256(path: Path) -> str:
    """Digest of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
