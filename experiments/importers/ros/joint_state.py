"""Columns from ``sensor_msgs/JointState`` messages in CDR.

Joints and their order may differ between messages. Messages may be repeated, late, or
split into several parts.
"""

import struct
from array import array
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from stribeck.experiments.importers.ros import cdr
from stribeck.experiments.importers.ros.multi_array import MultiArrays
from stribeck.experiments.importers.table import MOST_NUMBERS, Array, Table, check_size, in_memory
from stribeck.ident.errors import InputError

TYPES = ("sensor_msgs/msg/JointState", "sensor_msgs/JointState")
STAMPS = ("auto", "header", "receipt")
SIGNALS = ("position", "velocity", "effort")
_MOST_JOINTS = 1000
_UNSET = 0.01  # largest part of the header stamps that may be zero


@dataclass
class _Layout:
    """Messages with the same joints in the same order."""

    names: tuple[str, ...]
    rows: array = field(default_factory=lambda: array("q"))  # index of the message
    # position, velocity, effort of all joints, row by row
    values: array = field(default_factory=lambda: array("d"))


class JointStates:
    """Messages of one topic, in the order in which they were recorded.

    Parameters
    ----------
    source : str
        Path of the bag, for error messages.
    topic : str
        Name of the topic, for error messages.
    """

    def __init__(self, source: str, topic: str) -> None:
        self.source, self.topic = source, topic
        self._header, self._receipt = array("q"), array("q")  # ns
        self._layouts: dict[bytes, _Layout] = {}
        self._numbers = 0

    def __len__(self) -> int:
        return len(self._header)

    def add(self, data: bytes, receipt: int) -> None:
        """Add one message with its receipt time [ns].

        Raises
        ------
        InputError
            If the message is not a JointState in CDR, or if the log has too many numbers.
        """
        try:
            stamp, names, values = _decoded(data, self._layouts)
            self._receipt.append(receipt)
        except (struct.error, UnicodeDecodeError, ValueError, OverflowError) as error:
            raise InputError(
                f"{self.source}: message {len(self) + 1} of {self.topic} is not a JointState: "
                f"{error}"
            ) from error
        layout = self._layouts[names]
        layout.rows.append(len(self._header))
        layout.values.frombytes(values)
        self._header.append(stamp)
        self._numbers += len(values) // 8
        if self._numbers > MOST_NUMBERS:
            check_size(self.source, len(self), 3 * len(layout.names))
            raise InputError(
                f"{self.source}: more than the {MOST_NUMBERS} numbers that an import keeps in "
                "memory; cut the bag"
            )

    def table(
        self, stamps: str, notes: tuple[str, ...] = (), beside: MultiArrays | None = None
    ) -> Table:
        """Return columns ``t`` [s, from the first message], ``SIGNAL.JOINT`` (nan if a message has
        no value), and the arrays of `beside` up to `MOST_NUMBERS` numbers."""
        joints = list(
            dict.fromkeys(name for layout in self._layouts.values() for name in layout.names)
        )
        check_size(self.source, len(self), 3 * len(joints))
        header, receipt = (
            np.frombuffer(ticks, dtype=np.int64) for ticks in (self._header, self._receipt)
        )
        clock, about, kept = _clock(header, receipt, stamps)
        columns = {
            f"{signal}.{joint}": np.full(len(self), np.nan)
            for signal in SIGNALS
            for joint in joints
        }
        for layout in self._layouts.values():
            values = np.frombuffer(layout.values).reshape(len(layout.rows), 3, len(layout.names))
            for (k, signal), (j, joint) in (
                (a, b) for a in enumerate(SIGNALS) for b in enumerate(layout.names)
            ):
                columns[f"{signal}.{joint}"][layout.rows] = values[:, k, j]
        columns = {name: column for name, column in columns.items() if not np.isnan(column).all()}
        for others, note in (
            beside.columns(receipt, MOST_NUMBERS // len(self) - 3 * len(joints)) if beside else ()
        ):
            columns |= others
            notes = (*notes, note)
        t, columns, order = _ordered(
            clock[kept], {name: column[kept] for name, column in columns.items()}
        )
        found = in_memory(self.source, {"t": t, **columns})
        return Table(
            found.source, found.names, found.load, {"t": "s"}, notes=(*notes, about, *order)
        )


def _clock(
    header: NDArray[np.int64], receipt: NDArray[np.int64], stamps: str
) -> tuple[NDArray[np.int64], str, NDArray[np.bool_]]:
    """Return the chosen time stamps, a note on the jitter of both stamps, and
    the mask of usable messages.
    """

    def scatter(ticks: NDArray[np.int64]) -> float:
        steps = np.diff(np.sort(ticks)) * 1e-6
        return float(np.quantile(np.abs(steps - np.median(steps)), 0.95)) if len(steps) else 0.0

    chosen, stamped = stamps, header != 0
    unset = int((~stamped).sum())
    if stamps == "auto":
        chosen = (
            "header"
            if 10 * len(np.unique(header)) > len(header) and unset <= _UNSET * len(header)
            else "receipt"
        )
    ticks, other = (header, receipt) if chosen == "header" else (receipt, header)
    said = (
        f"time is the {chosen} stamp, with a jitter of {scatter(ticks):.2g} ms (95 %); the jitter "
        f"of the {'receipt' if chosen == 'header' else 'header'} stamp is {scatter(other):.2g} ms"
    )
    if chosen == "receipt" and stamps == "auto":
        said += (
            "; the header stamps are not "
            f"set{f' in {unset} of {len(header)} messages' if 0 < unset < len(header) else ''}"
        )
    if chosen == "receipt" or not unset or unset == len(header):
        return ticks, said, np.ones(len(header), dtype=bool)
    return ticks, f"{said}; {unset} message(s) without a header stamp are left out", stamped


def _ordered(
    clock: NDArray[np.int64], columns: dict[str, Array]
) -> tuple[Array, dict[str, Array], tuple[str, ...]]:
    """Sort rows by time, and join messages with the same time stamp to one row."""
    notes = []
    if late := int((np.diff(clock) < 0).sum()):
        notes.append(f"{late} message(s) were out of order and were sorted by their time stamps")
    order = np.argsort(clock, kind="stable")
    clock, columns = clock[order], {name: column[order] for name, column in columns.items()}
    first = np.append(True, np.diff(clock) > 0)[: len(clock)]
    if not first.all():
        notes.append(
            f"{int((~first).sum())} message(s) with the time stamp of another message were joined "
            "with it; if both have a value, the first value is used"
        )
        row = np.cumsum(first) - 1
        for name, column in columns.items():
            said = np.flatnonzero(~np.isnan(column))[::-1]
            joined = np.full(int(first.sum()), np.nan)
            # in reverse order, so that the first value wins
            joined[row[said]] = column[said]
            columns[name] = joined
        clock = clock[first]
    return np.asarray((clock - clock[:1]) * 1e-9, dtype=float), columns, tuple(notes)


def _decoded(data: bytes, layouts: dict[bytes, _Layout]) -> tuple[int, bytes, bytes]:
    """Return time stamp [ns], key of the layout, and position, velocity and effort as bytes of
    doubles (nan if missing).
    """
    body, order, align = cdr.opened(data)
    seconds, fraction, length = struct.unpack_from(f"{order}iII", body)
    if fraction >= 1_000_000_000:
        raise ValueError(f"the time stamp has {fraction} nanoseconds (allowed: less than 1e9)")
    at = cdr.padded(12 + length, 4)
    (count,) = struct.unpack_from(f"{order}I", body, at)
    if count > _MOST_JOINTS:
        raise ValueError(f"the message claims {count} joints (allowed: {_MOST_JOINTS})")
    names, end = _names(body, at + 4, count, order)
    key = bytes(body[at:end])
    if key not in layouts:
        if len(set(names)) < count:
            raise ValueError("two joints have the same name")
        layouts[key] = _Layout(tuple(names))
    parts, at = [], end
    for _ in SIGNALS:
        values, at = cdr.doubles(body, at, order, align)
        if len(values) not in (0, 8 * count):
            raise ValueError(f"the message has {count} names but {len(values) // 8} values")
        parts.append(values or struct.pack("d", np.nan) * count)
    return seconds * 1_000_000_000 + fraction, key, b"".join(parts)


def _names(body: memoryview, at: int, count: int, order: str) -> tuple[list[str], int]:
    names = []
    for _ in range(count):
        name, at = cdr.text(body, at, order)
        names.append(name)
    return names, at
