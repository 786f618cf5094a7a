"""End of the program: stop signals and exit."""

import signal
import sys
from collections import namedtuple

STOPPED_BY_OPERATOR = "stribeck: stopped by the operator"
ENDINGS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    ENDINGS.remove(signal.SIGHUP)           # under nohup the program must survive the end of its terminal


def leave(code: int) -> None:
    """Exit with this code.

    After a KeyboardInterrupt in code run by `exec`, `python -m` reports that a signal killed the program, even if the interrupt
    was caught. Another `exec` resets this state, and the definition of a named tuple calls `exec`.
    """
    namedtuple("_", "")
    sys.exit(code)
