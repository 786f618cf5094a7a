"""Reader for the samples file: columns of all readable Arrow batches."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
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


def read_samples(path: Path, names: tuple[str, ...],
                 signals: tuple[str, ...]) -> tuple[Array, np.ndarray, dict[str, Array], str]:
    """Return time, segment, signals and file digest; a truncated recording gives the rows that all columns have."""
    import pyarrow as pa

    if not path.is_file():
        raise InputError(f"{path}: no such file; the run has no samples")
    try:
        schema = schema_of(path)
        present = set(schema.names)
        missing = [column for column in ("t", "segment", *(f"{signal}.{name}" for signal in ("q", "tau") for name in names))
                   if column not in present]
        if missing:
            raise InputError(f"{path}: column {missing[0]} is missing; time, segment, and position and torque of each of the "
                             f"names in run.json ({', '.join(names)}) are needed")
        wanted = {signal: columns for signal in signals
                  if set(columns := tuple(f"{signal}.{name}" for name in names)) <= present}
        columns = ("t", "segment", *chain.from_iterable(wanted.values()))
        for column in columns:
            if not (pa.types.is_floating(kind := schema.field(column).type) or pa.types.is_integer(kind)):
                raise InputError(f"{path}: column {column} has type {kind}, but a numeric type is needed")
        with ThreadPoolExecutor(2) as pool:                 # decompression takes most time and runs in parallel
            halves = list(pool.map(partial(read_columns, path), (columns[::2], columns[1::2])))
            digest = pool.submit(file_sha256, path)
            if (rows := min(map(len, halves))) == 0:
                raise InputError(f"{path}: the recording has no samples")
            read = {name: column for half in halves for name, column in zip(half.column_names, half.columns, strict=True)}
            matrices = pool.map(lambda columns: matrix([read[column] for column in columns], rows), wanted.values())
            return (read["t"].to_numpy()[:rows], read["segment"].to_numpy()[:rows],
                    dict(zip(wanted, matrices, strict=True)), digest.result())
    except (pa.ArrowException, UnicodeDecodeError, OSError) as error:
        raise InputError(f"{path}: cannot be read as a recording: {error}") from error


def read_columns(path: Path, columns: tuple[str, ...], rows: int | None = None) -> "pa.Table":
    """Return columns of all readable batches, or of enough batches for `rows` rows."""
    import pyarrow as pa

    schema, batches = schema_of(path), []
    options = pa.ipc.IpcReadOptions(included_fields=[schema.get_field_index(column) for column in columns],
                                    use_threads=False)       # threads are slower for small batches
    with pa.memory_map(str(path)) as source, pa.ipc.open_stream(source, options=options) as reader:
        with suppress(pa.ArrowException, ValueError, OSError):          # the last batch may be incomplete after a power loss
            for batch in reader:
                batches.append(batch)
                if rows is not None and sum(map(len, batches)) >= rows:
                    break
        return pa.Table.from_batches(batches, reader.schema).select(columns)


def schema_of(path: Path) -> "pa.Schema":
    """Schema of a samples file: columns with types and metadata."""
    import pyarrow as pa

    with pa.memory_map(str(path)) as source:
        return pa.ipc.read_schema(source)


def matrix(columns: list["pa.ChunkedArray"], rows: int) -> Array:
    """First rows of the columns, one column for each joint, shape (rows, n), contiguous by column."""
    values = np.empty((rows, len(columns)), order="F")
    for k, column in enumerate(columns):
        values[:, k] = column.to_numpy()[:rows]
    return values
