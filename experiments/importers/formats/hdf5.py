"""Reader for HDF5 files, including MATLAB 7.3: vectors, matrices and tables in nested groups."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stribeck.experiments.importers.formats.nested import leaves
from stribeck.experiments.importers.formats.survival import survived
from stribeck.experiments.importers.table import Array, Table, check_size, column_names, columns_of
from stribeck.ident.errors import InputError

if TYPE_CHECKING:
    import h5py

SIGNATURE = b"\x89HDF\r\n\x1a\n"
_DEEPEST, _MOST = 12, 1000  # largest depth of groups, and largest number of cells of a list
_LONGEST = 256  # largest number of letters of a label


@dataclass(frozen=True)
class _Leaf:
    """A numeric dataset, or one field of a dataset of records."""

    place: str
    field: str | None
    shape: tuple[int, ...]
    dtype: np.dtype


def open_hdf5(path: Path) -> Table:
    """Open the numeric vectors and matrices of an HDF5 file, named as in `leaves`; fields of
    records are ``table.field``.

    Links to other files are not followed.

    Raises
    ------
    InputError
        If the package h5py is missing, or the file is damaged.
    """
    try:
        import h5py
    except ImportError:
        raise InputError(
            f"{path}: HDF5 (and MATLAB 7.3) files need the package h5py; "
            "run pip install 'stribeck[hdf5]'"
        ) from None

    def opened() -> "h5py.File":
        return h5py.File(path, "r", locking=False)

    def listed() -> dict[str, _Leaf]:
        with opened() as file:
            return dict(leaves(_Walk(file).content(file)))

    try:
        if not survived(listed):
            raise InputError(
                f"{path}: the file is damaged and would crash the reader; save it again"
            )
        owner = {
            column: (name, leaf)
            for name, leaf in listed().items()
            for column in column_names(name, leaf.shape, leaf.dtype)
        }
    except (OSError, ValueError, KeyError, RuntimeError, TypeError) as error:
        raise _unreadable(path, error) from error

    def load(names: Sequence[str]) -> dict[str, Array]:
        found: dict[str, Array] = {}
        try:
            with opened() as file:
                for name, leaf in dict.fromkeys(owner[column] for column in names):
                    check_size(
                        str(path), max(leaf.shape), min(leaf.shape) if len(leaf.shape) > 1 else 1
                    )
                    dataset = file[leaf.place]
                    values = dataset[()] if leaf.field is None else dataset.fields(leaf.field)[()]
                    found |= {
                        column: np.asarray(own, dtype=float)
                        for column, own in columns_of(name, values).items()
                    }
        except (OSError, ValueError, KeyError, RuntimeError, TypeError) as error:
            raise _unreadable(path, error) from error
        return {column: found[column] for column in names}

    return Table(str(path), tuple(owner), load)


def _unreadable(path: Path, error: Exception) -> InputError:
    return InputError(f"{path}: cannot be read as an HDF5 file: {' '.join(str(error).split())}")


class _Walk:
    """Traversal of a file that visits each object once, even if groups contain each other."""

    def __init__(self, file: "h5py.File") -> None:
        self._file = file
        self._met: set[int] = set()
        self._is_new(file["/"], 0)

    def content(self, group: "h5py.Group", depth: int = 0) -> dict[str, Any]:
        """Return the content of a group: leaves, labels, nested groups and lists, without
        MATLAB's internal groups (#...).
        """
        return {
            name: self._value(item, depth)
            for name, item in _members(group)
            if depth > 0 or not name.startswith("#")
        }

    def _value(self, item: Any, depth: int) -> Any:
        """Return a group's content, a list of references, a label, or a numeric dataset of
        this file; otherwise None.
        """
        import h5py

        if isinstance(item, h5py.Group):
            return (
                _structures(item, self.content(item, depth + 1))
                if self._is_new(item, depth)
                else None
            )
        if (
            not isinstance(item, h5py.Dataset)
            or item.is_virtual
            or item.external
            or item.attrs.get("MATLAB_empty")
        ):
            return None
        if h5py.check_ref_dtype(item.dtype) is h5py.Reference:
            cells = item[()].ravel()[:_MOST].tolist() if self._is_new(item, depth) else []
            return [self._value(self._file[ref], depth + 1) for ref in cells if ref]
        if item.attrs.get("MATLAB_class") == b"char":
            return "".join(map(chr, item[()].ravel().tolist())) if item.size <= _LONGEST else None
        if item.dtype.names:
            return {
                field: _Leaf(item.name, field, item.shape, item.dtype[field])
                for field in item.dtype.names
                if item.dtype[field].kind in "iuf"
            }
        return _Leaf(item.name, None, item.shape, item.dtype) if item.dtype.kind in "iuf" else None

    def _is_new(self, item: Any, depth: int) -> bool:
        import h5py

        place = int(h5py.h5o.get_info(item.id).addr)
        new = depth < _DEEPEST and place not in self._met
        self._met.add(place)
        return new


def _members(group: "h5py.Group") -> Iterator[tuple[str, Any]]:
    """Yield names and objects of a group, without links to other files and broken links."""
    import h5py

    for name in group:
        if (
            isinstance(group.get(name, getlink=True), (h5py.HardLink, h5py.SoftLink))
            and (item := group.get(name)) is not None
        ):
            yield name, item


def _structures(group: "h5py.Group", content: dict[str, Any]) -> Any:
    """Return the content of a MATLAB structure array as a list of structures; the content of
    any other group unchanged.

    MATLAB stores a structure array as a group whose fields are lists of references,
    without the mark of cell arrays.
    """
    lists = [
        value
        for name, value in content.items()
        if isinstance(value, list) and group[name].attrs.get("MATLAB_class") != b"cell"
    ]
    if not lists or len(lists) < len(content) or len({len(own) for own in lists}) > 1:
        return content
    return [dict(zip(content, row, strict=True)) for row in zip(*lists, strict=True)]
