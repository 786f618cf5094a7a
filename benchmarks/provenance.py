"""Commit at which figures were made, for pages with figures of several runs."""

import subprocess
from functools import cache


@cache
def commit() -> str:
    """Return the abbreviated commit of the running code."""
    return subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    ).stdout.strip()
