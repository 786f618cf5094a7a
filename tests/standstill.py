"""Whether this computer itself stood still lately: then a test of drives in real
time may be tried once more.

A host that gives a virtual machine no time for a tenth of a second stops drives, emulators and
tests alike; an arm is stopped then, as it should be, and the test that wanted it to move fails for
no fault of the program. A watcher in a process of its own, before all others where the system
grants it, does nothing but look at the clock.
"""

import multiprocessing
import os
import time
from contextlib import suppress
from functools import cache
from typing import Any

from stribeck.drivers.realtime import real_time

PAUSE = 0.03  # s by which the watcher has to be late
_EVERY = 0.005  # s between two of its looks at the clock
_LATELY = 120.0  # s: longer than any test of drives


def stood_still() -> bool:
    """Whether this computer paused in the last two minutes; pauses before the
    first call are not known.
    """
    return time.monotonic() - watcher().value < _LATELY


@cache
def watcher() -> Any:
    """When the last pause ended, by `time.monotonic`; begins to watch."""
    context = multiprocessing.get_context("fork" if hasattr(os, "fork") else None)
    last = context.Value("d", -1e9)
    context.Process(target=_watch, args=(last,), daemon=True).start()
    return last


def _watch(last: Any) -> None:
    with suppress(KeyboardInterrupt), real_time():
        before = time.monotonic()
        while True:
            time.sleep(_EVERY)
            now = time.monotonic()
            if now - before > PAUSE:
                last.value = now
            before = now
