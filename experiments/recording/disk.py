"""Samples and events of a run to the disk, in order and by a thread of their own: the arm does not wait for it.

What was handed over survives a killed process as soon as that thread has written it, which takes it milliseconds.
"""

import io
import json
import os
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from stribeck.drivers.interrupts import uninterrupted
from stribeck.experiments.errors import RecordingFailed
from stribeck.ident.log.run import EVENTS, SAMPLES

_SYNC_EVERY = 1.0       # s of wall time between fsyncs
_BACKLOG = 64           # most batches and events that wait for the disk: of an arm that moves it is a minute or so of them
_STUCK = 10.0           # s after which a write that is under way is given up
KEPT = "what was recorded before is kept"
_PACKED = pa.ipc.IpcWriteOptions(compression="zstd")


class Disk:
    """Writes the samples and events of a run.

    A thread begins with the first event, at the priority of the thread that hands it over.

    Parameters
    ----------
    folder : Path
        The run folder; neither file may exist.
    waits : bool
        Whether whoever hands over waits for a disk that is far behind, as a simulation can; an arm that moves cannot.

    Attributes
    ----------
    written : int
        Rows that the operating system has.
    """

    def __init__(self, folder: Path, waits: bool = True) -> None:
        self.written, self._waits = 0, waits
        self._folder = folder
        self._samples, self._events = (folder / SAMPLES).open("xb"), (folder / EVENTS).open("x", encoding="utf-8")
        self._stream: pa.RecordBatchStreamWriter | None = None
        self._whole = True              # False while samples are being written, and for good if that was broken off
        self._failure: BaseException | None = None
        self._told = False              # whether it was raised
        self._synced = time.monotonic()
        self._waiting: queue.Queue[tuple[str, Callable[[], None]] | None] = queue.Queue(_BACKLOG)
        self._thread: threading.Thread | None = None
        self._began = np.inf            # when the write began that is under way
        _pack_once()

    def event(self, event: Mapping[str, Any]) -> None:
        """Hand over a line of the events."""
        self._hand_over(EVENTS, partial(self._write_event, event))

    def samples(self, schema: pa.Schema, columns: Sequence[np.ndarray]) -> None:
        """Hand over a batch of samples; the arrays must not be changed any more."""
        self._hand_over(SAMPLES, partial(self._write_samples, schema, columns))

    def raise_failure(self) -> None:
        """Raise what failed in the thread that writes, once.

        Raises
        ------
        RecordingFailed
            The disk is full, or gone.
        """
        if self._failure is not None and not self._told:
            self._told = True
            raise self._failure

    def close(self, closed: Mapping[str, Any]) -> None:
        """Write what waits, and how the run ended as its last event; safe to call twice.

        Every step is taken, whatever becomes of the others, but of a disk that takes nothing; if a failure was raised before,
        nothing more is. How many rows there are is unknown (null) where writing them failed.

        Raises
        ------
        RecordingFailed
            The disk is full, or gone.
        """
        if self._events.closed:
            return
        if self._finished():
            for name, step in ((SAMPLES, self._end_stream), (SAMPLES, partial(os.fsync, self._samples.fileno())),
                               (SAMPLES, self._samples.close), (EVENTS, partial(self._say_closed, closed)),
                               (EVENTS, partial(os.fsync, self._events.fileno())), (EVENTS, self._events.close)):
                self._attempt(name, step)
        self.raise_failure()

    @uninterrupted()
    def _hand_over(self, name: str, step: Callable[[], None]) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._write_all, daemon=True)        # no reason for a program not to end
            self._thread.start()
        if self._hangs():
            self._give_up(self._stuck())
        try:
            self._waiting.put((name, step), self._waits, _STUCK)
        except queue.Full:
            self._give_up(self._stuck() if self._waits else RecordingFailed(
                f"{self._folder}: the disk is too slow, {_BACKLOG} batches and events wait for it; {KEPT}"))

    def _finished(self) -> bool:
        """Whether all that waited was written; one that hangs has another while."""
        if self._thread is None:
            return True
        end = time.monotonic() + _STUCK
        with suppress(queue.Full):
            self._waiting.put(None, timeout=_STUCK)
            while self._thread.is_alive() and (time.monotonic() < end or not self._hangs()):
                self._thread.join(0.1)
        if self._thread.is_alive():
            self._failure = self._failure or self._stuck()
        return not self._thread.is_alive()

    def _hangs(self) -> bool:
        return time.monotonic() - self._began > _STUCK

    def _give_up(self, failure: RecordingFailed) -> None:
        self._failure, self._told = self._failure or failure, True
        raise self._failure

    def _stuck(self) -> RecordingFailed:
        return RecordingFailed(f"{self._folder}: the disk took nothing for {_STUCK:g} s; {KEPT}")

    # what the thread does

    def _write_all(self) -> None:
        while (work := self._waiting.get()) is not None:
            self._began = time.monotonic()
            self._attempt(*work)
            self._began = np.inf

    def _attempt(self, name: str, step: Callable[[], None]) -> None:
        """A step of writing a file; what fails first is kept for `raise_failure`, what was written before can still be read."""
        try:
            step()
        except BaseException as error:          # raised where somebody hears it
            failed: BaseException = error
            if isinstance(error, OSError | pa.ArrowException):
                failed = RecordingFailed(f"{self._folder / name}: {getattr(error, 'strerror', None) or error}; {KEPT}")
                failed.__cause__ = error
            self._failure = self._failure or failed

    def _write_event(self, event: Mapping[str, Any]) -> None:
        self._events.write(json.dumps(event, ensure_ascii=False) + "\n")
        self._events.flush()

    def _write_samples(self, schema: pa.Schema, columns: Sequence[np.ndarray]) -> None:
        """A batch to the operating system, and about once a second to the disk."""
        if not self._whole:
            return
        self._whole = False
        if self._stream is None:
            self._stream = pa.ipc.new_stream(self._samples, schema, options=_PACKED)
        self._stream.write_batch(_batch(schema, columns))
        self._samples.flush()
        self.written += len(columns[0])
        self._whole = True
        if time.monotonic() - self._synced > _SYNC_EVERY:
            os.fsync(self._samples.fileno())
            self._synced = time.monotonic()

    def _end_stream(self) -> None:
        """End the stream, unless what was written last may be torn."""
        if self._stream is not None and self._whole:
            self._stream.close()
            self._samples.flush()

    def _say_closed(self, closed: Mapping[str, Any]) -> None:
        failed = {"reason": str(self._failure).removesuffix(f"; {KEPT}")} if self._failure else {}
        self._write_event({**closed, "rows": self.written if self._whole else None, **failed})


def _batch(schema: pa.Schema, columns: Sequence[np.ndarray]) -> pa.RecordBatch:
    return pa.record_batch([pa.array(column) for column in columns], schema=schema)


def _pack_once() -> None:
    """The first batch of a program takes tens of milliseconds, which no arm that moves should lack."""
    schema = pa.schema([pa.field("t", pa.float64())])
    with pa.ipc.new_stream(io.BytesIO(), schema, options=_PACKED) as stream:
        stream.write_batch(_batch(schema, [np.zeros(1)]))
