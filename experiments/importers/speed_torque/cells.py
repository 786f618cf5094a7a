"""Cells of a published table as text, and the numbers in these cells."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from stribeck.experiments.importers.formats.text_tables import (
    is_number,
    open_csv,
    plain_number,
    texts_of,
)
from stribeck.experiments.importers.readers import READERS, open_log
from stribeck.experiments.importers.table import Array
from stribeck.ident.errors import InputError, unknown_name

_MOST_ROWS = 20_000  # a table of speeds and torques has fewer rows, a log of samples has more


@dataclass(frozen=True)
class Cells:
    """A table of text cells.

    Attributes
    ----------
    source : str
        File, for messages.
    columns : dict of str to sequence of str
        Text of each cell, by column; numbers from binary formats are converted to text.
    notes : tuple of str
        Changes that reading made to the table.
    """

    source: str
    columns: Mapping[str, Sequence[str]]
    notes: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.columns.values())))

    def without(self, names: Sequence[str]) -> "Cells":
        """Return the table without the named columns.

        Raises
        ------
        InputError
            If the table has no column of a given name, or no column is left.
        """
        for name in names:
            if name not in self.columns:
                raise InputError(f"{self.source}: {unknown_name('column', name, self.columns)}")
        left = {name: column for name, column in self.columns.items() if name not in names}
        if not left:
            raise InputError(f"{self.source}: --ignore removes all columns; ignore fewer")
        return replace(self, columns=left)

    def numbers(self, name: str) -> Array:
        """Numbers of a column, shape (N,); nan for empty cells and
        words; ``2.3 ± 0.1`` gives 2.3.
        """
        texts = [plain_number(text) for text in self.columns[name]]
        # a column without any point has decimal commas
        if not any("." in text for text in texts):
            texts = [text.replace(",", ".") if text.count(",") == 1 else text for text in texts]
        return np.array([float(text) if is_number(text) else np.nan for text in texts])


def open_cells(path: Path) -> Cells:
    """Open a table of any format that `open_log` reads.

    Raises
    ------
    InputError
        If the file cannot be read, or has more than `_MOST_ROWS` rows, as logs of samples have.
    """
    if READERS.get(path.suffix.lower()) is open_csv and path.is_file():
        names, texts, notes = texts_of(path, _MOST_ROWS + 1)
        cells = Cells(str(path), dict(zip(names, texts, strict=True)), notes)
    else:
        table = open_log(path)
        numbers = {
            name: values for name, values in table.read(table.names).items() if values.ndim == 1
        }
        most = max(len(values) for values in numbers.values())
        cells = Cells(
            str(path),
            {
                name: [repr(float(value)) for value in values[: _MOST_ROWS + 1]]
                for name, values in numbers.items()
                if len(values) == most
            },
            table.notes,
        )
    if cells.rows > _MOST_ROWS:
        raise InputError(
            f"{path}: more than {_MOST_ROWS} rows; a table of speeds and torques has one row for "
            f"each speed. If the file is a log of samples, run stribeck import {path} --arm ARM"
        )
    return cells
