"""An entry of the library: one calibration with its model, points and provenance."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from stribeck.experiments.library.provenance import PROVENANCE, Provenance, read_provenance
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.errors import InputError
from stribeck.ident.log.campaign_folder import CALIBRATION
from stribeck.ident.whole_files import file_sha256

POINTS = "points.csv"


@dataclass(frozen=True)
class LibraryEntry:
    """One calibration of the library.

    Attributes
    ----------
    name : str
        Name of its folder.
    folder : Path
        Holds ``calibration.toml``, its model where a licence allows to copy it,
        ``points.csv`` and ``provenance.toml``.
    provenance : Provenance
        Where the figures come from, and the commands that make them again.

    Examples
    --------
    >>> import stribeck
    >>> entry = stribeck.library.entries()["elastic1"]
    >>> entry.provenance.kind, entry.provenance.licence
    ('simulated', 'Apache-2.0')
    """

    name: str
    folder: Path
    provenance: Provenance

    @classmethod
    def of(cls, folder: Path) -> "LibraryEntry":
        """Read the provenance of a folder.

        Raises
        ------
        InputError
            If it is missing or malformed.
        """
        return cls(folder.name, folder, read_provenance(folder))

    @property
    def calibration(self) -> Calibration:
        """The calibration.

        Raises
        ------
        InputError
            If a file of the entry is missing or differs from its digest in the provenance.
        """
        self.check()
        return Calibration.load(self.folder / CALIBRATION)

    @property
    def points(self) -> pd.DataFrame | None:
        """The points that the calibration was fitted to; None where the entry has none."""
        path = self.folder / POINTS
        return pd.read_csv(path) if path.is_file() else None

    @property
    def paths(self) -> list[Path]:
        """All files of the entry."""
        return sorted(path for path in self.folder.iterdir() if path.is_file())

    def check(self) -> None:
        """Compare the files with the digests that the provenance states.

        Raises
        ------
        InputError
            If a file is missing or differs.
        """
        for name, digest in self.provenance.files.items():
            path = self.folder / name
            if not path.is_file():
                raise InputError(
                    f"{path}: this file of the library entry is missing; copy or install the "
                    "entry again"
                )
            if (found := file_sha256(path)) != digest:
                raise InputError(
                    f"{path}: its sha256 is {found[:12]}..., but {digest[:12]}... in {PROVENANCE}: "
                    f"the file was changed; restore it, or state its digest in {PROVENANCE}"
                )

    def copy_to(self, folder: str | Path) -> list[Path]:
        """Copy the files of the entry into a folder and return the copies; errors as in `check`."""
        self.check()
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        return [Path(shutil.copyfile(path, folder / path.name)) for path in self.paths]

    def __repr__(self) -> str:
        return f"<LibraryEntry {self.name}: {self.provenance.title}>"
