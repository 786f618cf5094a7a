"""At which commit figures were made, for pages that hold those of several runs."""

import subprocess
from collections.abc import Iterable
from functools import cache


@cache
def commit() -> str:
    """Of the code that runs, in short."""
    return subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout.strip()


def listed(commits: Iterable[str]) -> str:
    """What a cell of a table says of where its figures come from."""
    return ", ".join(sorted(set(commits)))
