"""End of the program: the signals that request it, and the exit."""

import signal
import sys
from collections import namedtuple

STOPPED_BY_OPERATOR = "stribeck: stopped by the operator"
ENDINGS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    # nohup: the program must continue after its terminal closes
    ENDINGS.remove(signal.SIGHUP)


def leave(code: int) -> None:
    """End the program with this exit code.

    If an interrupt passed through code that runs from a string (`exec`, `eval`), `python -m` ends
    as killed by SIGINT even if the interrupt was handled. Running another string clears this state;
    the creation of a named tuple runs one.
    """
    namedtuple("_", "")
    sys.exit(code)
