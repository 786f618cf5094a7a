"""The command line: a command parses, calls, prints."""

from experiments.cli.app import main

__all__ = ["main"]
