"""Columns from ``std_msgs/Float64MultiArray`` messages (often temperatures); each value is
held until the next message.
"""

import struct
from array import array
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from stribeck.experiments.importers.ros import cdr
from stribeck.experiments.importers.table import MOST_NUMBERS, Array

TYPES = ("std_msgs/msg/Float64MultiArray", "std_msgs/Float64MultiArray")
_WIDEST = 1000  # largest number of values and of dimensions of a message
# periods of the topic for which a value is held if the next message does not come
_HOLDS = 3.0


class _Topic:
    """Messages of one topic, which must all have the same number of values."""

    def __init__(self, name: str) -> None:
        self.name, self.names = name.strip("/"), tuple[str, ...]()
        self.receipt, self.values = array("q"), array("d")
        self.whole = True

    def add(self, data: bytes, receipt: int) -> None:
        label, values = _decoded(data)
        count = len(values) // 8
        if not self.receipt and count <= _WIDEST:
            words = [word.strip() for word in label.split(",")]
            self.names = tuple(
                f"{self.name}.{word}"
                for word in (words if len(set(words)) == count else range(count))
            )
        if count != len(self.names):
            raise ValueError(f"the message has {count} values, the first message {len(self.names)}")
        self.receipt.append(receipt)
        self.values.frombytes(values)

    def columns(self, receipt: NDArray[np.int64]) -> tuple[dict[str, Array], float]:
        """Return the last received value at each time [ns], nan after `_HOLDS` periods, and
        the rate of the topic [Hz].
        """
        received = np.frombuffer(self.receipt, dtype=np.int64)
        order = np.argsort(received, kind="stable")
        received, period = (
            received[order],
            float(np.median(np.diff(received[order]))) if len(received) > 1 else np.inf,
        )
        last = np.searchsorted(received, receipt, side="right") - 1
        values = np.frombuffer(self.values).reshape(len(received), -1)[order[last]]
        values[(last < 0) | (receipt - received[last] > _HOLDS * period)] = np.nan
        return dict(zip(self.names, values.T, strict=True)), 1e9 / period if period else np.inf


class MultiArrays:
    """Messages of all topics of these types, up to `MOST_NUMBERS` numbers."""

    def __init__(self) -> None:
        self._topics: dict[str, _Topic] = {}
        self._room = MOST_NUMBERS

    def add(self, topic: str, data: bytes, receipt: int) -> None:
        """Add one message with its receipt time [ns]; a topic with messages of different
        lengths gives no columns.
        """
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

    def columns(
        self, receipt: NDArray[np.int64], room: int
    ) -> Iterator[tuple[dict[str, Array], str]]:
        """Yield columns and a note for each topic; at most `room` columns in total."""
        for topic in self._topics.values():
            if topic.names and len(topic.names) <= room:
                room -= len(topic.names)
                columns, rate = topic.columns(receipt)
                yield (
                    columns,
                    f"values of /{topic.name} ({rate:.3g} Hz) are held until the next message",
                )


def _decoded(data: bytes) -> tuple[str, bytes]:
    """Return the label, if the message has exactly one dimension, and the values."""
    body, order, align = cdr.opened(data)
    (dimensions,) = struct.unpack_from(f"{order}I", body)
    if dimensions > _WIDEST:
        raise ValueError(f"the message claims {dimensions} dimensions (allowed: {_WIDEST})")
    label, at = "", 4
    for _ in range(dimensions):
        label, at = cdr.text(body, at, order)
        at = cdr.padded(at, 4) + 8  # size and stride of the dimension
    values, _ = cdr.doubles(body, cdr.padded(at, 4) + 4, order, align)
    return label if dimensions == 1 else "", values
