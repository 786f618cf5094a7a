"""Pauses of this computer, and time that its host gave to other virtual machines.

A program on each core, with higher priority than all measured programs, only watches the
clock and so detects pauses.
"""

import multiprocessing
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from stribeck.ident.arrays import Array

_EVERY = 1e-3  # s; interval at which the clock is read
_PAUSE = 1e-3  # s; a larger delay of a reading means a pause
_PRIORITY = 20  # real-time priority above drives and drivers (`realtime`)
# Linux counts ticks of all cores in this file; number of the field of stolen ticks
_STAT, _STOLEN = Path("/proc/stat"), 8
_AFTER = 0.01  # s; time after a pause in which queued work delays samples


@contextmanager
def robbed() -> Iterator[dict[str, float]]:
    """Result at the end of the block: `stolen` is the share of all cores' time that a host
    gave to other machines, or 0.
    """
    found: dict[str, float] = {}
    began, before = time.monotonic(), _stolen()
    yield found
    found["stolen"] = (_stolen() - before) / ((os.cpu_count() or 1) * (time.monotonic() - began))


def _stolen() -> float:
    """Time [s] stolen from all cores since the computer started."""
    try:
        return float(_STAT.read_text(encoding="ascii").split()[_STOLEN]) / os.sysconf("SC_CLK_TCK")
    except OSError:
        return 0.0


@contextmanager
def watched() -> Iterator[list[tuple[float, float]]]:
    """Yield a list that has the begins and ends of pauses [s since
    1970] at the end of the block.
    """
    found: list[tuple[float, float]] = []
    context = multiprocessing.get_context("fork")
    over, said = context.Event(), context.Queue()
    watchers = [
        context.Process(target=_watch, args=(core, over, said), daemon=True)
        for core in os.sched_getaffinity(0)
    ]
    for watcher in watchers:
        watcher.start()
    try:
        yield found
    finally:
        over.set()
        for _ in watchers:
            found += said.get(timeout=10.0)
        for watcher in watchers:
            watcher.join()


def _watch(core: int, over: Any, said: Any) -> None:
    os.sched_setaffinity(0, {core})
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_PRIORITY))
    pauses, now = [], time.time()
    while not over.is_set():
        time.sleep(_EVERY)
        before, now = now, time.time()
        if now - before > _EVERY + _PAUSE:
            pauses.append((before + _EVERY, now))
    said.put(pauses)


def near(times: Array, pauses: list[tuple[float, float]], patience: float) -> np.ndarray:
    """Return which instants, shape (N,), are in a pause, or so near to a pause that it
    may have delayed the reply.

    Parameters
    ----------
    times : ndarray, shape (N,)
        Times of the requests [s since 1970].
    pauses : list of tuple of float
        See `watched`.
    patience : float
        Timeout of the replies [s].
    """
    held = np.zeros(len(times), dtype=bool)
    for begin, end in pauses:
        held |= (times > begin - patience) & (times < end + _AFTER)
    return held
