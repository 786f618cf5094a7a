"""Reader for the samples file: columns of all readable Arrow batches, or of a range of rows."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError
from stribeck.ident.whole_files import file_sha256

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class SamplesFile:
    """A samples file that is read in ranges of rows.

    Attributes
    ----------
    path : Path
        The file.
    signals : dict of str to tuple of str
        Columns of the wanted signals that were recorded.
    begins, rows : ndarray of int, shapes (B,) and (B + 1,)
        Place of each readable batch in the file, and number of rows before each batch, with the
        number of all rows at the end.
    ranges : dict of str to (float, float)
        Least and greatest number in each column of the signals; nan in a column without numbers.
    sha256 : str
        Digest of the file.
    """

    path: Path
    signals: Mapping[str, tuple[str, ...]]
    begins: np.ndarray
    rows: np.ndarray
    ranges: Mapping[str, tuple[float, float]]
    sha256: str

    @classmethod
    def of(cls, path: Path, names: tuple[str, ...], signals: tuple[str, ...]) -> "SamplesFile":
        """Find the readable batches: those in which all wanted columns can be read.

        Raises
        ------
        InputError
            If the file cannot be read, a needed column is missing or of a wrong
            type, or there are no samples.
        """
        with _readable(path), ThreadPoolExecutor(2) as pool:
            wanted = _recorded(path, names, signals)
            columns = ("t", "segment", *chain.from_iterable(wanted.values()))
            halves = list(pool.map(partial(_batches, path), (columns[::2], columns[1::2])))
            begins, counts, _ = min(halves, key=lambda half: len(half[0]))
            rows = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
            _refuse_empty(path, int(rows[-1]))
            return cls(
                path,
                wanted,
                np.array(begins, dtype=np.int64),
                rows,
                halves[0][2] | halves[1][2],
                file_sha256(path),
            )

    def __len__(self) -> int:
        return int(self.rows[-1])

    def table(self, columns: Sequence[str], first: int = 0, stop: int | None = None) -> "pa.Table":
        """Columns of the rows from `first` to before `stop`, by default of all rows."""
        import pyarrow as pa

        stop = len(self) if stop is None else stop
        inside = slice(
            int(np.searchsorted(self.rows, first, "right")) - 1,
            int(np.searchsorted(self.rows, stop, "left")),
        )
        with (
            _readable(self.path),
            pa.OSFile(str(self.path)) as source,
            pa.ipc.open_stream(source, options=_options(self.path, columns)) as reader,
        ):
            source.seek(int(self.begins[inside.start]))
            batches = [reader.read_next_batch() for _ in range(inside.stop - inside.start)]
            whole = pa.Table.from_batches(batches, reader.schema).select(list(columns))
        return whole.slice(first - int(self.rows[inside.start]), stop - first)

    def range_of(self, signal: str) -> tuple[Array, Array]:
        """Least and greatest number of each joint's column of a signal, shapes (n,); nan in
        a column without numbers.
        """
        low, high = np.array([self.ranges[column] for column in self.signals[signal]]).T
        return low, high

    def read(self, first: int, stop: int) -> tuple[Array, np.ndarray, dict[str, Array]]:
        """Time, segment and signals of some rows."""
        table = self.table(
            ("t", "segment", *chain.from_iterable(self.signals.values())), first, stop
        )
        signals = {
            signal: matrix([table[column] for column in columns], len(table))
            for signal, columns in self.signals.items()
        }
        return table["t"].to_numpy(), table["segment"].to_numpy(), signals


def read_samples(
    path: Path, names: tuple[str, ...], signals: tuple[str, ...]
) -> tuple[Array, np.ndarray, dict[str, Array], str]:
    """Return time, segment, signals and file digest; a truncated recording gives the
    rows that all columns have.
    """
    # decompression takes most time and runs in parallel
    with _readable(path), ThreadPoolExecutor(2) as pool:
        wanted = _recorded(path, names, signals)
        columns = ("t", "segment", *chain.from_iterable(wanted.values()))
        halves = list(pool.map(partial(read_columns, path), (columns[::2], columns[1::2])))
        digest = pool.submit(file_sha256, path)
        _refuse_empty(path, rows := min(map(len, halves)))
        read = {
            name: column
            for half in halves
            for name, column in zip(half.column_names, half.columns, strict=True)
        }
        matrices = pool.map(
            lambda columns: matrix([read[column] for column in columns], rows), wanted.values()
        )
        return (
            read["t"].to_numpy()[:rows],
            read["segment"].to_numpy()[:rows],
            dict(zip(wanted, matrices, strict=True)),
            digest.result(),
        )


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn errors of reading into messages."""
    import pyarrow as pa

    if not path.is_file():
        raise InputError(f"{path}: no such file; the run has no samples")
    try:
        yield
    except (pa.ArrowException, UnicodeDecodeError, OSError) as error:
        raise InputError(f"{path}: cannot be read as a recording: {error}") from error


def _recorded(
    path: Path, names: tuple[str, ...], signals: tuple[str, ...]
) -> dict[str, tuple[str, ...]]:
    """Columns of the signals that were recorded; time, segment, position and torque must be."""
    import pyarrow as pa

    schema = schema_of(path)
    present = set(schema.names)
    missing = [
        column
        for column in (
            "t",
            "segment",
            *(f"{signal}.{name}" for signal in ("q", "tau") for name in names),
        )
        if column not in present
    ]
    if missing:
        raise InputError(
            f"{path}: column {missing[0]} is missing; time, segment, and position and torque of "
            f"each of the names in run.json ({', '.join(names)}) are needed"
        )
    wanted = {
        signal: columns
        for signal in signals
        if set(columns := tuple(f"{signal}.{name}" for name in names)) <= present
    }
    for column in ("t", "segment", *chain.from_iterable(wanted.values())):
        if not (
            pa.types.is_floating(kind := schema.field(column).type) or pa.types.is_integer(kind)
        ):
            raise InputError(
                f"{path}: column {column} has type {kind}, but a numeric type is needed"
            )
    return wanted


def _refuse_empty(path: Path, rows: int) -> None:
    if rows == 0:
        raise InputError(f"{path}: the recording has no samples")


def _batches(
    path: Path, columns: Sequence[str]
) -> tuple[list[int], list[int], dict[str, tuple[float, float]]]:
    """Places and rows of the batches in which all of the columns can be read, and
    the range of each column.
    """
    import pyarrow as pa

    begins, counts, low, high = (
        list[int](),
        list[int](),
        np.full(len(columns), np.nan),
        np.full(len(columns), np.nan),
    )
    with (
        pa.OSFile(str(path)) as source,
        pa.ipc.open_stream(source, options=_options(path, columns)) as reader,
        suppress(pa.ArrowException, ValueError, OSError, StopIteration),
    ):
        while True:
            begin = source.tell()
            batch = reader.read_next_batch()
            values = np.array([batch.column(column).to_numpy() for column in columns], dtype=float)
            low, high = (
                np.fmin(low, np.fmin.reduce(values, axis=1)),
                np.fmax(high, np.fmax.reduce(values, axis=1)),
            )
            begins.append(begin)
            counts.append(len(batch))
    return (
        begins,
        counts,
        dict(zip(columns, zip(low.tolist(), high.tolist(), strict=True), strict=True)),
    )


def read_columns(path: Path, columns: tuple[str, ...], rows: int | None = None) -> "pa.Table":
    """Return columns of all readable batches, or of enough batches for `rows` rows."""
    import pyarrow as pa

    batches = []
    with (
        pa.memory_map(str(path)) as source,
        pa.ipc.open_stream(source, options=_options(path, columns)) as reader,
    ):
        # the last batch may be incomplete after a power loss
        with suppress(pa.ArrowException, ValueError, OSError):
            for batch in reader:
                batches.append(batch)
                if rows is not None and sum(map(len, batches)) >= rows:
                    break
        return pa.Table.from_batches(batches, reader.schema).select(columns)


def _options(path: Path, columns: Sequence[str]) -> "pa.ipc.IpcReadOptions":
    """Read some columns only."""
    import pyarrow as pa

    schema = schema_of(path)
    # threads are slower for small batches
    return pa.ipc.IpcReadOptions(
        included_fields=[schema.get_field_index(column) for column in columns], use_threads=False
    )


def schema_of(path: Path) -> "pa.Schema":
    """Schema of a samples file: columns with types and metadata."""
    import pyarrow as pa

    with pa.memory_map(str(path)) as source:
        return pa.ipc.read_schema(source)


def matrix(columns: list["pa.ChunkedArray"], rows: int) -> Array:
    """First rows of the columns, one column for each joint, shape (rows,
    n), contiguous by column.
    """
    values = np.empty((rows, len(columns)), order="F")
    for k, column in enumerate(columns):
        values[:, k] = column.to_numpy()[:rows]
    return values
