"""What must not be broken off by an impatient operator."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uninterrupted(ending: bool = False) -> Iterator[None]:
    """Ctrl-C, and what else asks a program to end, takes effect after the block, unless the block itself ends in an error.

    Where the program is `ending` anyway it takes none.

    For what ends by itself within seconds, as a stop whose rungs have time-outs. Signals whose handling is the system's own are
    left alone, and so are other threads than the main one, which gets them all.
    """
    held: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: handler for number in signal.valid_signals() if callable(handler := signal.getsignal(number))}
    try:
        for number in before:
            signal.signal(number, lambda number, _: held.append(number))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if held and not ending:
        signal.raise_signal(held[0])
