"""Recordings below folders: what one call of ``stribeck fit`` or
``stribeck validate`` would take.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stribeck.experiments.fleet.storage import Place
from stribeck.ident.errors import InputError
from stribeck.ident.log.run import RECORD, RUNS
from stribeck.ident.whole_files import file_sha256

_STAMPS = (
    "ETag",
    "etag",
    "md5Hash",
    "content_md5",
    "mtime",
    "LastModified",
    "last_modified",
    "updated",
    "created",
)
_DIGITS = 16  # hexadecimal digits of digests in names


@dataclass(frozen=True)
class Recording:
    """A run folder, or a campaign, whose runs belong together.

    Attributes
    ----------
    place : Place
        The folder.
    shown : str
        Its path as the user would write it.
    files : tuple of str
        Files of its runs, as paths from the folder.
    stamp : str
        Digest of names, sizes and dates of the files: equal if nothing was changed.
    """

    place: Place
    shown: str
    files: tuple[str, ...]
    stamp: str

    @property
    def key(self) -> str:
        """Digest of the place."""
        return digest(self.place.url)

    def content(self, folder: Path) -> str:
        """Digest of the content of all files, from a local copy of the folder."""
        return digest(*(f"{name} {file_sha256(folder / name)}" for name in self.files))


def digest(*parts: str) -> str:
    """Digest of texts in order, for names of files."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:_DIGITS]


def find_recordings(folders: Iterable[str]) -> list[Recording]:
    """Return the recordings of all folders, each once.

    A run folder whose parent is named ``runs`` belongs to the campaign above it, unless that
    is above the given folder.

    Raises
    ------
    InputError
        If a folder holds none.
    """
    found: dict[str, Recording] = {}
    for folder in folders:
        place = Place.of(folder)
        files = place.files()
        runs = defaultdict(list)
        for record in (name for name in files if name.rpartition("/")[2] == RECORD):
            run = record.rpartition("/")[0]
            above, _, parent = run.rpartition("/")[0].rpartition("/")
            runs[above if parent == RUNS and run else run].append(run)
        if not runs:
            raise InputError(
                f"{folder}: no run in this folder or below it ({RECORD} is missing); give a folder "
                "with run folders or campaigns"
            )
        by_run = _by_run(files, {run for own in runs.values() for run in own})
        for name, own in runs.items():
            listed = {
                path[len(name) + 1 if name else 0 :]: files[path]
                for run in own
                for path in by_run[run]
            }
            one = Recording(
                place / name,
                f"{folder.rstrip('/')}/{name}".rstrip("/"),
                tuple(sorted(listed)),
                stamp(listed),
            )
            found.setdefault(one.place.url, one)
    return list(found.values())


def _by_run(files: Iterable[str], runs: set[str]) -> dict[str, list[str]]:
    """Return the files of each run folder."""
    found = defaultdict(list)
    for name in files:
        parts = name.split("/")
        for count in range(len(parts) - 1, -1, -1):
            if (run := "/".join(parts[:count])) in runs:
                found[run].append(name)
                break
    return found


def stamp(files: Mapping[str, Mapping[str, Any]]) -> str:
    """Digest of the names of files with size and date, or with the tag that object
    storage gives to their content.
    """
    return digest(
        *(
            f"{name} {about.get('size')} "
            f"{next((about[key] for key in _STAMPS if about.get(key)), '')}"
            for name, about in sorted(files.items())
        )
    )
