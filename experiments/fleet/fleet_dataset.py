"""Results of a fleet as one Parquet dataset: a file for each recording, in a folder for each arm.

.. code-block:: text

   OUT/arm=S07/KEY-STAMP-CONTENT.parquet     rows of one recording
   OUT/_models/SHA256.urdf                   rigid-body models of the calibrations
   OUT/_failed.csv                           recordings without a result, and why
   OUT/_fleet.json                           kind and schema of the dataset

Names of files say what was done: KEY is a digest of the recording's place, STAMP of its files'
names, sizes and dates, CONTENT of their content; the last two include options and version. So the
listing of a folder is all that a second call needs, a file is whole or not there, and a task that
runs twice writes the same file.
"""

import io
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from stribeck.experiments.fleet.storage import Place
from stribeck.ident.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

SCHEMA = 1
FITS, VALIDATIONS = "fleet fit", "fleet validate"  # kinds: the commands that write them
ARM = "arm"  # column of the folders
MODELS, FAILED, HEAD = "_models", "_failed.csv", "_fleet.json"
_NAME = re.compile(r"(?:.*/)?([0-9a-f]+)-([0-9a-f]+)-([0-9a-f]+)\.parquet")


@dataclass(frozen=True)
class Entry:
    """A file of the dataset.

    Attributes
    ----------
    file : str
        Path from the folder of the dataset.
    key, stamp, content : str
        Parts of its name.
    """

    file: str
    key: str
    stamp: str
    content: str


@dataclass(frozen=True)
class Dataset:
    """A dataset of one kind in a folder.

    Attributes
    ----------
    place : Place
        The folder.
    """

    place: Place

    @classmethod
    def at(cls, place: Place, kind: str) -> "Dataset":
        """Return the dataset of a new or empty folder, without writing to it, or one
        of this kind to go on with.

        Raises
        ------
        InputError
            If the folder holds something else.
        """
        if place.local is not None and place.local.is_file():
            raise InputError(
                f"{place}: a file, but the results of stribeck {kind} are a folder; give a new "
                "folder"
            )
        return cls.existing(place, kind) if place.files() else cls(place)

    @classmethod
    def create(cls, place: Place, kind: str) -> "Dataset":
        """Return the dataset as `at` does; a new one says its kind from now on."""
        dataset = cls.at(place, kind)
        if not kind_of(place):
            place.write(HEAD, json.dumps({"schema": SCHEMA, "kind": kind}).encode())
        return dataset

    @classmethod
    def existing(cls, place: Place, kind: str) -> "Dataset":
        """Return the dataset of this kind in a folder.

        Raises
        ------
        InputError
            If the folder holds something else.
        """
        if (found := kind_of(place)) != kind:
            what = (
                f"holds the results of stribeck {found}"
                if found
                else "exists and is no result of stribeck fleet"
            )
            raise InputError(
                f"{place}: the folder {what}; give a result of stribeck {kind}, or a new folder"
            )
        return cls(place)

    def entries(self) -> dict[str, list[Entry]]:
        """Return the files by the key of their recording."""
        found: dict[str, list[Entry]] = {}
        for file in self.place.files():
            if match := _NAME.fullmatch(file):
                found.setdefault(match[1], []).append(Entry(file, *match.groups()))
        return found

    def write(
        self, table: "pa.Table", arm: str, entry: tuple[str, str, str], replaced: Sequence[Entry]
    ) -> str:
        """Write the rows of one recording, then remove its earlier files; return
        the path from the folder.
        """
        import pyarrow.parquet as pq

        file, content = f"{_folder(arm)}/{'-'.join(entry)}.parquet", io.BytesIO()
        pq.write_table(table, content, compression="zstd")
        self.place.write(file, content.getvalue())
        self.place.remove(*(old.file for old in replaced if old.file != file))
        return file

    def keep(self, entry: Entry, stamp: str) -> str:
        """Note that the content of changed files is the same; return the path from the folder."""
        file = entry.file.replace(f"-{entry.stamp}-", f"-{stamp}-")
        if file != entry.file:
            self.place.rename(entry.file, file)
        return file

    def read(
        self, columns: Sequence[str], arm: str | None = None, keys: Iterable[str] | None = None
    ) -> "pd.DataFrame":
        """Return columns of the rows of all recordings, of one arm, or of the
        recordings with these keys.

        Raises
        ------
        InputError
            If a file is damaged.
        """
        import pandas as pd
        import pyarrow as pa
        import pyarrow.parquet as pq

        wanted, folder = None if keys is None else set(keys), "" if arm is None else _folder(arm)
        names = [
            f"{folder}/{name}".lstrip("/")
            for name in (self.place / folder).files()
            if (match := _NAME.fullmatch(name)) and (wanted is None or match[1] in wanted)
        ]
        frames = []
        for name in sorted(names):
            try:
                frames.append(
                    pq.read_table(
                        io.BytesIO(self.place.read(name)), columns=list(columns)
                    ).to_pandas()
                )
            except pa.ArrowException as error:
                raise InputError(
                    f"{self.place}/{name}: not a readable Parquet file of this dataset: "
                    f"{str(error).rstrip('.')}; "
                    "delete it, and repeat the command that made the dataset"
                ) from error
        return (
            pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=list(columns))
        )

    def note_failed(self, failed: Iterable[tuple[str, str]]) -> str:
        """Write the recordings without a result, with the reasons; return
        the path from the folder.
        """
        import pandas as pd

        self.place.write(
            FAILED,
            pd.DataFrame(list(failed), columns=["path", "reason"]).to_csv(index=False).encode(),
        )
        return FAILED


def _folder(arm: str) -> str:
    return f"{ARM}={quote(arm, safe='')}"


def kind_of(place: Place) -> str:
    """Return the kind of the dataset in a folder; empty if there is none.

    Raises
    ------
    InputError
        If it was written by a newer version.
    """
    try:
        head: Any = json.loads(place.read(HEAD))
    except (OSError, ValueError):
        return ""
    if not isinstance(head, dict) or not isinstance(head.get("schema"), int):
        return ""
    if head["schema"] > SCHEMA:
        raise InputError(
            f"{place}: schema = {head['schema']} of {HEAD} is newer than {SCHEMA}, which this "
            "version of stribeck reads; update stribeck"
        )
    return str(head.get("kind", ""))
