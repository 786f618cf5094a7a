"""Where the program begins, before what takes a while to load."""

import signal
import sys
from collections import namedtuple

STOPPED = "stribeck: stopped by the operator"
ENDINGS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    ENDINGS.remove(signal.SIGHUP)           # nohup: it is to outlive its terminal


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its code; who ends it while it is still being loaded is told so, too."""
    asked: list[int] = []

    def end(number: int, _: object) -> None:
        asked.append(number)
        raise KeyboardInterrupt

    try:
        for ending in ENDINGS:
            signal.signal(ending, end)
        from experiments.cli.app import main as run
    except BaseException:       # what is written in C fails in words of its own where its loading is broken off
        if not asked:
            raise
    if asked:
        for ending in ENDINGS:
            signal.signal(ending, signal.SIG_IGN)
        print(STOPPED, file=sys.stderr)
        leave(3)
    run(arguments)


def leave(code: int) -> None:
    """End with this code.

    After an interrupt that passed through text that is run as code, `python -m` ends as killed by it, handled or not, unless
    another such text was run since: named tuples are made of one.
    """
    namedtuple("_", "")
    sys.exit(code)
