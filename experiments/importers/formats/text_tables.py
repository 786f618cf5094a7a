"""Reader for text tables with any separator, with or without a header, and with
any lines above the numbers.
"""

import csv
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE, getincrementaldecoder
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stribeck.experiments.importers.columns import UNITS
from stribeck.experiments.importers.table import Array, Table, check_size
from stribeck.ident.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

_UTF8, _CP1252 = "utf-8-sig", "cp1252"
_HEAD = 100  # the first line of numbers must be among the first 100 lines
_LONGEST = 1 << 20  # characters of a line
_CHUNK = 100_000  # rows read at a time
_SEPARATORS = "\t;,|"  # tried in this order; otherwise blanks
_DECIMAL_COMMAS = re.compile(r"\s*([-+]?\d+(,\d+)?([eE][-+]?\d+)?(\s+|$)){2,}$")
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")
_MINUS = str.maketrans("−–", "--")  # typographic minus signs
_DATE = re.compile(r"\s*\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
_EMPTY = "behind the last separator"
_ALL_UNITS = {unit for units in UNITS.values() for unit in units} | {"A", "mA", "-", "1", ""}


@dataclass(frozen=True)
class _Layout:
    """Format of a text table: number of lines above the numbers, column names,
    separator and decimal mark.

    `trailing` is true if lines end with a separator; `notes` name the columns that were renamed.
    """

    skip: int
    names: tuple[str, ...]
    separator: str
    decimal: str
    trailing: bool
    notes: tuple[str, ...]


def open_csv(path: Path) -> Table:
    """Open a text table with tab, semicolon, comma, bar or blanks as
    separator; ``#`` starts a comment.

    Columns of a file without a header are named 1, 2, ... A line of units below the
    header is added to the names.
    """
    with _readable(path):
        encoding = _encoding(path)
        layout = _layout(path, encoding)
    notes = ("the file is not UTF-8; it was read as Windows-1252",) if encoding == _CP1252 else ()
    return Table(
        str(path),
        layout.names,
        lambda names: _read(path, layout, encoding, names),
        notes=(*notes, *layout.notes),
    )


def texts_of(path: Path, most: int) -> tuple[tuple[str, ...], list[list[str]], tuple[str, ...]]:
    """Return names, text cells of each column, and notes of a table that may
    have words beside numbers.

    Parameters
    ----------
    path : Path
        Text file with the table.
    most : int
        Largest number of rows that are read.
    """
    with _readable(path):
        encoding = _encoding(path)
        layout = _layout(path, encoding, _some_numbers)
        with path.open(encoding=encoding) as file:
            lines = islice(file, layout.skip, None)
            filled = (_cells(line, layout.separator) for line in lines if not line.startswith("#"))
            rows = list(islice((cells for cells in filled if any(cells)), most))
        if not rows:
            raise ValueError("no line of numbers below the header")
    width = len(layout.names)
    whole = [(row + [""] * width)[:width] for row in rows]
    return layout.names, [list(column) for column in zip(*whole, strict=True)], layout.notes


def _read(path: Path, layout: _Layout, encoding: str, names: Sequence[str]) -> dict[str, Array]:
    import pandas as pd

    # exact by default from 3.1
    older = tuple(int(number) for number in pd.__version__.split(".")[:2]) < (3, 1)
    exact: dict[str, Any] = {"float_precision": "round_trip"} if older else {}
    parts: dict[str, list[Array]] = {name: [] for name in names}
    rows = 0
    with (
        _readable(path),
        pd.read_csv(
            path,
            sep=layout.separator,
            decimal=layout.decimal,
            comment="#",
            skipinitialspace=True,
            encoding=encoding,
            skiprows=layout.skip,
            header=None,
            chunksize=_CHUNK,
            names=[*layout.names, *([_EMPTY] if layout.trailing else ())],
            **exact,
        ) as chunks,
    ):
        # with a selection of columns, pandas would skip rows that are too long
        for chunk in chunks:
            rows += len(chunk)
            check_size(str(path), rows, len(names))
            for name, part in parts.items():
                part.append(numbers_in(chunk[name]))
    return {name: np.concatenate(part) if part else np.empty(0) for name, part in parts.items()}


def numbers_in(column: "pd.Series[Any]") -> Array:
    """Convert a text column to numbers; ISO 8601 dates become seconds since 1970."""
    import pandas as pd

    numbers, said = np.asarray(pd.to_numeric(column, errors="coerce"), dtype=float), column.dropna()
    if np.isfinite(numbers).any() or not len(said) or not is_date(str(said.iloc[0])):
        return numbers
    when = pd.to_datetime(column, utc=True, errors="coerce", format="ISO8601")
    return np.asarray((when - pd.Timestamp(0, tz="UTC")).dt.total_seconds(), dtype=float)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Report any error of a damaged file as one sentence."""
    try:
        yield
    except InputError:
        raise
    except UnicodeDecodeError:
        raise InputError(
            f"{path}: cannot be read as a CSV table: the encoding is neither UTF-8 nor Windows-1252"
        ) from None
    except (ValueError, OverflowError, csv.Error) as error:
        # includes the errors of pandas
        raise InputError(
            f"{path}: cannot be read as a CSV table: {' '.join(str(error).split())}"
        ) from error


def _encoding(path: Path) -> str:
    """Encoding of a file: UTF-16 (by its first two bytes), UTF-8, or else Windows-1252, in
    which spreadsheets write '°'.
    """
    with path.open("rb") as file:
        head = file.read(_LONGEST)
    if head.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return "utf-16"
    try:
        getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        if b"\0" in head:
            raise ValueError("the file is not text") from None
        return _CP1252
    return _UTF8


def _layout(
    path: Path, encoding: str, numeric: Callable[[list[str], str], bool] | None = None
) -> _Layout:
    """Find the format from the first line of numbers and the lines above it; `numeric` decides
    whether fields are numbers.
    """
    numeric = numeric or _numbers
    above: list[str] = []
    with path.open(encoding=encoding) as file:
        for skip in range(_HEAD):
            line = file.readline(_LONGEST)
            if len(line) == _LONGEST:
                raise ValueError(f"line {skip + 1} is longer than {_LONGEST} characters")
            separator, decimal = _marks(line, above)
            fields = _fields(line, separator)
            if not line or (fields and not line.startswith("#") and numeric(fields, decimal)):
                break
            above.append(line.strip())
        else:
            raise ValueError(f"no line of numbers among the first {_HEAD} lines")
        if separator != ",":  # the first line may have no decimals
            decimal = _decimal((line, *islice(iter(lambda: file.readline(_LONGEST), ""), _HEAD)))
    heads = [text.lstrip("# ") for text in above if text.strip("# ")]
    if not line:  # a header without rows
        plain = [text for text in above if text and not text.startswith("#")]
        if not plain:
            raise ValueError("the file has no line of numbers")
        fields = _fields(plain[-1], separator := _marks(plain[-1], [])[0])
    cells = len(_cells(line, separator))
    named = len(_fields(heads[-1], separator)) if heads else 0
    # the last columns may be empty in this line
    count = named if len(fields) < named <= cells else len(fields)
    names, notes = _unique(_names(heads, separator, count))
    return _Layout(len(above), names, separator, decimal, cells > count, notes)


def _names(heads: list[str], separator: str, count: int) -> tuple[str, ...]:
    """Column names from the last lines above the numbers with the right number of
    fields; otherwise 1, 2, ...
    """
    rows = [fields for text in heads if len(fields := _fields(text, separator)) == count]
    names = [str(k + 1) for k in range(count)]
    if rows and heads and _fields(heads[-1], separator) == rows[-1]:
        names = rows.pop()
        if rows and count > 1 and _are_units(names):
            names = [
                f"{name} [{unit.strip('[]()')}]" if unit.strip("[]()") else name
                for name, unit in zip(rows.pop(), names, strict=True)
            ]
    return tuple(name or str(k + 1) for k, name in enumerate(names))


def _unique(names: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return unique names (repeated names get a number), and notes on the repeated names."""
    called: dict[str, list[str]] = {}
    for name in names:
        own = called.setdefault(name, [])
        own.append(f"{name}.{len(own) + 1}" if own else name)
    left = {name: iter(own) for name, own in called.items()}
    unique = tuple(next(left[name]) for name in names)
    if len(set(unique)) < len(names):
        raise ValueError("two columns have the same name")
    return unique, tuple(_repeated(name, own[1:]) for name, own in called.items() if len(own) > 1)


def _repeated(name: str, others: Sequence[str]) -> str:
    """Note on a name that several columns share."""
    if len(others) == 1:
        return (
            f"two columns are named {name!r}; the second is renamed {others[0]!r} (use this name "
            "in --column)"
        )
    return (
        f"{len(others) + 1} columns are named {name!r}; all but the first are renamed "
        f"{others[0]!r} to {others[-1]!r} (use these names in --column)"
    )


def _are_units(cells: list[str]) -> bool:
    """Whether a line is a line of units: all cells in brackets, or most cells known units."""
    known = sum(cell.strip("[]()") in _ALL_UNITS for cell in cells)
    return all(cell[:1] + cell[-1:] in ("[]", "()", "") for cell in cells) or (
        known > len(cells) / 2 and known > 1
    )


def _marks(line: str, above: list[str]) -> tuple[str, str]:
    """Return separator and decimal mark of a line of numbers; a comma is the separator
    only if there is no other.
    """
    header = next((text for text in reversed(above) if text.strip("# ")), line)
    commas = "," in header and not _DECIMAL_COMMAS.match(line)
    separator = next(
        (mark for mark in _SEPARATORS if mark in line and (mark != "," or commas)), r"\s+"
    )
    return separator, "." if separator == "," else _decimal([line])


def _decimal(lines: Iterable[str]) -> str:
    """Decimal mark of the first line that has one, for tables whose separator is not a comma."""
    return next(("." if "." in line else "," for line in lines if "." in line or "," in line), ".")


def _cells(line: str, separator: str) -> list[str]:
    """All cells of a line, including empty cells at its end."""
    if separator == r"\s+":
        return line.split()
    return [
        part.strip()
        for row in csv.reader([line.strip("\r\n")], delimiter=separator, skipinitialspace=True)
        for part in row
    ]


def _fields(line: str, separator: str) -> list[str]:
    """Cells of a line without the empty cells at its end."""
    fields = _cells(line, separator)
    while fields and not fields[-1]:
        fields.pop()
    return fields


def _numbers(fields: list[str], decimal: str) -> bool:
    """Whether most of the filled fields are numbers."""
    return 2 * sum(is_number(field.replace(decimal, ".")) for field in fields) > len(
        [field for field in fields if field]
    )


def _some_numbers(fields: list[str], decimal: str) -> bool:
    """Whether a line is a row of a table with words: at least two numbers, and at least a
    third of the filled fields.
    """
    plain = [plain_number(field) for field in fields if field]
    numbers = sum(
        is_number(field.replace(decimal, ".")) or bool(_DECIMAL_COMMA.fullmatch(field))
        for field in plain
    )
    return numbers >= 2 and 3 * numbers >= len(plain)


def plain_number(text: str) -> str:
    """Remove the uncertainty of a printed number (``2.3 ± 0.1``), and replace
    a typographic minus sign.
    """
    return text.translate(_MINUS).split("±")[0].split("+/-")[0].strip()


def is_number(text: str) -> bool:
    """Whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def is_date(text: str) -> bool:
    """Whether a text begins with a date and time in ISO 8601."""
    return _DATE.match(text) is not None
