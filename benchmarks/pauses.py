"""When this computer itself stood still, as seen by programs that only wait, one on each core and before all that is measured,
and how much of its time went to other machines on the same hardware."""

import multiprocessing
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from stribeck.ident.arrays import Array

_EVERY = 1e-3           # s between two looks at the clock
_PAUSE = 1e-3           # s by which one that is late tells of a pause
_PRIORITY = 20          # before drives and drivers (`realtime`)
_STAT, _STOLEN = Path("/proc/stat"), 8       # where Linux counts ticks of all cores together, and the field of stolen ones
_AFTER = 0.01           # s in which what has piled up is worked off


@contextmanager
def robbed() -> Iterator[dict[str, float]]:
    """`stolen` is there when the block is left: the part of all cores' time that a host gave to other machines, 0 without one."""
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
    """Begins and ends of pauses [s since 1970], which are there when the block is left."""
    found: list[tuple[float, float]] = []
    context = multiprocessing.get_context("fork")
    over, said = context.Event(), context.Queue()
    watchers = [context.Process(target=_watch, args=(core, over, said), daemon=True) for core in os.sched_getaffinity(0)]
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
    """Which instants, shape (N,), lie in a pause, or so close before or after one that it may have held up what was due then.

    Parameters
    ----------
    times : ndarray, shape (N,)
        Instants at which something was asked for [s since 1970].
    pauses : list of tuple of float
        See `watched`.
    patience : float
        How long what was asked for was waited for [s].
    """
    held = np.zeros(len(times), dtype=bool)
    for begin, end in pauses:
        held |= (times > begin - patience) & (times < end + _AFTER)
    return held
