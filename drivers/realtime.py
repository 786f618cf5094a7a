"""Real-time priority for the loop that talks to drives, and for emulated
drives, if the system grants it.
"""

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_PRIORITY = 10  # of 99; above all processes without real-time priority


@contextmanager
def real_time() -> Iterator[bool]:
    """Run this thread, and threads that it starts, at real-time priority; gives
    whether the system granted it.

    Linux grants the priority to root and to users with an ``rtprio`` limit. Without it everything
    works, but cycles are late more often on a busy computer.
    """
    # excludes present objects from garbage collection, which would take tens of milliseconds
    gc.freeze()
    try:
        with _priority() as granted:
            yield granted
    finally:
        gc.unfreeze()


@contextmanager
def _priority() -> Iterator[bool]:
    if not hasattr(os, "sched_setscheduler"):
        yield False
        return
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_PRIORITY))
    except OSError:
        yield False
        return
    try:
        yield True
    finally:
        with suppress(OSError):
            os.sched_setscheduler(0, *before)
