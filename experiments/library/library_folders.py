"""Where the library looks for entries: folders given, folders of ``STRIBECK_LIBRARY``, and
the entries of the package.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from stribeck.experiments.library.library_entry import LibraryEntry
from stribeck.experiments.library.provenance import PROVENANCE
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.errors import InputError, unknown_name

VARIABLE = "STRIBECK_LIBRARY"  # folders, separated as in PATH
# beside `experiments`, in a package and in a checkout
BUILT_IN = Path(__file__).parents[2] / "data" / "library"

Place = str | os.PathLike[str]


def entries(folders: Sequence[Place] = ()) -> dict[str, LibraryEntry]:
    """Return all entries of the library.

    Parameters
    ----------
    folders : sequence of str or path
        Libraries of your own: folders with a folder for each entry. They come first, then the
        folders of the environment variable ``STRIBECK_LIBRARY``, then the entries that stribeck
        brings. The first entry of a name counts.

    Returns
    -------
    dict of str to LibraryEntry
        By name, in alphabetical order.

    Raises
    ------
    InputError
        If a folder holds no entry, or an entry is malformed.

    Examples
    --------
    >>> import stribeck
    >>> sorted(name for name, one in stribeck.library.entries().items() if one.provenance.kind == "measured")
    ['emps', 'tx40', 'xl330', 'z1']
    """
    return {name: LibraryEntry.of(folder) for name, folder in entry_folders(folders).items()}


def entry_folders(folders: Sequence[Place] = ()) -> dict[str, Path]:
    """Return the folder of each entry by its name, in alphabetical order; unlike `entries`,
    malformed entries count, too.
    """
    named = [(Path(folder), "") for folder in folders]
    named += [
        (Path(folder), f"{VARIABLE}: ")
        for folder in os.environ.get(VARIABLE, "").split(os.pathsep)
        if folder
    ]
    found: dict[str, Path] = {}
    for library, where in (*named, (BUILT_IN, "")):
        own = sorted(library.glob(f"*/{PROVENANCE}"))
        if not own:
            raise InputError(
                f"{where}{library}: this folder has no library entry; an entry is a folder in it "
                f"with {PROVENANCE} and calibration.toml"
            )
        for path in own:
            found.setdefault(path.parent.name, path.parent)
    return dict(sorted(found.items()))


def entry_named(name: str, folders: Sequence[Place] = ()) -> LibraryEntry:
    """Return an entry by its name; errors as in `load`."""
    found = entry_folders(folders)
    if name not in found:
        raise unknown_name("library entry", name, found)
    return LibraryEntry.of(found[name])


def load(name: str, folders: Sequence[Place] = ()) -> Calibration:
    """Load a calibration of the library.

    Parameters
    ----------
    name : str
        Name of the entry, as ``stribeck library`` lists it.
    folders : sequence of str or path
        Libraries of your own, as in `entries`.

    Returns
    -------
    Calibration

    Raises
    ------
    InputError
        If no entry has this name, or a file of the entry is missing or was changed.

    Examples
    --------
    >>> import stribeck
    >>> carriage = stribeck.library.load("emps").joints["carriage"]
    >>> carriage.law, carriage.parameters["coulomb"].unit
    ('power', 'N')
    """
    return entry_named(name, folders).calibration
