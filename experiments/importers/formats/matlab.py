"""Reader for MATLAB files: vectors, matrices, structures and cell arrays,
including logs of Simulink scopes.
"""

import io
import math
import os
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import numpy as np

from stribeck.experiments.importers.formats.hdf5 import SIGNATURE, open_hdf5
from stribeck.experiments.importers.formats.nested import leaves
from stribeck.experiments.importers.formats.survival import survived
from stribeck.experiments.importers.table import MOST_NUMBERS, Array, Table, check_size, columns_of
from stribeck.ident.errors import InputError

_INT32, _UINT32, _MATRIX, _COMPRESSED = 5, 6, 14, 15  # types of data elements
_SPARSE = 5  # class of sparse matrices
_BLOCK = 1 << 20


def open_mat(path: Path) -> Table:
    """Open the numeric vectors and matrices of a MAT file, named as in `leaves`;
    version 7.3 is read as HDF5.
    """
    from scipy.io import loadmat

    with path.open("rb") as file:
        head = file.read(520)
    if head.startswith(b"MATLAB 7.3") or SIGNATURE in (head[:8], head[512:]):
        return open_hdf5(path)
    try:
        _check_sizes(path)
        if not survived(lambda: loadmat(path)):
            raise InputError(
                f"{path}: the file is damaged and would crash the reader; save it again"
            )
        found = {
            name: values
            for name, values in leaves(loadmat(path, simplify_cells=True))
            if values.dtype.kind in "iuf"
        }
    except InputError:
        raise
    except Exception as error:  # for a damaged file SciPy may raise any exception
        raise InputError(
            f"{path}: cannot be read as a MAT file: {' '.join(str(error).split())}"
        ) from error
    columns = {
        name: column
        for name, values in found.items()
        for name, column in columns_of(name, values).items()
    }

    def load(names: Sequence[str]) -> dict[str, Array]:
        check_size(str(path), max(len(columns[name]) for name in names), len(names))
        return {name: np.asarray(columns[name], dtype=float) for name in names}

    return Table(str(path), tuple(columns), load)


def _check_sizes(path: Path) -> None:
    """Refuse files whose content is, or claims to be, too large: SciPy would allocate the
    memory before it notices.
    """
    if path.stat().st_size > 8 * MOST_NUMBERS:
        raise _too_large(path)
    with path.open("rb") as file:
        head = file.read(128)
        if len(head) < 128 or head[:4] == b"\0\0\0\0" or head[126:] not in (b"IM", b"MI"):
            # version 4 has neither parts nor compression
            return
        order, end, room = (
            "<" if head[126:] == b"IM" else ">",
            path.stat().st_size,
            8 * MOST_NUMBERS,
        )
        while len(tag := file.read(8)) == 8:
            kind, size = struct.unpack(f"{order}II", tag)
            behind = file.tell() + size
            if behind > end:
                raise InputError(
                    f"{path}: truncated or damaged: a data element extends beyond the end of the "
                    "file; save the log again"
                )
            if kind == _COMPRESSED:
                packed = file.read(size)
                room -= _unpacked_size(packed, room)
                if room < 0:
                    raise _too_large(path)
                content = zlib.decompressobj().decompress(packed)
                _check_parts(io.BytesIO(content), order, len(content), path)
            elif kind == _MATRIX:
                file.seek(-8, os.SEEK_CUR)
                _check_parts(file, order, behind, path)
            file.seek(behind)


def _too_large(path: Path) -> InputError:
    return InputError(
        f"{path}: the content exceeds the {MOST_NUMBERS} numbers that an import keeps in memory; "
        "save only the needed columns to another file"
    )


def _unpacked_size(packed: bytes, most: int) -> int:
    """Size of a decompressed element [bytes], or a size above `most`; only blocks of
    the element are in memory.
    """
    inflate, size = zlib.decompressobj(), 0
    while packed and not inflate.eof and size <= most:
        size += len(inflate.decompress(packed, _BLOCK))
        packed = inflate.unconsumed_tail
    return size


def _check_parts(file: IO[bytes], order: str, end: int, path: Path) -> None:
    """Refuse parts that claim to be longer than their element, and matrices with
    more elements than bytes.
    """
    while file.tell() + 8 <= end:
        kind, size = struct.unpack(f"{order}II", file.read(8))
        # a small element, with its data in the second half of the tag
        if kind >> 16:
            continue
        begin = file.tell()
        if begin + size > end:
            raise InputError(
                f"{path}: damaged: a part is longer than its data element; save the log again"
            )
        if kind == _MATRIX:
            _check_count(file.read(64), order, size, path)
            file.seek(begin)
            _check_parts(file, order, begin + size, path)
        file.seek(begin + size + -size % 8)


def _check_count(head: bytes, order: str, size: int, path: Path) -> None:
    """Refuse a matrix with more elements than bytes, unless the matrix is sparse."""
    if len(head) < 24:
        return
    first, _, flags, _, form, length = struct.unpack_from(f"{order}6I", head)
    if first != _UINT32 or form != _INT32 or flags & 0xFF == _SPARSE:
        return
    dimensions = struct.unpack_from(f"{order}{min(length, len(head) - 24) // 4}i", head, 24)
    if math.prod(dimensions) > max(size, 1):
        raise InputError(
            f"{path}: damaged: a matrix claims {' x '.join(map(str, dimensions))} elements in "
            f"{size} bytes; save the log again"
        )
