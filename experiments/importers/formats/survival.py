"""Trial run of a reader in a separate process: a damaged file may crash
a reader in compiled code.
"""

import faulthandler
import os
import warnings
from collections.abc import Callable
from typing import Any


def survived(reads: Callable[[], Any]) -> bool:
    """Whether a child process runs `reads` without a crash; true on systems without fork."""
    if not hasattr(os, "fork"):
        return True
    with warnings.catch_warnings():
        # Python warns of forks with threads; the child only reads
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            faulthandler.disable()
            reads()
        finally:
            os._exit(0)
    return not os.WIFSIGNALED(os.waitpid(child, 0)[1])
