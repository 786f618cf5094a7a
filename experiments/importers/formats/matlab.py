"""MATLAB files: vectors, matrices, and structures and lists of them, as Simulink saves what a scope showed."""

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

_INT32, _UINT32, _MATRIX, _COMPRESSED = 5, 6, 14, 15       # types of elements
_SPARSE = 5                                               # class of a matrix
_BLOCK = 1 << 20


def open_mat(path: Path) -> Table:
    """Numeric vectors and matrices of a MAT file, called as `leaves` says; version 7.3 is HDF5."""
    from scipy.io import loadmat

    with path.open("rb") as file:
        head = file.read(520)
    if head.startswith(b"MATLAB 7.3") or SIGNATURE in (head[:8], head[512:]):
        return open_hdf5(path)
    try:
        _check_sizes(path)
        if not survived(lambda: loadmat(path)):
            raise InputError(f"{path}: damaged, so much that reading it would end this program")
        found = {name: values for name, values in leaves(loadmat(path, simplify_cells=True)) if values.dtype.kind in "iuf"}
    except InputError:
        raise
    except Exception as error:           # SciPy raises whatever a damaged file makes it run into
        raise InputError(f"{path}: not a MAT file that can be read: {' '.join(str(error).split())}") from error
    columns = {name: column for name, values in found.items() for name, column in columns_of(name, values).items()}

    def load(names: Sequence[str]) -> dict[str, Array]:
        check_size(str(path), max(len(columns[name]) for name in names), len(names))
        return {name: np.asarray(columns[name], dtype=float) for name in names}

    return Table(str(path), tuple(columns), load)


def _check_sizes(path: Path) -> None:
    """Refuse what unpacks, or claims to hold, more than an import keeps or than there is: SciPy would make room for it first."""
    if path.stat().st_size > 8 * MOST_NUMBERS:
        raise _too_large(path)
    with path.open("rb") as file:
        head = file.read(128)
        if len(head) < 128 or head[:4] == b"\0\0\0\0" or head[126:] not in (b"IM", b"MI"):
            return                                          # version 4 knows neither parts nor compression
        order, end, room = "<" if head[126:] == b"IM" else ">", path.stat().st_size, 8 * MOST_NUMBERS
        while len(tag := file.read(8)) == 8:
            kind, size = struct.unpack(f"{order}II", tag)
            behind = file.tell() + size
            if behind > end:
                raise InputError(f"{path}: cut off or damaged: an element goes on behind the end of the file")
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
    return InputError(f"{path}: unpacks to more than the {MOST_NUMBERS} numbers that an import keeps in memory; save the columns "
                      "that are needed in a file of their own")


def _unpacked_size(packed: bytes, most: int) -> int:
    """Bytes of an element when it is unpacked, or more than `most`; little of it is ever in memory."""
    inflate, size = zlib.decompressobj(), 0
    while packed and not inflate.eof and size <= most:
        size += len(inflate.decompress(packed, _BLOCK))
        packed = inflate.unconsumed_tail
    return size


def _check_parts(file: IO[bytes], order: str, end: int, path: Path) -> None:
    """Refuse parts that claim to be longer than what they are part of, and matrices of more elements than bytes."""
    while file.tell() + 8 <= end:
        kind, size = struct.unpack(f"{order}II", file.read(8))
        if kind >> 16:                                      # a small one, with its data in the second half of the tag
            continue
        begin = file.tell()
        if begin + size > end:
            raise InputError(f"{path}: damaged: a part of an element is longer than the element")
        if kind == _MATRIX:
            _check_count(file.read(64), order, size, path)
            file.seek(begin)
            _check_parts(file, order, begin + size, path)
        file.seek(begin + size + -size % 8)


def _check_count(head: bytes, order: str, size: int, path: Path) -> None:
    """Refuse a matrix of more elements than the bytes that it has; a sparse one may leave out most."""
    if len(head) < 24:
        return
    first, _, flags, _, form, length = struct.unpack_from(f"{order}6I", head)
    if first != _UINT32 or form != _INT32 or flags & 0xFF == _SPARSE:
        return
    dimensions = struct.unpack_from(f"{order}{min(length, len(head) - 24) // 4}i", head, 24)
    if math.prod(dimensions) > max(size, 1):
        raise InputError(f"{path}: damaged: a matrix of {' x '.join(map(str, dimensions))} in {size} bytes")
