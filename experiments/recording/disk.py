"""Writing of samples and events to disk in a separate thread, so that the arm
does not wait for the disk.

Samples and events survive a killed process once the thread has written them, a few milliseconds
after they are handed over.
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

_SYNC_EVERY = 1.0  # s of wall time between fsyncs
_BACKLOG = 64  # length of the queue of batches and events: about a minute of motion
_STUCK = 10.0  # timeout of a write [s]
KEPT = "samples recorded before are kept"
_PACKED = pa.ipc.IpcWriteOptions(compression="zstd")


class Disk:
    """Writes the samples and events of a run.

    The first event starts the writing thread with the priority of the calling thread.

    Parameters
    ----------
    folder : Path
        The run folder, without samples and events.
    waits : bool
        Whether the caller waits if the queue is full. A simulation can wait; a moving arm cannot.

    Attributes
    ----------
    written : int
        Number of rows handed to the operating system.
    """

    def __init__(self, folder: Path, waits: bool = True) -> None:
        self.written, self._waits = 0, waits
        self._folder = folder
        self._samples, self._events = (
            (folder / SAMPLES).open("xb"),
            (folder / EVENTS).open("x", encoding="utf-8"),
        )
        self._stream: pa.RecordBatchStreamWriter | None = None
        # False during a write of samples, and for good after a failed write
        self._whole = True
        self._failure: BaseException | None = None
        self._told = False  # whether the failure was raised
        self._synced = time.monotonic()
        self._waiting: queue.Queue[tuple[str, Callable[[], None]] | None] = queue.Queue(_BACKLOG)
        self._thread: threading.Thread | None = None
        self._began = np.inf  # start of the current write
        _pack_once()

    def event(self, event: Mapping[str, Any]) -> None:
        """Queue one event for writing."""
        self._hand_over(EVENTS, partial(self._write_event, event))

    def samples(self, schema: pa.Schema, columns: Sequence[np.ndarray]) -> None:
        """Queue a batch of samples for writing; the caller must not
        change the arrays afterwards.
        """
        self._hand_over(SAMPLES, partial(self._write_samples, schema, columns))

    def raise_failure(self) -> None:
        """Raise the failure of the writing thread, once.

        Raises
        ------
        RecordingFailed
            If the disk is full or missing.
        """
        if self._failure is not None and not self._told:
            self._told = True
            raise self._failure

    def close(self, closed: Mapping[str, Any]) -> None:
        """Write the queue and a last event that says how the run ended; safe to call twice.

        If one step fails, the others still run, unless the disk hangs. The last event has
        no number of rows (null) if writing samples failed. A failure that was already
        raised is not raised again.

        Raises
        ------
        RecordingFailed
            If the disk is full or missing.
        """
        if self._events.closed:
            return
        if self._finished():
            for name, step in (
                (SAMPLES, self._end_stream),
                (SAMPLES, partial(os.fsync, self._samples.fileno())),
                (SAMPLES, self._samples.close),
                (EVENTS, partial(self._say_closed, closed)),
                (EVENTS, partial(os.fsync, self._events.fileno())),
                (EVENTS, self._events.close),
            ):
                self._attempt(name, step)
        self.raise_failure()

    @uninterrupted()
    def _hand_over(self, name: str, step: Callable[[], None]) -> None:
        if self._thread is None:
            # does not keep the program alive
            self._thread = threading.Thread(target=self._write_all, daemon=True)
            self._thread.start()
        if self._hangs():
            self._give_up(self._stuck())
        try:
            self._waiting.put((name, step), self._waits, _STUCK)
        except queue.Full:
            self._give_up(
                self._stuck()
                if self._waits
                else RecordingFailed(
                    f"{self._folder}: the disk is too slow, {_BACKLOG} batches and events are "
                    f"waiting; {KEPT}"
                )
            )

    def _finished(self) -> bool:
        """Whether the whole queue was written; waits up to the timeout, and longer
        if the disk makes progress.
        """
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
        return RecordingFailed(f"{self._folder}: the disk did not respond for {_STUCK:g} s; {KEPT}")

    # methods of the writing thread

    def _write_all(self) -> None:
        while (work := self._waiting.get()) is not None:
            self._began = time.monotonic()
            self._attempt(*work)
            self._began = np.inf

    def _attempt(self, name: str, step: Callable[[], None]) -> None:
        """Run one writing step; the first failure is kept for `raise_failure`."""
        try:
            step()
        except BaseException as error:  # `raise_failure` raises it in the caller's thread
            failed: BaseException = error
            if isinstance(error, OSError | pa.ArrowException):
                failed = RecordingFailed(
                    f"{self._folder / name}: {getattr(error, 'strerror', None) or error}; {KEPT}"
                )
                failed.__cause__ = error
            self._failure = self._failure or failed

    def _write_event(self, event: Mapping[str, Any]) -> None:
        self._events.write(json.dumps(event, ensure_ascii=False) + "\n")
        self._events.flush()

    def _write_samples(self, schema: pa.Schema, columns: Sequence[np.ndarray]) -> None:
        """Hand a batch to the operating system; sync the file about once a second."""
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
        """End the stream, unless the last batch may be incomplete."""
        if self._stream is not None and self._whole:
            self._stream.close()
            self._samples.flush()

    def _say_closed(self, closed: Mapping[str, Any]) -> None:
        failed = {"reason": str(self._failure).removesuffix(f"; {KEPT}")} if self._failure else {}
        self._write_event({**closed, "rows": self.written if self._whole else None, **failed})


def _batch(schema: pa.Schema, columns: Sequence[np.ndarray]) -> pa.RecordBatch:
    return pa.record_batch([pa.array(column) for column in columns], schema=schema)


def _pack_once() -> None:
    """Write a first batch before motion: it takes tens of milliseconds, which
    would delay a moving arm.
    """
    schema = pa.schema([pa.field("t", pa.float64())])
    with pa.ipc.new_stream(io.BytesIO(), schema, options=_PACKED) as stream:
        stream.write_batch(_batch(schema, [np.zeros(1)]))
