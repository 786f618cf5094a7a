"""Where the program begins, before what takes a while to load."""

import signal
import sys

ENDINGS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its code; who ends it while it is still being loaded is told so, too."""
    try:
        for ending in ENDINGS:
            signal.signal(ending, signal.default_int_handler)
        from experiments.cli.app import main as run
    except KeyboardInterrupt:
        print("stribeck: stopped by the operator", file=sys.stderr)
        sys.exit(3)
    run(arguments)
