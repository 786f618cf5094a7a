"""Samples and events of a run to the disk, in order and by a thread of their own: the arm does not wait for it.

What was handed over survives a killed process as soon as that thread has written it, which takes it milliseconds.
"""

import io
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from experiments.errors import RecordingFailed
from ident.run import EVENTS, SAMPLES

_SYNC_EVERY = 1.0       # s of wall time between fsyncs
_BACKLOG = 64           # most batches and events that wait for the disk,
_STUCK = 10.0           # and s for which the next one waits for room among them
_KEPT = "what was recorded before is kept"
_PACKED = pa.ipc.IpcWriteOptions(compression="zstd")


class Disk:
    """Writes the samples and events of a run.

    A thread begins with the first event, at the priority of the thread that hands it over.

    Parameters
    ----------
    folder : Path
        The run folder; neither file may exist.

    Attributes
    ----------
    written : int
        Rows that the operating system has.
    """

    def __init__(self, folder: Path) -> None:
        self.written = 0
        self._folder = folder
        self._samples, self._events = (folder / SAMPLES).open("xb"), (folder / EVENTS).open("x", encoding="utf-8")
        self._stream: pa.RecordBatchStreamWriter | None = None
        self._whole = True              # False while samples are being written, and for good if that was broken off
        self._failure: Exception | None = None
        self._told = False              # whether it was raised
        self._synced = time.monotonic()
        self._thread, self._room = ThreadPoolExecutor(1), threading.Semaphore(_BACKLOG)
        _pack_once()

    def event(self, event: Mapping[str, Any]) -> None:
        """Hand over a line of the events."""
        self._hand_over(self._write_event, event)

    def samples(self, schema: pa.Schema, columns: Sequence[np.ndarray]) -> None:
        """Hand over a batch of samples; the arrays must not be changed any more."""
        self._hand_over(self._write_samples, schema, columns)

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

        Every step is taken, whatever becomes of the others; if a failure was raised before, nothing more is. How many rows there
        are is unknown (null) where writing them failed.
        """
        if self._events.closed:
            return
        with suppress(OSError) if self._told else nullcontext(), ExitStack() as steps:
            steps.callback(self._events.close)              # last in, first out
            steps.callback(os.fsync, self._events.fileno())
            steps.callback(self._say_closed, closed)
            steps.callback(self._samples.close)
            steps.callback(os.fsync, self._samples.fileno())
            steps.callback(self.raise_failure)
            steps.callback(self._end_stream)
            self._thread.shutdown()

    def _hand_over(self, write: Callable[..., None], *what: Any) -> None:
        if not self._room.acquire(timeout=_STUCK):
            self._failure, self._told = RecordingFailed(f"{self._folder}: the disk took nothing for {_STUCK:g} s; {_KEPT}"), True
            raise self._failure
        self._thread.submit(self._write, write, what)

    # what the thread does

    def _write(self, write: Callable[..., None], what: tuple[Any, ...]) -> None:
        try:
            write(*what)
        except Exception as error:      # raised where somebody hears it
            self._failure = self._failure or error
        finally:
            self._room.release()

    def _write_event(self, event: Mapping[str, Any]) -> None:
        with self._writing(EVENTS):
            self._events.write(json.dumps(event, ensure_ascii=False) + "\n")
            self._events.flush()

    def _write_samples(self, schema: pa.Schema, columns: Sequence[np.ndarray]) -> None:
        """A batch to the operating system, and about once a second to the disk."""
        if not self._whole:
            return
        with self._writing(SAMPLES):
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
            with self._writing(SAMPLES):
                self._stream.close()
                self._samples.flush()

    def _say_closed(self, closed: Mapping[str, Any]) -> None:
        failed = {"reason": str(self._failure).removesuffix(f"; {_KEPT}")} if self._failure else {}
        self._write_event({**closed, "rows": self.written if self._whole else None, **failed})

    @contextmanager
    def _writing(self, name: str) -> Iterator[None]:
        """Turns a failed write into an error of ours; what was written before can still be read."""
        try:
            yield
        except OSError as error:
            failed = RecordingFailed(f"{self._folder / name}: {error.strerror or error}; {_KEPT}")
            self._failure = self._failure or failed
            raise failed from error


def _batch(schema: pa.Schema, columns: Sequence[np.ndarray]) -> pa.RecordBatch:
    return pa.record_batch([pa.array(column) for column in columns], schema=schema)


def _pack_once() -> None:
    """The first batch of a program takes tens of milliseconds, which no arm that moves should lack."""
    schema = pa.schema([pa.field("t", pa.float64())])
    with pa.ipc.new_stream(io.BytesIO(), schema, options=_PACKED) as stream:
        stream.write_batch(_batch(schema, [np.zeros(1)]))
