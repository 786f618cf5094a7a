"""Readers by file suffix: one line for each format, and the readers of other installed packages."""

from collections.abc import Callable
from pathlib import Path

from stribeck.experiments.importers.formats.hdf5 import open_hdf5
from stribeck.experiments.importers.formats.json_records import open_json
from stribeck.experiments.importers.formats.matlab import open_mat
from stribeck.experiments.importers.formats.npz import open_npz
from stribeck.experiments.importers.formats.parquet import open_lerobot, open_parquet
from stribeck.experiments.importers.formats.text_tables import open_csv
from stribeck.experiments.importers.formats.torch_file import open_torch
from stribeck.experiments.importers.ros.bags import SUFFIXES, open_bag
from stribeck.experiments.importers.table import Table, with_stamps
from stribeck.ident.errors import InputError, no_file, unknown_name
from stribeck.ident.plugins import installed, load

READERS: dict[str, Callable[..., Table]] = {
    ".csv": open_csv,
    ".tsv": open_csv,
    ".txt": open_csv,
    ".log": open_csv,
    ".dat": open_csv,
    ".mat": open_mat,
    ".npz": open_npz,
    ".parquet": open_parquet,
    ".db3": open_bag,
    ".mcap": open_bag,
    ".bag": open_bag,
    ".json": open_json,
    ".jsonl": open_json,
    ".h5": open_hdf5,
    ".hdf5": open_hdf5,
    ".pt": open_torch,
    ".pth": open_torch,
}

# entry points of readers in other packages; name: the file suffix without the dot
GROUP = "stribeck.importers"

_INSTEAD = {  # formats without a reader -> how to convert the file to a format with a reader
    ".xlsx": "save the sheet as CSV",
    ".xls": "save the sheet as CSV",
    ".ods": "save the sheet as CSV",
    ".pkl": "a pickle can run any program when it is opened, so pickles are never read; save the "
    "arrays with numpy.savez",
}
_INSTEAD[".pickle"] = _INSTEAD[".pkl"]

_PACKED = {
    ".zstd": "zstd -d",
    ".zst": "zstd -d",
    ".gz": "gunzip -k",
    ".xz": "unxz -k",
    ".bz2": "bunzip2 -k",
}


def open_log(path: Path, **options: str | None) -> Table:
    """Open a log by its suffix; a folder is a LeRobot dataset or a ROS 2 bag.

    Parameters
    ----------
    path : Path
        File or folder.
    **options
        `topic` and `stamps` of a bag, see `open_bag`; None means the default.

    Raises
    ------
    InputError
        If the file is missing, has an unknown suffix or contains no numbers.
    """
    reader = _reader(path)
    given = {key: value for key, value in options.items() if value is not None}
    if given and reader is not open_bag:
        raise InputError(
            f"{path}: {' and '.join(sorted(given))}: these options apply to ROS bags only"
        )
    table = reader(path, **given)
    if not table.names:
        raise InputError(
            f"{path}: no numeric column found; a log needs columns of position and torque"
        )
    return with_stamps(table)


def _is_packed(path: Path) -> bool:
    return path.suffix in _PACKED and path.with_suffix("").suffix in READERS


def _compressed(path: Path) -> InputError:
    return InputError(
        f"{path}: the file is compressed; unpack it with {_PACKED[path.suffix]} and import "
        f"{path.stem}"
    )


def _reader(path: Path) -> Callable[..., Table]:
    if path.is_dir():
        if (path / "meta" / "info.json").is_file():
            return open_lerobot
        if any(file.suffix in SUFFIXES for file in path.iterdir()):
            return open_bag
        if packed := sorted(file for file in path.iterdir() if _is_packed(file)):
            raise _compressed(packed[0])
        raise InputError(
            f"{path}: neither a LeRobot dataset (meta/info.json) nor a ROS 2 bag "
            f"({', '.join(SUFFIXES)})"
        )
    if not path.is_file():
        raise no_file(path)
    if _is_packed(path):
        raise _compressed(path)
    suffix = path.suffix.lower()
    if suffix in READERS:
        return READERS[suffix]
    plugins = {f".{name}": name for name in installed(GROUP)}
    if suffix not in plugins:
        instead = f"; {_INSTEAD[suffix].replace('LOG', path.stem)}" if suffix in _INSTEAD else ""
        raise InputError(
            f"{path}: {unknown_name('kind of log', path.suffix, (*READERS, *plugins))}{instead}"
        )
    reader: Callable[..., Table] = load(GROUP, plugins[suffix])
    return reader
