"""Messages ``std_msgs/Float64MultiArray`` beside joint states, as temperatures often come: each holds until the next."""

import struct
from array import array
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from stribeck.experiments.importers.ros import cdr
from stribeck.experiments.importers.table import MOST_NUMBERS, Array

TYPES = ("std_msgs/msg/Float64MultiArray", "std_msgs/Float64MultiArray")
_WIDEST = 1000          # values of a message, and dimensions
_HOLDS = 3.0            # of its own periods that a value holds where the next does not come


class _Topic:
    """Messages of one topic, as long as all have as many values."""

    def __init__(self, name: str) -> None:
        self.name, self.names = name.strip("/"), tuple[str, ...]()
        self.receipt, self.values = array("q"), array("d")
        self.whole = True

    def add(self, data: bytes, receipt: int) -> None:
        label, values = _decoded(data)
        count = len(values) // 8
        if not self.receipt and count <= _WIDEST:
            words = [word.strip() for word in label.split(",")]
            self.names = tuple(f"{self.name}.{word}" for word in (words if len(set(words)) == count else range(count)))
        if count != len(self.names):
            raise ValueError(f"it has {count} values, others {len(self.names)}")
        self.receipt.append(receipt)
        self.values.frombytes(values)

    def columns(self, receipt: NDArray[np.int64]) -> tuple[dict[str, Array], float]:
        """The last values received up to each of these times [ns], nan before the first and long after one; their rate [Hz]."""
        received = np.frombuffer(self.receipt, dtype=np.int64)
        order = np.argsort(received, kind="stable")
        received, period = received[order], float(np.median(np.diff(received[order]))) if len(received) > 1 else np.inf
        last = np.searchsorted(received, receipt, side="right") - 1
        values = np.frombuffer(self.values).reshape(len(received), -1)[order[last]]
        values[(last < 0) | (receipt - received[last] > _HOLDS * period)] = np.nan
        return dict(zip(self.names, values.T, strict=True)), 1e9 / period if period else np.inf


class MultiArrays:
    """Messages of all such topics, as far as there is room for them."""

    def __init__(self) -> None:
        self._topics: dict[str, _Topic] = {}
        self._room = MOST_NUMBERS

    def add(self, topic: str, data: bytes, receipt: int) -> None:
        """Take over one message, received at a time in ns; after one that does not fit the others its topic has no columns."""
        entry = self._topics.setdefault(topic, _Topic(topic))
        if not entry.whole:
            return
        before = len(entry.values)
        try:
            entry.add(data, receipt)
            self._room -= len(entry.values) - before
            entry.whole = self._room >= 0
        except (struct.error, UnicodeDecodeError, ValueError, OverflowError):
            entry.whole = False
        if not entry.whole:
            self._room += before
            entry.names, entry.values = (), array("d")

    def columns(self, receipt: NDArray[np.int64], room: int) -> Iterator[tuple[dict[str, Array], str]]:
        """Columns of one topic after the other, and a note, for at most so many numbers a row."""
        for topic in self._topics.values():
            if topic.names and len(topic.names) <= room:
                room -= len(topic.names)
                columns, rate = topic.columns(receipt)
                yield columns, f"values under /{topic.name}, {rate:.3g} Hz, hold until the next is received"


def _decoded(data: bytes) -> tuple[str, bytes]:
    """Label of the only dimension, empty if there are others, and the values."""
    body, order, align = cdr.opened(data)
    (dimensions,) = struct.unpack_from(f"{order}I", body)
    if dimensions > _WIDEST:
        raise ValueError(f"it claims {dimensions} dimensions")
    label, at = "", 4
    for _ in range(dimensions):
        label, at = cdr.text(body, at, order)
        at = cdr.padded(at, 4) + 8                          # its size and stride
    values, _ = cdr.doubles(body, cdr.padded(at, 4) + 4, order, align)
    return label if dimensions == 1 else "", values
