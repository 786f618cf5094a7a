"""How a program that moves an arm is ended: as by Ctrl-C, and not while it does what must not be broken off."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_ENDING = {getattr(signal, name, None) for name in ("SIGINT", "SIGTERM", "SIGHUP")}


@contextmanager
def uninterrupted(ending: bool = False) -> Iterator[None]:
    """Ctrl-C, and what else asks a program to end, takes effect after the block, unless the block itself ends in an error.

    Where the program is `ending` anyway it takes none. What came is handed on, each once, what ends the program last.

    For what ends by itself within seconds, as a stop whose rungs have time-outs. Signals whose handling is the system's own are
    left alone, and so are other threads than the main one, which gets them all.
    """
    held: set[int] = set()
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: handler for number in signal.valid_signals() if callable(handler := signal.getsignal(number))}
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
    """What asks a program to end raises KeyboardInterrupt meanwhile, as Ctrl-C does, where it would end it at once.

    Only the main thread may say so; what has a handler of its own keeps it.
    """
    ours: list[int] = []
    if threading.current_thread() is threading.main_thread():
        asked = (getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP"))
        ours = [number for number in asked if number is not None and signal.getsignal(number) is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number in ours:
            if signal.getsignal(number) is signal.default_int_handler:
                signal.signal(number, signal.SIG_DFL)
