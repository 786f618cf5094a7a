"""Entry point of the program; it handles signals before the slow imports begin."""

import os
import signal
import sys

from stribeck.experiments.cli.endings import ENDINGS, STOPPED_BY_OPERATOR, leave
from stribeck.experiments.threads import ONE_THREAD


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its code; a signal during the imports ends
    the program with a message.
    """
    for variable, count in ONE_THREAD.items():  # NumPy reads them when it is imported
        os.environ.setdefault(variable, count)
    asked: list[int] = []

    def end(number: int, _: object) -> None:
        asked.append(number)
        raise KeyboardInterrupt

    try:
        for ending in ENDINGS:
            signal.signal(ending, end)
        from stribeck.experiments.cli import app
    except BaseException:  # an interrupted import of a C extension raises other errors
        if not asked:
            raise
    if asked:
        for ending in ENDINGS:
            signal.signal(ending, signal.SIG_IGN)
        print(STOPPED_BY_OPERATOR, file=sys.stderr)
        leave(3)
    app.main(arguments)
