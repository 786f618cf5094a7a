"""Reader for files of ``torch.save`` that never executes their pickle.

The file is an archive. One member holds the numbers of each storage; a pickle describes which part
of a storage each tensor is. A pickle is a program for a stack machine and may call any function.
This reader interprets the few instructions that build dictionaries, lists and tensor descriptions.
It calls no function; other objects become placeholders (`_Named`).
"""

import pickletools
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stribeck.experiments.importers.formats.nested import leaves
from stribeck.experiments.importers.table import Array, Table, check_size, column_names, columns_of
from stribeck.ident.errors import InputError

_TYPES = {
    "DoubleStorage": "f8",
    "FloatStorage": "f4",
    "HalfStorage": "f2",
    "LongStorage": "i8",
    "IntStorage": "i4",
    "ShortStorage": "i2",
    "CharStorage": "i1",
    "ByteStorage": "u1",
    "BFloat16Storage": "u2",
}
_BFLOAT = "BFloat16Storage"  # the upper two bytes of a float
_DESCRIPTION = "data.pkl"
_LARGEST = 1 << 24  # bytes of the pickle
_TENSOR = "torch._utils _rebuild_tensor_v2"
_DICTIONARY = "collections OrderedDict"
_DAMAGED = (
    ValueError,
    IndexError,
    KeyError,
    TypeError,
    OSError,
    EOFError,
    zipfile.BadZipFile,
    zlib.error,
    NotImplementedError,
    RuntimeError,
    OverflowError,
    AttributeError,
)


@dataclass(frozen=True)
class _Named:
    """Placeholder for a function, class or object of the pickle."""

    name: str


@dataclass(frozen=True)
class _Storage:
    """Reference to the numbers in one member of the archive."""

    kind: str
    key: str
    count: int


@dataclass(frozen=True)
class _Tensor:
    """A view of a storage: index of the first number, shape, and strides in numbers."""

    storage: _Storage
    first: int
    shape: tuple[int, ...]
    apart: tuple[int, ...]

    @property
    def dtype(self) -> np.dtype:
        """Type of the numbers."""
        return np.dtype(_TYPES[self.storage.kind])


def open_torch(path: Path) -> Table:
    """Open the tensors of one or two dimensions of a torch file, named as in `leaves`.

    Raises
    ------
    InputError
        If the file is damaged, or was written before torch 1.6.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            place = next(
                (name for name in archive.namelist() if name.endswith(f"/{_DESCRIPTION}")), None
            )
            if place is None:
                raise ValueError(f"the archive has no {_DESCRIPTION}")
            folder = place.removesuffix(_DESCRIPTION)
            if archive.getinfo(place).file_size > _LARGEST:
                raise ValueError(f"{_DESCRIPTION} is larger than {_LARGEST} bytes")
            described = _described(archive.read(place))
            big = (
                f"{folder}byteorder" in archive.namelist()
                and archive.read(f"{folder}byteorder") == b"big"
            )
        content = described if isinstance(described, dict) else {"tensor": described}
        tensors = {
            name: leaf
            for name, leaf in leaves({str(name): value for name, value in content.items()})
            if isinstance(leaf, _Tensor)
        }
    except zipfile.BadZipFile:
        raise InputError(
            f"{path}: not a torch file of version 1.6 or later; save the tensors again, or as "
            "arrays with numpy.savez"
        ) from None
    except _DAMAGED as error:
        raise _unreadable(path, error) from error
    owner = {
        column: name
        for name, tensor in tensors.items()
        for column in column_names(name, tensor.shape, tensor.dtype)
    }

    def load(names: Sequence[str]) -> dict[str, Array]:
        found: dict[str, Array] = {}
        try:
            with zipfile.ZipFile(path) as archive:
                for name in dict.fromkeys(owner[column] for column in names):
                    shape = tensors[name].shape
                    check_size(str(path), max(shape), min(shape) if len(shape) > 1 else 1)
                    check_size(str(path), tensors[name].storage.count, 1)
                    found |= {
                        column: np.asarray(own, dtype=float)
                        for column, own in columns_of(
                            name, _numbers(archive, folder, big, tensors[name])
                        ).items()
                    }
        except InputError:
            raise
        except _DAMAGED as error:
            raise _unreadable(path, error) from error
        return {column: found[column] for column in names}

    return Table(str(path), tuple(owner), load)


def _unreadable(path: Path, error: Exception) -> InputError:
    return InputError(
        f"{path}: cannot be read as a torch file: "
        f"{' '.join(str(error).split()) or type(error).__name__}"
    )


def _numbers(archive: zipfile.ZipFile, folder: str, big: bool, tensor: _Tensor) -> np.ndarray:
    """Return the numbers of a tensor."""
    storage, member = tensor.storage, archive.getinfo(f"{folder}data/{tensor.storage.key}")
    dtype = tensor.dtype.newbyteorder(">" if big else "<")
    last = tensor.first + sum(
        (size - 1) * apart for size, apart in zip(tensor.shape, tensor.apart, strict=True)
    )
    if (
        min(tensor.first, *tensor.apart) < 0
        or last >= storage.count
        or storage.count * dtype.itemsize > member.file_size
    ):
        raise ValueError("a tensor extends beyond its storage")
    with archive.open(member) as file:
        values = np.frombuffer(file.read(storage.count * dtype.itemsize), dtype)
    if storage.kind == _BFLOAT:
        values = (values.astype(np.uint32) << 16).view(np.float32)
    return np.lib.stride_tricks.as_strided(
        values[tensor.first :],
        tensor.shape,
        [apart * values.itemsize for apart in tensor.apart],
        writeable=False,
    )


def _described(text: bytes) -> Any:
    """Return the object of a pickle: dictionaries, lists, numbers, texts and tensors;
    `_Named` for all other objects.
    """
    machine = _Machine()
    for code, argument, _ in pickletools.genops(text):
        if code.name == "STOP":
            return machine.stack[-1]
        machine.step(code.name, argument)
    raise ValueError("the pickle is truncated")


class _Machine:
    """Stack machine of a pickle, with its memo and its marks."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self._kept: dict[int, Any] = {}
        self._marks: list[int] = []

    def step(self, name: str, argument: Any) -> None:
        """Execute one instruction; instructions without effect on dictionaries,
        lists and tensors are skipped.
        """
        stack = self.stack
        match name:
            case "MARK":
                self._marks.append(len(stack))
            case "EMPTY_DICT" | "EMPTY_LIST" | "EMPTY_TUPLE":
                stack.append({"EMPTY_DICT": dict, "EMPTY_LIST": list, "EMPTY_TUPLE": tuple}[name]())
            case "NONE" | "NEWTRUE" | "NEWFALSE":
                stack.append({"NEWTRUE": True, "NEWFALSE": False}.get(name))
            case "BINPUT" | "LONG_BINPUT" | "PUT" | "MEMOIZE":
                self._kept[len(self._kept) if name == "MEMOIZE" else argument] = stack[-1]
            case "BINGET" | "LONG_BINGET" | "GET":
                kept = self._kept[argument]  # a list that contains itself would never end
                stack.append(_Named("once more") if isinstance(kept, (dict, list)) else kept)
            case "TUPLE" | "LIST":
                stack.append((tuple if name == "TUPLE" else list)(self._since_mark()))
            case "TUPLE1" | "TUPLE2" | "TUPLE3":
                stack[-int(name[-1]) :] = [tuple(stack[-int(name[-1]) :])]
            case "APPEND" | "APPENDS":
                items = [stack.pop()] if name == "APPEND" else self._since_mark()
                if isinstance(stack[-1], list):
                    stack[-1].extend(items)
            case "SETITEM" | "SETITEMS":
                items = [stack.pop(-2), stack.pop()] if name == "SETITEM" else self._since_mark()
                if isinstance(stack[-1], dict):
                    stack[-1].update(zip(items[::2], items[1::2], strict=True))
            case "BINPERSID":
                stack.append(_storage(stack.pop()))
            case "GLOBAL":
                stack.append(_Named(argument))
            case "STACK_GLOBAL":
                stack[-2:] = [_Named(f"{stack[-2]} {stack[-1]}")]
            case "REDUCE" | "NEWOBJ":
                stack[-2:] = [_made(*stack[-2:])]
            case "BUILD" | "POP":
                stack.pop()
            case "PROTO" | "FRAME":
                pass
            case _ if argument is not None:  # numbers, texts and bytes
                stack.append(argument)
            case _:
                raise ValueError(f"the pickle has an instruction that tensors do not need ({name})")

    def _since_mark(self) -> list[Any]:
        """Remove and return the items above the last mark."""
        first = self._marks.pop()
        items = self.stack[first:]
        del self.stack[first:]
        return items


def _storage(said: Any) -> Any:
    """Return the storage for a persistent id of the pickle."""
    if (
        isinstance(said, tuple)
        and len(said) == 5
        and said[0] == "storage"
        and isinstance(said[1], _Named)
    ):
        return _Storage(said[1].name.rpartition(" ")[2], str(said[2]), int(said[4]))
    return _Named("storage")


def _made(function: Any, arguments: Any) -> Any:
    """Return the result of a call: a dictionary or a tensor; a placeholder for any other call."""
    name = function.name if isinstance(function, _Named) else ""
    if name == _DICTIONARY:
        return {}
    if name == _TENSOR and isinstance(arguments[0], _Storage) and arguments[0].kind in _TYPES:
        storage, first, shape, apart = arguments[:4]
        return _Tensor(storage, int(first), tuple(map(int, shape)), tuple(map(int, apart)))
    return _Named(name)
