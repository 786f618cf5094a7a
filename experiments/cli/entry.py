"""Where the program begins, before what takes a while to load."""

import signal
import sys

from stribeck.experiments.cli.endings import ENDINGS, STOPPED_BY_OPERATOR, leave


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its code; who ends it while it is still being loaded is told so, too."""
    asked: list[int] = []

    def end(number: int, _: object) -> None:
        asked.append(number)
        raise KeyboardInterrupt

    try:
        for ending in ENDINGS:
            signal.signal(ending, end)
        from stribeck.experiments.cli import app
    except BaseException:       # what is written in C fails in words of its own where its loading is broken off
        if not asked:
            raise
    if asked:
        for ending in ENDINGS:
            signal.signal(ending, signal.SIG_IGN)
        print(STOPPED_BY_OPERATOR, file=sys.stderr)
        leave(3)
    app.main(arguments)
