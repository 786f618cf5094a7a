"""Signals that end a program which moves an arm: handled like Ctrl-C, and delayed during
steps that must complete.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_ENDING = {getattr(signal, name, None) for name in ("SIGINT", "SIGTERM", "SIGHUP")}


@contextmanager
def uninterrupted(ending: bool = False) -> Iterator[None]:
    """Delay Ctrl-C and other signals until the end of the block; they take no effect if
    the block ends in an error.

    Each signal that came is raised once, signals that end the program last. If the program is
    `ending` anyway, none is raised.

    Use this for blocks that end by themselves within seconds, such as a stop whose steps have
    timeouts. Signals that the system handles by default are not changed. Outside the main thread,
    which receives all signals, the block does nothing.
    """
    held: set[int] = set()
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {
        number: handler
        for number in signal.valid_signals()
        if callable(handler := signal.getsignal(number))
    }
    try:
        for number in before:
            signal.signal(number, lambda number, _: held.add(number))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if not ending:
        for came in sorted(held, key=lambda number: number in _ENDING):
            signal.raise_signal(came)


@contextmanager
def endings_raised() -> Iterator[None]:
    """Make SIGTERM and SIGHUP raise KeyboardInterrupt inside the block, as Ctrl-C does,
    instead of ending the program.

    Signals with another handler keep it. Outside the main thread, which alone may set
    handlers, the block does nothing.
    """
    ours: list[int] = []
    if threading.current_thread() is threading.main_thread():
        asked = (getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP"))
        ours = [
            number
            for number in asked
            if number is not None and signal.getsignal(number) is signal.SIG_DFL
        ]
    for number in ours:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number in ours:
            if signal.getsignal(number) is signal.default_int_handler:
                signal.signal(number, signal.SIG_DFL)
