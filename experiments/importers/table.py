"""An opened foreign log: the column names are known, the numbers are read on request."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from stribeck.ident.errors import InputError

Array = NDArray[np.float64]
_SECONDS = re.compile(r"(.*?)(?:secs?|seconds)", re.IGNORECASE)
_REST = re.compile(r"(.*?)(?:nanosecs?|nsecs?|nanoseconds)", re.IGNORECASE)
_WIDEST = 1000  # largest number of columns of a matrix
# most numbers that an import keeps in memory: an hour of six joints at 1 kHz
MOST_NUMBERS = 50_000_000


@dataclass(frozen=True)
class Table:
    """Columns of a log.

    Attributes
    ----------
    source : str
        File or folder, for messages.
    names : tuple of str
        Names of the columns that hold numbers.
    load : callable
        Function from column names to columns, shape (N,); only these columns are kept in memory.
    units : mapping of str to str
        Units that the file format states, by column.
    pieces : str, optional
        Column whose value changes where another recording with its own time begins.
    notes : tuple of str
        Changes that reading made to the log, for the user and for the run record.
    flags : tuple of str
        Further columns, of true and false (1 and 0), which are never guessed.
    """

    source: str
    names: tuple[str, ...]
    load: Callable[[Sequence[str]], dict[str, Array]]
    units: Mapping[str, str] = field(default_factory=dict)
    pieces: str | None = None
    notes: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    _loaded: dict[str, Array] = field(default_factory=dict, compare=False, repr=False)

    def read(self, names: Sequence[str]) -> dict[str, Array]:
        """Return the columns by name; each column is read from the log once."""
        missing = [name for name in dict.fromkeys(names) if name not in self._loaded]
        if missing:
            self._loaded.update(self.load(missing))
        return {name: self._loaded[name] for name in names}


def with_stamps(table: Table) -> Table:
    """Add a time column [s, from the first row] for each time stamp that is split
    into seconds and nanoseconds.
    """
    rest = {found[1]: name for name in table.names if (found := _REST.fullmatch(name))}
    parts = {
        found[1].rstrip("._/ ") or "stamp": (name, rest[found[1]])
        for name in table.names
        if (found := _SECONDS.fullmatch(name)) and found[1] in rest
    }
    parts = {whole: pair for whole, pair in parts.items() if whole not in table.names}

    def load(names: Sequence[str]) -> dict[str, Array]:
        found = table.read([part for name in names for part in parts.get(name, (name,))])
        for name in parts.keys() & set(names):
            seconds, rest = (found[part] for part in parts[name])
            found[name] = seconds - seconds[:1] + 1e-9 * rest
        return {name: found[name] for name in names}

    return (
        replace(
            table,
            names=(*parts, *table.names),
            load=load,
            units={**table.units, **dict.fromkeys(parts, "s")},
            _loaded={},
        )
        if parts
        else table
    )


def in_memory(source: str, columns: dict[str, Array]) -> Table:
    """Table of columns that are already in memory."""
    return Table(source, tuple(columns), lambda names: {name: columns[name] for name in names})


def check_size(source: str, rows: int, columns: int) -> None:
    """Refuse to read more than `MOST_NUMBERS` numbers.

    Raises
    ------
    InputError
        If rows times columns exceeds `MOST_NUMBERS`.
    """
    if rows * columns > MOST_NUMBERS:
        raise InputError(
            f"{source}: {rows} rows of {columns} columns exceed the {MOST_NUMBERS} numbers that an "
            "import keeps in memory; cut the log into parts and import them one by one"
        )


def column_names(name: str, shape: tuple[int, ...], dtype: np.dtype) -> list[str]:
    """Return one name for a vector, and ``name.0``, ``name.1``, ... for a matrix,
    whose longer side is time.
    """
    if dtype.kind not in "iufmM" or len(shape) not in (1, 2) or 0 in shape or set(shape) == {1}:
        return []
    if len(shape) == 1 or 1 in shape:
        return [name]
    return [f"{name}.{k}" for k in range(min(shape))] if min(shape) <= _WIDEST else []


def columns_of(name: str, values: NDArray[np.generic]) -> dict[str, NDArray[np.generic]]:
    """Columns of an array, with the names of `column_names`."""
    names = column_names(name, values.shape, values.dtype)
    across = values if values.ndim < 2 or values.shape[0] >= values.shape[1] else values.T
    return dict(zip(names, across.reshape(len(across), -1).T, strict=True)) if names else {}
