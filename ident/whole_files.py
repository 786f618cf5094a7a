"""Files that are whole or not there, and the digest by which a file is known again."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Gives a place to write a file at, beside its own, which it takes once all is written.

    Raises
    ------
    OSError
        With the file's name, as where a disk is full; what was there before is left, and nothing else.
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


def file_sha256(path: Path) -> str:
    """Digest of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
