"""MATLAB files up to version 7.2: vectors, matrices and structures of them."""

import faulthandler
import os
import struct
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from experiments.importers.table import MOST_NUMBERS, Table, columns_of, in_memory
from ident.errors import InputError

_COMPRESSED = 15
_BLOCK = 1 << 20


def open_mat(path: Path) -> Table:
    """Numeric vectors and matrices of a MAT file; those of a structure are called ``structure.field``."""
    from scipy.io import loadmat

    try:
        _check_unpacked(path)
        if not _survived(lambda: loadmat(path)):
            raise InputError(f"{path}: damaged, so much that reading it would end this program")
        content = loadmat(path, simplify_cells=True)
    except InputError:
        raise
    except Exception as error:           # SciPy raises whatever a damaged file makes it run into
        raise InputError(f"{path}: not a MAT file that can be read (version 7.3 files are HDF5; save with -v7): "
                         f"{' '.join(str(error).split())}") from error
    return in_memory(str(path), {name: np.asarray(column, dtype=float) for name, values in _arrays(content)
                                 for name, column in columns_of(name, values).items()})


def _survived(reads: Callable[[], Any]) -> bool:
    """Whether a process lives through this, as SciPy's reader does not with some damaged files; true where none can be forked."""
    if not hasattr(os, "fork"):
        return True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)         # of forking a process with threads: this one only reads
        child = os.fork()
    if child == 0:
        try:
            faulthandler.disable()
            reads()
        finally:
            os._exit(0)
    return not os.WIFSIGNALED(os.waitpid(child, 0)[1])


def _arrays(content: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, np.ndarray]]:
    for name, value in content.items():
        if isinstance(value, Mapping):
            yield from _arrays(value, f"{prefix}{name}.")
        elif not name.startswith("__") and isinstance(value, np.ndarray):
            yield prefix + name, value


def _check_unpacked(path: Path) -> None:
    """Refuse elements that unpack to more than an import keeps, before anything of them is in memory."""
    with path.open("rb") as file:
        head = file.read(128)
        if len(head) < 128 or head[:4] == b"\0\0\0\0" or head[126:] not in (b"IM", b"MI"):
            return                                          # version 4 knows no compression
        order = "<" if head[126:] == b"IM" else ">"
        unpacked = 0
        while len(tag := file.read(8)) == 8:
            kind, size = struct.unpack(f"{order}II", tag)
            if kind != _COMPRESSED:
                file.seek(size, 1)
                continue
            inflate, left = zlib.decompressobj(), size
            while left and (block := file.read(min(left, _BLOCK))):
                left -= len(block)
                while block and not inflate.eof:
                    unpacked += len(inflate.decompress(block, _BLOCK))
                    block = inflate.unconsumed_tail
                    if unpacked > 8 * MOST_NUMBERS:
                        raise InputError(f"{path}: unpacks to more than the {MOST_NUMBERS} numbers that an import keeps in "
                                         "memory; save the columns that are needed in a file of their own")
