"""Types of arrays, the library that computes with an array, and labels of groups of rows."""

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

Groups = NDArray[np.int_]

Array = NDArray[np.float64]
Numbers = Any  # what NumPy takes as an array, or an array of another library


def library_of(value: Any) -> Any:
    """Return the module whose functions take an array: that of its own library (JAX,
    torch, CuPy), else NumPy.

    Functions that compute by this module have derivatives, devices and types of that
    library. They use names that the array API standard and torch share, and numbers beside
    arrays only where torch takes them.
    """
    if isinstance(value, np.ndarray | float | int | list | tuple):
        return np
    # tensors do not follow the standard's protocol
    if type(value).__module__.partition(".")[0] == "torch":
        return sys.modules["torch"]
    return value.__array_namespace__() if hasattr(value, "__array_namespace__") else np


def floats(value: Any) -> Any:
    """Return an array of floats: NumPy's in double precision, arrays of
    other libraries as they are.
    """
    return np.asarray(value, dtype=float) if library_of(value) is np else value


def like(example: Any, value: Any) -> Any:
    """Return numbers as an array of the library, type and device of another array."""
    library = library_of(example)
    if library is np:
        return np.asarray(value, dtype=float)
    if library_of(value) is library:
        return value
    # JAX places constants itself
    place = {"device": example.device} if library.__name__ == "torch" else {}
    return library.asarray(np.asarray(value, dtype=float), dtype=example.dtype, **place)


def group_index(group: NDArray[np.generic]) -> Groups:
    """Round-trip labels as 0, 1, 2, ... in order of first appearance."""
    if group.dtype.kind in "iuf" and (np.diff(group) >= 0).all():
        return np.asarray(np.cumsum(np.diff(group, prepend=group[:1]) > 0))
    _, first, inverse = np.unique(group, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[inverse])


def first_of_groups(values: Array, group: Groups) -> Array:
    """The first value of each group, shape (G,)."""
    return np.asarray(values[np.unique(group, return_index=True)[1]])


def cross(a: Array, b: Array) -> Array:
    """Cross products of vectors along the last axis, with the usual broadcasting; several
    times as fast as NumPy's own.
    """
    x, y, z = a[..., 0], a[..., 1], a[..., 2]
    X, Y, Z = b[..., 0], b[..., 1], b[..., 2]
    first = y * Z - z * Y
    out = np.empty((*first.shape, 3))
    out[..., 0] = first
    np.subtract(z * X, x * Z, out=out[..., 1])
    np.subtract(x * Y, y * X, out=out[..., 2])
    return out
