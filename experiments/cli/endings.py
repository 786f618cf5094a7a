"""What ends the program: the signals that ask for it, and how it leaves."""

import signal
import sys
from collections import namedtuple

STOPPED_BY_OPERATOR = "stribeck: stopped by the operator"
ENDINGS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    ENDINGS.remove(signal.SIGHUP)           # nohup: it is to outlive its terminal


def leave(code: int) -> None:
    """End with this code.

    After an interrupt that passed through text that is run as code, `python -m` ends as killed by it, handled or not, unless
    another such text was run since: named tuples are made of one.
    """
    namedtuple("_", "")
    sys.exit(code)
