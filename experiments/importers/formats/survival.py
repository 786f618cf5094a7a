"""Readers in compiled code that a damaged file may kill, tried in a process of their own."""

import faulthandler
import os
import warnings
from collections.abc import Callable
from typing import Any


def survived(reads: Callable[[], Any]) -> bool:
    """Whether a process lives through this; true where none can be forked."""
    if not hasattr(os, "fork"):
        return True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)         # of forking a process with threads: this one only reads
        child = os.fork()
    if child == 0:
        try:
            faulthandler.disable()
            reads()
        finally:
            os._exit(0)
    return not os.WIFSIGNALED(os.waitpid(child, 0)[1])
