"""A foreign log, opened: names of its columns at once, numbers when they are asked for."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from stribeck.ident.errors import InputError

Array = NDArray[np.float64]
_SECONDS = re.compile(r"(.*?)(?:secs?|seconds)", re.IGNORECASE)
_REST = re.compile(r"(.*?)(?:nanosecs?|nsecs?|nanoseconds)", re.IGNORECASE)
_WIDEST = 1000          # columns that a matrix can be
MOST_NUMBERS = 50_000_000       # that an import keeps: an hour of six joints at 1 kHz


@dataclass(frozen=True)
class Table:
    """Columns of a log.

    Attributes
    ----------
    source : str
        File or folder, for messages.
    names : tuple of str
        Columns that hold numbers.
    load : callable
        From names to columns (N,); no other column of the log is kept in memory.
    units : mapping of str to str
        Units that the format itself states.
    pieces : str, optional
        Column that changes where another recording begins, whose time starts anew.
    notes : tuple of str
        What reading did to the log, for the user and the run's record.
    """

    source: str
    names: tuple[str, ...]
    load: Callable[[Sequence[str]], dict[str, Array]]
    units: Mapping[str, str] = field(default_factory=dict)
    pieces: str | None = None
    notes: tuple[str, ...] = ()
    _loaded: dict[str, Array] = field(default_factory=dict, compare=False, repr=False)

    def read(self, names: Sequence[str]) -> dict[str, Array]:
        """Columns by name, each read from the log once."""
        missing = [name for name in dict.fromkeys(names) if name not in self._loaded]
        if missing:
            self._loaded.update(self.load(missing))
        return {name: self._loaded[name] for name in names}


def with_stamps(table: Table) -> Table:
    """With one column [s, from the first row] more for every stamp whose seconds and nanoseconds are columns of their own."""
    rest = {found[1]: name for name in table.names if (found := _REST.fullmatch(name))}
    parts = {found[1].rstrip("._/ ") or "stamp": (name, rest[found[1]]) for name in table.names
             if (found := _SECONDS.fullmatch(name)) and found[1] in rest}
    parts = {whole: pair for whole, pair in parts.items() if whole not in table.names}

    def load(names: Sequence[str]) -> dict[str, Array]:
        found = table.read([part for name in names for part in parts.get(name, (name,))])
        for name in parts.keys() & set(names):
            seconds, rest = (found[part] for part in parts[name])
            found[name] = seconds - seconds[:1] + 1e-9 * rest
        return {name: found[name] for name in names}

    return replace(table, names=(*parts, *table.names), load=load, units={**table.units, **dict.fromkeys(parts, "s")},
                   _loaded={}) if parts else table


def in_memory(source: str, columns: dict[str, Array]) -> Table:
    """Table of columns that were read already."""
    return Table(source, tuple(columns), lambda names: {name: columns[name] for name in names})


def check_size(source: str, rows: int, columns: int) -> None:
    """Refuse to read more than `MOST_NUMBERS`.

    Raises
    ------
    InputError
    """
    if rows * columns > MOST_NUMBERS:
        raise InputError(f"{source}: {rows} rows of {columns} columns are more than the {MOST_NUMBERS} numbers that an import "
                         "keeps in memory; cut the log into pieces and import them one by one")


def column_names(name: str, shape: tuple[int, ...], dtype: np.dtype) -> list[str]:
    """A vector is a column; a matrix is one a signal, ``name.0``, ``name.1``, ...: time runs along its longer side."""
    if dtype.kind not in "iufmM" or len(shape) not in (1, 2) or 0 in shape or set(shape) == {1}:
        return []
    if len(shape) == 1 or 1 in shape:
        return [name]
    return [f"{name}.{k}" for k in range(min(shape))] if min(shape) <= _WIDEST else []


def columns_of(name: str, values: NDArray[np.generic]) -> dict[str, NDArray[np.generic]]:
    """Columns of an array, by `column_names`."""
    names = column_names(name, values.shape, values.dtype)
    across = values if values.ndim < 2 or values.shape[0] >= values.shape[1] else values.T
    return dict(zip(names, across.reshape(len(across), -1).T, strict=True)) if names else {}
