"""Reader for Parquet files and for LeRobot datasets (folders of Parquet files)."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stribeck.experiments.importers.formats.text_tables import is_date, is_number, numbers_in
from stribeck.experiments.importers.table import Array, Table, check_size
from stribeck.ident.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH = 65_536  # rows read at a time
_WIDEST = 256  # largest number of values in a cell of a list column
_LARGEST_INFO = 1 << 24  # bytes of a dataset's description
_EPISODE = "episode_index"  # column of LeRobot files that numbers the recordings
_TICKS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


def open_parquet(path: Path) -> Table:
    """Open a Parquet file; a list column gives columns ``column.0``, ``column.1``, ..."""
    return _table(str(path), [path], {}, _EPISODE)


def open_lerobot(folder: Path) -> Table:
    """Open a LeRobot dataset: all episodes, with the value names of ``meta/info.json``."""
    info = folder / "meta" / "info.json"
    try:
        if info.stat().st_size > _LARGEST_INFO:
            raise ValueError(f"larger than {_LARGEST_INFO} bytes")
        features = json.loads(info.read_text(encoding="utf-8"))["features"]
        names = {str(feature): _names(entry) for feature, entry in features.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            f"{info}: cannot be read as a LeRobot description: {' '.join(str(error).split())}"
        ) from error
    files = sorted(path for path in folder.glob("data/**/*.parquet") if path.is_file())
    if not files:
        raise InputError(
            f"{folder}: the LeRobot dataset has no file data/**/*.parquet; copy the whole dataset"
        )
    return _table(str(folder), files, names, _EPISODE)


def _names(feature: Any) -> list[str] | None:
    """Value names of a feature, from a list or from a table with one
    list; None if there are none.
    """
    names = feature.get("names")
    if isinstance(names, Mapping) and len(names) == 1:
        names = next(iter(names.values()))
    return [str(name) for name in names] if isinstance(names, list) else None


def _table(
    source: str,
    files: Sequence[Path],
    known: Mapping[str, list[str] | None],
    pieces: str | None = None,
) -> Table:
    columns, times, rows = _columns(files[0], known)
    for path in files[1:]:
        more, _, count = _columns(path, known)
        rows += count
        columns = {name: place for name, place in columns.items() if more.get(name) == place}

    def load(names: Sequence[str]) -> dict[str, Array]:
        check_size(source, rows, len(names))
        fields = list(dict.fromkeys(columns[name][0] for name in names))
        parts: dict[str, list[Array]] = {name: [] for name in names}
        for path in files:
            with _readable(path) as file:
                for batch in file.iter_batches(_BATCH, columns=fields):
                    found = {field: _numbers(batch.column(field), field) for field in fields}
                    for name in names:
                        field, k = columns[name]
                        parts[name].append(found[field][:, k])
        return {name: np.concatenate(part) if part else np.empty(0) for name, part in parts.items()}

    return Table(
        source,
        tuple(columns),
        load,
        dict.fromkeys(times & columns.keys(), "s"),
        pieces=pieces if pieces in columns else None,
    )


def _columns(
    path: Path, known: Mapping[str, list[str] | None]
) -> tuple[dict[str, tuple[str, int]], set[str], int]:
    """Return field and index of every column of a file, the names of time
    columns, and the number of rows.
    """
    import pyarrow as pa

    columns: dict[str, tuple[str, int]] = {}
    times: set[str] = set()
    with _readable(path) as file:
        rows = int(file.metadata.num_rows)
        for field in file.schema_arrow:
            if _is_number(field.type) or (
                _is_text(field.type) and _first(file, field.name, is_number)
            ):
                columns[field.name] = field.name, 0
            elif _is_time(field.type) or (
                _is_text(field.type) and _first(file, field.name, is_date)
            ):
                columns[field.name] = field.name, 0
                times.add(field.name)
            elif (
                pa.types.is_list(field.type)
                or pa.types.is_fixed_size_list(field.type)
                or pa.types.is_large_list(field.type)
            ):
                if not _is_number(field.type.value_type):
                    continue
                first = next(file.iter_batches(1, columns=[field.name]), None)
                values = None if first is None or not len(first) else first.column(field.name)
                width = 0 if values is None or values.null_count else _numbers(values).shape[1]
                if width > _WIDEST:
                    continue
                names = known.get(field.name)
                if names is None or len(set(names)) != width:
                    names = [str(k) for k in range(width)]
                columns |= {f"{field.name}.{name}": (field.name, k) for k, name in enumerate(names)}
    return columns, times, rows


def _is_number(kind: "pa.DataType") -> bool:
    import pyarrow as pa

    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def _is_time(kind: "pa.DataType") -> bool:
    import pyarrow as pa

    return bool(pa.types.is_timestamp(kind) or pa.types.is_duration(kind))


def _is_text(kind: "pa.DataType") -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _first(file: Any, name: str, test: Callable[[str], bool]) -> bool:
    """Whether the first text of a column passes a test; missing values before it are skipped."""
    batch = next(file.iter_batches(_BATCH, columns=[name]), None)
    texts = [] if batch is None else batch.column(name).drop_null()
    return len(texts) > 0 and test(str(texts[0]))


def _numbers(column: "pa.Array", name: str = "") -> Array:
    """Convert a column to floats, shape (N, width): nan for missing values, times in s,
    texts as numbers or dates.
    """
    import pyarrow as pa

    width = 1
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        sizes = set(np.diff(column.offsets.to_numpy()).tolist())
        if column.null_count or len(sizes) > 1:
            raise ValueError(
                f"column {name} has lists of {min(sizes)} to {max(sizes)} values; all must have "
                "the same length" + (", and some rows have no list" if column.null_count else "")
            )
        width, column = (sizes or {0}).pop(), column.flatten()
    elif pa.types.is_fixed_size_list(column.type):
        if column.null_count:
            raise ValueError(f"column {name} has rows without a list")
        width, column = column.type.list_size, column.flatten()
    if _is_text(column.type):
        return numbers_in(column.to_pandas()).reshape(-1, width)
    factor = 1.0
    if _is_time(column.type):
        factor, column = _TICKS[column.type.unit], column.cast(pa.int64())
    values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return np.asarray(factor * values, dtype=float).reshape(-1, width)


@contextmanager
def _readable(path: Path) -> Iterator[Any]:
    """Open a file; report any error of a damaged file as one sentence."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(
            path, thrift_string_size_limit=_LARGEST_INFO, thrift_container_size_limit=1_000_000
        ) as file:
            yield file
    except InputError:
        raise
    except (pa.ArrowException, OSError, ValueError, MemoryError, OverflowError, KeyError) as error:
        raise InputError(
            f"{path}: cannot be read as a Parquet file: {' '.join(str(error).split())}"
        ) from error
