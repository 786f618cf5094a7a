"""The command line: a command parses, calls, prints."""

from experiments.cli.entry import main

__all__ = ["main"]
