"""Cells of a table as papers print them, and the numbers in them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from stribeck.experiments.importers.formats.text_tables import is_number, open_csv, plain_number, texts_of
from stribeck.experiments.importers.readers import READERS, open_log
from stribeck.experiments.importers.table import Array
from stribeck.ident.errors import InputError, unknown_name

_MOST_ROWS = 20_000     # a table of speeds is shorter; a log of samples in time is longer


@dataclass(frozen=True)
class Cells:
    """A table, cell by cell.

    Attributes
    ----------
    source : str
        File, for messages.
    columns : dict of str to sequence of str
        Texts by column; numbers of formats that hold no texts are texts, too.
    notes : tuple of str
        What reading did to the table.
    """

    source: str
    columns: Mapping[str, Sequence[str]]
    notes: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.columns.values())))

    def without(self, names: Sequence[str]) -> "Cells":
        """The table but some columns.

        Raises
        ------
        InputError
            If there is no column of such a name, or none is left.
        """
        for name in names:
            if name not in self.columns:
                raise InputError(f"{self.source}: {unknown_name('column', name, self.columns)}")
        left = {name: column for name, column in self.columns.items() if name not in names}
        if not left:
            raise InputError(f"{self.source}: --ignore leaves no column")
        return replace(self, columns=left)

    def numbers(self, name: str) -> Array:
        """Numbers of a column, nan where a cell is empty or holds a text, shape (N,); of ``2.3 ± 0.1`` the first."""
        texts = [plain_number(text) for text in self.columns[name]]
        if not any("." in text for text in texts):          # where no cell has a point, a comma is the decimal mark
            texts = [text.replace(",", ".") if text.count(",") == 1 else text for text in texts]
        return np.array([float(text) if is_number(text) else np.nan for text in texts])


def open_cells(path: Path) -> Cells:
    """Open a table of any format that `open_log` reads.

    Raises
    ------
    InputError
        If it cannot be read, or is so long that it is a log of samples.
    """
    if READERS.get(path.suffix.lower()) is open_csv and path.is_file():
        names, texts, notes = texts_of(path, _MOST_ROWS + 1)
        cells = Cells(str(path), dict(zip(names, texts, strict=True)), notes)
    else:
        table = open_log(path)
        numbers = {name: values for name, values in table.read(table.names).items() if values.ndim == 1}
        most = max(len(values) for values in numbers.values())
        cells = Cells(str(path), {name: [repr(float(value)) for value in values[:_MOST_ROWS + 1]]
                                  for name, values in numbers.items() if len(values) == most}, table.notes)
    if cells.rows > _MOST_ROWS:
        raise InputError(f"{path}: more than {_MOST_ROWS} rows: a log of samples in time, not a table with a row a speed; "
                         f"stribeck import {path} --arm ARM takes logs")
    return cells
