"""Provenance of a calibration in the library: where its figures come from,
and how to make them again.
"""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict
from pydantic import Field as Key

from stribeck.ident.toml_tables import parse_table, read_toml, upgrade

PROVENANCE = "provenance.toml"
SCHEMA = 1
_STRICT = ConfigDict(extra="forbid", frozen=True)
_Digest = Annotated[str, Key(pattern=r"^[0-9a-f]{64}$")]


class Recordings(BaseModel):
    """Public recordings that the calibration was fitted to. They are not part of the library.

    Attributes
    ----------
    name : str
        Their name.
    url : str
        Where they are.
    revision : str
        Which version of them.
    licence : str
        Their licence, as far as they state one.
    files : dict of str to str
        File to sha256.
    """

    model_config = _STRICT
    name: str
    url: str
    revision: str = ""
    licence: str
    files: dict[str, _Digest]


class Provenance(BaseModel):
    """Content of ``provenance.toml``.

    Attributes
    ----------
    title : str
        What was calibrated.
    kind : {'simulated', 'measured'}
        Whether the samples come from a simulated arm or from a real one.
    about : str
        What the figures hold for, and what they do not.
    licence : str
        Licence of the files of the entry, as an SPDX expression.
    citation : str
        Work to cite with the figures; empty if there is none.
    commands : tuple of str
        Commands that make the calibration again.
    recordings : Recordings, optional
        What the commands need; None for a simulated arm.
    versions : dict of str to str
        Packages that made the files, with their versions.
    files : dict of str to str
        Files of the entry with their sha256, as far as stated.
    """

    model_config = _STRICT
    schema_version: int = Key(alias="schema")
    title: Annotated[str, Key(min_length=1)]
    kind: Literal["simulated", "measured"]
    about: str = ""
    licence: Annotated[str, Key(min_length=1)]
    citation: str = ""
    commands: tuple[str, ...] = ()
    recordings: Recordings | None = None
    versions: dict[str, str] = {}
    files: dict[str, _Digest] = {}


def read_provenance(folder: Path) -> Provenance:
    """Read the provenance of an entry.

    Raises
    ------
    InputError
        If the file is missing or malformed; names the key.
    """
    path = folder / PROVENANCE
    return parse_table(Provenance, upgrade(read_toml(path), path, SCHEMA), path)
