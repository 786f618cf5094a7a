"""Folders by path or URL: local ones, and those of any file system that fsspec knows."""

import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from uuid import uuid4

from stribeck.ident.errors import InputError

# folder of files that are being written; readers of datasets skip names with an underscore
PARTS = "_parts"

_STALE = 3600.0  # s; age from which nobody writes a part any more


def needs_extra(error: ImportError) -> InputError:
    """Return the error for a package that is not installed."""
    return InputError(
        f"stribeck fleet needs the package {error.name or 'distributed'}; run pip install "
        "'stribeck[fleet]'"
    )


@dataclass(frozen=True)
class Place:
    """A folder; the same for all processes that see its file system.

    Attributes
    ----------
    url : str
        With a protocol, such as ``file:///data/arms`` or ``s3://bucket/arms``.
    """

    url: str

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> "Place":
        """Return the place of a path or URL.

        Raises
        ------
        InputError
            If the protocol is unknown, or its package is not installed.
        """
        files, root = _opened(str(path))
        return cls(str(files.unstrip_protocol(root)))

    @cached_property
    def _opened(self) -> tuple[Any, str]:
        return _opened(self.url)

    def __getstate__(self) -> dict[str, str]:
        return {"url": self.url}  # a connection is not sent to workers

    @property
    def local(self) -> Path | None:
        """Path of a folder of this computer."""
        files, root = self._opened
        return Path(root) if "file" in _protocols(files) else None

    def __str__(self) -> str:
        return str(self.local or self.url)

    def __truediv__(self, name: str) -> "Place":
        return Place(f"{self.url.rstrip('/')}/{name}") if name else self

    def files(self) -> dict[str, dict[str, Any]]:
        """Return what the file system says of every file below this folder, by its path from
        here; empty without a folder.

        Raises
        ------
        InputError
            If the place cannot be read.
        """
        files, root = self._opened
        root = root.rstrip("/")
        try:
            files.invalidate_cache()
            found = files.find(root, detail=True)
        except FileNotFoundError:
            return {}
        except Exception as error:
            # of the many packages behind fsspec, each has errors of its own
            raise InputError(
                f"{self}: the folder cannot be read: {_said(error)}; check address, network and "
                "credentials"
            ) from error
        return {
            path[len(root) + 1 :]: about
            for path, about in sorted(found.items())
            if path.startswith(f"{root}/")
        }

    def read(self, name: str) -> bytes:
        """Return the content of a file."""
        files, root = self._opened
        content: bytes = files.cat_file(f"{root}/{name}")
        return content

    def copy(self, name: str, target: Path) -> None:
        """Copy a file to this computer, block by block."""
        files, root = self._opened
        files.get_file(f"{root}/{name}", str(target))

    def write(self, name: str, content: bytes) -> None:
        """Write a file, which is whole or not there."""
        files, root = self._opened
        if self.local is None:  # object storage shows a file once it is whole
            files.makedirs(f"{root}/{name}".rpartition("/")[0], exist_ok=True)
            files.pipe_file(f"{root}/{name}", content)
            return
        target, part = self.local / name, self.local / PARTS / uuid4().hex
        for folder in (target.parent, part.parent):
            folder.mkdir(parents=True, exist_ok=True)
        part.write_bytes(content)
        part.replace(target)

    def rename(self, name: str, other: str) -> None:
        """Give a file another name."""
        files, root = self._opened
        files.mv(f"{root}/{name}", f"{root}/{other}")

    def remove(self, *names: str) -> None:
        """Remove files."""
        files, root = self._opened
        for name in names:
            files.rm_file(f"{root}/{name}")

    def tidy(self) -> None:
        """Remove what writers that were killed left behind."""
        if self.local is None or not (parts := self.local / PARTS).is_dir():
            return
        for part in parts.iterdir():
            with suppress(OSError):  # another call is done with it
                if time.time() - part.stat().st_mtime > _STALE:
                    part.unlink()
        with suppress(OSError):  # not empty
            parts.rmdir()


@contextmanager
def fetched(place: Place, names: Iterable[str], scratch: str | None = None) -> Iterator[Path]:
    """Yield a local folder with files of a place: the place itself if it is local,
    or else a temporary copy.

    Parameters
    ----------
    place : Place
    names : iterable of str
        Files, as paths from the place.
    scratch : str, optional
        Folder of temporary copies; default is that of the system.
    """
    if place.local is not None:
        yield place.local
        return
    with tempfile.TemporaryDirectory(prefix="stribeck-", dir=scratch) as folder:
        copy = Path(folder) / place.url.rstrip("/").rpartition("/")[2]
        for name in names:
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            place.copy(name, copy / name)
        yield copy


def _opened(url: str) -> tuple[Any, str]:
    """Return file system and path of a URL."""
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise needs_extra(error) from None
    try:
        files, root = url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise InputError(
            f"{url}: this file system cannot be opened: {_said(error)}; needed is a path, or a URL "
            "for which fsspec has a package, for example s3fs for s3://"
        ) from error
    return files, str(root)


def _protocols(files: Any) -> tuple[str, ...]:
    return (files.protocol,) if isinstance(files.protocol, str) else tuple(files.protocol)


def _said(error: BaseException) -> str:
    return str(error).strip().rstrip(".") or type(error).__name__
