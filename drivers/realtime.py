"""Priority of the loop that talks to drives, and of emulated drives, where the system grants it."""

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_PRIORITY = 10      # of 99; above whatever has none


@contextmanager
def real_time() -> Iterator[bool]:
    """Run this thread, and those that it starts, before all ordinary ones; says whether that was granted.

    Linux grants it to root and to users with an ``rtprio`` limit. Without it everything works, but a busy computer is late more
    often.
    """
    gc.freeze()             # what is there now is not searched again and again for garbage, which takes tens of milliseconds
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
