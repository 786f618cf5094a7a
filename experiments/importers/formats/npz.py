"""Reader for NumPy archives: vectors and matrices, but no Python objects; headers
are checked before the data.
"""

import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import numpy as np

from stribeck.experiments.importers.table import Array, Table, check_size, column_names, columns_of
from stribeck.ident.errors import InputError

_DAMAGED = (
    ValueError,
    OSError,
    EOFError,
    zipfile.BadZipFile,
    zlib.error,
    NotImplementedError,
    RuntimeError,
    KeyError,
    MemoryError,
    OverflowError,
    SyntaxError,
    TypeError,
)


def open_npz(path: Path) -> Table:
    """Open the numeric vectors and matrices of an NPZ file; an array is read on request,
    after a check of its size.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = {
                name.removesuffix(".npy"): _shape(archive, name, path)
                for name in archive.namelist()
                if name.endswith(".npy")
            }
    except _DAMAGED as error:
        raise _unreadable(path, error) from error
    owner: dict[str, str] = {}
    for member, (shape, dtype) in members.items():
        owner |= dict.fromkeys(column_names(member, shape, dtype), member)

    def load(names: Sequence[str]) -> dict[str, Array]:
        found: dict[str, Array] = {}
        for member in dict.fromkeys(owner[name] for name in names):
            shape, _ = members[member]
            check_size(
                str(path),
                int(np.prod(shape[:1], dtype=float)),
                int(np.prod(shape[1:], dtype=float)),
            )
            try:
                with zipfile.ZipFile(path) as archive, archive.open(f"{member}.npy") as file:
                    values = np.lib.format.read_array(file, allow_pickle=False)
                found |= {
                    name: _floats(column)
                    for name, column in columns_of(member, values).items()
                    if name in names
                }
            except _DAMAGED as error:
                raise _unreadable(path, error) from error
        return found

    return Table(
        str(path),
        tuple(owner),
        load,
        {name: "s" for name, member in owner.items() if members[member][1].kind in "mM"},
    )


def _floats(values: np.ndarray) -> Array:
    """Convert values to floats: dates to s since 1970, time spans to s."""
    if values.dtype.kind not in "mM":
        return np.array(values, dtype=float)
    ticks = values.astype(f"{values.dtype.kind}8[ns]").astype(np.int64)
    return np.where(np.isnat(values), np.nan, 1e-9 * ticks)


def _shape(archive: zipfile.ZipFile, name: str, path: Path) -> tuple[tuple[int, ...], np.dtype]:
    """Return the stated shape and type of an array; refuse an array whose
    file is smaller than stated.
    """
    with archive.open(name) as file:
        shape, dtype = _header(file)
    if dtype.hasobject:  # Python objects are never read
        return shape, dtype
    claimed = dtype.itemsize * int(np.prod([float(side) for side in shape]))
    if any(side < 0 for side in shape) or claimed > archive.getinfo(name).file_size:
        raise ValueError(f"{name} claims {claimed} bytes but has {archive.getinfo(name).file_size}")
    return shape, dtype


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype]:
    version = np.lib.format.read_magic(file)
    read = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else np.lib.format.read_array_header_2_0
    )
    shape, _, dtype = read(file)
    return shape, dtype


def _unreadable(path: Path, error: BaseException) -> InputError:
    if isinstance(error, InputError):
        return error
    return InputError(
        f"{path}: cannot be read as an NPZ file: "
        f"{' '.join(str(error).split()) or type(error).__name__}"
    )
